// What cannot be, and what there is too little of: an error with a name, and what there was goes on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#include <fstream>
#include <list>

#include "library/wait/futex.h"
#include "library/wait/own_thread.h"
#include "test/process/library.h"
#include "test/support/forbid.h"

namespace hamlyn::test {
namespace {

// What there is when something runs out: a terminus of one interface, which is connected to another's.
struct LinkInUse {
  explicit LinkInUse(const Interface::Options& options) : to(options), from(options) {
    EXPECT_EQ(terminus.connect(ticket, kPatience), Status::ok);
  }
  void goes_on() {
    EXPECT_EQ(terminus.send_fast(ticket, {}), Status::ok);
    Notification arrival;
    EXPECT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
  }
  ReceivingEnd to;
  Interface from;
  const Ticket ticket = to.slot.ticket();
  Terminus terminus{from};
};

TEST_F(Library, WhatNoHeaderNamesIsRefused) {
  in_child([&] {
    ReceivingEnd to(options());
    refused([&] { Slot{to.area, to.queue, {.mode = static_cast<Mode>(3), .entries = 1}}; });
    refused([&] { Slot{to.area, to.queue, {.access = static_cast<Access>(3)}}; });
    refused([&] { MessageArea{to.interface, 4096, static_cast<Sharing>(3)}; });
    // Behind it there is no address any more.
    auto* const last = reinterpret_cast<std::byte*>(~std::uintptr_t{4095});
    refused([&] { MessageArea{to.interface, std::span(last, 4096)}; });
    refused([&] { MessageArea{to.interface, std::span(last, 4096), Sharing::mapped_read_only}; });
  });
}

// Nobody looks at the data.
TEST_F(Library, MessagesOfFourGiBAreTooLong) {
  in_child([&] {
    ReceivingEnd to(options());
    Interface from(options());
    Terminus terminus(from);
    Multicast many(from);
    auto* const nowhere = reinterpret_cast<const std::byte*>(std::uintptr_t{4096});
    const std::span data(nowhere, std::size_t{1} << 32);
    const Ticket ticket = to.slot.ticket(0);
    EXPECT_EQ(terminus.send(ticket, data), Status::too_long);
    EXPECT_EQ(terminus.send(ticket, data.first(data.size() - 1)), Status::out_of_bounds) << "of that slot";
    EXPECT_EQ(many.send(std::vector{ticket}, data), Status::too_long);
  });
}

// The thread that attaches has a table of descriptors of its own: its numbers are others here.
TEST(Attachment, ThatFailsClosesNoDescriptorOfTheApplication) {
  const Folder folder;
  constexpr int kMost = 32;
  std::vector<base::FileDescriptor> all;
  do all.emplace_back(::dup(STDERR_FILENO));
  while (all.back().get() < kMost);
  EXPECT_THROW(Interface({.node = folder.file("nowhere"), .start_node = false}), Error);
  for (int fd = 0; fd <= kMost; ++fd) EXPECT_GE(::fcntl(fd, F_GETFD), 0) << fd;
}

TEST_F(Library, DescriptorsThatHaveRunOutAreAnErrorWithAName) {
  in_child([&] {
    LinkInUse link(options());
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit few{48, limit.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::list<NotificationQueue> queues;
    ErrorCode ended{};
    try {
      for (int i = 0; i < 100; ++i) queues.emplace_back(link.from, 16).descriptor();
    } catch (const Error& error) {
      ended = error.code();
      EXPECT_NE(std::string(error.what()).find("eventfd"), std::string::npos) << error.what();
    }
    EXPECT_EQ(ended, ErrorCode::out_of_memory);
    link.goes_on();
    // And what is given back can be had again.
    queues.pop_front();
    EXPECT_GE(queues.back().descriptor(), 0);
  });
}

// Whose limit for files is lower would be sent a signal that ends it.
TEST_F(Library, SharedMemoryBeyondTheLimitForFilesIsAnErrorWithAName) {
  in_child([&] {
    LinkInUse link(options());
    const rlimit few{4096, 4096};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &few), 0);
    const auto fails = [](auto make) {
      try {
        make();
        ADD_FAILURE() << "taken";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
        EXPECT_NE(std::string(error.what()).find("RLIMIT_FSIZE"), std::string::npos) << error.what();
      }
    };
    fails([&] { Interface{options()}; });
    fails([&] { SendBufferArea{link.from, 8192}; });
    fails([&] { MessageArea{link.from, 8192, Sharing::mapped_read_only}; });
    link.goes_on();
  });
}

// Makes objects until there are too many, and says what ended that.
template <class Make>
ErrorCode until_too_many(Make make) {
  try {
    for (int i = 0; i < 100000; ++i) make();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

TEST_F(Library, SlotsAndSendAreasThatHaveRunOutAreAnErrorWithAName) {
  in_child([&] {
    ReceivingEnd to(options());
    Interface other(other_options());
    std::list<Slot> slots;
    EXPECT_EQ(until_too_many([&] { slots.emplace_back(to.area, to.queue, Slot::Options{}); }),
              ErrorCode::out_of_memory);
    EXPECT_EQ(slots.size() + 1, 65536u);
    std::list<SendBufferArea> areas;
    EXPECT_EQ(until_too_many([&] { areas.emplace_back(other, 4096); }), ErrorCode::out_of_memory);
    EXPECT_EQ(areas.size(), 64u);
    // What there was goes on, and what is given back can be had again.
    slots.pop_front();
    slots.emplace_back(to.area, to.queue, Slot::Options{.entries = 1});
    areas.pop_front();
    areas.emplace_back(other, 4096);
    Terminus terminus(other);
    ASSERT_EQ(terminus.bind(0, areas.back()), Status::ok);
    for (const Ticket& ticket : {to.slot.ticket(0), slots.back().ticket(0)}) {
      ASSERT_EQ(terminus.connect(ticket, kPatience), Status::ok);
      const Piece piece{0, 0, 4096};
      EXPECT_LT(terminus.send_gathered(ticket, {&piece, 1}), Status::queue_full);
      Notification arrival;
      EXPECT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
      EXPECT_EQ(arrival.length, 4096u);
    }
  });
}

TEST_F(Library, MoreLinksThanAnInterfaceTakesAreRefused) {
  in_child([&] {
    auto one = std::make_unique<ReceivingEnd>(options(), 4096);
    ReceivingEnd other(options(), 4096);
    Interface::Options with_one_link = other_options();
    with_one_link.links = 1;
    Interface from(with_one_link);
    Terminus terminus(from);
    const Ticket ticket = one->slot.ticket();
    ASSERT_EQ(terminus.connect(ticket, kPatience), Status::ok);
    EXPECT_EQ(terminus.connect(other.slot.ticket(), kPatience), Status::refused);
    // The one that there is goes on, and when it has ended there is room for another.
    EXPECT_EQ(terminus.send_fast(ticket, {}), Status::ok);
    Notification arrival;
    EXPECT_EQ(one->queue.receive(arrival, kPatience), Status::ok);
    one.reset();
    EXPECT_TRUE(eventually([&] { return terminus.connect(other.slot.ticket(), kPatience) == Status::ok; }));
    EXPECT_EQ(terminus.send_fast(other.slot.ticket(), {}), Status::ok);
    EXPECT_EQ(other.queue.receive(arrival, kPatience), Status::ok);
  });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need address space without end

// Makes objects until there is no memory, and says what ended that.
template <class Make>
ErrorCode until_memory_ends(Make make) {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  rlimit limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_AS, &limit), 0);
  const rlimit tight{pages * 4096 + (64 << 20), limit.rlim_max};
  EXPECT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  const ErrorCode ended = until_too_many(make);
  EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  return ended;
}

class LibraryMemory : public Library {};

// The kernel has one error for both limits.
TEST_F(LibraryMemory, ForAThreadsStackIsNoLimitOfProcesses) {
  in_child([] {
    std::ifstream statm("/proc/self/statm");
    std::size_t pages = 0;
    statm >> pages;
    rlimit limit{};
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = pages * 4096 + (1 << 20);
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
    // Longer than what may be left of a thread before.
    pthread_attr_t attributes;
    ASSERT_EQ(::pthread_attr_init(&attributes), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&attributes, std::size_t{64} << 20), 0);
    ASSERT_EQ(::pthread_setattr_default_np(&attributes), 0);
    try {
      library::start_own_thread("a-thread", [] {}).join();
      ADD_FAILURE() << "there is room for a stack";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      const std::string what = error.what();
      EXPECT_NE(what.find("RLIMIT_AS"), std::string::npos) << what;
      EXPECT_EQ(what.find("RLIMIT_NPROC"), std::string::npos) << what;
    }
  });
}

TEST_F(LibraryMemory, ThatHasRunOutIsAnErrorWithAName) {
  in_child([&] {
    ReceivingEnd to(options());
    Interface other(options());
    {
      std::list<Slot> slots;
      const Slot::Options many{.entries = 1 << 14};
      EXPECT_EQ(until_memory_ends([&] { slots.emplace_back(to.area, to.queue, many); }),
                ErrorCode::out_of_memory);
      EXPECT_FALSE(slots.empty());
    }
    std::list<Terminus> termini;
    EXPECT_EQ(until_memory_ends([&] { termini.emplace_back(other, TerminusOptions{.entries = 4096}); }),
              ErrorCode::out_of_memory);
    ASSERT_FALSE(termini.empty());
    std::list<NotificationQueue> queues;
    EXPECT_EQ(until_memory_ends([&] { queues.emplace_back(other, 1 << 16); }), ErrorCode::out_of_memory);
    // Nothing of what was not made is left, and what was made works.
    const Ticket ticket = to.slot.ticket();
    ASSERT_EQ(termini.front().connect(ticket, kPatience), Status::ok);
    const std::byte data[16]{};
    EXPECT_EQ(termini.front().send_fast(ticket, data), Status::ok);
    Notification arrival;
    EXPECT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
    termini.clear();
    other.run();
  });
}

#endif

// The state of a thread of this process, as the kernel writes it.
char state_of(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string number, name;
  char state = 0;
  file >> number >> name >> state;
  return state;
}

// Filters that are older than the call answer so, and valgrind does.
TEST(FutexSleep, SleepsOnItsOwnWordWhereItCannotOnMany) {
  for (const int error : {ENOSYS, EPERM}) {
    Child child(-1, [&] {
      forbid(SYS_futex_waitv, static_cast<std::uint32_t>(error));
      std::atomic<std::uint32_t> own = 0;
      const std::uint32_t bell = 0;
      library::Watched links;
      links.doorbells[links.count++] = {&bell, 0};
      library::futex_sleep(links, own, 0, std::nullopt);  // learns that the call is missing
      library::futex_sleep(links, own, 0, std::nullopt);  // to look at the bell again
      std::atomic<bool> over = false;
      std::thread wakes([&, sleeper = ::gettid()] {
        while (!over && state_of(sleeper) != 'S') std::this_thread::yield();
        own = 1;
        library::futex_wake(own);
      });
      library::futex_sleep(library::Watched{}, own, 0, std::nullopt);
      const bool slept = own == 1;
      over = true;
      wakes.join();
      return slept ? 0 : 1;
    });
    EXPECT_EQ(child.wait(), 0) << std::strerror(error);
  }
}

}  // namespace
}  // namespace hamlyn::test
