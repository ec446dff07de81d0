// Packets that a hostile peer may put into its ring: right ones, right but for a few fields or bits, and
// noise. They go the whole way, from cells, also of a longer ring, and from an area that was shown, through
// the link into the interface. The same stands among its replies, while it asks for remote operations itself.
//
// Besides not crashing: nothing outside of the slots may change or be told, nothing asked for may stay
// without an end, what notifications tell of lies in its slot, and the interface must go on.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "fabric/shm/shm_link.h"
#include "interface/core.h"
#include "interface/terminus.h"
#include "test/fuzz/deposit_packets.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

using interface::Core;
using interface::CounterPage;

constexpr std::uint64_t kPeer = 80;
constexpr std::byte kGuard{0xC3};
constexpr std::size_t kPlaces = 11;  // guard, slot, guard, slot, ... guard; the last slot's is buffers
Goal goals[] = {{"messages and puts that arrived", 200},   {"refusals that were told", 200},
                {"answers to what was asked here", 50},    {"puts that were told", 200},
                {"pieces of slots that were got", 200},    {"rings that were longer", 200},
                {"bytes of the shown area in slots", 200}, {"buffers that took a message", 200}};
Goal &arrived = goals[0], &refused = goals[1], &answered = goals[2], &told = goals[3], &pieces = goals[4],
     &grown = goals[5], &copied = goals[6], &taken = goals[7];

struct Alone final : interface::Surroundings {
  std::mt19937_64 keys{1};
  std::uint64_t random_key() override { return keys(); }
  void want_link(std::uint64_t) noexcept override {}
  void attention() noexcept override {}
  void signal(interface::Queue&) noexcept override {}
};

class Siege {
 public:
  explicit Siege(Input& input) : input_(input), area_(kPlaces * kSlotBytes, kGuard) {
    // Whoever reads behind its end does not go on.
    void* const memory =
        ::mmap(nullptr, 2 * kShownBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    shown_ = shm::Mapping(memory, 2 * kShownBytes);
    EXPECT_EQ(::mprotect(static_cast<std::byte*>(memory) + kShownBytes, kShownBytes, PROT_NONE), 0);
    std::memset(memory, 0x11, kShownBytes);
    for (std::size_t place = 1; place < kPlaces; place += 2)
      std::fill_n(area_.data() + place * kSlotBytes, kSlotBytes, std::byte{0});
    queue_ = core_.make_queue(256);
    const Mode modes[] = {Mode::guarded, Mode::guarded, Mode::paranoid, Mode::paranoid_one_shot};
    for (std::size_t i = 0; i < std::size(modes); ++i) {
      SlotOptions options{.mode = modes[i],
                          .entries = kEntries,
                          .fast = i == 0,
                          .places = 64,
                          .fetches = true,
                          .gets = 2048,
                          .puts = i < 2,
                          .hold = 512};
      std::byte* base = area_.data() + (2 * i + 1) * kSlotBytes;
      slots_.push_back(core_.make_slot(base, kSlotBytes, queue_, options));
      for (std::uint32_t e = 0; e < kEntries && modes[i] != Mode::guarded; ++e)
        static_cast<void>(core_.arm_anew(slots_.back(), e, {1024, 512}));
    }
    posted_ = core_.make_posted_slot(queue_, kEntries, pick(4) == 0);
    for (std::uint64_t buffer = 0; buffer != kEntries; ++buffer) post(buffer);
    join();
  }
  ~Siege() { part(); }

  void stand() {
    while (!input_.empty()) {
      if (pick(4) == 0) ask();
      write();
      for (int turn = 0; turn < 4; ++turn) link_->arrive(core_, 64);
      core_.run();
      core_.expire(++now_);
      read();
      see_answers();
      if (pick(8) == 0) rule();
      if (link_->broken || pick(200) == 0) {
        part();
        join();
      }
      ASSERT_TRUE(guards_stand()) << "bytes outside of every slot have changed";
      copied.times += something_copied();
    }
  }

 private:
  void join() {
    theirs_ = shm::ShmLink::prepare_page(kPeer, 8192);
    shm::ForeignMemory seen = shm::map_foreign_memory(theirs_.memfd, sizeof(shm::Page));
    ASSERT_EQ(seen.refusal, nullptr);
    shm::Mapping mine = shm::ShmLink::prepare_page(1, 8192).mapping;
    const auto* const page = static_cast<const shm::Page*>(mine.data());
    answers_ = {};
    answers_.reset(page->replies, shm::kReplyCells);
    replies_at_ = 0;
    link_ = std::make_unique<shm::ShmLink>(surroundings_, 1, kPeer, 8192, std::move(mine),
                                           std::move(seen.mapping));
    link_->shown = std::make_unique<interface::ShownAreas>();
    (*link_->shown)[kShown] = {static_cast<const std::byte*>(shown_.data()), kShownBytes, kShown};
    core_.add_link(*link_);
    cells_ = {static_cast<shm::Page*>(theirs_.mapping.data())->cells, shm::kHomeCells};
    ring_from_ = 0;
    Packet open{};
    open.lead.operation = Operation::open;
    forger_.name(open, 0);
    at_ = 0;
    place(open);
    link_->arrive(core_, 1);
    core_.run();
  }
  void part() {
    core_.end_link(*link_);
    link_.reset();
    for (const RemoteHandle handle : asked_) {
      const Status status = terminus_.requests().outcome(handle).status;
      EXPECT_NE(status, Status::pending) << "it would be waited for without end";
      answered.times += status == Status::ok ? 1 : 0;
    }
    asked_.clear();
  }
  // The victim wants something of the rogue, which then may answer.
  void ask() {
    Ticket ticket;
    ticket.interface = kPeer;
    ticket.slot = 1;
    ticket.generation = 1;
    ticket.entry = Ticket::kRemote;
    ticket.bound = kSlotBytes;
    RemoteHandle handle;
    const std::uint64_t length = 1 + pick(600);
    const Status status =
        pick(2) == 0
            ? terminus_.requests().fetch(ticket, {.operand = 1}, {}, nullptr, &handle)
            : terminus_.requests().get(ticket, {slots_[1], kSlotBytes - length, length}, {}, queue_, &handle);
    if (status == Status::pending) asked_.push_back(handle);
  }

  // In two pieces.
  void post(std::uint64_t buffer) {
    const auto part = std::span(area_).subspan(9 * kSlotBytes + buffer * kBuffer, kBuffer);
    const std::array<std::span<std::byte>, 2> two{part.first(100), part.subspan(100)};
    static_cast<void>(core_.post(posted_, two, buffer));
  }

  std::uint64_t pick(std::uint64_t below) { return input_.pick(below); }

  // What the owner of a slot that takes puts may do at any time.
  void rule() {
    const std::uint32_t slot = slots_[pick(2)];
    const std::uint64_t begin = pick(kSlotBytes), end = begin + pick(kSlotBytes - begin + 1);
    HeldPut held;
    std::byte room[512];
    switch (pick(6)) {
      case 0:
        return core_.set_control(slot, static_cast<Control>(pick(3)));
      case 1:
        return core_.inhibit_puts(slot);
      case 2:
        return core_.release_puts(slot);
      case 3:
        return core_.pin_puts(slot, begin, end, false);
      case 4:
        return core_.pin_puts(slot, 0, kSlotBytes, true);
      default:
        if (core_.take_held(slot, held, room) == Status::ok) {
          ASSERT_TRUE(interface::inside(held.offset, held.length, kSlotBytes));
        }
    }
  }

  // Into the cell where the victim looks next, as far as the rogue can know.
  void place(Packet packet) {
    const std::uint64_t at = at_ - ring_from_;
    packet.lead.turn = static_cast<std::uint32_t>(at / cells_.size()) + 1;
    std::memcpy(&cells_[at % cells_.size()], &packet, sizeof packet);
    at_ += interface::cells_of(packet.lead);
  }
  // Goes on in a longer ring; also where the victim has not been given one, which it takes for a breach.
  void grow() {
    auto ring = shm::make_sealed_memory(shm::kGrownCells[0] * sizeof(Packet));
    shm::ForeignMemory seen = shm::map_foreign_memory(ring.memfd, ring.mapping.size());
    ASSERT_EQ(seen.refusal, nullptr);
    Packet last{};
    last.lead.operation = Operation::continue_ring;
    place(last);
    if (pick(8) == 0) return;
    EXPECT_TRUE(link_->continue_in(std::move(seen.mapping)));
    link_->arrive(core_, 64);  // up to where the old one ends
    ring_ = std::move(ring);
    cells_ = {static_cast<Packet*>(ring_.mapping.data()), shm::kGrownCells[0]};
    ring_from_ = at_;
    ++grown.times;
  }
  void write() {
    auto* const page = static_cast<shm::Page*>(theirs_.mapping.data());
    // No more than the ring holds, or the two would lose each other.
    const std::uint64_t until = at_ + shm::kHomeCells - 16;
    if (cells_.size() == shm::kHomeCells && pick(20) == 0) {
      grow();
      if (link_->broken) return;
    }
    for (std::uint64_t i = pick(16); i != 0 && at_ < until; --i) place(forger_.any());
    // Now and then its area is good no more.
    page->watch.areas = at_ % 8 == 0 ? 0 : std::uint64_t{1} << kShown;
    // Its answers, as far as there is room, now and then with a bit that is wrong.
    for (std::uint64_t i = pick(4); i != 0 && !asked_.empty(); --i) {
      Packet packet = forger_.reply();
      if (pick(20) == 0) reinterpret_cast<std::uint32_t*>(&packet)[1 + pick(15)] ^= 1u << pick(32);
      packet.lead.turn = static_cast<std::uint32_t>(replies_at_ / shm::kReplyCells) + 1;
      std::memcpy(&page->replies[replies_at_ % shm::kReplyCells], &packet, sizeof packet);
      replies_at_ += interface::cells_of(packet.lead);
      link_->arrive(core_, 1);
      if (link_->broken) return;
    }
    page->credits.replies_taken = answers_.taken();
    if (pick(50) == 0) {
      Packet reply = forger_.any();
      reply.lead.turn = 1 + static_cast<std::uint32_t>(pick(2));
      std::memcpy(&page->replies[pick(shm::kReplyCells)], &reply, sizeof reply);
    }
    if (pick(20) == 0) {
      Packet urgent = forger_.any();
      urgent.lead.turn = 1 + static_cast<std::uint32_t>(pick(2));
      std::memcpy(&page->urgent[pick(shm::kUrgentCells)], &urgent, sizeof urgent);
      page->announcement.announced += static_cast<std::uint32_t>(pick(2));
    }
    if (pick(20) == 0) page->credits.urgent_taken = pick(4);
    if (pick(20) == 0) page->credits.taken = pick(4);
    if (pick(100) == 0) page->credits.replies_taken = pick(4);
    if (pick(20) == 0) page->watch.watch = static_cast<std::uint32_t>(input_.number());
  }

  void read() {
    Notification next;
    while (!queue_->empty()) {
      core_.take(*queue_, next);
      const bool run_out = next.kind == Notification::Kind::resource_exhausted;
      if (run_out || next.kind == Notification::Kind::protocol_error) ++refused.times;
      const bool put = next.kind >= Notification::Kind::put && next.kind <= Notification::Kind::fetched;
      told.times += put ? 1 : 0;
      if (next.kind == Notification::Kind::halted) core_.slot(posted_).posted->resume();
      if (next.kind == Notification::Kind::message || put) {
        ++arrived.times;
        ASSERT_LE(next.offset, kSlotBytes);
        ASSERT_LE(next.length, kSlotBytes - next.offset) << "who reads that much reads beyond the slot";
      }
      if (next.kind == Notification::Kind::message || next.kind == Notification::Kind::failed) {
        if (next.fast) continue;
        const std::uint32_t slot = interface::index_of(next.slot);
        if (slot == posted_) {
          take_buffer(next);
          continue;
        }
        if (pick(2) == 0) {
          static_cast<void>(core_.arm(slot, next.entry));
        } else {
          static_cast<void>(core_.arm_group(slot, next.entry, {1024, 512}));
        }
        if (pick(4) == 0) static_cast<void>(core_.fail_at(slot, next.entry, now_ + pick(4)));
      }
    }
  }

  // Each comes back once before it is posted again, and with no more than it holds.
  void take_buffer(const Notification& next) {
    ASSERT_LT(next.offset, kEntries);
    ASSERT_LE(next.length, kBuffer);
    taken.times += next.kind == Notification::Kind::message;
    post(next.offset);
    const interface::SlotRecord& slot = core_.slot(posted_);
    ASSERT_LE(slot.posted->in_use() + slot.unread, kEntries);
  }

  // What the victim tells the rogue: never of bytes that stand outside of the slots.
  void see_answers() {
    interface::Words words;
    while (answers_.look(words)) {
      const Packet packet = interface::packet_of(words);
      std::size_t length = packet.lead.length;
      ASSERT_LE(length, interface::kReplyPayload);
      std::byte bytes[interface::kReplyPayload] = {};
      if (packet.lead.operation == Operation::got) {
        length = interface::kPutInline;
        std::memcpy(bytes, reinterpret_cast<const std::byte*>(&packet) + 16, length);
      } else if (length <= interface::kInlineData) {
        std::memcpy(bytes, packet.data, length);
      } else {
        const interface::Payload payload = answers_.payload(packet.lead);
        std::memcpy(bytes, payload.first, payload.first_length);
        std::memcpy(bytes + payload.first_length, payload.second, length - payload.first_length);
      }
      std::size_t guards = 0, most = 0;
      for (const std::byte byte : bytes) {
        guards = byte == kGuard ? guards + 1 : 0;
        most = std::max(most, guards);
      }
      ASSERT_LT(most, 6u) << "a neighbour's bytes";
      pieces.times += packet.lead.operation == Operation::get_data ? 1 : 0;
      answers_.skip(interface::cells_of(packet.lead));
    }
  }

  // Whether the first slots have eight bytes of the shown area; forgets them.
  std::uint64_t something_copied() {
    std::uint64_t found = 0;
    for (const std::size_t place : {std::size_t{1}, std::size_t{3}}) {
      std::byte* const from = area_.data() + place * kSlotBytes;
      const std::string_view bytes(reinterpret_cast<const char*>(from), kSlotBytes);
      if (bytes.find("\x11\x11\x11\x11\x11\x11\x11\x11") == std::string_view::npos) continue;
      std::memset(from, 0, kSlotBytes);
      ++found;
    }
    return found;
  }

  bool guards_stand() const {
    for (std::size_t place = 0; place < kPlaces; place += 2) {
      // All the same byte, if each is the one before it.
      const std::byte* const from = area_.data() + place * kSlotBytes;
      if (*from != kGuard || std::memcmp(from, from + 1, kSlotBytes - 1) != 0) return false;
    }
    return true;
  }

  Input& input_;
  std::vector<std::byte> area_;
  Alone surroundings_;
  std::unique_ptr<CounterPage> counters_ = std::make_unique<CounterPage>();
  Core core_{surroundings_, *counters_};
  interface::Queue* queue_ = nullptr;
  std::vector<std::uint32_t> slots_;
  std::uint32_t posted_ = 0;
  Forger forger_{input_, core_, slots_, posted_};
  shm::Mapping shown_;
  shm::OwnedMemory theirs_;
  shm::OwnedMemory ring_;
  std::span<Packet> cells_;      // where the rogue writes next
  std::uint64_t ring_from_ = 0;  // cells written before
  std::unique_ptr<shm::ShmLink> link_;
  interface::Terminus terminus_ {
    core_, 8
  };
  std::vector<RemoteHandle> asked_;
  shm::RingReader<> answers_;  // the rogue's
  std::uint64_t replies_at_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t now_ = 0;
};

}  // namespace

const RandomRuns random_runs{.runs = 200, .bytes = 12000, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  Siege{input}.stand();
}

}  // namespace hamlyn::fuzz
