#pragma once
// A ring of 64-byte cells with one writer and one reader, who may be enemies. The writer's side of it is the
// only memory that is written; the reader answers with a count of taken cells in memory of its own.
//
// A packet is whole when the `turn` in its first cell says so; it is stored last. A turn is the number of the
// lap, so that what is left of the lap before is never taken for a packet. Data cells hold a stranger's
// bytes, which could look like a turn: before a packet is published, the first word of the cell behind it is
// cleared if it may hold data of the lap before.
//
// Templates over a memory policy (base/memory.h), so that tests can put an explorer of store buffers, or a
// hostile peer, in the place of the machine.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/copy.h"
#include "base/memory.h"
#include "interface/packet.h"

namespace hamlyn::shm {

using interface::kCell;
using interface::Lead;
using interface::Packet;
using interface::Payload;

inline std::uint64_t word_of(const Lead& lead) noexcept {
  std::uint64_t word;
  std::memcpy(&word, &lead, sizeof word);
  return word;
}
inline Lead lead_of(std::uint64_t word) noexcept {
  Lead lead;
  std::memcpy(&lead, &word, sizeof lead);
  return lead;
}

template <class Memory = base::RealMemory>
class RingWriter {
 public:
  // `written`: cells written before, in earlier rings of the same link.
  void reset(Packet* cells, std::uint32_t count, std::uint64_t written) noexcept {
    cells_ = cells;
    count_ = count;
    index_ = 0;
    turn_ = 1;
    base_ = written_ = written;
    room_until_ = base_ + count_;
    data_until_ = 0;
  }

  std::uint32_t count() const noexcept { return count_; }
  std::uint64_t written() const noexcept { return written_; }

  // Room for `cells` and for the word that is cleared behind them.
  bool has_room(std::uint32_t cells) const noexcept { return written_ + cells < room_until_; }

  // Takes the reader's word for how many cells it has taken. False: it cannot be.
  bool credit(std::uint64_t taken) noexcept {
    if (taken > written_ || written_ - taken > written_) return false;
    const std::uint64_t from = taken > base_ ? taken : base_;  // older ones were taken from an earlier ring
    if (from + count_ < room_until_) return false;             // credit once given cannot be taken back
    room_until_ = from + count_;
    return true;
  }

  // Writes and publishes one packet that has_room(). The turn and inline data are filled in here.
  void put(Packet packet, const std::byte* data, const std::byte* metadata) noexcept {
    packet.lead.turn = turn_;
    Packet* const cell = cells_ + index_;
    const bool alone = packet.lead.length <= interface::kInlineData && packet.lead.metadata_length == 0;
    if (alone) [[likely]] {
      if (packet.lead.length != 0) copy_inline(packet, data);
      advance();
    } else {
      put_following(packet, data, metadata);
    }
    if (written_ <= data_until_) [[unlikely]]
      Memory::store_relaxed(first_word(cells_[index_]), std::uint64_t{0});
    Memory::copy_to_peer(&cell->slot, &packet.slot, kCell - sizeof(Lead));
    // Pairs with the reader's load in RingReader::look: whoever sees the turn sees the packet.
    Memory::store_release(first_word(*cell), word_of(packet.lead));
  }

 private:
  static std::uint64_t& first_word(Packet& cell) noexcept { return reinterpret_cast<std::uint64_t&>(cell); }

  static void copy_inline(Packet& packet, const std::byte* data) noexcept {
    if (packet.lead.length == interface::kInlineData) {
      std::memcpy(packet.data, data, interface::kInlineData);
    } else {
      base::copy_up_to_16(packet.data, data, packet.lead.length);
    }
  }

  void advance() noexcept {
    ++written_;
    if (++index_ == count_) [[unlikely]] {
      index_ = 0;
      ++turn_;
    }
  }

  // The cells behind the first: metadata in one, data in as many as it takes, both whole cells.
  __attribute__((noinline)) void put_following(Packet& packet, const std::byte* data,
                                               const std::byte* metadata) noexcept {
    std::size_t left = packet.lead.length;
    if (left <= interface::kInlineData) {
      base::copy_up_to_16(packet.data, data, left);
      left = 0;
    }
    advance();
    if (packet.lead.metadata_length != 0) {
      Memory::copy_to_peer(cells_ + index_, metadata, packet.lead.metadata_length);
      advance();
    }
    while (left != 0) {
      const std::size_t run = (count_ - index_) * kCell;
      const std::size_t bytes = left < run ? left : run;
      Memory::copy_to_peer(cells_ + index_, data, bytes);
      data += bytes;
      left -= bytes;
      const auto cells = static_cast<std::uint32_t>((bytes + kCell - 1) / kCell);
      written_ += cells;
      index_ += cells;
      if (index_ == count_) {
        index_ = 0;
        ++turn_;
      }
    }
    data_until_ = written_ + count_;  // for one lap, any cell may hold data
  }

  Packet* cells_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t index_ = 0;
  std::uint32_t turn_ = 1;
  std::uint64_t base_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t room_until_ = 0;
  std::uint64_t data_until_ = 0;
};

template <class Memory = base::RealMemory>
class RingReader {
 public:
  void reset(const Packet* cells, std::uint32_t count) noexcept {
    cells_ = cells;
    count_ = count;
    index_ = 0;
    turn_ = 1;
  }

  std::uint32_t count() const noexcept { return count_; }
  std::uint64_t taken() const noexcept { return taken_; }

  bool something_there() const noexcept {
    return static_cast<std::uint32_t>(Memory::load_relaxed(first_word())) == turn_;
  }

  // Copies the next packet's cell to private memory, once; false if there is none. Nothing in it is checked.
  bool look(Packet& packet) const noexcept {
    // Pairs with the writer's last store in RingWriter::put.
    const std::uint64_t word = Memory::load_acquire(first_word());
    if (static_cast<std::uint32_t>(word) != turn_) return false;
    packet.lead = lead_of(word);
    Memory::copy_from_peer(&packet.slot, &cells_[index_].slot, kCell - sizeof(Lead));
    base::forget_source(packet);
    return true;
  }

  // Where the data and metadata of the packet stand. Its lead is valid and it fits the ring.
  Payload payload(const Lead& lead) const noexcept {
    Payload payload;
    std::uint32_t at = index_ + 1 == count_ ? 0 : index_ + 1;
    if (lead.metadata_length != 0) {
      payload.metadata = bytes(at);
      at = at + 1 == count_ ? 0 : at + 1;
    }
    if (lead.length > interface::kInlineData) {
      const std::size_t run = (count_ - at) * kCell;
      payload.first = bytes(at);
      payload.first_length = lead.length < run ? lead.length : run;
      payload.second = bytes(0);
    }
    return payload;
  }

  void skip(std::uint32_t cells) noexcept {
    taken_ += cells;
    index_ += cells;
    if (index_ >= count_) [[unlikely]] {
      index_ -= count_;
      ++turn_;
    }
  }

  const void* ahead(std::uint32_t cells) const noexcept {
    const std::uint32_t at = index_ + cells;
    return cells_ + (at >= count_ ? at - count_ : at);
  }

 private:
  const std::uint64_t& first_word() const noexcept {
    return reinterpret_cast<const std::uint64_t&>(cells_[index_]);
  }
  const std::byte* bytes(std::uint32_t cell) const noexcept {
    return reinterpret_cast<const std::byte*>(cells_ + cell);
  }

  const Packet* cells_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t index_ = 0;
  std::uint32_t turn_ = 1;
  std::uint64_t taken_ = 0;
};

}  // namespace hamlyn::shm
