#pragma once
// Introductions that wait, each for one thing that stands in its way. Requests of one process for one peer
// wait together. Each call costs the logarithm of how many wait, whoever they are of.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hamlyn::node {

// Obstacle that an introduction waits for.
struct Obstacle {
  enum class Kind : std::uint8_t {
    link,     // the end of an earlier link of the two, at the other side
    reading,  // by the process of that connection, of what it was sent
    absence,  // of the peer, which may come back
  };
  Kind kind{};
  std::uint64_t connection = 0;  // of a reading

  bool operator==(const Obstacle&) const = default;
};

class PendingIntroductions {
 public:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // the asker's connection, and the peer's interface

  // One more request. If others of that key wait already, it joins them.
  void add(const Key& key, std::uint32_t uid, std::uint64_t request, const Obstacle& obstacle);
  // The request waits no more. Nothing if it did not.
  void remove(const Key& key, std::uint64_t request);
  // Has the requests of that key wait for something else now. Whoever waits for the same goes on waiting in
  // its place.
  void move(const Key& key, const Obstacle& obstacle);

  const std::set<std::uint64_t>* requests(const Key& key) const;
  // Whether somebody waits for that connection's reading; whose turn of those it is, users in turn.
  bool waits(std::uint64_t connection) const { return queues_.contains(connection); }
  std::optional<Key> next(std::uint64_t connection);
  // The first that wants that peer, of a connection above `after`; the first peer above `after` that is
  // wanted.
  std::optional<Key> next_for(std::uint64_t peer, std::uint64_t after) const;
  std::optional<std::uint64_t> next_peer(std::uint64_t after) const;

 private:
  struct Pending {
    std::uint32_t uid = 0;
    std::uint64_t serial = 0;  // its place
    Obstacle obstacle;
    std::set<std::uint64_t> requests;
  };
  struct Queue {
    std::map<std::uint32_t, std::map<std::uint64_t, Key>> users;  // by serial
    std::uint32_t last = 0;                                       // whose turn it was
  };

  void enter(const Key& key, Pending& pending);
  void leave(const Pending& pending);

  std::map<Key, Pending> introductions_;
  std::set<Key> by_peer_;  // the other way round
  std::map<std::uint64_t, Queue> queues_;
  std::uint64_t next_serial_ = 0;
};

}  // namespace hamlyn::node
