// The daemon's mind under requests that nobody would write: a fixed number of runs from fixed seeds, each a
// day in the life of a few processes that connect, leave, and say things that are random, nearly right, or
// right. A failing seed is printed; HAMLYN_FUZZ_SEED runs that one alone, HAMLYN_FUZZ_RUNS more of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "test/support/node_world.h"

namespace hamlyn {
namespace {

constexpr std::uint64_t kRuns = 2000;
constexpr int kSteps = 400;
constexpr std::uint64_t kKeeper = 1'000'000;

class Day {
 public:
  explicit Day(std::uint64_t seed) : random_(seed), world_(options()) {}

  void live() {
    // Somebody of each user stays all day, so that what is counted for the user is not forgotten with its
    // last process.
    node::Hello observer;
    observer.flags = node::Hello::kObserver;
    for (std::uint32_t user = 0; user < 3; ++user) world_.attach(kKeeper + user, user, user, observer);
    for (int step = 0; step < kSteps; ++step) {
      const std::uint64_t connection = 1 + pick(next_);
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
      remember();
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

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  std::uint32_t some_user() { return static_cast<std::uint32_t>(pick(3)); }
  std::uint64_t some_number() {
    if (numbers_.empty() || pick(16) == 0) return random_() >> pick(64);
    return numbers_[pick(numbers_.size())];
  }

  // Keeps numbers and tokens that were given out, to be used rightly and wrongly.
  void remember() {
    for (auto& [connection, queue] : world_.sent) {
      for (; !queue.empty(); queue.pop_front()) {
        if (queue.front().size() == sizeof(node::Welcome)) {
          node::Welcome welcome;
          std::memcpy(&welcome, queue.front().data(), sizeof welcome);
          numbers_.push_back(welcome.interface);
          tokens_.push_back(welcome.token);
        } else if (queue.front().size() == sizeof(node::Reply)) {
          node::Reply reply;
          std::memcpy(&reply, queue.front().data(), sizeof reply);
          if (reply.link != 0) numbers_.push_back(reply.link);
          if (reply.kind == node::ReplyKind::published) tokens_.push_back(reply.token);
        }
      }
    }
  }

  template <class Message>
  void spoil(Message& message) {
    if (pick(10) != 0) return;
    const std::size_t at = pick(sizeof message);
    std::byte byte{};
    std::memcpy(&byte, reinterpret_cast<char*>(&message) + at, 1);
    byte ^= std::byte{1} << pick(8);
    std::memcpy(reinterpret_cast<char*>(&message) + at, &byte, 1);
  }

  node::Hello hello() {
    node::Hello out;
    if (pick(3) == 0) out.interface = some_number();
    if (pick(6) == 0) out.flags = node::Hello::kObserver;
    if (out.interface != 0 && !tokens_.empty()) out.token = tokens_[pick(tokens_.size())];
    spoil(out);
    return out;
  }

  node::Request request() {
    static constexpr const char* kNames[] = {"a", "b", "c", "d", "", "not/valid"};
    const auto kind = static_cast<node::RequestKind>(1 + pick(14));
    const bool named = kind == node::RequestKind::publish || kind == node::RequestKind::withdraw ||
                       kind == node::RequestKind::lookup;
    const bool nameless = kind == node::RequestKind::cancel || kind == node::RequestKind::area_bytes ||
                          kind == node::RequestKind::fabric_address || kind == node::RequestKind::watch;
    node::Request out = named ? test::ask(kind, 1 + pick(40), kNames[pick(std::size(kNames))])
                              : test::ask(kind, 1 + pick(40), nameless ? 0 : some_number());
    if (kind == node::RequestKind::lookup) out.flags = static_cast<std::uint32_t>(pick(4));
    if (kind == node::RequestKind::lookup) out.number = pick(3);
    if (kind == node::RequestKind::publish) out.flags = static_cast<std::uint32_t>(pick(4));
    if (kind == node::RequestKind::publish && pick(3) == 0 && !tokens_.empty())
      out.token = tokens_[pick(tokens_.size())];
    if (kind == node::RequestKind::link_bytes || kind == node::RequestKind::adopt_link ||
        kind == node::RequestKind::report || kind == node::RequestKind::area_bytes)
      out.bytes = random_() >> pick(64);
    if (kind == node::RequestKind::fabric_address && pick(4) != 0) {
      out.name_length = static_cast<std::uint32_t>(1 + pick(node::kMaxFabricAddress));
      std::memcpy(out.engine, "net", 3);
    }
    if (kind == node::RequestKind::adopt_link) out.peer = some_number();
    spoil(out);
    return out;
  }

  void garbage(std::uint64_t connection) {
    std::vector<std::byte> bytes(pick(300));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_());
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

  std::mt19937_64 random_;
  test::NodeWorld world_;
  std::uint64_t next_ = 1;
  std::vector<std::uint64_t> numbers_;
  std::vector<node::Token> tokens_;
};

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Fuzz, DaemonRequests) {
  const std::uint64_t first = setting("HAMLYN_FUZZ_SEED", 1);
  const std::uint64_t runs =
      std::getenv("HAMLYN_FUZZ_SEED") != nullptr ? 1 : setting("HAMLYN_FUZZ_RUNS", kRuns);
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("HAMLYN_FUZZ_SEED=" + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(Day{seed}.live());
  }
}

}  // namespace
}  // namespace hamlyn
