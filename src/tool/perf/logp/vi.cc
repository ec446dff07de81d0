// VI: sends of 16 bytes to posted receives, told of in a completion queue.
#include <array>
#include <cstring>

#include "tool/perf/logp/layers.h"
#include "tool/perf/logp/taking.h"
#include "tool/perf/vi_end.h"

namespace hamlyn::tool::perf::logp {
namespace {

using Words = std::array<std::uint64_t, 2>;  // a request's number, twice; its reply has the same
constexpr std::uint64_t kOver = ~std::uint64_t{0};

void send_number(ViEnd& end, std::uint64_t number) {
  const Words words{number, number};
  std::memcpy(end.sent(0).data(), &words, sizeof words);
  end.send();
}
std::uint64_t number_in(ViEnd& end, const vi::Descriptor* came) {
  Words words;
  expect(came->length == sizeof words, "a message was cut short");
  std::memcpy(&words, end.received(came).data(), sizeof words);
  expect(words[0] == words[1], "a message was read that is not the one sent");
  return words[0];
}

class ViAsker {
 public:
  ViAsker(ViEnd& end, std::uint32_t credits) : end_(end), credits_(credits) {}
  bool send() {
    if (sent_ - taken_ == credits_) return false;
    send_number(end_, sent_++);
    return true;
  }
  void look() {
    const vi::Taken taken = end_.nic().queue_take(end_.queue());
    if (taken.result == vi::Result::not_done) return;
    good(taken.result, "a receive has failed");
    expect(number_in(end_, taken.descriptor) == taken_, "a reply is missing");
    end_.post(taken.descriptor);
    ++taken_;
  }
  std::uint64_t replies() const { return taken_; }

 private:
  ViEnd& end_;
  const std::uint32_t credits_;
  std::uint64_t sent_ = 0, taken_ = 0;
};

void answer(ViEnd& end) {
  for (;;) {
    vi::Descriptor* const came = end.receive();
    const std::uint64_t number = number_in(end, came);
    if (number == kOver) return;
    send_number(end, number);
    end.post(came);
  }
}

}  // namespace

Signature take_vi(const Manner& manner) {
  // One receive beside those of the credits: its message is answered before it is posted again.
  const ViShape shape{.receives = manner.under_way + 1};
  const PartyOptions options{.place = manner.place};
  const auto ask = [=](Party& party, Room& room) {
    ViEnd end(party.interface(), shape);
    meet(party, end, true);
    ViAsker asker(end, manner.under_way);
    survey_and_report(asker, manner, room);
    send_number(end, kOver);
    end.await_end();
  };
  const auto answers = [=](Party& party, Room&) {
    ViEnd end(party.interface(), shape);
    meet(party, end, false);
    answer(end);
  };
  return unpacked(run_parties(manner.cores, kMostValues, options, ask, options, answers));
}

}  // namespace hamlyn::tool::perf::logp
