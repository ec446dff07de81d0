// Table 3 of paper 2: batches of requests and their replies, each timed when all of them have come.
#include <cstring>
#include <string>
#include <vector>

#include "tool/perf/clock.h"
#include "tool/perf/our_party.h"
#include "tool/perf/papers/am_side.h"
#include "tool/perf/papers/meters.h"
#include "tool/perf/papers/watch.h"
#include "tool/perf/statistics.h"

namespace hamlyn::tool::perf::papers {

namespace {

constexpr std::uint64_t kWarmUp = 200, kBatches = 1000;

// Ticks of each part of one message, batch by batch.
class Batches {
 public:
  void add(const PartTicks& spent, double messages) {
    for (std::size_t i = 0; i != kAmParts; ++i) all_[i].push_back(spent[i] / messages);
  }
  PartTicks medians() {
    PartTicks out{};
    for (std::size_t i = 0; i != kAmParts; ++i) {
      expect(!all_[i].empty(), "the machine was disturbed in each batch");
      out[i] = median(all_[i]);
    }
    return out;
  }

 private:
  std::array<std::vector<double>, kAmParts> all_;
};

std::unique_ptr<AmSide> side_of(Party& party, am::Way way) {
  std::unique_ptr<AmSide> side = make_am_side(party.interface(), way);
  std::array<Ticket, 2> name;
  static_assert(sizeof(am::Name) <= sizeof name);
  std::memcpy(static_cast<void*>(name.data()), &side->name(), sizeof(am::Name));
  party.hand_over(name);
  const std::vector<Ticket> others = party.take_tickets(name.size());
  am::Name other;
  std::memcpy(static_cast<void*>(&other), others.data(), sizeof other);
  side->aim(other);
  return side;
}

// Returns what both sides spend on a request and its reply. The room has what the one that answers spends.
PartTicks ask_batches(Party& party, am::Way way, std::size_t arguments, Room& room) {
  Batches sent, came;
  const auto side = side_of(party, way);
  for (std::uint64_t batch = 0; batch != kWarmUp + kBatches; ++batch) {
    watch().begin();
    for (std::uint32_t i = 0; i != kBatch; ++i) side->ask(arguments);
    const PartTicks spent = watch().spent();
    if (!side->take_batch((batch + 1) * kBatch) || batch < kWarmUp) continue;
    sent.add(spent, kBatch);
    came.add(watch().spent(), kBatch - 1);
  }
  side->leave();
  party.finish();  // the other side has told what it spends
  PartTicks all = sent.medians(), others;
  const PartTicks replies = came.medians();
  std::memcpy(others.data(), room.memory().data(), sizeof others);
  for (std::size_t i = 0; i != kAmParts; ++i) all[i] += replies[i] + others[i];
  return all;
}

void answer_batches(Party& party, am::Way way, Room& room) {
  Batches came;
  const auto side = side_of(party, way);
  for (std::uint64_t batch = 0; batch != kWarmUp + kBatches; ++batch)
    if (side->take_batch((batch + 1) * kBatch) && batch >= kWarmUp) came.add(watch().spent(), kBatch - 1);
  const PartTicks spent = came.medians();
  std::memcpy(room.memory().data(), spent.data(), sizeof spent);
  side->leave();
  party.finish();
}

}  // namespace

std::string am_part_name(am::Way way, AmPart part, std::size_t arguments) {
  return std::string("shm.") + name_of(way) + "." + kAmPartNames[static_cast<std::size_t>(part)] +
         (arguments == 0 ? ".none" : "") + ".cost";
}

Meter am_part(am::Way way, AmPart part, std::size_t arguments) {
  const auto round = [=](Cores cores, int) {
    return run_parties(
        cores, 1, {},
        [=](Party& party, Room& room) {
          const PartTicks all = ask_batches(party, way, arguments, room);
          room.report(all[static_cast<std::size_t>(part)] * ns_per_tick());
        },
        {}, [=](Party& party, Room& room) { answer_batches(party, way, room); });
  };
  return {.name = am_part_name(way, part, arguments), .round = round};
}

}  // namespace hamlyn::tool::perf::papers
