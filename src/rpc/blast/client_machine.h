#pragma once
// A client of calls over datagrams, without waiting: packets and time in, packets out. Everything here is
// called under the client's lock.
//
// A line has one call at a time. Its packets leave as answers allow. When nothing comes the client asks; when
// a part of the result has come it says which. So it drives each call to its end, and a call that nobody
// waits for any more as well: its line is free again when it is known how it ended.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/namespaces.h"
#include "fabric/datagram_port.h"
#include "hamlyn/rpc/blast.h"
#include "rpc/binding.h"
#include "rpc/blast/blast_wire.h"
#include "rpc/blast/incoming.h"
#include "rpc/blast/outgoing.h"
#include "rpc/blast/round_trip.h"
#include "rpc/blast/server_machine.h"

namespace hamlyn::internal_::rpc::blast {

struct ClientLimits {
  std::uint32_t lines = 16;
  std::size_t result = 65536;
  std::uint32_t packet = 0;  // 0: as many bytes as the port carries
  std::uint8_t unit = 16;
  Time dead = 5'000'000'000;  // a server that is not heard for so long
};

class ClientMachine {
 public:
  enum class Step : std::uint8_t { hello, confirm, binding, open, failed };
  enum class Look : std::uint8_t { out, done, failed, none };

  ClientMachine(fabric::DatagramPort& port, Peer server, const ClientLimits& limits,
                std::span<const Procedure> procedures, Chance chance);

  // A packet that has come.
  void hear(Peer from, std::span<const std::byte> packet, Time now) noexcept;
  // Sends what may leave, and looks at the clock. Called when nothing more has come.
  void run(Time now) noexcept;
  // When `run` is to be called again, if nothing comes before. 0: at once.
  Time next() const noexcept;

  // pending: not open yet; ok; refused: no room for another client; stale: a procedure differs; broken.
  Status opened() const noexcept {
    return step_ == Step::open ? Status::ok : step_ == Step::failed ? failure_ : Status::pending;
  }
  const std::string& wrong() const noexcept { return binding_.wrong(); }
  bool has(std::size_t place) const noexcept { return binding_.has(place); }

  // ok: `out` is under way; queue_full: no line is free; connecting: it is not open; too_long; refused: the
  // server has no such procedure; no_buffer; or why it is not open. Only with ok anything has left. `flags`:
  // as Data has them.
  Status start(std::size_t place, std::span<const std::byte> frame, std::uint16_t left, std::uint8_t depth,
               std::uint8_t flags, Time now, CallId& out) noexcept;
  Look look(CallId call) const noexcept;
  // Takes what came of one that is done or has failed, and frees the line.
  bool take(CallId call, Landing& into, ReplyWord& reply) noexcept;
  void forget(CallId call) noexcept;
  void cancel(CallId call, Time now) noexcept;
  // Tells what is known of a call that is over.
  Fate fate(CallId call) const noexcept;
  bool is_out(CallId call) const noexcept;
  // Whether that call is out and the server has not been heard for long.
  bool silent(CallId call, Time now) const noexcept;
  // For calls of the library's own.
  Status ask(Own own, std::span<const std::byte> frame, CallId& out) noexcept;
  void leave() noexcept;

  std::size_t lines() const noexcept { return lines_.size(); }
  std::size_t free_lines() const noexcept { return free_.size(); }
  std::size_t longest() const noexcept { return longest_; }
  std::uint64_t refused() const noexcept { return refused_; }
  std::uint64_t sent_again() const noexcept { return sent_again_; }

 private:
  enum class State : std::uint8_t { free, out, done };
  struct Line {
    State state = State::free;
    bool forgotten = false, cancelled = false;
    std::uint32_t last = 0;
    Data first;  // what each packet of the call says
    std::unique_ptr<std::byte[]> frame;
    Outgoing call;
    Incoming result;
    Data reply;  // a packet of the result
    Time begun = 0;
    Time due = kNever;  // to ask, if nothing has come of it by then
    std::uint32_t tries = 0;
  };
  struct Known {
    CallId call;
    Fate fate = Fate::unknown;
  };
  static constexpr std::size_t kKnown = 64;

  void greet_anew() noexcept;
  void fail(Status why) noexcept;
  void hear_greeting(const Greeting& said, Time now) noexcept;
  void welcome(const Greeting& said, Time now) noexcept;
  void hear_result(const Data& part, std::span<const std::byte> data, Time now) noexcept;
  void hear_answer(const Answer& said, Time now) noexcept;
  void end_calls() noexcept;
  void finish(std::uint16_t number) noexcept;
  Line* out_line(const Head& head, std::uint16_t number) noexcept;

  Status send_call(std::uint16_t procedure, std::span<const std::byte> frame, const Data& first,
                   CallId& out) noexcept;
  void bind() noexcept;
  void send_greeting(Time now) noexcept;
  void send_hello() noexcept;
  void work_at(Line& line, Time now) noexcept;
  void ask_about(Line& line, Time now) noexcept;
  bool send_part(Line& line, std::uint32_t packet) noexcept;
  template <class Structure>
  void send(const Structure& what) noexcept;
  const Line* line_of(CallId call) const noexcept;
  Line* line_of(CallId call) noexcept {
    return const_cast<Line*>(static_cast<const ClientMachine*>(this)->line_of(call));
  }
  CallId id_of(std::uint16_t number) const noexcept {
    return {.server = session_, .sequence = lines_[number]->last, .stack = number};
  }
  void release(std::uint16_t number) noexcept;
  void note(CallId call, Fate fate) noexcept { known_[known_at_++ % kKnown] = {call, fate}; }

  fabric::DatagramPort& port_;
  const Peer server_;
  const ClientLimits limits_;
  const std::uint32_t packet_;  // bytes of data
  const Chance chance_;
  Binding binding_;
  Step step_ = Step::hello;
  Status failure_ = Status::ok;
  bool was_open_ = false;
  Time now_ = 0;      // of the call that is going on
  Time greeted_ = 0;  // when the last greeting left
  Time due_ = 0;      // for one more
  std::uint32_t tries_ = 0;
  Time heard_ = 0;         // the server
  Time said_ = 0;          // something to it
  Time silence_ = kNever;  // after which it forgets this client
  std::uint64_t incarnation_ = 0, session_ = 0;
  std::size_t longest_ = 0;
  RoundTrip trip_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::vector<std::uint16_t> free_;
  std::array<Known, kKnown> known_;
  std::size_t known_at_ = 0;
  std::vector<std::byte> room_;  // of a packet that leaves
  std::uint64_t refused_ = 0, sent_again_ = 0;
  bool full_ = false;  // the port had no room
};

}  // namespace hamlyn::internal_::rpc::blast
