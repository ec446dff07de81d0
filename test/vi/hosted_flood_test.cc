// A process that sends a VI messages without descriptors, as many as it can, by the wire alone: it connects
// as it should, and then asks no VI of its own.
#include "hamlyn/core/terminus.h"
#include "library/engine.h"
#include "test/vi/hosted_end.h"
#include "vi/machine.h"
#include "vi/names.h"
#include "vi/port.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kFlood = 3000;    // messages
constexpr std::uint32_t kRounds = 40;     // to and fro between honest sides, meanwhile
constexpr std::uint64_t kMostStand = 32;  // notifications that ever stand unread at the flooded NIC

vi::Address flooded_address() { return vi::Address::of(0, bytes_of("flooded")); }

struct Flood {
  bool begun = false, over = false;
  std::uint64_t sent = 0;    // all of which has come
  std::uint32_t rounds = 0;  // of the honest
  int lost = 0, empty = 0;   // what the flooded NIC's error handler has heard
  vi::State state = vi::State::idle;
  std::uint64_t no_descriptor = 0, other = 0, most_standing = 0;  // counts at the flooded NIC
};

std::uint64_t refused(Interface& interface, Refusal cause) {
  return interface.engine().counters().refused[static_cast<std::size_t>(cause)];
}
std::uint64_t all_refused(Interface& interface) {
  std::uint64_t out = 0;
  for (const std::uint64_t each : interface.engine().counters().refused) out += each;
  return out;
}

// Two VIs of one NIC: one that is flooded and has no receive, and one that answers an honest side.
void be_flooded(Hosted& all, Flood& flood, vi::Reliability level) {
  HostedEnd end(all, vi::Reliability::reception);
  vi::Nic& nic = end.nic();
  end.good(nic.on_error([&](const vi::ErrorEvent& event) {
    if (flood.over) return;  // the other sides leave
    flood.lost += event.fault == vi::Fault::connection_lost;
    flood.empty += event.fault == vi::Fault::no_descriptor;
  }),
           "a handler");
  std::uint32_t vi = 0;
  end.good(nic.create_vi({.reliability = level, .tag = end.tag()}, 0, 0, vi), "a VI");
  vi::Incoming asks;
  end.good(nic.connect_wait(flooded_address(), 5s, asks), "it asks");
  end.good(nic.accept(asks.number, vi), "it is accepted");
  for (std::size_t i = 0; i != kWindow; ++i) end.post_receive(i);
  all.expect(end.accept(5s), "the honest side asks");
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const vi::Completed done = end.received(5s);
    all.expect(done.result == Result::success && end.number(*done.descriptor) == round, "each comes");
    end.post_receive(done.descriptor->next);
    end.good(end.post_send(round), "the answer");
    end.good(end.sent(5s).result, "it has come");
  }
  while (!flood.over) all.host.pause(kMillisecond);
  vi::Nic::ViStatus status;
  end.good(nic.query_vi(vi, status), "it is there");
  flood.state = status.state;
  flood.no_descriptor = refused(end.interface(), Refusal::no_buffer);
  flood.other = all_refused(end.interface()) - flood.no_descriptor;
  for (const auto& row : end.interface().engine().counters().queue)
    flood.most_standing = std::max(flood.most_standing, row.most_standing);
  end.good(nic.disconnect(vi), "it is idle");
  end.good(nic.destroy_vi(vi), "nothing is left of it");
}

void be_honest(Hosted& all, Flood& flood) {
  HostedEnd end(all, vi::Reliability::reception);
  for (std::size_t i = 0; i != kWindow; ++i) end.post_receive(i);
  while (!flood.begun) all.host.pause(kMillisecond / 10);
  all.expect(end.connect(5s), "it is accepted while the flood comes");
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    end.good(end.post_send(round), "a send");
    end.good(end.sent(5s).result, "it has come");
    const vi::Completed done = end.received(5s);
    all.expect(done.result == Result::success && end.number(*done.descriptor) == round, "an answer");
    end.post_receive(done.descriptor->next);
    ++flood.rounds;
  }
  while (!flood.over) all.host.pause(kMillisecond);
}

// Speaks the wire by hand.
class Flooder {
 public:
  explicit Flooder(Hosted& all) : all_(all) {}

  // Where that VI receives.
  Ticket connect(vi::Reliability level) {
    vi::Tag tag = 0;
    std::uint32_t vi = 0;
    static_cast<void>(nic_.create_tag(tag));
    static_cast<void>(nic_.create_vi({.reliability = level, .tag = tag}, 0, 0, vi));
    const std::string name = internal_::vi::name_of(interface_.id() >> 48, flooded_address());
    static_cast<void>(nic_.ask_for(vi, {}, flooded_address(), interface_.lookup(name, 5s)));
    while (all_.alive() && nic_.outcome(vi) == Result::not_done) look();
    all_.expect(nic_.outcome(vi) == Result::success, "it is accepted");
    return nic_.vi(vi)->other.inbox;
  }
  // Sends until that many have left and the honest have had their rounds, and waits until all was taken.
  void flood(const Ticket& inbox, Flood& flood) {
    const std::array<std::byte, 16> data{};
    while (all_.alive() && (flood.sent < kFlood || flood.rounds != kRounds)) {
      const Status status = terminus_.send_posted(inbox, data, 0);
      flood.sent += status == Status::ok || status == Status::pending;
      flood.begun |= flood.sent > 100;
      if (status != Status::ok) look();
    }
    while (all_.alive() && terminus_.sequence() != flood.sent) look();
    all_.host.pause(10 * kMillisecond);
    flood.over = true;
    all_.host.pause(10 * kMillisecond);
  }

 private:
  void look() {
    while (const auto next = queue_.poll()) nic_.hear(*next);
    nic_.step();
    all_.host.pause(1000);
  }

  Hosted& all_;
  Interface interface_;
  NotificationQueue queue_{interface_, 1 << 12};
  internal_::vi::Port port_{interface_, queue_};
  internal_::vi::Machine<internal_::vi::Port> nic_{port_};
  Terminus terminus_{interface_};
};

class HostedFloods : public testing::TestWithParam<vi::Reliability> {};

TEST_P(HostedFloods, are_counted_and_keep_no_other_side_of_the_nic_waiting) {
  const bool reliable = GetParam() != vi::Reliability::unreliable;
  for (const std::uint64_t most_delay : {1000u, 20'000u}) {
    SCOPED_TRACE(most_delay);
    Hosted hosted({.least_delay = 1000, .most_delay = most_delay});
    Flood flood;
    hosted.add([&](Hosted& all) { be_flooded(all, flood, GetParam()); });
    hosted.add([&](Hosted& all) {
      Flooder flooder(all);
      flooder.flood(flooder.connect(GetParam()), flood);
    });
    hosted.add([&](Hosted& all) { be_honest(all, flood); });
    hosted.run();
    EXPECT_EQ(flood.rounds, kRounds);
    EXPECT_GE(flood.sent, kFlood);
    EXPECT_EQ(flood.no_descriptor + flood.other, flood.sent) << "each is counted";
    EXPECT_LE(flood.most_standing, kMostStand) << "what tells of it is told together";
    EXPECT_GT(flood.no_descriptor, 0u);
    if (!reliable) {
      EXPECT_EQ(flood.other, 0u);
    }
    EXPECT_EQ(flood.lost, reliable ? 1 : 0) << "the connection breaks once, or not at all";
    EXPECT_EQ(flood.empty, reliable ? 1 : 0);
    EXPECT_EQ(flood.state, reliable ? vi::State::error : vi::State::connected);
  }
}

INSTANTIATE_TEST_SUITE_P(all, HostedFloods,
                         testing::Values(vi::Reliability::unreliable, vi::Reliability::delivery,
                                         vi::Reliability::reception));

// --- what an unreliable VI drops

// Messages that its terminus has had to send, and that others have refused here.
std::uint64_t sent_by(Interface& interface) {
  std::uint64_t out = 0;
  for (const auto& row : interface.engine().counters().terminus) out += row.messages;
  return out;
}

TEST(HostedVi, counts_what_is_dropped_at_both_ends) {
  Hosted hosted;
  bool ready = false, sent = false, over = false;
  std::uint64_t before = 0, after = 0, landed = 0, no_descriptor = 0, too_long = 0;
  hosted.add([&](Hosted& all) {
    HostedEnd end(all, vi::Reliability::unreliable);
    for (std::size_t i = 0; i != 4; ++i) end.post_receive(i);
    end.post_receive(4, 16);  // the fifth message is too long for it, and the sixth takes it
    all.expect(end.accept(5s), "it is asked");
    ready = true;
    while (!sent) all.host.pause(kMillisecond);
    while (end.received(10ms).result == Result::success) ++landed;
    no_descriptor = refused(end.interface(), Refusal::no_buffer);
    too_long = refused(end.interface(), Refusal::too_long);
    EXPECT_EQ(all_refused(end.interface()), no_descriptor + too_long);
    over = true;
    all.host.pause(10 * kMillisecond);
  });
  hosted.add([&](Hosted& all) {
    HostedEnd end(all, vi::Reliability::unreliable);
    all.expect(end.connect(5s), "it is accepted");
    while (!ready) all.host.pause(kMillisecond);
    before = sent_by(end.interface());
    for (std::uint32_t i = 0; i != kRow; ++i) {
      end.post_in_row(i);
      end.good(end.sent(5s).result, "the sender hears nothing of it");
    }
    after = sent_by(end.interface());
    sent = true;
    while (!over) all.host.pause(kMillisecond);
  });
  hosted.run();
  EXPECT_EQ(after - before, kRow) << "the sender counts what it has sent";
  EXPECT_EQ(landed, 5u);
  EXPECT_EQ(too_long, 1u) << "the receiver counts what it has dropped, and why";
  EXPECT_EQ(no_descriptor, kRow - 6u);
}

TEST(HostedVi, counts_writes_without_a_right_at_both_ends) {
  constexpr std::uint64_t kWrites = 20;
  Hosted hosted;
  bool sent = false, over = false;
  std::uint64_t before = 0, after = 0, not_permitted = 0;
  hosted.add([&](Hosted& all) {
    HostedEnd end(all, vi::Reliability::unreliable);
    for (std::size_t i = 0; i != 4; ++i) end.post_receive(i);
    all.expect(end.accept(5s), "it is asked");
    // The right to nothing is asked for, and is refused by a call.
    while (!sent)
      all.expect(end.received(kMillisecond * 1ns).result != Result::success, "nothing is told of");
    not_permitted = refused(end.interface(), Refusal::not_permitted);
    EXPECT_EQ(all_refused(end.interface()), not_permitted);
    over = true;
    all.host.pause(10 * kMillisecond);
  });
  hosted.add([&](Hosted& all) {
    HostedEnd end(all, vi::Reliability::unreliable);
    all.expect(end.connect(5s), "it is accepted");
    before = sent_by(end.interface());
    for (std::uint64_t i = 0; i != kWrites; ++i) {
      end.good(end.write(i, {64 * i, 0x7F0000FFu, kLength}), "a write");
      end.good(end.sent(5s).result, "the writer hears nothing of it");
    }
    after = sent_by(end.interface());
    all.host.pause(10 * kMillisecond);
    sent = true;
    while (!over) all.host.pause(kMillisecond);
  });
  hosted.run();
  EXPECT_GE(after - before, kWrites) << "beside what it has asked";
  EXPECT_EQ(not_permitted, kWrites) << "the receiver counts what it has dropped, and why";
}

}  // namespace
}  // namespace hamlyn::test
