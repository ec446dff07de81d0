// Segments of every kind, imported by name or by ticket, mapped where that may be: what is written before a
// signal is there when that is; what is read stood there meanwhile; swaps are done once; who asked that the
// exporter be told is told of once. Of what was revoked nobody reads, swaps or is promised anything more, and
// nothing of it lands.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "hamlyn/segment/segment.h"
#include "test/simulation/books/protocols/own_and_others.h"
#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kBytes = 4096;
// The first lane is of the exporter: a counter of everybody's, and words that he writes all the time. The
// others are of one import each: a signal, a word that he is told of, and two blocks.
constexpr std::size_t kLane = 256, kLanes = kBytes / kLane;
constexpr std::size_t kBlock = 112;
constexpr std::size_t kOwnWords = 16;
constexpr std::size_t kCounter = 0, kOwn = kLane / 2, kTold = 8, kBlocks = 16;

struct Export;

// Times that the exporter is to be told of something, and that it was.
struct Tells {
  std::uint64_t sure = 0, unsure = 0, told = 0;
};

std::size_t index_of(SegmentRecord::Kind kind) {
  return kind == SegmentRecord::Kind::written ? 0 : kind == SegmentRecord::Kind::got ? 1 : 2;
}

struct Lane {
  Export* place = nullptr;
  std::size_t number = 0;
  std::uint64_t writer = 0;
  std::uint64_t generation = 0;      // of what was imported
  std::uint64_t signals = 0;         // that were put, each with a block of
  std::vector<std::size_t> lengths;  // so many bytes
  std::uint64_t last = 0;            // signal that stood there when its segment was revoked
  std::size_t at() const { return number * kLane; }
};

struct Export {
  std::uint64_t number = 0;
  std::uint64_t owner = 0;
  std::string name;  // empty: none
  Sharing sharing{};
  Ticket ticket;
  std::byte* bytes = nullptr;  // null: it has gone
  bool gone = false;           // before the run's end
  std::uint64_t generation = 0;
  std::uint64_t version = 0;           // of its own words
  std::uint64_t sure = 0, unsure = 0;  // what was added to the counter, and may have been
  std::deque<Lane> lanes;
  std::map<std::uint64_t, Tells[3]> tells;  // of writes, reads and swaps, by who has done them
  std::uint64_t word(std::size_t at) const {
    std::uint64_t word;
    std::memcpy(&word, bytes + at, kWord);
    return word;
  }
};

// Words of a version of something.
std::uint64_t word_of(std::uint64_t version, std::size_t nth) { return version << 32 | nth; }

class Segments final : public Book {
 public:
  explicit Segments(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override;
  // All that a signal says is there.
  void look_at(const Lane& lane) {
    const Export& place = *lane.place;
    const std::uint64_t signal = place.word(lane.at());
    stage.demand(signal <= lane.signals, "a signal was put that nobody sent");
    if (place.generation != lane.generation)
      stage.demand(signal == lane.last, "something of what was revoked has landed");
    if (signal == 0 || signal > lane.signals) return;
    const std::size_t block = lane.at() + kBlocks + signal % 2 * kBlock;
    for (std::size_t i = 0; i != lane.lengths[signal - 1] / kWord; ++i) {
      const std::uint64_t word = place.word(block + i * kWord);
      // The next but one may be on its way.
      stage.demand(
          word == word_of(signal, i) || (signal + 2 <= lane.signals && word == word_of(signal + 2, i)),
          "a signal stands before its data");
    }
  }
  void look_at(const Export& place) {
    for (const Lane& lane : place.lanes) look_at(lane);
    const std::uint64_t counter = place.word(kCounter);
    stage.demand(counter >= place.sure && counter <= place.sure + place.unsure,
                 "a word of a segment was swapped twice, or not at all");
  }

  Stage& stage;
  std::deque<Export> exports;
};

// --- the exporter

class Exporting {
 public:
  Exporting(Segments& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
  ~Exporting() { go(); }
  Exporting(const Exporting&) = delete;
  Exporting& operator=(const Exporting&) = delete;

  void act() {
    if (!segment_) return make();
    take();
    book_.look_at(*place_);
    rewrite();
    const std::uint64_t dice = stage_.chance().below(100);
    if (dice < 10) {
      SegmentRecord record;
      if (segment_->wait(record, stage_.a_while()) == Status::ok) hear(record);
    } else if (dice < 14) {
      wait_for_signal();
    } else if (dice < 20) {
      revoke();
    } else if (dice < 22) {
      go();
    }
  }
  bool take() {
    bool any = false;
    while (segment_ && stage_.alive()) {
      const std::optional<SegmentRecord> record = segment_->poll();
      if (!record) break;
      any = true;
      hear(*record);
    }
    return any;
  }

 private:
  void make() {
    sim::Generator& chance = stage_.chance();
    place_ = &book_.exports.emplace_back();
    place_->number = book_.exports.size();
    place_->owner = stage_.me();
    place_->sharing = static_cast<Sharing>(chance.below(3));
    if (chance.one_in(2)) place_->name = "segment-" + std::to_string(place_->number);
    segment_.emplace(
        manager_.interface(),
        SegmentOptions{
            .name = place_->name, .bytes = kBytes, .sharing = place_->sharing, .places = 4, .records = 64});
    place_->bytes = segment_->bytes().data();
    place_->ticket = segment_->ticket();
    rewrite();
    stage_.host.note("exports segment %", {place_->number});
  }
  void rewrite() {
    ++place_->version;
    for (std::size_t i = 0; i != kOwnWords; ++i)
      segment_->at<std::uint64_t>(kOwn + i * kWord) = word_of(place_->version, i);
  }
  // Of whoever came last.
  void wait_for_signal() {
    if (place_->lanes.empty()) return;
    const Lane& lane = place_->lanes.back();
    const std::uint64_t known = place_->word(lane.at());
    const auto more = [&](std::uint64_t word) { return word > known; };
    if (segment_->wait_until(lane.at(), more, stage_.a_while()) != Status::ok) return;
    stage_.demand(place_->word(lane.at()) > known, "a signal was waited for, and is not there");
    book_.look_at(lane);
  }
  void hear(const SegmentRecord& record) {
    const bool as_asked = record.kind == SegmentRecord::Kind::written ||
                          record.kind == SegmentRecord::Kind::got ||
                          record.kind == SegmentRecord::Kind::swapped;
    stage_.demand(as_asked && record.count == 1, "the exporter of a segment is told of something else");
    const std::size_t kind = index_of(record.kind);
    const bool there = kind == 0   ? record.offset % kLane == kTold && record.offset > kLane
                       : kind == 1 ? record.offset >= kOwn && record.offset < kLane
                                   : record.offset == kCounter;
    Tells& tells = place_->tells[record.peer][kind];
    stage_.demand(there && ++tells.told <= tells.sure + tells.unsure,
                  "the exporter of a segment was told of what nobody has done");
    if (!stage_.alive()) return;
    stage_.demand(kind == 1 || record.length == kWord, "the exporter of a segment is told of another length");
    if (kind == 0)
      stage_.demand(place_->word(record.offset) != 0,
                    "the exporter of a segment was told of what is not there");
    ++stage_.counts.completed;
  }
  void revoke() {
    segment_->revoke();
    for (Lane& lane : place_->lanes) {
      if (lane.generation == place_->generation) lane.last = place_->word(lane.at());
    }
    // What is on its way of the former is told of or not.
    for (auto& [writer, all] : place_->tells) {
      for (Tells& tells : all) tells.unsure += std::exchange(tells.sure, std::uint64_t{0});
    }
    ++place_->generation;
    place_->ticket = segment_->ticket();
    stage_.host.note("revokes segment %", {place_->number});
  }
  void go() {
    if (!segment_) return;
    if (stage_.alive()) book_.look_at(*place_);
    stage_.host.note("exports segment % no more", {place_->number});
    place_->gone = !stage_.ending;
    place_->bytes = nullptr;
    segment_.reset();
  }

  Segments& book_;
  Stage& stage_;
  Manager& manager_;
  std::optional<Segment> segment_;
  Export* place_ = nullptr;
};

// --- an importer

class Importing {
 public:
  Importing(Segments& book, Manager& manager)
      : sends_(book.stage), book_(book), stage_(book.stage), manager_(manager) {}
  Importing(const Importing&) = delete;
  Importing& operator=(const Importing&) = delete;

  void act() {
    if (!import_) return open();
    for (std::uint64_t count = stage_.chance().between(1, 6); count != 0 && import_; --count) do_something();
  }

 private:
  void do_something() {
    const std::uint64_t dice = stage_.chance().below(100);
    if (dice < 35) {
      write();
    } else if (dice < 50) {
      tell();
    } else if (dice < 60) {
      flush();
    } else if (dice < 78) {
      read();
    } else if (dice < 96) {
      swap();
    } else {
      import_.reset();
    }
  }

  Export& place() { return *lane_->place; }
  bool may_have_gone() { return place().gone || stage_.may_have_gone(place().owner); }
  bool revoked() { return place().generation != lane_->generation; }
  std::chrono::nanoseconds patience() { return stage_.a_while() + std::chrono::microseconds{100}; }

  void open() {
    Export* const found = any_of_others(book_.exports, stage_);
    if (found == nullptr || found->lanes.size() + 1 >= kLanes || found->gone) return;
    Export& place = *found;
    sim::Generator& chance = stage_.chance();
    const Import::Options options{.map = !chance.one_in(4),
                                  .timeout = std::chrono::milliseconds{chance.between(1, 3)}};
    const std::uint64_t generation = place.generation;
    const bool by_name = !place.name.empty();
    ++stage_.counts.operations;
    try {
      const Doing doing(stage_, OperationKind::segment_opening, place.owner);
      if (by_name) {
        import_.emplace(manager_.interface(), place.name, options);
      } else {
        import_.emplace(manager_.interface(), place.ticket, options);
      }
    } catch (const Error& error) {
      ++stage_.counts.failed;
      const ErrorCode code = error.code();
      stage_.host.note("cannot import segment %: %", {place.number, static_cast<std::uint64_t>(code)});
      const bool gone = place.gone || stage_.may_have_gone(place.owner);
      return stage_.demand(code == ErrorCode::timed_out || gone || place.generation != generation,
                           "a segment cannot be imported", code);
    }
    // Others may have come meanwhile.
    if (!stage_.alive() || place.lanes.size() + 1 >= kLanes) return import_.reset();
    stage_.host.note("imports segment %", {place.number});
    lane_ = &place.lanes.emplace_back();
    lane_->place = &place;
    lane_->number = place.lanes.size();
    lane_->writer = stage_.me();
    // Which one it is, its ticket says.
    lane_->generation = import_->ticket() == place.ticket ? place.generation : kNever;
    const bool near = stage_.host.inhabitant(place.owner).host == stage_.host.here().host;
    const bool maps = options.map && near && place.sharing != Sharing::guarded;
    stage_.demand(maps || !import_->reads_by_loads(), "a segment is mapped that cannot be");
    stage_.demand(!maps || import_->reads_by_loads() || revoked() || may_have_gone(),
                  "a segment is not mapped that could be");
    stage_.demand(import_->size() == kBytes, "a segment has another size");
  }
  // A block, and behind it the signal. One is used again when the signal for it has been seen.
  void write() {
    Export& place = this->place();
    Lane& lane = *lane_;
    if (place.bytes == nullptr || place.word(lane.at()) + 1 < lane.signals) return;
    sim::Generator& chance = stage_.chance();
    const std::uint64_t signal = lane.signals + 1;
    const std::size_t length = kWord * chance.between(1, kBlock / kWord);
    std::vector<std::uint64_t> words(length / kWord);
    for (std::size_t i = 0; i != words.size(); ++i) words[i] = word_of(signal, i);
    lane.lengths.push_back(length);
    ++lane.signals;
    ++stage_.counts.operations;
    const bool late = revoked();
    const Sends sends(stage_);
    const Doing doing(stage_, OperationKind::segment_write, place.owner);
    const Status status =
        import_->write_signal(lane.at() + kBlocks + signal % 2 * kBlock, std::as_bytes(std::span(words)),
                              lane.at(), signal, Signal::set, patience());
    stage_.host.note("writes with signal % of segment %: status %",
                     {signal, place.number, static_cast<std::uint64_t>(status)});
    if (status != Status::ok) return ended(status, true);
    if (import_->writes_by_stores())
      stage_.demand(!late && place.bytes != nullptr && place.word(lane.at()) == signal,
                    "what was stored into a mapped segment is not there");
    if (chance.one_in(2)) flush();
  }
  // Of which the exporter is told.
  void tell() {
    Lane& lane = *lane_;
    Tells& tells = place().tells[stage_.me()][0];
    const std::uint64_t number = tells.sure + tells.unsure + 1;
    ++tells.unsure;
    const Sends sends(stage_);
    const Doing doing(stage_, OperationKind::segment_write, place().owner);
    const Status status =
        import_->write(lane.at() + kTold, std::as_bytes(std::span(&number, 1)), patience(), {.notify = true});
    is_told(tells, status);
    if (status != Status::ok) ended(status);
  }
  // Of what was revoked meanwhile the exporter may hear nothing.
  void is_told(Tells& tells, Status status) {
    if (status != Status::ok || revoked()) return;
    --tells.unsure;
    ++tells.sure;
  }
  void flush() {
    const bool late = revoked();
    const Sends sends(stage_);
    const Doing doing(stage_, OperationKind::segment_write, place().owner);
    const Status status = import_->flush(patience());
    if (status != Status::ok) return ended(status);
    stage_.demand(!late, "what was written to a segment that was revoked has landed, as it is said");
    if (!stage_.alive() || revoked() || place().bytes == nullptr) return;
    stage_.demand(place().word(lane_->at()) == lane_->signals, "what was flushed has not landed");
  }
  // Of words that the exporter writes all the time.
  void read() {
    sim::Generator& chance = stage_.chance();
    std::vector<std::uint64_t> words(chance.between(1, kOwnWords));
    const std::size_t first = chance.below(kOwnWords - words.size() + 1);
    const std::uint64_t before = place().version;
    const bool late = revoked() || place().bytes == nullptr;
    ++stage_.counts.operations;
    const Sends sends(stage_);
    const Doing doing(stage_, OperationKind::segment_read, place().owner);
    const bool tells = chance.one_in(4);
    Tells& told = place().tells[stage_.me()][1];
    told.unsure += tells ? 1 : 0;
    const Status status = import_->read(kOwn + first * kWord, std::as_writable_bytes(std::span(words)),
                                        patience(), {.tell_exporter = tells});
    if (tells) is_told(told, status);
    if (status != Status::ok) return ended(status);
    stage_.demand(!late, "a segment was read that was revoked, or has gone");
    for (std::size_t i = 0; i != words.size(); ++i) {
      const std::uint64_t version = words[i] >> 32;
      stage_.demand(
          words[i] == word_of(version, first + i) && version >= before && version <= place().version,
          "what was read of a segment did not stand there");
    }
    ++stage_.counts.completed;
  }
  // Moves the counter on, if it is where it was thought to be.
  void swap() {
    Export& place = this->place();
    const std::uint64_t more = stage_.chance().between(1, 9);
    const std::uint64_t expected = seen_;
    place.unsure += more;
    const bool late = revoked() || place.bytes == nullptr;
    ++stage_.counts.operations;
    const Sends sends(stage_);
    const Doing doing(stage_, OperationKind::segment_swap, place.owner);
    const bool adds = stage_.chance().one_in(3);
    const FetchOptions options{.notify = stage_.chance().one_in(4)};
    Tells& told = place.tells[stage_.me()][2];
    told.unsure += options.notify ? 1 : 0;
    const Outcome outcome =
        adds ? import_->fetch(kCounter, {.operand = more}, patience(), options)
             : import_->compare_and_swap(kCounter, expected, expected + more, patience(), options);
    if (options.notify) is_told(told, outcome.status);
    const bool refused = outcome.status == Status::stale || outcome.status == Status::refused;
    if (outcome.status == Status::ok || (refused && !import_->writes_by_stores())) place.unsure -= more;
    if (outcome.status != Status::ok) return ended(outcome.status);
    stage_.demand(!late, "a word was swapped of a segment that was revoked, or has gone");
    const bool done = adds || outcome.value == expected;
    if (done) place.sure += more;
    seen_ = outcome.value + (done ? more : 0);
    ++stage_.counts.completed;
  }
  // Of all but a write it goes on: what is answered late hurts nobody.
  void ended(Status how, bool torn = false) {
    ++stage_.counts.failed;
    // (no_place: it was not done, or, of a write to a mapped one, the exporter was not told.)
    if (how == Status::timed_out || how == Status::no_place) {
      if (torn) import_.reset();
      return;
    }
    const bool as_it_can = how == Status::stale || how == Status::refused || how == Status::link_ended;
    stage_.demand(as_it_can && (revoked() || may_have_gone()), "a segment has ended as it cannot", how);
    if (how == Status::link_ended) stage_.demand(may_have_gone(), "a link ended for nothing");
    import_.reset();
  }

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  const Sends sends_;
  Segments& book_;
  Stage& stage_;
  Manager& manager_;
  std::optional<Import> import_;
  Lane* lane_ = nullptr;
  std::uint64_t seen_ = 0;
};

std::unique_ptr<Part> Segments::come(Manager& manager) {
  return std::make_unique<OwnAndOthers<Segments, Exporting, Importing>>(*this, manager);
}

void Segments::check() {
  for (const Export& place : exports) {
    if (place.gone || !stage.host.inhabitant(place.owner).alive) continue;
    for (const auto& [writer, all] : place.tells) {
      const bool excused = !stage.host.inhabitant(writer).alive || stage.may_be_lost(writer, place.owner);
      for (const Tells& tells : all)
        stage.host.demand(tells.told >= tells.sure || excused, "the exporter of a segment was not told");
    }
  }
}

}  // namespace

std::unique_ptr<Book> make_segments(Stage& stage) { return std::make_unique<Segments>(stage); }

}  // namespace hamlyn::simulation
