// Processes that are killed, stopped and hanging, as a failure detector sees them.
#include "hamlyn/segment/failure_detector.h"

#include <signal.h>

#include <condition_variable>
#include <mutex>

#include "segment/suspicions.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

using Cause = Suspicion::Cause;
using std::chrono::milliseconds;

// --- what is made of reads, at times that are made up

class FailureDetection : public testing::Test {
 protected:
  using Suspicions = segment::Suspicions;
  static Suspicions::Time at(int ms) { return Suspicions::Time{} + milliseconds{ms}; }
  // A read that is answered after some time: whether the callback was told.
  bool read(Suspicions& all, int begins, int takes, std::uint64_t word, Status status = Status::ok) {
    all.begin(at(begins));
    return all.answered(at(begins + takes), status, word);
  }
  const FailureDetectorOptions options_{.period = milliseconds{100}, .deadline = milliseconds{300}};
  const FailureDetectorOptions moving_{
      .period = milliseconds{100}, .deadline = milliseconds{300}, .must_move = true};
};

TEST_F(FailureDetection, trusts_whoever_answers) {
  Suspicions all(options_, at(0));
  EXPECT_EQ(all.next(), at(0));
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(read(all, i * 100, 50, 7));
    EXPECT_EQ(all.next(), at(i * 100 + 100));
    EXPECT_EQ(all.suspicion().when, at(i * 100 + 50));
  }
  EXPECT_EQ(all.suspicion().cause, Cause::none);
  EXPECT_EQ(all.suspicion().word, 7u);
}

TEST_F(FailureDetection, suspects_at_the_deadline_once_and_trusts_again) {
  Suspicions all(options_, at(0));
  read(all, 0, 10, 7);
  all.begin(at(100));
  EXPECT_EQ(all.late_at(), at(400));
  EXPECT_FALSE(all.look(at(399)));
  EXPECT_TRUE(all.look(at(400)));
  EXPECT_FALSE(all.look(at(500)));
  EXPECT_EQ(all.suspicion().cause, Cause::late);
  EXPECT_EQ(all.suspicion().when, at(10));
  EXPECT_TRUE(all.answered(at(5000), Status::ok, 7));
  EXPECT_EQ(all.suspicion().cause, Cause::none);
  EXPECT_EQ(all.next(), at(200)) << "the next begins at once";
}

TEST_F(FailureDetection, suspects_nobody_because_it_was_held_up_itself) {
  Suspicions all(options_, at(0));
  EXPECT_FALSE(read(all, 0, 9000, 7)) << "the answer was there when it looked";
  EXPECT_EQ(all.suspicion().cause, Cause::none);
}

TEST_F(FailureDetection, suspects_when_a_read_fails_and_tells_the_newest_cause) {
  Suspicions all(options_, at(0));
  EXPECT_TRUE(read(all, 0, 10, 0, Status::link_ended));
  EXPECT_EQ(all.suspicion().cause, Cause::failed);
  EXPECT_EQ(all.suspicion().status, Status::link_ended);
  all.begin(at(100));
  EXPECT_FALSE(all.look(at(400))) << "it was told already";
  EXPECT_EQ(all.suspicion().cause, Cause::late);
  EXPECT_EQ(all.suspicion().status, Status::ok);
  EXPECT_FALSE(all.answered(at(401), Status::stale, 0));
  EXPECT_EQ(all.suspicion().status, Status::stale);
  EXPECT_TRUE(read(all, 500, 10, 1));
  EXPECT_FALSE(read(all, 600, 10, 1));
}

TEST_F(FailureDetection, suspects_a_word_that_stands_still) {
  Suspicions all(moving_, at(0));
  EXPECT_FALSE(read(all, 1000, 10, 0)) << "nobody has looked before";
  EXPECT_FALSE(read(all, 1100, 10, 1));
  EXPECT_FALSE(read(all, 1200, 10, 1));
  EXPECT_FALSE(read(all, 1400, 9, 1));
  EXPECT_TRUE(read(all, 1400, 10, 1));
  EXPECT_EQ(all.suspicion().cause, Cause::still);
  EXPECT_EQ(all.suspicion().when, at(1409));
  EXPECT_FALSE(read(all, 1500, 10, 1));
  EXPECT_TRUE(read(all, 1600, 10, 2));
  all.begin(at(1700));
  EXPECT_TRUE(all.look(at(2000)));
  EXPECT_FALSE(all.answered(at(2100), Status::ok, 2)) << "it answers, but has not moved";
  EXPECT_EQ(all.suspicion().cause, Cause::still);
}

// --- real processes

// What a detector says, for a thread that waits for it.
class Heard {
 public:
  FailureDetector::Callback callback() {
    return [this](const Suspicion& now) {
      const std::lock_guard guard(mutex_);
      told_.push_back(now);
      news_.notify_all();
    };
  }
  // Waits until it was told of something that is so; what was told before is forgotten.
  bool hears(const std::function<bool(const Suspicion&)>& so) {
    std::unique_lock lock(mutex_);
    return news_.wait_for(lock, kPatience, [&] {
      while (!told_.empty()) {
        const Suspicion next = told_.front();
        told_.pop_front();
        if (so(next)) return true;
      }
      return false;
    });
  }
  bool hears_suspicion() {
    return hears([](const Suspicion& now) { return now.suspected(); });
  }
  bool hears_trust() {
    return hears([](const Suspicion& now) { return !now.suspected(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Suspicion> told_;
};

class Detector : public OnNodes {
 protected:
  // Exports a word, and counts one up whenever it is told to.
  Actor watched() {
    return Actor([this](Line& line) {
      Interface interface(options());
      Segment segment(interface, {.name = "alive", .bytes = 64});
      line.put('e');
      while (line.take<char>()) {
        ++segment.at<std::uint64_t>(8);
        line.put('c');
      }
      return 0;
    });
  }
  // The test itself has no threads: it forks.
  void watching(const FailureDetectorOptions& options,
                const std::function<void(FailureDetector&, Heard&)>& work) {
    in_child([&] {
      Interface interface(other_options());
      Import import(interface, "alive");
      Heard heard;
      FailureDetector detector(import, options, heard.callback());
      work(detector, heard);
    });
  }
  const FailureDetectorOptions options_{
      .offset = 8, .period = milliseconds{5}, .deadline = milliseconds{100}};
};

TEST_F(Detector, suspects_a_process_that_is_killed) {
  Actor process = watched();
  ASSERT_TRUE(process.line().take<char>());
  watching(options_, [&](FailureDetector& detector, Heard& heard) {
    process.signal(SIGKILL);
    EXPECT_TRUE(heard.hears_suspicion());
    EXPECT_TRUE(eventually([&] { return detector.suspicion().cause == Cause::failed; }));
    EXPECT_NE(detector.suspicion().status, Status::ok);
  });
}

TEST_F(Detector, without_a_callback_says_what_it_suspects_when_it_is_asked) {
  Actor process = watched();
  ASSERT_TRUE(process.line().take<char>());
  in_child([&] {
    Interface interface(other_options());
    Import import(interface, "alive");
    const FailureDetector detector(import, options_, nullptr);
    process.signal(SIGKILL);
    EXPECT_TRUE(eventually([&] { return detector.suspicion().cause == Cause::failed; }));
  });
}

TEST_F(Detector, suspects_a_process_that_is_stopped_and_hears_of_its_return) {
  Actor process = watched();
  ASSERT_TRUE(process.line().take<char>());
  watching(options_, [&](FailureDetector& detector, Heard& heard) {
    for (int round = 0; round < 2; ++round) {
      process.signal(SIGSTOP);
      EXPECT_TRUE(heard.hears([](const Suspicion& now) { return now.cause == Cause::late; }));
      process.signal(SIGCONT);
      EXPECT_TRUE(heard.hears_trust());
    }
    EXPECT_EQ(detector.suspicion().word, 0u);
  });
}

TEST_F(Detector, suspects_a_process_whose_word_stands_still) {
  Actor process = watched();
  ASSERT_TRUE(process.line().take<char>());
  FailureDetectorOptions options = options_;
  options.must_move = true;
  watching(options, [&](FailureDetector&, Heard& heard) {
    EXPECT_TRUE(heard.hears([](const Suspicion& now) { return now.cause == Cause::still; }));
    process.line().put('+');
    EXPECT_TRUE(heard.hears([](const Suspicion& now) { return !now.suspected() && now.word == 1; }));
  });
}

TEST_F(Detector, suspects_when_the_segment_has_gone) {
  in_child([&] {
    Interface exporter(options()), importer(other_options());
    auto segment = std::make_unique<Segment>(exporter, SegmentOptions{.name = "alive", .bytes = 64});
    Import import(importer, "alive");
    Heard heard;
    FailureDetector detector(import, options_, heard.callback());
    segment.reset();
    EXPECT_TRUE(heard.hears(
        [](const Suspicion& now) { return now.cause == Cause::failed && now.status == Status::stale; }));
  });
}

TEST_F(Detector, refuses_times_and_words_that_cannot_be) {
  in_child([&] {
    Interface exporter(options()), importer(other_options());
    Segment segment(exporter, SegmentOptions{.name = "alive", .bytes = 64});
    Import import(importer, "alive");
    const auto refused = [&](const FailureDetectorOptions& asked) {
      try {
        FailureDetector(import, asked, [](const Suspicion&) {});
        return false;
      } catch (const Error& error) {
        return error.code() == ErrorCode::invalid_argument;
      }
    };
    EXPECT_TRUE(refused({.offset = 60}));
    EXPECT_TRUE(refused({.offset = 64}));
    EXPECT_TRUE(refused({.offset = ~std::size_t{7}}));
    EXPECT_TRUE(refused({.period = milliseconds{0}}));
    EXPECT_TRUE(refused({.deadline = milliseconds{-1}}));
    EXPECT_TRUE(refused({.deadline = milliseconds::max()}));
    EXPECT_TRUE(refused({.period = milliseconds{200}, .deadline = milliseconds{100}, .must_move = true}));
    EXPECT_FALSE(refused({.offset = 56}));
  });
}

}  // namespace
}  // namespace hamlyn::test
