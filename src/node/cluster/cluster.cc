#include "node/cluster/cluster.h"

#include <algorithm>
#include <utility>

#include "node/mind/bytes.h"
#include "node/mind/replies.h"

namespace hamlyn::node {
namespace {

constexpr Time kTick{10};
constexpr std::size_t kHellosPerTick = 32;  // a newcomer greets hundreds: not all in one breath
constexpr Time kTargetPause{500};
constexpr Time kElderWaits{300};  // the later of two nodes says hello; the other helps if it does not
constexpr Time kApart{300};       // tables that differ for so long are compared
constexpr Time kSync{1000};       // how often at most
constexpr Time kSilent{2000};     // without an answer: people are told
constexpr Time kToBeMet{2000};    // of which others tell: longer than two nodes need to greet each other
constexpr Time kAside{5000};      // longer than two halves of a cluster need to find each other
constexpr std::uint32_t kIncarnations = 1'000'000;  // of a second

// Hash of one row, for a sum over all of them that two nodes can compare.
std::uint64_t hash_of(const Member& member) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
  };
  return mix(mix(member.incarnation + 0x9E3779B97F4A7C15u) +
             (std::uint64_t{member.id} << 1 | (member.left ? 1u : 0u)));
}

}  // namespace

Cluster::Cluster(const ClusterOptions& options, ClusterEnvironment& environment, Time now)
    : options_(options),
      environment_(environment),
      keys_(options.secret),
      started_(now),
      now_(now),
      ticked_(now),
      incarnation_(options.incarnation) {
  environment_.random(run_key_);
  for (const Address& address : options.join) targets_.push_back({.address = address, .trying = {}});
  digest_ = hash_of({options_.id, false, incarnation_, {}});
  for (const Member& member : options.known) await(member);
}

// Waits for a member that a boot server knew before it was started again. That member still holds this node
// for the one before it, and misses that one first. Then it greets this node as its boot server. This node
// does not greet: a member that was not told of this incarnation takes nothing from it.
void Cluster::await(const Member& member) {
  if (member.id == options_.id || !learn(member)) return;
  Other& other = others_.at(member.id);
  other.awaited = now_ + options_.dead_after + kToBeMet;
  other.trying.next = other.awaited;
}

void Cluster::received(const Address& from, std::span<const std::byte> packet, Time now) {
  now_ = now;
  if (packet.size() != kHandshakeBytes || sealed_header(packet)) return take_sealed(packet);
  const auto handshake = keys_.decode(packet);
  if (!handshake) return void(++counts_.strangers);
  const bool same = handshake->version == kClusterVersion && handshake->structures == kStructuresVersion;
  if (handshake->to != 0 && handshake->to != options_.id) return void(++counts_.misdirected);
  switch (handshake->kind) {
    case HandshakeKind::hello:
      if (same || handshake->from == options_.id) return take_hello(from, *handshake);
      return refuse(from, *handshake, Reason::version);
    case HandshakeKind::refusal:
      return take_refusal(*handshake);
    case HandshakeKind::challenge:
      if (same) return take_challenge(*handshake);
      break;
    case HandshakeKind::confirm:
      if (same) return take_confirm(from, *handshake);
      break;
  }
  ++counts_.versions;  // it was told with its hello
}

// Pairs.

void Cluster::take_sealed(std::span<const std::byte> packet) {
  const auto header = sealed_header(packet);
  if (!header) return void(++counts_.strangers);
  if (header->to != options_.id) return void(++counts_.misdirected);
  const auto found = others_.find(header->from);
  if (found == others_.end()) return void(++counts_.unpaired);
  Other& other = found->second;
  Plain plain;
  auto verdict = Pair::Verdict::forged;
  bool begun = false;
  if (other.pair) verdict = other.pair->open(packet, plain);
  if (verdict == Pair::Verdict::forged && other.trying.attempt && other.trying.attempt->confirming) {
    const Attempt attempt = *other.trying.attempt;
    Pair pair{attempt.keys.seal_asker, attempt.keys.seal_answerer, attempt.incarnation, now_};
    verdict = pair.open(packet, plain);
    if (verdict == Pair::Verdict::good) {
      const Member member{header->from, false, attempt.incarnation, attempt.address};
      if (other.member.incarnation < attempt.incarnation) admit(header->from, member);
      begin(header->from, other, attempt.keys.seal_asker, attempt.keys.seal_answerer, attempt.incarnation,
            attempt.address, attempt.asked);
      verdict = other.pair->open(packet, plain);  // so that it is not taken twice
      begun = true;
    }
  }
  switch (verdict) {
    case Pair::Verdict::forged:
      return void(++(other.pair ? counts_.forged : counts_.unpaired));
    case Pair::Verdict::repeated:
      return void(++counts_.repeated);
    case Pair::Verdict::malformed:
      return void(++counts_.malformed);
    case Pair::Verdict::good:
      break;
  }
  if (begun) other.pair->owes = true;
  take_plain(header->from, other, plain);
}

void Cluster::take_plain(NodeId id, Other& other, const Plain& plain) {
  Pair& pair = *other.pair;
  pair.heard = now_;
  pair.overdue = false;
  pair.boot = (plain.flags & Plain::kBoot) != 0;
  if ((plain.flags & (Plain::kLeaving | Plain::kOver)) != 0) {
    if ((plain.flags & Plain::kLeaving) != 0) {
      Member member = other.member;
      member.left = true;
      set(other, member);
    }
    const bool leaves = (plain.flags & Plain::kLeaving) != 0;
    return end(id, other, leaves ? "it has left" : "it has given this node up", !leaves);
  }
  if (!pair.confirmed(plain.taken, now_)) ++counts_.malformed;
  if (!plain.messages.empty() || (plain.flags & Plain::kAnswer) != 0) pair.owes = true;
  const std::uint64_t epoch = other.epoch;
  for (std::size_t i = 0; i < plain.messages.size(); ++i) {
    if (!pair.takes(plain.first + i)) continue;
    const auto message = split_message(plain.messages[i]);
    if (!message) {
      ++counts_.malformed;
    } else if (message->first == static_cast<std::uint16_t>(MessageKind::members)) {
      const auto members = decode_members(message->second);
      members ? take_members(id, *members) : void(++counts_.malformed);
    } else if (message->first == static_cast<std::uint16_t>(MessageKind::want_members)) {
      send_all_members(id, other);
    } else {
      environment_.message(id, plain.messages[i]);
    }
    if (!other.pair || other.epoch != epoch) return;  // a message has ended it
  }
  if (plain.digest == digest_) {
    informed_ = true;
    pair.apart.reset();
  } else if (!pair.apart) {
    pair.apart = now_;
  } else if (pair.boot && now_ - *pair.apart >= kApart && now_ >= next_sync_) {
    next_sync_ = now_ + kSync + jitter(kSync);
    tell(id, ByteWriter{}.number(static_cast<std::uint16_t>(MessageKind::want_members)).take(), now_);
  }
  flush(id, other);
}

void Cluster::begin(NodeId id, Other& other, const Secret& out, const Secret& in, std::uint64_t incarnation,
                    const Address& address, const std::array<std::byte, 24>& asked) {
  end(id, other, "it has begun anew", other.pair && other.pair->incarnation == incarnation);
  ++other.epoch;
  other.pair.emplace(out, in, incarnation, now_);
  other.pair->address = address;
  other.pair->asked = asked;
  other.met = address;
  other.trying = {};
  other.since = now_;
  other.awaited = {};
  other.broken = false;
  kept_out_ = Reason::none;
  said_.erase(id);
  environment_.came(id, incarnation);
}

void Cluster::end(NodeId id, Other& other, const char* why, bool silent) {
  if (!other.pair) return;
  other.pair.reset();
  other.since = now_;
  other.broken = false;
  other.trying = {{}, now_ + kFirstPause + jitter(kFirstPause), kFirstPause};
  environment_.gone(id, why, silent);
}

void Cluster::end_all(const char* why) {
  for (auto& [id, other] : others_) {
    if (!other.pair) continue;
    post(id, other, {}, 0, Plain::kOver);
    end(id, other, why);
  }
}

// Somebody else has had this node's id since. If both were let in, by boot servers that could not see each
// other, they may not know of each other yet: whoever asks at once could be let in over the one that lives.
void Cluster::become(std::uint64_t known, const char* why) {
  end_all(why);
  // There may be a third one, which is told the same at the same time.
  const std::uint64_t incarnation = known + 1 + random_below(kIncarnations);
  if (std::exchange(informed_, false)) {
    aside_until_ = now_ + kAside;
    kept_out_ = Reason::id_alive;
  }
  digest_ ^= hash_of({options_.id, false, incarnation_, {}});
  incarnation_ = incarnation;
  digest_ ^= hash_of({options_.id, false, incarnation_, {}});
  for (auto& [id, other] : others_) other.trying.attempt.reset();
  for (Target& target : targets_) target.trying = {};
  environment_.say(std::string(why) + ": this node asks to be let in again as incarnation " +
                   std::to_string(incarnation));
}

// The table.

void Cluster::set(Other& other, const Member& member) {
  if (other.member.incarnation != 0) digest_ ^= hash_of(other.member);
  other.member = member;
  digest_ ^= hash_of(member);
}

// True if it was news.
bool Cluster::learn(const Member& member) {
  if (member.id == options_.id) {
    if (member.incarnation > incarnation_)
      become(member.incarnation, "another daemon has taken this node's id");
    return false;
  }
  Other& other = others_[member.id];
  if (member.incarnation < other.member.incarnation) return false;
  if (member.incarnation == other.member.incarnation && (!member.left || other.member.left)) return false;
  if (other.pair && (other.pair->incarnation != member.incarnation || member.left)) {
    post(member.id, other, {}, 0, Plain::kOver);
    if (member.left) set(other, member);  // nobody is to take it for dead meanwhile
    end(member.id, other, member.left ? "it has left" : "a newer incarnation of it has come");
  }
  set(other, member);
  other.met.reset();
  other.since = now_;
  other.awaited = member.left ? Time{} : now_ + kToBeMet;
  if (other.trying.attempt && other.trying.attempt->incarnation != member.incarnation) other.trying = {};
  other.trying.pause = kFirstPause;
  other.trying.next = member.incarnation < incarnation_ ? now_ : now_ + kElderWaits + jitter(kElderWaits);
  return true;
}

void Cluster::take_members(NodeId from, std::span<const Member> members) {
  informed_ = true;
  const std::uint64_t epoch = others_.at(from).epoch;
  for (const Member& member : members) {
    learn(member);
    const Other& other = others_.at(from);
    if (!other.pair || other.epoch != epoch) return;
  }
}

// A newcomer, or a newer incarnation, that has proved itself: a boot server tells the others.
void Cluster::admit(NodeId id, const Member& member) {
  Other& other = others_[id];
  if (other.pair) end(id, other, "a newer incarnation of it has come");
  set(other, member);
  other.met.reset();
  other.since = now_;
  if (!options_.boot) return;
  const auto news = encode_members(std::span{&member, 1});
  for (auto& [to, each] : others_) {
    if (to != id && each.pair) tell(to, news, now_);
  }
}

void Cluster::send_all_members(NodeId to, Other& other) {
  std::vector<Member> some;
  const auto send = [&] {
    if (!some.empty() && !other.pair->queue(encode_members(some), now_)) other.broken = true;
    some.clear();
  };
  for (const auto& [id, each] : others_) {
    if (id == to || each.member.incarnation == 0) continue;
    some.push_back(each.member);
    if (some.size() == kMembersInMessage) send();
  }
  send();
}

// Sending.

bool Cluster::has_room(NodeId node) const {
  const auto found = others_.find(node);
  return found != others_.end() && found->second.pair && found->second.pair->has_room();
}

bool Cluster::tell(NodeId node, std::vector<std::byte> message, Time now) {
  now_ = now;
  const auto found = others_.find(node);
  if (found == others_.end() || !found->second.pair || found->second.broken) return false;
  if (!found->second.pair->queue(std::move(message), now)) {
    found->second.broken = true;
    return false;
  }
  flush(node, found->second);
  return true;
}

void Cluster::flush(NodeId id, Other& other, std::uint8_t flags) {
  Pair& pair = *other.pair;
  for (;;) {
    std::uint64_t first = 0;
    const auto messages = pair.next_messages(first);
    if (messages.empty() && !pair.owes && flags == 0) return;
    post(id, other, messages, first, std::exchange(flags, std::uint8_t{0}));
  }
}

void Cluster::post(NodeId id, Other& other, std::span<const std::vector<std::byte>> messages,
                   std::uint64_t first, std::uint8_t flags) {
  Pair& pair = *other.pair;
  Plain plain;
  plain.flags = static_cast<std::uint8_t>(flags | (options_.boot ? Plain::kBoot : 0));
  plain.taken = pair.taken();
  plain.first = first;
  plain.digest = digest_;
  plain.messages.assign(messages.begin(), messages.end());
  pair.owes = false;
  pair.said = now_;
  environment_.send(pair.address, seal(pair.out(), {options_.id, id, pair.next_sequence()}, encode(plain)));
}

void Cluster::leave(Time now) {
  now_ = now;
  for (int i = 0; i < 2; ++i) {  // nobody is left to send it again
    for (auto& [id, other] : others_) {
      if (other.pair) post(id, other, {}, 0, Plain::kLeaving);
    }
  }
  for (auto& [id, other] : others_) end(id, other, "this node leaves");
}

// Time.

std::uint32_t Cluster::random_below(std::uint32_t most) {
  std::array<std::byte, 4> bytes;
  environment_.random(bytes);
  return ByteReader{bytes}.number<std::uint32_t>() % most;
}

Time Cluster::jitter(Time most) { return Time{random_below(static_cast<std::uint32_t>(most.count()))}; }

void Cluster::tick(Time now) {
  now_ = now;
  ticked_ = now;
  hellos_left_ = kHellosPerTick;
  if (now_ < aside_until_) return;
  for (auto& [id, other] : others_) {
    if (other.pair) {
      look_after(id, other);
    } else if (other.member.incarnation == 0 || other.member.left) {
      if (other.trying.attempt && now_ >= other.trying.attempt->until) other.trying.attempt.reset();
      if (other.trying.attempt) keep_trying(other.trying, id, other.trying.attempt->address);
    } else {
      keep_trying(other.trying, id, other.member.address);
    }
  }
  for (Target& target : targets_) {
    if (target.self) continue;
    const bool met = std::ranges::any_of(others_, [&](const auto& each) {
      const Other& other = each.second;
      return other.pair && (other.pair->address == target.address || each.first == target.found);
    });
    if (met) {
      target.trying = {{}, now_ + kTargetPause, kTargetPause};
      target.silent.reset();
      target.said = false;
      continue;
    }
    notice_silence(target);
    target.trying.pause = std::min(target.trying.pause, kTargetPause);
    keep_trying(target.trying, 0, target.address);
  }
}

// Tells people, once, that nobody answers there. A node that is told nothing cannot say why.
void Cluster::notice_silence(Target& target) {
  if (!target.silent) target.silent = now_;
  if (now_ - *target.silent < kSilent) return;
  if (kept_out_ == Reason::none && !options_.boot && alive().empty()) kept_out_ = Reason::unanswered;
  if (std::exchange(target.said, true)) return;
  environment_.say("nobody with this cluster's secret answers at " + to_text(target.address) +
                   " (cluster.join): this node goes on asking there");
}

void Cluster::look_after(NodeId id, Other& other) {
  Pair& pair = *other.pair;
  const Time beat = options_.dead_after / 5;
  // At the second look: who was held up itself may find its clock before what waits to be read.
  const bool silent = now_ - pair.heard >= options_.dead_after && std::exchange(pair.overdue, true);
  if (other.broken || silent) {
    post(id, other, {}, 0, Plain::kOver);  // it may be that it hears us
    return end(id, other, other.broken ? "it does not take what it is sent" : "it is silent", true);
  }
  if (pair.unconfirmed() && now_ >= pair.resend_at()) {
    pair.again(now_);
    return flush(id, other);
  }
  // A suspect is asked more often than it would speak by itself.
  if (now_ - pair.heard >= 2 * beat && now_ - pair.asked_for_life >= beat / 2) {
    pair.asked_for_life = now_;
    return flush(id, other, Plain::kAnswer);
  }
  if (now_ - pair.said >= beat) {
    pair.owes = true;
    flush(id, other);
  }
}

Time Cluster::deadline() const {
  if (ticked_ < aside_until_) return aside_until_;
  const Time beat = options_.dead_after / 5;
  Time out = ticked_ + kTargetPause;
  const auto at = [&](Time time) { out = std::min(out, time); };
  const auto at_try = [&](const Try& trying) {
    at(trying.attempt ? std::min(trying.attempt->again, trying.attempt->until) : trying.next);
  };
  for (const auto& [id, other] : others_) {
    if (!other.pair) {
      if (other.trying.attempt || (other.member.incarnation != 0 && !other.member.left)) at_try(other.trying);
      continue;
    }
    const Pair& pair = *other.pair;
    if (other.broken) at(ticked_);
    at(pair.heard + options_.dead_after);
    at(pair.said + beat);
    at(std::max(pair.heard + 2 * beat, pair.asked_for_life + beat / 2));
    if (pair.unconfirmed()) at(pair.resend_at());
  }
  for (const Target& target : targets_) {
    if (!target.self) at_try(target.trying);
  }
  return std::max(out, ticked_ + kTick);
}

// For people.

void Cluster::say_once(NodeId id, Reason reason, const std::string& line) {
  Reason& said = said_[id];
  if (std::exchange(said, reason) != reason) environment_.say(line);
}

std::uint64_t Cluster::incarnation_of(NodeId node) const {
  const auto found = others_.find(node);
  return found != others_.end() && found->second.pair ? found->second.pair->incarnation : 0;
}

std::optional<Address> Cluster::place_of(NodeId node) const {
  const auto found = others_.find(node);
  if (found == others_.end() || !found->second.pair) return std::nullopt;
  return found->second.pair->address;
}

std::vector<NodeId> Cluster::alive() const {
  std::vector<NodeId> out;
  for (const auto& [id, other] : others_) {
    if (other.pair) out.push_back(id);
  }
  return out;
}

std::vector<Member> Cluster::living() const {
  std::vector<Member> out;
  for (const auto& [id, other] : others_) {
    if (other.pair || now_ < other.awaited) out.push_back(other.member);
  }
  return out;
}

std::vector<Cluster::Row> Cluster::rows() const {
  std::vector<Row> out{{{options_.id, false, incarnation_, {}}, State::self, {}, options_.boot}};
  for (const auto& [id, other] : others_) {
    if (other.member.incarnation == 0) continue;
    Row row{other.member, State::dead, other.since, other.pair && other.pair->boot};
    if (other.pair)
      row.state = now_ - other.pair->heard >= 2 * options_.dead_after / 5 ? State::suspect : State::alive;
    else if (other.member.left)
      row.state = State::left;
    if (other.met) row.member.address = *other.met;
    out.push_back(row);
  }
  std::ranges::sort(out, {}, [](const Row& row) { return row.member.id; });
  return out;
}

std::vector<MemberReply> members_of(const Cluster& cluster, Time now) {
  std::vector<MemberReply> out;
  for (const Cluster::Row& row : cluster.rows()) {
    MemberReply reply;
    reply.id = row.member.id;
    reply.state = static_cast<std::uint32_t>(row.state);
    reply.incarnation = row.member.incarnation;
    reply.boot = row.boot ? 1 : 0;
    if (row.state == Cluster::State::self) {
      const Cluster::Counts& counts = cluster.counts();
      reply.refused = counts.strangers + counts.forged + counts.unpaired + counts.repeated +
                      counts.misdirected + counts.old + counts.id_alive + counts.unvetted + counts.versions +
                      counts.malformed;
      reply.kept_out = static_cast<std::uint32_t>(cluster.kept_out());
    } else {
      reply.since_ms = static_cast<std::uint64_t>((now - row.since).count());
      if (row.state != Cluster::State::left) put_text(reply.address, to_text(row.member.address));
    }
    out.push_back(reply);
  }
  return out;
}

}  // namespace hamlyn::node
