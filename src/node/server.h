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
#include "base/foreign.h"
#include "base/socket.h"
#include "node/clerk_port.h"
#include "node/cluster_port.h"
#include "node/config.h"
#include "node/name_file.h"
#include "node/node.h"

namespace hamlyn::node {

struct ServerOptions {
  std::string socket;
  bool service = false;  // for all users; otherwise for the daemon's own only (and root)
  Config config;
  Time idle_exit{0};  // leave after so long with no connection; 0: never
  std::string version;
  ClerkPort* clerk = nullptr;  // of a node of a cluster; outlives the server
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
    Shared memory;             // a counter page or a pidfd: to close it waits for nobody
    base::FileDescriptor end;  // of a link
  };

  struct Peer {
    Identity who;
    base::FileDescriptor socket;
    Shared pidfd;
    Shared counters;
    std::deque<Outgoing> queue;  // what its socket had no room for
    bool stuck = false;          // and waits until it has
    bool awaited = false;        // the node wants to hear when it has
    std::uint64_t unread = 0;    // descriptors that were sent to it, until it has read all of them
  };

  // A connection that is over, whose process has not read all descriptors, and keeps them in being.
  struct Leftover {
    std::uint32_t uid = 0;
    base::FileDescriptor socket;
    std::uint64_t unread = 0;
  };

  // A process whose connection is over, while the node keeps its names for it.
  struct Departed {
    std::uint32_t uid = 0;
    Shared pidfd;
    Time until{};
  };

  void send(std::uint64_t connection, std::span<const std::byte> message,
            std::optional<std::uint64_t> counters_of) override;
  const char* introduce(std::uint64_t asker, const Reply& to_asker, std::uint64_t peer,
                        const Reply& to_peer) override;
  bool behind(std::uint64_t connection) override;
  void drop(std::uint64_t connection, const char* why) override;
  void name_given(const OwnedName& name) override;
  void name_freed(std::string_view name) override;
  void not_reached(std::uint64_t connection, const std::string& why) override;

  void listen();
  void accept_some();
  void receive_some(std::uint64_t id);
  void leave(std::uint64_t id);
  void ended(std::uint64_t id);
  void end(std::uint64_t id);
  void forget_departed();
  std::map<std::uint64_t, Departed>::iterator forget(std::map<std::uint64_t, Departed>::iterator departed);
  void discard(Outgoing& message);
  void post(Peer& peer, std::uint64_t id, Outgoing message);
  void flush(std::uint64_t id);
  void flush_late(std::uint64_t id);
  void flush_crowded();
  void drop_slowest();
  template <class Which>
  void drop_longest(Which&& which);
  void count_queued(std::uint32_t uid, std::int64_t change);
  void count_unread(std::uint32_t uid);
  void count_unread();
  bool scarce(std::uint32_t uid) const;
  bool reads_late(const Peer& peer);
  bool unread_too_much(const Peer& peer) const;
  bool watch(int fd, std::uint64_t tag, std::uint32_t events, int operation);
  void keep_mark(bool wanted);
  int wait_time() const;
  Time now() const;

  const ServerOptions options_;
  base::FileDescriptor lock_;
  base::FileDescriptor epoll_;
  base::FileDescriptor listener_;
  base::FileDescriptor spare_;  // given up for a moment when there are no descriptors left
  base::Foreign foreign_;
  std::unique_ptr<ClusterPort> cluster_;  // if there is one
  std::unique_ptr<NameFile> names_;
  std::unique_ptr<Node> node_;
  std::map<std::uint64_t, Peer> peers_;
  std::map<std::uint64_t, Departed> departed_;
  std::vector<Leftover> leftovers_;
  std::map<std::uint32_t, std::uint64_t> unread_;  // descriptors, by user; never above what the kernel counts
  std::uint64_t unread_of_all_ = 0;
  std::uint64_t most_unread_ = 0;                  // of one user
  std::map<std::uint32_t, std::uint64_t> queued_;  // messages that wait in queues, by user
  std::uint64_t queued_of_all_ = 0;
  std::set<std::uint32_t> full_;     // users for whose reading introductions wait
  std::set<std::uint64_t> crowded_;  // connections that the kernel lets nothing be sent to, now
  std::set<std::uint64_t> slow_;
  std::set<std::uint32_t> told_;  // users about whose faults the log has a line already
  std::set<std::uint32_t>
      unreached_;               // and those of whose processes it says that other nodes cannot reach one
  std::uint64_t next_id_ = 16;  // below: tags of the listener and the signals
  Time idle_since_{};
  bool marked_ = false;
};

}  // namespace hamlyn::node
