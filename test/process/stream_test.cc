// Streams between two managers: what they carry, and their seeds.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "test/process/streams.h"

namespace hamlyn::test {
namespace {

// --- as it should be

TEST_F(Streams, records_come_in_order_and_the_end_is_told) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const auto sender = grow(both, receiver.make_seed(), {.linger = StreamSender::kOnlyOnFlush});
    EXPECT_EQ(receiver.sender(), both.sender.interface().id());
    EXPECT_EQ(sender->send("one"), Status::ok);
    EXPECT_EQ(sender->send(""), Status::ok);
    EXPECT_EQ(sender->send("three"), Status::ok);
    Record record;
    EXPECT_EQ(receiver.receive(record, 0ns), Status::timed_out) << "nothing was flushed";
    EXPECT_EQ(sender->flush(), Status::ok);
    std::vector<std::string> all;
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
      EXPECT_EQ(record.number(), static_cast<std::uint64_t>(i + 1));
      all.emplace_back(record.text());
    }
    EXPECT_EQ(all, (std::vector<std::string>{"one", "", "three"}));
    EXPECT_EQ(receiver.release(record), Status::ok);
    EXPECT_EQ(receiver.release(Record({}, 4)), Status::invalid) << "nobody was given that";
    EXPECT_EQ(close(both, *sender), Status::ok);
    EXPECT_EQ(sender->close(), Status::ok) << "once more";
    EXPECT_EQ(sender->send("late"), Status::closed);
    EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
  });
}

// Every length around the borders of what is put together, of a packet, and of the rings.
TEST_F(Streams, records_of_every_length_arrive_whole) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver, {.first = 4096, .most = 1 << 20}};
    const auto sender = grow(both, receiver.make_seed());
    std::vector<std::size_t> lengths;
    for (const std::size_t around : {0u, 64u, 1024u, 4096u, 8192u, 65536u, 300000u, 1048576u}) {
      for (std::size_t bytes = around < 3 ? 0 : around - 3; bytes <= around + 3; ++bytes) {
        if (bytes <= 1048576) lengths.push_back(bytes);
      }
    }
    std::thread sends([&] {
      for (unsigned i = 0; i < lengths.size(); ++i)
        ASSERT_EQ(sender->send(text_of_record(i, lengths[i])), Status::ok);
      EXPECT_EQ(sender->send(std::string(1048577, 'x')), Status::too_long);
      EXPECT_EQ(sender->close(kPatience), Status::ok);
    });
    for (unsigned i = 0; i < lengths.size(); ++i) {
      Record record;
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
      ASSERT_EQ(record.bytes().size(), lengths[i]);
      EXPECT_TRUE(record.text() == text_of_record(i, lengths[i])) << lengths[i];
      ASSERT_EQ(receiver.release(record), Status::ok);
    }
    Record record;
    EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
    sends.join();
  });
}

// Also behind records that were put together, and the last ones when the area is shown to the receiver.
TEST_F(Streams, records_out_of_an_area_arrive_whole_and_in_turn) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const auto sender = grow(both, receiver.make_seed());
    constexpr std::size_t kLengths[] = {0, 1, 4095, 4096, 65537, 300000};
    constexpr unsigned kRounds = 20;
    std::thread sends([&] {
      SendBufferArea area{both.sender.interface(), 300000};
      ASSERT_EQ(sender->bind(3, area), Status::ok);
      unsigned number = 0;
      for (unsigned round = 0; round < kRounds; ++round) {
        for (const std::size_t length : kLengths) {
          ASSERT_EQ(sender->send(text_of_record(number++, 10)), Status::ok);
          std::memcpy(area.bytes().data(), text_of_record(number++, length).data(), length);
          SendHandle handle;
          ASSERT_EQ(sender->send(Piece{3, 0, length}, handle), Status::ok);
          ASSERT_EQ(sender->send(text_of_record(number++, 10)), Status::ok);
          ASSERT_EQ(sender->wait(handle), Status::ok);
          std::memset(area.bytes().data(), 0xEE, length);
        }
      }
      EXPECT_EQ(sender->close(kPatience), Status::ok);
    });
    Record record;
    for (unsigned number = 0; number < 3 * kRounds * std::size(kLengths); ++number) {
      const std::size_t length = number % 3 == 1 ? kLengths[number / 3 % std::size(kLengths)] : 10;
      ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
      ASSERT_EQ(record.bytes().size(), length) << number;
      EXPECT_TRUE(record.text() == text_of_record(number, length)) << number;
      ASSERT_EQ(receiver.release(record), Status::ok);
    }
    EXPECT_EQ(receiver.receive(record, kPatience), Status::closed);
    sends.join();
  });
}

TEST_F(Streams, pieces_that_there_are_not_are_refused_and_end_nothing) {
  NEEDS_TWO("the other manager's area is of no use to the sender");
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver, {.first = 65536, .most = 65536}};
    const auto sender = grow(both, receiver.make_seed());
    SendBufferArea area{both.sender.interface(), 131072}, of_another{both.receiver.interface(), 4096};
    SendHandle handle{1, 1};
    EXPECT_EQ(sender->send(Piece{0, 0, 4096}, handle), Status::invalid) << "nothing is bound";
    EXPECT_EQ(handle.sequence, 0u);
    EXPECT_EQ(sender->wait(handle), Status::ok);
    EXPECT_EQ(sender->bind(8, area), Status::invalid);
    EXPECT_EQ(sender->bind(0, of_another), Status::invalid);
    ASSERT_EQ(sender->bind(0, area), Status::ok);
    EXPECT_EQ(sender->send(Piece{0, 131000, 4096}, handle), Status::out_of_bounds);
    EXPECT_EQ(sender->send(Piece{0, 0, 65537}, handle), Status::too_long);
    EXPECT_EQ(sender->send(Piece{0, 0, 65536}, handle), Status::ok);
    Record record;
    ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
    EXPECT_EQ(record.bytes().size(), 65536u);
    EXPECT_EQ(receiver.release(record), Status::ok);
    EXPECT_EQ(close(both, *sender), Status::ok);
  });
}

// Also of those that are put together before anybody looks where they go.
TEST_F(Streams, no_record_is_longer_than_the_receiver_takes) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver, {.first = 512, .most = 512}};
    const auto sender = grow(both, receiver.make_seed());
    EXPECT_EQ(sender->send(text_of_record(0, 512)), Status::ok);
    EXPECT_EQ(sender->send(text_of_record(1, 513)), Status::too_long);
    EXPECT_EQ(sender->flush(), Status::ok);
    Record record;
    ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
    EXPECT_TRUE(record.text() == text_of_record(0, 512));
    EXPECT_EQ(receiver.release(record), Status::ok);
    EXPECT_EQ(close(both, *sender), Status::ok);
  });
}

TEST_F(Streams, what_is_not_released_stays_and_holds_the_sender_back) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver, {.first = 4096, .most = 8192, .parcels = 8}};
    const auto sender = grow(both, receiver.make_seed());
    const std::string text = text_of_record(1, 2000);
    std::vector<Record> held;
    std::size_t sent = 0;
    Record record;
    for (int quiet = 0; quiet < 50; ++quiet) {
      if (sender->send(bytes_of(text), 1ms) == Status::ok) {
        ++sent;
        quiet = 0;
      }
      while (receiver.receive(record, 0ns) == Status::ok) held.push_back(record);
    }
    EXPECT_EQ(sent, 6u) << "two in the first buffer, four in the second";
    EXPECT_EQ(held.size(), sent);
    for (const Record& each : held) EXPECT_TRUE(each.text() == text);
    EXPECT_EQ(receiver.release(held[2]), Status::ok);
    Status status = Status::timed_out;
    for (int i = 0; i < 1000 && status == Status::timed_out; ++i) {
      both.receiver.poll();
      status = sender->send(bytes_of(text), 1ms);
    }
    EXPECT_EQ(status, Status::ok);
    for (std::size_t i = 3; i < held.size(); ++i) EXPECT_TRUE(held[i].text() == text);
  });
}

TEST_F(Streams, are_bytes_for_who_wants_bytes) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const auto sender = grow(both, receiver.make_seed());
    const std::string all = noise(700000, 5);
    std::thread writes([&] {
      std::size_t at = 0;
      for (std::size_t part = 1; at < all.size(); at += part, part = part * 3 % 90001 + 1) {
        part = std::min(part, all.size() - at);
        ASSERT_EQ(sender->write(bytes_of(std::string_view(all).substr(at, part))), Status::ok);
      }
      EXPECT_EQ(sender->close(kPatience), Status::ok);
    });
    std::string found;
    for (std::size_t want = 1;; want = want * 5 % 70001 + 1) {
      std::vector<std::byte> buffer(want);
      std::size_t count = 0;
      const Status status = receiver.read(buffer, count, kPatience);
      if (status != Status::ok) {
        EXPECT_EQ(status, Status::closed);
        EXPECT_EQ(count, 0u);
        break;
      }
      found += text_of(std::span(buffer).first(count));
    }
    EXPECT_TRUE(found == all);
    writes.join();
  });
}

TEST_F(Streams, a_receiver_takes_one_stream_after_another) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    for (int i = 0; i < 20; ++i) {
      const auto sender = grow(both, receiver.make_seed());
      EXPECT_EQ(thrown_by([&] { static_cast<void>(receiver.make_seed()); }), ErrorCode::invalid_argument);
      ASSERT_EQ(sender->send(std::to_string(i)), Status::ok);
      ASSERT_EQ(close(both, *sender), Status::ok);
      int found = 0;
      for (const Record& record : receiver) found += record.text() == std::to_string(i);
      EXPECT_EQ(found, 1);
    }
  });
}

TEST_F(Streams, what_was_put_together_leaves_before_its_sender_waits) {
  with_both([](Managers& both) {
    StreamReceiver there{both.receiver}, here{both.sender};
    const auto to = grow(both, there.make_seed());
    std::thread answers([&, seed = here.make_seed()] {
      StreamSender back{both.receiver, seed};
      for (const Record& record : there) EXPECT_EQ(back.send(record.text()), Status::ok);
      EXPECT_EQ(back.close(kPatience), Status::ok);
    });
    for (int i = 0; i < 100; ++i) {
      Record record;
      ASSERT_EQ(to->send(std::to_string(i)), Status::ok);
      ASSERT_EQ(here.receive(record, kPatience), Status::ok) << "nobody has flushed";
      EXPECT_EQ(record.text(), std::to_string(i));
      EXPECT_EQ(here.release(record), Status::ok);
    }
    EXPECT_EQ(to->close(kPatience), Status::ok);
    Record record;
    EXPECT_EQ(here.receive(record, kPatience), Status::closed);
    answers.join();
  });
}

// --- seeds

TEST_F(Streams, a_seed_grows_one_sender) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const Seed seed = receiver.make_seed();
    const auto sender = grow(both, seed);
    EXPECT_EQ(refused(both, seed), ErrorCode::seed_used);
    ASSERT_EQ(sender->send("still good"), Status::ok);
    ASSERT_EQ(close(both, *sender), Status::ok);
    Record record;
    ASSERT_EQ(receiver.receive(record, kPatience), Status::ok);
    EXPECT_EQ(record.text(), "still good");
  });
}

TEST_F(Streams, seeds_that_are_stale_or_forged_are_told_by_name) {
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const Seed old = receiver.make_seed();
    Seed seed = receiver.make_seed();
    EXPECT_EQ(refused(both, old), ErrorCode::seed_forged) << "its key opens nothing any more";
    Seed forged = seed;
    forged.ticket.key += 1;
    EXPECT_EQ(refused(both, forged), ErrorCode::seed_forged);
    forged = seed;
    forged.ticket.slot = 60000;
    EXPECT_EQ(refused(both, forged), ErrorCode::seed_stale);
    forged = seed;
    forged.ticket.interface = 1u << 30;
    EXPECT_EQ(refused(both, forged), ErrorCode::peer_died) << "the node knows no such interface";
    DatagramReceiver datagrams{both.receiver, 100};
    EXPECT_EQ(refused(both, datagrams.make_seed()), ErrorCode::seed_wrong_kind);
    EXPECT_EQ(refused(both, Seed{}), ErrorCode::seed_invalid);
    {
      StreamReceiver gone{both.receiver};
      forged = gone.make_seed();
    }
    EXPECT_EQ(refused(both, forged), ErrorCode::seed_stale);
    EXPECT_NE(grow(both, seed), nullptr) << "the good one is still good";
  });
}

class Choosy : public StreamReceiver {
 public:
  using StreamReceiver::StreamReceiver;
  ~Choosy() override { retire(); }
  std::uint64_t wanted = 0;

 protected:
  bool admit(std::uint64_t sender) noexcept override { return sender == wanted; }
};

TEST_F(Streams, a_receiver_can_refuse_a_sender_and_its_seed_stays_good) {
  with_both([](Managers& both) {
    Choosy receiver{both.receiver};
    const Seed seed = receiver.make_seed();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(refused(both, seed), ErrorCode::peer_refused);
    receiver.wanted = both.sender.interface().id();
    EXPECT_NE(grow(both, seed), nullptr);
  });
}

TEST_F(Streams, nobody_looks_and_the_opening_ends_in_time) {
  NEEDS_TWO("whoever opens looks");
  with_both([](Managers& both) {
    StreamReceiver receiver{both.receiver};
    const Seed seed = receiver.make_seed();
    EXPECT_EQ(thrown_by([&] { StreamSender(both.sender, seed, {.timeout = 20ms}); }), ErrorCode::timed_out);
  });
}

TEST_F(Streams, options_that_cannot_be_are_refused) {
  with_both([](Managers& both) {
    for (const StreamOptions& bad :
         {StreamOptions{.first = 0}, StreamOptions{.first = 100},
          StreamOptions{.first = 1 << 20, .most = 65536}, StreamOptions{.parcels = 2},
          StreamOptions{.parcels = 65}, StreamOptions{.parcels = 8192}})
      EXPECT_EQ(thrown_by([&] { StreamReceiver(both.receiver, bad); }), ErrorCode::invalid_argument);
  });
}

}  // namespace
}  // namespace hamlyn::test
