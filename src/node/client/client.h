#pragma once
// A process's connection to its node daemon: the operating system's part of the papers, as far as a process
// sees it. Only `attach` waits; everything else is for a loop that waits on `descriptor()`.
//
// Threads: one at a time.
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "hamlyn/values/consent.h"
#include "hamlyn/values/error.h"
#include "hamlyn/values/link_reason.h"
#include "hamlyn/values/rights.h"
#include "hamlyn/values/ticket.h"
#include "node/client/protocol.h"

namespace hamlyn::node {

struct ClientOptions {
  // Empty: the service's (/run/hamlyn/node.sock) where it answers, otherwise this user's own, which is
  // node.sock in a folder of the user's (docs/node.md).
  std::string socket = {};
  bool start_node = true;  // start a daemon of this user's own when none answers (never the service)
  std::chrono::milliseconds timeout{5000};
  // The program to start. Empty: $HAMLYN_DAEMON, otherwise hamlynd beside the running program, the installed
  // one, or the one in $PATH.
  std::string daemon = {};
  Consent consent = {};  // who may open links with this process; a daemon that knows no consent takes none
};

// Standing that a process takes to a daemon that was started again: its number, its names, and its links,
// which went on without the daemon.
struct Standing {
  struct Name {
    Rights rights;
    Ticket ticket;
    Token token{};
  };
  struct Link {
    std::uint64_t peer = 0;
    std::uint64_t bytes = 0;
  };
  std::uint64_t interface = 0;
  Token token{};
  std::map<std::string, Name, std::less<>> names;
  std::map<std::uint64_t, Link> links;
  std::uint64_t area_bytes = 0;
};

// Facts by which a process reaches one of another node, and knows it again.
struct Far {
  std::uint64_t peer_incarnation = 0;  // of the peer's node
  std::uint64_t own_incarnation = 0;   // of this node
  std::string engine;                  // "net", "tcp", "verbs", "efa": 1 to 15 printable characters
  std::vector<std::byte> address;      // 1 to 64 bytes, as the peer's endpoint gave them
  std::array<std::byte, 32> key{};     // the same at both ends
};

struct Event {
  enum class Kind : std::uint8_t {
    refused,     // `request` was refused: error, text
    introduced,  // a link may be made: peer*, link, initiator, socket, pidfd. At the asker with its
                 // `request`, at the other end with request 0
    no_room,     // the same, but the thread's table has no room for its descriptors: end it before the next
                 // event is asked for
    linked,   // the asked peer has a link with this process already; its introduction came before this event
    granted,  // link_bytes, or area_bytes, was within the quota
    published,
    withdrawn,
    found,  // ticket; peer* of who registered it
    cancelled,
    cut,                // peer, link: this link is to be ended now; the node's rule on reports says so
    introduced_remote,  // a link with a process of another node may be made: peer*, link, initiator, far. At
                        // the asker with its `request`, at the other end with request 0
    open_fabric,        // links with processes of other nodes are wanted, or likely: answer with
                        // fabric_address. text: the address of this host to be reached at, or empty
    far_gone,           // peer, link, error, text: the node or process at the other end of this link between
                        // nodes has gone, or has ended it; error timed_out: the node's daemon is silent
    lost,  // the daemon has gone: nothing asked will be answered; attach again with standing(). Given once
  };
  Kind kind = Kind::lost;
  std::uint64_t request = 0;
  ErrorCode error{};
  LinkReason reason{};  // of an introduction that was refused, and of far_gone
  std::string text;
  std::uint64_t peer = 0;      // its interface
  std::uint32_t peer_uid = 0;  // as the kernel attested them when it attached
  std::uint32_t peer_gid = 0;
  std::uint32_t peer_pid = 0;
  std::uint64_t link = 0;  // the node's number of the link; never reused
  bool initiator = false;  // this end asked
  // Socket: this process's end of a SOCK_SEQPACKET pair with the peer. What the peer has sent lies in it: end
  // it by way of base::Foreign.
  base::FileDescriptor socket;
  base::FileDescriptor pidfd;  // of the peer
  Ticket ticket;
  Far far;  // of introduced_remote
};

class Client {
 public:
  // Waits up to the time-out; starts a daemon if need be. `counters`: a memfd sealed against shrinking and
  // growing that `hamlyn node` may read, or -1; the caller keeps it. `previous`: the standing to take up
  // again: the number comes back, the names are registered again (a name that is lost comes as a `refused`
  // event with request 0). Throws Error: node_unreachable, node_not_trusted, version_mismatch,
  // quota_interfaces, not_permitted, timed_out.
  static Client attach(const ClientOptions& options, int counters = -1, const Standing* previous = nullptr);

  Client(Client&&) noexcept = default;
  Client& operator=(Client&&) noexcept = default;

  std::uint64_t interface_id() const noexcept { return standing_.interface; }
  // Readable when `next` may have something; wait for writable too while `unsent()`.
  int descriptor() const noexcept { return socket_.get(); }
  bool unsent() const noexcept { return !outbox_.empty(); }
  // The socket it has attached to: give this path in the options to find the same daemon again.
  const std::string& socket() const noexcept { return path_; }
  const Standing& standing() const noexcept { return standing_; }

  // Each request is answered by one event with the same number (1 to 2^63-1, chosen by the caller; one that
  // waits for its answer may not be used again). False: the daemon has gone, and `lost` is or was the next
  // event.
  //
  // Asks for a link with an interface: `introduced` at both ends, or `linked`, or refused: name_unknown (no
  // such interface), quota_links, not_permitted. If the peer has not yet noticed the end of an earlier link
  // it waits until the peer has; cancel() ends that. An interface of another node: `introduced_remote` at
  // both ends; refused also: peer_died (its node is dead, or died meanwhile), timed_out (it says no
  // fabric_address).
  bool introduce(std::uint64_t request, std::uint64_t peer);
  // `ticket` under `name`: published, or refused: name_taken, name_invalid, quota_names.
  bool publish(std::uint64_t request, std::string_view name, Rights rights, const Ticket& ticket);
  bool withdraw(std::uint64_t request, std::string_view name);
  // found, or refused: name_unknown, not_permitted. `wait`: until somebody registers it or cancel(). `node`:
  // where it is looked for first, unless 0; `cached`: what was read there lately will do.
  bool lookup(std::uint64_t request, std::string_view name, bool wait, std::uint16_t node = 0,
              bool cached = false);
  // If `request` still waits, its answer is `cancelled`. (Otherwise its answer is under way.)
  bool cancel(std::uint64_t request);
  // Says that this process's end of a link has ended. No answer. Every introduced link is ended by one such
  // call, whoever noticed first.
  bool link_ended(std::uint64_t link);
  // Why this end of a link to another node is about to end it, for the other end to hear. No answer. Before
  // `link_ended`.
  bool end_reason(std::uint64_t link, LinkReason reason);
  // Asks that this process's end of a link may hold `bytes` of memory in all (it starts with kLinkBytes):
  // granted, or refused: quota_bytes, and the old figure stays.
  bool link_bytes(std::uint64_t request, std::uint64_t link, std::uint64_t bytes);

  // Asks for `bytes` in all areas that others may be shown: granted, or refused: quota_bytes, and the old
  // figure stays.
  bool area_bytes(std::uint64_t request, std::uint64_t bytes);

  // So many packets of a link's other end were refused since it was made. No answer. The node may have a rule
  // that cuts the link then.
  bool report(std::uint64_t link, std::uint64_t refused);

  // Where processes of other nodes reach this one: the address of its endpoint (1 to 64 bytes) and the engine
  // (1 to 15 printable characters); no engine: nobody can, `address` says why, as text, or is empty. The
  // answer to `open_fabric`: introductions to far interfaces wait until it has been said. No answer.
  bool fabric_address(std::string_view engine, std::span<const std::byte> address);

  // The next event, if there is one.
  std::optional<Event> next();

  // Says that this process leaves and does not come back: nothing of it is kept. Where the daemon reads late,
  // or has gone, it is not told: it finds out by itself then, and keeps the names for a while. Before
  // `leave`.
  void say_farewell() noexcept;

  // The connection, to be ended by way of base::Foreign: introductions that nobody has read lie in it. The
  // client is of no use any more.
  base::FileDescriptor leave() noexcept { return std::move(socket_); }

 private:
  Client() = default;
  bool send(const Request& request);
  void say_consent(const Consent& consent);
  void flush();
  void keep_spares();
  bool remember(const Reply& reply, Event& event);
  void renew_names();
  void renew_name(std::string_view name);

  struct Asked {  // a request whose success changes the standing
    RequestKind kind{};
    std::string name;
    Standing::Name entry;
    std::uint64_t link = 0;
    std::uint64_t bytes = 0;
  };

  base::FileDescriptor socket_;
  // Given up for an introduction that finds the table full, so that it is refused instead of cut short. Their
  // numbers are below a limit that the process may have lowered since.
  std::array<base::FileDescriptor, 2> spares_;
  std::string path_;
  Standing standing_;
  std::map<std::uint64_t, Asked> asked_;
  std::deque<Request> outbox_;  // what the socket had no room for
  std::size_t most_unsent_ = 0;
  std::set<std::string, std::less<>> to_renew_;  // names that this daemon is still to be told of
  std::size_t renewing_ = 0;                     // names that it was told of, and has not answered
  std::uint64_t own_requests_ = std::uint64_t{1} << 63;
  bool lost_ = false;
  bool told_lost_ = false;
};

}  // namespace hamlyn::node
