// Split-C: gets of a word, guarded or over VI. The request goes to the other rank, which answers in its poll.
#include <vector>

#include "tool/perf/logp/layers.h"
#include "tool/perf/logp/taking.h"
#include "tool/perf/our_party.h"
#include "tool/perf/ranks.h"

namespace hamlyn::tool::perf::logp {
namespace {

class RankAsker {
 public:
  RankAsker(Words& words, std::uint32_t under_way) : from_(words.at(1)), gets_(under_way) {}
  // A get that finds as many under way as may be would wait.
  bool send() {
    if (sent_ - taken_ == gets_.size()) return false;
    Get& get = gets_[sent_++ % gets_.size()];
    get.word = ~std::uint64_t{0};
    splitc::get(get.word, from_, &get.batch);
    return true;
  }
  void look() {
    Get& oldest = gets_[taken_ % gets_.size()];
    if (taken_ == sent_) return splitc::poll();
    if (!oldest.batch.done()) return;
    expect(oldest.word == 0, "another word was read");
    ++taken_;
  }
  std::uint64_t replies() const { return taken_; }

 private:
  struct Get {
    std::uint64_t word = 0;
    splitc::Batch batch;
  };

  splitc::global_ptr<std::uint64_t> from_;
  std::vector<Get> gets_;
  std::uint64_t sent_ = 0, taken_ = 0;
};

Signature take(const splitc::ProgramOptions& way, const Manner& manner) {
  const auto ask = [=](Words& words, Room& room) {
    RankAsker asker(words, manner.under_way);
    survey_and_report(asker, manner, room);
    say_over(words);
  };
  return unpacked(
      run_ranks(manner.cores, {.results = kMostValues, .way = way, .place = manner.place}, ask, serve));
}

}  // namespace

Signature take_splitc(const Manner& manner) { return take(guarded_ranks(), manner); }
Signature take_splitc_vi(const Manner& manner) { return take(ranks_over_vi(manner.under_way), manner); }

}  // namespace hamlyn::tool::perf::logp
