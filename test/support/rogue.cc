#include "test/support/rogue.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <stdexcept>

#include "base/socket.h"
#include "fabric/shm/shm_link.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {

using interface::Operation;
using interface::Packet;
using library::LinkMessage;
using library::LinkWord;

namespace {

// The next event, waited for in the kernel: a rogue's time is the victim's on a small machine.
node::Event wait_for_event(node::Client& client) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (auto event = client.next()) return std::move(*event);
    pollfd readable{client.descriptor(), POLLIN, 0};
    ::poll(&readable, 1, 1000);
  }
  throw std::runtime_error("no event from the node");
}

}  // namespace

RogueLink::RogueLink(node::Event introduction) : event_(std::move(introduction)) {}

bool RogueLink::say(const LinkMessage& message, std::span<const int> fds) const {
  return base::send_message(event_.socket.get(), std::as_bytes(std::span(&message, 1)), fds) ==
         base::SocketState::ok;
}

bool RogueLink::say(LinkWord word, std::uint64_t value, int fd) const {
  LinkMessage message;
  message.word = word;
  message.value = value;
  return say(message, std::span<const int>(&fd, fd >= 0 ? 1 : 0));
}

bool RogueLink::exchange(std::uint64_t interface, shm::OwnedMemory page) {
  mine_ = page.mapping ? std::move(page) : shm::ShmLink::prepare_page(interface, interface::kPacketLimit);
  cells_ = mine().cells;
  out_.reset(cells_.data(), shm::kHomeCells, 0, 1, shm::first_cell(interface));
  urgent_.reset(mine().urgent, shm::kUrgentCells, 0);
  if (!say(LinkWord::page, 0, mine_.memfd.get())) return false;
  pollfd readable{event_.socket.get(), POLLIN, 0};
  if (::poll(&readable, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) <= 0) return false;
  LinkMessage message;
  base::Received got =
      base::receive_message(event_.socket.get(), std::as_writable_bytes(std::span(&message, 1)));
  if (got.state != base::SocketState::ok || message.word != LinkWord::page) return false;
  shm::ForeignMemory theirs = shm::map_foreign_memory(got.fds[0], sizeof(shm::Page));
  if (theirs.refusal != nullptr) throw std::runtime_error(theirs.refusal);
  theirs_ = std::move(theirs.mapping);
  their_memfd_ = std::move(got.fds[0]);
  replies_.reset(this->theirs().replies, shm::kReplyCells);
  return true;
}

std::optional<LinkMessage> RogueLink::hear() const {
  pollfd readable{event_.socket.get(), POLLIN, 0};
  if (::poll(&readable, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) <= 0) return {};
  LinkMessage message;
  const base::Received got =
      base::receive_message(event_.socket.get(), std::as_writable_bytes(std::span(&message, 1)));
  return got.state == base::SocketState::ok ? std::optional{message} : std::nullopt;
}

bool RogueLink::grow(std::uint32_t cells, const std::function<void()>& between) {
  shm::OwnedMemory ring = shm::make_sealed_memory(cells * sizeof(Packet), shm::Writers::both_ends);
  if (!say(LinkWord::ring, cells, ring.memfd.get())) return false;
  const auto taken = hear();
  between();
  Packet last{};
  last.lead.operation = Operation::continue_ring;
  if (!taken || taken->word != LinkWord::ring_taken || !shm::sealed_by_reader(ring) || !put(last))
    return false;
  ring_ = std::move(ring);
  cells_ = {static_cast<Packet*>(ring_.mapping.data()), cells};
  out_.reset(cells_.data(), cells, out_.written());
  return true;
}

bool RogueLink::show_area(const shm::OwnedMemory& area) {
  LinkMessage message;
  message.word = LinkWord::area;
  message.number = 1;
  message.generation = 1;
  message.bytes = area.mapping.size();
  const int fd = area.memfd.get();
  const auto answer = say(message, std::span(&fd, 1)) ? hear() : std::nullopt;
  say_good(2);
  return answer && answer->word == LinkWord::area_taken;
}

void RogueLink::say_good(std::uint64_t areas) { base::RealMemory::store_relaxed(mine().watch.areas, areas); }

bool RogueLink::ended() const {
  pollfd end{event_.socket.get(), POLLRDHUP, 0};
  return ::poll(&end, 1, 0) == 1;
}

bool RogueLink::wait_for_end() const {
  pollfd end{event_.socket.get(), POLLRDHUP, 0};
  return ::poll(&end, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) == 1;
}

bool RogueLink::put(const Packet& packet, const void* data, const void* metadata) {
  const std::uint32_t cells = interface::cells_of(packet.lead);
  while (!out_.has_room(cells)) {
    if (!out_.credit(base::RealMemory::load_acquire(theirs().credits.taken)) || ended()) return false;
  }
  out_.put(packet, static_cast<const std::byte*>(data == nullptr ? packet.data : data),
           static_cast<const std::byte*>(metadata));
  ring();
  return true;
}

bool RogueLink::put_urgent(const Packet& packet) {
  const std::uint32_t cells = interface::cells_of(packet.lead);
  while (!urgent_.has_room(cells)) {
    if (!urgent_.credit(base::RealMemory::load_acquire(theirs().credits.urgent_taken)) && ended())
      return false;
  }
  urgent_.put(packet, packet.data, nullptr);
  auto& announced = mine().announcement.announced;
  base::RealMemory::store_release(announced, base::RealMemory::load_relaxed(announced) + 1);
  return true;
}

std::optional<Packet> RogueLink::reply() {
  interface::Words words;
  const bool came = eventually([&] { return replies_.look(words) || ended(); });
  if (!came || ended()) return std::nullopt;
  replies_.skip(1);
  base::RealMemory::store_release(mine().credits.replies_taken, replies_.taken());
  return interface::packet_of(words);
}

void RogueLink::ring() {
  auto& doorbell = mine().watch.doorbell;
  base::RealMemory::store_release(doorbell, base::RealMemory::load_relaxed(doorbell) + 1);
  ::syscall(SYS_futex, &doorbell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::optional<std::uint32_t> RogueLink::open(const Ticket& ticket, std::uint64_t credit) {
  Packet packet{};
  interface::set_lead(packet, Operation::open, 0, 0);
  interface::set_slot(packet, ticket);
  packet.word = credit;
  if (!put(packet)) return std::nullopt;
  const auto answer = reply();
  if (!answer || answer->lead.operation != Operation::grant || answer->delta == 0) return std::nullopt;
  return answer->entry;
}

Rogue::Rogue(const std::string& node) : client_(node::Client::attach(at(node))) {}

std::optional<RogueLink> Rogue::introduce(std::uint64_t peer, ErrorCode* error) {
  const std::uint64_t request = next_request_++;
  if (!client_.introduce(request, peer)) throw std::runtime_error("the node has gone");
  while (true) {
    node::Event event = wait_for_event(client_);
    if (event.kind == node::Event::Kind::lost) throw std::runtime_error("the node has gone");
    if (event.kind == node::Event::Kind::introduced && event.peer == peer) return RogueLink(std::move(event));
    if (event.request != request) continue;
    if (error != nullptr) *error = event.error;
    return std::nullopt;
  }
}

RogueLink Rogue::connect(std::uint64_t peer) {
  std::optional<RogueLink> link;
  const bool connected = eventually([&] {
    ErrorCode error{};
    link = introduce(peer, &error);
    if (error != ErrorCode{}) throw std::runtime_error(std::string("not introduced: ") + name(error));
    if (!link) return false;  // there is one that both ends have not ended yet
    if (link->exchange(id())) return true;
    end(*link);
    return false;
  });
  if (!connected) throw std::runtime_error("no link is to be had");
  return std::move(*link);
}

void Rogue::end(RogueLink& link) { client_.link_ended(link.number()); }

Packet packet_for(const Ticket& ticket, std::size_t length, std::uint32_t record) {
  Packet packet{};
  interface::set_lead(packet, Operation::write, length, 0);
  interface::set_slot(packet, ticket);
  packet.offset = ticket.base;
  packet.entry = ticket.entry;
  packet.delta = ticket.fast() ? record : 0;
  packet.word = ticket.fast() ? 0 : interface::message_word(1, ticket.incarnation);
  return packet;
}

}  // namespace hamlyn::test
