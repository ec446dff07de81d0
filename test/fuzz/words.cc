// The keeper of a link, whose peer says anything over their socket: words in any order and with anything in
// them, memory that comes with them and is not as agreed, pages of noise; while this side wants longer rings,
// shows areas and asks for mappings, and packets out of what was shown arrive.
//
// Besides not crashing: memory that was taken cannot be taken away again, and is what was said of it; each
// area is answered once; an answer was asked for; what is told of the other side's areas is so; and no
// descriptor stays when all have gone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/socket.h"
#include "interface/core.h"
#include "library/control/link_keeper.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

using base::FileDescriptor;
using interface::kAreaLimit;
using interface::Operation;
using interface::Packet;
using library::LinkKeeper;
using library::LinkMessage;
using library::LinkWord;
using shm::Writers;

constexpr std::uint64_t kSelf = 1, kPeer = 80;
constexpr std::size_t kMtu = 8192;
constexpr std::size_t kSlotBytes = 4096;
constexpr std::uint64_t kPlaces = 4;  // numbers of areas that are used mostly
constexpr std::uint64_t kImports = 3;
constexpr std::uint64_t kUnread =
    8;  // packets: no more than the ring holds, or the two would lose each other

Goal goals[] = {{"links that were made", 80},
                {"longer rings of the peer's that were taken", 30},
                {"longer rings that the peer has taken", 15},
                {"areas of the peer's that were taken", 80},
                {"areas that the peer has taken", 15},
                {"slots that were mapped", 3},
                {"links that were ended for a word", 30},
                {"messages out of areas that were shown", 15}};
Goal &joined = goals[0], &their_rings = goals[1], &our_rings = goals[2], &their_areas = goals[3],
     &our_areas = goals[4], &imports = goals[5], &ended = goals[6], &copied = goals[7];

struct Alone final : interface::Surroundings {
  std::uint64_t random_key() override { return 1; }
  void want_link(std::uint64_t) noexcept override {}
  void attention() noexcept override {}
  void signal(interface::Queue&) noexcept override {}
};

// Memory that the peer has handed over. It keeps its descriptor, to do with it what it still may.
struct Handed {
  FileDescriptor memfd;
  shm::Mapping mapping;  // if the peer can still write there
};

// What the peer has said and will be answered.
struct Said {
  LinkMessage message;
  std::vector<Handed*> with;
};

// Whoever owns it can take nothing of it away, and nobody pays for it but its owner.
void expect_lasting(const FileDescriptor& memfd, std::uint64_t bytes, Writers writers = Writers::owner) {
  struct stat file {};
  ASSERT_EQ(::fstat(memfd.get(), &file), 0);
  ASSERT_EQ(static_cast<std::uint64_t>(file.st_size), bytes);
  ASSERT_EQ(::lseek(memfd.get(), 0, SEEK_HOLE), file.st_size) << "a page is missing";
  ASSERT_NE(::ftruncate(memfd.get(), file.st_size - 1), 0) << "it can be cut short";
  ASSERT_NE(::ftruncate(memfd.get(), file.st_size + 1), 0);
  if (writers == Writers::everybody) return;
  ASSERT_NE(::fallocate(memfd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, file.st_size), 0)
      << "it can be punched";
}

// Or there is a signal.
void touch(const void* data, std::uint64_t bytes) {
  const auto* const at = static_cast<const volatile std::byte*>(data);
  for (std::uint64_t i = 0; i < bytes; i += 4096) (void)at[i];
  if (bytes != 0) (void)at[bytes - 1];
}

class Neighbours {
 public:
  explicit Neighbours(Input& input) : input_(input), bytes_(kSlotBytes) {
    queue_ = core_.make_queue(64);
    slot_ = core_.make_slot(bytes_.data(), bytes_.size(), queue_, {.entries = 1});
    join();
  }
  ~Neighbours() { part(); }

  void live() {
    while (!input_.empty() && !testing::Test::HasFatalFailure()) {
      switch (pick(8)) {
        case 0:
          want();
          break;
        case 1:
          react();
          break;
        case 2:
          send();
          break;
        default:
          speak();
          break;
      }
      if (pick(2) == 0) turn();
    }
    for (int rest = 0; rest < 8; ++rest) turn();
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return input_.pick(below); }
  bool rarely() { return pick(16) == 0; }
  shm::ShmLink* link() { return keeper_->link(); }

  void join() {
    auto [ours, theirs] = base::socket_pair();
    socket_ = std::move(theirs);
    node::Event introduction;
    introduction.peer = kPeer;
    introduction.peer_uid = ::geteuid() + static_cast<std::uint32_t>(pick(2));
    keeper_.emplace(std::move(introduction), base::ForeignSocket(foreign_, std::move(ours)), 1, kSelf, kMtu,
                    budget_, handed_out_);
    if (!rarely()) say_page();
  }
  void part() {
    if (link() != nullptr) core_.end_link(*link());
    // What lies unread there would be closed by a thread of its own (base/foreign.h).
    std::byte rest[128];
    while (base::receive_message(keeper_->socket(), rest, MSG_DONTWAIT).state == base::SocketState::ok) {
    }
    socket_.reset();
    keeper_.reset();
    said_.clear();
    handed_.clear();
    offered_.reset();
    shown_.clear();
    claimed_.clear();
    asked_.clear();
    taken_ = {};
    page_ = nullptr;
    cells_ = {};
    next_ring_ = nullptr;
    at_ = ring_from_ = unread_ = rings_ = 0;
  }

  // --- the peer

  // As it should be, most of the time.
  Handed& memory(std::uint64_t bytes, Writers writers = Writers::owner) {
    Handed made;
    if (!rarely()) {
      shm::OwnedMemory owned = shm::make_sealed_memory(bytes, writers);
      made = {std::move(owned.memfd), std::move(owned.mapping)};
    } else {
      // Shorter or longer, with pages that are not there, with other seals.
      const std::uint64_t more = pick(4) == 0 ? 4096 * pick(3) : 4096;
      const auto size = static_cast<off_t>(bytes + more - std::min<std::uint64_t>(bytes + more, 4096));
      made.memfd.reset(::memfd_create("rogue", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      EXPECT_EQ(::ftruncate(made.memfd.get(), size), 0);
      const std::vector<char> filled(static_cast<std::size_t>(pick(4) != 0 ? size : size / 2));
      EXPECT_EQ(::pwrite(made.memfd.get(), filled.data(), filled.size(), 0), std::ssize(filled));
      constexpr int kSeals[] = {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE, F_SEAL_SEAL, F_SEAL_WRITE};
      const std::uint64_t which = pick(1u << std::size(kSeals));
      int seals = 0;
      for (std::size_t i = 0; i < std::size(kSeals); ++i) seals |= (which >> i & 1) != 0 ? kSeals[i] : 0;
      ::fcntl(made.memfd.get(), F_ADD_SEALS, seals);
    }
    handed_.push_back(std::move(made));
    return handed_.back();
  }

  void say(LinkMessage message, std::vector<Handed*> with = {}) {
    if (rarely()) input_.spoil(message);
    if (rarely()) with.push_back(&memory(4096));
    if (rarely() && !with.empty()) with.pop_back();
    std::vector<std::byte> bytes(sizeof message + 8);
    std::memcpy(bytes.data(), &message, sizeof message);
    bytes.resize(pick(64) == 0 ? 1 + pick(bytes.size()) : sizeof message);
    std::vector<int> fds;
    for (const Handed* each : with) fds.push_back(each->memfd.get());
    if (base::send_message(socket_.get(), bytes, fds, MSG_DONTWAIT) != base::SocketState::ok) return;
    const LinkWord word = message.word;
    if (word == LinkWord::area_taken) claimed_.emplace(message.number, message.generation);
    if (word == LinkWord::area || word == LinkWord::ring || word == LinkWord::page ||
        word == LinkWord::import || word == LinkWord::imported || word == LinkWord::import_refused)
      said_.push_back({message, std::move(with)});
  }

  void say_page() {
    if (rarely()) return say({.word = LinkWord::page}, {&memory(sizeof(shm::Page))});
    shm::OwnedMemory page = shm::ShmLink::prepare_page(kPeer, kMtu);
    auto* const there = static_cast<shm::Page*>(page.mapping.data());
    if (rarely()) input_.spoil(there->header);
    handed_.push_back({std::move(page.memfd), std::move(page.mapping)});
    if (cells_.empty()) {
      page_ = there;
      cells_ = there->cells;
    }
    say({.word = LinkWord::page}, {&handed_.back()});
  }

  // A word that might well be right.
  void speak() {
    LinkMessage message;
    message.word = static_cast<LinkWord>(1 + pick(10));
    std::vector<Handed*> with;
    switch (message.word) {
      case LinkWord::page:
        if (rarely()) say_page();
        return;
      case LinkWord::ring:
        message.value = shm::kGrownCells[rarely() ? pick(2) : std::min<std::size_t>(rings_, 1)];
        if (rarely()) message.value = input_.number();
        with.push_back(
            &memory(shm::kGrownCells[message.value == shm::kGrownCells[1] ? 1 : 0] * 64, Writers::both_ends));
        break;
      case LinkWord::area:
        message.bytes = pick(4) == 0 ? 1 + pick(9000) : 4096;
        with.push_back(&memory(message.bytes));
        if (rarely()) message.bytes = input_.number();
        name(message);
        if (message.generation == 0) message.generation = 1;
        break;
      case LinkWord::area_taken:
      case LinkWord::area_refused:
        if (shown_.empty() || rarely()) {
          name(message);
        } else {
          message.number = shown_.back().number;
          message.generation = static_cast<std::uint16_t>(shown_.back().generation - (pick(4) == 0 ? 1 : 0));
        }
        break;
      case LinkWord::area_withdrawn:
        name(message);
        if (message.number < kAreaLimit && !rarely()) message.generation = taken_[message.number].generation;
        break;
      case LinkWord::import:
        message.value = pick(kImports);
        message.slot = slot_;
        break;
      case LinkWord::imported:
        message.value = pick(kImports);
        message.kind = static_cast<std::uint32_t>(rarely() ? input_.number() : pick(2));
        message.bytes = 8192;
        with.push_back(&memory(8192, message.kind == 1 ? Writers::everybody : Writers::owner));
        with.push_back(&memory(sizeof(shm::Page)));
        message.offset = pick(4) == 0 ? input_.number() : 4096 * pick(3);
        message.bound = pick(4) == 0 ? input_.number() : 4096 * pick(3);
        if (rarely()) message.bytes = input_.number();
        break;
      default:
        message.value = pick(kImports);
        break;
    }
    say(message, std::move(with));
  }
  void name(LinkMessage& message) {
    message.number = static_cast<std::uint16_t>(rarely() ? input_.number() : pick(kPlaces));
    message.generation = static_cast<std::uint16_t>(rarely() ? input_.number() : pick(4));
  }

  // Answers what it was asked, rightly or nearly so.
  void react() {
    if (offered_) {
      constexpr int kReader = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
      if (rarely()) ::fallocate(offered_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
      ::fcntl(offered_.get(), F_ADD_SEALS, rarely() ? F_SEAL_SEAL : kReader);
      say({.word = LinkWord::ring_taken});
    }
    if (!shown_.empty())
      say({.word = LinkWord::area_taken,
           .number = shown_.back().number,
           .generation = shown_.back().generation});
  }

  // Packets out of the areas that it has shown, or has withdrawn; and credits.
  void send() {
    if (link() == nullptr || page_ == nullptr) return;
    page_->credits.taken = rarely() ? input_.number() : link()->put_count();
    page_->watch.areas = at_ % 8 == 0 ? 0 : ~std::uint64_t{0};
    if (next_ring_ != nullptr && unread_ < kUnread && pick(2) == 0) {
      Packet last{};
      last.lead.operation = Operation::continue_ring;
      place(last);
      auto* const cells = static_cast<Packet*>(next_ring_->mapping.data());
      cells_ = {cells, next_ring_->mapping.size() / sizeof(Packet)};
      ring_from_ = at_;
      next_ring_ = nullptr;
    }
    Packet packet{};
    packet.slot = slot_;
    packet.generation = core_.slot(slot_).generation;
    packet.key = core_.slot(slot_).key;
    packet.entry = 0;
    const interface::MetadataEntry& entry = core_.slot(slot_).entries[0];
    packet.word = interface::message_word(entry.message, entry.incarnation);
    packet.lead.operation = Operation::area_write;
    interface::AreaPart part {};
    packet.lead.length = sizeof part;
    part.number = static_cast<std::uint16_t>(pick(kPlaces));
    part.generation = taken_[part.number].generation;
    part.length = static_cast<std::uint32_t>(pick(kSlotBytes + 1));
    std::memcpy(packet.data, &part, sizeof part);
    place(packet);
  }
  void place(Packet packet) {
    if (unread_ == kUnread) return;
    const std::uint64_t at = at_ - ring_from_;
    packet.lead.turn = static_cast<std::uint32_t>(at / cells_.size()) + 1;
    std::memcpy(&cells_[at % cells_.size()], &packet, sizeof packet);
    ++at_;
    ++unread_;
  }

  // --- its neighbour

  // Longer rings, mappings and areas, as the control thread wants them.
  void want() {
    if (link() == nullptr) return;
    switch (pick(4)) {
      case 0: {
        Packet packet{};
        packet.lead.operation = Operation::write;
        static_cast<void>(link()->put(packet, packet.data, nullptr));
        link()->want_room();
        if (!link()->wants_growth()) return;
        link()->growth_asked();
        EXPECT_TRUE(keeper_->offer_ring(link()->next_size()));
        return;
      }
      case 1: {
        library::MappingRequest import;
        import.answer.number = pick(kImports);
        if (!asked_.contains(import.answer.number) && keeper_->ask_import(import))
          asked_.insert(import.answer.number);
        return;
      }
      case 2: {
        if (own_areas_.size() == 2) return;
        shm::OwnedMemory area = shm::make_sealed_memory(4096);
        const std::uint32_t number = core_.add_area(static_cast<std::byte*>(area.mapping.data()), 4096);
        own_areas_.emplace_back(number, std::move(area));
        return;
      }
      default:
        if (own_areas_.empty()) return;
        const std::uint32_t number = own_areas_.front().first;
        if (pick(2) == 0) {
          core_.drop_area(number);
          keeper_->withdraw_area(number);
          own_areas_.pop_front();
        } else if ((link()->areas_shown >> number & 1) == 0) {
          keeper_->show_area(number, core_.area(number), own_areas_.front().second.memfd.get());
        }
    }
  }

  // What the control thread does when there is something to read (Control::read_link).
  void turn() {
    const shm::ShmLink* const before = link();
    LinkKeeper::End how = keeper_->read(alone_);
    if (before != nullptr) {
      ASSERT_EQ(link(), before) << "a link is made once";
    }
    if (link() != nullptr) {
      if (keeper_->fresh()) see_page();
      listen();
      const bool grows = keeper_->ring_taken();
      if (grows) {
        ASSERT_TRUE(offered_) << "nobody takes what was not shown";
        expect_lasting(offered_, link()->next_size() * sizeof(Packet), Writers::both_ends);
        offered_.reset();
        ++our_rings.times;
      }
      // Others' packets may be taken before that is settled.
      touch_areas();
      const LinkKeeper::End settled = keeper_->settle();
      keeper_->answer();
      listen();
      see_areas();
      touch_areas();
      keeper_->unmap_forgotten();
      if (how == LinkKeeper::End::none) how = settled;
      see_imports();
      core_.run();
      if (!link()->something_arrived()) unread_ = 0;
      see_notifications();
    }
    if (testing::Test::HasFatalFailure()) return;
    ended.times += how == LinkKeeper::End::protocol_broken ? 1 : 0;
    if (how == LinkKeeper::End::none && (link() == nullptr || !link()->broken)) return;
    part();
    join();
  }

  // The first of those words that was not answered yet; those before it could not be.
  std::optional<Said> next_said(std::initializer_list<LinkWord> words) {
    const auto of = [&](const Said& each) {
      return std::ranges::find(words, each.message.word) != words.end();
    };
    const auto found = std::ranges::find_if(said_, of);
    if (found == said_.end()) return std::nullopt;
    Said out = std::move(*found);
    said_.erase(found);
    return out;
  }

  void see_page() {
    ++joined.times;
    const auto said = next_said({LinkWord::page});
    ASSERT_TRUE(said);
    expect_lasting(said->with.at(0)->memfd, sizeof(shm::Page));
    ASSERT_LE(keeper_->mtu(), kMtu);
    link()->user = keeper_->user();
    core_.add_link(*link());
  }

  // What the keeper has said to the peer.
  void listen() {
    for (;;) {
      LinkMessage message;
      base::Received got =
          base::receive_message(socket_.get(), std::as_writable_bytes(std::span(&message, 1)), MSG_DONTWAIT);
      if (got.state != base::SocketState::ok) return;
      ASSERT_EQ(got.bytes, sizeof message);
      ASSERT_EQ(library::invalid(message), nullptr);
      ASSERT_EQ(got.fd_count, library::descriptors_of(message.word));
      switch (message.word) {
        case LinkWord::ring:
          offered_ = std::move(got.fds[0]);
          break;
        case LinkWord::ring_taken:
          see_ring();
          break;
        case LinkWord::area:
          shown_.push_back(message);
          break;
        case LinkWord::area_taken:
        case LinkWord::area_refused:
          see_area(message);
          break;
        default:
          break;
      }
    }
  }
  void see_ring() {
    const auto said = next_said({LinkWord::ring});
    ASSERT_TRUE(said) << "it has taken what nobody has shown";
    ASSERT_NE(std::ranges::find(shm::kGrownCells, said->message.value), std::end(shm::kGrownCells));
    Handed& ring = *said->with.at(0);
    expect_lasting(ring.memfd, said->message.value * sizeof(Packet), Writers::both_ends);
    next_ring_ = ring.mapping ? &ring : nullptr;
    ++rings_;
    ++their_rings.times;
  }
  void see_area(const LinkMessage& answer) {
    const auto said = next_said({LinkWord::area});
    ASSERT_TRUE(said) << "it answers what nobody has shown";
    ASSERT_EQ(answer.number, said->message.number);
    ASSERT_EQ(answer.generation, said->message.generation);
    if (answer.word == LinkWord::area_refused) return;
    expect_lasting(said->with.at(0)->memfd, said->message.bytes);
    ASSERT_LT(answer.number, kAreaLimit);
    taken_[answer.number] = {nullptr, said->message.bytes, answer.generation};
    ++their_areas.times;
  }
  void touch_areas() {
    if (link()->shown == nullptr) return;
    for (const interface::ShownArea& area : *link()->shown)
      if (area.data != nullptr) touch(area.data, area.size);
  }
  // What packets may name, on both sides.
  void see_areas() {
    for (std::size_t i = 0; i < kAreaLimit && link()->shown != nullptr; ++i) {
      const interface::ShownArea& area = (*link()->shown)[i];
      if (area.data == nullptr) continue;
      ASSERT_EQ(area.size, taken_[i].size);
      ASSERT_EQ(area.generation, taken_[i].generation);
    }
    for (std::uint32_t i = 0; i < kAreaLimit; ++i) {
      if ((link()->areas_shown >> i & 1) == 0) continue;
      ASSERT_TRUE(claimed_.contains({i, core_.area(i).generation})) << "the peer has not said that it has it";
      ++our_areas.times;
    }
  }
  void see_imports() {
    for (const LinkMessage& request : keeper_->take_import_requests()) {
      const auto said = next_said({LinkWord::import});
      ASSERT_TRUE(said);
      ASSERT_EQ(std::memcmp(&said->message, &request, sizeof request), 0);
    }
    for (const library::ImportAnswer& answer : keeper_->take_import_answers()) {
      ASSERT_EQ(asked_.erase(answer.number), 1u) << "nobody has asked for it, or it was answered";
      const auto said = next_said({LinkWord::imported, LinkWord::import_refused});
      ASSERT_TRUE(said);
      if (answer.error != ErrorCode{}) continue;
      expect_lasting(said->with.at(0)->memfd, said->message.bytes, answer.writers);
      expect_lasting(said->with.at(1)->memfd, sizeof(shm::Page));
      ASSERT_TRUE(answer.writers == Writers::owner || keeper_->uid() == ::geteuid());
      ASSERT_TRUE(interface::inside(answer.offset, answer.bound, answer.memory.size()));
      touch(static_cast<const std::byte*>(answer.memory.data()) + answer.offset, answer.bound);
      touch(answer.page.data(), answer.page.size());
      ++imports.times;
    }
  }
  void see_notifications() {
    Notification next;
    while (!queue_->empty()) {
      core_.take(*queue_, next);
      if (next.kind != Notification::Kind::message && next.kind != Notification::Kind::failed) continue;
      copied.times += next.kind == Notification::Kind::message ? 1 : 0;
      ASSERT_TRUE(interface::inside(next.offset, next.length, kSlotBytes));
      static_cast<void>(core_.arm(interface::index_of(next.slot), next.entry));
    }
  }

  Input& input_;
  Alone alone_;
  base::Foreign foreign_;
  std::unique_ptr<interface::CounterPage> counters_ = std::make_unique<interface::CounterPage>();
  interface::Core core_ {
    alone_, *counters_
  };
  std::vector<std::byte> bytes_;
  interface::Queue* queue_ = nullptr;
  std::uint32_t slot_ = 0;
  library::AreaBudget budget_;
  library::HandedOut handed_out_;
  std::optional<LinkKeeper> keeper_;
  std::deque<std::pair<std::uint32_t, shm::OwnedMemory>> own_areas_;
  std::set<std::uint64_t> asked_;  // mappings, of the peer

  // The peer's.
  FileDescriptor socket_;
  std::deque<Handed> handed_;
  std::deque<Said> said_;
  shm::Page* page_ = nullptr;
  std::span<Packet> cells_;      // where it writes next
  std::uint64_t at_ = 0;         // cells written
  std::uint64_t ring_from_ = 0;  // of them before this ring
  std::uint64_t unread_ = 0;
  std::size_t rings_ = 0;  // that were taken
  Handed* next_ring_ = nullptr;
  FileDescriptor offered_;                                     // its neighbour's longer ring
  std::vector<LinkMessage> shown_;                             // its neighbour's areas
  std::set<std::pair<std::uint32_t, std::uint16_t>> claimed_;  // those that it says it has
  interface::ShownAreas taken_;                                // its own that its neighbour has taken
};

// The lowest that is free.
int next_descriptor() { return FileDescriptor(::memfd_create("next", MFD_CLOEXEC)).get(); }

}  // namespace

const RandomRuns random_runs{.runs = 100, .bytes = 2000, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  const int before = next_descriptor();
  Neighbours{input}.live();
  EXPECT_EQ(next_descriptor(), before) << "a descriptor has stayed";
}

}  // namespace hamlyn::fuzz
