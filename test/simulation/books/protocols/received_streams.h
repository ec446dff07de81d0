#pragma once
// Receivers that offer themselves again and again, refuse some, close, or go. Some are read as bytes,
// whatever they were sent as.
#include "test/simulation/books/protocols/stream_flows.h"

namespace hamlyn::simulation {

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

class Receiving {
 public:
  Receiving(Flows& book, Manager& manager) : book_(book), stage_(book.stage), manager_(manager) {}
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

  Flows& book_;
  Stage& stage_;
  Manager& manager_;
  std::unique_ptr<Sink> sink_;
  std::deque<Held> held_;
};

}  // namespace hamlyn::simulation
