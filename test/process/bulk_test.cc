// Bulk transfer into negotiated space, between two interfaces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "hamlyn/hamlyn.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

std::vector<std::byte> bytes_of(std::size_t size, unsigned seed) {
  const std::string text = noise(size, seed);
  std::vector<std::byte> out(size);
  std::memcpy(out.data(), text.data(), size);
  return out;
}

struct Sides {
  Sides(const Interface::Options& there, const Interface::Options& here) : receiver(there), sender(here) {}
  Interface receiver, sender;
  NotificationQueue queue{receiver};
  Terminus terminus{sender};

  Status send(const Ticket& ticket, std::span<const std::byte> data) {
    SendHandle handle;
    const Status status = terminus.send(ticket, data, {.acknowledged = true}, &handle);
    return status == Status::pending ? terminus.wait(handle, kPatience) : status;
  }
  Notification next() {
    Notification arrival;
    EXPECT_EQ(queue.receive(arrival, kPatience), Status::ok);
    return arrival;
  }
};

class Bulk : public OnNodes {
 protected:
  void with_both(const std::function<void(Sides&)>& work) {
    in_child([&] {
      Sides sides(options(), other_options());
      work(sides);
    });
  }
};

TEST_F(Bulk, space_takes_one_message_and_nothing_more) {
  with_both([](Sides& sides) {
    const std::vector<std::byte> data = bytes_of(100000, 1);
    Ticket offer;
    {
      BulkSpace space(sides.queue, data.size());
      offer = space.offer();
      ASSERT_EQ(sides.send(offer, data), Status::ok);
      const Notification arrival = sides.next();
      ASSERT_TRUE(space.holds(arrival));
      EXPECT_TRUE(std::ranges::equal(space.bytes(arrival), data));
      EXPECT_EQ(sides.send(offer, std::span(data).first(1)), Status::refused) << "used twice";
      EXPECT_EQ(sides.next().cause, Refusal::entry_not_armed);
      EXPECT_TRUE(std::ranges::equal(space.bytes(arrival), data));
    }
    EXPECT_EQ(sides.send(offer, std::span(data).first(1)), Status::refused) << "nobody's any more";
    EXPECT_EQ(sides.next().cause, Refusal::stale_generation);
  });
}

// Whoever holds spaces finds by what comes which of them it is of, also behind the end of one.
TEST_F(Bulk, what_was_told_of_a_space_that_has_gone_is_held_by_none_that_is_made_later) {
  with_both([](Sides& sides) {
    {
      BulkSpace gone(sides.queue, 100);
      ASSERT_EQ(sides.send(gone.offer(), bytes_of(100, 1)), Status::ok);
    }
    BulkSpace space(sides.queue, 100);
    BulkRing ring(sides.queue, 100, 1);
    const Notification arrival = sides.next();
    EXPECT_EQ(arrival.kind, Notification::Kind::message);
    EXPECT_FALSE(space.holds(arrival));
    EXPECT_FALSE(ring.holds(arrival));
    const std::vector<std::byte> data = bytes_of(100, 2);
    ASSERT_EQ(sides.send(space.offer(), data), Status::ok);
    const Notification own = sides.next();
    ASSERT_TRUE(space.holds(own));
    EXPECT_TRUE(std::ranges::equal(space.bytes(own), data));
  });
}

TEST_F(Bulk, space_has_bounds_that_hold_at_both_ends) {
  with_both([](Sides& sides) {
    BulkSpace space(sides.queue, 100), neighbour(sides.queue, 100);
    const std::vector<std::byte> data(200);
    EXPECT_EQ(sides.send(space.offer(), data), Status::out_of_bounds);
    Ticket wider = space.offer();
    wider.bound = 200;  // a sender that helps itself
    EXPECT_EQ(sides.send(wider, data), Status::refused);
    EXPECT_EQ(sides.next().cause, Refusal::out_of_bounds);
    EXPECT_EQ(sides.send(space.offer(), std::span(data).first(100)), Status::ok) << "the space is still good";
  });
}

TEST_F(Bulk, a_ring_passes_pieces_in_order_and_reuses_what_was_freed) {
  with_both([](Sides& sides) {
    BulkRing ring(sides.queue, 4096, 5);
    BulkRingSender sender(sides.terminus, ring.offer());
    constexpr unsigned kPieces = 400;
    const auto size_of = [](unsigned piece) { return 1 + piece * 977 % 4096; };
    std::vector<std::vector<std::byte>> kept;  // until all have left
    unsigned sent = 0, taken = 0;
    bool was_full = false;
    while (taken < kPieces) {
      while (sent < kPieces) {
        kept.push_back(bytes_of(size_of(sent), sent));
        const Status status = sender.send(kept.back());
        if (status != Status::ok && status != Status::pending) {
          ASSERT_EQ(status, Status::no_place);
          kept.pop_back();
          was_full = true;
          break;
        }
        ++sent;
      }
      EXPECT_LE(sender.unfreed_pieces(), 5u);
      const Notification arrival = sides.next();
      ASSERT_TRUE(ring.arrived(arrival)) << name(arrival.cause);
      while (const auto piece = ring.next()) {
        ASSERT_TRUE(std::ranges::equal(*piece, kept[taken])) << taken;
        ++taken;
        ASSERT_TRUE(ring.free());
      }
      ASSERT_TRUE(sender.freed(ring.freed()));  // as if it had come with a reply
      sides.sender.run();
    }
    EXPECT_TRUE(was_full);
    EXPECT_FALSE(ring.free()) << "nothing was taken that is not free";
    EXPECT_EQ(sender.unfreed_pieces(), 0u);
  });
}

TEST_F(Bulk, a_ring_refuses_what_its_sender_may_not_have) {
  with_both([](Sides& sides) {
    BulkRing ring(sides.queue, 1000, 2);
    BulkRingSender sender(sides.terminus, ring.offer());
    const std::vector<std::byte> data(1001);
    EXPECT_EQ(sender.send(data), Status::too_long);
    EXPECT_EQ(sender.send({}), Status::invalid);
    ASSERT_EQ(sides.send(ring.offer().ticket, std::span(data).first(600)), Status::ok)
        << "by hand, the first";
    ASSERT_TRUE(ring.arrived(sides.next()));
    EXPECT_EQ(sides.send(ring.offer().ticket, std::span(data).first(1)), Status::refused)
        << "before it is free";
    EXPECT_FALSE(ring.arrived(sides.next())) << "no piece: somebody was refused";
    Ticket beyond = ring.offer().ticket;
    beyond.entry = 2;
    EXPECT_EQ(sides.send(beyond, std::span(data).first(1)), Status::refused);
    EXPECT_FALSE(ring.arrived(sides.next()));
    ASSERT_TRUE(ring.next());
    EXPECT_FALSE(ring.next());
  });
}

TEST_F(Bulk, offers_and_answers_that_cannot_be_are_refused) {
  with_both([](Sides& sides) {
    BulkRing ring(sides.queue, 1000, 2);
    const BulkRingOffer good = ring.offer();
    EXPECT_EQ(invalid(good), nullptr);
    for (int fault = 0; fault < 5; ++fault) {
      BulkRingOffer offer = good;
      if (fault == 0) offer.pieces = 0;
      if (fault == 1) offer.pieces = 4097;
      if (fault == 2) offer.version = 2;
      if (fault == 3) offer.ticket.bound = 0;
      if (fault == 4) offer.ticket.entry = 1;
      EXPECT_NE(invalid(offer), nullptr) << fault;
      EXPECT_THROW(BulkRingSender(sides.terminus, offer), Error) << fault;
    }
    BulkRingSender sender(sides.terminus, good);
    static const std::vector<std::byte> data(300);  // may be on its way longer than this test
    ASSERT_NE(sender.send(data), Status::no_place);
    EXPECT_FALSE(sender.freed({2, 300})) << "more than was sent";
    EXPECT_FALSE(sender.freed({1, 301}));
    EXPECT_TRUE(sender.freed({1, 300}));
    EXPECT_TRUE(sender.freed({0, 0})) << "overtaken";
    EXPECT_EQ(sender.unfreed_pieces(), 0u);
    EXPECT_THROW(BulkRing(sides.queue, 1000, 0), Error);
    EXPECT_THROW(BulkRing(sides.queue, 1000, 4097), Error);
  });
}

}  // namespace
}  // namespace hamlyn::test
