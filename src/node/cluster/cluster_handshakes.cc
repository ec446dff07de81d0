// How nodes meet: hello, challenge, confirm, and what is said to those that are refused (docs/cluster.md).
#include <algorithm>
#include <utility>

#include "node/cluster/cluster.h"
#include "node/mind/bytes.h"

namespace hamlyn::node {
namespace {

constexpr Time kHelloAgain{60};
constexpr Time kAttempt{600};
constexpr Time kMostPause{2000};
constexpr Time kToHear{1500};  // shorter than who asks waits until it says that nobody answers
constexpr Time kMoment{4000};  // a challenge is good for this and the next

}  // namespace

// A boot server that has just started does not know yet who is alive; the others that it is to join do.
bool Cluster::may_hear_of(NodeId id, const Address& address) const {
  if (!options_.boot || targets_.empty() || informed_ || now_ - started_ >= kToHear || others_.contains(id))
    return false;
  return std::ranges::find(targets_, address, &Target::address) == targets_.end();
}

// Whether that incarnation of that node may talk to this one.
Reason Cluster::vet(NodeId id, std::uint64_t incarnation, const Address& address) const {
  const auto found = others_.find(id);
  if (found == others_.end()) return options_.boot ? Reason::none : Reason::not_boot;
  const Member& member = found->second.member;
  if (incarnation < member.incarnation || (incarnation == member.incarnation && member.left))
    return Reason::old_incarnation;
  if (incarnation == member.incarnation) return Reason::none;
  if (!options_.boot) return Reason::not_boot;
  const Other& other = found->second;
  const bool alive = other.pair || now_ < other.awaited;
  // Two daemons cannot listen at one address: the newer one has taken the place of the older.
  if (alive && (other.pair ? other.pair->address : member.address) != address) return Reason::id_alive;
  return Reason::none;
}

void Cluster::refuse(const Address& to, const Handshake& hello, Reason reason) {
  if (reason == Reason::version) {
    ++counts_.versions;
    say_once(hello.from, reason,
             "node " + std::to_string(hello.from) + " at " + to_text(to) + " speaks version " +
                 std::to_string(hello.version) + " with structures " + std::to_string(hello.structures) +
                 ", this node version " + std::to_string(kClusterVersion) + " with structures " +
                 std::to_string(kStructuresVersion));
  } else if (reason == Reason::id_alive) {
    ++counts_.id_alive;
    say_once(hello.from, reason,
             "a daemon at " + to_text(to) + " wants to be node " + std::to_string(hello.from) +
                 ", which is alive");
  } else {
    ++(reason == Reason::old_incarnation ? counts_.old : counts_.unvetted);
  }
  Handshake refusal;
  refusal.kind = HandshakeKind::refusal;
  refusal.from = options_.id;
  refusal.to = hello.from;
  refusal.reason = reason;
  refusal.incarnation = incarnation_;
  refusal.asked = hello.asked;
  const auto found = others_.find(hello.from);
  if (found != others_.end()) refusal.known = found->second.member.incarnation;
  if (hello.from == options_.id) refusal.known = incarnation_;
  environment_.send(to, keys_.encode(refusal));
}

void Cluster::take_hello(const Address& from, const Handshake& hello) {
  if (hello.from == options_.id) {
    for (Target& target : targets_) {
      if (target.trying.attempt && target.trying.attempt->asked == hello.asked) {
        target.self = true;  // our own voice: this address is ours
        target.trying.attempt.reset();
        return;
      }
    }
    return refuse(from, hello, Reason::id_alive);
  }
  if (now_ < aside_until_ || may_hear_of(hello.from, from)) return void(++counts_.unvetted);
  if (const Reason reason = vet(hello.from, hello.incarnation, from); reason != Reason::none)
    return refuse(from, hello, reason);
  // Nothing is remembered of it, for it may be an old one that somebody plays back.
  Handshake challenge;
  challenge.kind = HandshakeKind::challenge;
  challenge.from = options_.id;
  challenge.to = hello.from;
  challenge.incarnation = incarnation_;
  challenge.asked = hello.asked;
  challenge.challenged = challenge_for(from, hello.from, hello.incarnation, hello.asked, now_ / kMoment);
  environment_.send(from, keys_.encode(challenge));
}

// Makes the challenge to that hello. This node alone can make it again when the answer comes, unless a pair
// has begun meanwhile.
std::array<std::byte, 32> Cluster::challenge_for(const Address& from, NodeId id, std::uint64_t incarnation,
                                                 std::span<const std::byte, 24> asked,
                                                 std::int64_t moment) const {
  const auto found = others_.find(id);
  return keyed_hash(run_key_, ByteWriter{}
                                  .number(moment)
                                  .number(incarnation_)
                                  .number(id)
                                  .number(incarnation)
                                  .number(found == others_.end() ? std::uint64_t{0} : found->second.epoch)
                                  .bytes(from.ip)
                                  .number(from.port)
                                  .bytes(asked)
                                  .take());
}

// Whose hello it was that `from` answers.
Cluster::Try* Cluster::find_try(std::span<const std::byte, 24> asked, NodeId from) {
  const auto is = [&](const Try& trying) {
    return trying.attempt && !trying.attempt->confirming && std::ranges::equal(trying.attempt->asked, asked);
  };
  const auto found = others_.find(from);
  if (found != others_.end() && is(found->second.trying)) return &found->second.trying;
  for (Target& target : targets_) {
    if (is(target.trying)) return &target.trying;
  }
  return nullptr;
}

Cluster::Target* Cluster::find_target(const Try* trying) {
  const auto found = std::ranges::find(targets_, trying, [](const Target& target) { return &target.trying; });
  return found == targets_.end() ? nullptr : &*found;
}

// Whatever source the answers of a handshake bear, which anybody on the way can write: packets go on to where
// the hello went. The other end has proved by the confirm that what is sent to its asker's address arrives.
void Cluster::take_challenge(const Handshake& challenge) {
  Try* const trying = find_try(challenge.asked, challenge.from);
  if (trying == nullptr || challenge.from == options_.id) return void(++counts_.repeated);
  const bool to_target = trying->attempt->to == 0;
  Target* const target = find_target(trying);
  if (target != nullptr) target->silent.reset();
  const auto known = others_.find(challenge.from);
  if (known != others_.end()) {
    const Member& member = known->second.member;
    if (challenge.incarnation < member.incarnation ||
        (challenge.incarnation == member.incarnation && member.left))
      return void(++counts_.old);
    // Only a boot server, or this node if it is one, can say that there is a newer one.
    if (challenge.incarnation > member.incarnation && !to_target && !options_.boot)
      return void(++counts_.unvetted);
    if (known->second.pair && known->second.member.incarnation == challenge.incarnation && to_target) {
      if (target != nullptr) target->found = challenge.from;
      trying->attempt.reset();
      return;
    }
    if (known->second.trying.attempt && known->second.trying.attempt->confirming)
      return;  // on the way already
  }
  Attempt attempt = *trying->attempt;
  trying->attempt.reset();
  if (target != nullptr) target->found = challenge.from;
  attempt.to = challenge.from;
  attempt.confirming = true;
  attempt.incarnation = challenge.incarnation;
  attempt.keys = keys_.pair_keys(options_.id, incarnation_, challenge.from, challenge.incarnation,
                                 challenge.asked, challenge.challenged);
  Handshake confirm;
  confirm.kind = HandshakeKind::confirm;
  confirm.from = options_.id;
  confirm.to = challenge.from;
  confirm.incarnation = incarnation_;
  confirm.known = challenge.incarnation;
  confirm.asked = challenge.asked;
  confirm.challenged = challenge.challenged;
  attempt.packet = keys_.encode(confirm);
  attempt.until = now_ + kAttempt;
  attempt.again = now_ + kHelloAgain;
  environment_.send(attempt.address, attempt.packet);
  others_[challenge.from].trying.attempt = attempt;
}

void Cluster::take_confirm(const Address& from, const Handshake& confirm) {
  if (confirm.to != options_.id || confirm.known != incarnation_) return void(++counts_.misdirected);
  const auto known = others_.find(confirm.from);
  if (known != others_.end()) {
    Other& other = known->second;
    if (other.pair && other.pair->asked == confirm.asked) {  // the answer was lost
      ++counts_.repeated;
      return flush(confirm.from, other, Plain::kAnswer);
    }
    // Both have said hello: that of the lower id counts, and the other end takes it.
    if (other.trying.attempt && other.trying.attempt->confirming && options_.id < confirm.from) return;
  }
  const auto made_at = [&](std::int64_t moment) {
    return challenge_for(from, confirm.from, confirm.incarnation, confirm.asked, moment);
  };
  const std::int64_t moment = now_ / kMoment;
  if (made_at(moment) != confirm.challenged && made_at(moment - 1) != confirm.challenged)
    return void(++counts_.repeated);
  if (vet(confirm.from, confirm.incarnation, from) != Reason::none) return void(++counts_.unvetted);
  const Member member{confirm.from, false, confirm.incarnation, from};
  const bool fresh = known == others_.end() || known->second.member.incarnation != confirm.incarnation;
  if (fresh) admit(confirm.from, member);
  Other& other = others_[confirm.from];
  const PairKeys keys = keys_.pair_keys(confirm.from, confirm.incarnation, options_.id, incarnation_,
                                        confirm.asked, confirm.challenged);
  begin(confirm.from, other, keys.seal_answerer, keys.seal_asker, confirm.incarnation, from, confirm.asked);
  if (fresh && options_.boot) send_all_members(confirm.from, other);
  flush(confirm.from, other, Plain::kAnswer);
}

void Cluster::take_refusal(const Handshake& refusal) {
  Try* const trying = find_try(refusal.asked, refusal.from);
  if (trying == nullptr) return void(++counts_.repeated);
  const Address address = trying->attempt->address;
  trying->attempt.reset();
  Target* const target = find_target(trying);
  if (target != nullptr) target->silent.reset();
  const std::string who = "node " + std::to_string(refusal.from) + " at " + to_text(address);
  if (refusal.reason == Reason::version) {
    ++counts_.versions;
    say_once(refusal.from, refusal.reason,
             who + " speaks version " + std::to_string(refusal.version) + " with structures " +
                 std::to_string(refusal.structures) + ", this node version " +
                 std::to_string(kClusterVersion) + " with structures " + std::to_string(kStructuresVersion));
  } else if (refusal.reason != Reason::old_incarnation) {
    say_once(refusal.from, refusal.reason,
             who + " does not let this node in: " + reason_text(refusal.reason));
  }
  // A refusal by a node of `cluster.join`, or because this id is alive, says why this node is kept out.
  // Others have no say in that.
  if (alive().empty() && (target != nullptr || refusal.reason == Reason::id_alive))
    kept_out_ = refusal.reason;
  if (refusal.reason == Reason::old_incarnation && refusal.known >= incarnation_)
    become(refusal.known, "another daemon has taken this node's id");
}

void Cluster::keep_trying(Try& trying, NodeId to, const Address& address) {
  if (trying.attempt && now_ >= trying.attempt->until) trying.attempt.reset();
  if (trying.attempt) {
    if (now_ < trying.attempt->again) return;
    trying.attempt->again = now_ + kHelloAgain + kHelloAgain;
    environment_.send(trying.attempt->address, trying.attempt->packet);
    return;
  }
  if (now_ < trying.next || hellos_left_ == 0) return;
  --hellos_left_;
  trying.pause = std::clamp(trying.pause * 2, kFirstPause, kMostPause);
  trying.next = now_ + trying.pause + jitter(trying.pause);
  say_hello(trying, to, address);
}

void Cluster::say_hello(Try& trying, NodeId to, const Address& address) {
  Attempt attempt;
  attempt.address = address;
  attempt.to = to;
  environment_.random(attempt.asked);
  attempt.until = now_ + kAttempt;
  attempt.again = now_ + kHelloAgain;
  Handshake hello;
  hello.kind = HandshakeKind::hello;
  hello.from = options_.id;
  hello.to = to;
  hello.incarnation = incarnation_;
  hello.asked = attempt.asked;
  attempt.packet = keys_.encode(hello);
  trying.attempt = attempt;
  environment_.send(address, attempt.packet);
}

}  // namespace hamlyn::node
