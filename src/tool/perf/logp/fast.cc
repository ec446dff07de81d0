// Fast mode: a slot, and a terminus that sends to it, on each side.
#include "tool/perf/logp/layers.h"
#include "tool/perf/logp/taking.h"
#include "tool/perf/our_short.h"

namespace hamlyn::tool::perf::logp {
namespace {

constexpr std::uint64_t kBytes = 16;
// Landing places for each notification place: a message is still read when its place is free for another.
constexpr std::uint64_t kLandings = 2;
constexpr std::uint64_t kOver = ~std::uint64_t{1};  // the word that ends it; goodbyes have another

class FastAsker {
 public:
  FastAsker(Party& party, std::uint64_t landings) : party_(party), landings_(landings) {}
  bool send() {
    const bool sent = party_.try_send_fast(ShortMessage{sent_}.bytes(), sent_, sent_ % landings_ * kBytes);
    if (sent) ++sent_;
    return sent;
  }
  void look() {
    const std::optional<Notification> arrival = party_.look();
    if (!arrival) return;
    expect(arrival->word == taken_, "a reply is missing");
    if (ShortMessage::looked_at(taken_)) ShortMessage::check(party_, *arrival);
    ++taken_;
  }
  std::uint64_t replies() const { return taken_; }

 private:
  Party& party_;
  const std::uint64_t landings_;
  std::uint64_t sent_ = 0, taken_ = 0;
};

void answer(Party& party, std::uint64_t landings) {
  for (;;) {
    const Notification& arrival = party.next();
    if (arrival.word == kOver) return;
    if (ShortMessage::looked_at(arrival.word)) ShortMessage::check(party, arrival);
    party.send_fast(ShortMessage{arrival.word}.bytes(), arrival.word, arrival.word % landings * kBytes);
  }
}

}  // namespace

Signature take_fast(const Manner& manner) {
  const std::uint64_t landings = kLandings * manner.under_way;
  const PartyOptions options{.bytes = landings * kBytes, .places = manner.under_way, .place = manner.place};
  const auto ask = [=](Party& party, Room& room) {
    FastAsker asker(party, landings);
    survey_and_report(asker, manner, room);
    party.send_fast({}, kOver);
  };
  return unpacked(run_parties(manner.cores, kMostValues, options, ask, options,
                              [=](Party& party, Room&) { answer(party, landings); }));
}

}  // namespace hamlyn::tool::perf::logp
