#pragma once
// Every kind of operation that a run has.
#include <memory>
#include <vector>

#include "test/simulation/books/operation.h"

namespace hamlyn::simulation {

class World;

std::vector<std::unique_ptr<Operation>> make_operations(World& world);

// One line for each file.
std::unique_ptr<Operation> make_counted_messages(World& world);
std::unique_ptr<Operation> make_groups(World& world);
std::unique_ptr<Operation> make_fast_messages(World& world);
std::unique_ptr<Operation> make_remote_operations(World& world);
std::unique_ptr<Operation> make_word_operations(World& world);
std::unique_ptr<Operation> make_durable_messages(World& world);
std::unique_ptr<Operation> make_gathered_messages(World& world);
std::unique_ptr<Operation> make_merged_messages(World& world);
std::unique_ptr<Operation> make_puts(World& world);
std::unique_ptr<Operation> make_posted_messages(World& world);

}  // namespace hamlyn::simulation
