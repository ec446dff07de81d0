#pragma once
// A node without sockets or clock: tests say what arrives and when, and look at what it sends.
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "node/mind/node.h"

namespace hamlyn::test {

class NodeWorld final : public node::NodeEnvironment {
 public:
  explicit NodeWorld(const node::NodeOptions& options = {}, node::OtherNodes* others = nullptr)
      : node(options, *this, node::Time{0}, others) {}

  // Everything that was sent to a connection and not yet taken, oldest first.
  template <class Message>
  Message take(std::uint64_t connection) {
    Message out{};
    auto& queue = sent[connection];
    if (queue.empty() || queue.front().size() != sizeof out) return out;
    std::memcpy(&out, queue.front().data(), sizeof out);
    queue.pop_front();
    return out;
  }
  node::Reply reply(std::uint64_t connection) { return take<node::Reply>(connection); }
  bool quiet(std::uint64_t connection) { return sent[connection].empty(); }

  void connect(std::uint64_t connection, std::uint32_t uid = 1000, std::uint32_t gid = 1000) {
    node.connected(connection, {uid, gid, static_cast<std::uint32_t>(connection), "test"}, now);
  }
  template <class Message>
  void say(std::uint64_t connection, const Message& message, bool counters = false) {
    node.received(connection, std::as_bytes(std::span{&message, 1}), counters, now);
  }
  // Connects and attaches; the welcome.
  node::Welcome attach(std::uint64_t connection, std::uint32_t uid = 1000, std::uint32_t gid = 1000,
                       const node::Hello& hello = {}, bool counters = false) {
    connect(connection, uid, gid);
    say(connection, hello, counters);
    return take<node::Welcome>(connection);
  }
  bool dropped(std::uint64_t connection) const { return drops.contains(connection); }
  void pass(node::Time time) {
    now += time;
    node.tick(now);
  }

  // Lets the time come, and all that is over then end, a few at a time.
  void pass_all(node::Time time) {
    for (pass(time); node.deadline() && *node.deadline() <= now;) node.tick(now);
  }

  node::Time now{0};
  std::map<std::uint64_t, std::deque<std::vector<std::byte>>> sent;
  std::map<std::uint64_t, std::string> drops;            // with the reason, empty for none
  std::map<std::uint64_t, std::uint64_t> counters_sent;  // of whom, how often
  std::uint64_t pairs = 0;
  std::map<std::string, std::uint64_t> given;  // names, and the interfaces that have them, as is written down
  std::set<std::uint64_t> slow;                // connections that are behind
  std::map<std::uint64_t, int> room_for;       // interfaces that are behind after so many introductions
  std::uint64_t questions = 0;                 // who is behind
  const char* no_pairs = nullptr;              // why introductions fail
  bool called_after_drop = false;
  node::Node node;

 private:
  void keep(std::uint64_t connection, std::span<const std::byte> message) {
    called_after_drop |= dropped(connection);
    sent[connection].emplace_back(message.begin(), message.end());
  }
  void send(std::uint64_t connection, std::span<const std::byte> message,
            std::optional<std::uint64_t> counters_of) override {
    keep(connection, message);
    if (counters_of) ++counters_sent[*counters_of];
  }
  const char* introduce(std::uint64_t asker, const node::Reply& to_asker, std::uint64_t peer,
                        const node::Reply& to_peer) override {
    if (no_pairs != nullptr) return no_pairs;
    keep(asker, std::as_bytes(std::span{&to_asker, 1}));
    keep(peer, std::as_bytes(std::span{&to_peer, 1}));
    ++pairs;
    if (const auto room = room_for.find(to_asker.peer); room != room_for.end() && --room->second == 0) {
      slow.insert(peer);
      room_for.erase(room);
    }
    return nullptr;
  }
  void name_given(const node::OwnedName& name) override { given[name.name] = name.interface; }
  void name_freed(std::string_view name) override { given.erase(std::string(name)); }
  bool behind(std::uint64_t connection) override {
    ++questions;
    return slow.contains(connection);
  }
  void drop(std::uint64_t connection, const char* why) override {
    drops[connection] = why == nullptr ? "" : why;
  }
};

inline node::Request ask(node::RequestKind kind, std::uint64_t request, std::uint64_t number = 0) {
  node::Request out;
  out.kind = kind;
  out.request = request;
  out.number = number;
  return out;
}

inline node::Request ask(node::RequestKind kind, std::uint64_t request, std::string_view name,
                         std::uint32_t flags = 0) {
  node::Request out = ask(kind, request);
  out.flags = flags;
  out.name_length = static_cast<std::uint32_t>(name.size());
  std::memcpy(out.name, name.data(), std::min(name.size(), node::kMaxName));
  if (kind == node::RequestKind::publish) {
    out.ticket = Ticket{};
    out.ticket.interface = 1;
  }
  return out;
}

inline constexpr std::uint32_t kWait = node::Request::kWait;

inline ErrorCode error_of(const node::Reply& reply) {
  return reply.kind == node::ReplyKind::refused ? static_cast<ErrorCode>(reply.error) : ErrorCode{};
}

inline node::NodeOptions with_quotas(const node::Quotas& quotas, const node::Quotas& total) {
  node::NodeOptions out;
  out.quotas = quotas;
  out.total = total;
  return out;
}

inline node::NodeOptions with_quotas(const node::Quotas& quotas) {
  return with_quotas(quotas, node::times(quotas, node::kTotal));
}

inline node::Hello resume(const node::Welcome& welcome) {
  node::Hello out;
  out.interface = welcome.interface;
  out.token = welcome.token;
  return out;
}

struct TwoProcesses {
  explicit TwoProcesses(const node::NodeOptions& options = {}, std::uint32_t other_user = 1000)
      : world(options) {
    one = world.attach(1).interface;
    two = world.attach(2, other_user, other_user).interface;
  }
  // Introduces 1 to 2 and gives the link's number.
  std::uint64_t link() {
    world.say(1, ask(node::RequestKind::introduce, 9, two));
    world.reply(1);
    return world.reply(2).link;
  }
  NodeWorld world;
  std::uint64_t one, two;
};

}  // namespace hamlyn::test
