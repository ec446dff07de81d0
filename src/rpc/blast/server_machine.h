#pragma once
// A server of calls over datagrams, without waiting: packets and time in, calls to be done and packets out.
// Everything here is called under the server's lock.
//
// A stranger's hello costs it one of few offers. A client that confirms one has a session, with lines of its
// own: one call under way in each, by rising numbers. What is of no session, or of an earlier one, is not
// done. What is asked again is answered from its line, and never done again.
//
// A client drives its calls: a server only answers. It has one clock of its own, for parts of calls after
// which nothing comes.
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/namespaces.h"
#include "fabric/datagram_port.h"
#include "hamlyn/rpc/blast.h"
#include "rpc/blast/blast_wire.h"
#include "rpc/blast/incoming.h"
#include "rpc/blast/outgoing.h"
#include "rpc/blast/round_trip.h"

namespace hamlyn::internal_::rpc::blast {

using hamlyn::rpc::BlastRefused;
using Peer = fabric::DatagramPort::Peer;
using Chance = std::function<std::uint64_t()>;  // numbers that nobody can guess

struct ServerLimits {
  std::uint32_t clients = 64;
  std::uint32_t lines = 16;       // of each
  std::size_t frame = 65536;      // bytes of a call
  std::size_t result = 65536;     // bytes of a result
  Time silence = 60'000'000'000;  // of a client that is forgotten then
};

class ServerMachine {
 public:
  // Clients that have said hello and nothing more.
  static constexpr std::size_t kOffers = 64;

  enum class Phase : std::uint8_t {
    idle,
    coming,   // a part of the call has come
    ready,    // all of it
    running,  // it was taken
    over,     // its result stays for who asks again
  };
  struct Session;
  struct Line {
    std::uint32_t number = 0;
    std::uint32_t last = 0;  // number of the last call of which something has come
    Phase phase = Phase::idle;
    Data first;  // what each packet of the call says
    Time deadline = kNever;
    std::atomic<bool> cancelled{false};
    Incoming call;
    Outgoing result;
    std::unique_ptr<std::byte[]> data;  // of the result
    std::size_t length = 0;
    Cause cause = Cause::none;
    bool begun = false;
    bool listed = false;  // among those that have something to send or to wait for
  };
  struct Session {
    std::uint64_t number() const noexcept { return shape.head.session; }
    Peer peer = fabric::DatagramPort::kNobody;
    Greeting shape;  // its hello, with its session
    Time heard = 0;
    RoundTrip trip;
    // Relaxed: a handler that sees it late goes on for longer.
    std::atomic<bool> gone{false};
    std::uint32_t running = 0;
    std::vector<std::unique_ptr<Line>> lines;
  };
  // A call that was taken: it is to be finished.
  struct Taken {
    std::shared_ptr<Session> session;
    Line* line = nullptr;
    Time deadline = kNever;
    std::span<std::byte> frame;  // nobody else writes there
  };

  // The port takes strangers from now on.
  ServerMachine(fabric::DatagramPort& port, const ServerLimits& limits, Chance chance);

  // A packet that has come. Never throws: without memory it is as if it were lost.
  void hear(Peer from, std::span<const std::byte> packet, Time now) noexcept;
  // Sends what may leave, and looks at the clock. Called when nothing more has come.
  void run(Time now) noexcept;
  // When `run` is to be called again, if nothing comes before. 0: at once.
  Time next() const noexcept;

  // The next call that is to be done. False: there is none.
  bool take(Taken& out, Time now) noexcept;
  // The call is over; its result leaves. `data` is copied. True: `run` is to be called again.
  bool finish(const Taken& call, Cause cause, bool begun, std::span<const std::byte> data, Time now) noexcept;
  // Bytes of a result that this client has room for.
  std::size_t room(const Session& session) const noexcept {
    return std::min<std::size_t>(limits_.result, session.shape.bytes);
  }

  std::size_t clients() const noexcept { return sessions_.size(); }
  std::uint64_t refused(BlastRefused cause) const noexcept {
    return refused_[static_cast<std::size_t>(cause)];
  }
  std::uint64_t sent_again() const noexcept { return sent_again_; }
  // Bytes that are held for clients, and for strangers.
  std::size_t held() const noexcept;

 private:
  struct Offer {
    std::uint64_t session() const noexcept { return hello.head.session; }
    Peer peer = fabric::DatagramPort::kNobody;
    Time time = 0;
    Greeting hello;  // with the session that it may confirm
  };
  using Ready = std::deque<std::pair<std::shared_ptr<Session>, Line*>>;  // the longest there first

  void refuse(BlastRefused cause) noexcept { ++refused_[static_cast<std::size_t>(cause)]; }
  void greet(Peer from, std::span<const std::byte> packet, Time now);
  bool may_be(const Greeting& hello) const noexcept;
  Offer& offer_for(Peer peer, const Greeting& hello, Time now);
  void confirm(Peer from, const Head& head, Time now);
  void admit(const Offer& offer, Time now);
  void hear_call(Peer from, std::span<const std::byte> packet, Time now);
  void hear_part(Session& session, Line& line, const Data& packet, std::span<const std::byte> data, Time now);
  void hear_again(Session& session, Line& line) noexcept;
  void hear_answer(Peer from, std::span<const std::byte> packet, Time now);
  void hear_word(Peer from, std::span<const std::byte> packet, Time now);
  void cancel(Session& session, Line& line, std::uint32_t sequence) noexcept;
  Ready& queue_of(const Line& line) noexcept;
  std::shared_ptr<Session> find(Peer from, const Head& head, Time now) noexcept;
  void drop(std::uint64_t session) noexcept;
  void forget(Peer peer) noexcept;
  void forget_silent(Time now) noexcept;
  bool has_session(Peer peer) const noexcept;
  bool keeps_offer(Peer peer, std::uint64_t incarnation, Time now) const noexcept;

  void list(const std::shared_ptr<Session>& session, Line& line);
  // False: nothing is left to be done there.
  bool work_at(Session& session, Line& line, Time now) noexcept;
  bool send_part(Session& session, Line& line, std::uint32_t packet, Time now) noexcept;
  void say(Peer to, Greeting::Why why, const Greeting& of) noexcept;
  void answer(const Session& session, Line& line, const Answer& what) noexcept;
  template <class Structure>
  void send(Peer to, const Structure& what) noexcept;

  fabric::DatagramPort& port_;
  const ServerLimits limits_;
  const Chance chance_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions_;  // by number
  std::vector<Offer> offers_;
  Ready ready_, urgent_;
  std::uint32_t hurried_ = 0;  // urgent ones that were taken since another was
  std::vector<std::pair<std::shared_ptr<Session>, Line*>> listed_;
  std::vector<std::byte> room_;  // of a packet that leaves
  std::array<std::uint64_t, static_cast<std::size_t>(BlastRefused::count)> refused_{};
  std::uint64_t sent_again_ = 0;
  Time looked_ = 0;    // for silent clients
  bool full_ = false;  // the port had no room
};

}  // namespace hamlyn::internal_::rpc::blast
