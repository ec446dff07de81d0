// Whom a peer wakes, and how often for nothing. Honest peers, whatever they do, are always listened to: a
// ring that brings nothing but room is not one without cause.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "fabric/shm/shm_link.h"
#include "hamlyn/hamlyn.h"
#include "library/engine.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBytes = 1 << 20;
constexpr unsigned kFewRings = 4;  // of 64, from which on a link is looked at by the clock
constexpr unsigned kPlaces = 8;
constexpr std::size_t kMostRead = 65536;

// One of the two ends, which are alike. Its program receives, computes or polls beside what it asks for.
struct End {
  explicit End(const Interface::Options& options) : interface(options) {}

  // Rings of its peers in a row that had no cause.
  unsigned empty_rings() {
    const base::RunLockGuard guard(interface.engine().lock());
    unsigned most = 0;
    for (interface::Link* link : interface.engine().core().links()) {
      if (const shm::ShmLink* local = link->local()) most = std::max(most, local->empty_rings);
    }
    return most;
  }

  Interface interface;
  MessageArea area{interface, kBytes};
  NotificationQueue queue{interface};
  Slot slot{area, queue, {.places = kPlaces, .fetches = true, .gets = kMostRead, .puts = true}};
};

// One side of a pair: asks the other for one thing at a time.
class Asker {
 public:
  Asker(End& own, End& other) : own_(own), ticket_(other.slot.ticket()), terminus_(own.interface) {
    EXPECT_EQ(terminus_.connect(ticket_, kPatience), Status::ok);
  }

  void put_much() {
    for (std::size_t at = 0; at != kBytes; at += kBytes / 4)
      EXPECT_EQ(terminus_.put(ticket_, {bytes_.data() + at, kBytes / 4}, {.offset = at}, kPatience),
                Status::ok);
    flush();
  }
  void put_little() {
    for (std::size_t i = 0; i != 1000; ++i) {
      EXPECT_EQ(terminus_.put(ticket_, {bytes_.data(), 8}, {.offset = 8 * i}, kPatience), Status::ok);
      if (i % 100 == 0) flush();
    }
    flush();
  }
  void get_much() { get(kMostRead); }
  void get_little() {
    for (int i = 0; i != 100; ++i) get(8);
  }
  // More messages than there are places: each place comes back by a credit alone.
  void send_many() {
    for (int i = 0; i != 200; ++i) {
      Status status = terminus_.send_fast(ticket_, {bytes_.data(), 16});
      while (status == Status::no_place || status == Status::queue_full) {
        EXPECT_EQ(terminus_.wait_for_place(ticket_, kPatience), Status::ok);
        status = terminus_.send_fast(ticket_, {bytes_.data(), 16});
      }
      EXPECT_EQ(status, Status::ok);
    }
  }
  void do_one(unsigned which) {
    const std::function<void()> all[] = {[this] { put_much(); }, [this] { put_little(); },
                                         [this] { get_much(); }, [this] { get_little(); },
                                         [this] { send_many(); }};
    all[which % std::size(all)]();
    EXPECT_LE(own_.empty_rings(), kFewRings) << "after pattern " << which % std::size(all);
  }

 private:
  void get(std::size_t bytes) {
    EXPECT_EQ(terminus_.get(ticket_, landing_, 0, bytes, {}, kPatience).status, Status::ok);
  }
  void flush() { EXPECT_EQ(terminus_.flush(ticket_, kPatience).status, Status::ok); }

  End& own_;
  const Ticket ticket_;
  Terminus terminus_;
  MessageArea read_{own_.interface, kMostRead};
  Slot landing_{read_, own_.queue, {.fast = false}};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kBytes);
};

// How a program spends the time in which it asks for nothing.
enum class Rest { waits, polls, computes };

class Resting {
 public:
  Resting(End& of, Rest how)
      : thread_([this, &of, how] {
          Notification told;
          while (!over_) {
            if (how == Rest::waits) static_cast<void>(of.queue.receive(told, 20ms));
            if (how == Rest::polls) {
              static_cast<void>(of.queue.poll({&told, 1}));
              std::this_thread::yield();
            }
            if (how == Rest::computes) {  // the interface's thread serves
              for (int i = 0; i != 100'000 && !over_; ++i)
                std::atomic_signal_fence(std::memory_order_seq_cst);
              while (of.queue.poll({&told, 1}) != 0) {
              }
            }
          }
        }) {}
  ~Resting() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

class WakeUps : public OnNodes {
 protected:
  // One process asks, the other rests, or both do both.
  void draw(std::uint64_t seed) {
    std::mt19937_64 chance(seed);
    End one(options()), other(other_options());
    const auto rest = [&] { return static_cast<Rest>(chance() % 3); };
    const bool both = chance() % 2 == 0;
    const Resting there(other, rest());
    std::unique_ptr<Resting> here;
    if (both) here = std::make_unique<Resting>(one, rest());
    std::vector<unsigned> turns(6);
    std::ranges::generate(turns, chance);
    std::thread back([&, turns] {
      if (!both) return;
      Asker asker(other, one);
      for (const unsigned turn : turns) asker.do_one(turn / 5);
    });
    {
      Asker asker(one, other);
      for (const unsigned turn : turns) {
        asker.do_one(turn);
        EXPECT_LE(other.empty_rings(), kFewRings);
      }
    }
    back.join();
  }
};

TEST_F(WakeUps, of_honest_peers_are_never_held_to_have_no_cause) {
  in_child([&] {
    const std::uint64_t first = std::random_device{}();
    for (std::uint64_t seed = first; seed != first + 3 && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      draw(seed);
    }
  });
}

}  // namespace
}  // namespace hamlyn::test
