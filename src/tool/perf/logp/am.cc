// Active messages, each way: short requests of four arguments, and replies of as many.
#include "am/am_wire.h"
#include "tool/perf/am_end.h"
#include "tool/perf/logp/layers.h"
#include "tool/perf/logp/logp.h"
#include "tool/perf/logp/taking.h"

namespace hamlyn::tool::perf::logp {
namespace {

constexpr am::HandlerNumber kAsk = 1, kAnswer = 2, kOver = 5;

static_assert(kMostCredits == internal_::am::kMostCredits);

class AmAsker {
 public:
  AmAsker(AmEnd& end, std::uint32_t credits) : end_(end), credits_(credits) {
    good(end_.endpoint.set_handler(kAnswer,
                                   [this](am::Token&, const am::Arrival& arrival) {
                                     expect(arrival.arguments[0] == static_cast<std::int32_t>(taken_),
                                            "another request's reply");
                                     ++taken_;
                                   }),
         "no handler");
  }
  // A request without a credit would wait.
  bool send() {
    if (sent_ - taken_ == credits_) return false;
    const std::array<std::int32_t, 4> all{static_cast<std::int32_t>(sent_), 1, 2, 3};
    good(end_.endpoint.request(0, kAsk, all), "no request");
    ++sent_;
    return true;
  }
  void look() { end_.poll(); }
  std::uint64_t replies() const { return taken_; }

 private:
  AmEnd& end_;
  const std::uint32_t credits_;
  std::uint64_t sent_ = 0, taken_ = 0;
};

void answer(AmEnd& end) {
  bool over = false;
  good(end.endpoint.set_handler(kAsk,
                                [](am::Token& token, const am::Arrival& arrival) {
                                  good(token.reply(kAnswer, arrival.arguments), "no reply");
                                }),
       "no handler");
  good(end.endpoint.set_handler(kOver, [&](am::Token&, const am::Arrival&) { over = true; }), "no handler");
  end.meet();
  while (!over) end.poll();
}

Signature take(Cores cores, std::uint32_t under_way, int rounds, am::Way way) {
  const am::EndpointOptions options{.credits = under_way, .way = way};
  const auto ask = [=](Party& party, Room& room) {
    AmEnd end(party, options);
    AmAsker asker(end, under_way);
    end.meet();
    survey_and_report(asker, under_way, rounds, room);
    good(end.endpoint.request(0, kOver), "no request");
    party.finish();
  };
  const auto answers = [=](Party& party, Room&) {
    AmEnd end(party, options);
    answer(end);
    party.finish();
  };
  return unpacked(run_parties(cores, kMostValues, {}, ask, {}, answers));
}

}  // namespace

Signature take_am(Cores cores, std::uint32_t under_way, int rounds) {
  return take(cores, under_way, rounds, am::Way::slots);
}
Signature take_am_vi(Cores cores, std::uint32_t under_way, int rounds) {
  return take(cores, under_way, rounds, am::Way::vi);
}
Signature take_am_vi3(Cores cores, std::uint32_t under_way, int rounds) {
  return take(cores, under_way, rounds, am::Way::vi3);
}

}  // namespace hamlyn::tool::perf::logp
