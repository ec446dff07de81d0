// The ring: a packet that is seen is whole, in order, and stays until it was taken; also where a ring goes on
// in a longer one, and when nobody looks before it was announced.
#include "fabric/shm/announcement.h"
#include "fabric/shm/credit.h"
#include "fabric/shm/growth.h"
#include "fabric/shm/ring.h"
#include "test/memory/explored.h"
#include "test/memory/scenarios.h"
#include "test/unit/ring_support.h"

namespace hamlyn::test {

namespace {

using interface::Operation;
using interface::Packet;
using shm::Announcer;
using shm::Credit;
using Reader = shm::RingReader<Explored>;
using Writer = shm::RingWriter<Explored>;
using Reports = std::vector<std::vector<std::uint64_t>>;

constexpr std::uint32_t kCells = 4;

struct Cells {
  Packet cell[kCells] = {};
};
struct Ring {
  Cells cells;
  std::uint64_t taken = 0;
};

// Nobody reads them without having seen the turn in the first word.
void guard(Explorer& explorer, const Cells& cells) {
  for (const Packet& cell : cells.cell)
    explorer.guard(reinterpret_cast<const std::byte*>(&cell) + sizeof(std::uint64_t),
                   sizeof cell - sizeof(std::uint64_t));
}

Packet made_of(std::uint64_t seed, std::size_t length) {
  Packet packet{};
  set_lead(packet, Operation::write, length, 0);
  packet.slot = static_cast<std::uint32_t>(seed);
  packet.generation = static_cast<std::uint32_t>(seed + 1);
  packet.key = seed + 2;
  packet.offset = seed + 3;
  packet.entry = static_cast<std::uint32_t>(seed + 4);
  packet.delta = static_cast<std::uint32_t>(seed + 5);
  packet.word = seed + 6;
  return packet;
}

constexpr std::byte kData[16] = {std::byte{1}, std::byte{2}, std::byte{3}};

void put(Writer& writer, const Packet& packet) { writer.put(packet, kData, nullptr); }
interface::Words words_with_data(const Packet& packet) {
  interface::Words words = words_of(packet);
  std::memcpy(&words.word[interface::kDataWord], kData, interface::kInlineData);
  return words;
}
// All but the turn.
bool is_whole(const Packet& packet, std::uint64_t seed) {
  const interface::Words expected = words_with_data(made_of(seed, 16));
  return std::memcmp(&packet.slot, &expected.word[1], sizeof packet - 8) == 0;
}

void put_words(Writer& writer, const Packet& packet) {
  writer.publish(shm::WholeCell{words_with_data(packet)});
}
interface::FastTarget target_of(const Packet& packet) {
  const interface::Words words = words_with_data(packet);
  interface::FastTarget target {};
  target.slot_word = words.word[interface::kSlotWord];
  target.key = words.word[interface::kKeyWord];
  target.entry_word = words.word[interface::kEntryWord];
  return target;
}
void put_fast(Writer& writer, const Packet& packet) {
  const interface::FastTarget target = target_of(packet);
  writer.publish(shm::FastCell{{target, packet.offset, packet.word}, kData, interface::kInlineData});
}
constexpr std::uint64_t kBlock[8] = {1, 2, 3, 4, 5, 6, 7, 8};
void put_block(Writer& writer, const Packet& packet) {
  const interface::FastTarget target = target_of(packet);
  writer.publish(shm::FastBlock{
      {target, packet.offset, packet.word}, reinterpret_cast<const std::byte*>(kBlock), sizeof kBlock});
}
// A put of one cell: a word, and 48 bytes.
void put_cell(Writer& writer, const Packet& packet) {
  const interface::Words words = words_with_data(packet);
  writer.publish(shm::PutCell{words.word[1], reinterpret_cast<const std::byte*>(&words.word[2]), 48});
}

// Takes what is there, up to so many looks; reports what of it is whole.
void take(Reader& reader, int looks, std::uint64_t seed = 0) {
  for (int i = 0; i < looks; ++i) {
    Packet packet;
    if (!look(reader, packet)) continue;
    Explorer::report(is_whole(packet, seed += 100));
    reader.skip(1);
  }
}

std::string all_whole(const Reports& reports) {
  for (const std::uint64_t whole : reports[1]) {
    if (whole == 0) return "a packet was not whole";
  }
  return {};
}

template <void (*Put)(Writer&, const Packet&)>
std::string packets(Model model) {
  static Cells cells;
  cells = Cells{};
  Explorer explorer(bytes_of(cells), model);
  guard(explorer, cells);
  explorer.add([] {
    Writer writer;
    writer.reset(cells.cell, kCells, 0);
    Put(writer, made_of(100, 16));
    Put(writer, made_of(200, 16));
  });
  explorer.add([] {
    Reader reader;
    reader.reset(cells.cell, kCells);
    take(reader, 3);
  });
  return explorer.explore(all_whole);
}

// A packet with metadata and data in cells of their own.
std::string long_packets(Model model) {
  static constexpr std::uint64_t kLong[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  static Cells cells;
  cells = Cells{};
  Explorer explorer(bytes_of(cells), model);
  explorer.add([] {
    Writer writer;
    writer.reset(cells.cell, kCells, 0);
    Packet packet = made_of(100, sizeof kLong);
    set_lead(packet, Operation::write, sizeof kLong, 8);
    writer.put(packet, reinterpret_cast<const std::byte*>(kLong), kData);
  });
  explorer.add([] {
    Reader reader;
    reader.reset(cells.cell, kCells);
    Packet packet;
    if (!look(reader, packet)) return;
    const interface::Payload payload = reader.payload(packet.lead);
    std::uint64_t data[8], metadata;
    Explored::copy_from_peer(data, payload.first, sizeof data);
    Explored::copy_from_peer(&metadata, payload.metadata, sizeof metadata);
    Explorer::report(std::memcmp(data, kLong, sizeof data) == 0 && std::memcmp(&metadata, kData, 8) == 0);
  });
  return explorer.explore(all_whole);
}

// Lap 1: head and two data cells whose first words look like the turn of lap 2; then a short packet.
void lay_lap_before(Cells& cells, Writer& writer, Reader& reader) {
  static std::uint64_t data[16] = {};
  data[0] = data[8] = 2;
  cells = Cells{};
  writer = Writer();
  reader = Reader();
  writer.reset(cells.cell, kCells, 0);
  reader.reset(cells.cell, kCells);
  writer.put(made_of(1, sizeof data), reinterpret_cast<const std::byte*>(data), nullptr);
  reader.skip(3);
  writer.credit(3);
  put(writer, made_of(2, 16));
  reader.skip(1);
  writer.credit(4);
}

// Data of the lap before looks like a packet of this lap: the cell behind a packet is cleared before it is
// shown.
std::string data_of_the_lap_before(Model model) {
  static Cells cells;
  static Writer writer;
  static Reader reader;
  lay_lap_before(cells, writer, reader);
  Explorer explorer(bytes_of(cells), model);
  explorer.add([] {
    Writer mine = writer;
    put(mine, made_of(100, 16));
  });
  explorer.add([] {
    Reader mine = reader;
    take(mine, 3);
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    return reports[1].size() > 1 ? "data was taken for a packet" : all_whole(reports);
  });
}

// The same of a block, which is whole with its data.
std::string blocks(Model model) {
  static Cells cells;
  static Writer writer;
  static Reader reader;
  lay_lap_before(cells, writer, reader);
  Explorer explorer(bytes_of(cells), model);
  explorer.add([] {
    Writer mine = writer;
    put_block(mine, made_of(100, sizeof kBlock));
  });
  explorer.add([] {
    Reader mine = reader;
    interface::Words words;
    if (!mine.look(words)) return;
    const interface::Words expected = words_with_data(made_of(100, sizeof kBlock));
    std::uint64_t found[8];
    Explored::copy_from_peer(found, mine.block(), sizeof found);
    Explorer::report(std::memcmp(&words.word[1], &expected.word[1], 5 * sizeof(std::uint64_t)) == 0 &&
                     std::memcmp(found, kBlock, sizeof found) == 0);
    mine.step(2);
    if (mine.look(words)) Explorer::report(0);
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    return reports[1].size() > 1 ? "data was taken for a packet" : all_whole(reports);
  });
}

// The reader gives back cells of a full ring; the writer uses them again.
std::string credits(Model model) {
  static Ring ring;
  ring = Ring{};
  static Writer writer;
  writer = Writer();
  writer.reset(ring.cells.cell, kCells, 0);
  for (std::uint64_t seed = 100; seed <= 300; seed += 100) put(writer, made_of(seed, 16));
  Explorer explorer(bytes_of(ring), model);
  guard(explorer, ring.cells);
  explorer.add([] {
    Writer mine = writer;
    std::uint64_t seed = 300;
    for (int i = 0; i < 2; ++i) {
      Explorer::report(mine.credit(Credit<Explored>::told(ring.taken)));
      while (mine.has_room(1)) put(mine, made_of(seed += 100, 16));
    }
  });
  explorer.add([] {
    Reader reader;
    reader.reset(ring.cells.cell, kCells);
    for (std::uint64_t taken = 0; taken < 2; ++taken) {
      take(reader, 1, 100 * taken);
      Credit<Explored>::tell(ring.taken, reader.tell_taken());
    }
    take(reader, 3, 200);
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    for (const std::uint64_t possible : reports[0]) {
      if (possible == 0) return "a credit that cannot be";
    }
    return all_whole(reports);
  });
}

// The writer goes on in another ring, and uses the memory of the old one when it was left.
std::string growth(Model model) {
  struct Rings {
    Cells old, next;
    std::uint64_t taken = 0;
  };
  static Rings rings;
  rings = Rings{};
  Explorer explorer(bytes_of(rings), model);
  guard(explorer, rings.old);
  guard(explorer, rings.next);
  explorer.add([] {
    Writer writer;
    writer.reset(rings.old.cell, kCells, 0);
    put(writer, made_of(100, 16));
    const std::uint64_t until = shm::continue_in(writer, rings.next.cell, kCells);
    put(writer, made_of(200, 16));
    const std::uint64_t taken = Credit<Explored>::told(rings.taken);
    if (!writer.credit(taken)) Explorer::report(0);
    put(writer, made_of(300, 16));
    if (taken < until) return;
    const std::uint64_t gone[8] = {};
    for (Packet& cell : rings.old.cell) Explored::copy_to_peer(&cell, gone, sizeof gone);
  });
  explorer.add([] {
    Reader reader;
    reader.reset(rings.old.cell, kCells);
    std::uint64_t seed = 0;
    for (int i = 0; i < 5; ++i) {
      Packet packet;
      if (!look(reader, packet)) continue;
      if (packet.lead.operation == Operation::continue_ring) {
        shm::continue_in(reader, rings.next.cell, kCells);
      } else {
        Explorer::report(is_whole(packet, seed += 100));
        reader.skip(1);
      }
      Credit<Explored>::tell(rings.taken, reader.tell_taken());
    }
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    return reports[0].empty() ? all_whole(reports) : "a credit that cannot be";
  });
}

// Whoever looks by the announcement and finds nothing must see it move for what comes later.
std::string announcement(Model model) {
  struct Announced {
    Cells cells;
    std::uint32_t word = 0;
  };
  static Announced shared;
  shared = Announced{};
  Explorer explorer(bytes_of(shared), model);
  explorer.add([] {
    Writer writer;
    writer.reset(shared.cells.cell, kCells, 0);
    put(writer, made_of(100, 16));
    Announcer<Explored>::announce(shared.word, 1);
  });
  explorer.add([] {
    Reader reader;
    reader.reset(shared.cells.cell, kCells);
    std::uint32_t announced;
    if (Announcer<Explored>::nothing_there(shared.word, announced, reader)) Explorer::report(announced);
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    return !reports[1].empty() && reports[1][0] != 0 ? "announced, and never looked for" : "";
  });
}

}  // namespace

std::vector<Scenario> ring_scenarios() {
  return {{"packets", packets<put>},
          {"packets_fast", packets<put_fast>},
          {"packets_of_words", packets<put_words>},
          {"packets_of_puts", packets<put_cell>},
          {"blocks", blocks},
          {"long_packets", long_packets},
          {"data_of_the_lap_before", data_of_the_lap_before},
          {"credits", credits},
          {"growth", growth},
          {"announcement", announcement}};
}

}  // namespace hamlyn::test
