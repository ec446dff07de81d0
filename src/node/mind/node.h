#pragma once
// The node daemon's mind: who is attached, which links there are, who holds which name, and what each user
// may still have. It has no socket, no clock and no randomness of its own: it is told what arrived, from whom
// and when, and says what to send. So tests and a simulator can run it as it is.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "hamlyn/values/error.h"
#include "hamlyn/values/rights.h"
#include "hamlyn/values/ticket.h"
#include "node/client/consent.h"
#include "node/client/protocol.h"
#include "node/cluster/far.h"
#include "node/cluster/pair.h"
#include "node/mind/accounts.h"
#include "node/mind/clerk.h"
#include "node/mind/fair_order.h"
#include "node/mind/pending_introductions.h"
#include "node/mind/user_turns.h"

namespace hamlyn::node {

using Key = std::array<std::byte, 32>;

// Identity of one process, as the kernel attests it.
struct Identity {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t pid = 0;
  std::string program;  // only for people to read
};

// Rights to attach, or to open links: everyone, or these users and members (by primary group) of these
// groups. Root always may.
using AttachRights = Consent;

// A name, and whose it is.
struct OwnedName {
  std::string name;
  std::uint64_t interface = 0;
  std::uint32_t uid = 0;
  std::uint32_t pid = 0;
};

struct NodeOptions {
  Quotas quotas;                           // of one user
  Quotas total = times(Quotas{}, kTotal);  // of all together
  AttachRights rights;
  AttachRights links;           // who may open links with processes of other users
  std::uint64_t cut_after = 0;  // refused packets, reported of one link, after which it is cut; 0: never
  Key key{};                    // signs tokens; survives the daemon
  std::uint64_t first_number =
      1;  // of interfaces and links; drawn so that no other run of the daemon gives the same
  std::uint32_t overflow_uid = 65534;  // stands for users that the daemon's user namespace cannot name
  bool recovering = false;             // the run before ended with processes attached: they come back first
  std::optional<std::vector<OwnedName>> left;  // the names that they have, if that is known
  Time grace{2000};                            // how long those have, and whose connection has broken
  std::uint32_t uid = 0;                       // the daemon's own
  std::uint32_t pid = 0;
  std::string version;
  std::uint32_t protocol = kProtocol;  // that it says it speaks
  std::string engine;  // that processes are to use between nodes; empty: the best that they find
  std::uint64_t descriptors =
      0;  // the daemon's limit, where it is what total.interfaces comes from; 0: it is not
};

// Environment of the one who runs the node. None of these calls the node back.
class NodeEnvironment {
 public:
  virtual ~NodeEnvironment() = default;
  // `counters_of`: adds the counter page of that connection.
  virtual void send(std::uint64_t connection, std::span<const std::byte> message,
                    std::optional<std::uint64_t> counters_of = std::nullopt) = 0;
  // Makes a pair of sockets and sends each side its end and the other's pidfd. Null, or why it was not done.
  virtual const char* introduce(std::uint64_t asker, const Reply& to_asker, std::uint64_t peer,
                                const Reply& to_peer) = 0;
  // Has not read all that was sent to it: nobody is introduced to it now, for what waits to be read holds
  // descriptors.
  virtual bool behind(std::uint64_t connection) = 0;
  // The node has forgotten this connection. `why` is null where that is no fault.
  virtual void drop(std::uint64_t connection, const char* why) = 0;
  // Somebody has a name, and is told so next; and has it no more, nor is it kept for anybody.
  virtual void name_given(const OwnedName& /*name*/) {}
  virtual void name_freed(std::string_view /*name*/) {}
  // Tells that this process has said why processes of other nodes cannot reach it.
  virtual void not_reached(std::uint64_t /*connection*/, const std::string& /*why*/) {}
};

class Node {
 public:
  // `others`: the other nodes of its cluster; null for a node of none.
  Node(const NodeOptions& options, NodeEnvironment& environment, Time now, OtherNodes* others = nullptr);

  // Whether one more connection of that user's would be kept.
  bool takes_stranger(std::uint32_t uid) const { return accounts_.within_quota(uid, Resource::strangers, 1); }
  // `connection` is the caller's number for it, never used twice.
  void connected(std::uint64_t connection, const Identity& attested, Time now);
  // `counters`: a descriptor of a counter page came along and was found sound.
  void received(std::uint64_t connection, std::span<const std::byte> message, bool counters, Time now);
  // Notes that something came which was not even a message (cut short, or with descriptors it may not have).
  void malformed(std::uint64_t connection, const char* why);
  // Its process has ended.
  void disconnected(std::uint64_t connection);
  // Its connection has; the process lives and may attach again. Its names are kept for it for `grace`, or
  // until `disconnected`.
  void broken(std::uint64_t connection);
  // Somebody has connected of whom the kernel does not say who it is: turned away, and counted.
  void not_attested() noexcept { ++refused_; }
  // Notes that the process has read, and is no longer behind.
  void caught_up(std::uint64_t connection);
  // Notes that the process does not read what it is sent.
  void too_slow(std::uint64_t connection);
  // To be called at `deadline()` at the latest.
  void tick(Time now);
  std::optional<Time> deadline() const;
  // Whether an event has more to be done, a step at a time: whoever runs the node gives it turns.
  bool has_more() const noexcept { return !due_turns_.empty(); }
  void go_on();

  // The nodes may have come, gone or fallen silent: whoever watches them is told.
  void look_at_members(Time now);

  // Events of other nodes. A message that is not whole is refused, and counted.
  void node_came(NodeId node, Time now);
  // `silent`: its daemon was not heard in time, and its processes may live. Their links go on for as long as
  // these hear each other, until that node is there with another incarnation.
  void node_gone(NodeId node, const char* why, bool silent, Time now);
  void node_said(NodeId node, std::span<const std::byte> message, Time now);

  // Nobody is attached but this node's own clerk.
  bool empty() const noexcept;

  // Names, as a clerk sees them. Before anybody is connected; `clerk` must live as long.
  void set_clerk(Clerk& clerk) noexcept { clerk_ = &clerk; }
  // The clerk's process, which is nobody's; 0: there is none.
  void set_clerk_process(std::uint32_t pid) noexcept { clerk_pid_ = pid; }
  std::optional<RegisteredName> registered(std::string_view name) const;
  std::vector<std::string> names() const;
  // Takes what `Clerk::read` has found.
  void name_read(std::uint64_t serial, NodeId node, NameSays says, const RegisteredName& what, Time now);
  void want_registry(NodeId node, std::uint32_t version);
  void tell_registry(NodeId node, const FarRegistry& registry);
  // Processes of the run before may still come back.
  bool recovering() const noexcept { return grace_; }
  // And nobody knows which names they had.
  bool names_unknown() const noexcept { return grace_ && !options_.left; }

 private:
  enum class Stage : std::uint8_t { fresh, attached, observer, watcher };

  enum class Reach : std::uint8_t { unasked, asked, known, none };  // a process's fabric address

  struct Side {  // one end of a link
    std::uint64_t peer = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint32_t> asker;  // the user whose process has opened it from the other end
    bool gone = false;                   // the other end is on another node, and has gone: this one was told
    std::uint64_t refused = 0;           // packets of the peer, as this end has reported
    LinkReason why = LinkReason::ended;  // this end is about to end the link, as it says
    std::optional<Time> unproven{};      // until then the other end has to tell of it, too
    std::uint64_t presence = 0;          // of the other end's node, in which it was opened
  };

  struct Held {
    Request request;
    Time until{};  // of an introduction
  };

  struct Connection {
    Identity who;
    Stage stage = Stage::fresh;
    Time since{};
    std::uint64_t interface = 0;
    bool counters = false;
    std::uint64_t bytes = 0;                      // sum over links
    std::uint64_t area_bytes = 0;                 // of areas that it shows
    std::map<std::uint64_t, Side> links;          // by number of the link
    std::map<std::uint64_t, std::uint64_t> with;  // peer to link
    std::set<std::string, std::less<>> names;
    Consent consent;                  // who may open links with it
    std::set<std::uint64_t> shunned;  // peers whose links to it were cut: they may not ask for another
    Reach reach = Reach::unasked;
    bool outward = false;            // processes of other nodes are likely to be talked to
    std::vector<std::byte> address;  // where processes of other nodes reach it
    char engine[kMaxEngine]{};
    std::string unreached;                  // why they cannot, as it says
    bool reach_again = false;               // who wants it next has it tried again
    LinkReason leaves = LinkReason::none;   // why it has gone; none: that is not known yet
    std::map<std::uint64_t, Held> waiting;  // what has no answer yet, by request
    std::size_t introductions = 0;          // how many of these are introductions
  };

  struct Name {
    std::uint64_t connection = 0;
    Rights rights;
    Ticket ticket;
    std::uint64_t generation = 0;
  };

  struct Kept {  // a name whose owner's connection has broken
    std::uint64_t connection = 0;
    std::uint64_t interface = 0;
    std::uint32_t uid = 0;
    Time until{};
  };

  using Waiting = std::pair<std::uint64_t, std::uint64_t>;  // a connection and its request
  using FarKey = std::pair<NodeId, std::uint64_t>;          // a node and its serial

  struct Ask {  // for a link with a process of another node; its end of the link counts already
    std::uint64_t serial = 0;
    std::uint64_t peer = 0;
    std::uint64_t link = 0;
    std::array<std::byte, 32> key{};
    Time until{};
    std::uint64_t presence = 0;  // of that node, in which it was asked
  };
  // For a name, among the other nodes. Processes of one user that wait for the same have one search: the
  // others are told once, and hold it once.
  struct Search {
    FarLookup what;
    std::set<Waiting> waiters;
    std::map<NodeId, std::uint64_t> open;  // they have not answered; in which presence of theirs
    std::set<NodeId> reading;              // of those, whose registry is being read: they have not been asked
    bool hinted = false;                   // only the likely one is looked at so far
    bool patient = false;                  // "nobody has it" is no answer: it may come yet, there or here
    bool not_permitted = false;
    Time until = Time::max();
    // How it has ended, for those who have not been told yet.
    std::optional<RegisteredName> found{};
    std::optional<Refused> refused{};
    bool over() const noexcept { return found || refused; }
  };
  // A node has gone, or come: whoever that concerns is looked for, one after the other. What belongs to an
  // earlier presence of the node is over.
  struct NodeNews {
    enum class Part : std::uint8_t { links, asks, searches, introductions, lookups, ways, again, none };
    Part part = Part::links;
    std::pair<std::uint64_t, std::uint64_t> after{};  // who of this part was looked at last
    std::string why;                                  // it has gone
    bool silent = false;                              // its processes may live
    bool back = false;
  };
  // Ends of links to other nodes of a connection that was closed; none: why is not known yet.
  struct Undecided {
    std::uint32_t uid = 0;
    std::vector<FarEnded> links;
    LinkReason reason = LinkReason::none;
  };
  using Wanted =
      std::tuple<std::string, std::uint32_t, std::uint32_t>;  // a name, and by which user and group
  struct Arrival {  // an introduction that another node asks for, and that cannot be made yet
    FarIntroduce what;
    Time until{};
    FairOrder::Place place;      // among those for the same interface
    std::uint64_t presence = 0;  // of that node, which has gone if there is a later one
  };
  struct FarWaiter {  // a look-up of another node's process that has no answer yet
    FarLookup what;
    FairOrder::Place place;  // among those of the same name
    std::uint64_t presence = 0;
  };
  // Something has happened that more may have waited for than are taken up at once.
  struct Due {
    // The last three are what requests of other nodes wait for: something at an interface, a name, and room
    // for messages to a node.
    // Before them: a search that is over, a node that has gone or come, a process whose end is known, and the
    // end of the time in which processes of the run before come back.
    enum class What : std::uint8_t {
      reading,
      peer,
      name,
      leaving,
      search,
      node,
      ends,
      grace,
      arrivals,
      far_name,
      room,
    };
    What what{};
    std::uint64_t of = 0;  // reading, ends: a connection; peer, arrivals: an interface; leaving, search: its
                           // number there; node, room: a node
    std::string name{};
    Waiting after{};  // request, or place of one, that was looked at last
    // (Of grace, `after` has the kind of those who wait, and the last that was looked at is in `of` or
    // `name`.)
  };
  struct Watch {  // by a process, of the nodes
    std::uint64_t request = 0;
    std::map<NodeId, std::uint32_t> due;  // that it is to be told of, and how often each has changed
    bool whole = false;                   // it has been told of all
  };

  void greet(std::uint64_t id, Connection& connection, std::span<const std::byte> message, bool counters);
  void attach(std::uint64_t id, Connection& connection, const Hello& hello, bool counters);
  void welcome(std::uint64_t id, const Connection& connection, const Token& token);
  void refuse_unknown(std::uint64_t id, const Request& request);
  void turn_away(std::uint64_t id, ErrorCode code, std::string_view text);
  void handle(std::uint64_t id, Connection& connection, const Request& request);
  void introduce(std::uint64_t id, Connection& connection, const Request& request);
  void publish(std::uint64_t id, Connection& connection, const Request& request);
  void enter_name(std::uint64_t id, Connection& connection, const Request& request);
  void withdraw(std::uint64_t id, Connection& connection, const Request& request);
  void lookup(std::uint64_t id, Connection& connection, const Request& request);
  void cancel(std::uint64_t id, Connection& connection, const Request& request);
  void link_ended(Connection& connection, std::uint64_t link);
  static void end_reason(Connection& connection, const Request& request);
  void link_bytes(std::uint64_t id, Connection& connection, const Request& request);
  void area_bytes(std::uint64_t id, Connection& connection, const Request& request);
  void adopt_link(Connection& connection, const Request& request);
  void prove(Connection& connection, std::uint64_t link);
  void report(std::uint64_t id, Connection& connection, const Request& request);
  void fabric_address(std::uint64_t id, Connection& connection, const Request& request);
  void take_consent(std::uint64_t id, Connection& connection, const Request& request);
  void check_consent(const Connection& peer, std::uint32_t uid, std::uint32_t gid, bool clerk) const;
  void check_names(const Connection& connection, RequestKind kind) const;
  bool is_clerk(const Identity& who) const noexcept { return clerk_pid_ != 0 && who.pid == clerk_pid_; }
  void list(std::uint64_t id, const Connection& connection, const Request& request);

  bool far(std::uint64_t interface) const noexcept;
  void introduce_far(std::uint64_t id, Connection& connection, const Request& request);
  std::string missing_nodes() const;
  void expect_far(std::uint64_t id, Connection& connection);
  static std::string because(const Connection& connection);
  void have_way_opened(std::uint64_t id, Connection& connection, NodeId towards);
  Accounts& visitors(NodeId node);
  bool take_for(FarKey key, std::uint32_t uid, Resource what);
  void give_for(NodeId node, std::uint32_t uid, Resource what);
  void take_introduce(NodeId node, FarIntroduce what);
  bool take_up(NodeId node, const FarIntroduce& what);
  bool take_up_at(std::uint64_t id, NodeId node, const FarIntroduce& what);
  bool has_way(std::uint64_t id, Connection& peer, NodeId node, const FarEnd& end);
  void take_up_arrival(FarKey key);
  void forget_arrival(FarKey key);
  void arrivals_happened(std::uint64_t uid, std::uint64_t interface);
  void far_name_happened(std::uint64_t uid, std::string_view name);
  void try_way_again(std::uint64_t interface);
  bool step_arrivals(Due& due);
  bool step_far_name(Due& due);
  bool step_room(const Due& due);
  bool step_search(const Due& due);
  bool step_node(const Due& due);
  std::optional<bool> tell_next(NodeId node, NodeNews& news);
  std::optional<bool> tell_next_link(NodeId node, NodeNews& news);
  std::optional<bool> tell_next_ask(NodeId node, NodeNews& news);
  std::optional<bool> tell_next_search(NodeId node, NodeNews& news);
  template <class Requests>
  std::optional<bool> forget_next(const Requests& requests, void (Node::*let_go)(FarKey), NodeId node,
                                  NodeNews& news);
  std::optional<bool> open_next_way(NodeId node, NodeNews& news);
  std::optional<bool> ask_next_again(NodeId node, NodeNews& news);
  static bool next_part(NodeId node, NodeNews& news);
  std::uint64_t presence_of(NodeId node) const;
  bool step_ends(const Due& due);
  bool step_grace(Due& due);
  void take_introduced(NodeId node, const FarIntroduced& what);
  void take_refused(NodeId node, const FarRefused& what);
  void take_ended(NodeId node, const FarEnded& what);
  void take_lookup(NodeId node, const FarLookup& what);
  bool answer_far_lookup(NodeId node, const FarLookup& what);
  void answer_far_waiter(FarKey key);
  void forget_far_waiter(FarKey key);
  void take_found(NodeId node, const FarFound& what);
  void take_cancel(NodeId node, const FarCancel& what);
  void search(std::uint64_t id, const Request& request, bool may_come);
  std::uint64_t begin_search(std::uint64_t id, const Request& request, bool may_come);
  void look_at(std::uint64_t serial, Search& search, NodeId node);
  void look_everywhere(std::uint64_t serial, Search& search);
  void searched(std::uint64_t serial, NodeId node);
  void found_far(Search& search, NodeId node, const RegisteredName& what);
  void close_search(Search& search);
  void end_search(Search& search);
  bool answer_from_cache(std::uint64_t id, const Connection& connection, const Request& request);
  void answer_found(std::uint64_t id, std::uint64_t request, const RegisteredName& what);
  void take_want_registry(NodeId node, const FarWantRegistry& what);
  void take_registry(NodeId node, const FarRegistry& what);
  void changed(std::string_view name);
  void refuse_search(std::uint64_t serial, ErrorCode code, std::string_view text);
  void leave_search(Waiting waiting);
  bool was_asked(NodeId node, std::uint64_t serial) const;
  void tell_lookups(NodeId node);
  void go_on_telling();
  void check_place(NodeId node, const FarEnd& end) const;
  std::map<Waiting, Ask>::iterator find_ask(std::uint64_t id, std::uint64_t peer);
  void end_ask(std::map<Waiting, Ask>::iterator ask);
  void refuse_far(NodeId node, std::uint64_t serial, const Refused& refusal);
  void open_far(std::uint64_t id, Connection& connection, std::uint64_t request, std::uint64_t peer,
                std::uint64_t link, const std::array<std::byte, 32>& key, const FarEnd& end, bool initiator);
  void tell_gone(Connection& connection, std::uint64_t link, std::uint64_t peer, LinkReason reason,
                 std::string_view why);
  void tell_silent(const Connection& connection, std::uint64_t link, std::uint64_t peer,
                   std::string_view why);
  void tell_far_end(Connection& connection, std::uint64_t link, LinkReason reason);
  void tell_undecided(std::uint64_t id, LinkReason reason);
  void refuse_waiting(Waiting waiting, const Refused& refusal);
  void forget_far_request(Waiting waiting);
  void tick_far();
  std::optional<Time> far_deadline() const;
  void nodes(std::uint64_t id, const Request& request);
  void watch(std::uint64_t id, Connection& connection, const Request& request);
  void tell_watcher(std::uint64_t id, Watch& watch);
  FarEnd end_of(const Connection& connection) const;
  template <class Message>
  void tell(NodeId node, const Message& message) {
    others_->tell(node, encode(message));
  }

  void hold(std::uint64_t id, Connection& connection, const Request& request);
  bool release(std::uint64_t id, Connection& connection, std::uint64_t request);
  void take_up(Waiting waiting);
  void take_up_far(std::uint64_t id, std::optional<std::uint64_t> peer = std::nullopt);
  std::optional<Obstacle> obstacle_to(std::uint64_t id, const Connection& connection, std::uint64_t number);
  void try_introduction(const PendingIntroductions::Key& key);
  void try_introductions_between(std::uint64_t one, std::uint64_t other);
  void happened(std::uint64_t user, Due due);
  void name_happened(std::uint32_t uid, std::string_view name);
  void peer_happened(std::uint32_t uid, std::uint64_t interface);
  void go_on(int steps);
  bool step(Due& due);
  void close_some(std::uint64_t id, Connection& connection);
  void end_grace();
  void tick_held();
  std::optional<Time> held_deadline() const;
  void wait_for_name(std::uint64_t id, Connection& connection, const Request& request);
  void keep_name(const std::string& name, const Kept& kept);
  void give_up_name(const std::string& name);
  static std::vector<std::string> names_in(const std::set<std::pair<std::uint64_t, std::string>>& names,
                                           std::uint64_t of);
  void drop_kept(std::map<std::string, Kept, std::less<>>::iterator kept);
  void change_bytes(std::uint32_t uid, std::uint64_t& from, std::uint64_t to);
  void check_room(std::uint32_t uid, std::uint64_t ends) const;
  void check_peers_room(std::uint32_t uid, std::uint32_t asker) const;
  void shun(Connection& connection, std::uint64_t peer);
  void hear_again(Connection& connection, std::uint64_t peer);
  void open_side(Connection& connection, std::uint64_t link, const Side& side);
  void close_side(Connection& connection, std::uint64_t link);
  void forget(std::uint64_t id, bool keep_names, LinkReason why = LinkReason::ended);
  void farewell(std::uint64_t id);
  void drop(std::uint64_t id, const char* why);
  void forget_deadline(std::uint64_t id, const Connection& connection);
  bool may_attach(const Identity& who) const;
  static bool may_look_up(std::uint32_t uid, std::uint32_t gid, const RegisteredName& name);
  RegisteredName registered(const Name& name) const;
  Token sign(std::uint32_t uid, std::uint64_t interface, std::string_view name) const;
  // Whether this node had given that to a process of that user, or of root: root's may have become another's.
  bool proves(const Token& token, std::uint32_t uid, std::uint64_t interface, std::string_view name) const;
  void answer(std::uint64_t id, const Reply& reply);

  static constexpr std::uint64_t kNodes = std::uint64_t{1} << 32;  // turns of a node, beside those of users
  static constexpr int kAtOnce = 16;  // requests that are taken up by what happens, or are over by the clock

  // Ends what is over by now, so many at once: `work` takes the first out. The next look is due at once for
  // the rest.
  template <class Deadlines, class Work>
  void each_over(Deadlines& deadlines, Work work) {
    for (int left = kAtOnce; left > 0 && !deadlines.empty() && deadlines.begin()->first <= now_; --left) {
      const auto what = deadlines.begin()->second;
      work(what);
    }
  }

  const NodeOptions options_;
  NodeEnvironment& environment_;
  const Time started_;
  Time now_;
  bool grace_;
  std::uint64_t next_number_;
  std::map<std::uint64_t, Connection> connections_;
  std::map<std::uint64_t, std::uint64_t> interfaces_;  // to connections
  std::map<std::string, Name, std::less<>> names_;
  std::map<std::string, Kept, std::less<>> kept_;
  std::set<std::pair<Time, std::string>> kept_until_;
  // Ends of links to other nodes of a connection that was closed, until it is known whether its process has
  // died, or so long.
  static constexpr Time kDying{1000};
  std::map<std::uint64_t, Undecided> undecided_;
  std::deque<std::pair<Time, std::uint64_t>> undecided_until_;
  std::set<std::pair<std::uint64_t, std::string>> kept_of_;  // by connection
  std::set<std::pair<std::uint64_t, std::string>> kept_at_;  // by interface
  std::uint64_t next_generation_ = 1;                        // of what is registered
  // Names to the connections and requests that wait for them: look-ups, and claims of those that are kept.
  std::map<std::string, std::set<std::pair<std::uint64_t, std::uint64_t>>, std::less<>> awaited_;
  PendingIntroductions introductions_;
  bool in_turn_ = false;            // whoever waited is looked at
  std::optional<Time> held_until_;  // of what is taken up
  std::set<std::pair<Time, Waiting>> introduction_deadlines_;
  std::set<std::pair<Time, std::pair<std::uint64_t, std::uint64_t>>> adoptions_;  // connections and links
  std::map<std::uint64_t, Due> dues_;
  std::set<std::tuple<Due::What, std::uint64_t, std::string>> due_;
  UserTurns due_turns_;
  std::uint64_t next_due_ = 0;
  std::map<std::uint64_t, Connection> leaving_;  // that have gone, but for their links
  bool in_steps_ = false;                        // what happens in a step has its own later
  std::map<NodeId, NodeNews> node_news_;
  std::map<NodeId, std::uint64_t> presences_;     // how often each node has gone
  std::map<NodeId, std::uint64_t> incarnations_;  // of each node when it was there last
  // Links to each other node, by interface and number.
  std::map<NodeId, std::set<std::pair<std::uint64_t, std::uint64_t>>> links_to_;
  OtherNodes* const others_;
  Clerk* clerk_ = nullptr;
  std::uint32_t clerk_pid_ = 0;
  std::map<Waiting, Ask> asks_;
  std::set<std::pair<Time, Waiting>> ask_deadlines_;
  std::set<std::pair<Time, std::uint64_t>> search_deadlines_;
  std::set<std::pair<Time, FarKey>> arrival_deadlines_;
  std::map<std::uint64_t, Waiting> asked_;    // by serial
  std::map<std::uint64_t, Search> searches_;  // likewise
  std::map<Waiting, std::uint64_t> search_of_;
  std::map<Wanted, std::uint64_t> shared_;  // searches that others may join: those that wait
  std::uint64_t next_serial_ = 1;
  std::map<NodeId, std::set<std::uint64_t>> unsaid_;  // serials of searches that a node was not told of yet
  std::map<FarKey, Arrival> arrivals_;
  std::map<std::uint64_t, FairOrder> arrivals_at_;  // by the interface they are for
  std::map<std::tuple<NodeId, std::uint64_t, std::uint64_t, std::uint64_t>, FarKey>
      arrivals_of_;  // by node, link, interface and serial
  std::map<FarKey, FarWaiter> far_waiters_;
  std::map<std::string, FairOrder, std::less<>> far_awaited_;  // by name
  std::map<NodeId, Accounts> visitors_;                        // what other nodes' users hold here
  std::set<FarKey> crowded_;  // arrivals and look-ups whose answer waits until there is room for it
  std::map<std::uint64_t, Watch> watches_;  // by connection
  // How the nodes were when whoever watches them was told last: state and incarnation.
  std::map<NodeId, std::pair<std::uint32_t, std::uint64_t>> seen_;
  Accounts accounts_;
  std::set<std::pair<Time, std::uint64_t>> deadlines_;  // of connections that attach nothing
  std::uint64_t malformed_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t cut_ = 0;
};

}  // namespace hamlyn::node
