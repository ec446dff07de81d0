// Active messages, each way: short requests of four arguments, and replies of as many.
#include <array>
#include <memory>
#include <vector>

#include "am/machine.h"
#include "tool/perf/am_end.h"
#include "tool/perf/logp/layers.h"
#include "tool/perf/logp/logp.h"
#include "tool/perf/logp/taking.h"

namespace hamlyn::tool::perf::logp {
namespace {

constexpr am::HandlerNumber kAsk = 1, kAnswer = 2, kOver = 5;

static_assert(kMostCredits == internal_::am::kMostCredits);

// Endpoints of one interface, so that each has an opening of its own at the other side: a link has 256, also
// for the rings of endpoints that have grown.
constexpr std::uint32_t kOfOneInterface = 100;

// Endpoints that answer so many: one takes kMostOfOneProcess that it has not mapped.
std::uint32_t answering_for(std::uint32_t peers) {
  return (peers + internal_::am::kMostOfOneProcess - 1) / internal_::am::kMostOfOneProcess;
}

// Endpoints of one process, which ask in turn.
class AmAsker {
 public:
  AmAsker(Party& party, const am::EndpointOptions& options, const Manner& manner)
      : credits_(manner.under_way), next_(manner.peers) {
    const std::uint32_t answering = answering_for(manner.peers);
    Interface* interface = &party.interface();
    for (std::uint32_t i = 0; i != manner.peers; ++i) {
      next_[i] = i;
      if (i != 0 && i % kOfOneInterface == 0) interface = &party.another_interface();
      ends_.push_back(i < answering ? std::make_unique<AmEnd>(party, options)
                                    : std::make_unique<AmEnd>(*interface, options, *ends_[i % answering]));
      AmEnd& end = *ends_.back();
      good(end.endpoint.set_handler(
               kAnswer, [this, i](am::Token&, const am::Arrival& arrival) { take(i, arrival.arguments[0]); }),
           "no handler");
    }
    for (const auto& end : ends_) end->meet();
  }
  // A request without a credit would wait.
  bool send() {
    if (sent_ - taken_ == credits_) return false;
    const std::array<std::int32_t, 4> all{static_cast<std::int32_t>(sent_), 1, 2, 3};
    good(ends_[sent_ % ends_.size()]->endpoint.request(0, kAsk, all), "no request");
    ++sent_;
    return true;
  }
  // At the end whose reply has been waited for longest.
  void look() {
    while (next_[oldest_ % ends_.size()] > oldest_) ++oldest_;
    ends_[oldest_ % ends_.size()]->poll();
  }
  std::uint64_t replies() const { return taken_; }
  void say_over() { good(ends_.front()->endpoint.request(0, kOver), "no request"); }
  // Ends all of them, while the other side still hears of it: none waits in vain for that.
  void leave(Party& party) {
    say_over();
    ends_.clear();
    party.send_fast({}, 0);
  }

 private:
  void take(std::uint32_t end, std::int32_t number) {
    expect(number == static_cast<std::int32_t>(next_[end]), "another request's reply");
    next_[end] += ends_.size();
    ++taken_;
  }

  std::vector<std::unique_ptr<AmEnd>> ends_;
  const std::uint32_t credits_;
  std::vector<std::uint64_t> next_;  // number of the reply that each end takes next
  std::uint64_t sent_ = 0, taken_ = 0, oldest_ = 0;
};

// Endpoints that answer. They go when all that ask have gone.
class AmAnswers {
 public:
  AmAnswers(Party& party, const am::EndpointOptions& options, std::uint32_t peers) {
    while (ends_.size() != answering_for(peers)) {
      ends_.push_back(std::make_unique<AmEnd>(party, options));
      am::Endpoint& endpoint = ends_.back()->endpoint;
      good(endpoint.set_handler(kAsk,
                                [](am::Token& token, const am::Arrival& arrival) {
                                  good(token.reply(kAnswer, arrival.arguments), "no reply");
                                }),
           "no handler");
      good(endpoint.set_handler(kOver, [this](am::Token&, const am::Arrival&) { over_ = true; }),
           "no handler");
      ends_.back()->be_there();
    }
  }
  void answer(Party& party) {
    while (!over_) poll();
    while (!party.look()) poll();  // not before: that look would be measured
  }

 private:
  void poll() {
    for (const auto& end : ends_) end->poll();
  }

  std::vector<std::unique_ptr<AmEnd>> ends_;
  bool over_ = false;
};

Signature take(const Manner& manner, am::Way way) {
  const am::EndpointOptions options{.credits = manner.under_way, .way = way};
  const PartyOptions where{.place = manner.place};
  const auto ask = [=](Party& party, Room& room) {
    AmAsker asker(party, options, manner);
    survey_and_report(asker, manner, room);
    asker.leave(party);
  };
  const auto answers = [=](Party& party, Room&) {
    AmAnswers all(party, options, manner.peers);
    all.answer(party);
  };
  return unpacked(run_parties(manner.cores, kMostValues, where, ask, where, answers));
}

}  // namespace

Signature take_am(const Manner& manner) { return take(manner, am::Way::slots); }
Signature take_am_vi(const Manner& manner) { return take(manner, am::Way::vi); }
Signature take_am_vi3(const Manner& manner) { return take(manner, am::Way::vi3); }

}  // namespace hamlyn::tool::perf::logp
