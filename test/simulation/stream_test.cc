// Streams on the simulated fabric: random programs of a sender and a receiver, over links that reorder and
// delay and at last may be cut, with sides that close, stop or go at any moment. What is received is what was
// sent, in order and whole, up to an end that both are told of.
#include <gtest/gtest.h>

#include <list>
#include <optional>

#include "fabric/sim/sim_net.h"
#include "protocols/stream_sink.h"
#include "protocols/stream_source.h"
#include "test/simulation/stream_node.h"

namespace hamlyn::test {
namespace {

using protocols::StreamRecord;

constexpr int kSteps = 600;
constexpr int kPatience = 20000;

sim::Weather weather_of(sim::Generator& chance) {
  sim::Weather weather;
  weather.most_delay = chance.between(1, 200);
  weather.mtu = 64 * chance.between(1, 64);
  weather.window = chance.between(2, 40);
  weather.reply_window = chance.between(1, 12);
  return weather;
}

// What a run does wrong on purpose.
enum class Fault { none, cut, sender_goes, receiver_goes, receiver_stops };

class Program {
 public:
  explicit Program(std::uint64_t seed)
      : chance_(seed),
        fault_(static_cast<Fault>(seed % 5)),
        net_(chance_.next(), weather_of(chance_)),
        limits_{64 * chance_.between(1, 64), 64 * chance_.between(64, 512),
                std::uint32_t{4} << chance_.below(4)} {
    receiver_.emplace(*this);
    Ticket seed_ticket;
    EXPECT_EQ(receiver_->sink.offer(seed_ticket), Status::ok);
    sender_.emplace(*this, seed_ticket);
    sender_->port.bind(area_number_);
  }

  void go() {
    for (int i = 0; i < kSteps && !testing::Test::HasFailure(); ++i) {
      step();
      if (i == fault_at_) strike();
    }
    for (int quiet = 0, turns = 0; quiet < 5 && !testing::Test::HasFailure(); ++turns) {
      ASSERT_LT(turns, kPatience) << "it never comes to rest";
      quiet = rest_step() ? 0 : quiet + 1;
    }
    check_end();
  }
  std::uint64_t received() const { return received_; }
  std::uint64_t longest_ring() const { return longest_ring_; }
  bool shown() const { return shown_; }

 private:
  struct Sending {
    Sending(Program& run, const Ticket& door)
        : port(
              run.here_, [&](const Notification& n) { source.arrived(n); }, run.chance_.between(2, 8)),
          source(port, door, 2048) {}
    SimPort port;
    protocols::StreamSource<SimPort> source;
  };
  struct Receiving {
    explicit Receiving(Program& run)
        : port(
              run.there_, [&](const Notification& n) { sink.arrived(n, [](std::uint64_t) { return true; }); },
              2),
          sink(port, run.limits_) {}
    SimPort port;
    protocols::StreamSink<SimPort> sink;
  };

  // --- links

  bool keep_links() {
    bool moved = false;
    const bool wanted = !here_.party.wanted.empty() || !there_.party.wanted.empty();
    here_.party.wanted.clear();
    there_.party.wanted.clear();
    for (StreamNode* node : {&here_, &there_}) {
      if (node->link != nullptr && node->link->cut() && (resting_ || chance_.one_in(3))) {
        node->end_link();
        moved = true;
      }
    }
    if (wanted && here_.link == nullptr && there_.link == nullptr) {
      if (was_cut_) {  // the node grants no other
        here_.party.core.refuse_link(2, {LinkReason::not_permitted, false});
        there_.party.core.refuse_link(1, {LinkReason::not_permitted, false});
        return moved;
      }
      std::tie(here_.link, there_.link) = net_.join(1, 2);
      here_.party.core.add_link(*here_.link);
      there_.party.core.add_link(*there_.link);
      return true;
    }
    if (here_.link != nullptr && there_.link != nullptr && here_.link->areas_wanted != 0 &&
        here_.link->areas_shown == 0) {
      const interface::SendArea& area = here_.party.core.area(area_number_);
      there_.link->shown = std::make_unique<interface::ShownAreas>();
      (*there_.link->shown)[area_number_] = {area.data, area.size, area.generation};
      here_.link->set_areas_shown(here_.link->areas_wanted);
      shown_ = true;
    }
    return moved;
  }

  // --- the programs

  bool post() {
    if (!sender_) return false;
    auto& source = sender_->source;
    if (next_.empty() && !posted_all_) {
      const std::uint64_t dice = chance_.below(100);
      const std::uint64_t bytes = dice < 60   ? chance_.below(200)
                                  : dice < 90 ? chance_.below(limits_.most / 4)
                                              : chance_.below(limits_.most + 1);
      next_ = simulation::pattern(bytes + 1, 7 * posted_.size() + 1);
      next_.resize(bytes);
      has_next_ = true;
    }
    if (!has_next_) return false;
    std::vector<std::byte>& record = posted_.emplace_back(std::move(next_));
    SendHandle handle;
    const bool lent = record.size() > 2048 && record.size() <= area_.size() - area_used_;
    Status status;
    if (lent) {
      std::ranges::copy(record, area_.begin() + static_cast<std::ptrdiff_t>(area_used_));
      status = source.post(Piece{0, area_used_, record.size()}, &handle);
    } else {
      status = source.post(record, &handle);
    }
    const bool taken = status == Status::ok || status == Status::pending;
    if (lent && taken) area_used_ += record.size();
    has_next_ = false;
    if (taken) return true;
    next_ = std::move(record);
    has_next_ = protocols::for_now(status);
    posted_.pop_back();
    if (!has_next_) {
      next_.clear();
      posted_all_ = true;
      ended(status);
    }
    return false;
  }
  void ended(Status status) {
    EXPECT_TRUE(status == Status::closed || fault_ != Fault::none) << name(status);
    EXPECT_NE(status, Status::broken);
  }

  bool receive() {
    if (!receiver_) return false;
    StreamRecord record;
    longest_ring_ = std::max(longest_ring_, receiver_->sink.ring_bytes());
    if (!receiver_->sink.next(record)) return false;
    EXPECT_EQ(record.number, ++received_);
    if (received_ > posted_.size()) {
      ADD_FAILURE() << "a record came that nobody sent";
      return false;
    }
    const auto& wanted = *std::next(posted_.begin(), static_cast<std::ptrdiff_t>(received_ - 1));
    EXPECT_TRUE(simulation::same(record.bytes, wanted)) << "record " << received_;
    held_.push_back({record, &wanted});
    return true;
  }
  bool release() {
    if (!receiver_ || held_.empty()) return false;
    const std::size_t count = resting_ ? held_.size() : chance_.between(1, held_.size());
    // What was not released has not changed.
    for (const auto& [record, wanted] : held_) EXPECT_TRUE(simulation::same(record.bytes, *wanted));
    EXPECT_EQ(receiver_->sink.release(held_[count - 1].first.number), Status::ok);
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count));
    return true;
  }
  bool give(StreamNode& node) {
    const bool given = node.give();
    if (sender_) sender_->source.settle();
    if (receiver_) receiver_->sink.settle();
    return given;
  }

  void step() {
    const std::uint64_t dice = chance_.below(100);
    if (dice < 30) {
      post();
    } else if (dice < 34) {
      if (sender_) static_cast<void>(sender_->source.flush());
    } else if (dice < 50) {
      here_.party.core.run();
      give(here_);
    } else if (dice < 66) {
      there_.party.core.run();
      give(there_);
    } else if (dice < 78) {
      receive();
    } else if (dice < 84) {
      release();
    } else if (dice < 94) {
      net_.pass(chance_.between(1, 200));
    } else {
      keep_links();
    }
  }

  void strike() {
    switch (fault_) {
      case Fault::none:
        return;
      case Fault::cut:
        was_cut_ = true;
        if (here_.link != nullptr && there_.link != nullptr) net_.cut(*here_.link);
        return;
      case Fault::sender_goes:
        if (sender_->source.farewell(farewell_, farewell_word_)) bids_ = &here_;
        sender_.reset();
        return;
      case Fault::receiver_goes:
        held_.clear();
        if (receiver_->sink.farewell(farewell_, farewell_word_)) bids_ = &there_;
        receiver_.reset();
        return;
      case Fault::receiver_stops:
        held_.clear();
        receiver_->sink.stop();
        stopped_ = true;
    }
  }

  bool rest_step() {
    resting_ = true;
    if (!has_next_) posted_all_ = true;
    bool moved = net_.step();
    net_.settle();
    net_.pass(1000);
    moved |= keep_links();
    moved |= here_.party.core.run();
    moved |= there_.party.core.run();
    while (give(here_)) moved = true;
    while (give(there_)) moved = true;
    if (bids_ != nullptr) {
      const Status status = farewell_terminus(*bids_).send_fast(farewell_, {}, farewell_word_, 0);
      if (!protocols::for_now(status)) bids_ = nullptr;
      moved |= bids_ == nullptr;
    }
    while (receive()) moved = true;
    moved |= release();
    moved |= post();
    if (sender_ && posted_all_) {
      const Status before = closed_;
      closed_ = sender_->source.close();
      moved |= closed_ != before;
    }
    return moved;
  }
  interface::Terminus& farewell_terminus(StreamNode& node) {
    if (!farewell_terminus_) farewell_terminus_.emplace(node.party.core, 1);
    return *farewell_terminus_;
  }

  void check_end() {
    if (testing::Test::HasFailure()) return;
    const bool cut = was_cut_ && fault_ == Fault::cut;
    if (fault_ == Fault::none) {
      EXPECT_EQ(closed_, Status::ok) << name(closed_);
      EXPECT_EQ(receiver_->sink.end(), Status::closed);
      EXPECT_EQ(received_, posted_.size()) << "not all has come";
      EXPECT_EQ(here_.party.refused_in_all() + there_.party.refused_in_all(), 0u);
    } else if (cut) {
      EXPECT_TRUE(closed_ == Status::link_ended || closed_ == Status::refused) << name(closed_);
      // The link may have been cut before the stream was open.
      const Status end = receiver_->sink.end();
      EXPECT_TRUE(end == Status::link_ended || !receiver_->sink.open()) << name(end);
    } else if (fault_ == Fault::sender_goes) {
      const Status end = receiver_->sink.end();
      EXPECT_TRUE(end == Status::abandoned || end == Status::ok) << name(end);
    } else if (fault_ == Fault::receiver_goes) {
      EXPECT_TRUE(closed_ == Status::closed || closed_ == Status::abandoned || closed_ == Status::refused)
          << name(closed_);
    } else {
      EXPECT_TRUE(closed_ == Status::closed || closed_ == Status::refused) << name(closed_);
      EXPECT_TRUE(receiver_->sink.over());
      if (closed_ == Status::closed) {
        EXPECT_EQ(here_.party.refused_in_all() + there_.party.refused_in_all(), 0u);
      }
    }
    EXPECT_LE(longest_ring_, limits_.most);
    held_.clear();
    sender_.reset();
    receiver_.reset();
    here_.end_link();
    there_.end_link();
    EXPECT_EQ(here_.party.counters().slots, 0u);
    EXPECT_EQ(there_.party.counters().slots, 0u);
    EXPECT_EQ(there_.queue->reserved(), 0u);
  }

  sim::Generator chance_;
  const Fault fault_;
  const int fault_at_ = static_cast<int>(chance_.below(kSteps));
  sim::SimNet net_;
  const protocols::StreamLimits limits_;
  StreamNode here_{1}, there_{2};
  std::vector<std::byte> area_ = std::vector<std::byte>(std::size_t{256} << 10);
  std::size_t area_used_ = 0;  // each byte once
  const std::uint32_t area_number_ = here_.party.core.add_area(area_.data(), area_.size());
  std::optional<interface::Terminus> farewell_terminus_;
  std::optional<Sending> sender_;
  std::optional<Receiving> receiver_;
  std::list<std::vector<std::byte>> posted_;  // they stay, for those that are pending
  std::vector<std::byte> next_;
  bool has_next_ = false;
  bool posted_all_ = false;
  bool resting_ = false;
  bool was_cut_ = false;
  bool stopped_ = false;
  bool shown_ = false;
  StreamNode* bids_ = nullptr;
  Ticket farewell_;
  std::uint64_t farewell_word_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t longest_ring_ = 0;
  std::vector<std::pair<StreamRecord, const std::vector<std::byte>*>> held_;
  Status closed_ = Status::pending;
};

// Each record is sent, received and released before the next. When all is free the sender begins anew at the
// start of the ring; that it leaves out the rest each time must not look as if so much had been released.
TEST(StreamReleases, are_told_of_together_also_to_one_who_sends_one_by_one) {
  constexpr std::uint32_t kParcels = 64, kRecords = 256;
  sim::SimNet net(1, {});
  StreamNode here{1}, there{2};
  std::tie(here.link, there.link) = net.join(1, 2);
  here.party.core.add_link(*here.link);
  there.party.core.add_link(*there.link);
  SimPort sends(
      here, [](const Notification&) {}, 4),
      receives(
          there, [](const Notification&) {}, 4);
  protocols::StreamSink<SimPort> sink(receives, {4096, 4096, kParcels});
  Ticket door;
  ASSERT_EQ(sink.offer(door), Status::ok);
  protocols::StreamSource<SimPort> source(sends, door, 2048);
  int told = 0;
  const auto settle = [&] {
    for (int turn = 0; turn < 8; ++turn) {
      net.step(), net.settle(), net.pass(1000);
      here.party.core.run(), there.party.core.run();
      while (const auto next = simulation::take(there.party, there.queue))
        sink.arrived(*next, [](std::uint64_t) { return true; });
      while (const auto next = simulation::take(here.party, here.queue)) {
        told += protocols::message_of(next->word).what == protocols::StreamWord::released;
        source.arrived(*next);
      }
      sink.settle();
    }
  };
  for (int turn = 0; turn < 100 && source.open() != Status::ok; ++turn) settle();
  for (std::uint32_t i = 1; i <= kRecords; ++i) {
    SendHandle handle;
    ASSERT_EQ(source.post(simulation::pattern(64, i), &handle), Status::ok);
    for (int turn = 0; turn < 100 && protocols::for_now(source.flush()); ++turn) settle();
    settle();
    StreamRecord record;
    ASSERT_TRUE(sink.next(record));
    EXPECT_TRUE(simulation::same(record.bytes, simulation::pattern(64, i)));
    ASSERT_EQ(sink.release(i), Status::ok);
    settle();
  }
  EXPECT_EQ(told, kRecords / (kParcels / 4));
  here.end_link();
  there.end_link();
}

// What a receiver that closes has to say finds no room, and meanwhile the sender's own end comes.
TEST(StreamEnds, are_not_over_before_the_sender_has_heard_that_the_receiver_has_closed) {
  struct Mute : SimPort {
    using SimPort::SimPort;
    Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                     std::uint64_t offset) noexcept {
      return mute ? Status::queue_full : SimPort::send_fast(ticket, data, word, offset);
    }
    bool mute = false;
  };
  sim::SimNet net(1, {});
  StreamNode here{1}, there{2};
  std::tie(here.link, there.link) = net.join(1, 2);
  here.party.core.add_link(*here.link);
  there.party.core.add_link(*there.link);
  SimPort sends(
      here, [](const Notification&) {}, 4);
  Mute receives(
      there, [](const Notification&) {}, 4);
  {
    protocols::StreamSink<Mute> sink(receives, {4096, 4096, 64});
    Ticket door;
    ASSERT_EQ(sink.offer(door), Status::ok);
    protocols::StreamSource<SimPort> source(sends, door, 2048);
    const auto settle = [&] {
      for (int turn = 0; turn < 8; ++turn) {
        net.step(), net.settle(), net.pass(1000);
        here.party.core.run(), there.party.core.run();
        while (const auto next = simulation::take(there.party, there.queue))
          sink.arrived(*next, [](std::uint64_t) { return true; });
        while (const auto next = simulation::take(here.party, here.queue)) source.arrived(*next);
        sink.settle();
      }
    };
    for (int turn = 0; turn < 100 && source.open() != Status::ok; ++turn) settle();
    receives.mute = true;
    sink.stop();
    for (int turn = 0; turn < 100 && protocols::for_now(source.close()); ++turn) settle();
    ASSERT_EQ(source.close(), Status::pending);
    settle();
    EXPECT_FALSE(sink.over());
    EXPECT_EQ(sink.end(), Status::ok);
    EXPECT_EQ(sink.offer(door), Status::invalid) << "nobody would tell the sender any more";
    Ticket to;
    std::uint64_t word = 0;
    EXPECT_TRUE(sink.farewell(to, word));
    EXPECT_EQ(protocols::message_of(word).what, protocols::StreamWord::stop);
    EXPECT_EQ(source.end(), Status::ok);
    receives.mute = false;
    settle();
    EXPECT_TRUE(sink.over());
    EXPECT_EQ(sink.end(), Status::closed);
    EXPECT_EQ(source.end(), Status::closed);
  }
  here.end_link();
  there.end_link();
}

// Its sender has said where the stream ends, and goes with the area that a record before that was to be
// copied out of.
TEST(StreamEnds, are_told_to_a_receiver_who_closes_though_a_record_never_comes) {
  sim::SimNet net(1, {});
  StreamNode here{1}, there{2};
  std::tie(here.link, there.link) = net.join(1, 2);
  here.party.core.add_link(*here.link);
  there.party.core.add_link(*there.link);
  std::vector<std::byte> area(65536);
  const std::uint32_t number = here.party.core.add_area(area.data(), area.size());
  SimPort receives(
      there, [](const Notification&) {}, 4);
  std::optional<SimPort> sends;
  sends.emplace(
      here, [](const Notification&) {}, 4);
  sends->bind(number);
  protocols::StreamSink<SimPort> sink(receives, {65536, 65536, 64});
  Ticket door;
  ASSERT_EQ(sink.offer(door), Status::ok);
  std::optional<protocols::StreamSource<SimPort>> source;
  source.emplace(*sends, door, 2048);
  // `takes`: the receiver's interface runs.
  const auto settle = [&](bool takes) {
    for (int turn = 0; turn < 8; ++turn) {
      net.step(), net.settle(), net.pass(1000);
      here.party.core.run();
      if (takes) there.party.core.run();
      while (const auto next = simulation::take(there.party, there.queue))
        sink.arrived(*next, [](std::uint64_t) { return true; });
      while (const auto next = simulation::take(here.party, here.queue))
        if (source) source->arrived(*next);
      sink.settle();
    }
  };
  for (int turn = 0; turn < 100 && source->open() != Status::ok; ++turn) settle(true);
  const interface::SendArea& shown = here.party.core.area(number);
  there.link->shown = std::make_unique<interface::ShownAreas>();
  (*there.link->shown)[number] = {shown.data, shown.size, shown.generation};
  here.link->set_areas_shown(std::uint64_t{1} << number);
  SendHandle piece;
  ASSERT_EQ(source->post(simulation::pattern(64, 1), &piece), Status::ok);
  for (int turn = 0; turn < 100 && protocols::for_now(source->flush()); ++turn) settle(true);
  settle(true);
  sink.stop();
  ASSERT_EQ(source->post(Piece{.tag = 0, .offset = 0, .length = 20000}, &piece), Status::pending);
  for (int turn = 0; turn < 100 && source->end() == Status::ok; ++turn) settle(false);
  ASSERT_EQ(source->end(), Status::closed);
  ASSERT_TRUE(source->settle());
  ASSERT_EQ(sends->status(piece), Status::pending);
  Ticket to;
  std::uint64_t word = 0;
  ASSERT_TRUE(source->farewell(to, word));
  EXPECT_EQ(protocols::message_of(word).what, protocols::StreamWord::abandoned);
  source.reset();
  sends.reset();
  here.party.core.drop_area(number);
  interface::Terminus farewells(here.party.core, 4);
  for (int turn = 0; turn < 100 && farewells.send_fast(to, {}, word, 0) != Status::ok; ++turn) settle(true);
  for (int turn = 0; turn < 100 && !sink.over(); ++turn) settle(true);
  EXPECT_TRUE(sink.over());
  here.end_link();
  there.end_link();
}

// While the sender does not look, its receiver agrees, their link ends, and another one is made.
TEST(StreamEnds, are_told_to_a_sender_who_finds_the_answer_and_another_link) {
  sim::SimNet net(1, {});
  StreamNode here{1}, there{2};
  const auto join = [&] {
    std::tie(here.link, there.link) = net.join(1, 2);
    here.party.core.add_link(*here.link);
    there.party.core.add_link(*there.link);
  };
  join();
  SimPort sends(
      here, [](const Notification&) {}, 4),
      receives(
          there, [](const Notification&) {}, 4);
  protocols::StreamSink<SimPort> sink(receives, {4096, 4096, 64});
  Ticket door;
  ASSERT_EQ(sink.offer(door), Status::ok);
  protocols::StreamSource<SimPort> source(sends, door, 2048);
  ASSERT_EQ(source.open(), Status::connecting);
  for (int turn = 0; turn < 8; ++turn) {
    net.step(), net.settle(), net.pass(1000);
    here.party.core.run(), there.party.core.run();
    while (const auto next = simulation::take(there.party, there.queue))
      sink.arrived(*next, [](std::uint64_t) { return true; });
    sink.settle();
  }
  here.end_link();
  there.end_link();
  while (const auto next = simulation::take(there.party, there.queue))
    sink.arrived(*next, [](std::uint64_t) { return true; });
  ASSERT_EQ(sink.end(), Status::link_ended);
  join();
  while (const auto next = simulation::take(here.party, here.queue)) source.arrived(*next);
  EXPECT_EQ(source.end(), Status::link_ended);
  here.end_link();
  there.end_link();
}

// The sender goes on before it looks at what has come, and the node makes no other link.
TEST(StreamEnds, are_those_of_the_link_though_the_next_link_is_refused) {
  sim::SimNet net(1, {});
  StreamNode here{1}, there{2};
  std::tie(here.link, there.link) = net.join(1, 2);
  here.party.core.add_link(*here.link);
  there.party.core.add_link(*there.link);
  SimPort sends(
      here, [](const Notification&) {}, 4),
      receives(
          there, [](const Notification&) {}, 4);
  protocols::StreamSink<SimPort> sink(receives, {4096, 4096, 64});
  Ticket door;
  ASSERT_EQ(sink.offer(door), Status::ok);
  protocols::StreamSource<SimPort> source(sends, door, 2048);
  SendHandle handle;
  const auto send = [&] {
    const Status taken = source.post(simulation::pattern(8, 1), &handle);
    return taken == Status::ok ? source.flush() : taken;
  };
  for (int turn = 0; turn < 100 && send() != Status::ok; ++turn) {
    net.step(), net.settle(), net.pass(1000);
    here.party.core.run(), there.party.core.run();
    while (const auto next = simulation::take(there.party, there.queue))
      sink.arrived(*next, [](std::uint64_t) { return true; });
    while (const auto next = simulation::take(here.party, here.queue)) source.arrived(*next);
    sink.settle();
  }
  ASSERT_FALSE(source.staged());
  here.end_link();
  there.end_link();
  ASSERT_EQ(send(), Status::connecting);
  here.party.core.refuse_link(2, {LinkReason::quota, false});
  EXPECT_EQ(send(), Status::link_ended);
}

TEST(StreamPrograms, keep_every_promise_whatever_goes_wrong) {
  constexpr std::uint64_t kSeeds = 800;
  std::uint64_t received = 0, rings = 0, areas = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program run(seed);
    run.go();
    received += run.received();
    rings += run.longest_ring() > 64 * 64;
    areas += run.shown();
    if (HasFailure()) return;
  }
  EXPECT_GT(received, 8 * kSeeds);
  EXPECT_GT(rings, kSeeds / 10) << "rings grow";
  EXPECT_GT(areas, kSeeds / 10) << "areas are shown";
}

}  // namespace
}  // namespace hamlyn::test
