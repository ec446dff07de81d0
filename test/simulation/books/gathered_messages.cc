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

#include "test/simulation/books/message_book.h"
#include "test/simulation/books/operations.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint32_t kEntries = 6;
constexpr std::size_t kRegion = 12 * 1024;  // of an entry
constexpr std::uint32_t kSources = 3;       // areas of a process, each by the tag of its number here
constexpr std::size_t kStretches = 4;       // of an area; each is of one message at a time
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

struct Message : BookedMessage {
  std::vector<Stretch> stretches;
  bool cancelled = false;  // as its handle says
};

class GatheredMessages final : public MessageBook<Message> {
 public:
  explicit GatheredMessages(World& world) : MessageBook(world, kEntries, kRegion) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  void check(Process& process) override { collect(process); }
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void check_rest() override;

 private:
  // The areas that a process sends from.
  struct Place {
    std::array<Source*, kSources> sources{};
    std::array<interface::Terminus*, 2> termini{};
    std::vector<Message*> sending;  // that are not over as far as their handles say
  };

  void make_source(Process& process, std::uint32_t tag);
  void drop_source(Process& process, std::uint32_t tag);
  std::vector<Piece> choose_pieces(Place& place, Message& message);
  void collect(Process& process);
  void ended(Message& message, Status status);
  void write_over(Message& message);
  void check_acknowledged(const Message& message);
  void check_failure(Process& process, const Message& message, const Notification& n);

  std::map<std::uint64_t, Place> places_;
  std::vector<std::unique_ptr<Source>> sources_;  // all that ever were
};

void GatheredMessages::come(Process& process) {
  sim::Generator& chance = world_.chance();
  Place& place = places_[process.number()];
  open(process, static_cast<Mode>(chance.below(3)));
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
    for (const Stretch& stretch : message->stretches) message->taken_back |= stretch.source == &source;
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
  auto message = address(from);
  if (message == nullptr) return;
  Place& place = places_[from.number()];
  message->kind = OperationKind::gathered;
  message->terminus = place.termini[chance.below(2)];
  const std::vector<Piece> pieces = choose_pieces(place, *message);
  message->metadata = pattern(chance.one_in(2) ? 0 : chance.below(61), chance.next());
  message->acknowledged = chance.one_in(3);
  message->may_be_lost = world_.unsure(from, *message->to);
  const Ticket ticket = inboxes_[message->to->number()].slot->ticket(message->entry);
  const SendOptions options{
      .offset = offset_of(ticket), .metadata = message->metadata, .acknowledged = message->acknowledged};
  const Status status = message->terminus->send_gathered(ticket, pieces, options, &message->handle);
  world_.note(from, "sends % bytes in % pieces to entry % of process %: status %",
              {message->data.size(), pieces.size(), message->entry, message->to->number(),
               static_cast<std::uint64_t>(status)});
  const std::vector<Stretch> stretches = message->stretches;
  if (Message* const sent = enter(std::move(message), status)) return place.sending.push_back(sent);
  for (const Stretch& stretch : stretches) stretch.source->used[stretch.number] = false;
}

void GatheredMessages::step(Process& process) {
  sim::Generator& chance = world_.chance();
  Place& place = places_[process.number()];
  arm_again(inboxes_[process.number()]);
  for (Message* message : place.sending) {
    if (!chance.one_in(30)) continue;
    message->taken_back = true;
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
    ended(*message, status);
    return true;
  });
}

// Its bytes are free, and are written over at once.
void GatheredMessages::ended(Message& message, Status status) {
  switch (status) {
    case Status::ok:
      if (message.acknowledged) check_acknowledged(message);
      break;
    case Status::link_ended:
    case Status::refused:  // the link
      demand(message.may_be_lost, "a send failed though its link lived");
      break;
    case Status::cancelled: {
      demand(message.taken_back, "a send was cancelled that nobody has taken back");
      message.cancelled = true;
      // What becomes of it, its receiver cannot always know.
      if (message.told || !message.to->alive) break;
      OwnedSlot& slot = *inboxes_[message.to->number()].slot;
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

void GatheredMessages::check_acknowledged(const Message& message) {
  if (message.told || !message.to->alive) return;
  const interface::EntryState state = inboxes_[message.to->number()].slot->entry(message.entry).state;
  demand(state != interface::EntryState::armed && state != interface::EntryState::filling,
         "a message is acknowledged that has not landed");
}

void GatheredMessages::notified(Process& process, const Notification& n) {
  Inbox& inbox = inboxes_[process.number()];
  const auto& message = inbox.messages[n.entry];
  demand(message != nullptr, "a gathered message came, or failed, that nobody sent");
  demand(message->from->number() == n.peer || n.kind == Notification::Kind::failed,
         "a gathered message came from somebody else");
  if (n.kind == Notification::Kind::message) {
    check_landed(inbox, *message, inbox.slot->bytes(n));
    world_.note(process, "receives % gathered bytes in entry % from process %", {n.length, n.entry, n.peer});
    keep(inbox, n.entry);
    ++world_.counts.completed;
  } else {
    check_failure(process, *message, n);
    inbox.kept[n.entry].clear();
    ++world_.counts.failed;
  }
  over_until_armed(inbox, n.entry);
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
                 (n.failure() == Failure::abandoned && (message.taken_back || message.may_be_lost)),
             "an entry failed though nobody has taken its message back");
      // The rest of it may come late, with the key of before.
      process.keys_changed |= inboxes_[process.number()].slot->record().mode != Mode::guarded;
      return;
    default:
      throw Violation("a gathered message failed for another reason");
  }
}

void GatheredMessages::may_lose(Process& from, Process& to) {
  to.excused.insert(Refusal::bad_area);  // what left out of areas before its sender has ended the link
  MessageBook::may_lose(from, to);
  for (Message* message : places_[from.number()].sending) {
    if (message->to == &to) message->may_be_lost = true;
  }
}

void GatheredMessages::check_rest() {
  for (auto& [number, place] : places_) {
    if (!world_.process(number).alive) continue;
    collect(world_.process(number));
    demand(place.sending.empty(), "a gathered message is pending for ever");
  }
  check_lost();
}

}  // namespace

std::unique_ptr<Operation> make_gathered_messages(World& world) {
  return std::make_unique<GatheredMessages>(world);
}

}  // namespace hamlyn::simulation
