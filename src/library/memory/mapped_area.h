#pragma once
// Message areas that others may map, and a mapping that is being asked for, as the keeper of links knows
// them.
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/file_descriptor.h"
#include "base/generation.h"
#include "base/namespaces.h"
#include "fabric/shm/sealed_memory.h"
#include "hamlyn/values/error.h"
#include "hamlyn/values/not_mapped.h"
#include "hamlyn/values/ticket.h"
#include "interface/link.h"
#include "interface/remote/call_word.h"
#include "library/control/handed_out.h"

namespace hamlyn::internal_::library {

class Engine;

// Words of the page that goes with a mapped area.
struct AreaPage {
  std::uint64_t generation;  // base/generation.h
  std::uint64_t call;        // interface/remote/call_word.h
};

struct MappedArea {
  MappedArea(base::FileDescriptor own_memfd, shm::Writers who, shm::OwnedMemory own_page) noexcept
      : memfd(std::move(own_memfd)),
        writers(who),
        page(std::move(own_page.mapping)),
        page_memfd(std::move(own_page.memfd)),
        words{0, interface::CallWord<>(words_shown().call)} {}

  shm::Mapping memory;
  base::FileDescriptor memfd;
  shm::Writers writers{};
  // A page that this process alone writes, and importers read.
  shm::Mapping page;
  base::FileDescriptor page_memfd;
  interface::MappedWords words;
  LeftBehind::Piece piece = 0;  // of the memory, and of that page, once they were shown
  LeftBehind::Piece page_piece = 0;

  AreaPage& words_shown() const noexcept { return *static_cast<AreaPage*>(page.data()); }
  void move_generation() noexcept { base::Generation<>::move(words_shown().generation, words.generation); }
};

// The mapped areas of one interface.
class MappedAreas {
 public:
  MappedAreas(Engine& engine, HandedOut& handed_out) noexcept : engine_(engine), handed_out_(handed_out) {}

  // In fresh memory, or, if `at` is not null, in the place of the private memory there, whose bytes it takes.
  std::byte* make(std::byte* at, std::size_t bytes, shm::Writers writers, interface::MappedWords** words);
  void renew(std::byte* data);
  // `stays`: there is private memory with the same bytes there afterwards.
  void drop(std::byte* data, bool stays) noexcept;

  // Memory that a ticket's holder may map.
  struct Shown {
    MappedArea* area = nullptr;  // null: nothing
    std::uint64_t offset = 0;    // of the slot in it
    std::uint64_t bound = 0;
    NotMapped why = NotMapped::none;
  };
  Shown find(const Ticket& ticket, const interface::User& user);

 private:
  Engine& engine_;
  HandedOut& handed_out_;
  std::map<const std::byte*, MappedArea> areas_;
};

struct ImportAnswer {
  std::uint64_t number = 0;
  ErrorCode error{};
  WhyNoLink why{};                            // if there is no link to be answered by
  NotMapped not_mapped = NotMapped::opening;  // as the owner says, if it is that which has refused it
  shm::Mapping memory;
  shm::Mapping page;
  shm::Writers writers{};
  std::uint64_t offset = 0;
  std::uint64_t bound = 0;
  std::uint64_t generation = 0;
};

struct MappingRequest {
  Ticket ticket;
  const void* keeper = nullptr;  // the link that it was asked on; null: not asked yet
  bool done = false;
  bool given_up = false;
  ImportAnswer answer;
};

}  // namespace hamlyn::internal_::library
