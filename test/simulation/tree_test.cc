// Multicast along a tree, for lists that are too long for one sender (paper 1, sections 2.4 and 3.5.3): each
// member holds the tickets of its own children and no others, sends on from where the message landed, and
// answers to the root by a share of one group, so that the root has one notification when all have answered.
#include <gtest/gtest.h>

#include <memory>

#include "fabric/sim/sim_link.h"
#include "hamlyn/core/multicast.h"
#include "interface/terminus.h"
#include "test/support/receiving.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kFanOut = 3;
constexpr std::uint64_t kDeadline = 100000;
constexpr std::size_t kMark = 8;  // bytes of an answer

// The root is member 0; it answers nobody.
struct TreeMember {
  explicit TreeMember(std::uint64_t number) : party(number) {}

  Party party;
  Area area{4096};
  interface::Queue* queue = party.core.make_queue(16);
  // Of a parent's ticket, one message can be made per arming.
  TestSlot slot{party, area, queue, {.mode = Mode::paranoid_one_shot, .entries = 1, .fast = false}};
  interface::Terminus terminus {
    party.core, 63
  };
  std::vector<Ticket> children;
  Share answer;
  std::vector<SendHandle> sent;
  std::size_t landed = 0;
  bool alive = true;
};

class Trees : public testing::Test {
 protected:
  ~Trees() override {
    for (Ends& ends : ends_) {
      if (!ends.over) end(ends);
    }
  }

  void make(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) members_.push_back(std::make_unique<TreeMember>(i + 1));
    for (std::size_t i = 1; i < count; ++i) static_cast<void>(members_[i]->slot.arm(0, {0, 2048}));
    TreeMember& root = *members_[0];
    answers_ = std::make_unique<TestSlot>(root.party, answer_area_, root.queue,
                                          Slot::Options{.entries = 1, .fast = false});
    ASSERT_EQ(answers_->disarm(0), Status::ok);
    GroupShares shares = answers_->arm_group(0, static_cast<std::uint32_t>(count - 1));
    ASSERT_EQ(answers_->fail_at(0, kDeadline), Status::ok);
    for (std::size_t i = 1; i < count; ++i)
      ASSERT_EQ(shares.next(members_[i]->answer, {i * kMark, kMark}), Status::ok);
    for (std::size_t i = 0; i < count; ++i) {
      const TreeChildren children = tree_children(i, kFanOut, count);
      for (std::size_t child = children.first; child != children.last; ++child)
        members_[i]->children.push_back(members_[child]->slot.ticket(0));
    }
  }
  void forward(TreeMember& member, std::span<const std::byte> data) {
    for (const Ticket& child : member.children) {
      member.sent.emplace_back();
      const Status status = member.terminus.send(child, data, {.acknowledged = true}, &member.sent.back());
      EXPECT_TRUE(status == Status::pending || status == Status::ok) << name(status);
    }
  }
  void receive(TreeMember& member) {
    while (const std::optional<Notification> n = take(member.party, member.queue)) {
      if (n->kind != Notification::Kind::message) continue;
      ++member.landed;
      EXPECT_TRUE(same(member.slot.bytes(*n), data_));
      forward(member, member.slot.bytes(*n));
      static const std::byte mark[kMark] = {std::byte{1}};
      EXPECT_NE(member.terminus.send(member.answer, mark, {}, nullptr), Status::share_too_small);
    }
  }
  void kill(TreeMember& victim) {
    victim.alive = false;
    for (Ends& ends : ends_) {
      if (ends.one != &victim && ends.other != &victim) continue;
      net_.cut(*ends.at_one);
    }
  }
  // One turn of everybody and of whoever keeps the links. True if anything moved.
  bool turn() {
    bool moved = net_.step();
    net_.settle();
    for (auto& member : members_) {
      if (!member->alive) continue;
      for (const std::uint64_t peer : std::exchange(member->party.wanted, {}))
        join(*member, *members_[peer - 1]);
      moved |= member->party.core.run();
      if (member != members_[0]) receive(*member);
    }
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (!ends_[i].over && ends_[i].at_one->cut()) end(ends_[i]);
    }
    return moved;
  }
  void rest() {
    for (int quiet = 0; quiet < 5;) quiet = turn() ? 0 : quiet + 1;
  }
  std::size_t answered() const {
    std::size_t count = 0;
    for (std::size_t i = 1; i < members_.size(); ++i) {
      if (answer_bytes()[i * kMark] == std::byte{1}) ++count;
    }
    return count;
  }

  std::vector<std::byte> data_ = pattern(1500, 7);  // several packets
  std::vector<std::unique_ptr<TreeMember>> members_;
  std::unique_ptr<TestSlot> answers_;

 private:
  struct Ends {
    TreeMember* one;
    TreeMember* other;
    std::unique_ptr<sim::SimLink> at_one, at_other;
    bool over = false;
  };
  const std::byte* answer_bytes() const { return answers_->base(); }
  void join(TreeMember& one, TreeMember& other) {
    if (!other.alive) return one.party.core.refuse_link(other.party.id, {LinkReason::not_permitted, false});
    if (one.party.core.find_link(other.party.id) != nullptr) return;
    auto [first, second] = net_.join(one.party.id, other.party.id);
    one.party.core.add_link(*first);
    other.party.core.add_link(*second);
    ends_.push_back({&one, &other, std::move(first), std::move(second)});
  }
  void end(Ends& ends) {
    ends.over = true;
    for (auto [member, link] :
         {std::pair(ends.one, ends.at_one.get()), std::pair(ends.other, ends.at_other.get())}) {
      if (member->alive) member->party.core.drain(*link);
      member->party.core.end_link(*link);
    }
  }

  sim::SimNet net_{1996, {.mtu = 512, .window = 4}};
  std::vector<Ends> ends_;
  Area answer_area_{64 * kMark};
};

TEST_F(Trees, reach_everybody_with_few_messages_of_each_and_one_notification) {
  make(40);
  TreeMember& root = *members_[0];
  forward(root, data_);
  rest();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    EXPECT_EQ(members_[i]->landed, i == 0 ? 0u : 1u) << i;
    EXPECT_LE(members_[i]->sent.size(), kFanOut);
    for (const SendHandle handle : members_[i]->sent)
      EXPECT_EQ(members_[i]->terminus.status(handle), Status::ok);
    EXPECT_EQ(members_[i]->party.refused_in_all(), 0u);
  }
  const std::optional<Notification> all = take(root.party, root.queue);
  ASSERT_TRUE(all && all->kind == Notification::Kind::message);
  EXPECT_FALSE(take(root.party, root.queue)) << "one for all";
  EXPECT_EQ(answered(), 39u);
}

TEST_F(Trees, tell_of_a_member_that_dies_and_go_on_beside_it) {
  make(40);
  TreeMember& root = *members_[0];
  const TreeChildren first = tree_children(0, kFanOut, 40);
  TreeMember& victim = *members_[first.first];
  kill(victim);
  forward(root, data_);
  rest();
  EXPECT_EQ(root.terminus.status(root.sent[0]), Status::refused) << "there is no link to it";
  EXPECT_EQ(root.terminus.status(root.sent[1]), Status::ok);
  EXPECT_FALSE(take(root.party, root.queue)) << "not all have answered";
  root.party.core.expire(kDeadline);
  const std::optional<Notification> failed = take(root.party, root.queue);
  ASSERT_TRUE(failed && failed->kind == Notification::Kind::failed);
  // The victim's subtree: itself, 3 and 9 below it.
  EXPECT_EQ(answered(), 39u - 13u);
}

TEST_F(Trees, let_a_member_send_to_its_children_once_and_to_nobody_else) {
  make(13);
  forward(*members_[0], data_);
  rest();
  TreeMember& rogue = *members_[1];
  rogue.sent.clear();
  forward(rogue, data_);
  rest();
  for (const SendHandle handle : rogue.sent) EXPECT_EQ(rogue.terminus.status(handle), Status::refused);
  // The tickets of others are not its to guess.
  Ticket guessed = members_[2]->children.front();
  guessed.key = rogue.children.front().key;
  SendHandle handle;
  static_cast<void>(rogue.terminus.send(guessed, data_, {.acknowledged = true}, &handle));
  rest();
  EXPECT_EQ(rogue.terminus.status(handle), Status::refused);
  for (std::size_t i = 1; i < members_.size(); ++i) EXPECT_EQ(members_[i]->landed, 1u) << i;
}

TEST(TreeShape, has_each_member_once) {
  for (const std::size_t fan_out : {1u, 2u, 3u, 7u}) {
    for (const std::size_t count : {1u, 2u, 5u, 40u}) {
      std::size_t next = 1;
      for (std::size_t i = 0; i < count; ++i) {
        const TreeChildren children = tree_children(i, fan_out, count);
        EXPECT_LE(children.last - children.first, fan_out);
        if (children.first == children.last) continue;
        EXPECT_EQ(children.first, next);
        EXPECT_GT(children.first, i);
        next = children.last;
      }
      EXPECT_EQ(next, count);
    }
  }
}

}  // namespace
}  // namespace hamlyn::test
