#include "library/control/link_keeper.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/socket.h"
#include "base/throw_system.h"

namespace hamlyn::internal_::library {

namespace {
constexpr int kWordsInARow = 16;

// Sizes from the table only: a peer does not decide how much we map.
bool known_ring(std::uint64_t cells) noexcept {
  return std::find(std::begin(shm::kGrownCells), std::end(shm::kGrownCells), cells) !=
         std::end(shm::kGrownCells);
}

// The memory that comes with a word has the size that the word is about. (An area may be longer than we take:
// it is refused, and given back by another thread.)
std::uint64_t most_memory(std::span<const std::byte> bytes) {
  LinkMessage message;
  if (bytes.size() != sizeof message) return 0;
  std::memcpy(&message, bytes.data(), sizeof message);
  switch (message.word) {
    case LinkWord::page:
      return sizeof(shm::Page);
    case LinkWord::ring:
      return known_ring(message.value) ? message.value * interface::kCell : 0;
    case LinkWord::area:
      return message.bytes;
    case LinkWord::imported:
      return std::clamp<std::uint64_t>(message.bytes, sizeof(shm::Page), LinkKeeper::kImportBytes);
    default:
      return 0;
  }
}

}  // namespace

void say_farewell(int socket, WhyNoLink why) noexcept {
  const auto reason = static_cast<std::uint64_t>(why.reason);
  if (why.told || !base::may_be_told(reason)) return;
  LinkMessage message;
  message.word = LinkWord::farewell;
  message.value = reason;
  base::send_message(socket, std::as_bytes(std::span(&message, 1)), {}, MSG_DONTWAIT);
}

LinkKeeper::LinkKeeper(node::Event introduction, base::ForeignSocket socket, std::uint64_t serial,
                       std::uint64_t interface, std::size_t mtu, AreaBudget& budget, HandedOut& handed_out,
                       base::FileDescriptor own_end)
    : serial_(serial),
      peer_(introduction.peer),
      number_(introduction.link),
      own_(interface),
      user_{introduction.peer_uid, introduction.peer_gid},
      pid_(introduction.peer_pid),
      mtu_(mtu),
      budget_(budget),
      handed_out_(handed_out),
      asked_for_(introduction.initiator),
      socket_(std::move(socket)),
      own_end_(std::move(own_end)),
      pidfd_(std::move(introduction.pidfd)) {
  if (!asked_for_ && HandedOut::counts(user_.uid)) return;
  try {
    show_page();
  } catch (const Error& error) {
    say_farewell({base::reason_of(error), false});
    throw;
  }
}

LinkKeeper::~LinkKeeper() {
  for (const PeersArea& area : peers_areas_) {
    if (area.mapping) budget_.give_back(user_.uid, area.mapping.size());
  }
  for (PeersArea& area : peers_areas_) unmap(area.mapping);
  for (std::list<shm::Mapping>* areas : {&former_areas_, &unused_areas_}) {
    for (shm::Mapping& area : *areas) unmap(area);
  }
  for (ImportAnswer& answer : import_answers_) unmap(answer.memory);
  handed_out_.end(std::move(socket_));
  link_.reset();
  my_page_ = {};
  offered_ring_ = {};
  for (const LeftBehind::Piece piece : pieces_) handed_out_.leave(piece, pidfd_.get());
}

void LinkKeeper::unmap(shm::Mapping& memory) noexcept {
  const std::size_t bytes = memory.size();
  socket_.foreign().unmap(memory.release(), bytes);
}

void LinkKeeper::unmap_forgotten() noexcept {
  for (shm::Mapping& area : unused_areas_) unmap(area);
  unused_areas_.clear();
}

void LinkKeeper::watch(int memfd, std::uint64_t bytes) {
  LeftBehind::Piece piece = 0;
  handed_out_.show(piece, user_.uid, memfd, bytes, LeftBehind::Kind::link);
  if (piece != 0) pieces_.push_back(piece);
}

// Later, if too much is under way to the peer's user, or of this process's user to anybody.
void LinkKeeper::show_page() {
  if (shown_page_ || !handed_out_.room(user_.uid, 1)) return;
  if (!my_page_.mapping) {
    my_page_ = shm::ShmLink::prepare_page(own_, mtu_);
    watch(my_page_.memfd.get(), my_page_.mapping.size());
  }
  LinkMessage message;
  message.word = LinkWord::page;
  const int memfd = my_page_.memfd.get();
  const base::SocketState said = send(message, std::span(&memfd, 1));
  if (said == base::SocketState::crowded || said == base::SocketState::again) return;
  shown_page_ = true;  // if the peer has gone already, reading will tell
  my_page_.memfd.reset();
}

bool LinkKeeper::say(LinkWord word, std::uint64_t value, int memfd) noexcept {
  LinkMessage message;
  message.word = word;
  message.value = value;
  return say(message, std::span<const int>(&memfd, memfd < 0 ? 0 : 1));
}

bool LinkKeeper::say(const LinkMessage& message, std::span<const int> fds) noexcept {
  return send(message, fds) == base::SocketState::ok;
}

base::SocketState LinkKeeper::send(const LinkMessage& message, std::span<const int> fds) noexcept {
  const auto bytes = std::as_bytes(std::span(&message, 1));
  const int by = with_oneself() ? own_end_.get() : socket_.get();
  const base::SocketState sent = base::send_message(by, bytes, fds, MSG_DONTWAIT);
  if (sent == base::SocketState::ok && !fds.empty()) handed_out_.sent(user_.uid, by, fds.size());
  return sent;
}

LinkKeeper::End LinkKeeper::read(interface::Surroundings& surroundings) {
  if (import_waits()) return End::none;
  // A peer that talks without end gets its turn again, after the others.
  for (int words = 0; words < kWordsInARow; ++words) {
    LinkMessage message;
    base::Received received =
        socket_.receive(std::as_writable_bytes(std::span(&message, 1)), user_.uid, most_memory);
    if (received.state == base::SocketState::again) return End::none;
    if (received.state == base::SocketState::closed) return over(End::peer_gone, {LinkReason::died, false});
    if (received.state == base::SocketState::starved)
      return over(End::no_memory, {LinkReason::no_descriptors, false});
    if (received.state == base::SocketState::malformed || received.bytes != sizeof message ||
        invalid(message) != nullptr || received.fd_count != descriptors_of(message.word))
      return broken();
    End end = End::none;
    switch (message.word) {
      case LinkWord::page:
        end = take_page(std::move(received.fds[0]), surroundings);
        break;
      case LinkWord::ring:
        end = take_ring(std::move(received.fds[0]), message.value);
        break;
      case LinkWord::ring_taken:
        if (!offered_ring_.mapping || ring_taken_ || !shm::sealed_by_reader(offered_ring_)) return broken();
        ring_taken_ = true;
        break;
      case LinkWord::area:
        end = take_area(received.fds[0], message);
        break;
      case LinkWord::area_taken:
        // The area may have gone since.
        if (message.number < interface::kAreaLimit && message.generation != 0 &&
            areas_shown_[message.number] == message.generation)
          areas_taken_ |= std::uint64_t{1} << message.number;
        break;
      case LinkWord::area_refused:
        break;  // its messages go through the ring
      case LinkWord::area_withdrawn:
        end = forget_area(message);
        break;
      case LinkWord::import:
        if (link_ == nullptr) return broken();
        import_requests_.push_back(message);
        break;
      case LinkWord::imported:
      case LinkWord::import_refused:
        end = take_import(received, message);
        break;
      case LinkWord::farewell:
        return over(End::peer_gone, {base::link_reason(message.value), true});
    }
    for (base::FileDescriptor& memory : received.fds) socket_.foreign().close(std::move(memory));
    if (end == End::protocol_broken) return broken();
    if (end == End::no_memory && why_.reason == LinkReason::none)
      return over(end, {LinkReason::no_memory, false});
    if (end != End::none) return end;
    if (message.word == LinkWord::area) break;  // it may be long, and mapping it takes its time
  }
  return End::none;
}

LinkKeeper::End LinkKeeper::over(End how, WhyNoLink why) noexcept {
  why_ = why;
  return how;
}

void LinkKeeper::say_farewell(WhyNoLink why) noexcept { library::say_farewell(socket_.get(), why); }

LinkKeeper::End LinkKeeper::take_page(base::FileDescriptor memfd, interface::Surroundings& surroundings) {
  if (link_ != nullptr || peers_page_) return End::protocol_broken;
  shm::ForeignMemory theirs = shm::map_foreign_memory(memfd, sizeof(shm::Page));
  if (theirs.refusal != nullptr) return theirs.no_memory ? End::no_memory : End::protocol_broken;
  const shm::ShmLink::PageCheck page = shm::ShmLink::check_page(theirs.mapping, peer_);
  if (page.refusal != nullptr) return End::protocol_broken;
  peers_page_ = std::move(theirs.mapping);
  peers_mtu_ = page.mtu;
  return begin(surroundings);
}

LinkKeeper::End LinkKeeper::begin(interface::Surroundings& surroundings) {
  try {
    show_page();
  } catch (const Error& error) {
    return over(End::no_memory, {base::reason_of(error), false});
  }
  if (!shown_page_ || !peers_page_) return End::none;
  mtu_ = std::min(mtu_, peers_mtu_);
  link_ = std::make_unique<shm::ShmLink>(surroundings, own_, peer_, mtu_, std::move(my_page_.mapping),
                                         std::move(peers_page_));
  fresh_ = true;
  return End::none;
}

LinkKeeper::End LinkKeeper::take_ring(base::FileDescriptor memfd, std::uint64_t cells) {
  // Each is longer than the one before: a peer does not decide how often we map one.
  if (link_ == nullptr || peers_ring_ || !known_ring(cells) || cells <= peers_cells_)
    return End::protocol_broken;
  peers_cells_ = cells;
  shm::ForeignMemory ring = shm::map_foreign_memory(memfd, cells * interface::kCell, shm::Writers::both_ends);
  if (ring.no_memory) return End::none;  // it is not answered, and the shorter one goes on
  if (ring.refusal != nullptr) return End::protocol_broken;
  peers_ring_ = std::move(ring.mapping);
  return End::none;
}

bool LinkKeeper::may_offer_ring() {
  offers_later_ = !handed_out_.room(user_.uid, 1) || !handed_out_.allows(user_.uid, LeftBehind::Kind::link);
  return !offers_later_;
}

bool LinkKeeper::offer_ring(std::uint32_t cells) {
  try {
    shm::OwnedMemory ring = shm::make_sealed_memory(cells * interface::kCell, shm::Writers::both_ends);
    watch(ring.memfd.get(), ring.mapping.size());
    if (!say(LinkWord::ring, cells, ring.memfd.get())) return false;
    offered_ring_ = std::move(ring);
    return true;
  } catch (const Error&) {
    return false;
  }
}

LinkKeeper::End LinkKeeper::settle() noexcept {
  if (peers_areas_changed_) {
    peers_areas_changed_ = false;
    if (link_->shown == nullptr) link_->shown = std::move(shown_);
    for (std::size_t i = 0; i < peers_areas_.size(); ++i) {
      const PeersArea& area = peers_areas_[i];
      (*link_->shown)[i] = {static_cast<const std::byte*>(area.mapping.data()), area.mapping.size(),
                            area.generation};
    }
    unused_areas_.splice(unused_areas_.end(), former_areas_);
  }
  if (areas_taken_ != 0) link_->set_areas_shown(link_->areas_shown | std::exchange(areas_taken_, 0));
  if (peers_ring_) {
    // A second one before the first is in use breaks the protocol.
    if (!link_->continue_in(std::move(peers_ring_))) return broken();
    peers_ring_ = shm::Mapping();
    ring_settled_ = true;
  }
  if (ring_taken_) {
    ring_taken_ = false;
    link_->continue_out(std::move(offered_ring_.mapping));
    offered_ring_ = {};
  }
  return End::none;
}

void LinkKeeper::answer() noexcept {
  for (const LinkMessage& answer : answers_) say(answer);  // now packets may name them
  answers_.clear();
  if (std::exchange(ring_settled_, false)) say(LinkWord::ring_taken, 0, -1);
}

// --- areas

void LinkKeeper::show_area(std::uint32_t number, const interface::SendArea& area, int memfd) noexcept {
  LinkMessage message;
  message.word = LinkWord::area;
  message.number = static_cast<std::uint16_t>(number);
  message.generation = area.generation;
  message.bytes = area.size;
  if (areas_shown_[number] == area.generation) return;  // and refused, or not answered yet
  if (!say_withdrawn(number)) return;                   // later: two of one number break the protocol
  if (say(message, std::span(&memfd, 1))) areas_shown_[number] = area.generation;
}

void LinkKeeper::withdraw_area(std::uint32_t number) noexcept {
  if (areas_shown_[number] == 0) return;
  areas_unsaid_[number] = std::exchange(areas_shown_[number], std::uint16_t{0});
  areas_taken_ &= ~(std::uint64_t{1} << number);
  say_withdrawn(number);
}

bool LinkKeeper::say_withdrawn(std::uint32_t number) noexcept {
  if (areas_unsaid_[number] == 0) return true;
  LinkMessage message;
  message.word = LinkWord::area_withdrawn;
  message.number = static_cast<std::uint16_t>(number);
  message.generation = areas_unsaid_[number];
  if (!say(message)) return false;
  areas_unsaid_[number] = 0;
  return true;
}

// Bounds how many areas a peer may show and, beside that, their bytes; and both for all peers together. To
// map them costs page tables of ours.
LinkKeeper::End LinkKeeper::take_area(const base::FileDescriptor& memfd, const LinkMessage& message) {
  if (link_ == nullptr || message.number >= interface::kAreaLimit || message.generation == 0 ||
      message.bytes == 0)
    return End::protocol_broken;
  PeersArea& area = peers_areas_[message.number];
  if (area.mapping) return End::protocol_broken;  // the one before was not withdrawn
  LinkMessage answer;
  answer.word = LinkWord::area_refused;
  answer.number = message.number;
  answer.generation = message.generation;
  if (message.bytes <= kPeersAreaBytes - peers_area_bytes_ && budget_.take(user_.uid, message.bytes)) {
    shm::ForeignMemory theirs = shm::map_foreign_memory(memfd, message.bytes);
    if (theirs.refusal != nullptr) budget_.give_back(user_.uid, message.bytes);
    if (theirs.refusal != nullptr && !theirs.no_memory) return End::protocol_broken;
    if (theirs.refusal == nullptr) {
      if (link_->shown == nullptr && shown_ == nullptr) shown_ = std::make_unique<interface::ShownAreas>();
      area.mapping = std::move(theirs.mapping);
      area.generation = message.generation;
      peers_area_bytes_ += message.bytes;
      peers_areas_changed_ = true;
      answer.word = LinkWord::area_taken;
    }
  }
  answers_.push_back(answer);
  return End::none;
}

LinkKeeper::End LinkKeeper::forget_area(const LinkMessage& message) {
  if (message.number >= interface::kAreaLimit) return End::protocol_broken;
  PeersArea& area = peers_areas_[message.number];
  if (!area.mapping || area.generation != message.generation) return End::none;  // it was refused
  peers_area_bytes_ -= area.mapping.size();
  budget_.give_back(user_.uid, area.mapping.size());
  former_areas_.push_back(std::move(area.mapping));
  area = PeersArea{};
  peers_areas_changed_ = true;
  return End::none;
}

// --- mapped slots

bool LinkKeeper::ask_import(MappingRequest& import) noexcept {
  LinkMessage message;
  message.word = LinkWord::import;
  message.value = import.answer.number;
  message.slot = import.ticket.slot;
  message.slot_generation = import.ticket.generation;
  message.key = import.ticket.key;
  if (!say(message)) return false;
  imports_asked_.push_back(import.answer.number);
  return true;
}

LinkKeeper::End LinkKeeper::take_import(base::Received& received, const LinkMessage& message) {
  // Once for each that was asked for.
  const auto asked = std::find(imports_asked_.begin(), imports_asked_.end(), message.value);
  if (asked == imports_asked_.end()) return End::protocol_broken;
  imports_asked_.erase(asked);
  ImportAnswer answer;
  answer.number = message.value;
  if (message.word == LinkWord::import_refused) {
    answer.error = ErrorCode::not_permitted;
    answer.not_mapped = refusal_in(message);
    import_answers_.push_back(std::move(answer));
    return End::none;
  }
  if (message.kind > 1 || message.bytes > kImportBytes || message.offset > message.bytes ||
      message.bound > message.bytes - message.offset)
    return End::protocol_broken;
  // An area that others may write as well has fewer seals: its owner can punch holes into it. Only within one
  // user.
  if (message.kind == 1 && user_.uid != geteuid()) return End::protocol_broken;
  answer.writers = message.kind == 1 ? shm::Writers::everybody : shm::Writers::owner;
  answer.offset = message.offset;
  answer.bound = message.bound;
  answer.generation = message.key;
  shm::ForeignMemory page = shm::map_foreign_memory(received.fds[1], sizeof(shm::Page));
  shm::ForeignMemory memory = shm::map_foreign_memory(received.fds[0], message.bytes, answer.writers);
  for (const shm::ForeignMemory* each : {&page, &memory}) {
    if (each->refusal != nullptr && !each->no_memory) return End::protocol_broken;
    if (each->no_memory) answer.error = ErrorCode::out_of_memory;
  }
  answer.memory = std::move(memory.mapping);
  answer.page = std::move(page.mapping);
  import_answers_.push_back(std::move(answer));
  return End::none;
}

}  // namespace hamlyn::internal_::library
