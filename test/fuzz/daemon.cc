// The daemon's mind under requests that nobody would write: a day in the life of a few processes that
// connect, leave, and say things that are random, nearly right, or right.
//
// Besides not crashing: nothing is sent to a connection that was dropped, no message is answered by more than
// a page of others, and when all have gone nothing of them is left and users have their whole quotas.
#include <gtest/gtest.h>

#include "test/fuzz/input.h"
#include "test/fuzz/target.h"
#include "test/support/node_world.h"

namespace hamlyn::fuzz {
namespace {

Goal goals[] = {{"interfaces that were attached", 2000},
                {"links that were given", 20},
                {"names that were published", 50}};
Goal &attached = goals[0], &linked = goals[1], &published = goals[2];

constexpr std::uint64_t kKeeper = 1'000'000;

class Day {
 public:
  explicit Day(Input& input) : input_(input), world_(options()) {}

  void live() {
    // Somebody of each user stays all day, so that what is counted for the user is not forgotten with its
    // last process.
    node::Hello observer;
    observer.flags = node::Hello::kObserver;
    for (std::uint32_t user = 0; user < 3; ++user) world_.attach(kKeeper + user, user, user, observer);
    while (!input_.empty()) {
      const std::uint64_t connection = next_ - pick(std::min<std::uint64_t>(next_, 12));  // also one to come
      if (pick(50) == 0) world_.slow.insert(connection);
      if (pick(50) == 0 && world_.slow.erase(connection) != 0) world_.node.caught_up(connection);
      switch (pick(8)) {
        case 0:
          world_.connect(next_, some_user(), some_user());
          ++next_;
          break;
        case 1:
          world_.say(connection, hello(), pick(4) == 0);
          break;
        case 2:
          if (pick(4) == 0) world_.node.disconnected(connection);
          break;
        case 3:
          world_.pass(node::Time{static_cast<std::int64_t>(pick(900))});
          break;
        case 4:
          if (pick(8) == 0) garbage(connection);
          break;
        default:
          world_.say(connection, request());
          break;
      }
      ASSERT_LE(remember(), 128u) << "answers to one message";
      ASSERT_FALSE(world_.called_after_drop);
    }
    // Whatever has happened: when all have gone, nothing of them is left, and users have their whole quotas.
    for (std::uint64_t connection = 1; connection < next_; ++connection) world_.node.disconnected(connection);
    world_.slow.clear();
    world_.pass(node::Time{3000});
    for (std::uint32_t user = 0; user < 3; ++user) ASSERT_NO_FATAL_FAILURE(expect_whole_quota(user));
    for (std::uint32_t user = 0; user < 3; ++user) {
      ASSERT_FALSE(world_.dropped(kKeeper + user));
      world_.node.disconnected(kKeeper + user);
    }
    ASSERT_TRUE(world_.node.empty());
  }

 private:
  node::NodeOptions options() {
    node::NodeOptions out;
    out.quotas = {.interfaces = 3, .links = 6, .bytes = 8 * node::kLinkBytes, .names = 3};
    out.recovering = pick(2) == 0;
    return out;
  }

  std::uint64_t pick(std::uint64_t below) { return input_.pick(below); }
  std::uint32_t some_user() { return static_cast<std::uint32_t>(pick(3)); }
  template <class Value>
  Value lately(const std::vector<Value>& values) {
    return values[values.size() - 1 - pick(std::min<std::size_t>(values.size(), 16))];
  }
  std::uint64_t some_number() {
    if (numbers_.empty() || pick(16) == 0) return input_.number();
    return lately(numbers_);
  }

  // Keeps numbers and tokens that were given out, to be used rightly and wrongly. How many messages were
  // sent.
  std::uint64_t remember() {
    std::uint64_t messages = 0;
    for (auto& [connection, queue] : world_.sent) {
      for (; !queue.empty(); queue.pop_front(), ++messages) {
        if (queue.front().size() == sizeof(node::Welcome)) {
          node::Welcome welcome;
          std::memcpy(&welcome, queue.front().data(), sizeof welcome);
          attached.times += welcome.error == 0 ? 1 : 0;
          numbers_.push_back(welcome.interface);
          tokens_.push_back(welcome.token);
        } else if (queue.front().size() == sizeof(node::Reply)) {
          node::Reply reply;
          std::memcpy(&reply, queue.front().data(), sizeof reply);
          linked.times += reply.kind == node::ReplyKind::introduced ? 1 : 0;
          if (reply.link != 0) numbers_.push_back(reply.link);
          if (reply.kind != node::ReplyKind::published) continue;
          ++published.times;
          tokens_.push_back(reply.token);
        }
      }
    }
    return messages;
  }

  node::Hello hello() {
    node::Hello out;
    if (pick(3) == 0) out.interface = some_number();
    if (pick(6) == 0) out.flags = node::Hello::kObserver;
    if (out.interface != 0 && !tokens_.empty()) out.token = lately(tokens_);
    if (pick(10) == 0) input_.spoil(out);
    return out;
  }

  node::Request request() {
    static constexpr const char* kNames[] = {"a", "b", "c", "d", "", "not/valid"};
    auto kind = static_cast<node::RequestKind>(1 + pick(15));
    if (kind == node::RequestKind::farewell) kind = node::RequestKind::consent;
    const bool named = kind == node::RequestKind::publish || kind == node::RequestKind::withdraw ||
                       kind == node::RequestKind::lookup;
    const bool nameless = kind == node::RequestKind::cancel || kind == node::RequestKind::area_bytes ||
                          kind == node::RequestKind::fabric_address || kind == node::RequestKind::watch;
    const std::uint64_t number = 1 + pick(40);
    node::Request out = named ? test::ask(kind, number, kNames[pick(std::size(kNames))])
                              : test::ask(kind, number, nameless ? 0 : some_number());
    if (kind == node::RequestKind::lookup) out.flags = static_cast<std::uint32_t>(pick(4));
    if (kind == node::RequestKind::consent && pick(3) != 0) {
      out.flags = node::Request::kNamed;
      out.number = pick(4);
      out.bytes = pick(4);
      out.name_length = static_cast<std::uint32_t>(4 * (out.number + out.bytes));
      out.name[pick(32)] = static_cast<char>(pick(4));
    }
    if (kind == node::RequestKind::lookup) out.number = pick(3);
    if (kind == node::RequestKind::publish) out.flags = static_cast<std::uint32_t>(pick(4));
    if (kind == node::RequestKind::publish && pick(3) == 0 && !tokens_.empty()) out.token = lately(tokens_);
    if (kind == node::RequestKind::link_bytes || kind == node::RequestKind::adopt_link ||
        kind == node::RequestKind::report || kind == node::RequestKind::area_bytes)
      out.bytes = input_.number();
    if (kind == node::RequestKind::fabric_address && pick(4) != 0) {
      out.name_length = static_cast<std::uint32_t>(1 + pick(node::kMaxFabricAddress));
      std::memcpy(out.engine, "net", 3);
    }
    if (kind == node::RequestKind::adopt_link) {
      out.peer = some_number();
      if (pick(4) != 0) out.bytes = pick(3) * node::kLinkBytes;  // within the quota
      numbers_.push_back(out.number);
    }
    if (pick(10) == 0) input_.spoil(out);
    return out;
  }

  void garbage(std::uint64_t connection) {
    std::vector<std::byte> bytes(pick(300));
    for (std::byte& byte : bytes) byte = input_.byte();
    world_.node.received(connection, bytes, pick(2) == 0, world_.now);
  }

  void expect_whole_quota(std::uint32_t user) {
    std::uint64_t interfaces[3];
    for (std::uint64_t& interface : interfaces) {
      const node::Welcome welcome = world_.attach(next_++, user, user);
      ASSERT_EQ(welcome.error, 0u) << welcome.text;
      interface = welcome.interface;
    }
    const std::uint64_t first = next_ - 3;
    for (int i = 0; i < 3; ++i) {
      world_.say(first + static_cast<std::uint64_t>(i),
                 test::ask(node::RequestKind::introduce, 1, interfaces[(i + 1) % 3]));
    }
    ASSERT_EQ(world_.sent[first].size(), 2u) << "six ends of links";
    node::Request grow = test::ask(node::RequestKind::link_bytes, 9, world_.reply(first).link);
    grow.bytes = 3 * node::kLinkBytes;
    world_.say(first, grow);
    world_.reply(first);
    ASSERT_EQ(world_.reply(first).kind, node::ReplyKind::granted) << "and all bytes";
    for (const char* name : {"a", "b", "c"}) {
      world_.sent[first].clear();
      world_.say(first, test::ask(node::RequestKind::publish, 7, name));
      ASSERT_EQ(world_.reply(first).kind, node::ReplyKind::published);
    }
    for (std::uint64_t i = first; i < next_; ++i) world_.node.disconnected(i);
  }

  Input& input_;
  test::NodeWorld world_;
  std::uint64_t next_ = 1;
  std::vector<std::uint64_t> numbers_;
  std::vector<node::Token> tokens_;
};

}  // namespace

const RandomRuns random_runs{.runs = 500, .bytes = 6000, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  Day{input}.live();
}

}  // namespace hamlyn::fuzz
