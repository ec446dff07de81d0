// Senders that are begun, between processes of a simulated host or of two: over seeds, with a program that
// looks late or dies at any time, and with a sender that gives up at any time.
#include <algorithm>
#include <array>
#include <optional>

#include "hamlyn/protocols/coroutine.h"
#include "hamlyn/protocols/loan.h"
#include "hamlyn/protocols/stream.h"
#include "hamlyn/protocols/tagged_write.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// Receivers that a process shows to others. Between hosts nobody maps a pool.
struct Shown {
  explicit Shown(Manager& manager, std::string_view suffix = "")
      : stream(manager, {.first = 1024, .most = 1024, .parcels = 4}),
        loan(manager, {.places = 4}),
        tagged(manager, 64, {.places = 2}) {
    manager.publish("stream" + std::string(suffix), stream.make_seed());
    manager.publish("loan" + std::string(suffix), loan.make_seed());
    manager.publish("tagged" + std::string(suffix), tagged.make_seed());
  }
  StreamReceiver stream;
  LoanReceiver loan;
  TaggedReceiver tagged;
};

bool may_still_open(Status status) { return status == Status::timed_out; }

// --- over seeds

// Looked at by turns, without ever waiting for one of them, until all are open; then all carry something.
TEST(HostedOpenings, go_on_while_their_program_does_other_work) {
  unsigned looks = 0;
  for (std::uint64_t seed = 0; seed != kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    const bool far = seed % 3 == 2;
    hosted.host.come_at(far ? 1 : 0, [&](simulation::Inhabitant&) {
      Manager manager;
      Shown shown(manager);
      hosted.host.pause((seed % 7) * kMillisecond);
      Record record;
      Borrowed borrowed;
      Tagged tagged;
      Status status = Status::timed_out;
      for (int i = 0; i != 3000 && status == Status::timed_out; ++i) {
        static_cast<void>(shown.loan.receive(borrowed, 0s));  // lets the sender in
        status = shown.stream.receive(record, 1ms);
      }
      hosted.expect(status == Status::ok && record.text() == "record", "no record");
      hosted.expect(shown.tagged.get_tag(tagged, 1s) == Status::ok && tagged.tag == 7, "no tag");
      hosted.expect(shown.stream.release(record) == Status::ok, "it cannot be released");
      if (!far && !borrowed) status = shown.loan.receive(borrowed, 1s);
      hosted.expect(far || borrowed.bytes().size() == 64, "no loan");
      hosted.expect(shown.stream.receive(record, 5s) == Status::closed, "it is not closed");
    });
    hosted.host.come_at(far ? 2 : 0, [&](simulation::Inhabitant&) {
      Manager manager;
      LoanPool pool(manager, {{64, 2}});
      StreamSender stream(manager, manager.lookup("stream", 1s), kBegin);
      LoanSender loan(pool, manager.lookup("loan", 1s), kBegin);
      TaggedSender tagged(manager, manager.lookup("tagged", 1s), kBegin);
      Loan lends;
      hosted.expect(pool.take(64, lends) == Status::ok, "no buffer");
      std::array<Status, 3> said{};
      Status early = Status::connecting, early_loan = Status::connecting;
      for (int i = 0; i != 10000; ++i) {
        const std::uint64_t before = hosted.host.time();
        said = {stream.opened(0s), tagged.opened(0s), loan.opened(0s)};
        looks += may_still_open(said[0]);
        if (may_still_open(said[0])) early = stream.send(bytes_of("record"), 0s);
        if (may_still_open(said[2])) early_loan = loan.send(lends);
        hosted.expect(early == Status::connecting || early == Status::ok, "it is not sent otherwise");
        hosted.expect(early_loan == Status::connecting || early_loan == Status::ok || far, "nor lent");
        hosted.expect(hosted.host.time() - before < kMillisecond, "a look waits");
        if (std::ranges::none_of(said, may_still_open)) break;
        hosted.host.pause(50'000);  // other work
      }
      EXPECT_EQ(said[0], Status::ok) << name(said[0]);
      EXPECT_EQ(said[1], Status::ok) << name(said[1]);
      EXPECT_EQ(said[2], far ? Status::refused : Status::ok) << name(said[2]);
      hosted.expect(early == Status::ok || stream.send(bytes_of("record"), 1s) == Status::ok, "not sent");
      hosted.expect(tagged.send(bytes_of("x"), 0, 7, 1s) == Status::ok, "it is not written");
      hosted.expect(far || early_loan == Status::ok || loan.send(lends, 64, 1s) == Status::ok, "not lent");
      hosted.expect(stream.close(5s) == Status::ok, "it is not closed");
      static_cast<void>(manager.wait(5ms));
    });
    hosted.run();
  }
  EXPECT_GT(looks, kRoughSeeds);
}

// --- a death at any time

void open_three(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Manager manager;
    Shown shown(manager);
    for (int i = 0; i != 8; ++i) {
      Borrowed borrowed;
      static_cast<void>(shown.loan.receive(borrowed, 100us));  // lets the sender in, or hears of its end
    }
    Record record;
    const Status status = shown.stream.receive(record, 2ms);
    all.expect(status != Status::timed_out || shown.stream.sender() == 0 || all.alive(2),
               "nobody tells of the death");
    all.host.pause(kMillisecond);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanPool pool(manager, {{64, 1}});
    const std::optional<Seed> seed = seed_of(manager, "stream"), lent = seed_of(manager, "loan"),
                              tag = seed_of(manager, "tagged");
    if (!seed || !lent || !tag) return all.expect(!all.alive(1), "no seed");
    StreamSender stream(manager, *seed, kBegin);
    LoanSender loan(pool, *lent, kBegin);
    TaggedSender tagged(manager, *tag, kBegin);
    const std::array said{stream.opened(1s), loan.opened(1s), tagged.opened(1s)};
    for (const Status status : said) {
      all.expect(status == Status::ok || !all.alive(1), "it does not open");
      all.expect(status == Status::ok || status == Status::link_ended, name(status));
    }
    all.expect(said[0] == Status::ok || code_of([&] { stream.open(0s); }) == ErrorCode::peer_died,
               "no error");
    all.expect(said[1] == Status::ok || code_of([&] { loan.open(0s); }) == ErrorCode::peer_died, "no error");
    all.expect(pool.free_buffers() == 1, "a buffer is lost");
  });
}
TEST(HostedOpenings, tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, open_three);
}
TEST(HostedOpenings, tell_of_the_death_of_the_sender_at_any_time) { with_a_death_at_any_time(2, open_three); }

// --- given up at any time

// Afterwards the receiver is free: it hears of a sender that it had let in that it has gone, and the next one
// opens.
TEST(HostedOpenings, that_are_given_up_at_any_time_leave_nothing_behind) {
  unsigned let_in = 0, never = 0;
  for (std::uint64_t time = 0; time < 3'000'000 && !testing::Test::HasFailure(); time += 20'000) {
    SCOPED_TRACE(time);
    Hosted hosted;
    hosted.add([&](Hosted& all) {
      Manager manager;
      Shown shown(manager);
      bool ended = false, lent = false;
      Record record;
      Borrowed borrowed;
      while (all.host.time() < time + 3 * kMillisecond) {
        const Status heard = shown.stream.receive(record, 50us);
        ended = ended || heard == Status::abandoned;
        all.expect(heard == Status::timed_out || heard == Status::abandoned, "another end");
        const Status last = shown.loan.receive(borrowed, 50us);
        lent = lent || last == Status::closed;
        all.expect(last == Status::timed_out || last == Status::closed, "another end of loans");
        all.host.pause(20'000);
      }
      all.expect(ended || shown.stream.sender() == 0, "it waits for whoever has given up");
      all.expect(lent || shown.loan.sender() == 0, "it waits for loans of whoever has given up");
      ++(ended ? let_in : never);
      manager.publish("stream.again", shown.stream.make_seed());
      manager.publish("loan.again", shown.loan.make_seed());
      for (int i = 0; i != 40 && (shown.stream.sender() == 0 || shown.loan.sender() == 0); ++i) {
        static_cast<void>(shown.loan.receive(borrowed, 50us));  // lets the sender in
        static_cast<void>(manager.wait(50us));
      }
      all.host.pause(5 * kMillisecond);
    });
    hosted.add([&](Hosted& all) {
      Manager manager;
      LoanPool pool(manager, {{64, 1}});
      const Seed seed = manager.lookup("stream", 1s), lent = manager.lookup("loan", 1s);
      const Seed tag = manager.lookup("tagged", 1s);
      {
        const StreamSender stream(manager, seed, kBegin);
        const LoanSender loan(pool, lent, kBegin);
        const TaggedSender tagged(manager, tag, kBegin);
        all.host.pause(time);
      }
      all.expect(pool.free_buffers() == 1, "a buffer is lost");
      StreamSender stream(manager, manager.lookup("stream.again", 1s), kBegin);
      LoanSender loan(pool, manager.lookup("loan.again", 1s), kBegin);
      TaggedSender tagged(manager, tag, kBegin);
      all.expect(stream.opened(1s) == Status::ok, "the stream does not open again");
      all.expect(loan.opened(1s) == Status::ok, "the loan sender does not open again");
      all.expect(tagged.opened(1s) == Status::ok, "the tagged sender does not open again");
    });
    hosted.run();
  }
  EXPECT_GT(let_in, 10u);
  EXPECT_GT(never, 10u);
}

// With packets that overtake each other, and between hosts, whose wire loses some: the answer may come after
// the sender has gone.
TEST(HostedOpenings, of_streams_that_are_given_up_over_a_rough_way_leave_nobody_waiting) {
  unsigned let_in = 0;
  for (std::uint64_t seed = 0; seed != 5 * kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    const bool far = seed % 3 == 2;
    bool over = false;
    hosted.host.come_at(far ? 1 : 0, [&](simulation::Inhabitant&) {
      Manager manager;
      StreamReceiver receiver(manager, {.first = 1024, .most = 1024, .parcels = 4});
      manager.publish("stream", receiver.make_seed());
      Record record;
      Status status = Status::timed_out;
      while (!over && status == Status::timed_out) status = receiver.receive(record, 100us);
      if (status == Status::timed_out) status = receiver.receive(record, 20ms);
      hosted.expect(status == Status::abandoned || receiver.sender() == 0, "it waits for who has gone");
      let_in += status == Status::abandoned;
      over = true;
    });
    hosted.host.come_at(far ? 2 : 0, [&](simulation::Inhabitant&) {
      Manager manager;
      const Seed to = manager.lookup("stream", 1s);
      {
        const StreamSender sender(manager, to, kBegin);
        hosted.host.pause(hosted.host.chance().between(0, far ? 4'000'000 : 1'500'000));
      }
      over = true;
      hosted.host.pause(30 * kMillisecond);  // and nobody runs its manager
    });
    hosted.run();
  }
  EXPECT_GT(let_in, kRoughSeeds);
}

// --- many, of whom one is stopped

template <class Sender>
Task opens(Loop& loop, Sender& sender, unsigned& open) {
  open += co_await loop.open(sender) == Status::ok;
}

TEST(HostedOpenings, of_fifty_are_held_up_by_none_that_is_stopped) {
  constexpr std::uint64_t kPeers = 10;  // with five of each kind
  Hosted hosted;
  const auto suffix = [](std::uint64_t peer, int i) {
    return "." + std::to_string(peer) + "." + std::to_string(i);
  };
  for (std::uint64_t peer = 1; peer <= kPeers; ++peer) {
    hosted.add([=](Hosted&) {
      Manager manager;
      std::vector<std::unique_ptr<Shown>> shown;
      for (int i = 0; i != 5; ++i) shown.push_back(std::make_unique<Shown>(manager, suffix(peer, i)));
      for (int turn = 0; turn != 2000; ++turn) {
        Borrowed borrowed;
        static_cast<void>(shown[static_cast<std::size_t>(turn) % 5]->loan.receive(borrowed, 20us));
        static_cast<void>(manager.wait(20us));
      }
    });
  }
  hosted.add([&](Hosted& all) {
    Manager manager;
    LoanPool pool(manager, {{64, 1}});
    all.host.pause(3 * kMillisecond);
    const std::uint64_t asleep = 1 + kPeers / 2;
    all.host.stop(all.host.inhabitant(asleep));
    Loop loop(manager);
    std::vector<std::unique_ptr<StreamSender>> streams;
    std::vector<std::unique_ptr<LoanSender>> loans;
    unsigned open = 0, open_loans = 0;
    for (std::uint64_t peer = 1; peer <= kPeers; ++peer) {
      for (int i = 0; i != 5; ++i) {
        const Seed seed = manager.lookup("stream" + suffix(peer, i), 1s);
        streams.push_back(std::make_unique<StreamSender>(manager, seed, kBegin));
        const Seed lent = manager.lookup("loan" + suffix(peer, i), 1s);
        loans.push_back(std::make_unique<LoanSender>(pool, lent, kBegin));
        if (peer == asleep) continue;
        loop.start(opens(loop, *streams.back(), open));
        loop.start(opens(loop, *loans.back(), open_loans));
      }
    }
    loop.run();
    all.expect(open == (kPeers - 1) * 5 && open_loans == (kPeers - 1) * 5, "not all are open");
    all.expect(streams[(asleep - 1) * 5]->opened(0s) == Status::timed_out, "who is stopped has agreed");
    all.expect(loans[(asleep - 1) * 5]->opened(0s) == Status::timed_out, "who is stopped has mapped it");
    streams.clear(), loans.clear();
    all.host.go_on(all.host.inhabitant(asleep));
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
