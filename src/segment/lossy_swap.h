#pragma once
// Compare-and-swap over datagrams that get lost, repeated, late and out of order: what CAS-II is for (paper
// 4, section 4.2.3), without its error. There the word keeps the nonce of whoever swapped last, and a
// requester whose reply was lost asks again. So, when A has swapped, its reply is lost, and B swaps, A is
// told that it lost; and when the value has come back meanwhile, A swaps a second time.
//
// Here a requester numbers its operations, and the target keeps a record per requester, of a window of its
// last numbers with their results: what is asked again is answered from the record and never done again. What
// is older than the window is not answered: `floor`, in each request, says that it is over.
//
// A requester that starts again has a new incarnation, and a session that the target draws for it. Requests
// of any other session are not done: so what an earlier incarnation had sent, and arrives late, does nothing.
// (A session counts from when it is confirmed. A late hello of an earlier incarnation is offered one that
// nobody confirms.)
//
// State machines: they are given their wire, their chance, and, where they need one, their clock. One thread
// at a time. What arrives from named ports is trusted as much as the network is: docs/wire.md.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/namespaces.h"
#include "fabric/datagram_port.h"
#include "hamlyn/values/status.h"
#include "segment/swap_wire.h"

namespace hamlyn::internal_::segment {

// Operations of one requester that may be under way, and that its target has a record of.
constexpr std::size_t kSwapWindow = 16;

using Chance = std::function<std::uint64_t()>;  // numbers that nobody can guess
using Peer = fabric::DatagramPort::Peer;

class SwapTarget {
 public:
  // Serves the words of `memory`, which begins at a multiple of 8; others may work on them by atomics
  // meanwhile. At most `requesters` are known; the hello of one more is refused until one is forgotten.
  SwapTarget(fabric::DatagramPort& port, std::span<std::byte> memory, std::size_t requesters, Chance chance);

  // Takes what has come, up to a budget. Whether there was anything.
  bool run() noexcept;
  // Forgets that peer's record. Packets that it had sent and that arrive later are refused.
  void forget(Peer peer) noexcept;

  std::uint64_t done() const noexcept { return done_; }          // operations, each once
  std::uint64_t repeated() const noexcept { return repeated_; }  // requests that were done before
  std::uint64_t malformed() const noexcept { return malformed_; }

 private:
  struct Result {
    std::uint64_t number = 0;
    SwapResult result = SwapResult::done;
    std::uint64_t found = 0;
  };
  struct Session {
    std::uint64_t number = 0;  // 0: none
    std::uint64_t incarnation = 0;
  };
  struct Record {
    Peer peer = fabric::DatagramPort::kNobody;
    Session session;
    Session offered;
    std::uint64_t floor = 1;
    std::array<Result, kSwapWindow> results;
  };

  void take(Peer from, const SwapPacket& packet) noexcept;
  void greet(Peer from, const SwapPacket& hello) noexcept;
  void confirm(Peer from, const SwapPacket& packet) noexcept;
  void serve(Peer from, const SwapPacket& request) noexcept;
  Result execute(const SwapPacket& request) noexcept;
  Record* find(Peer peer) noexcept;
  Session new_session(std::uint64_t incarnation);
  void send(Peer to, const SwapPacket& packet) noexcept;

  fabric::DatagramPort& port_;
  const std::span<std::byte> memory_;
  const std::size_t most_;
  const Chance chance_;
  std::vector<Record> records_;
  std::vector<std::byte> arrival_;
  std::uint64_t done_ = 0, repeated_ = 0, malformed_ = 0;
};

class SwapRequester {
 public:
  struct Options {
    std::uint64_t first_wait = 1'000'000;  // ns until a request is sent again; twice as long each time
    std::uint64_t most_wait = 100'000'000;
  };
  struct Answer {
    // pending; ok: it was done, exactly once; out_of_bounds, misaligned: not done; refused: not done, the
    // target has no room for another requester; link_ended: the target has been started again, or has
    // forgotten us, and nobody knows whether it was done; cancelled: given up, and nobody knows; invalid: no
    // such number, or an old one.
    Status status = Status::invalid;
    std::uint64_t found = 0;  // what the word was: swapped if that was expected
  };

  SwapRequester(fabric::DatagramPort& port, Peer target, const Options& options, Chance chance);

  // Begins one. queue_full: the one before it by a window is not over.
  Status begin(std::uint64_t offset, std::uint64_t expected, std::uint64_t desired, std::uint64_t now,
               std::uint64_t& number) noexcept;
  // Answer to one of the last window of numbers.
  Answer answer(std::uint64_t number) const noexcept;
  // Does not ask again.
  void give_up(std::uint64_t number) noexcept;
  // Takes what has come, and sends again what is due at `now`. To be called until all is over.
  void run(std::uint64_t now) noexcept;

 private:
  enum class State { hello, confirm, open };
  struct Operation {
    std::uint64_t number = 0;
    std::uint64_t offset = 0, expected = 0, desired = 0;
    Answer answer;
    bool sent = false;
    unsigned tries = 0;
    std::uint64_t due = 0;
  };

  void take(const SwapPacket& packet, std::uint64_t now) noexcept;
  void enter(State state, std::uint64_t now) noexcept;
  void start_over(std::uint64_t now);
  void answered(const SwapPacket& packet) noexcept;
  void end_all(Status of_sent, Status of_unsent) noexcept;
  void send_greeting(std::uint64_t now) noexcept;
  void send_request(Operation& operation, std::uint64_t now) noexcept;
  void send(const SwapPacket& packet) noexcept;
  std::uint64_t wait(unsigned tries) const;
  std::uint64_t floor() const noexcept;
  bool any_pending() const noexcept;

  fabric::DatagramPort& port_;
  const Peer target_;
  const Options options_;
  const Chance chance_;
  State state_ = State::hello;
  unsigned tries_ = 0;  // of hello or confirm
  std::uint64_t due_ = 0;
  std::uint64_t incarnation_ = 0;
  std::uint64_t session_ = 0;
  std::uint64_t next_ = 1;
  std::array<Operation, kSwapWindow> operations_;  // by number
  std::vector<std::byte> arrival_;
};

}  // namespace hamlyn::internal_::segment
