// A reader of a ring whose memory changes with every look, as the peer that owns it likes: the hostile memory
// policy. And a writer whose peer gives credits of any kind.
//
// Besides not crashing: whatever memory says, each packet that its reader would use lies in the ring, with
// its data and metadata, and the reader counts what it takes; a writer never goes into cells that were not
// given back, and takes no credit that cannot be.
#include <gtest/gtest.h>

#include <vector>

#include "fabric/shm/layout.h"
#include "fabric/shm/ring.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

using interface::Packet;

constexpr std::size_t kMtu = 8192;

Goal goals[] = {
    {"packets taken", 2000}, {"packets behind the end of the ring", 100}, {"credits taken", 1000}};
Goal &taken_packets = goals[0], &wrapped = goals[1], &credits = goals[2];

// Every load of the peer's memory returns something else.
struct HostileMemory {
  static inline Input* input = nullptr;
  static inline std::uint32_t turn = 1;  // of the reader, which the peer knows

  // Of a packet, the reader looks at nothing but the word with the turn and the lead.
  template <class T>
  static T load_relaxed(const T& word) noexcept {
    if (reinterpret_cast<std::uintptr_t>(&word) % interface::kCell != 0) return 0;
    if (input->pick(8) == 0) return static_cast<T>(input->number());
    interface::Lead lead {};
    lead.turn = turn;
    lead.length = static_cast<std::uint16_t>(input->pick(2) == 0 ? input->pick(40) : input->pick(kMtu + 200));
    lead.operation = static_cast<interface::Operation>(input->pick(2) == 0 ? 1 : input->pick(32));
    lead.metadata_length = static_cast<std::uint8_t>(input->pick(2) == 0 ? 0 : input->pick(64));
    return static_cast<T>(shm::word_of(lead));
  }
  template <class T>
  static T load_acquire(const T& word) noexcept {
    return load_relaxed(word);
  }
};

void read(Input& input, std::uint32_t count) {
  std::vector<Packet> cells(count);
  const auto* const first = reinterpret_cast<const std::byte*>(cells.data());
  const std::byte* const end = first + count * interface::kCell;
  const auto inside = [&](const std::byte* from, std::size_t bytes) {
    return from >= first && from <= end && bytes <= static_cast<std::size_t>(end - from);
  };
  HostileMemory::input = &input;
  shm::RingReader<HostileMemory> reader;
  reader.reset(cells.data(), count);
  std::uint64_t taken = 0;
  while (!input.empty()) {
    HostileMemory::turn = static_cast<std::uint32_t>(taken / count) + 1;
    interface::Words words;
    if (!reader.something_there() || !reader.look(words)) continue;
    const interface::Lead lead = interface::packet_of(words).lead;
    const std::uint32_t needed = interface::cells_of(lead);
    if (interface::invalid(lead, kMtu) != nullptr || needed >= count) continue;
    const interface::Payload payload = reader.payload(lead);
    if (lead.metadata_length != 0) {
      ASSERT_TRUE(inside(payload.metadata, lead.metadata_length));
    }
    if (lead.length > interface::kInlineData) {
      ASSERT_LE(payload.first_length, lead.length);
      ASSERT_TRUE(inside(payload.first, payload.first_length));
      const std::size_t rest = lead.length - payload.first_length;
      if (rest != 0) {
        ASSERT_TRUE(inside(payload.second, rest));
        ++wrapped.times;
      }
    }
    if (needed == 1) {
      if (!reader.step()) reader.after_step();
    } else {
      reader.skip(needed);
    }
    taken += needed;
    ++taken_packets.times;
    ASSERT_EQ(reader.taken(), taken);
    if (reader.credit_due()) {
      ASSERT_EQ(reader.tell_taken(), taken);
    }
  }
}

void write(Input& input, std::uint32_t count) {
  std::vector<Packet> cells(count);
  std::vector<std::byte> data(kMtu);
  std::byte metadata[interface::kMetadataLimit] = {};
  shm::RingWriter<> writer;
  const std::uint64_t before = input.pick(2) == 0 ? 0 : input.pick(1000);
  writer.reset(cells.data(), count, before);
  std::uint64_t given = before;  // cells given back
  while (!input.empty()) {
    if (input.pick(3) == 0) {
      const std::uint64_t taken =
          input.pick(2) == 0 ? given + input.pick(1 + writer.written() - given) : input.number();
      const bool good = taken <= writer.written() && std::max(taken, before) >= given;
      ASSERT_EQ(writer.credit(taken), good);
      if (good) {
        given = std::max(taken, before);
        ++credits.times;
      }
      continue;
    }
    Packet packet{};
    packet.lead.operation = interface::Operation::write;
    packet.lead.length =
        static_cast<std::uint16_t>(input.pick(2) == 0 ? input.pick(kMtu + 1) : input.pick(17));
    packet.lead.metadata_length =
        static_cast<std::uint8_t>(input.pick(2) == 0 ? input.pick(interface::kMetadataLimit + 1) : 0);
    const std::uint32_t needed = interface::cells_of(packet.lead);
    const std::uint64_t written = writer.written();
    const bool room = writer.has_room(needed);
    ASSERT_EQ(room, written + needed < given + count);
    if (!room) continue;
    writer.put(packet, data.data(), metadata);
    ASSERT_EQ(writer.written(), written + needed);
  }
}

}  // namespace

const RandomRuns random_runs{.runs = 300, .bytes = 4000, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  constexpr std::uint32_t kCounts[] = {shm::kReplyCells, shm::kUrgentCells, shm::kHomeCells,
                                       shm::kGrownCells[0]};
  const std::uint32_t count = kCounts[input.pick(std::size(kCounts))];
  input.pick(3) != 0 ? read(input, count) : write(input, count);
}

}  // namespace hamlyn::fuzz
