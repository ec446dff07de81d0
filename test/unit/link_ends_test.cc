// What the end of a link, a slot or an opening looks at: what that had, whatever others have.
#include <gtest/gtest.h>

#include <list>

#include "interface/deposit.h"
#include "test/support/receiving.h"
#include "test/unit/no_link.h"

namespace hamlyn::internal_::interface {
namespace {

using test::NoLink;
using test::TestSlot;

constexpr std::uint32_t kEntries = 1u << 16;
constexpr std::uint64_t kMostAtOnce = 32 * kFillBlock;  // entries, of one run

class LinkEnds : public testing::Test {
 protected:
  ~LinkEnds() override {
    slots.clear();
    for (NoLink& link : links) core.end_link(link);
  }
  NoLink& link(std::uint64_t peer) {
    links.emplace_back(peer);
    core.add_link(links.back());
    return links.back();
  }
  void end(NoLink& link) {
    core.end_link(link);
    links.remove_if([&](const NoLink& each) { return &each == &link; });
  }
  TestSlot& slot(const Slot::Options& options) {
    return *slots.emplace_back(std::make_unique<TestSlot>(party, area, queue, options));
  }
  // The first of two packets of a message.
  void begin(NoLink& by, TestSlot& slot, std::uint32_t entry) {
    Packet packet{};
    set_lead(packet, Operation::write, 8, 0);
    set_slot(packet, slot.ticket(entry));
    set_entry(packet, entry, 1);
    packet.word = message_word(7, slot.entry(entry).incarnation);
    ASSERT_EQ(core.deposit(by, packet, {}), Refusal::none);
  }
  // An opening by the link's credit of that number; the places that it is granted.
  std::uint32_t open(NoLink& by, TestSlot& slot, std::uint64_t credit) {
    Packet packet{};
    packet.lead.operation = Operation::open;
    set_slot(packet, slot.ticket());
    packet.word = credit_word(credit, ++questions);
    EXPECT_EQ(core.deposit(by, packet, {}), Refusal::none);
    core.run();
    return by.replies.empty() ? 0 : by.replies.back().delta;
  }
  // What is looked at while that is done.
  template <class What>
  std::uint64_t looks(What what) {
    const std::uint64_t before = core.looks();
    what();
    return core.looks() - before;
  }
  std::size_t failed() {
    std::size_t count = 0;
    while (const auto n = test::take(party, queue)) count += n->kind == Notification::Kind::failed ? 1u : 0u;
    return count;
  }

  test::Party party{1};
  Core& core = party.core;
  test::Area area{4096};
  Queue* queue = core.make_queue(8192);
  std::list<NoLink> links;
  std::vector<std::unique_ptr<TestSlot>> slots;
  std::uint64_t questions = 0;
};

TEST_F(LinkEnds, LookAtTheEntriesThatTheyWereToFillAndNotAtOthers) {
  TestSlot& many = slot({.entries = kEntries});
  TestSlot& few = slot({.entries = 2});
  NoLink& one = link(11);
  NoLink& other = link(12);
  NoLink& idle = link(13);
  begin(one, many, 40'000);
  begin(one, few, 1);
  for (std::uint32_t entry = 0; entry < 30'000; entry += 10) begin(other, many, entry);
  EXPECT_EQ(looks([&] { end(idle); }), 0u);
  EXPECT_EQ(looks([&] { end(one); }), kFillBlock + 2);
  EXPECT_EQ(failed(), 2u);
  EXPECT_EQ(many.entry(10).state, EntryState::filling) << "others' go on";
}

TEST_F(LinkEnds, LookAtSoManyEntriesAtOnceAndAtTheOthersLater) {
  TestSlot& many = slot({.entries = kEntries});
  NoLink& one = link(11);
  constexpr std::uint32_t kBegun = kEntries / kFillBlock / 4;  // blocks
  for (std::uint32_t i = 0; i < kBegun; ++i) begin(one, many, i * 4 * kFillBlock);
  EXPECT_LE(looks([&] { end(one); }), kMostAtOnce);
  NoLink& next = link(11);  // of the same peer, and perhaps at the same place
  begin(next, many, 1);
  std::size_t all = failed();
  EXPECT_LE(all, 32u);
  for (int runs = 0; core.something_to_do() && runs < 100; ++runs) {
    EXPECT_LE(looks([&] { core.run(); }), kMostAtOnce);
    all += failed();
  }
  EXPECT_EQ(all, kBegun) << "and each fails once";
  EXPECT_FALSE(core.something_to_do());
  EXPECT_EQ(many.entry(1).state, EntryState::filling) << "the next link's goes on";
}

TEST_F(LinkEnds, FailWhatWaitedForThemByName) {
  TestSlot& many = slot({.entries = kEntries});
  link(12);
  NoLink& one = link(11);
  ASSERT_EQ(core.expect(many.index(), 50'000, 11), Status::ok);
  EXPECT_EQ(many.disarm(7), Status::ok);
  ASSERT_TRUE(many.arm_group(7, 2).left() != 0);
  ASSERT_EQ(core.expect(many.index(), 7, 11), Status::ok);
  EXPECT_EQ(looks([&] { end(one); }), 2 * kFillBlock);
  EXPECT_EQ(failed(), 2u);
}

TEST_F(LinkEnds, LookAtNothingOfASlotThatHasGone) {
  TestSlot& many = slot({.entries = kEntries});
  NoLink& one = link(11);
  begin(one, many, 40'000);
  many.drop();
  EXPECT_EQ(looks([&] { end(one); }), 0u);
  EXPECT_EQ(failed(), 0u);
}

TEST_F(LinkEnds, AreRememberedWhenLinksAndSlotsHaveBecomeMany) {
  TestSlot& many = slot({.entries = kEntries});
  NoLink& one = link(11);
  begin(one, many, 40'000);
  for (std::uint64_t peer = 100; peer < 300; ++peer) link(peer);
  for (int i = 0; i < 200; ++i) slot({.entries = 1});
  NoLink& last = link(12);
  begin(last, *slots.back(), 0);
  EXPECT_EQ(looks([&] { end(one); }), kFillBlock);
  EXPECT_EQ(looks([&] { end(last); }), 1u);
  EXPECT_EQ(failed(), 2u);
}

TEST_F(LinkEnds, AndSlotsEndsLookAtTheirOwnOpenings) {
  TestSlot& one = slot({.entries = 0, .places = 2});
  TestSlot& other = slot({.entries = 0, .places = 2});
  for (std::uint64_t peer = 100; peer < 200; ++peer) EXPECT_EQ(open(link(peer), one, 0), 2u);
  NoLink& last = link(11);
  EXPECT_EQ(open(last, one, 0), 2u);
  EXPECT_EQ(open(last, other, 1), 2u);
  EXPECT_EQ(looks([&] { end(links.front()); }), 1u);
  EXPECT_EQ(looks([&] { other.drop(); }), 1u) << "not at a hundred of another slot";
  EXPECT_EQ(looks([&] { one.change_key(); }), 100u);
  EXPECT_EQ(looks([&] { one.change_key(); }), 0u) << "nobody has one now";
  EXPECT_EQ(queue->reserved(), 0u);
}

// Each question that gives an opening back counts what stands of earlier ones of that link, and of no other.
TEST_F(LinkEnds, AndOpeningsThatAreGivenBackAreCountedByTheirLink) {
  TestSlot& one = slot({.entries = 0, .places = 2});
  const auto send = [&](NoLink& by) {
    Packet packet{};
    set_lead(packet, Operation::write, 8, 0);
    set_slot(packet, one.ticket());
    set_entry(packet, kNoEntry, by.replies.back().entry);
    ASSERT_EQ(core.deposit(by, packet, {}), Refusal::none);
  };
  for (std::uint64_t peer = 100; peer < 150; ++peer) {
    NoLink& each = link(peer);
    EXPECT_EQ(open(each, one, 0), 2u);
    send(each);
    EXPECT_EQ(open(each, one, 0), 1u) << "one of the first opening stands unread";
  }
  NoLink& last = link(11);
  EXPECT_EQ(open(last, one, 0), 2u);
  send(last);
  EXPECT_EQ(looks([&] { EXPECT_EQ(open(last, one, 0), 1u); }), 1u);
  EXPECT_EQ(failed(), 0u);  // takes all that stands
  EXPECT_EQ(looks([&] { EXPECT_EQ(open(last, one, 0), 2u); }), 0u);
  EXPECT_EQ(looks([&] { end(last); }), 1u);
}

TEST_F(LinkEnds, TellEachQueueThatTheyHadAPartInOnce) {
  Queue* const second = core.make_queue(64);
  TestSlot& one = slot({.entries = 0, .places = 2});
  slots.push_back(std::make_unique<TestSlot>(party, area, second, Slot::Options{.entries = 0, .places = 2}));
  slots.push_back(std::make_unique<TestSlot>(party, area, second, Slot::Options{.entries = 0, .places = 2}));
  NoLink& by = link(11);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(open(by, *slots[i], i), 2u);
  EXPECT_EQ(one.index(), slots[0]->index());
  end(by);
  for (Queue* each : {queue, second}) {
    const auto n = test::take(party, each);
    ASSERT_TRUE(n);
    EXPECT_EQ(n->kind, Notification::Kind::link_ended);
    EXPECT_FALSE(test::take(party, each));
  }
}

// However many ask, what this process has too little of is told of by one notification at a time.
TEST_F(LinkEnds, that_could_not_begin_for_want_of_something_here_are_told_of_once_until_that_is_read) {
  const WhyNoLink none_left{LinkReason::no_descriptors, false};
  for (std::uint64_t peer = 1000; peer < 2000; ++peer) core.refuse_link(peer, none_left, false);
  core.refuse_link(7, {LinkReason::no_memory, false}, true);       // wanted by this process itself
  core.refuse_link(8, {LinkReason::no_memory, true}, false);       // the other side's own
  core.refuse_link(9, {LinkReason::not_permitted, false}, false);  // nothing has run out
  EXPECT_EQ(core.last_lack(), none_left);
  const auto first = test::take(party, queue), rest = test::take(party, queue);
  ASSERT_TRUE(first && rest);
  EXPECT_EQ(first->kind, Notification::Kind::resource_exhausted);
  EXPECT_EQ(first->cause, Refusal::none);
  EXPECT_EQ(first->why(), none_left);
  EXPECT_EQ(first->word, 1u);
  EXPECT_EQ(first->peer, 1000u);
  EXPECT_EQ(rest->word, 999u) << "what came meanwhile";
  EXPECT_EQ(rest->peer, 1999u);
  EXPECT_FALSE(test::take(party, queue));
  core.refuse_link(1, none_left, false);
  EXPECT_EQ(test::take(party, queue)->word, 1u) << "and the next one is news again";
  link(77);
  EXPECT_EQ(core.last_lack(), WhyNoLink{}) << "there is enough for one again";
}

// Why none could be had stands until there is one, however many tries come to nothing meanwhile.
TEST_F(LinkEnds, of_links_that_were_never_made_do_not_replace_why_none_could_be_had) {
  const WhyNoLink never{LinkReason::no_connection, false};
  const auto ends = [&](bool made, WhyNoLink why) {
    NoLink& each = links.emplace_back(11);
    each.is_made = made;
    core.add_link(each);
    core.end_link(each, why);
    links.clear();
    return core.link_ends().of(11);
  };
  const WhyNoLink over{LinkReason::ended, false}, restarted{LinkReason::daemon_restarted, false};
  EXPECT_EQ(ends(false, over), over) << "nothing else is known";
  EXPECT_EQ(ends(false, never), never);
  EXPECT_EQ(ends(false, over), never);
  EXPECT_EQ(ends(false, restarted), never);
  const WhyNoLink full{LinkReason::too_many_links, true};
  EXPECT_EQ(ends(false, full), full) << "another reason of the same kind is news";
  EXPECT_EQ(ends(true, over), over) << "there was one";
}

}  // namespace
}  // namespace hamlyn::internal_::interface
