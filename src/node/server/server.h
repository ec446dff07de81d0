#pragma once
// The node with sockets and a clock: accepts, attests, carries messages both ways. One thread.
#include <sys/epoll.h>

#include <chrono>
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
#include "node/mind/backlog.h"
#include "node/mind/clerk_port.h"
#include "node/mind/node.h"
#include "node/mind/tally.h"
#include "node/mind/user_turns.h"
#include "node/server/attest.h"
#include "node/server/cluster_port.h"
#include "node/server/config.h"
#include "node/server/in_flight.h"
#include "node/server/name_file.h"
#include "node/server/place_watch.h"

namespace hamlyn::node {

struct ServerOptions {
  std::string socket;
  bool service = false;  // for all users; otherwise for the daemon's own only (and root)
  Config config;
  Time idle_exit{0};  // leave after so long with no connection; 0: never
  std::string version;
  std::uint32_t protocol = kProtocol;
  ClerkPort* clerk = nullptr;  // of a node of a cluster; outlives the server
  Attesting attested = attesting();
};

class Server final : public NodeEnvironment {
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
    bool waited = false;       // it did not leave at once
  };

  // Messages that are still to show that the process which has connected speaks: its hello and, as the
  // daemon may have looked at the process later than that, the message after it.
  enum class Unproven : std::uint8_t { nothing, next, hello };

  struct Peer {
    Identity who;
    base::FileDescriptor socket;
    Shared pidfd;
    Shared counters;
    std::deque<Outgoing> queue;  // what its socket had no room for
    bool stuck = false;          // and waits until it has
    bool awaited = false;        // the node wants to hear when it has
    bool in_turn = false;        // to be read in its user's turn; no event tells of it before
    bool room_in_turn = false;   // likewise, to be sent what waits
    Unproven unproven = Unproven::nothing;
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
  void notice_place();
  void keep_place();
  void take_events();
  void take(const epoll_event& event);
  void serve_next();
  void send_more(std::uint64_t id);
  void look_after_others();
  void close_pending(Time time);
  void end_because(const char* why);
  void accept_one();
  void accept_in_vain();
  void accept_later();
  void hear_of_newcomers();
  void keep_spare();
  void welcome(base::FileDescriptor socket);
  void turn_away(int socket, ErrorCode error, std::string_view text);
  void turn_away_for_descriptors(int socket);
  void arm(std::uint64_t id, const Peer& peer);
  bool prove(std::uint64_t id, const base::Received& got);
  void receive_some(std::uint64_t id, std::chrono::steady_clock::time_point until);
  void leave(std::uint64_t id);
  void ended(std::uint64_t id);
  void end(std::uint64_t id);
  void forget(std::uint64_t departed);
  std::uint32_t user_of(std::uint64_t id) const;
  void discard(Outgoing& message);
  void post(Peer& peer, std::uint64_t id, Outgoing message);
  void flush(std::uint64_t id);
  void flush_late(std::uint64_t id);
  void flush_crowded();
  void drop_slowest();
  bool has_read(std::uint64_t id);
  bool has_room(std::uint64_t id, std::uint32_t uid);
  void look_who_has_read(Time time);
  void look_at_late(std::uint32_t uid);
  bool watch(int fd, std::uint64_t tag, std::uint32_t events, int operation);
  void keep_mark(bool wanted);
  int wait_time() const;
  Time now() const;

  // While somebody's reading or a descriptor is waited for, and between two rounds of closing.
  static constexpr Time kLookAgain{5};
  static constexpr std::size_t kManyToClose = 64;

  const ServerOptions options_;
  const std::uint64_t descriptors_;  // that it may have
  base::FileDescriptor lock_;
  base::FileDescriptor epoll_;
  base::FileDescriptor listener_;
  std::unique_ptr<PlaceWatch> place_;  // of the socket
  static constexpr Time kPlaceRest{100};
  Time place_due_ = Time::max();     // when it is to be mended
  base::FileDescriptor spare_;       // given up for a moment when there are no descriptors left
  Time listener_due_ = Time::max();  // when the next connection is to be taken, after none could be
  base::Foreign foreign_;
  std::unique_ptr<ClusterPort> cluster_;  // if there is one
  std::unique_ptr<NameFile> names_;
  std::unique_ptr<Node> node_;
  std::map<std::uint64_t, Peer> peers_;
  std::map<std::uint64_t, Departed> departed_;
  std::set<std::pair<Time, std::uint64_t>> departures_;  // until when they are waited for
  // Connections that are over, whose processes have not read all descriptors, and keep them in being.
  std::map<std::uint64_t, base::FileDescriptor> leftovers_;
  InFlight in_flight_;
  Backlog queued_;
  Tally late_;                    // connections for whose reading introductions wait, each one
  std::set<std::uint32_t> full_;  // and their users
  std::uint32_t last_full_ = 0;   // the user that was looked at last
  Time next_look_{};
  Time next_closing_{};
  Time looked_{-1};
  UserTurns turns_;
  bool held_in_turn_ = false;
  bool ended_ = false;
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
