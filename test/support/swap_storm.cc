#include "test/support/swap_storm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>

namespace hamlyn::test {

using segment::SwapRequester;
using segment::SwapTarget;

segment::Chance chance_of(std::uint64_t seed) {
  return [generator = std::make_shared<sim::Generator>(seed)] { return generator->next(); };
}

SwapStorm::SwapStorm(const sim::Generator& chance, const std::vector<fabric::DatagramPort*>& ports,
                     std::function<void(std::uint64_t)> pass)
    : chance_(chance), pass_(std::move(pass)), target_port_(*ports.front()) {
  for (fabric::DatagramPort* const port : std::span(ports).subspan(1)) {
    Party& party = parties_.emplace_back();
    party.port = port;
    party.target = port->insert(target_port_.address());
    party.at_target = target_port_.insert(port->address());
    start(party);
  }
  start_target();
}

void SwapStorm::run() {
  for (now_ = 1; now_ < kEnd || (now_ < 40 * kEnd && !all_over()); now_ += kTick) step(now_ < kEnd);
  EXPECT_TRUE(all_over()) << "not over after so long";
  for (std::size_t word = 0; word < kWords; ++word) {
    history_[word].push_back({now_, now_ + 1, memory_[word], memory_[word], memory_[word]});
    EXPECT_TRUE(SwapExplanation(history_[word]).exists(0)) << "no order explains word " << word;
  }
}

std::size_t SwapStorm::known() const {
  std::size_t count = 0;
  for (const auto& each : history_)
    count += static_cast<std::size_t>(
        std::ranges::count_if(each, [](const SwapEvent& event) { return event.over != SwapEvent::kNever; }));
  return count;
}

void SwapStorm::start(Party& party) {
  party.requester = std::make_unique<SwapRequester>(
      *party.port, party.target, SwapRequester::Options{.first_wait = 60, .most_wait = 400},
      chance_of(chance_.next()));
  party.open.clear();  // nobody knows how those end
}

void SwapStorm::start_target() {
  target_ = std::make_unique<SwapTarget>(target_port_, std::as_writable_bytes(std::span(memory_)),
                                         parties_.size(), chance_of(chance_.next()));
}

bool SwapStorm::all_over() const {
  return std::ranges::all_of(parties_, [](const Party& party) { return party.open.empty(); });
}

void SwapStorm::step(bool begins) {
  pass_(kTick);
  target_->run();
  if (begins && chance_.one_in(400)) start_target();
  if (begins && chance_.one_in(400)) target_->forget(parties_[chance_.below(parties_.size())].at_target);
  for (Party& party : parties_) {
    if (begins && chance_.one_in(400)) start(party);
    party.requester->run(now_);
    look(party);
    if (begins && chance_.one_in(8) && party.open.size() < 3) begin(party);
  }
}

void SwapStorm::look(Party& party) {
  std::erase_if(party.open, [&](const Open& open) {
    const SwapRequester::Answer answer = party.requester->answer(open.number);
    if (answer.status == Status::pending) return false;
    if (answer.status == Status::ok) {
      SwapEvent& event = history_[open.word][open.event];
      event.over = now_;
      event.found = answer.found;
      party.last[open.word] = answer.found == event.expected ? event.desired : answer.found;
    } else {
      EXPECT_EQ(answer.status, Status::link_ended);
    }
    return true;
  });
}

// Of few values, so that they come back.
void SwapStorm::begin(Party& party) {
  const std::size_t word = chance_.below(kWords);
  if (history_[word].size() == kMostEvents) return;
  const std::uint64_t expected = party.last[word], desired = chance_.below(3);
  Open open{0, word, history_[word].size()};
  if (party.requester->begin(word * 8, expected, desired, now_, open.number) != Status::ok) return;
  history_[word].push_back({.begun = now_, .expected = expected, .desired = desired});
  party.open.push_back(open);
}

}  // namespace hamlyn::test
