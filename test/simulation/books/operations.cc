#include "test/simulation/books/operations.h"

namespace hamlyn::simulation {

std::vector<std::unique_ptr<Operation>> make_operations(World& world) {
  std::vector<std::unique_ptr<Operation>> all;
  all.push_back(make_counted_messages(world));
  all.push_back(make_groups(world));
  all.push_back(make_fast_messages(world));
  all.push_back(make_remote_operations(world));
  all.push_back(make_word_operations(world));
  all.push_back(make_durable_messages(world));
  all.push_back(make_gathered_messages(world));
  all.push_back(make_merged_messages(world));
  all.push_back(make_puts(world));
  all.push_back(make_posted_messages(world));
  return all;
}

}  // namespace hamlyn::simulation
