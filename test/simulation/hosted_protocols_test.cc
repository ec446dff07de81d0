// Every protocol, whole, between processes of a simulated host: what it does, what it refuses, and what the
// others see if one of its processes dies, at any time.
#include <algorithm>
#include <array>

#include "hamlyn/bulk.h"
#include "hamlyn/datagram.h"
#include "hamlyn/loan.h"
#include "hamlyn/multicast.h"
#include "hamlyn/stream.h"
#include "hamlyn/tagged_write.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// A seed under that name; none if whoever would register it has died.
std::optional<Seed> seed_of(Manager& manager, std::string_view name) {
  try {
    return manager.lookup(name, 2ms);
  } catch (const Error&) {
    return std::nullopt;
  }
}

template <class Open>
ErrorCode code_of(Open open) {
  try {
    open();
    return {};
  } catch (const Error& error) {
    return error.code();
  }
}

// --- datagrams

TEST(HostedDatagrams, land_once_are_answered_and_refused_by_name) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    auto receiver = std::make_unique<DatagramReceiver>(manager, 4096);
    manager.publish("box", receiver->make_seed());
    Datagram datagram;
    all.expect(receiver->receive(datagram, 1s) == Status::ok, "nothing comes");
    all.expect(text_of(datagram.bytes) == "question" && datagram.offset == 16, "something else came");
    all.expect(datagram.reply.has_value(), "nobody to reply to");
    DatagramSender reply(manager, *datagram.reply);
    all.expect(reply.deliver(bytes_of("answer"), 1s) == Status::ok, "the answer does not land");
    all.host.pause(1'000'000);
    receiver->make_ready();
    all.expect(receiver->receive(datagram, 1s) == Status::ok, "nothing more comes");
    receiver.reset();
    all.host.pause(10'000'000);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    DatagramSender sender(manager, manager.lookup("box", 1s));
    DatagramReceiver answers(manager, 64);
    const DatagramOptions options{.offset = 16, .reply = &answers};
    all.expect(sender.deliver(bytes_of("question"), options, 1s) == Status::ok, "it does not land");
    Datagram answer;
    all.expect(answers.receive(answer, 1s) == Status::ok, "no answer");
    all.expect(text_of(answer.bytes) == "answer", "another answer");
    all.expect(sender.deliver(bytes_of("too early"), 1s) == Status::not_ready, "it was ready");
    all.expect(sender.deliver(bytes_of("far"), {.offset = 4094}, 1s) == Status::out_of_bounds, "it fits");
    all.host.pause(2'000'000);
    all.expect(sender.deliver(std::vector<std::byte>(4096), 1s) == Status::ok, "it is not ready again");
    all.host.pause(1'000'000);
    all.expect(sender.deliver(bytes_of("too late"), 1s) == Status::refused, "it has not gone");
  });
  hosted.run();
}

// Its packets overtake one another; the receiver becomes ready at any moment of that.
TEST(HostedDatagrams, are_told_to_be_early_if_the_receiver_becomes_ready_in_their_middle) {
  unsigned landed = 0, early = 0;
  for (std::uint64_t pause = 0; pause < 600'000; pause += 3'000) {
    Hosted hosted({.least_delay = 1000, .most_delay = 100'000, .mtu = 128}, pause);
    hosted.add([=](Hosted& all) {
      Manager manager;
      DatagramReceiver receiver(manager, 4096);
      manager.publish("box", receiver.make_seed());
      Datagram datagram;
      all.expect(receiver.receive(datagram, 1s) == Status::ok, "nothing comes");
      all.host.pause(pause);
      all.expect(receiver.make_ready() == Status::ok, "it cannot be ready");
      all.host.pause(10'000'000);
    });
    hosted.add([&](Hosted& all) {
      Manager manager;
      DatagramSender sender(manager, manager.lookup("box", 1s));
      all.expect(sender.deliver(bytes_of("one"), 1s) == Status::ok, "it does not land");
      const Status status = sender.deliver(std::vector<std::byte>(1000), 1s);
      all.expect(status == Status::ok || status == Status::not_ready, "it is refused");
      ++(status == Status::ok ? landed : early);
    });
    hosted.run();
  }
  EXPECT_GT(landed, 10u);
  EXPECT_GT(early, 10u);
}

void exchange_datagrams(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Manager manager;
    DatagramReceiver receiver(manager, 4096);
    manager.publish("box", receiver.make_seed());
    for (int i = 0; i < 5; ++i) {
      Datagram datagram;
      const Status status = receiver.receive(datagram, 2ms);
      all.expect(status == Status::ok || (!all.alive(2) && status != Status::cancelled), "nothing comes");
      if (status == Status::ok) all.expect(datagram.bytes.size() == 3000, "another datagram");
      receiver.make_ready();
    }
    all.host.pause(1'000'000);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    const std::optional<Seed> seed = seed_of(manager, "box");
    if (!seed) return all.expect(!all.alive(1), "no seed");
    DatagramSender sender(manager, *seed);
    for (int i = 0; i < 5; ++i) {
      Status status = Status::not_ready;
      while (status == Status::not_ready) status = sender.deliver(std::vector<std::byte>(3000), 1s);
      all.expect(status == Status::ok || !all.alive(1), "it does not land");
      all.expect(status != Status::timed_out, "nobody tells of the death");
    }
  });
}
TEST(HostedDatagrams, tell_of_the_death_of_the_sender_at_any_time) {
  with_a_death_at_any_time(2, exchange_datagrams);
}
TEST(HostedDatagrams, tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, exchange_datagrams);
}

// --- streams

TEST(HostedStreams, are_opened_once_refused_closed_and_offered_again) {
  class Picky final : public StreamReceiver {
   public:
    using StreamReceiver::StreamReceiver;
    ~Picky() override { retire(); }
    bool wants = false;

   private:
    bool admit(std::uint64_t) noexcept override { return wants; }
  };
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    Picky receiver(manager);
    manager.publish("first", receiver.make_seed());
    Record record;
    all.expect(receiver.receive(record, 3ms) == Status::timed_out, "somebody was let in");
    receiver.wants = true;
    for (int i = 1; i <= 3; ++i) {
      all.expect(receiver.receive(record, 1s) == Status::ok, "no record");
      all.expect(record.text() == std::string(static_cast<std::size_t>(i), 'x'), "another record");
      all.expect(receiver.release(record) == Status::ok, "it cannot be released");
    }
    all.expect(code_of([&] { receiver.make_seed(); }) == ErrorCode::invalid_argument, "two senders at once");
    all.expect(receiver.receive(record, 1s) == Status::closed, "it is not closed");
    manager.publish("second", receiver.make_seed());
    all.expect(receiver.receive(record, 1s) == Status::ok, "no record of the second");
    all.expect(receiver.close(1s) == Status::ok, "it cannot be closed from here");
    manager.publish("third", receiver.make_seed());
    const Status end = receiver.receive(record, 1s);
    EXPECT_EQ(end, Status::abandoned);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    const Seed seed = manager.lookup("first", 1s);
    all.expect(code_of([&] { StreamSender(manager, seed); }) == ErrorCode::peer_refused, "it is let in");
    all.host.pause(5'000'000);
    StreamSender sender(manager, seed);
    all.expect(code_of([&] { StreamSender(manager, seed); }) == ErrorCode::seed_used, "a seed serves twice");
    for (const auto* text : {"x", "xx", "xxx"}) all.expect(sender.send(text) == Status::ok, "it is not sent");
    all.expect(sender.flush() == Status::ok, "it is not flushed");
    all.host.pause(1'000'000);
    all.expect(sender.close() == Status::ok, "it is not closed");
    const Seed next = manager.lookup("second", 1s);
    all.expect(code_of([&] { StreamSender(manager, seed); }) == ErrorCode::seed_forged, "an old seed serves");
    StreamSender second(manager, next);
    Status status = Status::ok;
    while (status == Status::ok) status = second.send(std::vector<std::byte>(200), 1s);
    all.expect(status == Status::closed && second.end() == Status::closed, "it is not told");
    {
      StreamSender third(manager, manager.lookup("third", 1s));
      all.expect(third.send("never read") == Status::ok, "it is not sent");
    }
    manager.wait(1ms);  // who leaves at once has no time for a last word
  });
  hosted.run();
}

TEST(HostedStreams, gather_no_more_than_their_receiver_has_memory_for) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager, {.first = 64, .most = 1024, .parcels = 4});
    manager.publish("s", receiver.make_seed());
    int count = 0;
    for (const Record& record : receiver) count += static_cast<int>(record.bytes().size());
    all.expect(count == 20'000 + 1024, "records are lost");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s), {.together = 8192});
    for (int i = 0; i < 200; ++i)
      all.expect(sender.send(std::vector<std::byte>(100), 1s) == Status::ok, "it is not sent");
    all.expect(sender.send(std::vector<std::byte>(1024), 1s) == Status::ok, "the longest is not sent");
    all.expect(sender.send(std::vector<std::byte>(1025), 1s) == Status::too_long, "there is a longer one");
    all.expect(sender.close(1s) == Status::ok, "it is not closed");
  });
  hosted.run();
}

// The receiver says several times where its longer memory is, and the words overtake one another.
TEST(HostedStreams, go_on_in_the_longest_memory_whatever_overtakes_what) {
  for (std::uint64_t seed = 1; seed <= 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted({.least_delay = 1000, .most_delay = 100'000}, seed);
    hosted.add([](Hosted& all) {
      Manager manager;
      StreamReceiver receiver(manager, {.first = 64, .most = 65536, .parcels = 8});
      manager.publish("s", receiver.make_seed());
      std::size_t count = 0;
      for (const Record& record : receiver) count += record.bytes().size();
      all.expect(count == 9001, "it is lost");
    });
    hosted.add([](Hosted& all) {
      Manager manager;
      StreamSender sender(manager, manager.lookup("s", 1s));
      all.expect(sender.send("x") == Status::ok && sender.flush(1s) == Status::ok, "it is not sent");
      for (const std::size_t bytes : {1100u, 2100u, 4100u, 8200u})
        all.expect(sender.send(std::vector<std::byte>(bytes), 0s) == Status::timed_out, "there was room");
      all.host.pause(1'000'000);  // it looks when all of them are there
      all.expect(sender.send(std::vector<std::byte>(9000), 10s) == Status::ok, "it waits for ever");
      all.expect(sender.close(10s) == Status::ok, "it cannot be closed");
    });
    hosted.run();
  }
}

// It has come with the seed that was, and nobody has looked at it when the next is made.
TEST(HostedStreams, take_nobody_for_one_who_comes_with_another_seed) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager);
    { const DatagramReceiver before(manager, 64); }
    manager.publish("s", receiver.make_seed());
    all.host.pause(3'000'000);
    const DatagramReceiver again(manager, 64);  // has its slot's number: what has come is looked through
    all.expect(code_of([&] { receiver.make_seed(); }) == ErrorCode::invalid_argument, "two senders at once");
    Record record;
    all.expect(receiver.receive(record, 1s) == Status::ok, "no record");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamSender sender(manager, manager.lookup("s", 1s));
    all.expect(sender.send("x") == Status::ok && sender.flush() == Status::ok, "it is not sent");
    all.host.pause(1'000'000);
  });
  hosted.run();
}

void send_a_stream(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Manager manager;
    StreamReceiver receiver(manager, {.first = 1024, .most = 4096, .parcels = 4});
    manager.publish("s", receiver.make_seed());
    std::size_t count = 0;
    for (;;) {
      Record record;
      const Status status = receiver.receive(record, 1s);
      if (status == Status::ok) {
        all.expect(record.bytes().size() == 500 && record.number() == ++count, "another record");
        receiver.release(record);
        continue;
      }
      if (status == Status::closed) return all.expect(count == 20, "records of a closed stream are lost");
      const bool never_came = status == Status::timed_out && receiver.sender() == 0;
      return all.expect(!all.alive(2) && (never_came || status != Status::timed_out),
                        "nobody tells of the death");
    }
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    const std::optional<Seed> seed = seed_of(manager, "s");
    if (!seed) return all.expect(!all.alive(1), "no seed");
    try {
      StreamSender sender(manager, *seed);
      Status status = Status::ok;
      for (int i = 0; i < 20 && status == Status::ok; ++i)
        status = sender.send(std::vector<std::byte>(500), 1s);
      if (status == Status::ok) status = sender.close(1s);
      all.expect(status != Status::timed_out, "nobody tells of the death");
      all.expect(status == Status::ok || !all.alive(1), "it cannot be sent");
    } catch (const Error& error) {
      all.expect(!all.alive(1) && error.code() != ErrorCode::timed_out, "it cannot be opened");
    }
  });
}
TEST(HostedStreams, tell_of_the_death_of_the_sender_at_any_time) {
  with_a_death_at_any_time(2, send_a_stream);
}
TEST(HostedStreams, tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, send_a_stream);
}

// --- tagged writes

TEST(HostedTaggedWrites, land_where_they_should_wait_for_places_and_are_refused_when_the_receiver_has_gone) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    auto receiver = std::make_unique<TaggedReceiver>(manager, 4096, TaggedReceiver::Options{.places = 4});
    manager.publish("t", receiver->make_seed());
    all.host.pause(3'000'000);
    Tagged tagged;
    all.expect(receiver->get_specific_tag(3, tagged, 1s) == Status::ok && tagged.tag == 3, "no tag 3");
    for (const std::uint64_t tag : {1u, 2u, 4u, 5u, 6u, 7u, 8u}) {
      all.expect(receiver->get_tag(tagged, 1s) == Status::ok && tagged.tag == tag, "another tag");
      all.expect(text_of(receiver->bytes(tagged)) == "abc" && tagged.offset == 8 * tag, "other bytes");
    }
    receiver.reset();
    all.host.pause(9'000'000);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    TaggedSender sender(manager, manager.lookup("t", 1s));
    for (const std::uint64_t tag : {1u, 2u, 3u, 4u})
      all.expect(sender.send(bytes_of("abc"), 8 * tag, tag) == Status::ok, "there was no place");
    all.expect(sender.send(bytes_of("abc"), 0, 5) == Status::no_place, "there is a fifth place");
    for (const std::uint64_t tag : {5u, 6u, 7u, 8u})
      all.expect(sender.send(bytes_of("abc"), 8 * tag, tag, 1s) == Status::ok, "no place comes free");
    all.expect(sender.send(bytes_of("abc"), 4094, 9, 1s) == Status::out_of_bounds, "it fits");
    all.host.pause(5'000'000);
    const Status status = sender.send(bytes_of("abc"), 0, 10, 1s);
    EXPECT_EQ(status, Status::refused);
  });
  hosted.run();
}

void write_with_tags(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Manager manager;
    TaggedReceiver receiver(manager, 4096, {.places = 4});
    manager.publish("t", receiver.make_seed());
    for (std::uint64_t next = 1; next <= 30; ++next) {
      Tagged tagged;
      const Status status = receiver.get_tag(tagged, 3ms);
      if (status != Status::ok) return all.expect(!all.alive(2), "no tag");
      all.expect(tagged.tag == next, "another tag");
    }
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    const std::optional<Seed> seed = seed_of(manager, "t");
    if (!seed) return all.expect(!all.alive(1), "no seed");
    try {
      TaggedSender sender(manager, *seed);
      for (std::uint64_t tag = 1; tag <= 30; ++tag) {
        const Status status = sender.send(bytes_of("abc"), 0, tag, 1s);
        if (status != Status::ok) return all.expect(!all.alive(1) && status != Status::timed_out, "not sent");
      }
      all.host.pause(1'000'000);
    } catch (const Error& error) {
      all.expect(!all.alive(1) && error.code() != ErrorCode::timed_out, "it cannot be opened");
    }
  });
}
TEST(HostedTaggedWrites, tell_of_the_death_of_the_sender_at_any_time) {
  with_a_death_at_any_time(2, write_with_tags);
}
TEST(HostedTaggedWrites, tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, write_with_tags);
}

// --- loans

void borrow(Hosted& all, std::string_view name, int count) {
  Manager manager;
  LoanReceiver receiver(manager);
  manager.publish(name, receiver.make_seed());
  std::vector<Borrowed> held;
  for (int i = 0;; ++i) {
    Borrowed borrowed;
    const Status status = receiver.receive(borrowed, 1s);
    if (status == Status::closed) return all.expect(i == count, "loans are lost");
    const bool never_came = status == Status::timed_out && receiver.sender() == 0;
    if (status != Status::ok)
      return all.expect(!all.alive(1) && (never_came || status != Status::timed_out),
                        "nobody tells of the death");
    const auto all_same = [&](std::byte each) { return each == static_cast<std::byte>(i); };
    all.expect(borrowed.current() && std::ranges::all_of(borrowed.bytes(), all_same), "another loan");
    held.push_back(std::move(borrowed));
    if (held.size() == 2) held.erase(held.begin());  // before the one after it
  }
}

// Three buffers, three receivers: the first process lends each of six fillings to all of them.
void lend_to_three(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanPool pool(manager, {{4096, 3}});
    std::vector<std::unique_ptr<LoanSender>> senders;
    for (const auto* name : {"a", "b", "c"}) {
      const std::uint64_t number = 2 + senders.size();
      const std::optional<Seed> seed = seed_of(manager, name);
      try {
        if (seed) senders.push_back(std::make_unique<LoanSender>(pool, *seed));
        all.expect(seed.has_value() || !all.alive(number), "no seed");
      } catch (const Error& error) {
        all.expect(!all.alive(2) && error.code() != ErrorCode::timed_out, "it cannot be opened");
      }
    }
    for (int i = 0; i < 6; ++i) {
      Loan loan;
      all.expect(pool.take(4096, loan, 1s) == Status::ok, "no buffer comes back");
      if (!all.alive()) return;
      std::ranges::fill(loan.bytes(), static_cast<std::byte>(i));
      for (const auto& sender : senders) {
        const Status status = sender->send(loan, 4096, 1s);
        all.expect(status == Status::ok || (!all.alive(2) && status != Status::timed_out), "it is not lent");
        all.expect(status != Status::ok || sender->send(loan) == Status::invalid || !all.alive(2),
                   "it is lent twice");
      }
    }
    senders.clear();
    Loan all_of_them[3];
    for (Loan& each : all_of_them) all.expect(pool.take(1, each, 1s) == Status::ok, "a buffer is lost");
  });
  for (const auto* name : {"a", "b", "c"}) hosted.add([=](Hosted& all) { borrow(all, name, 6); });
}
TEST(HostedLoans, are_read_by_three_and_come_back) {
  Hosted hosted;
  lend_to_three(hosted);
  hosted.run();
}
TEST(HostedLoans, come_back_from_the_dead_at_any_time) { with_a_death_at_any_time(2, lend_to_three); }
TEST(HostedLoans, tell_of_the_death_of_the_pool_at_any_time) { with_a_death_at_any_time(1, lend_to_three); }

// One was taken back by force, its buffer lent anew, and both are given back, the later one first.
TEST(HostedLoans, come_back_though_the_same_buffer_was_borrowed_twice) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanPool pool(manager, {{64, 1}});
    LoanSender sender(pool, manager.lookup("a", 1s));
    Loan loan;
    pool.take(8, loan);
    all.expect(sender.send(loan) == Status::ok, "it is not lent");
    all.host.pause(1'000'000);
    loan.withdraw();
    all.expect(sender.send(loan) == Status::ok, "it is not lent anew");
    loan.let_go();
    all.expect(pool.take(8, loan, 1s) == Status::ok, "the buffer is lost");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanReceiver receiver(manager);
    manager.publish("a", receiver.make_seed());
    Borrowed first, second;
    all.expect(receiver.receive(first, 1s) == Status::ok && first.current(), "no loan");
    all.expect(receiver.receive(second, 1s) == Status::ok && second.current(), "no second loan");
    all.expect(!first.current(), "what was taken back is current");
    second.give_back();
    first.give_back();
    all.host.pause(1'000'000'000);
  });
  hosted.run();
}

TEST(HostedLoans, are_shown_to_nobody_any_more_once_their_pool_was_revoked) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanPool pool(manager, {{64, 2}});
    const Seed seed = manager.lookup("a", 1s);
    LoanSender sender(pool, seed);
    all.expect(code_of([&] { LoanSender(pool, seed, {.timeout = 1ms}); }) == ErrorCode::seed_used,
               "a seed serves twice");
    Loan loan;
    pool.take(8, loan);
    loan.bytes()[0] = std::byte{1};
    all.expect(sender.send(loan) == Status::ok, "it is not lent");
    all.host.pause(1'000'000);
    pool.revoke();
    loan.bytes()[0] = std::byte{2};
    all.expect(sender.send(loan) == Status::closed, "it can be lent still");
    loan.let_go();
    all.expect(pool.free_buffers() == 2, "not all came back");
    all.host.pause(3'000'000);
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    LoanReceiver receiver(manager);
    manager.publish("a", receiver.make_seed());
    Borrowed borrowed, next;
    all.expect(receiver.receive(borrowed, 1s) == Status::ok, "no loan");
    all.expect(receiver.receive(next, 1s) == Status::closed, "it is not told");
    all.expect(!borrowed.current() && borrowed.bytes()[0] == std::byte{1}, "the old page was written");
  });
  hosted.run();
}

// --- bulk, multicast

TEST(HostedBulk, fills_a_ring_whose_receiver_frees_it_piece_by_piece) {
  Hosted hosted({.least_delay = 1000, .most_delay = 50'000});
  std::optional<BulkRingOffer> offer;
  std::optional<BulkFreed> freed;
  hosted.add([&](Hosted& all) {
    Manager manager;
    NotificationQueue queue(manager.interface());
    BulkRing ring(queue, 4096, 4);
    offer = ring.offer();
    for (std::uint8_t number = 0; number < 40;) {
      Notification arrival;
      all.expect(queue.receive(arrival, 1s) == Status::ok && ring.arrived(arrival), "no piece");
      while (const auto piece = ring.next()) {
        const auto all_same = [&](std::byte each) { return each == std::byte{number}; };
        all.expect(std::ranges::all_of(*piece, all_same), "another piece");
        ++number;
        ring.free();
        freed = ring.freed();
      }
    }
  });
  hosted.add([&](Hosted& all) {
    Manager manager;
    while (!offer) all.host.pause(1000);
    BulkRingSender sender(manager.terminus(), *offer);
    for (std::uint8_t number = 0; number < 40; ++number) {
      const std::vector<std::byte> piece(1u + 37u * number, std::byte{number});
      SendHandle handle;
      Status status = Status::no_place;
      while ((status = sender.send(piece, &handle)) == Status::no_place) {
        all.host.pause(1000);
        if (freed) all.expect(sender.freed(*freed), "more is free than was sent");
      }
      if (status == Status::pending) status = manager.terminus().wait(handle, 1s);
      all.expect(status == Status::ok, "a piece is not sent");
    }
    all.host.pause(1'000'000);
  });
  hosted.run();
}

TEST(HostedMulticast, tells_who_has_got_it_and_who_has_died) {
  Hosted hosted;
  std::vector<Ticket> tickets;
  for (int i = 0; i < 3; ++i) {
    hosted.add([&](Hosted& all) {
      Manager manager;
      MessageArea area(manager.interface(), 8192);
      NotificationQueue queue(manager.interface());
      Slot slot(area, queue, {.entries = 1, .fast = false});
      tickets.push_back(slot.ticket(0));
      Notification arrival;
      all.expect(queue.receive(arrival, 1s) == Status::ok && arrival.length == 8192, "nothing comes");
      all.host.pause(3'000'000);
    });
  }
  hosted.kill(2, 1'500'000);
  hosted.add([&](Hosted& all) {
    Manager manager;
    while (tickets.size() != 3) all.host.pause(1000);
    const std::vector<std::byte> data(8192);
    Multicast multicast(manager.interface());
    all.expect(multicast.send(tickets, data) == Status::ok && multicast.wait(1s) == Status::ok, "it waits");
    all.expect(multicast.count().delivered == 3, "not all have it");
    all.host.pause(2'000'000);
    all.expect(multicast.send(tickets, data) == Status::ok && multicast.wait(1s) == Status::ok, "it waits");
    all.expect(multicast.count().delivered == 0 && multicast.count().failed == 3, "somebody has it again");
    std::size_t dead = 0;
    for (std::size_t i = 0; i < 3; ++i) dead += tickets[i].interface == 2 ? i : 0;
    all.expect(multicast.status(dead) == Status::link_ended || multicast.status(dead) == Status::refused,
               "the dead refuse");
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
