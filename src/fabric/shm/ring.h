#pragma once
// A ring of 64-byte cells with one writer and one reader, who may be enemies. The writer's side of it is the
// only memory that is written; the reader answers with a count of taken cells in memory of its own.
//
// A packet is whole when the `turn` in its first cell says so; it is stored last. A turn is the number of the
// lap, so that what is left of the lap before is never taken for a packet. Data cells hold a stranger's
// bytes, which could look like a turn: before a packet is published, the cell behind it is given the turn of
// the lap before if it may hold data of that. (No fixed number will do: turns begin anew after 2^32 laps.)
//
// Templates over a memory policy (base/memory.h), so that tests can put an explorer of store buffers, or a
// hostile peer, in the place of the machine.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assert.h"
#include "base/copy.h"
#include "base/memory.h"
#include "fabric/shm/shapes.h"
#include "interface/link.h"
#include "interface/packets/packet.h"

namespace hamlyn::shm {

static_assert(base::kLittleEndian, "short data is put together in registers for little-endian machines");

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
  static constexpr std::uint32_t kAhead = 8;  // cells; less than any ring has
  static constexpr std::uint64_t kHeldBack = ~std::uint64_t{0};

 public:
  // `written`: cells written before, in earlier rings of the same link. `turn`: of the first lap; only tests
  // begin late. `first`: the cell at which that lap begins.
  void reset(Packet* cells, std::uint32_t count, std::uint64_t written, std::uint32_t turn = 1,
             std::uint32_t first = 0) noexcept {
    HAMLYN_ASSERT(first < count, "a lap begins at one of its cells");
    cells_ = cells;
    next_ = cells + first;
    count_ = count;
    turn_ = turn;
    base_ = written;
    lap_ = written - first;  // modulo 2^64
    room_until_ = base_ + count_;
    data_until_ = 0;
    cache_end();
  }

  std::uint32_t count() const noexcept { return count_; }
  std::uint64_t written() const noexcept { return lap_ + index(); }
  // Moves with each credit of the reader's.
  std::uint64_t room_until() const noexcept { return room_until_; }

  // Room for `cells` and for the word that is cleared behind them.
  bool has_room(std::uint32_t cells) const noexcept { return written() + cells < room_until_; }

  // Takes the reader's word for how many cells it has taken. False: it cannot be.
  bool credit(std::uint64_t taken) noexcept {
    if (taken > written() || written() - taken > written()) return false;
    const std::uint64_t from = taken > base_ ? taken : base_;  // older ones were taken from an earlier ring
    if (from + count_ < room_until_) return false;             // credit once given cannot be taken back
    room_until_ = from + count_;
    HAMLYN_ASSERT(written() < room_until_,
                  "the cell that is written next is always cleared, never the reader's");
    cache_end();
    return true;
  }

  // Until credit() is called again there is no room: whoever writes next comes by the long way.
  void withhold_room() noexcept {
    room_until_ = written() + 1;
    cache_end();
  }

  // From here on no packet of one cell may go by cached_room(): others wait for room, and come first. A
  // longer ring or a packet of several cells ends that as well.
  void hold_back() noexcept {
    if (data_until_ != kHeldBack) data_until_before_ = data_until_;
    data_until_ = kHeldBack;
    cache_end();
  }
  void go_on() noexcept {
    if (data_until_ == kHeldBack) data_until_ = data_until_before_;
    cache_end();
  }

  // Whether a packet of one cell may be published: there is room, the ring does not wrap yet, and nothing
  // behind the cell is to be cleared. Known by one comparison, so that the shortest way need not look at
  // each.
  bool cached_room() const noexcept { return next_ != cached_end_; }
  // Whether a packet of several cells may be published: there is room, and it does not wrap.
  bool cached_room(std::uint32_t cells) const noexcept { return index() + cells < count_ && has_room(cells); }

  // Writes and publishes one packet of that shape (below), from registers; when cached_room() says so.
  template <class Shape>
  __attribute__((always_inline)) void publish(const Shape& shape) noexcept {
    HAMLYN_ASSERT(Shape::kOneCell ? cached_room() : cached_room(shape.cells()),
                  "the caller has asked for the room");
    std::uint64_t* const cell = words(next_);
    next_ += shape.cells();
    shape.template fill<Memory>(cell);
    if constexpr (!Shape::kOneCell) {
      cached_end_ = next_;
      data_until_ = written() + count_;
      clear_next();  // it may hold data of the lap before
    }
    reveal(cell, shape.lead(), turn_);
  }

  // Fetches a cell that will be written soon. Without it each publication waits for its own line
  // (docs/performance.md).
  void prefetch_ahead() const noexcept { prefetch(kAhead); }
  // Fetches the cell that will be written next, or so many.
  void prefetch_next() const noexcept { base::prefetch_for_writing(next_); }
  void prefetch_next(std::uint32_t cells) const noexcept {
    for (std::uint32_t i = 0; i < cells; ++i) prefetch(i);
  }

  // Writes and publishes one packet that has_room(). Its turn and inline data are filled in here.
  //
  // Word by word, from registers: a wide load of what narrow stores have just written waits for the stores
  // (docs/performance.md has the figures).
  void put(const Packet& packet, const std::byte* data, const std::byte* metadata) noexcept {
    const Lead lead = packet.lead;
    if (cached_room() && lead.length <= interface::kInlineData && lead.metadata_length == 0) [[likely]]
      return publish(Inline{packet, data});
    HAMLYN_ASSERT(has_room(1), "the caller has asked has_room()");
    std::uint64_t* const cell = words(next_);
    const std::uint32_t turn = turn_;  // of the first cell
    put_data(cell, lead, data, metadata);
    if (written() <= data_until_) [[unlikely]]
      clear_next();
    fill_header<Memory>(cell, packet);
    reveal(cell, word_of(lead) & ~std::uint64_t{0xFFFFFFFF}, turn);
    cache_end();
  }

 private:
  static std::uint64_t* words(Packet* cell) noexcept { return reinterpret_cast<std::uint64_t*>(cell); }

  // Stores the lead, with the turn in its lower half. Pairs with RingReader::look: whoever sees the turn sees
  // the packet.
  static void reveal(std::uint64_t* cell, std::uint64_t lead, std::uint32_t turn) noexcept {
    Memory::store_release(cell[interface::kLeadWord], lead | turn);
  }

  std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(next_ - cells_); }

  // The cell that is written next is none of this lap.
  void clear_next() noexcept { Memory::store_relaxed(words(next_)[0], std::uint64_t{turn_ - 1}); }

  void prefetch(std::uint32_t ahead) const noexcept {
    const std::uint32_t at = index() + ahead;
    HAMLYN_ASSERT(at < 2 * count_, "what is fetched ahead wraps once");
    base::prefetch_for_writing(cells_ + (at < count_ ? at : at - count_));
  }

  // By no more than the rest of the lap.
  void advance(std::uint32_t cells) noexcept {
    next_ += cells;
    HAMLYN_ASSERT(index() <= count_, "a lap ends at the last cell");
    if (index() == count_) [[unlikely]] {
      next_ = cells_;
      lap_ += count_;
      ++turn_;
    }
  }

  // Up to the last cell of the lap, as far as there is room. While any cell may hold data of the lap before,
  // nowhere.
  void cache_end() noexcept {
    const std::uint64_t room = room_until_ - 1 - lap_;
    const std::uint64_t last = count_ - 1;
    cached_end_ = written() < data_until_ ? next_ : cells_ + (room < last ? room : last);
  }

  // Data inline but not of its full length, or in the cells behind the first: metadata in one, data in as
  // many as it takes, both whole cells.
  void put_data(std::uint64_t* cell, const Lead& lead, const std::byte* data,
                const std::byte* metadata) noexcept {
    std::size_t left = lead.length;
    if (left <= interface::kInlineData) {
      fill_inline<Memory>(cell, data, left);
      left = 0;
    }
    advance(1);
    if (left == 0 && lead.metadata_length == 0) return;
    if (lead.metadata_length != 0) {
      Memory::copy_to_peer(next_, metadata, lead.metadata_length);
      advance(1);
    }
    while (left != 0) {
      const std::size_t run = (count_ - index()) * kCell;
      const std::size_t bytes = left < run ? left : run;
      Memory::copy_to_peer(next_, data, bytes);
      data += bytes;
      left -= bytes;
      advance(static_cast<std::uint32_t>((bytes + kCell - 1) / kCell));
    }
    data_until_ = written() + count_;  // for one lap, any cell may hold data
  }

  Packet* next_ = nullptr;        // the cell that is written next
  Packet* cached_end_ = nullptr;  // up to here without a look at anything else
  std::uint32_t turn_ = 1;
  std::uint32_t count_ = 0;
  Packet* cells_ = nullptr;
  std::uint64_t base_ = 0;
  std::uint64_t lap_ = 0;  // cells written before this lap
  std::uint64_t room_until_ = 0;
  std::uint64_t data_until_ = 0;
  std::uint64_t data_until_before_ = 0;  // before it was held back
};

template <class Memory = base::RealMemory>
class RingReader {
 public:
  void reset(const Packet* cells, std::uint32_t count, std::uint32_t turn = 1,
             std::uint32_t first = 0) noexcept {
    lap_ = taken() - first;  // modulo 2^64
    cells_ = cells;
    next_ = cells + first;
    count_ = count;
    turn_ = turn;
    find_stop();
  }

  std::uint32_t count() const noexcept { return count_; }
  std::uint64_t taken() const noexcept { return lap_ + index(); }

  std::uint32_t turn() const noexcept { return turn_; }
  // Where the next packet's turn will stand.
  const std::uint32_t* turn_at() const noexcept { return reinterpret_cast<const std::uint32_t*>(words()); }

  bool something_there() const noexcept {
    return static_cast<std::uint32_t>(Memory::load_relaxed(words()[0])) == turn_;
  }

  // Whether the packet of one cell that may begin so many cells on, within a lap, is there; then so are those
  // before it. For a first guess: nothing may rest on it.
  bool something_there(std::uint32_t ahead) const noexcept {
    const std::uint32_t at = index() + ahead;
    const bool wraps = at >= count_;
    const Packet* const cell = cells_ + (wraps ? at - count_ : at);
    const std::uint64_t lead = Memory::load_relaxed(*reinterpret_cast<const std::uint64_t*>(cell));
    return static_cast<std::uint32_t>(lead) == turn_ + (wraps ? 1 : 0);
  }

  // The kind that the next packet may have, if it is there. For a first guess: nothing may rest on it.
  std::uint64_t next_lead() const noexcept { return Memory::load_relaxed(words()[0]); }

  // Copies the next packet's cell to private memory; false if there is none. Nothing in it is checked. Each
  // word is loaded by an atomic, which the compiler may not repeat: what is checked is what is used.
  bool look(interface::Words& packet) const noexcept {
    const std::uint64_t* const cell = words();
    // Pairs with RingWriter::reveal.
    packet.word[0] = Memory::load_acquire(cell[0]);
    if (static_cast<std::uint32_t>(packet.word[0]) != turn_) return false;
#pragma GCC unroll 8
    for (std::size_t i = 1; i < kCell / sizeof(std::uint64_t); ++i)
      packet.word[i] = Memory::load_relaxed(cell[i]);
    return true;
  }

  // Where the data and metadata of the packet stand. Its lead is valid and it fits the ring.
  Payload payload(const Lead& lead) const noexcept {
    Payload payload;
    std::uint32_t at = index() + 1 == count_ ? 0 : index() + 1;
    if (lead.metadata_length != 0) {
      payload.metadata = bytes(at);
      at = at + 1 == count_ ? 0 : at + 1;
    }
    HAMLYN_ASSERT(at < count_, "a packet that fits the ring begins inside it");
    if (lead.length > interface::kInlineData) {
      const std::size_t run = (count_ - at) * kCell;
      payload.first = bytes(at);
      payload.first_length = lead.length < run ? lead.length : run;
      payload.second = bytes(0);
    }
    return payload;
  }

  // Over a packet of so many cells, fewer than until_stop().
  void step(std::uint32_t cells) noexcept { next_ += cells; }
  // The data behind the header that is looked at, of a packet that does not wrap.
  const std::byte* block() const noexcept { return reinterpret_cast<const std::byte*>(next_ + 1); }

  // Over one packet of so many cells, fewer than the ring has.
  void skip(std::uint32_t cells) noexcept {
    const std::uint32_t at = index() + cells;
    if (at < count_) {
      next_ = cells_ + at;
    } else {
      lap_ += count_;
      next_ = cells_ + (at - count_);
      ++turn_;
    }
    find_stop();
  }

  // Over a packet of one cell. False: something is to be done before the next look, see after_step().
  bool step() noexcept { return ++next_ != stop_; }
  std::uint32_t until_stop() const noexcept { return static_cast<std::uint32_t>(stop_ - next_); }
  void after_step() noexcept { skip(0); }

  // Whether it is time to tell the writer what was taken: every quarter of the ring.
  bool credit_due() const noexcept { return taken() - told_ >= count_ / 4; }
  bool untold() const noexcept { return taken() != told_; }
  // The writer is told now.
  std::uint64_t tell_taken() noexcept {
    told_ = taken();
    find_stop();
    return told_;
  }

 private:
  std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(next_ - cells_); }
  const std::uint64_t* words() const noexcept { return reinterpret_cast<const std::uint64_t*>(next_); }
  const std::byte* bytes(std::uint32_t cell) const noexcept {
    return reinterpret_cast<const std::byte*>(cells_ + cell);
  }

  // Where the lap ends or a credit is due: known by one comparison.
  void find_stop() noexcept {
    const std::uint64_t lap = count_ - index();
    const std::uint64_t due = credit_due() ? 1 : told_ + count_ / 4 - taken();
    stop_ = next_ + (due < lap ? due : lap);
  }

  const Packet* next_ = nullptr;  // the cell that is looked at
  const Packet* stop_ = nullptr;
  std::uint32_t turn_ = 1;
  std::uint32_t count_ = 0;
  const Packet* cells_ = nullptr;
  std::uint64_t lap_ = 0;   // cells taken before this lap
  std::uint64_t told_ = 0;  // what the writer was told last
};

// A packet out of a cell. Its turn has said that it is there; elsewhere the element has its place
// (interface/packets/element.h).
inline Packet arrived(const interface::Words& words) noexcept {
  Packet packet = interface::packet_of(words);
  packet.lead.turn = 0;
  return packet;
}

// Total over any bytes: false means that the peer does not keep to the protocol.
inline bool usable(const Lead& lead, std::size_t payload_limit, std::uint32_t ring) noexcept {
  return interface::invalid(lead, payload_limit) == nullptr && interface::cells_of(lead) < ring;
}

}  // namespace hamlyn::shm
