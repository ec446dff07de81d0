// Packets that a hostile peer may put into its ring, a fixed number from fixed seeds: right ones, right but
// for a few fields or bits, and noise. They go the whole way, from cells through the link into the interface.
// Nothing outside of the slots may change, and the interface must go on. HAMLYN_FUZZ_SEED runs one seed
// alone, HAMLYN_FUZZ_RUNS more of them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "fabric/shm/shm_link.h"
#include "interface/core.h"

namespace hamlyn {
namespace {

using interface::Core;
using interface::CounterPage;
using interface::Operation;
using interface::Packet;

constexpr std::uint64_t kRuns = 200;
constexpr int kBatches = 120;
constexpr std::uint64_t kPeer = 77;
constexpr std::size_t kSlotBytes = 4096;
constexpr std::uint32_t kEntries = 4;
constexpr std::byte kGuard{0xC3};
constexpr std::size_t kPlaces = 9;  // guard, slot, guard, slot, ... guard

struct Alone final : interface::Surroundings {
  std::mt19937_64 keys{1};
  std::uint64_t random_key() override { return keys(); }
  void want_link(std::uint64_t) noexcept override {}
  void attention() noexcept override {}
  void signal(interface::Queue&) noexcept override {}
};

class Siege {
 public:
  explicit Siege(std::uint64_t seed) : random_(seed), area_(kPlaces * kSlotBytes, kGuard) {
    queue_ = core_.make_queue(256);
    const Mode modes[] = {Mode::guarded, Mode::guarded, Mode::paranoid, Mode::paranoid_one_shot};
    for (std::size_t i = 0; i < std::size(modes); ++i) {
      Slot::Options options{.mode = modes[i], .entries = kEntries, .fast = i == 0, .places = 64};
      std::byte* base = area_.data() + (2 * i + 1) * kSlotBytes;
      slots_.push_back(core_.make_slot(base, kSlotBytes, queue_, options));
      for (std::uint32_t e = 0; e < kEntries && modes[i] != Mode::guarded; ++e)
        core_.arm_anew(slots_.back(), e, {1024, 512});
    }
    join();
  }
  ~Siege() { part(); }

  void stand() {
    for (int batch = 0; batch < kBatches; ++batch) {
      write();
      for (int turn = 0; turn < 4; ++turn) link_->arrive(core_, 64);
      core_.run();
      core_.expire(++now_);
      read();
      if (link_->broken || pick(200) == 0) {
        part();
        join();
      }
      ASSERT_TRUE(guards_stand()) << "bytes outside of every slot have changed";
    }
  }
  std::uint64_t arrived() const { return arrived_; }
  std::uint64_t refused() const { return refused_; }

 private:
  void join() {
    theirs_ = shm::ShmLink::prepare_page(kPeer, 8192);
    shm::ForeignMemory seen = shm::map_foreign_memory(theirs_.memfd, sizeof(shm::Page));
    ASSERT_EQ(seen.refusal, nullptr);
    link_ = std::make_unique<shm::ShmLink>(
        surroundings_, kPeer, 8192, shm::ShmLink::prepare_page(1, 8192).mapping, std::move(seen.mapping));
    core_.add_link(*link_);
    Packet open{};
    open.lead.operation = Operation::open;
    name(open, 0);
    at_ = 0;
    place(open);
    link_->arrive(core_, 1);
    core_.run();
  }
  void part() {
    core_.end_link(*link_);
    link_.reset();
  }

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  void name(Packet& packet, std::size_t slot) {
    packet.slot = slots_[slot];
    packet.generation = core_.slot(slots_[slot]).generation;
    packet.key = core_.slot(slots_[slot]).key;
  }

  // One that the interface would take.
  Packet right() {
    Packet packet{};
    const std::size_t slot = pick(slots_.size());
    name(packet, slot);
    const std::uint64_t sizes[] = {0, 1, 15, 16, 16, 17, 64, 100, 512};
    packet.lead.operation = pick(4) == 0 ? Operation::write_acknowledged : Operation::write;
    packet.lead.length = static_cast<std::uint16_t>(sizes[pick(std::size(sizes))]);
    const std::uint64_t room = (slot < 2 ? kSlotBytes : 512) - packet.lead.length;
    packet.offset = (slot < 2 ? 0 : 1024) + (pick(3) == 0 ? room : pick(room + 1));
    packet.entry =
        slot == 0 && pick(2) == 0 ? interface::kNoEntry : static_cast<std::uint32_t>(pick(kEntries));
    if (packet.entry != interface::kNoEntry) {
      const interface::MetadataEntry& entry = core_.slot(slots_[slot]).entries[packet.entry];
      if (slot >= 2) packet.key = entry.key;
      packet.delta = static_cast<std::uint32_t>(pick(3) != 0 ? 0 : 1 - pick(3));
      packet.word = interface::message_word(entry.message, entry.incarnation);
      packet.lead.metadata_length = static_cast<std::uint8_t>(pick(4) == 0 ? pick(61) : 0);
    }
    for (std::byte& byte : packet.data) byte = static_cast<std::byte>(random_());
    return packet;
  }

  Packet any() {
    Packet packet = right();
    auto* const words = reinterpret_cast<std::uint32_t*>(&packet);
    switch (pick(6)) {
      case 0:
        break;
      case 1:  // one field
        words[2 + pick(9)] = static_cast<std::uint32_t>(random_());
        break;
      case 2:  // one bit, after the turn
        words[1 + pick(15)] ^= 1u << pick(32);
        break;
      case 3: {  // at an edge
        const std::uint64_t edges[] = {
            kSlotBytes,        kSlotBytes - 1,        1023, 1535, 1536, std::uint64_t{1} << 32,
            ~std::uint64_t{0}, std::uint64_t{1} << 63};
        packet.offset = edges[pick(std::size(edges))] - pick(packet.lead.length + 2u);
        break;
      }
      case 4:
        packet.lead.operation = pick(2) == 0 ? Operation::abandon : static_cast<Operation>(1 + pick(5));
        break;
      default:
        if (pick(10) == 0) {
          for (std::size_t i = 1; i < 16; ++i) words[i] = static_cast<std::uint32_t>(random_());
        }
        break;
    }
    return packet;
  }

  // Into the cell where the victim looks next, as far as the rogue can know.
  void place(Packet packet) {
    auto* const page = static_cast<shm::Page*>(theirs_.mapping.data());
    packet.lead.turn = static_cast<std::uint32_t>(at_ / shm::kHomeCells) + 1;
    std::memcpy(&page->cells[at_ % shm::kHomeCells], &packet, sizeof packet);
    at_ += interface::cells_of(packet.lead);
  }
  void write() {
    auto* const page = static_cast<shm::Page*>(theirs_.mapping.data());
    // No more than the ring holds, or the two would lose each other.
    const std::uint64_t until = at_ + shm::kHomeCells - 16;
    for (std::uint64_t i = pick(16); i != 0 && at_ < until; --i) place(any());
    if (pick(20) == 0) {
      Packet reply = any();
      reply.lead.turn = 1 + static_cast<std::uint32_t>(pick(2));
      std::memcpy(&page->replies[pick(shm::kReplyCells)], &reply, sizeof reply);
    }
    if (pick(20) == 0) {
      Packet urgent = any();
      urgent.lead.turn = 1 + static_cast<std::uint32_t>(pick(2));
      std::memcpy(&page->urgent[pick(shm::kUrgentCells)], &urgent, sizeof urgent);
      page->announcement.announced += static_cast<std::uint32_t>(pick(2));
    }
    if (pick(20) == 0) page->credits.urgent_taken = pick(4);
    if (pick(20) == 0) page->credits.taken = pick(4);
    if (pick(20) == 0) page->credits.replies_taken = pick(4);
    if (pick(20) == 0) page->watch.watch = static_cast<std::uint32_t>(random_());
  }

  void read() {
    Notification next;
    while (!queue_->empty()) {
      core_.take(*queue_, next);
      if (next.kind == Notification::Kind::protocol_error) ++refused_;
      if (next.kind == Notification::Kind::message) {
        ++arrived_;
        ASSERT_LE(next.offset, kSlotBytes);
        ASSERT_LE(next.length, kSlotBytes - next.offset) << "who reads that much reads beyond the slot";
      }
      if (next.kind == Notification::Kind::message || next.kind == Notification::Kind::failed) {
        if (next.fast) continue;
        if (pick(2) == 0) {
          core_.arm(next.slot, next.entry);
        } else {
          core_.arm_group(next.slot, next.entry, {1024, 512});
        }
        if (pick(4) == 0) core_.fail_at(next.slot, next.entry, now_ + pick(4));
      }
    }
  }

  bool guards_stand() const {
    for (std::size_t place = 0; place < kPlaces; place += 2) {
      // All the same byte, if each is the one before it.
      const std::byte* const from = area_.data() + place * kSlotBytes;
      if (*from != kGuard || std::memcmp(from, from + 1, kSlotBytes - 1) != 0) return false;
    }
    return true;
  }

  std::mt19937_64 random_;
  std::vector<std::byte> area_;
  Alone surroundings_;
  std::unique_ptr<CounterPage> counters_ = std::make_unique<CounterPage>();
  Core core_{surroundings_, *counters_};
  interface::Queue* queue_ = nullptr;
  std::vector<std::uint32_t> slots_;
  shm::OwnedMemory theirs_;
  std::unique_ptr<shm::ShmLink> link_;
  std::uint64_t at_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t refused_ = 0;
};

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(FuzzDeposit, NothingOutsideTheSlotsChanges) {
  const std::uint64_t first = number("HAMLYN_FUZZ_SEED", 1);
  const std::uint64_t runs =
      number("HAMLYN_FUZZ_RUNS", std::getenv("HAMLYN_FUZZ_SEED") != nullptr ? 1 : kRuns);
  std::uint64_t arrived = 0, refused = 0;
  for (std::uint64_t seed = first; seed != first + runs && !HasFailure(); ++seed) {
    SCOPED_TRACE("HAMLYN_FUZZ_SEED=" + std::to_string(seed));
    Siege siege(seed);
    siege.stand();
    arrived += siege.arrived();
    refused += siege.refused();
  }
  EXPECT_GT(arrived, runs) << "the packets are not so wrong that none gets deep";
  EXPECT_GT(refused, runs);
}

// Every load of the peer's memory returns something else.
struct HostileMemory {
  static inline std::mt19937_64 random;
  static inline std::uint32_t turn = 1;  // of the reader, which the peer knows

  template <class T>
  static T load_relaxed(const T&) noexcept {
    const std::uint64_t word = random();
    // Often enough a turn that the reader waits for.
    return static_cast<T>(random() % 2 == 0 ? (word & ~std::uint64_t{0xFFFFFFFF}) | turn : word);
  }
  template <class T>
  static T load_acquire(const T& word) noexcept {
    return load_relaxed(word);
  }
};

TEST(FuzzRing, NothingThatAHostileMemorySaysLeadsOutOfTheRing) {
  constexpr std::size_t kMtu = 8192;
  for (const std::uint32_t count : {shm::kReplyCells, shm::kHomeCells, shm::kGrownCells[0]}) {
    HostileMemory::random.seed(count);
    std::vector<Packet> cells(count);
    const auto* const first = reinterpret_cast<const std::byte*>(cells.data());
    const std::byte* const end = first + count * interface::kCell;
    const auto inside = [&](const std::byte* from, std::size_t bytes) {
      return from >= first && from <= end && bytes <= static_cast<std::size_t>(end - from);
    };
    shm::RingReader<HostileMemory> reader;
    reader.reset(cells.data(), count);
    std::uint64_t taken = 0;
    for (int i = 0; i < 500000; ++i) {
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
        }
      }
      reader.skip(needed);
      taken += needed;
    }
    EXPECT_EQ(reader.taken(), taken);
    EXPECT_GT(taken, 0u) << "some packets were good enough to be taken";
  }
}

}  // namespace
}  // namespace hamlyn
