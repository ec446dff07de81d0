#include "test/hostile/scribbler.h"

#include <poll.h>

#include <cstring>

namespace hamlyn::test {

using base::RealMemory;
using interface::Operation;
using interface::Packet;

const std::array<Scribbler::Way, 11> Scribbler::kWays{
    &Scribbler::everything,
    &Scribbler::everywhere_at_random,
    &Scribbler::turns_with_anything_behind,
    &Scribbler::packets_with_one_wrong_field,
    &Scribbler::packets_that_change,
    &Scribbler::credits,
    &Scribbler::credits_backwards,
    &Scribbler::watch_and_bell,
    &Scribbler::single_bits,
    &Scribbler::grown_ring,
    &Scribbler::shown_area,
};

void Scribbler::everything() {
  for (std::size_t i = 0; i < kWords; ++i) store(i, random_());
}

void Scribbler::everywhere_at_random() {
  for (int i = 0; i < 256; ++i) store(random_() % kWords, random_());
}

void Scribbler::turns_with_anything_behind() {
  const std::uint32_t turn = this->turn();
  for (Packet* cell = link_.mine().replies; cell != link_.mine().cells + shm::kHomeCells; ++cell) {
    for (std::size_t i = 1; i < 8; ++i) store(index_of(cell) + i, random_());
    store(index_of(cell), (random_() & ~std::uint64_t{0xFFFFFFFF}) | turn);
  }
}

void Scribbler::packets_with_one_wrong_field() {
  for (std::uint32_t cell = 0; cell < shm::kHomeCells; ++cell) {
    Packet packet = some_packet();
    reinterpret_cast<std::uint32_t*>(&packet)[2 + random_() % 9] = static_cast<std::uint32_t>(random_());
    publish(&link_.mine().cells[cell], packet);
  }
}

void Scribbler::packets_that_change() {
  Packet* const cell = &link_.mine().cells[random_() % shm::kHomeCells];
  Packet packet = some_packet();
  for (int i = 0; i < 64; ++i) {
    packet.lead.length = static_cast<std::uint16_t>(random_() % 2 == 0 ? 16 : random_());
    packet.offset = random_() % 2 == 0 ? 0 : random_();
    publish(cell, packet);
  }
}

void Scribbler::credits() {
  shm::Page& page = link_.mine();
  const std::uint64_t any = random_() % 3 == 0 ? random_() : random_() % 200;
  RealMemory::store_release(page.credits.taken, any);
  RealMemory::store_release(page.credits.replies_taken, random_() % 20);
}

void Scribbler::credits_backwards() {
  shm::Page& page = link_.mine();
  const std::uint64_t now = RealMemory::load_relaxed(page.credits.taken);
  RealMemory::store_release(page.credits.taken, random_() % 2 == 0 ? 0 : now - random_() % 4);
  RealMemory::store_release(page.credits.replies_taken,
                            RealMemory::load_relaxed(page.credits.replies_taken) - random_() % 4);
  Packet* const cell = &link_.mine().cells[random_() % shm::kHomeCells];
  publish(cell, some_packet());
  auto lead = cell->lead;
  lead.turn -= static_cast<std::uint32_t>(random_() % 3);
  RealMemory::store_release(words_[index_of(cell)], shm::word_of(lead));
}

void Scribbler::watch_and_bell() {
  shm::Page& page = link_.mine();
  RealMemory::store_release(page.watch.watch, static_cast<std::uint32_t>(random_()));
  RealMemory::store_release(page.watch.doorbell, static_cast<std::uint32_t>(random_()));
  link_.ring();
  publish(&link_.mine().cells[random_() % shm::kHomeCells], some_packet());
}

void Scribbler::single_bits() {
  const std::size_t at = random_() % kWords;
  store(at, RealMemory::load_relaxed(words_[at]) ^ std::uint64_t{1} << random_() % 64);
  publish(&link_.mine().cells[random_() % shm::kHomeCells], some_packet());
}

void Scribbler::grown_ring() {
  if (link_.cells().size() == shm::kHomeCells && !link_.grow(shm::kGrownCells[0])) return;
  ++reached_;
  const std::span<Packet> ring = link_.cells();
  auto* const words = reinterpret_cast<std::uint64_t*>(ring.data());
  const std::uint64_t taken = RealMemory::load_relaxed(link_.theirs().credits.taken);
  const std::size_t next = (taken - grown_at()) % ring.size();
  const auto turn = static_cast<std::uint32_t>((taken - grown_at()) / ring.size() + 1);
  // Of the cells that are looked at next, each is one of these.
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t cell = (next + i) % ring.size();
    if (random_() % 4 == 0) {
      for (std::size_t word = 1; word < 8; ++word)
        RealMemory::store_relaxed(words[cell * 8 + word], random_());
    } else {
      Packet packet = some_packet();
      if (random_() % 4 == 0)
        reinterpret_cast<std::uint32_t*>(&packet)[2 + random_() % 9] = static_cast<std::uint32_t>(random_());
      if (random_() % 64 == 0) packet.lead.operation = Operation::continue_ring;
      copy(packet, words + cell * 8);
    }
    Packet lead = some_packet();
    lead.lead.turn = turn + (random_() % 64 == 0 ? 1 : 0);
    RealMemory::store_release(words[cell * 8], shm::word_of(lead.lead));
  }
}

void Scribbler::shown_area() {
  if (!area_.mapping) {
    area_ = shm::make_sealed_memory(kAreaBytes);
    if (!link_.show_area(area_)) return;
    ++reached_;
  }
  auto* const area = static_cast<std::uint64_t*>(area_.mapping.data());
  for (int i = 0; i < 16; ++i) {
    interface::AreaPart part {
      1, 1, static_cast<std::uint32_t>(1 + random_() % 256), random_() % (kAreaBytes - 256)
    };
    if (random_() % 8 == 0) part.length = static_cast<std::uint32_t>(random_());
    if (random_() % 8 == 0) part.offset = random_() % 2 == 0 ? random_() : kAreaBytes - random_() % 300;
    if (random_() % 16 == 0) part.number = static_cast<std::uint16_t>(random_());
    if (random_() % 16 == 0) part.generation = static_cast<std::uint16_t>(random_() % 3);
    Packet packet = packet_for(targets_.entries[random_() % 4], sizeof part);
    interface::set_lead(packet, Operation::area_write, sizeof part, 0);
    if (!link_.put(packet, &part)) return;
    link_.say_good(random_() % 4 == 0 ? random_() : 2);
    for (std::size_t word = 0; word < 4096; ++word)
      RealMemory::store_relaxed(area[random_() % (kAreaBytes / 8)], random_());
  }
}

void Scribbler::mapped_slot() {
  if (!area_.mapping) {
    area_ = shm::make_sealed_memory(kAreaBytes);
    generation_ = shm::make_sealed_memory(sizeof(shm::Page));
  }
  for (pollfd asked{link_.socket(), POLLIN, 0}; ::poll(&asked, 1, 0) == 1;) {
    const auto request = link_.hear();
    if (!request) return;
    if (request->word == library::LinkWord::import && !answer(*request)) return;
  }
  auto* const words = static_cast<std::uint64_t*>(area_.mapping.data());
  for (std::size_t i = 0; i < 4096; ++i)
    RealMemory::store_relaxed(words[random_() % (kAreaBytes / 8)], random_());
  RealMemory::store_release(*static_cast<std::uint64_t*>(generation_.mapping.data()), random_() % 4);
}

bool Scribbler::answer(const library::LinkMessage& request) {
  library::LinkMessage message;
  message.word = library::LinkWord::imported;
  message.value = request.value;
  message.bytes = kAreaBytes;
  message.offset = 4096;
  message.bound = kAreaBytes - 4096;
  message.key = random_() % 4;
  if (random_() % 4 == 0) {
    std::uint64_t* const fields[] = {&message.bytes, &message.offset, &message.bound, &message.value};
    *fields[random_() % 4] = random_() % 2 == 0 ? random_() : kAreaBytes + 4096 * (random_() % 3);
  }
  ++reached_;
  const int both[] = {area_.memfd.get(), generation_.memfd.get()};
  return link_.say(message, both);
}

void Scribbler::copy(const Packet& packet, std::uint64_t* to) {
  for (std::size_t i = 1; i < 8; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const std::byte*>(&packet) + 8 * i, 8);
    RealMemory::store_relaxed(to[i], word);
  }
}

void Scribbler::store(std::size_t word, std::uint64_t value) {
  RealMemory::store_relaxed(words_[word], value);
}

std::size_t Scribbler::index_of(const Packet* cell) const {
  return static_cast<std::size_t>(reinterpret_cast<const std::uint64_t*>(cell) - words_);
}

std::uint32_t Scribbler::turn() {
  const std::uint64_t taken = RealMemory::load_relaxed(link_.theirs().credits.taken);
  return static_cast<std::uint32_t>(taken / shm::kHomeCells + 1 + random_() % 2);
}

const Ticket& Scribbler::some_ticket() {
  const std::size_t which = random_() % (targets_.entries.size() + 1);
  return which < targets_.entries.size() ? targets_.entries[which] : targets_.fast;
}

Packet Scribbler::some_packet() {
  Packet packet = packet_for(some_ticket(), random_() % 4 == 0 ? 1024 : random_() % 17);
  if (random_() % 8 == 0) packet.lead.operation = static_cast<Operation>(random_() % 16);
  if (random_() % 2 == 0) packet.delta = static_cast<std::uint32_t>(random_() % 4);
  return packet;
}

void Scribbler::publish(Packet* to, Packet packet) {
  packet.lead.turn = turn();
  copy(packet, words_ + index_of(to));
  RealMemory::store_release(words_[index_of(to)], shm::word_of(packet.lead));
}

}  // namespace hamlyn::test
