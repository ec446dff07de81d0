#include "rpc/blast/server_machine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace hamlyn::internal_::rpc::blast {

namespace {

constexpr Time kLookForSilent = 100'000'000;
constexpr Time kYoung = 1'000'000'000;     // an offer
constexpr std::uint32_t kLateAnswers = 8;  // to a client that sends nothing more
constexpr std::uint32_t kMostHurried = 7;  // urgent calls before one that is not has its turn

Answer all_of_it(std::uint32_t packets, std::uint8_t unit) noexcept {
  Answer out;
  out.unit = (packets + unit - 1) / unit;
  return out;
}

}  // namespace

ServerMachine::ServerMachine(fabric::DatagramPort& port, const ServerLimits& limits, Chance chance)
    : port_(port), limits_(limits), chance_(std::move(chance)), room_(port.limit()) {
  offers_.reserve(kOffers);
  port_.take_strangers();
}

void ServerMachine::hear(Peer from, std::span<const std::byte> packet, Time now) noexcept {
  const std::optional<Head> head = head_of(packet);
  if (!head) return refuse(BlastRefused::kind);
  try {
    switch (head->kind) {
      case PacketKind::hello:
        return greet(from, packet, now);
      case PacketKind::confirm:
        return structure_of<Greeting>(packet) ? confirm(from, *head, now) : refuse(BlastRefused::kind);
      case PacketKind::call:
        return hear_call(from, packet, now);
      case PacketKind::answer:
        return hear_answer(from, packet, now);
      case PacketKind::cancel:
      case PacketKind::leave:
        return hear_word(from, packet, now);
      default:
        return refuse(BlastRefused::kind);  // what only servers say
    }
  } catch (const std::bad_alloc&) {  // whoever sent it sends it again
  }
}

// --- clients that come

bool ServerMachine::may_be(const Greeting& hello) const noexcept {
  return hello.packet + sizeof(Data) <= port_.limit();
}

// The address behind a hello is where its sender hears: whoever lies about it has another one told nothing
// but a welcome.
void ServerMachine::greet(Peer from, std::span<const std::byte> packet, Time now) {
  const auto hello = structure_of<Greeting>(packet);
  if (!hello) return refuse(BlastRefused::kind);
  const bool named = from != fabric::DatagramPort::kNobody;
  if (!named) from = port_.insert(packet.subspan(sizeof(Greeting)));
  if (from == fabric::DatagramPort::kNobody) return refuse(BlastRefused::greeting);
  for (const auto& [number, session] : sessions_) {
    if (session->peer != from || session->shape.incarnation != hello->incarnation) continue;
    return say(from, Greeting::Why::none, session->shape);
  }
  if (!named && keeps_offer(from, hello->incarnation, now)) return refuse(BlastRefused::greeting);
  const bool full = sessions_.size() >= limits_.clients && !has_session(from);
  if (!full && may_be(*hello)) return say(from, Greeting::Why::none, offer_for(from, *hello, now).hello);
  refuse(BlastRefused::greeting);
  say(from, full ? Greeting::Why::full : Greeting::Why::cannot, *hello);
  if (!named) forget(from);
}

// Takes the port's name back, unless somebody there is known.
void ServerMachine::forget(Peer peer) noexcept {
  const bool offered = std::ranges::find(offers_, peer, &Offer::peer) != offers_.end();
  if (!offered && !has_session(peer)) port_.forget(peer);
}

bool ServerMachine::has_session(Peer peer) const noexcept {
  return std::ranges::any_of(sessions_, [&](const auto& each) { return each.second->peer == peer; });
}

// Whether the port has an offer that a stranger in its name may not take away: it has no time to confirm it.
bool ServerMachine::keeps_offer(Peer peer, std::uint64_t incarnation, Time now) const noexcept {
  const auto offer = std::ranges::find(offers_, peer, &Offer::peer);
  return offer != offers_.end() && offer->hello.incarnation != incarnation && now - offer->time < kYoung;
}

// One of each port, which goes on to the next incarnation there. The oldest one goes for that of one more.
ServerMachine::Offer& ServerMachine::offer_for(Peer peer, const Greeting& hello, Time now) {
  auto offer = std::ranges::find(offers_, peer, &Offer::peer);
  if (offer != offers_.end() && offer->hello.incarnation == hello.incarnation) return *offer;
  if (offer == offers_.end()) {
    if (offers_.size() == kOffers) {
      offer = std::ranges::min_element(offers_, {}, &Offer::time);
      const Peer other = std::exchange(offer->peer, peer);
      forget(other);
    } else {
      offer = offers_.insert(offers_.end(), Offer{});
    }
  }
  Greeting shape = hello;
  do shape.head.session = chance_();
  while (shape.head.session == 0 || sessions_.contains(shape.head.session));
  shape.lines = static_cast<std::uint16_t>(std::min<std::uint32_t>(shape.lines, limits_.lines));
  *offer = {peer, now, shape};
  return *offer;
}

void ServerMachine::confirm(Peer from, const Head& head, Time now) {
  Greeting said;
  said.head.kind = PacketKind::confirmed;
  said.head.session = head.session;
  const auto known = sessions_.find(head.session);
  if (known != sessions_.end() && known->second->peer == from) return send(from, said);
  const auto offer = std::ranges::find(offers_, head.session, &Offer::session);
  const bool good = offer != offers_.end() && offer->peer == from &&
                    (sessions_.size() < limits_.clients || has_session(from));
  if (!good) {
    refuse(BlastRefused::session);
    if (from != fabric::DatagramPort::kNobody) {
      said.head.kind = PacketKind::refused;
      said.why = Greeting::Why::no_session;
      send(from, said);
    }
    return;
  }
  admit(*offer, now);
  offers_.erase(offer);
  send(from, said);
}

void ServerMachine::admit(const Offer& offer, Time now) {
  auto session = std::make_shared<Session>();
  session->peer = offer.peer;
  session->shape = offer.hello;
  session->heard = now;
  session->trip.measured(now - offer.time);
  session->lines.resize(offer.hello.lines);
  std::uint32_t number = 0;
  for (auto& line : session->lines) {
    line = std::make_unique<Line>();
    line->number = number++;
    line->result.make_room(offer.hello.unit);
  }
  // Nothing of an earlier life is done from here on.
  for (auto each = sessions_.begin(); each != sessions_.end();) {
    const std::uint64_t other = (each++)->first;
    if (sessions_.at(other)->peer == offer.peer) drop(other);
  }
  sessions_.emplace(offer.session(), std::move(session));
}

// --- clients that go

void ServerMachine::drop(std::uint64_t number) noexcept {
  const auto found = sessions_.find(number);
  Session& session = *found->second;
  // Relaxed: see there.
  session.gone.store(true, std::memory_order_relaxed);
  for (Ready* const each : {&ready_, &urgent_})
    std::erase_if(*each, [&](const auto& one) { return one.first.get() == &session; });
  std::erase_if(listed_, [&](const auto& each) { return each.first.get() == &session; });
  sessions_.erase(found);  // calls that run hold it until they are over
}

void ServerMachine::forget_silent(Time now) noexcept {
  if (now - looked_ < kLookForSilent) return;
  looked_ = now;
  for (auto each = sessions_.begin(); each != sessions_.end();) {
    const std::shared_ptr<Session> session = (each++)->second;
    if (session->running != 0 || now - session->heard < limits_.silence) continue;
    drop(session->number());
    forget(session->peer);
  }
}

// --- calls

// The session of a packet, whose sender is told if there is none.
std::shared_ptr<ServerMachine::Session> ServerMachine::find(Peer from, const Head& head, Time now) noexcept {
  const auto found = sessions_.find(head.session);
  if (found != sessions_.end() && found->second->peer == from) {
    found->second->heard = now;
    return found->second;
  }
  refuse(BlastRefused::session);
  if (from != fabric::DatagramPort::kNobody) {
    Greeting said;
    said.head.kind = PacketKind::refused;
    said.head.session = head.session;
    said.why = Greeting::Why::no_session;
    send(from, said);
  }
  return nullptr;
}

void ServerMachine::hear_call(Peer from, std::span<const std::byte> packet, Time now) {
  const auto part = structure_of<Data>(packet);
  if (!part) return refuse(BlastRefused::kind);
  const std::shared_ptr<Session> session = find(from, part->head, now);
  if (session == nullptr) return;
  if (part->line >= session->lines.size()) return refuse(BlastRefused::line);
  if (part->length > limits_.frame) return refuse(BlastRefused::length);
  Line& line = *session->lines[part->line];
  hear_part(*session, line, *part, packet.subspan(sizeof(Data)), now);
  if (line.call.due() != kNever || line.phase == Phase::over) list(session, line);
  if (line.phase != Phase::coming || !line.call.whole()) return;
  queue_of(line).emplace_back(session, &line);
  line.phase = Phase::ready;
}

ServerMachine::Ready& ServerMachine::queue_of(const Line& line) noexcept {
  return (line.first.flags & Data::kUrgent) != 0 ? urgent_ : ready_;
}

void ServerMachine::hear_part(Session& session, Line& line, const Data& part, std::span<const std::byte> data,
                              Time now) {
  const std::uint32_t sequence = part.head.sequence, behind = sequence - line.last;
  if (behind == 0 && line.phase != Phase::coming) return hear_again(session, line);
  if (behind >= 0x80000000u) return refuse(BlastRefused::sequence);
  Incoming::Took took;
  if (behind != 0) {
    if (line.phase != Phase::idle && line.phase != Phase::over) return refuse(BlastRefused::busy);
    took = line.call.begin(part, data, session.shape.packet, session.shape.unit, now);
    if (took == Incoming::Took::no_memory) return;
    if (took == Incoming::Took::wrong) return refuse(BlastRefused::packet);
    // Its client has the result of the call before.
    line.data.reset();
    line.length = 0;
    line.phase = Phase::coming;
    line.last = sequence;
    line.first = part;
    line.cancelled.store(false, std::memory_order_relaxed);
    line.deadline = part.left == 0 ? kNever : now + static_cast<Time>(time_of(part.left).count());
  } else {
    took = line.call.take(part, data, now);
  }
  if (took == Incoming::Took::wrong) return refuse(BlastRefused::packet);
  if (took == Incoming::Took::unit && !line.call.whole()) answer(session, line, line.call.answer(false));
}

// A packet of a call that has come whole. Its sender has heard nothing yet.
void ServerMachine::hear_again(Session& session, Line& line) noexcept {
  if (line.phase == Phase::over)
    line.result.ask();
  else if (line.phase != Phase::idle)
    answer(session, line, all_of_it(packets_of(line.first.length, session.shape.packet), session.shape.unit));
}

void ServerMachine::hear_answer(Peer from, std::span<const std::byte> packet, Time now) {
  const auto said = structure_of<Answer>(packet);
  if (!said || said->of_result == 0) return refuse(BlastRefused::kind);
  const std::shared_ptr<Session> session = find(from, said->head, now);
  if (session == nullptr) return;
  if (said->line >= session->lines.size()) return refuse(BlastRefused::line);
  Line& line = *session->lines[said->line];
  if (said->head.sequence != line.last || line.phase != Phase::over) return refuse(BlastRefused::sequence);
  if (line.result.hear(*said, now, session->trip) == Outgoing::Heard::wrong)
    return refuse(BlastRefused::mask);
  list(session, line);
}

void ServerMachine::hear_word(Peer from, std::span<const std::byte> packet, Time now) {
  const auto word = structure_of<Word>(packet);
  if (!word) return refuse(BlastRefused::kind);
  const std::shared_ptr<Session> session = find(from, word->head, now);
  if (session == nullptr) return;
  if (word->head.kind == PacketKind::leave) {
    drop(session->number());
    return forget(from);
  }
  if (word->line >= session->lines.size()) return refuse(BlastRefused::line);
  Line& line = *session->lines[word->line];
  cancel(*session, line, word->head.sequence);
  if (line.phase == Phase::over) list(session, line);
}

// One that was not begun is over, and never will be; so is one of which nothing has come.
void ServerMachine::cancel(Session& session, Line& line, std::uint32_t sequence) noexcept {
  const std::uint32_t behind = sequence - line.last;
  const bool free = line.phase == Phase::idle || line.phase == Phase::over;
  if (behind >= 0x80000000u || (behind != 0 && !free)) return refuse(BlastRefused::sequence);
  if (behind == 0 && line.phase == Phase::running) {
    line.cancelled.store(true, std::memory_order_relaxed);
    return hear_again(session, line);
  }
  if (behind == 0 && line.phase == Phase::over) return line.result.ask();
  if (line.phase == Phase::ready)
    std::erase_if(queue_of(line), [&](const auto& each) { return each.second == &line; });
  line.call.clear();
  line.data.reset();
  line.length = 0;
  line.result.begin(1);
  line.last = sequence;
  line.phase = Phase::over;
  line.cause = Cause::cancelled;
  line.begun = false;
}

bool ServerMachine::take(Taken& out, Time now) noexcept {
  while (!ready_.empty() || !urgent_.empty()) {
    const bool hurries = !urgent_.empty() && (ready_.empty() || hurried_ < kMostHurried);
    hurried_ = hurries && !ready_.empty() ? hurried_ + 1 : 0;
    Ready& queue = hurries ? urgent_ : ready_;
    const auto [session, line] = queue.front();
    queue.pop_front();
    line->phase = Phase::running;
    ++session->running;
    out = {session, line, line->deadline, line->call.bytes()};
    if (now < line->deadline) return true;
    static_cast<void>(finish(out, Cause::cancelled, false, {}, now));
  }
  return false;
}

bool ServerMachine::finish(const Taken& call, Cause cause, bool begun, std::span<const std::byte> data,
                           Time now) noexcept {
  Session& session = *call.session;
  Line& line = *call.line;
  HAMLYN_ASSERT(line.phase == Phase::running, "a call that was taken is finished once");
  --session.running;
  line.phase = Phase::over;
  line.call.clear();
  // Relaxed: this thread, or another under the same lock, has stored it.
  if (session.gone.load(std::memory_order_relaxed)) return false;
  line.data.reset(new (std::nothrow) std::byte[std::max<std::size_t>(data.size(), 1)]);
  if (line.data == nullptr) {
    data = {};
    cause = Cause::no_memory;
  }
  line.cause = cause;
  line.begun = begun;
  line.length = data.size();
  if (!data.empty()) std::memcpy(line.data.get(), data.data(), data.size());
  line.result.begin(packets_of(data.size(), session.shape.packet));
  if (!work_at(session, line, now)) return false;
  try {
    list(call.session, line);
  } catch (const std::bad_alloc&) {  // its caller asks again
  }
  return line.listed;
}

// --- what leaves

void ServerMachine::list(const std::shared_ptr<Session>& session, Line& line) {
  if (line.listed) return;
  listed_.emplace_back(session, &line);
  line.listed = true;
}

void ServerMachine::run(Time now) noexcept {
  full_ = false;
  std::erase_if(listed_, [&](const auto& each) {
    if (work_at(*each.first, *each.second, now)) return false;
    each.second->listed = false;
    return true;
  });
  forget_silent(now);
}

bool ServerMachine::work_at(Session& session, Line& line, Time now) noexcept {
  if (line.phase == Phase::over) {
    while (const auto packet = line.result.next()) {
      if (full_ || !send_part(session, line, *packet, now)) return true;
    }
    return false;
  }
  if (line.phase != Phase::coming || line.call.due() == kNever) return false;
  if (line.call.due() <= now) {
    answer(session, line, line.call.answer(true));
    line.call.answered_late(now, kLateAnswers);
  }
  return line.call.due() != kNever;
}

bool ServerMachine::send_part(Session& session, Line& line, std::uint32_t packet, Time now) noexcept {
  Data part;
  part.head = {.kind = PacketKind::result, .sequence = line.last, .session = session.number()};
  part.line = static_cast<std::uint16_t>(line.number);
  part.pause = time_word(std::chrono::nanoseconds{session.trip.pause()});
  part.length = static_cast<std::uint32_t>(line.length);
  part.packet = packet;
  part.sent = line.result.sends();
  part.flags = line.begun ? Data::kBegun : 0;
  part.cause = line.cause;
  const std::size_t at = std::size_t{packet} * session.shape.packet;
  const std::size_t bytes = std::min<std::size_t>(session.shape.packet, line.length - at);
  const Data wire = protocols::in_wire_order(part);
  std::memcpy(room_.data(), &wire, sizeof wire);
  if (bytes != 0) std::memcpy(room_.data() + sizeof wire, line.data.get() + at, bytes);
  const Status status = port_.send(session.peer, std::span(room_).first(sizeof wire + bytes));
  full_ = status == Status::queue_full;
  if (full_) return false;
  const std::uint64_t before = line.result.sent_again();
  line.result.left(packet, now);
  sent_again_ += line.result.sent_again() - before;
  return true;
}

void ServerMachine::answer(const Session& session, Line& line, const Answer& what) noexcept {
  Answer out = what;
  out.head = {.kind = PacketKind::answer, .sequence = line.last, .session = session.number()};
  out.line = static_cast<std::uint16_t>(line.number);
  send(session.peer, out);
}

void ServerMachine::say(Peer to, Greeting::Why why, const Greeting& of) noexcept {
  Greeting out;
  out.head.kind = why == Greeting::Why::none ? PacketKind::welcome : PacketKind::refused;
  out.incarnation = of.incarnation;
  out.why = why;
  if (why == Greeting::Why::none) {
    out.head.session = of.head.session;
    out.lines = of.lines;
    out.bytes = static_cast<std::uint32_t>(limits_.frame);
    out.silence = static_cast<std::uint32_t>(limits_.silence / 1'000'000);
  }
  send(to, out);
}

// A packet that does not leave is lost: whoever waits for it asks again.
template <class Structure>
void ServerMachine::send(Peer to, const Structure& what) noexcept {
  const Structure wire = protocols::in_wire_order(what);
  static_cast<void>(port_.send(to, std::as_bytes(std::span{&wire, 1})));
}

Time ServerMachine::next() const noexcept {
  if (!ready_.empty() || !urgent_.empty()) return 0;
  Time out = sessions_.empty() ? kNever : looked_ + std::max(limits_.silence, kLookForSilent);
  for (const auto& [session, line] : listed_)
    out = std::min(out, line->phase == Phase::coming ? line->call.due() : Time{0});
  return out;
}

std::size_t ServerMachine::held() const noexcept {
  std::size_t out = offers_.size() * sizeof(Offer);
  for (const auto& [number, session] : sessions_) {
    out += sizeof(Session);
    for (const auto& line : session->lines)
      out += sizeof(Line) + line->length + (line->call.begun() ? line->first.length : 0) +
             std::size_t{2} * session->shape.unit * 16;
  }
  return out;
}

}  // namespace hamlyn::internal_::rpc::blast
