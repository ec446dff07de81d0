// Fast mode: two processes throw one packet to and fro and count how often.
//
//   fast          starts itself a second time and counts
//   fast NAME     throws everything back to whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <chrono>
#include <cstdio>
#include <span>
#include <string>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kThrows = 20000;

// One side: a slot where the ball is caught, and a terminus to throw it from.
class Player {
 public:
  Player(const std::string& own, const std::string& other) {
    // A ticket without a metadata entry is one for fast mode: the packet brings one word of its own to the
    // queue.
    interface_.publish(own, slot_.ticket());
    other_ = interface_.lookup(other, 30s);
    check(terminus_.connect(other_, 30s));
  }

  void throw_ball(std::uint64_t turn) {
    for (;;) {
      const hamlyn::Status status = terminus_.send_fast(other_, std::as_bytes(std::span{&turn, 1}), turn);
      if (status == hamlyn::Status::ok) return;
      // Every refusal has a name. These two pass by themselves when the interface runs.
      if (status != hamlyn::Status::no_place && status != hamlyn::Status::queue_full) check(status);
      interface_.run();
    }
  }

  // The word that came with the ball.
  std::uint64_t catch_ball() {
    hamlyn::Notification arrival;
    check(queue_.receive(arrival, 30s));  // spins a little, then sleeps
    require(arrival.kind == hamlyn::Notification::Kind::message, "the other one has left");
    return arrival.word;
  }

 private:
  hamlyn::Interface interface_;
  hamlyn::MessageArea area_{interface_, 4096};
  hamlyn::NotificationQueue queue_{interface_};
  hamlyn::Slot slot_{area_, queue_, {}};
  hamlyn::Terminus terminus_{interface_};
  hamlyn::Ticket other_;
};

int serve() {
  const std::string name = "fast." + std::to_string(getpid());
  SecondProcess other{name};
  Player player{name, name + ".back"};

  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t turn = 1; turn <= kThrows; ++turn) {
    player.throw_ball(turn);
    require(player.catch_ball() == turn, "another ball came back");
  }
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  std::printf("%llu times to and fro, %.0f ns one way\n", static_cast<unsigned long long>(kThrows),
              time.count() / (2 * static_cast<double>(kThrows)));
  return other.wait() ? 0 : 1;
}

int play_back(const std::string& name) {
  Player player{name + ".back", name};
  for (std::uint64_t turn = 0; turn < kThrows;) {
    turn = player.catch_ball();
    player.throw_ball(turn);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? play_back(words[1]) : serve());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fast: %s\n", error.what());
    return 1;
  }
}
