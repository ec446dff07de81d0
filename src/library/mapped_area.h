#pragma once
// What the control thread keeps of a message area that others may map, and of a mapping that is being asked
// for.
#include <cstdint>
#include <memory>

#include "base/file_descriptor.h"
#include "fabric/shm/sealed_memory.h"
#include "hamlyn/error.h"
#include "hamlyn/ticket.h"

namespace hamlyn::library {

struct MappedArea {
  shm::Mapping memory;
  base::FileDescriptor memfd;
  shm::Writers writers{};
  // A page that this process alone writes, and importers read: its first word moves with each revocation.
  shm::Mapping page;
  base::FileDescriptor page_memfd;

  std::uint64_t& generation() noexcept { return *static_cast<std::uint64_t*>(page.data()); }
};

struct ImportAnswer {
  std::uint64_t number = 0;
  ErrorCode error{};
  shm::Mapping memory;
  shm::Mapping page;
  shm::Writers writers{};
  std::uint64_t offset = 0;
  std::uint64_t bound = 0;
  std::uint64_t generation = 0;
};

struct Import {
  Ticket ticket;
  const void* keeper = nullptr;  // the link that it was asked on; null: not asked yet
  bool done = false;
  bool given_up = false;
  ImportAnswer answer;
};

}  // namespace hamlyn::library
