// The library between real processes, by every public call. The test's own process is the receiver; it is
// always the sender that is forked, before there is any interface here.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <list>
#include <thread>

#include "hamlyn/hamlyn.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> some_bytes(std::size_t size, unsigned seed) {
  const std::string text = noise(size, seed);
  std::vector<std::byte> out(size);
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), size, out.begin());
  return out;
}

// In fast mode, as soon as there is a place.
bool send_word(Terminus& terminus, const Ticket& ticket, std::uint64_t word,
               std::span<const std::byte> data = {}) {
  while (true) {
    const Status status = terminus.send_fast(ticket, data, word);
    if (status == Status::ok) return true;
    if (status != Status::no_place && status != Status::queue_full) return false;
    if (terminus.wait_for_place(ticket, kPatience) != Status::ok) return false;
  }
}

// A test process that starts its senders first: each waits for a ticket on its line.
class Library : public OnNodes {
 protected:
  using Part = std::function<int(Line&, Interface&, Terminus&, const Ticket&)>;

  Actor sender(const Part& part) {
    return Actor([this, part](Line& line) {
      const auto ticket = line.take<Ticket>();
      if (!ticket) return 91;
      Interface interface(other_options());
      Terminus terminus(interface);
      if (terminus.connect(*ticket, kPatience) != Status::ok) return 92;
      return part(line, interface, terminus, *ticket);
    });
  }
};

// A stream so fast that it is taken in rows (PollRest::await_row), by polls of any size: each message once,
// in order, with its bytes, and every wrap told.
TEST_F(Library, a_stream_is_taken_in_rows_and_nothing_of_it_is_lost) {
  constexpr std::uint64_t kMessages = 60000;
  constexpr std::size_t kPlaces = 512, kLandings = 1024;
  Actor streaming = sender([](Line&, Interface& interface, Terminus& terminus, const Ticket& ticket) {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      const std::uint64_t words[] = {i, ~i};
      Status status;
      while ((status = terminus.send_fast(ticket, std::as_bytes(std::span{words}), i,
                                          i % kLandings * sizeof words)) != Status::ok) {
        if (status != Status::no_place && status != Status::queue_full && status != Status::connecting)
          return 1;
        interface.run();
      }
    }
    return 0;
  });
  Interface interface(options());
  MessageArea area(interface, kLandings * 16);
  NotificationQueue queue(interface, 2 * kPlaces);
  Slot slot(area, queue, {.places = kPlaces});
  streaming.line().put(slot.ticket());
  std::vector<Notification> out(100);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (std::uint64_t i = 0; i < kMessages;) {
    // No more than are still to come: what follows is the end of the link.
    const std::size_t most = std::min<std::size_t>(1 + i % out.size(), kMessages - i);
    const std::size_t count = queue.poll(std::span{out}.first(most));
    for (std::size_t k = 0; k < count; ++k, ++i) {
      const Notification& n = out[k];
      ASSERT_EQ(n.kind, Notification::Kind::message) << i;
      ASSERT_EQ(n.word, i);
      ASSERT_EQ(n.length, 16u);
      ASSERT_EQ(n.wrap, i % queue.capacity() == 0) << i;
      std::uint64_t words[2];
      std::memcpy(words, area.bytes().data() + n.offset, sizeof words);
      ASSERT_TRUE(words[0] == i && words[1] == ~i) << i;
    }
    if (count == 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << i;
    }
  }
  EXPECT_EQ(streaming.wait(), 0);
}

// As an argument that cannot be.
template <class Make>
void refused(Make make) {
  try {
    make();
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
}

struct Receiver {
  explicit Receiver(const Interface::Options& options, std::size_t bytes = 1 << 20,
                    Slot::Options of = {.entries = 4})
      : interface(options), area(interface, bytes), slot(area, queue, of) {}
  Interface interface;
  MessageArea area;
  NotificationQueue queue{interface};
  Slot slot;
};

TEST_F(Library, MessagesOfAllSizesArriveAsTheyWereSent) {
  constexpr std::size_t kSizes[] = {0, 1, 15, 16, 17, 64, 1023, 1024, 1025, 8191, 8192, 8193, 65536, 1000000};
  const std::string meta(60, 'm');
  Actor from = sender([&](Line& line, Interface&, Terminus& terminus, const Ticket& ticket) {
    for (const std::size_t size : kSizes) {
      const auto data = some_bytes(size, static_cast<unsigned>(size));
      SendHandle handle;
      const Status taken =
          terminus.send(ticket, data, {.metadata = std::as_bytes(std::span(meta)).first(size % 61)}, &handle);
      if (taken != Status::ok && taken != Status::pending) return 1;
      if (terminus.wait(handle, kPatience) != Status::ok || terminus.status(handle) != Status::ok) return 2;
      if (!line.take<char>()) return 3;
    }
    return 0;
  });
  in_child([&] {
    Receiver to(options());
    from.line().put(to.slot.ticket(0));
    for (const std::size_t size : kSizes) {
      Notification arrival;
      ASSERT_EQ(to.queue.receive(arrival, kPatience), Status::ok) << size;
      ASSERT_EQ(arrival.kind, Notification::Kind::message);
      EXPECT_EQ(arrival.length, size);
      const auto expected = some_bytes(size, static_cast<unsigned>(size));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.slot.bytes(arrival).begin())) << size;
      EXPECT_EQ(to.slot.metadata(0).size(), size % 61);
      EXPECT_EQ(to.slot.arm(0), Status::ok);
      from.line().put('.');
    }
  });
  EXPECT_EQ(from.wait(), 0);
}

TEST_F(Library, FastMessagesComeAllAndInOrder) {
  constexpr std::uint64_t kMessages = 20000;
  Actor from = sender([&](Line&, Interface&, Terminus& terminus, const Ticket& ticket) {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      std::byte data[16]{};
      std::memcpy(data, &i, sizeof i);
      if (!send_word(terminus, ticket, i, data)) return 1;
    }
    return 0;
  });
  in_child([&] {
    Receiver to(options());
    from.line().put(to.slot.ticket());
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      Notification arrival;
      ASSERT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
      ASSERT_EQ(arrival.word, i);
      // In turns it reads at once and lets them heap up, so that the sender runs out of places.
      if (i % 5000 == 0) std::this_thread::sleep_for(5ms);
    }
  });
  EXPECT_EQ(from.wait(), 0);
}

TEST_F(Library, ARowOfFastMessagesComesInOrderAndStopsWhereOneCannotGo) {
  constexpr std::uint64_t kRows = 300, kRow = 20;
  Actor sending = sender([](Line& line, Interface&, Terminus& terminus, const Ticket& ticket) {
    std::array<std::byte, 64> bytes;
    const auto row_of = [&](std::uint64_t first) {
      std::array<FastMessage, kRow> row;
      for (std::uint64_t k = 0; k < kRow; ++k) {
        bytes[k] = static_cast<std::byte>(first + k);
        row[k] = {std::span{bytes}.subspan(k, k % 2 == 0 ? 1 : 16), first + k, k * 16};
      }
      return row;
    };
    // The receiver takes nothing before it is told: so many places are all there are.
    std::size_t sent = 99;
    if (terminus.send_fast_row(ticket, {}, sent) != Status::ok || sent != 0) return 1;
    std::array<FastMessage, kRow> row = row_of(0);
    if (terminus.send_fast_row(ticket, row, sent) != Status::no_place || sent != 8) return 2;
    line.put('f');
    const auto send_all = [&](std::span<const FastMessage> rest) {
      while (true) {
        const Status status = terminus.send_fast_row(ticket, rest, sent);
        if (status == Status::ok) return sent == rest.size();
        if (status != Status::no_place && status != Status::queue_full) return false;
        rest = rest.subspan(sent);
        if (terminus.wait_for_place(ticket, kPatience) != Status::ok) return false;
      }
    };
    if (!send_all(std::span{row}.subspan(8))) return 3;
    for (std::uint64_t i = 1; i < kRows; ++i) {
      if (!send_all(row_of(i * kRow))) return 4;
    }
    // One that cannot go keeps back those behind it, and nothing before it.
    line.take<char>();  // all have been taken, so that there are places
    row = row_of(kRows * kRow);
    row[3].offset = 4096;
    if (terminus.wait_for_place(ticket, kPatience) != Status::ok) return 5;
    Status status = Status::no_place;
    for (std::span<const FastMessage> rest{row}; status == Status::no_place; rest = rest.subspan(sent)) {
      status = terminus.send_fast_row(ticket, rest, sent);
    }
    if (status != Status::out_of_bounds) return 6;
    line.take<char>();
    return 0;
  });
  in_child([&] {
    Receiver receiver(options(), 4096, {.places = 8});
    sending.line().put(receiver.slot.ticket());
    ASSERT_TRUE(sending.line().take<char>());
    for (std::uint64_t i = 0; i < kRows * kRow; ++i) {
      Notification n;
      ASSERT_EQ(receiver.queue.receive(n, kPatience), Status::ok) << i;
      ASSERT_EQ(n.word, i);
      EXPECT_EQ(n.offset, i % kRow * 16);
      EXPECT_EQ(n.length, i % 2 == 0 ? 1u : 16u);
    }
    sending.line().put('t');
    for (std::uint64_t i = kRows * kRow; i < kRows * kRow + 3; ++i) {
      Notification n;
      ASSERT_EQ(receiver.queue.receive(n, kPatience), Status::ok);
      EXPECT_EQ(n.word, i);
    }
    EXPECT_FALSE(receiver.queue.poll());
    sending.line().put('g');
  });
  EXPECT_EQ(sending.wait(), 0);
}

TEST_F(Library, WhatArrivedWholeIsDeliveredBeforeDeathIsTold) {
  Actor from = sender([&](Line& line, Interface&, Terminus& terminus, const Ticket& ticket) {
    for (std::uint64_t i = 0; i < 40; ++i) {
      if (!send_word(terminus, ticket, i)) return 1;
    }
    line.put('.');
    ::raise(SIGKILL);
    return 2;
  });
  in_child([&] {
    Receiver to(options());
    from.line().put(to.slot.ticket());
    ASSERT_TRUE(from.line().take<char>());
    for (std::uint64_t i = 0; i < 40; ++i) {
      Notification arrival;
      ASSERT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
      EXPECT_EQ(arrival.kind, Notification::Kind::message);
      EXPECT_EQ(arrival.word, i);
    }
    Notification end;
    ASSERT_EQ(to.queue.receive(end, kPatience), Status::ok);
    EXPECT_EQ(end.kind, Notification::Kind::link_ended);
  });
  EXPECT_EQ(from.wait(), 128 + SIGKILL);
}

TEST_F(Library, DataLandsWhileTheApplicationIsElsewhere) {
  Actor from = sender([&](Line&, Interface&, Terminus& terminus, const Ticket& ticket) {
    const auto data = some_bytes(100000, 3);
    SendHandle handle;
    terminus.send(ticket, data, {}, &handle);
    return terminus.wait(handle, kPatience) == Status::ok ? 0 : 1;
  });
  in_child([&] {
    Receiver to(options());
    from.line().put(to.slot.ticket(0));
    // The bytes are looked at; the library is not called.
    const auto expected = some_bytes(100000, 3);
    const volatile std::byte* last = to.slot.bytes().data() + expected.size() - 1;
    EXPECT_TRUE(eventually([&] { return *last == expected.back(); }));
    Notification arrival;
    ASSERT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to.slot.bytes().begin()));
  });
  EXPECT_EQ(from.wait(), 0);
}

TEST_F(Library, ADescriptorTellsWhatPollFinds) {
  constexpr std::uint64_t kMessages = 300;
  Actor from = sender([&](Line& line, Interface&, Terminus& terminus, const Ticket& ticket) {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      if (!send_word(terminus, ticket, i)) return 1;
      if (!line.take<char>()) return 2;
    }
    return 0;
  });
  in_child([&] {
    Receiver to(options());
    const base::FileDescriptor set(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    ASSERT_EQ(::epoll_ctl(set.get(), EPOLL_CTL_ADD, to.queue.descriptor(), &event), 0);
    from.line().put(to.slot.ticket());
    for (std::uint64_t got = 0; got < kMessages;) {
      while (got < kMessages) {
        const auto next = to.queue.poll();
        if (!next) break;
        ASSERT_EQ(next->word, got++);
        from.line().put('.');
      }
      if (got < kMessages) {
        ASSERT_EQ(::epoll_wait(set.get(), &event, 1, 30000), 1) << got;
      }
    }
  });
  EXPECT_EQ(from.wait(), 0);
}

TEST_F(Library, WaitsEndInTimeOrWhenCancelled) {
  in_child([&] {
    Receiver to(options());
    Terminus terminus(to.interface);
    Notification arrival;
    EXPECT_EQ(to.queue.receive(arrival, 20ms), Status::timed_out);
    EXPECT_FALSE(to.queue.poll());
    Ticket nobody = to.slot.ticket();
    nobody.interface += 1000;
    EXPECT_EQ(terminus.connect(nobody, kPatience), Status::refused);
    EXPECT_THROW(to.interface.lookup("nobody"), Error);
    try {
      to.interface.lookup("nobody", 20ms);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::timed_out);
    }
    for (int i = 0; i < 20; ++i) {
      std::atomic<bool> over{false};
      std::thread canceller([&] {
        while (!over.load()) {
          to.interface.cancel();
          std::this_thread::yield();
        }
      });
      EXPECT_EQ(to.queue.receive(arrival, kPatience), Status::cancelled);
      try {
        to.interface.lookup("nobody", kPatience);
        ADD_FAILURE();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::cancelled);
      }
      over = true;
      canceller.join();
    }
  });
}

// What is longer than the clock can hold is for ever, and not over at once.
TEST_F(Library, TimesBeyondTheClockAreForEver) {
  in_child([&] {
    Interface::Options patient = options();
    patient.timeout = patient.stall = patient.dead = std::chrono::milliseconds::max();
    Interface interface(patient);
    std::atomic<bool> over{false};
    std::thread canceller([&] {
      while (!over.load()) {
        interface.cancel();
        std::this_thread::yield();
      }
    });
    try {
      interface.lookup("nobody", std::chrono::milliseconds::max());
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
    }
    over = true;
    canceller.join();
    try {
      interface.lookup("nobody", std::chrono::milliseconds::min());
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::name_unknown) << "as without a time: " << error.what();
    }
    Interface::Options wrong = options();
    wrong.stall = -1ms;
    refused([&] { Interface{wrong}; });
    wrong = options();
    wrong.dead = -1ms;
    refused([&] { Interface{wrong}; });
  });
}

TEST_F(Library, WhatNoHeaderNamesIsRefused) {
  in_child([&] {
    Receiver to(options());
    refused([&] { Slot{to.area, to.queue, {.mode = static_cast<Mode>(3), .entries = 1}}; });
    refused([&] { Slot{to.area, to.queue, {.access = static_cast<Access>(3)}}; });
    refused([&] { MessageArea{to.interface, 4096, static_cast<Sharing>(3)}; });
    // Behind it there is no address any more.
    auto* const last = reinterpret_cast<std::byte*>(~std::uintptr_t{4095});
    refused([&] { MessageArea{to.interface, std::span(last, 4096)}; });
    refused([&] { MessageArea{to.interface, std::span(last, 4096), Sharing::mapped_read_only}; });
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
    Receiver to(options());
    Interface other(options());
    const Ticket ticket = to.slot.ticket();
    Terminus terminus(other);
    ASSERT_EQ(terminus.connect(ticket, kPatience), Status::ok);
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit few{48, limit.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::list<NotificationQueue> queues;
    ErrorCode ended{};
    try {
      for (int i = 0; i < 100; ++i) queues.emplace_back(other, 16).descriptor();
    } catch (const Error& error) {
      ended = error.code();
      EXPECT_NE(std::string(error.what()).find("eventfd"), std::string::npos) << error.what();
    }
    EXPECT_EQ(ended, ErrorCode::out_of_memory);
    // What there was goes on, and what is given back can be had again.
    EXPECT_EQ(terminus.send_fast(ticket, {}), Status::ok);
    Notification arrival;
    EXPECT_EQ(to.queue.receive(arrival, kPatience), Status::ok);
    queues.pop_front();
    EXPECT_GE(queues.back().descriptor(), 0);
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
    Receiver to(options());
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
    auto one = std::make_unique<Receiver>(options(), 4096);
    Receiver other(options(), 4096);
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

TEST_F(LibraryMemory, ThatHasRunOutIsAnErrorWithAName) {
  in_child([&] {
    Receiver to(options());
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

TEST_F(Library, NamesAreFoundTakenAndWithdrawn) {
  in_child([&] {
    Receiver to(options());
    Interface other(options());
    to.interface.publish("here", to.slot.ticket());
    EXPECT_EQ(other.lookup("here"), to.slot.ticket());
    try {
      other.publish("here", to.slot.ticket());
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::name_taken);
    }
    to.interface.withdraw("here");
    EXPECT_THROW(other.lookup("here"), Error);
  });
}

TEST_F(Library, LinksAndNamesOutliveTheDaemon) {
  Actor from = sender([&](Line& line, Interface& interface, Terminus& terminus, const Ticket& ticket) {
    for (std::uint64_t i = 0; line.take<char>(); ++i) {
      if (!send_word(terminus, ticket, i)) return 1;
      if (i == 1) return interface.lookup("here", kPatience) == ticket ? 0 : 2;
    }
    return 3;
  });
  Actor to([&](Line& line) {
    Receiver receiver(options());
    receiver.interface.publish("here", receiver.slot.ticket());
    line.put(receiver.slot.ticket());
    for (std::uint64_t i = 0; i < 2; ++i) {
      Notification arrival;
      if (receiver.queue.receive(arrival, kPatience) != Status::ok || arrival.word != i) return 1;
      line.put('.');
    }
    return line.take<char>() ? 0 : 2;
  });
  const auto ticket = to.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  from.line().put(*ticket);
  from.line().put('.');
  ASSERT_TRUE(to.line().take<char>());
  daemon_.kill();
  const Daemon next{folder_.file("node")};
  from.line().put('.');
  EXPECT_TRUE(to.line().take<char>()) << "the link goes on";
  EXPECT_EQ(from.wait(), 0) << "the name comes back";
  to.line().put('.');
  EXPECT_EQ(to.wait(), 0);
}

// It stood still when it was asked for the bytes of a longer ring, and for a name.
TEST_F(Library, ALinkGrowsThoughTheDaemonTakesTheRequestAlong) {
  Actor from = sender([&](Line& line, Interface& interface, Terminus& terminus, const Ticket& ticket) {
    const std::vector<std::byte> data(4096);
    if (!send_word(terminus, ticket, 0) || !line.take<char>()) return 1;  // the daemon stands still
    if (terminus.send_fast(ticket, data) != Status::queue_full) return 2;
    try {
      interface.lookup("nobody", 100ms);  // by the thread that asks for the ring, too
      return 3;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::timed_out) return 6;
      line.put('.');
    }
    if (!line.take<char>()) return 4;  // it has gone
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (terminus.send_fast(ticket, data, 1) != Status::ok) {
      if (std::chrono::steady_clock::now() > until) return 5;
      interface.run();
    }
    line.take<char>();
    return 0;
  });
  Actor to([&](Line& line) {
    Receiver receiver(options());
    line.put(receiver.slot.ticket());
    Notification arrival;
    for (std::uint64_t i = 0; i < 2; ++i) {
      if (receiver.queue.receive(arrival, kPatience) != Status::ok || arrival.word != i) return 1;
      line.put('.');
    }
    return arrival.length == 4096 ? 0 : 2;
  });
  const auto ticket = to.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  from.line().put(*ticket);
  ASSERT_TRUE(to.line().take<char>());
  daemon_.command().signal(SIGSTOP);
  from.line().put('.');
  ASSERT_TRUE(from.line().take<char>());
  daemon_.kill();
  from.line().put('.');
  EXPECT_EQ(to.wait(), 0);
  from.line().put('.');
  EXPECT_EQ(from.wait(), 0);
}

TEST_F(Library, AForkedChildHasNoInterface) {
  in_child([&] {
    Receiver to(options());
    Terminus terminus(to.interface);
    const pid_t child = ::fork();
    if (child == 0) {
      Notification arrival;
      bool right = to.queue.receive(arrival, 1s) == Status::forked && !to.queue.poll() &&
                   !to.interface.run() && terminus.send(Ticket{}, {}) == Status::forked &&
                   to.slot.arm(0) == Status::forked && terminus.wait({}, 1s) == Status::forked;
      try {
        to.slot.ticket();
        right = false;
      } catch (const Error& error) {
        right &= error.code() == ErrorCode::forked;
      }
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_NO_THROW(to.slot.ticket()) << "the parent's is as it was";
  });
}

TEST_F(Library, ManyThreadsShareAnInterface) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 2000;
  Actor from = sender([&](Line& line, Interface& interface, Terminus&, const Ticket& ticket) {
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        Terminus own(interface);
        for (std::uint64_t i = 0; i < kEach; ++i) {
          if (send_word(own, ticket, i)) continue;
          ++failed;
          return;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return failed == 0 && line.take<char>() ? 0 : 1;
  });
  in_child([&] {
    Receiver to(options());
    from.line().put(to.slot.ticket());
    std::atomic<std::uint64_t> got{0}, sum{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        Notification arrival;
        while (got.load() < kThreads * kEach) {
          if (to.queue.receive(arrival, 5ms) != Status::ok) continue;
          sum += arrival.word;
          ++got;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(got.load(), kThreads * kEach);
    EXPECT_EQ(sum.load(), kThreads * (kEach * (kEach - 1) / 2));
    from.line().put('.');
  });
  EXPECT_EQ(from.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
