// Memory that runs out in the middle of what sets something up: each allocation of the thread fails once. It
// is told by name, nothing of what was not made is left, and the next one is made. Replaces operator new: a
// program of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "hamlyn/hamlyn.h"
#include "test/process/on_nodes.h"

namespace {

thread_local long left_to_succeed = -1;  // -1: all of them
thread_local bool failed = false;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (left_to_succeed >= 0 && left_to_succeed-- == 0) {
    failed = true;
    throw std::bad_alloc();
  }
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace hamlyn::test {
namespace {

class NoMemory : public OnNodes {
 protected:
  // Makes and destroys something, with each allocation failing in its turn.
  static void refuses(const char* what, const std::function<void()>& make) {
    SCOPED_TRACE(what);
    for (long turn = 0; !HasFailure(); ++turn) {
      std::string wrong;
      failed = false;
      left_to_succeed = turn;
      try {
        make();
        left_to_succeed = -1;
      } catch (const Error& error) {
        left_to_succeed = -1;
        if (error.code() != ErrorCode::out_of_memory) wrong = error.what();
      } catch (const std::exception& error) {
        left_to_succeed = -1;
        wrong = error.what();
      }
      EXPECT_EQ(wrong, "") << "allocation " << turn;
      if (!failed) break;
    }
  }
};

TEST_F(NoMemory, for_what_the_interface_is_made_of) {
  in_child([&] {
    // What is given is made before, or needs no memory.
    std::filesystem::current_path(folder_.file(""));
    const AreaFile file{.path = "area"};
    Interface here(options()), there(options());
    NotificationQueue queue(here);
    MessageArea area(here, 4096), shared(here, 4096, Sharing::mapped_read_write);
    Slot slot(shared, queue, {.entries = 1});
    refuses("Interface", [&] { Interface({.node = "node", .start_node = false}); });
    refuses("NotificationQueue", [&] { NotificationQueue{here}.descriptor(); });
    refuses("MessageArea", [&] { MessageArea{here, 4096}; });
    refuses("MessageArea, mapped", [&] { MessageArea(here, 4096, Sharing::mapped_read_only); });
    refuses("MessageArea, durable", [&] { MessageArea(here, file, 4096); });
    refuses("SendBufferArea", [&] { SendBufferArea{here, 4096}; });
    refuses("Slot", [&] { Slot(area, queue, {.entries = 4, .puts = true}); });
    refuses("Terminus", [&] { Terminus{here}; });
    refuses("Multicast", [&] { Multicast{here}; });
    refuses("BulkSpace", [&] { BulkSpace(queue, 4096); });
    refuses("BulkRing", [&] { BulkRing(queue, 4096, 4); });
    refuses("MappedSlot", [&] { MappedSlot(there, slot.ticket(0), kPatience); });
  });
}

TEST_F(NoMemory, for_the_protocols) {
  in_child([&] {
    const Manager::Options how{.interface = options()};
    const std::vector<LoanClass> classes{{64, 4}};
    Manager manager(how);
    refuses("Manager", [&] { Manager{how}; });
    refuses("DatagramReceiver", [&] { DatagramReceiver(manager, 64); });
    refuses("StreamReceiver", [&] { StreamReceiver{manager}; });
    refuses("TaggedReceiver", [&] { TaggedReceiver(manager, 64); });
    refuses("LoanPool", [&] { LoanPool(manager, classes); });
    refuses("LoanReceiver", [&] { LoanReceiver{manager}; });
    int services = 0;
    refuses("LocalService", [&] { LocalService(manager.interface(), std::to_string(++services)); });
  });
}

TEST_F(NoMemory, for_names) {
  in_child([&] {
    Interface here(options());
    NotificationQueue queue(here);
    MessageArea area(here, 4096);
    const Slot slot(area, queue, {.entries = 1});
    const Ticket ticket = slot.ticket(0);
    int made = 0;
    std::string name = "0";
    refuses("publish", [&] {
      name = std::to_string(++made);  // short enough to need none
      here.publish(name, ticket);
    });
    refuses("lookup", [&] { static_cast<void>(here.lookup(name)); });
    here.publish("old", ticket);
    refuses("withdraw", [&] {
      try {
        here.withdraw("old");
      } catch (const Error& error) {
        if (error.code() != ErrorCode::name_unknown) throw;  // it has failed behind this
      }
      here.publish("old", ticket);
    });
    const std::vector<BufferClass> classes{{64, 4}};
    refuses("BufferPool", [&] { BufferPool(area, classes); });
  });
}

// Of streams and loans a receiver that has gone will do: what is told then is told when all has been made.
TEST_F(NoMemory, for_senders) {
  in_child([&] {
    const Manager::Options how{.interface = options()};
    Manager there(how), here(how);
    DatagramReceiver door(there, 64);
    TaggedReceiver board(there, 64);
    const Seed to_door = door.make_seed(), to_board = board.make_seed();
    refuses("DatagramSender", [&] { DatagramSender(here, to_door); });
    refuses("TaggedSender", [&] { TaggedSender(here, to_board); });
    const Seed to_stream = StreamReceiver(there).make_seed(), to_loans = LoanReceiver(there).make_seed();
    LoanPool pool(here, {{64, 4}});
    const auto but_for_the_end = [](const std::function<void()>& make) {
      try {
        make();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::seed_stale) throw;
      }
    };
    refuses("StreamSender", [&] { but_for_the_end([&] { StreamSender(here, to_stream); }); });
    refuses("LoanSender", [&] { but_for_the_end([&] { LoanSender(pool, to_loans); }); });
  });
}

TEST_F(NoMemory, for_segments) {
  in_child([&] {
    Interface here(options()), there(options());
    int made = 0;
    refuses("Segment", [&] { Segment(here, {.name = std::to_string(++made), .bytes = 64}); });
    refuses("its descriptors", [&] { Segment(here, {.bytes = 64}).control_descriptor(); });
    Segment segment(here, {.bytes = 64});
    const Ticket ticket = segment.ticket();
    refuses("Import", [&] { Import(there, ticket); });
    Import import(there, ticket);
    refuses("FailureDetector", [&] { FailureDetector(import, {}, nullptr); });
  });
}

}  // namespace
}  // namespace hamlyn::test
