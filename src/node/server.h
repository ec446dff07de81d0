#pragma once
// The node with sockets and a clock: accepts, attests, carries messages both ways. One thread.
#include <csignal>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/socket.h"
#include "node/config.h"
#include "node/node.h"

namespace hamlyn::node {

struct ServerOptions {
  std::string socket;
  bool service = false;  // for all users; otherwise for the daemon's own only (and root)
  Config config;
  Time idle_exit{0};  // leave after so long with no connection; 0: never
  std::string version;
};

class Server final : public Outside {
 public:
  // Listens. Throws Error.
  explicit Server(const ServerOptions& options);
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Serves until it has been idle for long enough or one of `signals` comes (blocked by the caller).
  void run(const sigset_t& signals);

 private:
  using Shared = std::shared_ptr<base::FileDescriptor>;

  struct Outgoing {
    std::vector<std::byte> bytes;
    std::vector<Shared> fds;
  };

  struct Peer {
    Identity who;
    base::FileDescriptor socket;
    Shared pidfd;
    Shared counters;
    std::deque<Outgoing> queue;  // what its socket had no room for
    bool stuck = false;          // and waits until it has
    bool awaited = false;        // the node wants to hear when it has
  };

  void send(std::uint64_t connection, std::span<const std::byte> message,
            std::optional<std::uint64_t> counters_of) override;
  const char* introduce(std::uint64_t asker, const Reply& to_asker, std::uint64_t peer,
                        const Reply& to_peer) override;
  bool behind(std::uint64_t connection) override;
  void drop(std::uint64_t connection, const char* why) override;

  void listen();
  void accept_some();
  void receive_some(std::uint64_t id);
  void leave(std::uint64_t id);
  void post(Peer& peer, std::uint64_t id, Outgoing message);
  void flush(std::uint64_t id);
  void flush_late(std::uint64_t id);
  bool watch(int fd, std::uint64_t tag, std::uint32_t events, int operation);
  void keep_mark(bool wanted);
  int wait_time() const;
  Time now() const;

  const ServerOptions options_;
  base::FileDescriptor lock_;
  base::FileDescriptor epoll_;
  base::FileDescriptor listener_;
  base::FileDescriptor spare_;  // given up for a moment when there are no descriptors left
  std::unique_ptr<Node> node_;
  std::map<std::uint64_t, Peer> peers_;
  std::set<std::uint64_t> slow_;
  std::set<std::uint32_t> told_;  // users about whose faults the log has a line already
  std::uint64_t next_id_ = 16;    // below: tags of the listener and the signals
  Time idle_since_{};
  bool marked_ = false;
};

}  // namespace hamlyn::node
