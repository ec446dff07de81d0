// A process that waits, and with which nothing is under way, looks at nothing by the clock. What would be
// found by looking is found all the same.
#include <poll.h>

#include <array>
#include <atomic>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "library/engine.h"
#include "test/process/managers.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

struct Side {
  explicit Side(const Interface::Options& options) : interface(options) {}
  bool rests() {
    return eventually([&] { return interface.engine().rests(); });
  }
  // A wait that runs nothing of ours: what has come is told by the descriptor, or it is not.
  bool told() {
    pollfd wait{queue.descriptor(), POLLIN, 0};
    return ::poll(&wait, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) == 1;
  }
  Notification next() {
    Notification notification;
    EXPECT_EQ(queue.receive(notification, kPatience), Status::ok);
    return notification;
  }

  Interface interface;
  MessageArea area{interface, 4096};
  NotificationQueue queue{interface};
  Slot slot{area, queue, {.entries = 1, .places = 8}};
  Terminus terminus{interface};
};

// As the kernel says of a process that is not our child.
bool stopped(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("State:")) return line.find('T') != std::string::npos;
  }
  return false;
}

class Rest : public OnNodes {
 protected:
  static constexpr auto kStall = 600ms;

  Interface::Options impatient() const {
    Interface::Options options = this->options();
    options.stall = kStall;
    return options;
  }
};

TEST_F(Rest, ends_with_each_message_and_comes_again) {
  in_child([&] {
    Side sender(options()), receiver(options());
    std::uint64_t last = 0;
    std::thread waits([&] {
      while (last != 2) last = receiver.next().word;
    });
    const Ticket ticket = receiver.slot.ticket();
    EXPECT_EQ(sender.terminus.connect(ticket, kPatience), Status::ok);
    for (std::uint64_t word = 1; word <= 2; ++word) {
      EXPECT_TRUE(receiver.rests() && sender.rests());
      EXPECT_EQ(sender.terminus.send_fast(ticket, {}, word), Status::ok);
      EXPECT_TRUE(eventually([&] { return !sender.interface.engine().rests(); })) << "something was sent";
      EXPECT_TRUE(word == 2 || eventually([&] { return !receiver.interface.engine().rests(); }));
    }
    waits.join();
  });
}

// Each of them is to be told; but none keeps the others from sleeping.
TEST_F(Rest, comes_though_several_threads_wait) {
  in_child([&] {
    Side sender(options()), receiver(options());
    std::vector<std::unique_ptr<NotificationQueue>> queues;
    std::vector<std::unique_ptr<Slot>> slots;
    std::vector<std::thread> threads;
    std::array<std::atomic<std::uint64_t>, 3> words{};
    for (std::atomic<std::uint64_t>& word : words) {
      queues.push_back(std::make_unique<NotificationQueue>(receiver.interface));
      slots.push_back(std::make_unique<Slot>(receiver.area, *queues.back(), Slot::Options{.places = 8}));
      threads.emplace_back([&word, queue = queues.back().get()] {
        Notification next;
        while (word != 2 && queue->receive(next, kPatience) == Status::ok) word = next.word;
      });
    }
    for (const auto& slot : slots) EXPECT_EQ(sender.terminus.connect(slot->ticket(), kPatience), Status::ok);
    for (std::uint64_t word = 1; word <= 2; ++word) {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        EXPECT_TRUE(i != 0 || receiver.rests()) << word;
        EXPECT_EQ(sender.terminus.send_fast(slots[i]->ticket(), {}, word), Status::ok);
        EXPECT_TRUE(eventually([&] { return words[i] == word; })) << word << "/" << i;
        if (word == 1) break;  // one who is told, and waits again
      }
    }
    for (std::thread& thread : threads) thread.join();
  });
}

// A peer that stops while nothing is pending, and is then sent something by who sleeps, or calls us no more.
TEST_F(Rest, is_not_in_the_way_of_a_stalled_peer) {
  Actor stops([&](Line& line) {
    Side side(options());
    line.put(side.slot.ticket());
    if (!line.take<char>()) return 1;
    ::raise(SIGSTOP);
    return 0;
  });
  in_child([&] {
    const auto ticket = stops.line().take<Ticket>();
    Side side(impatient());
    EXPECT_EQ(side.terminus.connect(*ticket, kPatience), Status::ok);
    EXPECT_GE(side.queue.descriptor(), 0);
    EXPECT_FALSE(side.queue.poll()) << "the next is to be told";
    EXPECT_TRUE(side.rests()) << "it has told what it has taken";
    stops.line().put('.');
    EXPECT_TRUE(eventually([&] { return stopped(stops.pid()); }));
    EXPECT_TRUE(side.rests());
    EXPECT_EQ(side.terminus.send_fast(*ticket, {}, 1), Status::ok);
    EXPECT_TRUE(side.told());
    const auto notification = side.queue.poll();
    EXPECT_TRUE(notification && notification->kind == Notification::Kind::link_ended);
  });
  stops.signal(SIGCONT);
  EXPECT_EQ(stops.wait(), 0);
}

// However long it has been since somebody looked: what is sent then is pending since then.
TEST_F(Rest, is_no_time_in_which_a_peer_has_stalled) {
  Actor stops([&](Line& line) {
    Side side(options());
    line.put(side.slot.ticket());
    if (!line.take<char>()) return 1;
    ::raise(SIGSTOP);
    return 0;
  });
  in_child([&] {
    const auto ticket = stops.line().take<Ticket>();
    Side side(impatient());
    EXPECT_EQ(side.terminus.connect(*ticket, kPatience), Status::ok);
    EXPECT_GE(side.queue.descriptor(), 0);
    EXPECT_FALSE(side.queue.poll()) << "the next is to be told";
    EXPECT_TRUE(side.rests());
    stops.line().put('.');
    EXPECT_TRUE(eventually([&] { return stopped(stops.pid()); }));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() - begin > kStall / 2; }))
        << "the rest has lasted";
    EXPECT_TRUE(side.rests());
    const auto sent = std::chrono::steady_clock::now();
    EXPECT_EQ(side.terminus.send_fast(*ticket, {}, 1), Status::ok);
    EXPECT_TRUE(side.told());
    EXPECT_GE(std::chrono::steady_clock::now() - sent, kStall) << "it was given up too early";
  });
  stops.signal(SIGCONT);
  EXPECT_EQ(stops.wait(), 0);
}

TEST_F(Rest, is_not_in_the_way_of_a_dead_peer) {
  Actor dies([&](Line& line) {
    Side side(options());
    line.put(side.slot.ticket());
    line.take<char>();
    return 0;
  });
  in_child([&] {
    const auto ticket = dies.line().take<Ticket>();
    Side side(options());
    EXPECT_EQ(side.terminus.connect(*ticket, kPatience), Status::ok);
    EXPECT_TRUE(side.rests());
    ::kill(dies.pid(), SIGKILL);
    EXPECT_EQ(side.next().kind, Notification::Kind::link_ended);
  });
}

// Who polls and never sleeps tells what it has taken, after a rest, and if it gives nobody up itself.
TEST_F(Rest, leaves_nobody_untold_of_what_was_taken) {
  in_child([&] {
    Interface::Options patient = options();
    patient.stall = 0ms;
    Side sender(impatient()), polls(options()), patiently(patient);
    for (Side* const each : {&polls, &patiently})
      EXPECT_EQ(sender.terminus.connect(each->slot.ticket(), kPatience), Status::ok);
    EXPECT_TRUE(polls.rests() && patiently.rests());
    std::atomic<bool> polling{false}, over{false};
    unsigned taken = 0;
    std::thread never_sleeps([&] {
      for (; !over; polling = true) {
        for (Side* const each : {&polls, &patiently}) taken += each->queue.poll() ? 1u : 0u;
      }
    });
    while (!polling) std::this_thread::yield();
    for (Side* const each : {&polls, &patiently})
      EXPECT_EQ(sender.terminus.send_fast(each->slot.ticket(), {}, 1), Status::ok);
    Notification notification;
    EXPECT_EQ(sender.queue.receive(notification, 1700ms), Status::timed_out) << "nobody has stalled";
    over = true;
    never_sleeps.join();
    EXPECT_EQ(taken, 2u);
  });
}

}  // namespace
}  // namespace hamlyn::test
