#pragma once
// Senders that close, give up, or go. Some records stand in a send buffer area, which is written over at the
// first moment at which that may be.
#include "hamlyn/core/send_buffer_area.h"
#include "test/simulation/books/protocols/stream_flows.h"

namespace hamlyn::simulation {

class Sending {
 public:
  Sending(Flows& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
  ~Sending() { go(); }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

  void act() {
    if (!sender_) return grow();
    const std::uint64_t dice = stage_.chance().below(100);
    if (closing_) {
      close(stage_.chance().below(2'000'000));
    } else if (dice < 28) {
      send_pieces();
    } else if (dice < 31) {
      take_back(stage_.a_while());
    } else if (dice < 32) {
      drop_area();
    } else if (dice < 35 && flow_->bytes) {
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
      if (stage_.chance().one_in(2)) options.linger = StreamSender::kOnlyOnFlush;
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
      case ErrorCode::quota_links:
        return stage_.demand(stage_.may_have_gone(flow.receiver), "the node has refused no link");
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
    if (lent() && stage_.chance().one_in(4)) stage_.host.pause(stage_.chance().below(2'000'000));
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
    if (!closing_doing_) closing_doing_.emplace(stage_, OperationKind::stream_closing, flow_->receiver);
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
    closing_doing_.reset();
    closing_ = false;
  }

  Flows& book_;
  Stage& stage_;
  Manager& manager_;
  std::optional<SendBufferArea> area_;
  Stretch stretches_[kStretches];
  bool bound_ = false, area_gone_ = false;  // as far as this sender goes
  std::unique_ptr<StreamSender> sender_;
  std::optional<Sends> counted_;
  std::optional<Doing> doing_;
  std::optional<Doing> closing_doing_;  // from the first try to the end
  Flow* flow_ = nullptr;
  bool closing_ = false;
};

}  // namespace hamlyn::simulation
