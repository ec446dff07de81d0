#include "tool/perf/ours.h"
#include "tool/perf/to_and_fro.h"

namespace hamlyn::tool::perf {
namespace {

class Ends {
 public:
  Ends(Party& party, Room&, std::size_t bytes) : party_(party), data_(bytes) {
    party.hand_over_entries();
    ticket_ = party.take_tickets(1).front();
  }
  void send(std::uint64_t number) {
    party_.wait_until_sent(handle_);
    handle_ = party_.send(ticket_, data_.with(number));
  }
  void receive(std::uint64_t number) {
    data_.check(party_.bytes(party_.next()), number);
    party_.arm(0);
  }
  void finish() { party_.wait_until_sent(handle_); }

 private:
  Party& party_;
  Numbered data_;
  Ticket ticket_;
  SendHandle handle_;
};

}  // namespace

Meter message_latency(std::size_t bytes) {
  const auto round = [bytes](Cores cores, int) {
    const std::uint64_t count = bytes > 16384 ? 5000 : 20000;
    // Rings grow during the warm-up, which takes some milliseconds.
    return to_and_fro<Ends>(cores, {.warm_up = count, .timed = count}, {.bytes = bytes, .entries = 1}, bytes);
  };
  return {
      .name = "shm.message." + std::to_string(bytes) + ".oneway", .round = round, .single_operations = true};
}

}  // namespace hamlyn::tool::perf
