// Threads that share one import, and one segment.
#include "hamlyn/segment/segment.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "hamlyn/rpc/local_call.h"
#include "hamlyn/segment/versioned.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

constexpr int kThreads = 3;
constexpr std::uint64_t kEach = 200;

class SegmentThreads : public OnNodes {
 protected:
  // While `work` runs, somebody keeps doing `besides`.
  template <class Besides, class Work>
  static void beside(Besides besides, Work work) {
    std::atomic<bool> over{false};
    std::thread other([&] {
      while (!over) besides();
    });
    work();
    over = true;
    other.join();
  }
  template <class Work>
  static void in_threads(Work work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { work(static_cast<std::uint64_t>(t)); });
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(SegmentThreads, share_an_import_while_its_exporter_holds_writes_back_now_and_then) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "shared", .bytes = 65536, .hold = 1u << 20});
    Import import(importer, "shared");
    const auto rule = [&] {
      static_cast<void>(segment.inhibit());
      static_cast<void>(segment.poll());
      static_cast<void>(segment.release());
      static_cast<void>(segment.set_control(Control::always));
      static_cast<void>(segment.set_control(Control::conditional));
      for (int i = 0; i < 3; ++i)
        static_cast<void>(segment.poll());  // additions are refused while writes are held back
      std::this_thread::yield();
    };
    beside(rule, [&] {
      in_threads([&](std::uint64_t t) {
        for (std::uint64_t i = 1; i <= kEach; ++i) {
          EXPECT_EQ(import.write(4096 + t * 8, std::as_bytes(std::span(&i, 1)), kPatience), Status::ok);
          EXPECT_EQ(import.flush(kPatience), Status::ok);
          Outcome added;
          do {
            added = import.fetch(0, {.op = FetchOp::add, .operand = 1}, kPatience);
          } while (added.cause == Refusal::inhibited);
          EXPECT_EQ(added.status, Status::ok);
        }
      });
    });
    EXPECT_EQ(segment.at<std::uint64_t>(0), kThreads * kEach);
    for (std::size_t t = 0; t < kThreads; ++t) EXPECT_EQ(segment.at<std::uint64_t>(4096 + t * 8), kEach);
  });
}

TEST_F(SegmentThreads, read_records_whole_that_others_write) {
  struct Value {
    std::uint64_t words[40];
  };
  with_two([](Interface& exporter, Interface& importer) {
    for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_only}) {
      Segment segment(exporter, {.name = "records", .bytes = 4096, .sharing = sharing});
      Import import(importer, "records");
      OwnVersioned<Value> own(segment, 64);
      std::uint64_t number = 0;
      const auto write = [&] {
        Value value;
        std::ranges::fill(value.words, ++number);
        own.write(value);
        std::this_thread::yield();
      };
      write();
      beside(write, [&] {
        in_threads([&](std::uint64_t) {
          FarVersioned<Value> far(import, 64);
          for (std::uint64_t i = 0; i < kEach; ++i) {
            Value value;
            ASSERT_EQ(far.read(value, kPatience), Status::ok);
            ASSERT_EQ(std::ranges::count(value.words, value.words[0]), 40) << "parts of two records";
          }
        });
      });
    }
  });
}

TEST_F(SegmentThreads, take_records_from_descriptors_while_others_write) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "told", .bytes = 4096});
    const int control = segment.control_descriptor();
    Import import(importer, "told");
    std::uint64_t told = 0;
    std::thread reader([&] {
      while (told != kThreads * kEach) {
        pollfd fd{control, POLLIN, 0};
        ASSERT_EQ(::poll(&fd, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())), 1);
        SegmentRecord record;
        if (::read(control, &record, sizeof record) == sizeof record) told += record.count;
      }
    });
    in_threads([&](std::uint64_t t) {
      for (std::uint64_t i = 0; i < kEach; ++i)
        EXPECT_EQ(import.write(t * 8, std::as_bytes(std::span(&i, 1)), kPatience, {.notify = true}),
                  Status::ok);
    });
    reader.join();
    EXPECT_EQ(told, kThreads * kEach);
  });
}

TEST_F(SegmentThreads, use_an_import_that_is_taken_back_and_given_anew) {
  with_two([](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "fickle", .bytes = 4096});
    const auto revoke = [&] {
      segment.revoke();
      std::this_thread::yield();
    };
    beside(revoke, [&] {
      in_threads([&](std::uint64_t t) {
        std::uint64_t done = 0;
        while (done < 10) {
          try {
            Import import(importer, "fickle");
            const std::uint64_t word = t;
            Status status = Status::ok;
            while (status == Status::ok && done < 10) {
              status = import.write(t * 8, std::as_bytes(std::span(&word, 1)), kPatience);
              if (status == Status::ok) status = import.flush(kPatience);
              done += status == Status::ok ? 1 : 0;
            }
            EXPECT_TRUE(status == Status::ok || status == Status::stale) << name(status);
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::seed_stale) << error.what();  // in between
          }
        }
      });
    });
  });
}

TEST_F(SegmentThreads, take_the_calls_of_one_service_and_answer_each_others) {
  with_two([this](Interface& exporter, Interface& importer) {
    LocalService service(exporter, "calls", {.clients = kThreads});
    std::atomic<int> calling{kThreads};
    std::vector<std::thread> clerks;
    for (int t = 0; t < 2; ++t) {
      clerks.emplace_back([&] {
        for (LocalCall call; calling != 0;) {
          if (service.take(call, std::chrono::milliseconds(5)) != Status::ok) continue;
          const std::vector<std::byte> reply(call.request.rbegin(), call.request.rend());
          EXPECT_EQ(service.answer(call, reply), Status::ok);
        }
      });
    }
    in_threads([&](std::uint64_t t) {
      std::optional<Interface> own;
      LocalClient client(t == 0 ? importer : own.emplace(other_options()), "calls");
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::array<std::uint8_t, 3> request{1, static_cast<std::uint8_t>(t),
                                                  static_cast<std::uint8_t>(i)};
        std::array<std::uint8_t, 3> reply{};
        EXPECT_EQ(client.call(request, reply, kPatience), Status::ok);
        EXPECT_TRUE(std::equal(request.begin(), request.end(), reply.rbegin()));
      }
      --calling;
    });
    for (std::thread& clerk : clerks) clerk.join();
  });
}

// The first to come takes it a step further, by a look or by an operation; all find it open.
TEST_F(SegmentThreads, share_an_import_that_is_being_opened) {
  with_two([](Interface& exporter, Interface& importer) {
    for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_write}) {
      for (int round = 0; round != 10; ++round) {
        Import import(importer, "late", kBegin);
        std::optional<MappedSlot> slot;
        std::optional<Segment> segment;
        std::thread exports([&] {
          segment.emplace(exporter, SegmentOptions{.name = "late", .bytes = 4096, .sharing = sharing});
        });
        in_threads([&](std::uint64_t t) {
          while (t == 0 && import.opened(std::chrono::nanoseconds{0}) != Status::ok)
            std::this_thread::yield();
          const std::uint64_t word = t + 1;
          std::uint64_t back = 0;
          EXPECT_EQ(import.write(t * 8, std::as_bytes(std::span(&word, 1)), kPatience), Status::ok);
          EXPECT_EQ(import.flush(kPatience), Status::ok);
          EXPECT_EQ(import.load(t * 8, back, kPatience), Status::ok);
          EXPECT_EQ(back, word);
          EXPECT_EQ(import.size(), 4096u);
        });
        exports.join();
        slot.emplace(importer, segment->ticket(), kBegin);
        const Status wanted = import.reads_by_loads() ? Status::ok : Status::refused;
        in_threads([&](std::uint64_t) { EXPECT_EQ(slot->opened(kPatience), wanted); });
      }
    }
  });
}

}  // namespace
}  // namespace hamlyn::test
