// Segments: reads of a word that do not wait. The request goes to the exporter's interface, which answers.
#include <vector>

#include "tool/perf/exporter.h"
#include "tool/perf/logp/layers.h"
#include "tool/perf/logp/taking.h"

namespace hamlyn::tool::perf::logp {
namespace {

constexpr std::uint64_t kWord = 0x4c6f67502e2e2e2e;  // that the exporter has at offset 0
constexpr std::size_t kOver = 128;                   // where it is told that it is over

class SegmentAsker {
 public:
  SegmentAsker(Exporter& side, std::uint32_t under_way) : side_(side), reads_(under_way) {}
  bool send() {
    if (sent_ - taken_ == reads_.size()) return false;
    Read& read = reads_[sent_ % reads_.size()];
    read.word = 0;
    const Status status =
        side_.other().read(0, std::as_writable_bytes(std::span(&read.word, 1)), &read.handle);
    expect(status == Status::pending || status == Status::queue_full || status == Status::connecting,
           name(status));
    if (status == Status::pending) ++sent_;
    return status == Status::pending;
  }
  void look() {
    side_.interface().run();
    if (taken_ == sent_) return;
    const Read& oldest = reads_[taken_ % reads_.size()];
    const Status status = side_.other().outcome(oldest.handle).status;
    if (status == Status::pending) return;
    expect(status == Status::ok && oldest.word == kWord, "a read failed, or brought another word");
    ++taken_;
  }
  std::uint64_t replies() const { return taken_; }

 private:
  struct Read {
    std::uint64_t word = 0;
    RemoteHandle handle;
  };

  Exporter& side_;
  std::vector<Read> reads_;
  std::uint64_t sent_ = 0, taken_ = 0;
};

void answer(Exporter& side) {
  side.own().at<std::uint64_t>(0).store(kWord, std::memory_order_release);
  const auto over = side.own().at<std::uint64_t>(kOver);
  while (over.load(std::memory_order_acquire) == 0) side.interface().run();
}

}  // namespace

Signature take_segments(const Manner& manner) {
  const auto ask = [=](Exporter& side, Room& room) {
    for (std::uint64_t word = 0; word != kWord;)
      expect(side.other().load(0, word, std::chrono::seconds{10}) == Status::ok, "a read failed");
    SegmentAsker asker(side, manner.under_way);
    survey_and_report(asker, manner, room);
    side.say_over(kOver);
  };
  const auto answers = [](Exporter& side, Room&) { answer(side); };
  return unpacked(run_sides(manner.cores, kMostValues, manner.place, Sharing::guarded, 4096, ask, answers,
                            manner.under_way));
}

}  // namespace hamlyn::tool::perf::logp
