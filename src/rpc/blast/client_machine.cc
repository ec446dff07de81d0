#include "rpc/blast/client_machine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace hamlyn::internal_::rpc::blast {

namespace {

// A server that was started again, and knows no address of this side's, could not answer so many. Then it is
// said anew.
constexpr std::uint32_t kTriesToKnock = 3;

}  // namespace

ClientMachine::ClientMachine(fabric::DatagramPort& port, Peer server, const ClientLimits& limits,
                             std::span<const Procedure> procedures, Chance chance)
    : port_(port),
      server_(server),
      limits_(limits),
      packet_(limits.packet != 0 ? limits.packet : static_cast<std::uint32_t>(port.limit() - sizeof(Data))),
      chance_(std::move(chance)),
      binding_(procedures),
      room_(port.limit()) {
  greet_anew();
}

// --- opening

void ClientMachine::greet_anew() noexcept {
  step_ = Step::hello;
  session_ = 0;
  do incarnation_ = chance_();
  while (incarnation_ == 0);
  tries_ = 0;
  due_ = 0;
  binding_.begin();
}

void ClientMachine::fail(Status why) noexcept {
  step_ = Step::failed;
  failure_ = why;
}

void ClientMachine::send_greeting(Time now) noexcept {
  if (step_ == Step::confirm && tries_ == kTriesToKnock) greet_anew();
  if (step_ == Step::hello) {
    send_hello();
  } else {
    Greeting out;
    out.head = {.kind = PacketKind::confirm, .session = session_};
    send(out);
  }
  greeted_ = now;
  due_ = now + std::min(trip_.patience() << std::min(tries_++, 16u), kMostWait);
}

void ClientMachine::send_hello() noexcept {
  Greeting out;
  out.incarnation = incarnation_;
  out.packet = packet_;
  out.bytes = static_cast<std::uint32_t>(limits_.result);
  out.lines = static_cast<std::uint16_t>(limits_.lines);
  out.unit = limits_.unit;
  const std::span<const std::byte> own = port_.address();
  const Greeting wire = protocols::in_wire_order(out);
  std::memcpy(room_.data(), &wire, sizeof wire);
  std::memcpy(room_.data() + sizeof wire, own.data(), own.size());
  static_cast<void>(port_.send(server_, std::span(room_).first(sizeof wire + own.size())));
}

void ClientMachine::hear_greeting(const Greeting& said, Time now) noexcept {
  const PacketKind kind = said.head.kind;
  const bool ours = said.incarnation == incarnation_, here = said.head.session == session_;
  if (kind == PacketKind::welcome && step_ == Step::hello && ours) return welcome(said, now);
  if (kind == PacketKind::confirmed && step_ == Step::confirm && here) {
    if (tries_ == 1) trip_.measured(now - greeted_);
    step_ = Step::binding;
    return;
  }
  if (kind == PacketKind::refused && said.why != Greeting::Why::no_session && step_ == Step::hello && ours) {
    // A server that was started again may have room later.
    if (!was_open_) fail(Status::refused);
    return;
  }
  if (kind == PacketKind::refused && said.why == Greeting::Why::no_session && session_ != 0 && here) {
    // A session that was never confirmed has done nothing: another one is asked for, no sooner than the
    // answer to this one would have been.
    const Time due = step_ == Step::confirm ? due_ : 0;
    end_calls();
    greet_anew();
    due_ = due;
    return;
  }
  ++refused_;
}

void ClientMachine::welcome(const Greeting& said, Time now) noexcept {
  try {
    lines_.resize(std::min<std::size_t>(said.lines, limits_.lines));
    free_.clear();
    free_.reserve(lines_.size());
    for (auto& line : lines_) {
      if (line == nullptr) line = std::make_unique<Line>();
      line->call.make_room(limits_.unit);
      line->last = 0;
    }
  } catch (const std::bad_alloc&) {
    return fail(Status::no_buffer);
  }
  for (std::size_t i = lines_.size(); i != 0; --i) free_.push_back(static_cast<std::uint16_t>(i - 1));
  if (tries_ == 1) trip_.measured(now - greeted_);
  session_ = said.head.session;
  longest_ = said.bytes;
  silence_ = Time{said.silence} * 1'000'000;
  step_ = Step::confirm;
  tries_ = 0;
  due_ = 0;
}

void ClientMachine::bind() noexcept {
  const Status status = binding_.advance(*this);
  if (status == Status::pending) return;
  if (status != Status::ok) return fail(status);
  step_ = Step::open;
  was_open_ = true;
}

// --- calls

Status ClientMachine::start(std::size_t place, std::span<const std::byte> frame, std::uint16_t left,
                            std::uint8_t depth, std::uint8_t flags, Time now, CallId& out) noexcept {
  if (step_ == Step::failed) return failure_;
  // A server may have forgotten who was silent for long.
  const bool idle = step_ == Step::open && free_.size() == lines_.size();
  if (idle && silence_ != 0 && now - said_ > silence_ / 2) greet_anew();
  if (step_ != Step::open) return Status::connecting;
  if (!has(place)) return Status::refused;
  now_ = now;
  Data first;
  first.left = left;
  first.depth = depth;
  first.flags = flags;
  return send_call(binding_.number(place), frame, first, out);
}

Status ClientMachine::ask(Own own, std::span<const std::byte> frame, CallId& out) noexcept {
  return send_call(static_cast<std::uint16_t>(own), frame, Data{}, out);
}

Status ClientMachine::send_call(std::uint16_t procedure, std::span<const std::byte> frame, const Data& first,
                                CallId& out) noexcept {
  if (frame.size() > longest_) return Status::too_long;
  if (free_.empty()) return Status::queue_full;
  const std::uint16_t number = free_.back();
  Line& line = *lines_[number];
  line.frame.reset(new (std::nothrow) std::byte[std::max<std::size_t>(frame.size(), 1)]);
  if (line.frame == nullptr) return Status::no_buffer;
  if (!frame.empty()) std::memcpy(line.frame.get(), frame.data(), frame.size());
  free_.pop_back();
  line.state = State::out;
  line.forgotten = line.cancelled = false;
  line.first = first;
  if (++line.last == 0) ++line.last;  // 0 is of no call
  line.first.head = {.kind = PacketKind::call, .sequence = line.last, .session = session_};
  line.first.line = number;
  line.first.length = static_cast<std::uint32_t>(frame.size());
  line.first.procedure = procedure;
  line.call.begin(packets_of(frame.size(), packet_));
  line.result.clear();
  line.tries = 0;
  line.begun = now_;
  line.due = now_ + trip_.patience();
  out = id_of(number);
  work_at(line, now_);
  return Status::ok;
}

const ClientMachine::Line* ClientMachine::line_of(CallId call) const noexcept {
  if (call.server != session_ || session_ == 0 || call.stack >= lines_.size()) return nullptr;
  const Line& line = *lines_[call.stack];
  return line.last == call.sequence && line.state != State::free ? &line : nullptr;
}

ClientMachine::Look ClientMachine::look(CallId call) const noexcept {
  const Line* const line = line_of(call);
  if (line == nullptr || line->forgotten) return Look::none;
  if (line->state == State::out) return Look::out;
  return line->reply.cause == Cause::none ? Look::done : Look::failed;
}

bool ClientMachine::take(CallId call, Landing& into, ReplyWord& reply) noexcept {
  Line& line = *line_of(call);
  reply.kind = line.reply.cause == Cause::none ? Kind::result : Kind::failed;
  reply.cause = line.reply.cause;
  reply.begun = (line.reply.flags & Data::kBegun) != 0;
  const std::size_t length = line.reply.length;
  if (length <= sizeof into.here) {
    if (length != 0) std::memcpy(into.here, line.result.bytes().data(), length);
    into.bytes = {into.here, length};
  } else {
    into.more = line.result.take_bytes();
    into.bytes = {into.more.get(), length};
  }
  release(call.stack);
  return true;
}

void ClientMachine::release(std::uint16_t number) noexcept {
  Line& line = *lines_[number];
  line.state = State::free;
  line.frame.reset();
  line.result.clear();
  line.due = kNever;
  free_.push_back(number);  // it has room for all of them
}

void ClientMachine::forget(CallId call) noexcept {
  Line* const line = line_of(call);
  if (line == nullptr) return;
  line->forgotten = true;
  if (line->state == State::done) finish(call.stack);
}

// Behind the result of a call.
void ClientMachine::finish(std::uint16_t number) noexcept {
  Line& line = *lines_[number];
  line.state = State::done;
  line.due = kNever;
  line.frame.reset();
  if (!line.forgotten) return;
  note(id_of(number), (line.reply.flags & Data::kBegun) != 0 ? Fate::done : Fate::not_done);
  release(number);
}

void ClientMachine::cancel(CallId call, Time now) noexcept {
  Line* const line = line_of(call);
  if (line == nullptr || line->state != State::out || line->cancelled) return;
  line->cancelled = true;
  line->tries = 0;
  ask_about(*line, now);
}

Fate ClientMachine::fate(CallId call) const noexcept {
  const Line* const line = line_of(call);
  if (line != nullptr && line->state == State::done)
    return (line->reply.flags & Data::kBegun) != 0 ? Fate::done : Fate::not_done;
  for (const Known& known : known_) {
    if (known.call.server == call.server && known.call.sequence == call.sequence &&
        known.call.stack == call.stack)
      return known.fate;
  }
  return Fate::unknown;
}

bool ClientMachine::is_out(CallId call) const noexcept {
  const Line* const line = line_of(call);
  return line != nullptr && line->state == State::out;
}

bool ClientMachine::silent(CallId call, Time now) const noexcept {
  const Line* const line = line_of(call);
  return line != nullptr && line->state == State::out && now - std::max(heard_, line->begun) >= limits_.dead;
}

// Nobody will ever know of those that are out. Results that nobody has taken go.
void ClientMachine::end_calls() noexcept {
  for (std::size_t i = 0; i != lines_.size(); ++i) {
    lines_[i]->forgotten = true;
    if (lines_[i]->state == State::done) finish(static_cast<std::uint16_t>(i));
    if (lines_[i]->state == State::out) release(static_cast<std::uint16_t>(i));
  }
}

void ClientMachine::leave() noexcept {
  if (session_ == 0) return;
  Word out;
  out.head = {.kind = PacketKind::leave, .session = session_};
  send(out);
}

// --- what comes

void ClientMachine::hear(Peer from, std::span<const std::byte> packet, Time now) noexcept {
  now_ = now;
  const std::optional<Head> head = head_of(packet);
  if (!head || from != server_) {
    ++refused_;
    return;
  }
  switch (head->kind) {
    case PacketKind::welcome:
    case PacketKind::confirmed:
    case PacketKind::refused:
      if (const auto said = structure_of<Greeting>(packet)) return hear_greeting(*said, now);
      break;
    case PacketKind::result:
      if (const auto part = structure_of<Data>(packet))
        return hear_result(*part, packet.subspan(sizeof(Data)), now);
      break;
    case PacketKind::answer:
      if (const auto said = structure_of<Answer>(packet); said && said->of_result == 0)
        return hear_answer(*said, now);
      break;
    default:
      break;  // what only clients say
  }
  ++refused_;
}

// The line whose call that is about, if it is out.
ClientMachine::Line* ClientMachine::out_line(const Head& head, std::uint16_t number) noexcept {
  const bool there = head.session == session_ && session_ != 0 && number < lines_.size();
  if (there && lines_[number]->state == State::out && lines_[number]->last == head.sequence) {
    heard_ = now_;
    return lines_[number].get();
  }
  ++refused_;
  return nullptr;
}

void ClientMachine::hear_result(const Data& part, std::span<const std::byte> data, Time now) noexcept {
  Line* const line = out_line(part.head, part.line);
  if (line == nullptr) return;
  Incoming::Took took;
  if (line->result.begun()) {
    took = line->result.take(part, data, now);
  } else {
    if (part.length > limits_.result) {
      ++refused_;
      return;
    }
    took = line->result.begin(part, data, packet_, limits_.unit, now);
    line->reply = part;
  }
  if (took == Incoming::Took::wrong) ++refused_;
  if (took == Incoming::Took::news || took == Incoming::Took::unit) line->tries = 0;
  if (took != Incoming::Took::unit) return;
  if (line->result.whole()) return finish(part.line);
  Answer out = line->result.answer(false);
  out.head = {.kind = PacketKind::answer, .sequence = line->last, .session = session_};
  out.line = part.line;
  out.of_result = 1;
  send(out);
}

void ClientMachine::hear_answer(const Answer& said, Time now) noexcept {
  Line* const line = out_line(said.head, said.line);
  if (line == nullptr) return;
  const Outgoing::Heard heard = line->call.hear(said, now, trip_);
  if (heard == Outgoing::Heard::wrong) ++refused_;
  if (heard != Outgoing::Heard::news) return;
  // A call that has come whole is being done: it is asked about less and less often.
  if (!line->call.arrived()) line->tries = 0;
  line->due = now + std::min(trip_.patience() << std::min(line->tries, 16u), kMostWait);
}

// --- what leaves

void ClientMachine::run(Time now) noexcept {
  now_ = now;
  full_ = false;
  if ((step_ == Step::hello || step_ == Step::confirm) && now >= due_) send_greeting(now);
  if (step_ == Step::binding) bind();
  for (auto& line : lines_) {
    if (line->state == State::out) work_at(*line, now);
  }
}

void ClientMachine::work_at(Line& line, Time now) noexcept {
  if (line.result.begun()) {
    if (line.result.due() > now) return;
    ask_about(line, now);
    line.result.answered_late(now, ~0u);
    return;
  }
  if (now >= line.due) ask_about(line, now);
  while (!line.cancelled && !full_) {
    const auto packet = line.call.next();
    if (!packet || !send_part(line, *packet)) return;
    line.due = std::max(line.due, now + trip_.patience());
  }
}

// Nothing has come of it for a while.
void ClientMachine::ask_about(Line& line, Time now) noexcept {
  line.due = now + std::min(trip_.patience() << std::min(++line.tries, 16u), kMostWait);
  if (line.tries >= kTriesToKnock) send_hello();
  if (line.result.begun()) {
    Answer out = line.result.answer(true);
    out.head = {.kind = PacketKind::answer, .sequence = line.last, .session = session_};
    out.line = line.first.line;
    out.of_result = 1;
    return send(out);
  }
  if (!line.cancelled) return line.call.ask();
  Word out;
  out.head = {.kind = PacketKind::cancel, .sequence = line.last, .session = session_};
  out.line = line.first.line;
  send(out);
}

bool ClientMachine::send_part(Line& line, std::uint32_t packet) noexcept {
  Data part = line.first;
  part.pause = time_word(std::chrono::nanoseconds{trip_.pause()});
  part.packet = packet;
  part.sent = line.call.sends();
  const std::size_t at = std::size_t{packet} * packet_;
  const std::size_t bytes = std::min<std::size_t>(packet_, part.length - at);
  const Data wire = protocols::in_wire_order(part);
  std::memcpy(room_.data(), &wire, sizeof wire);
  if (bytes != 0) std::memcpy(room_.data() + sizeof wire, line.frame.get() + at, bytes);
  full_ = port_.send(server_, std::span(room_).first(sizeof wire + bytes)) == Status::queue_full;
  if (full_) return false;
  said_ = now_;
  const std::uint64_t before = line.call.sent_again();
  line.call.left(packet, now_);
  sent_again_ += line.call.sent_again() - before;
  return true;
}

template <class Structure>
void ClientMachine::send(const Structure& what) noexcept {
  const Structure wire = protocols::in_wire_order(what);
  static_cast<void>(port_.send(server_, std::as_bytes(std::span{&wire, 1})));
}

Time ClientMachine::next() const noexcept {
  if (full_) return 0;
  if (step_ == Step::hello || step_ == Step::confirm) return due_;
  Time out = kNever;
  for (const auto& line : lines_) {
    if (line->state != State::out) continue;
    out = std::min(out, line->result.begun() ? line->result.due() : line->due);
    // Has whoever waits for it told then, once.
    const Time dead = std::max(heard_, line->begun) + limits_.dead;
    if (dead > now_) out = std::min(out, dead);
  }
  return out;
}

}  // namespace hamlyn::internal_::rpc::blast
