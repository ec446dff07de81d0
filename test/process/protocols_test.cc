// Managers, seeds, datagrams and tagged writes: between two managers, and between processes.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "test/process/managers.h"
#include "test/process/refused_news.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Protocols : public WithManagers {};

// --- a peer that sends what is refused, without end

// While it goes on: 20 waits that end in time.
void expect_time_outs(Managers& both, const Ticket& refused, const std::function<Status()>& wait) {
  std::atomic<bool> enough = false;
  std::thread flood([&] {
    Terminus terminus{both.sender.interface()};
    EXPECT_EQ(terminus.connect(refused, kPatience), Status::ok);
    while (!enough) static_cast<void>(terminus.send(refused, {}));
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(wait(), Status::timed_out);
  enough = true;
  flood.join();
}

TEST_F(Protocols, what_is_refused_without_end_holds_up_nobody) {
  with_both([](Managers& both) {
    StreamReceiver stream{both.receiver};
    LoanReceiver loans{both.receiver};
    TaggedReceiver tags{both.receiver, 64};
    Ticket to_stream = stream.make_seed().ticket, to_loans = loans.make_seed().ticket,
           to_tags = tags.ticket();
    to_stream.key ^= 1;
    to_loans.key ^= 1;
    to_tags.entry = 0;  // it has none
    Record record;
    Borrowed borrowed;
    Tagged tagged;
    expect_time_outs(both, to_stream, [&] { return stream.receive(record, 2ms); });
    expect_time_outs(both, to_stream, [&] { return both.receiver.wait(2ms); });
    expect_time_outs(both, to_loans, [&] { return loans.receive(borrowed, 2ms); });
    expect_time_outs(both, to_tags, [&] { return tags.get_tag(tagged, 2ms); });
    expect_time_outs(both, to_tags, [&] { return tags.get_specific_tag(7, tagged, 2ms); });
    EXPECT_FALSE(tags.get_tag());
  });
}

// --- seeds and names

TEST_F(Protocols, seeds_are_values_that_names_stand_for) {
  with_both([](Managers& both) {
    DatagramReceiver datagrams{both.receiver, 100};
    TaggedReceiver tags{both.receiver, 100};
    both.receiver.publish("datagrams", datagrams.make_seed());
    both.receiver.publish("tags", tags.make_seed());
    EXPECT_EQ(both.sender.lookup("datagrams"), datagrams.make_seed());
    EXPECT_EQ(both.sender.lookup("datagrams").kind(), SeedKind::datagram);
    EXPECT_EQ(both.sender.lookup("tags").kind(), SeedKind::tagged);
    EXPECT_EQ(thrown_by([&] { static_cast<void>(both.sender.lookup("nobody", 0ms)); }),
              ErrorCode::name_unknown);
    both.receiver.interface().publish("plain", Ticket{datagrams.make_seed().ticket.host, 1});
    EXPECT_EQ(thrown_by([&] { static_cast<void>(both.sender.lookup("plain")); }), ErrorCode::seed_wrong_kind);
    EXPECT_EQ(thrown_by([&] { both.receiver.publish("nothing", Seed{}); }), ErrorCode::seed_invalid);
  });
}

TEST_F(Protocols, refuse_seeds_of_another_kind_and_what_is_no_seed) {
  with_both([](Managers& both) {
    DatagramReceiver datagrams{both.receiver, 100};
    TaggedReceiver tags{both.receiver, 100};
    EXPECT_EQ(thrown_by([&] { TaggedSender(both.sender, datagrams.make_seed()); }),
              ErrorCode::seed_wrong_kind);
    EXPECT_EQ(thrown_by([&] { DatagramSender(both.sender, tags.make_seed()); }), ErrorCode::seed_wrong_kind);
    Seed bad = datagrams.make_seed();
    bad.ticket.version = 7;
    EXPECT_EQ(thrown_by([&] { DatagramSender(both.sender, bad); }), ErrorCode::seed_invalid);
    try {
      DatagramSender(both.sender, bad);
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "the bytes are no seed of this version of Hamlyn");
    }
    bad = datagrams.make_seed();
    bad.ticket.purpose = 77;
    EXPECT_EQ(thrown_by([&] { DatagramSender(both.sender, bad); }), ErrorCode::seed_invalid);
    bad = tags.make_seed();
    bad.ticket.purpose = static_cast<std::uint32_t>(SeedKind::datagram);
    EXPECT_EQ(thrown_by([&] { DatagramSender(both.sender, bad); }), ErrorCode::seed_invalid);
  });
}

TEST_F(Protocols, seeds_of_receivers_that_have_gone_are_stale) {
  with_both([](Managers& both) {
    Seed datagrams, tags;
    {
      datagrams = DatagramReceiver(both.receiver, 100).make_seed();
      tags = TaggedReceiver(both.receiver, 100).make_seed();
    }
    DatagramSender sender{both.sender, datagrams};
    EXPECT_EQ(sender.deliver(bytes_of("x"), kPatience), Status::refused);
    EXPECT_EQ(thrown_by([&] { TaggedSender(both.sender, tags, kPatience); }), ErrorCode::seed_stale);
    Seed forged = DatagramReceiver(both.receiver, 100).make_seed();
    DatagramReceiver alive{both.receiver, 100};
    forged = alive.make_seed();
    forged.ticket.key ^= 1;
    EXPECT_EQ(DatagramSender(both.sender, forged).deliver(bytes_of("x"), kPatience), Status::refused);
    EXPECT_TRUE(alive.ready());
  });
}

TEST_F(Protocols, seeds_of_dead_processes_are_told_as_such) {
  Actor dead([&](Line& line) {
    Manager manager({.interface = other_options()});
    DatagramReceiver datagrams{manager, 100};
    TaggedReceiver tags{manager, 100};
    line.put(datagrams.make_seed());
    line.put(tags.make_seed());
    line.take<char>();
    return 0;
  });
  const auto datagrams = dead.line().take<Seed>();
  const auto tags = dead.line().take<Seed>();
  ASSERT_TRUE(datagrams && tags);
  dead.line().put('.');
  EXPECT_EQ(dead.wait(), 0);
  with_both([&](Managers& both) {
    const Status status = DatagramSender(both.sender, *datagrams).deliver(bytes_of("x"), kPatience);
    EXPECT_TRUE(status == Status::link_ended || status == Status::refused) << name(status);
    EXPECT_EQ(thrown_by([&] { TaggedSender(both.sender, *tags, kPatience); }), ErrorCode::peer_died);
  });
}

// --- datagrams

TEST_F(Protocols, a_datagram_says_its_place_and_where_to_reply) {
  with_both([](Managers& both) {
    DatagramReceiver door{both.receiver, 100000};
    DatagramReceiver mailbox{both.sender, 100};
    DatagramSender sender{both.sender, door.make_seed()};
    const std::string text = noise(70000, 1);
    ASSERT_EQ(sender.deliver(bytes_of(text), {.offset = 123, .reply = &mailbox}, kPatience), Status::ok);
    Datagram datagram;
    ASSERT_EQ(door.receive(datagram, kPatience), Status::ok);
    EXPECT_EQ(datagram.offset, 123u);
    EXPECT_EQ(text_of(datagram.bytes), text);
    EXPECT_EQ(datagram.sender, both.sender.interface().id());
    ASSERT_TRUE(datagram.reply);
    EXPECT_EQ(*datagram.reply, mailbox.make_seed());
    ASSERT_EQ(DatagramSender(both.receiver, *datagram.reply).deliver(bytes_of("thanks"), kPatience),
              Status::ok);
    Datagram answer;
    ASSERT_EQ(mailbox.receive(answer, kPatience), Status::ok);
    EXPECT_EQ(text_of(answer.bytes), "thanks");
    EXPECT_FALSE(answer.reply);
  });
}

TEST_F(Protocols, a_receiver_that_is_not_ready_takes_nothing) {
  with_both([](Managers& both) {
    DatagramReceiver door{both.receiver, 100};
    DatagramSender sender{both.sender, door.make_seed()};
    ASSERT_EQ(sender.deliver(bytes_of("first"), kPatience), Status::ok);
    EXPECT_EQ(sender.deliver(bytes_of("second"), kPatience), Status::not_ready);
    EXPECT_EQ(door.make_ready(), Status::ok) << "nobody has looked yet: it takes itself to be ready";
    Datagram datagram;
    ASSERT_EQ(door.receive(datagram, kPatience), Status::ok);
    EXPECT_EQ(text_of(datagram.bytes), "first");
    EXPECT_EQ(sender.deliver(bytes_of("third"), kPatience), Status::not_ready);
    EXPECT_EQ(text_of(datagram.bytes), "first");
    EXPECT_EQ(door.receive(datagram, 0ns), Status::timed_out);
    EXPECT_EQ(door.make_ready(), Status::ok);
    EXPECT_EQ(sender.deliver(bytes_of("fourth"), kPatience), Status::ok);
    ASSERT_EQ(door.receive(datagram, kPatience), Status::ok);
    EXPECT_EQ(text_of(datagram.bytes), "fourth");
  });
}

TEST_F(Protocols, a_datagram_stays_inside_the_buffer) {
  NEEDS_TWO("the other manager's receiver is of no use to the sender");
  with_both([](Managers& both) {
    DatagramReceiver door{both.receiver, 100};
    DatagramSender sender{both.sender, door.make_seed()};
    EXPECT_EQ(sender.deliver(bytes_of("12345"), {.offset = 96}, kPatience), Status::out_of_bounds);
    EXPECT_EQ(sender.deliver(bytes_of(std::string(101, 'x')), kPatience), Status::too_long);
    EXPECT_EQ(sender.send(bytes_of(std::string(101, 'x'))), Status::too_long);
    Seed forged = door.make_seed();
    forged.ticket.bound = 4096;
    EXPECT_EQ(DatagramSender(both.sender, forged).deliver(bytes_of("12345"), {.offset = 96}, kPatience),
              Status::out_of_bounds);
    DatagramReceiver elsewhere{both.receiver, 100};
    EXPECT_EQ(sender.deliver(bytes_of("x"), {.reply = &elsewhere}, kPatience), Status::invalid);
    EXPECT_TRUE(door.ready());
  });
}

TEST_F(Protocols, many_datagrams_go_to_and_fro) {
  with_both([](Managers& both) {
    DatagramReceiver there{both.receiver, 8192}, here{both.sender, 8192};
    DatagramSender to{both.sender, there.make_seed()}, back{both.receiver, here.make_seed()};
    for (unsigned i = 0; i < 100; ++i) {
      const std::string text = noise(i * 80, i);
      Datagram datagram;
      ASSERT_EQ(to.deliver(bytes_of(text), kPatience), Status::ok);
      ASSERT_EQ(there.receive(datagram, kPatience), Status::ok);
      ASSERT_EQ(back.deliver(datagram.bytes, kPatience), Status::ok);
      ASSERT_EQ(there.make_ready(), Status::ok);
      ASSERT_EQ(here.receive(datagram, kPatience), Status::ok);
      ASSERT_EQ(text_of(datagram.bytes), text);
      ASSERT_EQ(here.make_ready(), Status::ok);
    }
  });
}

// --- tagged writes

TEST_F(Protocols, tags_are_taken_as_they_come_or_by_name) {
  with_both([](Managers& both) {
    TaggedReceiver board{both.receiver, 64};
    TaggedSender sender{both.sender, board.make_seed()};
    for (std::uint64_t tag = 1; tag <= 5; ++tag)
      ASSERT_EQ(sender.send(bytes_of(std::to_string(tag)), tag, tag, kPatience), Status::ok);
    Tagged tagged;
    ASSERT_EQ(board.get_specific_tag(4, tagged, kPatience), Status::ok);
    EXPECT_EQ(tagged.tag, 4u);
    EXPECT_EQ(tagged.sender, both.sender.interface().id());
    EXPECT_EQ(text_of(board.bytes(tagged)), "4");
    for (const std::uint64_t rest : {1u, 2u, 3u, 5u}) {
      ASSERT_EQ(board.get_tag(tagged, kPatience), Status::ok);
      EXPECT_EQ(tagged.tag, rest);
      EXPECT_EQ(tagged.offset, rest);
    }
    EXPECT_FALSE(board.get_tag());
    EXPECT_EQ(board.get_tag(tagged, 1ms), Status::timed_out);
    EXPECT_EQ(board.get_specific_tag(1, tagged, 1ms), Status::timed_out);
  });
}

// Whoever waits with epoll for edges looks until there is nothing.
TEST_F(Protocols, tags_are_found_behind_news_of_refused_packets) {
  with_both([](Managers& both) {
    TaggedReceiver board{both.receiver, 64};
    TaggedSender sender{both.sender, board.make_seed()};
    RefusedNews news{both.sender_options, board.ticket()};
    const auto tag_behind_news = [&](std::size_t links, std::uint64_t tag) {
      news.bring(links);
      EXPECT_EQ(sender.send({}, 0, tag, kPatience), Status::ok);
      // By an acknowledgement we know that it has come.
      DatagramReceiver door{both.receiver, 64};
      EXPECT_EQ(DatagramSender(both.sender, door.make_seed()).deliver({}, kPatience), Status::ok);
    };
    Tagged tagged;
    tag_behind_news(1, 1);
    EXPECT_EQ(board.get_tag(tagged, 0ns), Status::ok);
    tag_behind_news(1, 2);
    EXPECT_EQ(board.get_specific_tag(2, tagged, 0ns), Status::ok);
    tag_behind_news(17, 3);
    EXPECT_TRUE(board.get_tag());
  });
}

TEST_F(Protocols, a_receiver_of_tags_has_a_place_for_them) {
  with_both([](Managers& both) {
    EXPECT_EQ(thrown_by([&] { TaggedReceiver(both.receiver, 64, {.places = 0}); }),
              ErrorCode::invalid_argument);
  });
}

// As a deadline that was never set, less the time that it is now.
TEST_F(Protocols, a_time_that_is_over_for_longer_than_the_clock_counts_is_none) {
  with_both([](Managers& both) {
    constexpr auto kLongOver = std::chrono::nanoseconds::min();
    TaggedReceiver tags{both.receiver, 64};
    Tagged tagged;
    EXPECT_EQ(tags.get_tag(tagged, kLongOver), Status::timed_out);
    EXPECT_EQ(tags.get_specific_tag(1, tagged, kLongOver), Status::timed_out);
    StreamReceiver stream{both.receiver};
    Record record;
    EXPECT_EQ(stream.receive(record, kLongOver), Status::timed_out);
    DatagramReceiver door{both.receiver, 64};
    Datagram datagram;
    EXPECT_EQ(door.receive(datagram, kLongOver), Status::timed_out);
    EXPECT_EQ(both.receiver.wait(kLongOver), Status::timed_out);
    NotificationQueue queue{both.sender.interface()};
    Notification arrival;
    EXPECT_EQ(queue.receive(arrival, kLongOver), Status::timed_out);
    Segment segment{both.sender.interface(), {.bytes = 64}};
    EXPECT_EQ(segment.wait_until(
                  0, [](std::uint64_t word) { return word != 0; }, kLongOver),
              Status::timed_out);
  });
}

TEST_F(Protocols, tags_are_bounded_at_their_senders_side) {
  with_both([](Managers& both) {
    TaggedReceiver board{both.receiver, 64, {.places = 8, .capacity = 16, .aside = 3}};
    TaggedSender sender{both.sender, board.make_seed()};
    std::uint64_t sent = 0;
    while (sender.send({}, 0, sent + 1) == Status::ok) ++sent;
    EXPECT_EQ(sent, 8u);
    EXPECT_EQ(sender.send({}, 0, 9, 1ms), Status::timed_out);
    Tagged tagged;
    EXPECT_EQ(board.get_specific_tag(7, tagged, kPatience), Status::queue_full) << "three are aside";
    ASSERT_EQ(board.get_tag(tagged, kPatience), Status::ok);
    EXPECT_EQ(tagged.tag, 1u);
    for (std::uint64_t rest = 2; rest <= 8; ++rest) {
      ASSERT_EQ(board.get_tag(tagged, kPatience), Status::ok);
      EXPECT_EQ(tagged.tag, rest);
    }
    EXPECT_EQ(sender.send({}, 0, 9, kPatience), Status::ok);
    EXPECT_EQ(sender.send(std::vector<std::byte>(65), 0, 9), Status::out_of_bounds);
    EXPECT_EQ(sender.send(std::vector<std::byte>(1), 64, 9), Status::out_of_bounds);
  });
}

TEST_F(Protocols, a_dead_writer_is_told_after_its_last_tag) {
  with_both([&](Managers& both) {
    TaggedReceiver board{both.receiver, 64};
    std::uint64_t sent = 0;
    {
      Manager other({.interface = other_options()});
      TaggedSender sender{other, board.make_seed()};
      for (; sent < 5; ++sent) ASSERT_EQ(sender.send({}, 0, sent + 1, kPatience), Status::ok);
    }
    Tagged tagged;
    for (std::uint64_t tag = 1; tag <= sent; ++tag) {
      ASSERT_EQ(board.get_tag(tagged, kPatience), Status::ok);
      EXPECT_EQ(tagged.tag, tag);
    }
    EXPECT_EQ(board.get_tag(tagged, kPatience), Status::link_ended);
  });
}

// --- the manager

TEST_F(Protocols, a_receiver_of_ones_own_is_given_what_comes_to_its_slot_and_nothing_else) {
  with_both([](Managers& both) {
    std::uint64_t sum = 0;
    Status inside = Status::ok;
    OwnReceiver one{both.receiver, [&](const Notification& arrival) {
                      sum += arrival.word;
                      inside = both.receiver.wait(0ns);
                    }};
    DatagramReceiver other{both.receiver, 64};
    const Ticket ticket = one.ticket();
    ASSERT_EQ(both.sender.terminus().connect(ticket, kPatience), Status::ok);
    ASSERT_EQ(both.sender.terminus().send_fast(ticket, {}, 5), Status::ok);
    ASSERT_EQ(DatagramSender(both.sender, other.make_seed()).deliver({}, kPatience), Status::ok);
    Datagram datagram;
    ASSERT_EQ(other.receive(datagram, kPatience), Status::ok);
    EXPECT_EQ(sum, 5u) << "whoever receives runs the manager for all";
    EXPECT_EQ(inside, Status::invalid) << "nothing may wait there";
    ASSERT_EQ(both.sender.terminus().send_fast(ticket, {}, 6), Status::ok);
    EXPECT_EQ(both.receiver.wait(kPatience), Status::ok);
    EXPECT_EQ(sum, 11u);
    EXPECT_TRUE(both.receiver.poll()) << "what others have brought is told of once";
    EXPECT_FALSE(both.receiver.poll());
    EXPECT_EQ(both.receiver.wait(1ms), Status::timed_out);
  });
}

TEST_F(Protocols, what_stood_in_the_queue_of_a_slot_that_has_gone_is_given_to_nobody) {
  with_both([](Managers& both) {
    std::uint64_t sum = 0;
    const auto count = [&](const Notification& arrival) { sum += arrival.word; };
    {
      OwnReceiver gone{both.receiver, count};
      const Ticket ticket = gone.ticket();
      ASSERT_EQ(both.sender.terminus().connect(ticket, kPatience), Status::ok);
      ASSERT_EQ(both.sender.terminus().send_fast(ticket, {}, 5), Status::ok);
      while (both.receiver.queue().inside().empty()) both.receiver.interface().run();
    }
    OwnReceiver next{both.receiver, count};
    while (both.receiver.poll()) {
    }
    EXPECT_EQ(sum, 0u);
    const Ticket ticket = next.ticket();
    ASSERT_EQ(both.sender.terminus().connect(ticket, kPatience), Status::ok);
    ASSERT_EQ(both.sender.terminus().send_fast(ticket, {}, 6), Status::ok);
    EXPECT_EQ(both.receiver.wait(kPatience), Status::ok);
    EXPECT_EQ(sum, 6u);
  });
}

TEST_F(Protocols, a_descriptor_tells_of_arrivals) {
  with_both([](Managers& both) {
    DatagramReceiver door{both.receiver, 64};
    DatagramSender sender{both.sender, door.make_seed()};
    Datagram datagram;
    pollfd waiting{both.receiver.descriptor(), POLLIN, 0};
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(door.receive(datagram, 0ns), Status::timed_out);
      while (both.receiver.poll()) {
      }
      ASSERT_EQ(sender.deliver(bytes_of("x"), kPatience), Status::ok);
      ASSERT_EQ(poll(&waiting, 1, 30000), 1);
      ASSERT_EQ(door.receive(datagram, kPatience), Status::ok);
      ASSERT_EQ(door.make_ready(), Status::ok);
    }
  });
}

TEST_F(Protocols, waits_end_when_cancelled_and_when_their_object_goes) {
  with_both([](Managers& both) {
    std::optional<DatagramReceiver> door{std::in_place, both.receiver, 64};
    Datagram datagram;
    Status status = Status::ok;
    std::thread waits([&] { status = door->receive(datagram, kPatience); });
    while (!waiting_in(both.receiver)) std::this_thread::yield();
    both.receiver.cancel();
    waits.join();
    EXPECT_EQ(status, Status::cancelled);
    std::thread waits_again([&] { status = door->receive(datagram, kPatience); });
    while (!waiting_in(both.receiver)) std::this_thread::yield();
    door.reset();
    waits_again.join();
    EXPECT_EQ(status, Status::cancelled);
  });
}

}  // namespace
}  // namespace hamlyn::test
