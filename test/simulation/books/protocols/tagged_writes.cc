// Tagged remote writes: each that was accepted lands, and its tag comes once, with those bytes; in order
// where links keep it.
#include <deque>
#include <optional>

#include "hamlyn/protocols/tagged_write.h"
#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kPlaces = 16;
constexpr std::uint64_t kCell = 64;   // no write is longer
constexpr std::uint64_t kCells = 32;  // of a lane; more than there are places. A cell is used again when what
                                      // stood there was taken: until then it may still be on its way
constexpr std::uint64_t kLanes = 24;  // each sender has its own

struct Board {
  std::uint64_t owner = 0;
  std::uint64_t lanes = 0;  // so many have been given out
  bool gone = false;
};

struct Lane {
  Board* board = nullptr;
  std::uint64_t number = 0;
  std::uint64_t place = 0;  // on the board
  std::uint64_t sender = 0;
  struct Write {
    std::uint32_t length;
    bool taken;
  };
  std::deque<Write> writes;  // that were accepted
  std::uint64_t taken = 0;
};

std::uint64_t tag_of(std::uint64_t lane, std::uint64_t write) noexcept { return lane << 32 | write; }

class TaggedWrites final : public Book {
 public:
  explicit TaggedWrites(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override;

  Stage& stage;
  Offers offers;
  std::deque<Board> boards;
  std::deque<Lane> lanes;
};

class TaggedPart final : public Part {
 public:
  TaggedPart(TaggedWrites& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
  ~TaggedPart() override { go(); }

  void act() override {
    sim::Generator& chance = stage_.chance();
    if (!receiver_) make();
    const std::uint64_t dice = chance.below(100);
    if (dice < 45) {
      send();
    } else if (dice < 80) {
      for (std::uint64_t most = chance.between(1, 20); most != 0 && take(); --most) {
      }
    } else if (dice < 88) {
      wait();
    } else if (dice < 90) {
      wait_for_one();
    } else if (dice < 91) {
      go();
    } else if (dice < 93) {
      sender_.reset();
    }
  }
  bool stop_sending() override {
    sender_.reset();
    return false;
  }
  bool take_all() override {
    bool any = false;
    while (receiver_ && take()) any = true;
    return any;
  }

 private:
  struct Sender {
    Sender(Manager& manager, const Seed& seed, std::chrono::nanoseconds timeout, Lane& to, Stage& stage)
        : sends(stage),
          sender(manager, seed, timeout),
          lane(to),
          doing(stage, OperationKind::tagged_writes, to.board->owner) {}
    Sends sends;
    TaggedSender sender;
    Lane& lane;
    Doing doing;
  };

  void make() {
    board_ = &book_.boards.emplace_back();
    board_->owner = stage_.me();
    receiver_ = std::make_unique<TaggedReceiver>(
        manager_, kLanes * kCells * kCell,
        TaggedReceiver::Options{.places = kPlaces, .capacity = 256, .aside = 64});
    book_.offers.add({receiver_->make_seed(), stage_.me(), board_});
  }
  void go() {
    if (board_ != nullptr && !stage_.ending) board_->gone = true;
    receiver_.reset();
  }
  bool take() {
    const std::optional<Tagged> tagged = receiver_->get_tag();
    if (tagged) taken(*tagged);
    return tagged && stage_.alive();
  }
  void wait() {
    Tagged tagged;
    const Status status = receiver_->get_tag(tagged, stage_.a_while());
    if (status == Status::ok) return taken(tagged);
    stage_.demand(status == Status::timed_out || status == Status::link_ended, "no tag can be had", status);
    if (status == Status::link_ended)
      stage_.demand(stage_.may_have_gone(tagged.sender), "a link ended for nothing");
  }
  // One that may come.
  void wait_for_one() {
    if (board_->lanes == 0) return;
    for (const Lane& lane : book_.lanes) {
      if (lane.board != board_ || lane.taken == lane.writes.size()) continue;
      std::uint64_t at = 0;
      while (lane.writes[at].taken) ++at;
      const std::uint64_t tag = tag_of(lane.number, at);
      Tagged tagged;
      const Status status = receiver_->get_specific_tag(tag, tagged, stage_.a_while());
      if (status == Status::ok) {
        stage_.demand(tagged.tag == tag, "another tag came than was asked for");
        taken(tagged);
      }
      return;
    }
  }
  void taken(const Tagged& tagged) {
    const std::uint64_t number = tagged.tag >> 32, at = tagged.tag & 0xFFFFFFFFu;
    const bool known = number < book_.lanes.size() && at < book_.lanes[number].writes.size();
    stage_.demand(known, "a tag came that nobody sent");
    if (!known || !stage_.alive()) return;
    Lane& lane = book_.lanes[number];
    Lane::Write& write = lane.writes[at];
    ++stage_.counts.completed;
    stage_.host.note("takes write % of lane %", {at, number});
    stage_.demand(lane.board == board_ && tagged.sender == lane.sender, "a tag came of another");
    stage_.demand(!std::exchange(write.taken, true), "a tag came twice");
    ++lane.taken;
    stage_.demand(same(receiver_->bytes(tagged), pattern(write.length, tagged.tag)),
                  "a write is not what was sent");
  }
  void send() {
    sim::Generator& chance = stage_.chance();
    if (!sender_) return grow();
    Lane& lane = sender_->lane;
    for (std::uint64_t count = chance.between(1, 20); count != 0; --count) {
      const std::uint64_t at = lane.writes.size();
      if (at >= kCells && !lane.writes[at - kCells].taken) return;
      const auto length = static_cast<std::uint32_t>(chance.below(kCell + 1));
      const std::vector<std::byte> data = pattern(length, tag_of(lane.number, at));
      const std::uint64_t offset = (lane.place * kCells + at % kCells) * kCell;
      lane.writes.push_back({length, false});
      ++stage_.counts.operations;
      const Status status =
          chance.one_in(2) ? sender_->sender.send(data, offset, tag_of(lane.number, at))
                           : sender_->sender.send(data, offset, tag_of(lane.number, at), stage_.a_while());
      if (status == Status::ok) continue;
      lane.writes.pop_back();
      stage_.met(OperationKind::tagged_writes, status);
      ++stage_.counts.failed;
      return not_sent(status);
    }
  }
  void not_sent(Status status) {
    const Board& board = *sender_->lane.board;
    switch (status) {
      case Status::no_place:
      case Status::queue_full:
      case Status::timed_out:
        return;
      case Status::connecting:
      case Status::link_ended:
        stage_.demand(stage_.may_have_gone(board.owner), "a link ended for nothing", status);
        break;
      case Status::refused:
      case Status::stale:
        stage_.demand(board.gone || stage_.may_have_gone(board.owner), "a good seed was refused", status);
        break;
      default:
        stage_.demand(false, "a write was answered as it cannot be", status);
    }
    sender_.reset();
  }
  void grow() {
    const Offer* const offer = book_.offers.any(stage_);
    if (offer == nullptr) return;
    Board& board = *static_cast<Board*>(offer->about);
    if (board.lanes == kLanes) return;
    Lane& lane = book_.lanes.emplace_back();
    lane.board = &board;
    lane.number = book_.lanes.size() - 1;
    lane.place = board.lanes++;
    lane.sender = stage_.me();
    try {
      const Doing doing(stage_, OperationKind::tagged_opening, board.owner);
      sender_ = std::make_unique<Sender>(
          manager_, offer->seed, std::chrono::nanoseconds{stage_.chance().below(2'000'000)}, lane, stage_);
    } catch (const Error& error) {
      const bool gone = board.gone || stage_.may_have_gone(board.owner);
      stage_.demand(gone || error.code() == ErrorCode::timed_out, "a good seed makes no sender",
                    error.code());
    }
  }

  TaggedWrites& book_;
  Stage& stage_;
  Manager& manager_;
  std::unique_ptr<TaggedReceiver> receiver_;
  Board* board_ = nullptr;
  std::unique_ptr<Sender> sender_;
};

std::unique_ptr<Part> TaggedWrites::come(Manager& manager) {
  return std::make_unique<TaggedPart>(*this, manager);
}

void TaggedWrites::check() {
  for (const Lane& lane : lanes) {
    const bool there = !lane.board->gone && stage.host.inhabitant(lane.board->owner).alive;
    if (there && !stage.may_be_lost(lane.sender, lane.board->owner))
      stage.host.demand(lane.taken == lane.writes.size(), "a write was accepted, and has not come");
  }
}

}  // namespace

std::unique_ptr<Book> make_tagged_writes(Stage& stage) { return std::make_unique<TaggedWrites>(stage); }

}  // namespace hamlyn::simulation
