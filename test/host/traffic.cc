#include "test/host/traffic.h"

#include <fcntl.h>
#include <sched.h>

#include <set>

#include "hamlyn/hamlyn.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

struct Order {
  enum class Kind : std::uint32_t { talk_to, seen };
  Kind kind{};
  Ticket peer;
};

// In that host's network from now on.
bool enter(pid_t network) {
  const base::FileDescriptor there{
      ::open(("/proc/" + std::to_string(network) + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC)};
  return there && ::setns(there.get(), CLONE_NEWNET) == 0;
}

class Conversation {
 public:
  Conversation(Line& line, const Interface::Options& options) : line_(line), interface_(options) {
    line_.put(slot_.ticket());
  }

  int run() {
    while (!line_.gone()) {
      Notification next;
      if (queue_.receive(next, 2ms) == Status::ok) take(next);
      while (const auto more = queue_.poll()) take(*more);
      for (auto at = due_.begin(); at != due_.end();) at = say(*at) ? due_.erase(at) : std::next(at);
      if (const auto order = line_.take<Order>(0ms)) obey(*order);
    }
    return 0;
  }

 private:
  void take(const Notification& what) {
    Seen& seen = seen_[what.peer];
    if (what.kind == Notification::Kind::link_ended) ++seen.ended;
    if (what.kind != Notification::Kind::message) return;
    ++seen.heard;
    due_.insert(what.peer);
  }
  // False: not yet.
  bool say(std::uint64_t peer) {
    const auto ticket = tickets_.find(peer);
    if (ticket == tickets_.end()) return false;  // its own host tells of it later
    const Status status = terminus_.send_fast(ticket->second, {}, 0);
    return status != Status::connecting && status != Status::no_place && status != Status::queue_full;
  }
  void obey(const Order& order) {
    if (order.kind == Order::Kind::seen) {
      line_.put(seen_[order.peer.interface]);
      return;
    }
    tickets_[order.peer.interface] = order.peer;
    due_.insert(order.peer.interface);
  }

  Line& line_;
  Interface interface_;
  MessageArea area_{interface_, 4096};
  NotificationQueue queue_{interface_};
  Slot slot_{area_, queue_, {}};
  Terminus terminus_{interface_};
  std::map<std::uint64_t, Ticket> tickets_;
  std::map<std::uint64_t, Seen> seen_;
  std::set<std::uint64_t> due_;  // who is to be said something
};

}  // namespace

Talker::Talker(pid_t network, const std::string& node, std::chrono::milliseconds dead)
    : process_([=](Line& line) {
        if (!enter(network)) return 90;
        Interface::Options options{.node = node, .start_node = false};
        options.dead = dead;
        return Conversation(line, options).run();
      }) {
  const auto ticket = process_.line().take<Ticket>();
  if (!ticket) throw std::runtime_error("a process does not say its ticket");
  ticket_ = *ticket;
}

bool Talker::talk_to(const Talker& peer) {
  return process_.line().put(Order{Order::Kind::talk_to, peer.ticket_});
}

bool Talker::introduce(Talker& one, Talker& other) {
  const std::uint64_t before = one.seen(other).heard + other.seen(one).heard;
  if (!one.talk_to(other) || !other.talk_to(one)) return false;
  return eventually([&] { return one.seen(other).heard + other.seen(one).heard > before + 10; });
}

Seen Talker::seen(const Talker& peer) {
  process_.line().put(Order{Order::Kind::seen, peer.ticket_});
  return process_.line().take<Seen>().value_or(Seen{});
}

}  // namespace hamlyn::test
