// Streams: receivers that offer themselves again and again, refuse some, close, or go; senders that close,
// give up, or go. Some are read as bytes, whatever they were sent as; some records stand in a send buffer
// area, which is written over at the first moment at which that may be. What is received is what was sent, in
// order and whole, up to an end that both are told of.
#include <deque>
#include <optional>

#include "hamlyn/send_buffer_area.h"
#include "hamlyn/stream.h"
#include "simulation/protocols/part.h"
#include "simulation/protocols/stage.h"

namespace hamlyn::simulation {

namespace {

// All that may be known of one offer, and of the stream that grew from it.
struct Flow {
  std::uint64_t number = 0;
  std::uint64_t receiver = 0;
  std::uint64_t sender = 0;
  bool bytes = false;                  // it is read as such
  std::vector<std::uint32_t> lengths;  // of records that were sent
  // So much was accepted, and so much may come: records, or bytes.
  std::uint64_t sure = 0;
  std::uint64_t may = 0;
  std::uint64_t flushed = 0;
  std::uint64_t received = 0;
  unsigned tries = 0;         // to grow from it
  bool denied = false;        // the receiver did not want somebody
  bool replaced = false;      // by another offer, before anybody came
  bool closing = false;       // the sender has called close
  bool closed = false;        // and it was ok
  bool given_up = false;      // by its sender, without closing
  bool area_gone = false;     // with what had not been copied out of it
  bool quit = false;          // the receiver wants no more, or goes
  bool stopped = false;       // it has waited for that
  std::optional<Status> end;  // that the receiver was told
};

std::vector<std::byte> record_content(const Flow& flow, std::uint64_t number) {
  return pattern(flow.lengths[number], flow.number << 32 | number);
}

// Of a stream of bytes, from its `at`th on.
std::vector<std::byte> bytes_content(const Flow& flow, std::uint64_t at, std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::byte& each : made)
    each = static_cast<std::byte>((++at + flow.number) * 0x9E3779B97F4A7C15u >> 56);
  return made;
}

// Whether all has come that had to.
bool whole(const Flow& flow) noexcept { return flow.received >= flow.sure; }

class Streams final : public Book {
 public:
  explicit Streams(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override;
  Flow& add() {
    Flow& flow = flows.emplace_back();
    flow.number = flows.size();
    flow.receiver = stage.me();
    return flow;
  }

  Stage& stage;
  Offers offers;
  std::deque<Flow> flows;
};

class Sink final : public StreamReceiver {
 public:
  Sink(Manager& manager, const Options& options, Stage& stage)
      : StreamReceiver(manager, options), stage_(stage) {}
  ~Sink() override { retire(); }
  Flow* flow = nullptr;

 private:
  bool admit(std::uint64_t) noexcept override {
    if (!stage_.chance().one_in(6)) return true;
    flow->denied = true;
    return false;
  }
  Stage& stage_;
};

// --- the receiver

class Receiving {
 public:
  Receiving(Streams& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
  ~Receiving() { go(); }
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;

  void act() {
    sim::Generator& chance = stage_.chance();
    if (!sink_) make();
    const std::uint64_t dice = chance.below(100);
    if (sink_->flow == nullptr || sink_->flow->end) {
      if (held_.empty()) offer();
      release();
    } else if (dice < 4) {
      offer_again();
    } else if (dice < 70) {
      receive(chance.between(1, 20), chance.one_in(3) ? stage_.a_while() : std::chrono::nanoseconds{0});
    } else if (dice < 95) {
      release();
    } else if (dice < 97) {
      close();
    } else if (dice < 98) {
      go();
    }
  }
  bool take_all() {
    if (!sink_ || sink_->flow == nullptr) return false;
    receive(1000, std::chrono::nanoseconds{0});
    while (!held_.empty()) release();
    const Flow& flow = *sink_->flow;
    return flow.sender != 0 && !flow.end;
  }

 private:
  struct Held {
    Record record;
    std::size_t number;
  };

  void make() {
    sim::Generator& chance = stage_.chance();
    StreamOptions options;
    options.first = 64 * chance.between(1, 64);
    options.most = 64 * chance.between(64, 1024);
    options.parcels = std::uint32_t{4} << chance.below(4);
    sink_ = std::make_unique<Sink>(manager_, options, stage_);
  }
  void offer() {
    Flow& flow = book_.add();
    flow.bytes = stage_.chance().one_in(3);
    Flow* const before = std::exchange(sink_->flow, &flow);
    try {
      book_.offers.add({sink_->make_seed(), stage_.me(), &flow});
      stage_.host.note("offers stream %", {flow.number});
    } catch (const Error& error) {
      sink_->flow = before;
      flow.replaced = true;
      stage_.demand(before != nullptr && !before->end && error.code() == ErrorCode::invalid_argument,
                    "a stream cannot be offered", error.code());
      return;
    }
    if (before == nullptr || before->end) return;
    before->replaced = true;
    // It may have ended, which nobody has looked at.
    const bool over = before->closing || before->given_up || before->quit;
    stage_.demand(before->sender == 0 || over || stage_.may_have_gone(before->sender),
                  "an offer took the place of a stream that was open");
  }
  // While nobody has come, as far as is known here.
  void offer_again() {
    if (sink_->flow->received == 0 && held_.empty()) offer();
  }
  void receive(std::uint64_t most, std::chrono::nanoseconds timeout) {
    Flow& flow = *sink_->flow;
    for (; most != 0; --most) {
      if (flow.bytes) {
        if (!read(flow, timeout)) return;
        continue;
      }
      Record record;
      const Status status = sink_->receive(record, timeout);
      if (status == Status::timed_out) return;
      if (status != Status::ok) return ended(flow, status);
      stage_.demand(record.number() == flow.received + 1, "a record has the wrong number");
      stage_.demand(flow.received < flow.may, "a record came that nobody sent");
      if (!stage_.alive() || flow.received >= flow.may) return;
      held_.push_back({record, flow.received++});
      check(flow, held_.back());
      ++stage_.counts.completed;
    }
  }
  // False: nothing more can be had now.
  bool read(Flow& flow, std::chrono::nanoseconds timeout) {
    sim::Generator& chance = stage_.chance();
    std::vector<std::byte> into(chance.between(1, chance.one_in(3) ? 10'000 : 300));
    std::size_t count = 0;
    const Status status = sink_->read(into, count, timeout);
    stage_.demand(count <= into.size() && (count == 0) == (status != Status::ok),
                  "so many bytes cannot have been read", status);
    if (!stage_.alive() || status == Status::timed_out) return false;
    if (status != Status::ok) return ended(flow, status), false;
    const std::vector<std::byte> sent = bytes_content(flow, flow.received, count);
    flow.received += count;
    stage_.demand(flow.received <= flow.may, "bytes came that nobody sent");
    stage_.demand(same(std::span(into).first(count), sent), "bytes are not those that were sent");
    ++stage_.counts.completed;
    return true;
  }
  void check(const Flow& flow, const Held& held) {
    stage_.demand(same(held.record.bytes(), record_content(flow, held.number)),
                  "a record is not what was sent");
  }
  void release() {
    if (held_.empty()) return;
    const std::size_t count = stage_.ending ? held_.size() : stage_.chance().between(1, held_.size());
    // Until now its memory was this process's.
    for (const Held& each : held_) check(*sink_->flow, each);
    const Status status = sink_->release(held_[count - 1].record);
    stage_.demand(status == Status::ok, "a record cannot be released", status);
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  void ended(Flow& flow, Status how) {
    if (flow.end || !stage_.alive()) return;
    stage_.host.note("is told the end of stream %: %", {flow.number, static_cast<std::uint64_t>(how)});
    flow.end = how;
    const bool tried = flow.tries != 0;
    stage_.demand(tried, "a stream has ended that nobody began", how);
    switch (how) {
      case Status::closed:
        stage_.demand(flow.closing || flow.quit, "a stream was closed by nobody");
        if (!flow.quit) stage_.demand(whole(flow), "records of a closed stream are lost");
        break;
      case Status::abandoned:
        stage_.demand(flow.given_up || flow.sender == 0, "a stream was abandoned by nobody");
        break;
      case Status::link_ended:
        stage_.demand(flow.sender == 0 || stage_.may_have_gone(flow.sender), "a link ended for nothing");
        break;
      default:
        stage_.demand(false, "a stream has ended in a way that it cannot", how);
    }
    const bool lost = flow.sender != 0 && stage_.may_be_lost(flow.sender, flow.receiver);
    if (!flow.quit && !lost)
      stage_.demand(flow.received >= flow.flushed, "what was flushed has not arrived", how);
  }
  void close() {
    Flow& flow = *sink_->flow;
    flow.quit = true;
    const Status status = sink_->close(stage_.a_while());
    stage_.host.note("closes stream % as its receiver: %", {flow.number, static_cast<std::uint64_t>(status)});
    stage_.demand(status == Status::ok || status == Status::timed_out, "a receiver cannot close", status);
    flow.stopped = status == Status::ok;
    for (const Held& each : held_) check(flow, each);
    // What of a record was not read yet is not of the next stream.
    if (flow.stopped && held_.empty() && stage_.chance().one_in(2)) return offer();
    receive(1000, std::chrono::nanoseconds{0});
  }
  void go() {
    if (!sink_) return;
    held_.clear();
    if (sink_->flow != nullptr && !stage_.ending) {
      stage_.host.note("receives stream % no more", {sink_->flow->number});
      sink_->flow->quit = sink_->flow->replaced = true;
    }
    sink_.reset();
  }

  Streams& book_;
  Stage& stage_;
  Manager& manager_;
  std::unique_ptr<Sink> sink_;
  std::deque<Held> held_;
};

// --- the sender

class Sending {
 public:
  Sending(Streams& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
  ~Sending() { go(); }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

  void act() {
    if (!sender_) return grow();
    const std::uint64_t dice = stage_.chance().below(100);
    if (closing_) {
      close(stage_.chance().below(2'000'000));
    } else if (dice < 8) {
      send_pieces();
    } else if (dice < 12) {
      take_back(stage_.a_while());
    } else if (dice < 13) {
      drop_area();
    } else if (dice < 16 && flow_->bytes) {
      write();
    } else if (dice < 70) {
      send(stage_.chance().between(1, 12));
    } else if (dice < 82) {
      flush();
    } else if (dice < 94) {
      close(stage_.chance().below(2'000'000));
    } else if (dice < 96) {
      go();
    }
  }
  // True: not all has arrived. Its receiver may wait for us, so we come back to what we receive.
  bool finish() {
    if (!sender_) return false;
    if (!closing_ && stage_.chance().one_in(8)) return go(), false;
    return !close(200'000);
  }

 private:
  static constexpr std::uint32_t kTag = 3;
  static constexpr std::size_t kStretch = 6000, kStretches = 3;
  // Of the area, for one record at a time.
  struct Stretch {
    SendHandle handle;
    std::optional<Doing> doing;  // until its bytes are free
  };

  void grow() {
    const Offer* const offer = book_.offers.any(stage_);
    if (offer == nullptr) return;
    Flow& flow = *static_cast<Flow*>(offer->about);
    const Seed seed = offer->seed;
    ++flow.tries;
    stage_.host.note("wants to send stream %", {flow.number});
    ++stage_.counts.operations;
    const Sends sends(stage_);
    try {
      StreamSender::Options options;
      options.together = stage_.chance().between(2048, 8192);
      options.timeout = std::chrono::nanoseconds{stage_.chance().below(3'000'000)};
      const Doing doing(stage_, OperationKind::stream_opening, flow.receiver);
      sender_ = std::make_unique<StreamSender>(manager_, seed, options);
    } catch (const Error& error) {
      return not_grown(flow, error.code());
    }
    counted_.emplace(stage_);
    doing_.emplace(stage_, flow.bytes ? OperationKind::byte_stream : OperationKind::stream, flow.receiver);
    stage_.host.note("sends stream %", {flow.number});
    stage_.demand(flow.sender == 0, "two senders grew from one seed");
    flow.sender = stage_.me();
    flow_ = &flow;
  }
  void not_grown(const Flow& flow, ErrorCode code) {
    ++stage_.counts.failed;
    stage_.host.note("cannot send stream %: %", {flow.number, static_cast<std::uint64_t>(code)});
    switch (code) {
      case ErrorCode::timed_out:
        return;
      case ErrorCode::seed_used:
        return stage_.demand(flow.tries > 1 || flow.quit, "a seed is used that nobody used");
      case ErrorCode::seed_stale:
      case ErrorCode::seed_forged:
        return stage_.demand(flow.replaced || flow.quit || flow.sender != 0 || flow.end.has_value(),
                             "a good seed is taken for a stale one", code);
      case ErrorCode::peer_refused:
        return stage_.demand(flow.denied || flow.replaced || flow.quit || stage_.may_have_gone(flow.receiver),
                             "a sender was refused by nobody");
      case ErrorCode::peer_died:
        return stage_.demand(flow.quit || stage_.may_have_gone(flow.receiver), "nobody has died");
      default:
        stage_.demand(false, "a stream cannot be opened", code);
    }
  }
  // What is sent next, which may come before the call returns.
  std::vector<std::byte> next(std::size_t bytes) {
    Flow& flow = *flow_;
    ++stage_.counts.operations;
    if (flow.bytes) {
      flow.may = flow.sure + bytes;
      return bytes_content(flow, flow.sure, bytes);
    }
    flow.lengths.push_back(static_cast<std::uint32_t>(bytes));
    return record_content(flow, flow.may++);
  }
  // False: no more can be sent now.
  bool sent(Status status) {
    Flow& flow = *flow_;
    if (status == Status::ok) {
      flow.sure = flow.may;
      return true;
    }
    if (status == Status::timed_out || status == Status::too_long) {
      flow.may = flow.sure;
      if (!flow.bytes) flow.lengths.pop_back();
    } else {
      ended(status);
    }
    return false;
  }
  std::chrono::nanoseconds patience() {
    return stage_.chance().one_in(2) ? std::chrono::nanoseconds{0} : stage_.a_while();
  }
  void send(std::uint64_t count) {
    sim::Generator& chance = stage_.chance();
    for (; count != 0; --count) {
      const std::uint64_t dice = chance.below(100);
      const std::uint64_t bytes = dice < 70   ? chance.below(200)
                                  : dice < 97 ? chance.below(4096)
                                              : chance.below(80'000);
      const std::vector<std::byte> data = next(bytes);
      if (!sent(sender_->send(data, patience()))) return;
    }
  }
  // It would wait for ever: another thread ends that.
  void write() {
    sim::Generator& chance = stage_.chance();
    const std::vector<std::byte> data = next(chance.below(chance.one_in(3) ? 100'000 : 3000));
    bool over = false;
    Status status;
    {
      const auto beside = stage_.host.start([&, nanoseconds = chance.below(400'000)] {
        stage_.host.pause(nanoseconds);
        if (!over) manager_.cancel();
      });
      status = sender_->write(data);
      over = true;
    }
    // Some of it may have been sent.
    if (status != Status::cancelled) {
      sent(status);
    } else {
      go();
    }
  }
  void send_pieces() {
    for (std::uint64_t count = stage_.chance().between(1, kStretches); count != 0 && sender_; --count)
      send_piece();
    if (sender_ && stage_.chance().one_in(3)) flush();
  }
  void send_piece() {
    take_back(std::chrono::nanoseconds{0});
    if (!sender_ || area_gone_) return;
    const auto free = std::ranges::find_if(stretches_, [](const Stretch& each) { return !each.doing; });
    if (free == std::end(stretches_)) return;
    if (!area_) area_.emplace(manager_.interface(), kStretches * kStretch);
    if (!std::exchange(bound_, true))
      stage_.demand(sender_->bind(kTag, *area_) == Status::ok, "an area cannot be bound");
    sim::Generator& chance = stage_.chance();
    // From 4096 bytes on it may be copied straight from there.
    const std::size_t length = chance.one_in(4) ? chance.below(4096) : chance.between(4096, kStretch);
    const std::vector<std::byte> data = next(length);
    const std::size_t offset = static_cast<std::size_t>(free - stretches_) * kStretch;
    std::ranges::copy(data, area_->bytes(offset, length).begin());
    free->doing.emplace(stage_, OperationKind::stream_piece, flow_->receiver);
    const Status status = sender_->send(Piece{kTag, offset, length}, free->handle, patience());
    if (status != Status::ok) free->doing.reset();
    sent(status);
  }
  bool lent() const {
    return std::ranges::any_of(stretches_, [](const Stretch& each) { return each.doing.has_value(); });
  }
  void is_free(Stretch& stretch) {
    const std::size_t offset = static_cast<std::size_t>(&stretch - stretches_) * kStretch;
    std::ranges::fill(area_->bytes(offset, kStretch), std::byte{0xEE});
    stretch.doing.reset();
  }
  void all_is_free() {
    for (Stretch& each : stretches_) {
      if (each.doing) is_free(each);
    }
  }
  void take_back(std::chrono::nanoseconds timeout) {
    for (Stretch& each : stretches_) {
      if (!each.doing) continue;
      const Status status = sender_->wait(each.handle, timeout);
      if (status == Status::ok) {
        is_free(each);
      } else if (status != Status::timed_out) {
        return ended(status);
      }
    }
  }
  // Too early for what was not copied yet.
  void drop_area() {
    take_back(std::chrono::nanoseconds{0});
    if (!sender_ || !area_) return;
    if (lent()) {
      stage_.host.note("drops the area of stream %", {flow_->number});
      flow_->area_gone = flow_->given_up = true;
    }
    forget_area();
  }
  void forget_area() {
    for (Stretch& each : stretches_) each.doing.reset();
    area_.reset();
    area_gone_ = true;
  }
  void flush() {
    const Status status = sender_->flush(stage_.a_while());
    if (status == Status::ok) {
      flow_->flushed = flow_->sure;
      all_is_free();
      if (stage_.chance().one_in(6)) go();  // what was flushed arrives all the same
    } else if (status != Status::timed_out) {
      ended(status);
    }
  }
  // Whether that is over, one way or another.
  bool close(std::uint64_t nanoseconds) {
    flow_->closing = true;
    const Doing doing(stage_, OperationKind::stream_closing, flow_->receiver);
    const Status status = sender_->close(std::chrono::nanoseconds{nanoseconds});
    stage_.host.note("closes stream %: %", {flow_->number, static_cast<std::uint64_t>(status)});
    if (status == Status::timed_out) return closing_ = true, false;
    if (status == Status::ok) {
      flow_->closed = true;
      all_is_free();
      go();
    } else {
      ended(status);
    }
    return true;
  }
  void ended(Status how) {
    Flow& flow = *flow_;
    ++stage_.counts.failed;
    stage_.host.note("is told the end of its stream %: %", {flow.number, static_cast<std::uint64_t>(how)});
    switch (how) {
      case Status::closed:
        stage_.demand(flow.quit || flow.closing, "a receiver has closed that has not");
        break;
      case Status::link_ended:
        stage_.demand(stage_.may_have_gone(flow.receiver), "a link ended for nothing");
        break;
      case Status::abandoned:
      case Status::refused:
        stage_.demand(flow.quit || flow.area_gone || stage_.may_have_gone(flow.receiver),
                      "a stream ended for nothing", how);
        break;
      default:
        stage_.demand(how == Status::cancelled && !stage_.alive(), "a stream ended as it cannot", how);
    }
    go();
  }
  void go() {
    if (!sender_) return;
    if (!flow_->closed) flow_->given_up = true;
    sender_.reset();
    // Nobody will say when the rest is free.
    if (lent()) forget_area();
    bound_ = area_gone_ = false;
    counted_.reset();
    doing_.reset();
    closing_ = false;
  }

  Streams& book_;
  Stage& stage_;
  Manager& manager_;
  std::optional<SendBufferArea> area_;
  Stretch stretches_[kStretches];
  bool bound_ = false, area_gone_ = false;  // as far as this sender goes
  std::unique_ptr<StreamSender> sender_;
  std::optional<Sends> counted_;
  std::optional<Doing> doing_;
  Flow* flow_ = nullptr;
  bool closing_ = false;
};

class StreamPart final : public Part {
 public:
  StreamPart(Streams& book, Manager& manager)
      : stage_(book.stage),
        receiving_{{book, manager}, {book, manager}},
        sending_{{book, manager}, {book, manager}} {}
  void act() override {
    sim::Generator& chance = stage_.chance();
    if (chance.one_in(2)) {
      receiving_[chance.below(2)].act();
    } else {
      sending_[chance.below(2)].act();
    }
  }
  bool stop_sending() override {
    bool more = false;
    for (Sending& each : sending_) more |= each.finish();
    return more;
  }
  bool take_all() override {
    bool more = false;
    for (Receiving& each : receiving_) more |= each.take_all();
    return more;
  }

 private:
  Stage& stage_;
  Receiving receiving_[2];
  Sending sending_[2];
};

std::unique_ptr<Part> Streams::come(Manager& manager) { return std::make_unique<StreamPart>(*this, manager); }

void Streams::check() {
  for (const Flow& flow : flows) {
    const bool lived = stage.host.inhabitant(flow.receiver).alive;
    if (flow.sender == 0 || !lived || flow.quit || flow.replaced) continue;
    stage.host.demand(flow.end.has_value(), "the receiver of a stream was never told of its end");
    if (flow.closed) stage.host.demand(whole(flow), "a stream was closed, and not all has come");
  }
}

}  // namespace

std::unique_ptr<Book> make_streams(Stage& stage) { return std::make_unique<Streams>(stage); }

}  // namespace hamlyn::simulation
