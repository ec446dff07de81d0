// Rows of messages in fast mode (Terminus::send_fast_row): of each row those come that have left, and no
// others; each once, with its bytes; in their order where links keep it.
#include <deque>
#include <optional>

#include "hamlyn/core/terminus.h"
#include "test/simulation/books/protocols/own_and_others.h"
#include "test/simulation/books/protocols/own_slot.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint64_t kCell = 64;   // no message is longer
constexpr std::uint64_t kCells = 16;  // of a lane; one is used again when what stood there was taken
constexpr std::uint64_t kLanes = 24;  // each sender has its own

struct Track {
  std::uint64_t number = 0;
  std::uint64_t owner = 0;
  Ticket ticket;
  std::uint64_t lanes = 0;  // so many have been given out
  bool gone = false;        // before the run's end
};

struct Lane {
  Track* track = nullptr;
  std::uint64_t number = 0;
  std::uint64_t place = 0;  // on the track
  std::uint64_t sender = 0;
  std::deque<bool> taken;  // of all that have left
  std::uint64_t last = 0;  // behind the last that was taken
  std::uint64_t offset_of(std::uint64_t at) const { return (place * kCells + at % kCells) * kCell; }
  std::uint64_t word_of(std::uint64_t at) const { return number << 32 | at; }
  std::vector<std::byte> content(std::uint64_t at) const {
    return pattern(at * 7 % (kCell + 1), word_of(at));
  }
};

class FastRows final : public Book {
 public:
  explicit FastRows(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override;

  Stage& stage;
  std::deque<Track> tracks;
  std::deque<Lane> lanes;
};

class TrackOwner {
 public:
  TrackOwner(FastRows& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
  ~TrackOwner() { go(); }
  TrackOwner(const TrackOwner&) = delete;
  TrackOwner& operator=(const TrackOwner&) = delete;

  void act() {
    if (!slot_) make();
    if (stage_.chance().one_in(3)) slot_.wait(stage_, [this](const Notification& arrival) { hear(arrival); });
    if (stage_.chance().one_in(2)) take();
    if (stage_.chance().one_in(60)) go();
  }
  bool take() {
    return slot_.take(stage_, [this](const Notification& arrival) { hear(arrival); });
  }

 private:
  void make() {
    track_ = &book_.tracks.emplace_back();
    track_->number = book_.tracks.size();
    track_->owner = stage_.me();
    // The queue has places for all who may come, also where those of some who have gone stand unread.
    slot_.make(manager_.interface(), 256, kLanes * kCells * kCell,
               {.places = static_cast<std::uint32_t>(stage_.chance().between(1, 16))});
    track_->ticket = slot_->ticket();
    stage_.host.note("has track %", {track_->number});
  }
  void hear(const Notification& arrival) {
    if (arrival.kind != Notification::Kind::message) return;
    const std::uint64_t number = arrival.word >> 32, at = arrival.word & 0xFFFFFFFFu;
    const bool known = number < book_.lanes.size() && at < book_.lanes[number].taken.size();
    stage_.demand(known, "a message of a row came that has not left");
    if (!known || !stage_.alive()) return;
    Lane& lane = book_.lanes[number];
    stage_.host.note("takes message % of lane %", {at, number});
    stage_.demand(lane.track == track_ && arrival.peer == lane.sender, "a message of a row is another's");
    stage_.demand(!std::exchange(lane.taken[at], true), "a message of a row came twice");
    stage_.demand(!stage_.host.in_order() || at >= lane.last, "a row has lost its order");
    stage_.demand(arrival.offset == lane.offset_of(at) && same(slot_->bytes(arrival), lane.content(at)),
                  "a message of a row is not what was sent");
    lane.last = at + 1;
    ++stage_.counts.completed;
  }
  void go() {
    if (!slot_) return;
    track_->gone = !stage_.ending;
    slot_.go();
  }

  FastRows& book_;
  Stage& stage_;
  Manager& manager_;
  OwnSlot slot_;
  Track* track_ = nullptr;
};

class RowSender {
 public:
  RowSender(FastRows& book, Manager& manager)
      : sends_(book.stage), book_(book), stage_(book.stage), terminus_(manager.interface()) {}
  RowSender(const RowSender&) = delete;
  RowSender& operator=(const RowSender&) = delete;

  void act() {
    if (lane_ == nullptr) {
      begin();
    } else if (stage_.chance().one_in(40)) {
      end();
    } else {
      send();
    }
  }

 private:
  void begin() {
    Track* const track = any_of_others(book_.tracks, stage_);
    if (track == nullptr || track->gone || track->lanes == kLanes) return;
    lane_ = &book_.lanes.emplace_back();
    lane_->track = track;
    lane_->number = book_.lanes.size() - 1;
    lane_->place = track->lanes++;
    lane_->sender = stage_.me();
    doing_.emplace(stage_, OperationKind::fast_row, track->owner);
    connect();
  }
  void end() {
    lane_ = nullptr;
    doing_.reset();
  }
  void connect() { ended(terminus_.connect(lane_->track->ticket, stage_.a_while() + kPatience)); }
  void send() {
    const std::uint64_t first = lane_->taken.size(), most = stage_.chance().between(1, 20);
    std::vector<std::vector<std::byte>> data;
    std::vector<FastMessage> row;
    for (std::uint64_t at = first; at != first + most; ++at) {
      if (at >= kCells && (at - kCells >= first || !lane_->taken[at - kCells])) break;
      data.push_back(lane_->content(at));
      row.push_back({data.back(), lane_->word_of(at), lane_->offset_of(at)});
      lane_->taken.push_back(false);
    }
    if (row.empty()) return;
    std::size_t sent = 0;
    const Status status = terminus_.send_fast_row(lane_->track->ticket, row, sent);
    stage_.host.note("sends % of a row of % by lane %", {sent, row.size(), lane_->number});
    stage_.counts.operations += sent;
    stage_.counts.failed += status != Status::ok;
    stage_.demand((sent == row.size()) == (status == Status::ok), "a row has left, and has not", status);
    lane_->taken.resize(first + sent);
    stage_.met(OperationKind::fast_row, status);
    if (status == Status::connecting) return connect();
    ended(status);
  }
  void ended(Status status) {
    const bool later = status == Status::ok || status == Status::no_place || status == Status::queue_full ||
                       status == Status::timed_out;
    if (later) return;
    const bool as_it_can =
        status == Status::link_ended || status == Status::refused || status == Status::stale;
    const Track& track = *lane_->track;
    stage_.demand(as_it_can && (track.gone || stage_.may_have_gone(track.owner)),
                  "a row was answered as it cannot be", status);
    end();
  }

  static constexpr std::chrono::microseconds kPatience{100};
  const Sends sends_;
  FastRows& book_;
  Stage& stage_;
  Terminus terminus_;
  Lane* lane_ = nullptr;
  std::optional<Doing> doing_;
};

std::unique_ptr<Part> FastRows::come(Manager& manager) {
  return std::make_unique<OwnAndOthers<FastRows, TrackOwner, RowSender>>(*this, manager);
}

void FastRows::check() {
  for (const Lane& lane : lanes) {
    const bool there = !lane.track->gone && stage.host.inhabitant(lane.track->owner).alive;
    if (there && !stage.may_be_lost(lane.sender, lane.track->owner))
      stage.host.demand(std::ranges::count(lane.taken, false) == 0,
                        "a message of a row has left, and has not come");
  }
}

}  // namespace

std::unique_ptr<Book> make_fast_rows(Stage& stage) { return std::make_unique<FastRows>(stage); }

}  // namespace hamlyn::simulation
