#pragma once
// Messages to and fro: the loops of both sides of a figure whose samples are half round trips. `Ends`, one
// side's, has send(number) and receive(number), and finish() for what is to be done behind the last.
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tool/perf/our_party.h"
#include "tool/perf/timing.h"

namespace hamlyn::tool::perf {

struct Exchanges {
  std::uint64_t warm_up = 5000;
  std::uint64_t timed = 50000;
};

template <class Ends>
void ask(Ends& ends, Room& room, const Exchanges& count) {
  std::vector<std::uint64_t> moments(count.timed + 1);
  for (std::uint64_t i = 1; i <= count.warm_up + count.timed; ++i) {
    ends.send(i);
    ends.receive(i);
    if (i >= count.warm_up) moments[i - count.warm_up] = hamlyn_ticks();
  }
  ends.finish();
  room.report(half_round_trips(moments));
}

template <class Ends>
void answer(Ends& ends, const Exchanges& count) {
  for (std::uint64_t i = 1; i <= count.warm_up + count.timed; ++i) {
    ends.receive(i);
    ends.send(i);
  }
  ends.finish();
}

// Measures between two parties, each of which makes its ends of itself, the room and what else is given.
template <class Ends, class... More>
std::vector<double> to_and_fro(Cores cores, const Exchanges& count, const PartyOptions& options,
                               const More&... more) {
  return run_parties(
      cores, count.timed, options,
      [&](Party& party, Room& room) {
        Ends ends(party, room, more...);
        ask(ends, room, count);
      },
      options,
      [&](Party& party, Room& room) {
        Ends ends(party, room, more...);
        answer(ends, count);
      });
}

// Bytes of any length that carry their number at both ends.
class Numbered {
 public:
  explicit Numbered(std::size_t bytes) : bytes_(bytes) {}
  std::span<const std::byte> with(std::uint64_t number) {
    std::memcpy(bytes_.data(), &number, sizeof number);
    std::memcpy(bytes_.data() + bytes_.size() - sizeof number, &number, sizeof number);
    return bytes_;
  }
  void check(std::span<const std::byte> found, std::uint64_t number) const {
    expect(found.size() == bytes_.size() && std::memcmp(found.data(), &number, sizeof number) == 0 &&
               std::memcmp(found.data() + found.size() - sizeof number, &number, sizeof number) == 0,
           "a message was read that is not the one sent");
  }

 private:
  std::vector<std::byte> bytes_;
};

// Gives the other side the seed, and takes its own.
inline Seed exchange(Party& party, const Seed& own) {
  party.hand_over(std::span{&own.ticket, 1});
  return {party.take_tickets(1).front()};
}

}  // namespace hamlyn::tool::perf
