// Messages out of send buffer areas: pieces of several areas, short and long, become one message each. Within
// a host whoever keeps the links shows the areas, and the receiving interface copies the long pieces from
// there. A sender writes over its bytes at the first moment at which its handle says that they are free, and
// over a whole area when it has gone: the message must come as it was all the same, or not at all. Areas go
// and come, messages are taken back.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "test/simulation/books/entry_slot.h"
#include "test/simulation/books/operations.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 6;
constexpr std::size_t kRegion = 12 * 1024;  // of an entry
constexpr std::size_t kStride = kRegion + Area::kGuard;
constexpr std::uint32_t kSources = 3;  // areas of a process, each by the tag of its number here
constexpr std::size_t kStretches = 4;  // of an area; each is of one message at a time
constexpr std::size_t kStretch = 5000;
constexpr std::size_t kLong = 4096;        // from here on a piece may be copied from its area
constexpr std::uint64_t kPatience = 3000;  // of a receiver, with a message that was taken back

// A send buffer area. Who was shown it may read it for a while after it has gone, so its memory stays; but
// what stands there then is something else.
struct Source {
  std::vector<std::byte> memory = std::vector<std::byte>(kStretches * kStretch);
  std::uint32_t number = 0;
  bool gone = false;
  std::array<bool, kStretches> used{};  // by a message that is not over
};

struct Stretch {
  Source* source;
  std::size_t number;

  std::span<std::byte> bytes() const {
    return std::span(source->memory).subspan(number * kStretch, kStretch);
  }
};

void fill(std::span<std::byte> bytes, sim::Generator& chance) {
  std::uint64_t word = chance.next();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof word, word = word * 0xD1342543DE82EF95u + 1)
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
}

struct Message {
  Process* from;
  Process* to;
  std::uint32_t entry;
  std::vector<Stretch> stretches;
  std::vector<std::byte> data, metadata;
  interface::Terminus* terminus;
  SendHandle handle;
  bool acknowledged;
  bool may_be_lost;
  bool may_be_cancelled = false;  // somebody has asked for that, or an area of it has gone
  bool cancelled = false;         // as its handle says
  bool told = false;              // its receiver knows what became of it
};

class GatheredMessages final : public Operation {
 public:
  explicit GatheredMessages(World& world) : world_(world) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  void check(Process& process) override { collect(process); }
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void link_over(Process& from, Process& to) override;
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override;
  void check_rest() override;

 private:
  struct Place {
    // To send from.
    std::array<Source*, kSources> sources{};
    std::array<interface::Terminus*, 2> termini{};
    std::vector<Message*> sending;  // that are not over as far as their handles say
    // To receive in.
    Area* area = nullptr;
    OwnedSlot* slot = nullptr;
    Message* messages[kEntries] = {};  // on their way to the entry, or null
    bool taken[kEntries] = {};         // by a message, until armed again
    std::vector<std::byte> kept[kEntries];
    std::vector<std::uint32_t> to_arm;
  };

  void make_source(Process& process, std::uint32_t tag);
  void drop_source(Process& process, std::uint32_t tag);
  std::vector<Piece> choose_pieces(Place& place, Message& message);
  void collect(Process& process);
  void over(Message& message, Status status);
  void write_over(Message& message);
  void check_landed(const Message& message);
  void check_failure(Process& process, const Message& message, const Notification& n);

  World& world_;
  std::map<std::uint64_t, Place> places_;
  std::vector<std::unique_ptr<Source>> sources_;    // all that ever were
  std::vector<std::unique_ptr<Message>> messages_;  // likewise
};

void GatheredMessages::come(Process& process) {
  sim::Generator& chance = world_.chance();
  Place& place = places_[process.number()];
  const auto mode = static_cast<Mode>(chance.below(3));
  const EntrySlot made = make_entry_slot(world_, *this, process, mode, kEntries, kRegion);
  place.area = made.area;
  place.slot = made.slot;
  // What is urgent carries its data, wherever it stands.
  const Priority second = chance.one_in(4) ? Priority::urgent : Priority::normal;
  place.termini = {&process.make_terminus(chance.between(1, 6)),
                   &process.make_terminus(chance.between(1, 6), second)};
  for (std::uint32_t tag = 0; tag != kSources; ++tag) make_source(process, tag);
}

void GatheredMessages::make_source(Process& process, std::uint32_t tag) {
  Place& place = places_[process.number()];
  Source& source = *sources_.emplace_back(std::make_unique<Source>());
  fill(source.memory, world_.chance());
  source.number = process.core().add_area(source.memory.data(), source.memory.size());
  place.sources[tag] = &source;
  for (interface::Terminus* terminus : place.termini)
    demand(terminus->bind(tag, source.number) == Status::ok, "an area cannot be bound");
}

// Packets that name it may be on their way; they are refused.
void GatheredMessages::drop_source(Process& process, std::uint32_t tag) {
  Place& place = places_[process.number()];
  Source& source = *place.sources[tag];
  world_.note(process, "drops its area %", {source.number});
  for (Message* message : place.sending) {
    for (const Stretch& stretch : message->stretches) message->may_be_cancelled |= stretch.source == &source;
  }
  source.gone = true;
  process.core().drop_area(source.number);
  fill(source.memory, world_.chance());
  for (const auto& each : world_.processes()) each->excused.insert(Refusal::bad_area);
}

// Of stretches that are free, long pieces and short ones.
std::vector<Piece> GatheredMessages::choose_pieces(Place& place, Message& message) {
  sim::Generator& chance = world_.chance();
  std::vector<Piece> pieces;
  for (std::uint64_t count = chance.below(6); count != 0; --count) {
    const auto tag = static_cast<std::uint32_t>(chance.below(kSources));
    const Stretch stretch{place.sources[tag], chance.below(kStretches)};
    const std::size_t length = chance.one_in(2) ? chance.between(kLong, kStretch) : chance.below(300);
    const std::size_t at = chance.below(kStretch - length + 1);
    if (stretch.source->used[stretch.number] || message.data.size() + length > kRegion) continue;
    stretch.source->used[stretch.number] = true;
    message.stretches.push_back(stretch);
    pieces.push_back({tag, stretch.number * kStretch + at, length});
    const std::span<const std::byte> bytes = stretch.bytes().subspan(at, length);
    message.data.insert(message.data.end(), bytes.begin(), bytes.end());
  }
  return pieces;
}

void GatheredMessages::start(Process& from) {
  sim::Generator& chance = world_.chance();
  Process* to = world_.any_other(from);
  if (to == nullptr) return;
  Place& receiver = places_[to->number()];
  const auto entry = static_cast<std::uint32_t>(chance.below(kEntries));
  if (receiver.taken[entry]) return;
  Place& place = places_[from.number()];
  auto message = std::make_unique<Message>();
  message->from = &from;
  message->to = to;
  message->entry = entry;
  message->terminus = place.termini[chance.below(2)];
  const std::vector<Piece> pieces = choose_pieces(place, *message);
  message->metadata = pattern(chance.one_in(2) ? 0 : chance.below(61), chance.next());
  message->acknowledged = chance.one_in(3);
  message->may_be_lost = world_.unsure(from, *to);
  const Ticket ticket = receiver.slot->ticket(entry);
  const std::uint64_t offset = ticket.bound > kRegion ? entry * kStride : 0;
  const SendOptions options{
      .offset = offset, .metadata = message->metadata, .acknowledged = message->acknowledged};
  const Status status = message->terminus->send_gathered(ticket, pieces, options, &message->handle);
  world_.note(from, "sends % bytes in % pieces to entry % of process %: status %",
              {message->data.size(), pieces.size(), entry, to->number(), static_cast<std::uint64_t>(status)});
  if (status == Status::ok || status == Status::pending) {
    world_.begun(OperationKind::gathered);
    receiver.taken[entry] = true;
    receiver.messages[entry] = message.get();
    place.sending.push_back(message.get());
    messages_.push_back(std::move(message));
    return;
  }
  for (const Stretch& stretch : message->stretches) stretch.source->used[stretch.number] = false;
  if (status == Status::queue_full) return world_.met(OperationKind::gathered, status);
  demand(status == Status::link_ended, "a gathered send was answered with something else");
  demand(message->may_be_lost, "a link that lives says that it has ended");
  world_.begun(OperationKind::gathered);
  ++world_.counts.failed;
}

void GatheredMessages::step(Process& process) {
  sim::Generator& chance = world_.chance();
  Place& place = places_[process.number()];
  for (const std::uint32_t entry : place.to_arm) {
    const std::vector<std::byte>& kept = place.kept[entry];
    demand(kept.empty() || std::equal(kept.begin(), kept.end(), place.area->data() + entry * kStride),
           "bytes changed in an entry that takes nothing");
    demand(place.slot->arm(entry) == Status::ok, "an entry that was read cannot be armed");
    place.taken[entry] = false;
  }
  place.to_arm.clear();
  for (Message* message : place.sending) {
    if (!chance.one_in(30)) continue;
    message->may_be_cancelled = true;
    const Status status = message->terminus->cancel(message->handle);
    world_.note(process, "takes back what it sends to entry % of process %: status %",
                {message->entry, message->to->number(), static_cast<std::uint64_t>(status)});
  }
  collect(process);
  if (chance.one_in(30)) {
    const auto tag = static_cast<std::uint32_t>(chance.below(kSources));
    drop_source(process, tag);
    collect(process);
    make_source(process, tag);
  }
}

void GatheredMessages::collect(Process& process) {
  std::erase_if(places_[process.number()].sending, [&](Message* message) {
    const Status status = message->terminus->status(message->handle);
    if (status == Status::pending) return false;
    over(*message, status);
    return true;
  });
}

// Its bytes are free, and are written over at once.
void GatheredMessages::over(Message& message, Status status) {
  switch (status) {
    case Status::ok:
      if (message.acknowledged) check_landed(message);
      break;
    case Status::link_ended:
    case Status::refused:  // the link
      demand(message.may_be_lost, "a send failed though its link lived");
      break;
    case Status::cancelled: {
      demand(message.may_be_cancelled, "a send was cancelled that nobody has taken back");
      message.cancelled = true;
      // What becomes of it, its receiver cannot always know.
      if (message.told || !message.to->alive) break;
      OwnedSlot& slot = *places_[message.to->number()].slot;
      // Refused for one that is whole, and was not taken yet.
      static_cast<void>(slot.fail_at(message.entry, world_.now() + kPatience));
      break;
    }
    default:
      throw Violation("a gathered send ended with something else");
  }
  write_over(message);
}

void GatheredMessages::write_over(Message& message) {
  for (const Stretch& stretch : message.stretches) {
    stretch.source->used[stretch.number] = false;
    if (!stretch.source->gone) fill(stretch.bytes(), world_.chance());
  }
}

void GatheredMessages::check_landed(const Message& message) {
  if (message.told || !message.to->alive) return;
  const interface::EntryState state = places_[message.to->number()].slot->entry(message.entry).state;
  demand(state != interface::EntryState::armed && state != interface::EntryState::filling,
         "a message is acknowledged that has not landed");
}

void GatheredMessages::notified(Process& process, const Notification& n) {
  Place& place = places_[process.number()];
  Message* const message = std::exchange(place.messages[n.entry], nullptr);
  demand(message != nullptr, "a gathered message came, or failed, that nobody sent");
  demand(message->from->number() == n.peer || n.kind == Notification::Kind::failed,
         "a gathered message came from somebody else");
  message->told = true;
  if (n.kind == Notification::Kind::message) {
    demand(same(place.slot->bytes(n), message->data), "a gathered message is not intact");
    demand(same(place.slot->metadata(n.entry), message->metadata), "its metadata is not intact");
    demand(place.slot->entry(n.entry).accumulator == 0, "an accumulator is not back at zero");
    world_.note(process, "receives % gathered bytes in entry % from process %", {n.length, n.entry, n.peer});
    const std::span<const std::byte> region(place.area->data() + n.entry * kStride, kRegion);
    place.kept[n.entry].assign(region.begin(), region.end());
    ++world_.counts.completed;
  } else {
    check_failure(process, *message, n);
    place.kept[n.entry].clear();
    ++world_.counts.failed;
  }
  place.to_arm.push_back(n.entry);
}

void GatheredMessages::check_failure(Process& process, const Message& message, const Notification& n) {
  world_.note(process, "is told that the gathered message in entry % has failed, for cause %",
              {n.entry, n.word});
  switch (n.failure()) {
    case Failure::link_ended:
      return demand(message.may_be_lost, "an entry failed whose link lives");
    case Failure::abandoned:
    case Failure::timed_out:
      // An interface that finds an area gone may be the first to say so.
      demand(message.cancelled ||
                 (n.failure() == Failure::abandoned && (message.may_be_cancelled || message.may_be_lost)),
             "an entry failed though nobody has taken its message back");
      // The rest of it may come late, with the key of before.
      process.keys_changed |= places_[process.number()].slot->record().mode != Mode::guarded;
      return;
    default:
      throw Violation("a gathered message failed for another reason");
  }
}

void GatheredMessages::may_lose(Process& from, Process& to) {
  to.excused.insert(Refusal::bad_area);  // what left out of areas before its sender has ended the link
  for (Message* message : places_[to.number()].messages) {
    if (message != nullptr && message->from == &from) message->may_be_lost = true;
  }
  for (Message* message : places_[from.number()].sending) {
    if (message->to == &to) message->may_be_lost = true;
  }
}

// An entry that has heard nothing of its message will not hear of it.
void GatheredMessages::link_over(Process& from, Process& to) {
  Place& place = places_[to.number()];
  for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
    Message* const message = place.messages[entry];
    if (message == nullptr || message->from != &from) continue;
    if (from.alive && message->terminus->status(message->handle) == Status::pending) continue;
    if (place.slot->entry(entry).state != interface::EntryState::armed) continue;
    demand(message->may_be_lost || message->may_be_cancelled, "a message is lost though its link lives");
    ++world_.counts.failed;
    demand(place.slot->fail_at(entry, interface::Deadlines::kNever) == Status::ok,
           "an armed entry keeps its deadline");
    message->told = true;
    place.messages[entry] = nullptr;
    place.taken[entry] = false;
  }
}

void GatheredMessages::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  const auto receiver = places_.find(to.number());
  if (receiver == places_.end()) return;
  for (const Message* message : receiver->second.messages) {
    if (message != nullptr && message->from == &from)
      kinds.set(static_cast<std::size_t>(OperationKind::gathered));
  }
}

void GatheredMessages::check_rest() {
  for (auto& [number, place] : places_) {
    if (!world_.process(number).alive) continue;
    collect(world_.process(number));
    demand(place.sending.empty(), "a gathered message is pending for ever");
    for (const Message* message : place.messages) {
      if (message == nullptr || !message->from->alive) continue;
      demand(message->may_be_lost, "a gathered message was lost though its link lived");
    }
  }
}

}  // namespace

std::unique_ptr<Operation> make_gathered_messages(World& world) {
  return std::make_unique<GatheredMessages>(world);
}

}  // namespace hamlyn::simulation
