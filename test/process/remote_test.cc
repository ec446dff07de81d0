// Remote operations between real processes: whatever the target does meanwhile.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "hamlyn/hamlyn.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBytes = 4096;
constexpr std::size_t kText = 1024;  // where bytes stand that are asked for by gets

class Remote : public OnNodes {
 protected:
  // Who asks. It is forked before there are threads, and waits for its ticket.
  struct Asker {
    Asker(const Interface::Options& options, const Ticket& ticket) : interface(options), to(ticket) {
      if (terminus.connect(to, kPatience) != Status::ok) throw std::runtime_error("no link");
    }
    Outcome add(Terminus& by, std::uint64_t offset, std::uint64_t operand = 1) {
      RemoteHandle handle;
      const Status asked = by.fetch(to, {.operand = operand}, {.offset = offset}, &handle);
      return asked == Status::pending ? by.wait_outcome(handle, kPatience) : Outcome{asked, Refusal::none, 0};
    }

    Interface interface;
    Ticket to;
    Terminus terminus{interface};
    MessageArea area{interface, kBytes};
    NotificationQueue queue{interface};
    Slot landing{area, queue, {.fast = false}};
  };
  Actor asker(const std::function<int(Line&, Asker&)>& part) {
    return Actor([this, part](Line& line) {
      const auto ticket = line.take<Ticket>();
      if (!ticket) return 91;
      Asker self(other_options(), *ticket);
      return part(line, self);
    });
  }
  struct Target {
    explicit Target(const Interface::Options& options) : interface(options) {}
    std::uint64_t word(std::size_t offset) {
      return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(area.bytes().data() + offset))
          .load();
    }
    Interface interface;
    MessageArea area{interface, kBytes};
    NotificationQueue queue{interface};
    Slot slot{area, queue, {.fast = false, .fetches = true, .gets = kBytes}};
  };
  Actor target(const std::function<int(Line&, Target&)>& part) {
    return Actor([this, part](Line& line) {
      Target self(options());
      line.put(self.slot.ticket());
      return part(line, self);
    });
  }

  // Once the target is ready, the asker gets its ticket; the target stays until the asker is done.
  static void bring_together(Actor& asks, Actor& answers) {
    const auto ticket = answers.line().take<Ticket>();
    ASSERT_TRUE(ticket && answers.line().take<char>());
    asks.line().put(*ticket);
    EXPECT_EQ(asks.wait(), 0);
    answers.line().put('.');
    EXPECT_EQ(answers.wait(), 0);
  }

  Folder folder_;
};

// It sits in a system call of its own: its interface thread answers.
TEST_F(Remote, ATargetThatCallsNothingAnswers) {
  const Daemon daemon{folder_.file("node")};
  Actor asks = asker([](Line&, Asker& self) {
    for (std::uint64_t i = 0; i < 300; ++i) {
      const Outcome outcome = self.add(self.terminus, 8);
      if (outcome.status != Status::ok || outcome.value != i) return 1;
    }
    RemoteHandle handle;
    if (self.terminus.get(self.to, self.landing, 16, 1000, {.offset = kText}, &handle) != Status::pending)
      return 2;
    if (self.terminus.wait_outcome(handle, kPatience).status != Status::ok) return 3;
    for (std::size_t i = 0; i < 1000; ++i) {
      if (self.area.bytes()[16 + i] != static_cast<std::byte>(i)) return 4;
    }
    return self.area.bytes()[15] == std::byte{0} && self.area.bytes()[1016] == std::byte{0} ? 0 : 5;
  });
  Actor answers = target([](Line& line, Target& self) {
    for (std::size_t i = 0; i < 1000; ++i) self.area.bytes()[kText + i] = static_cast<std::byte>(i);
    if (!line.put('.') || !line.take<char>()) return 1;
    return self.word(8) == 300 ? 0 : 2;
  });
  bring_together(asks, answers);
}

// Two processes of two threads each, and the owner, count in the same word.
TEST_F(Remote, ManyCountInOneWord) {
  constexpr std::uint64_t kEach = 1000;
  const Daemon daemon{folder_.file("node")};
  const auto count = [](Line&, Asker& self) {
    std::atomic<int> failed{0};
    const auto part = [&] {
      Terminus own(self.interface);
      std::uint64_t last = 0;
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const Outcome outcome = self.add(own, 0);
        if (outcome.status != Status::ok || (i != 0 && outcome.value <= last)) ++failed;
        last = outcome.value;
      }
    };
    std::thread one(part), other(part);
    one.join();
    other.join();
    return failed.load();
  };
  Actor one = asker(count), other = asker(count);
  Actor answers = target([](Line& line, Target& self) {
    std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(self.area.bytes().data()));
    for (std::uint64_t i = 0; i < kEach; ++i) {
      word.fetch_add(1);
      static_cast<void>(self.queue.poll());
    }
    if (!line.take<char>()) return 1;
    return word.load() == 5 * kEach ? 0 : 2;
  });
  const auto ticket = answers.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  one.line().put(*ticket);
  other.line().put(*ticket);
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(other.wait(), 0);
  answers.line().put('.');
  EXPECT_EQ(answers.wait(), 0);
}

TEST_F(Remote, ATargetThatStopsIsWaitedForAndOneThatDiesIsNot) {
  const Daemon daemon{folder_.file("node")};
  Actor asks = asker([](Line& line, Asker& self) {
    if (self.add(self.terminus, 0).status != Status::ok) return 1;
    line.put('.');
    if (!line.take<char>()) return 2;
    RemoteHandle handles[2];
    RemoteOptions told{.queue = &self.queue, .word = 9};
    if (self.terminus.fetch(self.to, {.operand = 1}, {}, &handles[0]) != Status::pending) return 3;
    if (self.terminus.get(self.to, self.landing, 0, 8, told, &handles[1]) != Status::pending) return 4;
    if (self.terminus.wait_outcome(handles[0], 20ms).status != Status::timed_out) return 5;
    if (self.terminus.outcome(handles[0]).status != Status::pending) return 6;
    line.put('.');
    for (const RemoteHandle handle : handles) {
      if (self.terminus.wait_outcome(handle, kPatience).status != Status::link_ended) return 7;
    }
    Notification n;
    do {
      if (self.queue.receive(n, kPatience) != Status::ok) return 8;
    } while (n.kind == Notification::Kind::link_ended);
    return n.kind == Notification::Kind::remote_failed && n.word == 9 && n.cause == Refusal::none ? 0 : 9;
  });
  Actor answers = target([](Line& line, Target&) { return line.take<char>() ? 1 : 2; });
  const auto ticket = answers.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  asks.line().put(*ticket);
  ASSERT_TRUE(asks.line().take<char>());
  answers.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return answers.stopped(); }));
  asks.line().put('.');
  ASSERT_TRUE(asks.line().take<char>()) << asks.wait();
  answers.signal(SIGKILL);
  EXPECT_EQ(asks.wait(), 0);
}

TEST_F(Remote, AReaderThatSleepsIsToldOfTheEnd) {
  const Daemon daemon{folder_.file("node")};
  Actor asks = asker([](Line&, Asker& self) {
    for (std::uint64_t i = 0; i < 50; ++i) {
      const RemoteOptions told{.offset = kText, .queue = &self.queue, .word = i};
      if (self.terminus.get(self.to, self.landing, 0, 8, told) != Status::pending) return 1;
      Notification n;
      if (self.queue.receive(n, kPatience) != Status::ok) return 2;
      if (n.kind != Notification::Kind::remote_done || n.word != i || n.length != 8) return 3;
      if (self.area.bytes()[0] != std::byte{7}) return 4;
    }
    return 0;
  });
  Actor answers = target([](Line& line, Target& self) {
    self.area.bytes()[kText] = std::byte{7};
    return line.put('.') && line.take<char>() ? 0 : 1;
  });
  bring_together(asks, answers);
}

TEST_F(Remote, AForkedChildAsksForNothing) {
  const Daemon daemon{folder_.file("node")};
  Actor asks = asker([](Line&, Asker& self) {
    RemoteHandle handle;
    if (self.terminus.fetch(self.to, {.operand = 1}, {}, &handle) != Status::pending) return 1;
    const pid_t child = fork();
    if (child == 0) {
      const bool nothing = self.terminus.fetch(self.to, {}) == Status::forked &&
                           self.terminus.get(self.to, self.landing, 0, 8) == Status::forked &&
                           self.terminus.outcome(handle).status == Status::forked &&
                           self.terminus.wait_outcome(handle, kPatience).status == Status::forked;
      _exit(nothing ? 0 : 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 2;
    return self.terminus.wait_outcome(handle, kPatience).status == Status::ok ? 0 : 3;
  });
  Actor answers = target([](Line& line, Target&) { return line.take<char>() ? 0 : 1; });
  const auto ticket = answers.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  asks.line().put(*ticket);
  EXPECT_EQ(asks.wait(), 0);
  answers.line().put('.');
  EXPECT_EQ(answers.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
