// A queue of work for workers that trust neither its owner nor each other. Each job goes out with a ticket
// for the place of its result: one message, into those 8 bytes, and no other. A worker that writes elsewhere
// is refused by the owner's interface, which says so, and loses its job to the others.
//
//   work_queue              hands out jobs; starts itself again as three workers, one of which cheats
//   work_queue NAME         works for whoever has published NAME
//   work_queue NAME cheat   also tries to write the others' results
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;
using hamlyn::Notification;
using hamlyn::Status;

constexpr std::uint32_t kJobs = 60;
constexpr unsigned kWorkers = 3;
constexpr auto kPatience = 100ms;  // of the owner with one worker

struct Job {
  hamlyn::Ticket result;  // 8 bytes, once
  std::uint64_t number;
};

std::uint64_t answer_to(std::uint64_t number) { return number * number + 1; }

// Waits for a place for so long at most.
template <class T>
Status say(hamlyn::Terminus& terminus, const hamlyn::Ticket& to, const T& value,
           std::chrono::nanoseconds patience, std::uint64_t offset = 0) {
  for (;;) {
    Status status = terminus.send_fast(to, std::as_bytes(std::span{&value, 1}), 0, offset);
    if (status == Status::connecting || status == Status::no_place || status == Status::queue_full) {
      status = terminus.wait_for_place(to, patience);
      if (status == Status::ok) continue;
    }
    return status;
  }
}

// --- the owner

class Owner {
 public:
  explicit Owner(const std::string& name) {
    for (std::uint32_t i = 0; i < kJobs; ++i) waiting_.push_back(i);
    interface_.publish(name, door_.ticket());
  }

  void run() {
    while (done_ != kJobs) {
      Notification arrival;
      const Status status = queue_.receive(arrival, idle_.empty() ? 60s : 1s);
      if (status == Status::timed_out && !idle_.empty()) {
        hand_out();  // to a worker that did not look the last time
        continue;
      }
      check(status);
      switch (arrival.kind) {
        case Notification::Kind::message:
          arrival.slot == door_.number() ? greet(arrival) : take_result(arrival);
          break;
        case Notification::Kind::protocol_error:
          std::printf("a worker was refused: %s\n", hamlyn::name(arrival.cause));
          ++refused_;
          dismiss(arrival.peer);
          break;
        case Notification::Kind::failed:  // nothing came within its time
          std::erase_if(doing_, [&](const auto& each) { return each.second == arrival.entry; });
          waiting_.push_back(arrival.entry);
          hand_out();
          break;
        case Notification::Kind::link_ended:
          dismiss(arrival.peer);
          break;
        default:
          break;
      }
    }
    for (const auto& [peer, mailbox] : mailboxes_) {
      // Says that it is over. A worker that has gone, or does not look, needs not be told.
      const Status told = say(terminus_, mailbox, std::uint64_t{0}, kPatience);
      if (told != Status::link_ended && told != Status::timed_out) check(told);
    }
  }
  unsigned refused() const { return refused_; }
  // Whether each job's result is in its place.
  bool all_there() {
    for (std::uint32_t i = 0; i < kJobs; ++i) {
      std::uint64_t result = 0;
      std::memcpy(&result, results_.bytes().data() + 8 * std::size_t{i}, sizeof result);
      if (result != answer_to(i)) return false;
    }
    return true;
  }

 private:
  void greet(const Notification& arrival) {
    hamlyn::Ticket mailbox;
    if (arrival.length != sizeof mailbox) return;
    std::memcpy(static_cast<void*>(&mailbox), door_.bytes(arrival).data(), sizeof mailbox);
    // A ticket to the worker itself, or it could have us write to somebody else in its name.
    if (hamlyn::invalid(mailbox) != nullptr || mailbox.interface != arrival.peer) return;
    mailboxes_[arrival.peer] = mailbox;
    idle_.push_back(arrival.peer);
    if (++greeted_ >= kWorkers) hand_out();  // all of them are to have a part in it
  }
  // Gives each idle worker a job. One that does not look gets none, and the others do not wait for it.
  void hand_out() {
    for (std::size_t left = idle_.size(); left != 0 && !waiting_.empty(); --left) {
      const std::uint64_t worker = idle_.front();
      const std::uint32_t number = waiting_.front();
      idle_.pop_front();
      // A new key, the job's own bounds, one message.
      check(results_.arm(number, {.base = 8 * std::size_t{number}, .bound = 8}));
      check(results_.fail_after(number, 20s));
      const Status status =
          say(terminus_, mailboxes_[worker], Job{results_.ticket(number), number}, kPatience);
      if (status == Status::ok) {
        waiting_.pop_front();
        doing_[worker] = number;
        continue;
      }
      check(results_.revoke(number));                            // the job is the next one's
      if (status == Status::timed_out) idle_.push_back(worker);  // otherwise it has gone
    }
  }
  void take_result(const Notification& arrival) {
    std::uint64_t result = 0;
    if (arrival.length == sizeof result) std::memcpy(&result, results_.bytes(arrival).data(), sizeof result);
    if (result == answer_to(arrival.entry)) {  // a worker may be wrong, too
      ++done_;
    } else {
      waiting_.push_back(arrival.entry);
    }
    doing_.erase(arrival.peer);
    if (mailboxes_.contains(arrival.peer)) idle_.push_back(arrival.peer);
    hand_out();
  }
  // Whatever it had goes to somebody else; what it still holds opens nothing.
  void dismiss(std::uint64_t worker) {
    mailboxes_.erase(worker);
    std::erase(idle_, worker);
    if (const auto job = doing_.find(worker); job != doing_.end()) {
      check(results_.revoke(job->second));
      // Unless what has become of it stands in the queue already: then that is seen to when it is read.
      if (results_.disarm(job->second) == Status::ok) waiting_.push_back(job->second);
      doing_.erase(job);
    }
    hand_out();
  }

  hamlyn::Interface interface_;
  hamlyn::MessageArea doors_{interface_, 64 * sizeof(hamlyn::Ticket)};
  hamlyn::MessageArea area_{interface_, 8 * kJobs};
  hamlyn::NotificationQueue queue_{interface_};
  hamlyn::Slot door_{doors_, queue_, {}};
  hamlyn::Slot results_{area_, queue_, {.mode = hamlyn::Mode::paranoid_one_shot, .entries = kJobs}};
  hamlyn::Terminus terminus_{interface_};
  std::deque<std::uint32_t> waiting_;
  std::deque<std::uint64_t> idle_;
  std::map<std::uint64_t, hamlyn::Ticket> mailboxes_;  // by worker
  std::map<std::uint64_t, std::uint32_t> doing_;
  unsigned greeted_ = 0;
  std::uint32_t done_ = 0;
  unsigned refused_ = 0;
};

int own() {
  const std::string name = "work_queue." + std::to_string(getpid());
  SecondProcess honest{name}, cheat{name, "cheat"}, another{name};
  unsigned refused = 0;
  bool done = false;
  {
    Owner owner{name};
    owner.run();
    refused = owner.refused();
    done = owner.all_there();
  }
  const bool all = honest.wait() && another.wait();
  cheat.wait();
  std::printf("%u jobs done\n", kJobs);
  return all && done && refused != 0 ? 0 : 1;
}

// --- a worker

void give(hamlyn::Terminus& terminus, const hamlyn::Ticket& to, std::span<const std::uint64_t> results) {
  hamlyn::SendHandle handle;
  const Status sent = terminus.send(to, std::as_bytes(results), {}, &handle);
  check(sent == Status::pending ? terminus.wait(handle, 30s) : sent);
}

int work(const char* name, bool cheats) {
  hamlyn::Interface interface;
  hamlyn::MessageArea area{interface, 4096};
  hamlyn::NotificationQueue queue{interface};
  hamlyn::Slot mailbox{area, queue, {}};
  hamlyn::Terminus terminus{interface};
  const hamlyn::Ticket door = interface.lookup(name, 30s);
  check(terminus.connect(door, 30s));
  check(say(terminus, door, mailbox.ticket(), 30s, sizeof(hamlyn::Ticket) * (interface.id() % 64)));
  for (;;) {
    Notification arrival;
    check(queue.receive(arrival, 30s));
    if (arrival.kind == Notification::Kind::link_ended) return cheats ? 0 : 1;
    if (arrival.kind != Notification::Kind::message) continue;
    Job job;
    if (arrival.length != sizeof job) return 0;  // it is over
    std::memcpy(static_cast<void*>(&job), mailbox.bytes(arrival).data(), sizeof job);
    const std::uint64_t result = answer_to(job.number);
    if (cheats) {
      // The bounds that a ticket names bind its holder only as long as that one is honest.
      hamlyn::Ticket all = job.result;
      all.base = 0;
      all.bound = 8 * kJobs;
      give(terminus, all, std::vector<std::uint64_t>(kJobs, result));
    }
    give(terminus, job.result, {&result, 1});
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? work(words[1], count > 2) : own());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "work_queue: %s\n", error.what());
    return 1;
  }
}
