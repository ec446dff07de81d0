// A ring: each rank of a job gives a token to the next one, by a slot of that one's. Ranks find each other's
// slots by what all of them gather.
//
//   hamlyn run -n 4 job_ring      four ranks; the token goes round three times
//   job_ring                      a job of one
#include <hamlyn/hamlyn.h>
#include <hamlyn/job.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

#include "check.h"

namespace {

using namespace std::chrono_literals;

constexpr int kRounds = 3;
constexpr auto kPatience = 10s;

void check_met(const hamlyn::Job& job, hamlyn::Status status) {
  if (status == hamlyn::Status::refused) throw std::runtime_error(job.why());
  check(status);
}

// A rank as it tells the others of itself.
struct Told {
  hamlyn::Ticket ticket;        // of the slot where it takes the token
  std::uint64_t interface = 0;  // by which it is known there
};

class Player {
 public:
  explicit Player(hamlyn::Interface& interface) : interface_(interface) {}

  Told told() const { return {slot_.ticket(), interface_.id()}; }
  void meet(const Told& before, const Told& next) {
    before_ = before;
    next_ = next;
    check(terminus_.connect(next_.ticket, kPatience));
  }
  void give(std::uint64_t token) {
    for (;;) {
      const hamlyn::Status status = terminus_.send_fast(next_.ticket, {}, token);
      if (status == hamlyn::Status::ok) return;
      // Every refusal has a name. These two pass by themselves when the interface runs.
      if (status != hamlyn::Status::no_place && status != hamlyn::Status::queue_full) check(status);
      interface_.run();
    }
  }
  // Waits for the token, and returns how often it was given.
  std::uint64_t take() {
    hamlyn::Notification token;
    check(queue_.receive(token, kPatience));
    require(token.kind == hamlyn::Notification::Kind::message, "the rank before has ended");
    require(token.peer == before_.interface, "somebody else has written here");
    return token.word;
  }

 private:
  hamlyn::Interface& interface_;
  hamlyn::MessageArea area_{interface_, 64};
  hamlyn::NotificationQueue queue_{interface_};
  hamlyn::Slot slot_{area_, queue_, {}};
  hamlyn::Terminus terminus_{interface_};
  Told before_, next_;
};

void run() {
  hamlyn::Interface interface;
  hamlyn::Job job(interface);
  Player player(interface);
  std::vector<Told> all;
  check_met(job, job.all_gather(player.told(), all, kPatience));
  player.meet(all[(job.rank() + job.size() - 1) % job.size()], all[(job.rank() + 1) % job.size()]);

  for (int round = 0; round != kRounds; ++round) {
    player.give(job.rank() == 0 ? 1 : player.take() + 1);
    if (job.rank() == 0)
      std::printf("the token was given %llu times\n", static_cast<unsigned long long>(player.take()));
  }
  // Nobody's slot goes before all that is on its way has come.
  check_met(job, job.barrier(kPatience));
}

}  // namespace

int main() {
  try {
    run();
    return written(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
