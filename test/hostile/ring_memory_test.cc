// A ring that both its ends can write: the reader seals it, and can neither take it away nor hurt its writer
// by what it writes there.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "fabric/shm/growth.h"
#include "test/hostile/speaker.h"
#include "test/hostile/world.h"

namespace hamlyn::test {
namespace {

HAMLYN_HOSTILE(RingMemory)

using base::FileDescriptor;
using End = library::LinkKeeper::End;
using library::LinkMessage;
using library::LinkWord;

constexpr std::uint32_t kCells = shm::kGrownCells[0];
constexpr std::size_t kBytes = kCells * interface::kCell;

// A ring as its owner shows it, with other seals, and pages for its first `filled` bytes.
FileDescriptor ring(unsigned seals, std::size_t bytes = kBytes, std::size_t filled = kBytes) {
  FileDescriptor made(::memfd_create("rogue", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (::ftruncate(made.get(), static_cast<off_t>(bytes)) != 0) return {};
  const std::vector<char> zeros(std::min(bytes, filled));
  if (::pwrite(made.get(), zeros.data(), zeros.size(), 0) != static_cast<ssize_t>(zeros.size())) return {};
  return ::fcntl(made.get(), F_ADD_SEALS, seals) == 0 ? std::move(made) : FileDescriptor{};
}

// --- what its reader takes

TEST(RingMemory, IsTakenWithTheSealsThatAreAgreedAndNoOthers) {
  constexpr unsigned kSize = F_SEAL_SHRINK | F_SEAL_GROW;
  struct Trial {
    const char* what;
    FileDescriptor memory;
    End end;
  };
  Trial trials[] = {
      {"as agreed", ring(kSize), End::none},
      {"it can shrink", ring(F_SEAL_GROW), End::protocol_broken},
      {"it can grow", ring(F_SEAL_SHRINK), End::protocol_broken},
      {"nobody can map it writable", ring(kSize | F_SEAL_FUTURE_WRITE), End::protocol_broken},
      {"nobody can seal it", ring(kSize | F_SEAL_SEAL), End::protocol_broken},
      {"both", ring(kSize | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), End::protocol_broken},
      {"nobody can write it", ring(kSize | F_SEAL_WRITE), End::protocol_broken},
      {"a page is missing", ring(kSize, kBytes, kBytes - 4096), End::protocol_broken},
      {"no page is there", ring(kSize, kBytes, 0), End::protocol_broken},
      {"shorter than it says", ring(kSize, kBytes - 4096), End::protocol_broken},
      {"longer than it says", ring(kSize, kBytes + 4096), End::protocol_broken},
      {"a file", FileDescriptor(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)), End::protocol_broken},
      {"nothing", {}, End::protocol_broken},
  };
  const FileDescriptor good = ring(kSize);
  const std::string path = "/proc/self/fd/" + std::to_string(good.get());
  Trial read_only{"it can only be read", FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
                  End::protocol_broken};
  const auto expect = [](const Trial& trial) {
    Speaker owner(::geteuid());
    ASSERT_EQ(owner.read(), End::none);
    const int fd = trial.memory.get();
    const LinkMessage shown{.word = LinkWord::ring, .value = kCells};
    base::send_message(owner.socket.get(), std::as_bytes(std::span(&shown, 1)),
                       std::span(&fd, fd >= 0 ? 1 : 0));
    EXPECT_EQ(owner.read(), trial.end) << trial.what;
    EXPECT_EQ(owner.heard(LinkWord::ring_taken), trial.end == End::none ? 1 : 0) << trial.what;
  };
  for (const Trial& trial : trials) expect(trial);
  expect(read_only);
}

// Its reader keeps one next ring, and the cell that says so does not say which.
TEST(RingMemory, ASecondOneIsNotTakenBeforeTheFirstIsInUse) {
  constexpr unsigned kSize = F_SEAL_SHRINK | F_SEAL_GROW;
  constexpr std::uint32_t kMore = shm::kGrownCells[1];
  const FileDescriptor first = ring(kSize),
                       second = ring(kSize, kMore * interface::kCell, kMore * interface::kCell);
  Speaker owner(::geteuid());
  ASSERT_EQ(owner.read(), End::none);
  owner.say({.word = LinkWord::ring, .value = kCells}, {first.get()});
  ASSERT_EQ(owner.read(), End::none);
  ASSERT_EQ(owner.heard(LinkWord::ring_taken), 1);
  owner.say({.word = LinkWord::ring, .value = kMore}, {second.get()});
  EXPECT_EQ(owner.read(), End::protocol_broken);
  EXPECT_EQ(owner.heard(LinkWord::ring_taken), 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need address space without end

// Does it in a process that has no addresses left for a ring or a page.
int without_memory(const std::function<bool()>& work) {
  Child child{-1, [&] {
                std::ifstream statm("/proc/self/statm");
                std::size_t pages = 0;
                statm >> pages;
                rlimit limit{};
                if (::getrlimit(RLIMIT_AS, &limit) != 0) return 2;
                limit.rlim_cur = pages * 4096;
                if (::setrlimit(RLIMIT_AS, &limit) != 0) return 2;
                return work() ? 0 : 1;
              }};
  return child.wait();
}

TEST(RingMemory, IsLeftWhereItIsByAReaderShortOfMemoryAndTheLinkGoesOn) {
  const FileDescriptor shown = ring(F_SEAL_SHRINK | F_SEAL_GROW);
  const FileDescriptor wrong = ring(F_SEAL_SHRINK);
  Speaker owner(::geteuid());
  ASSERT_EQ(owner.read(), End::none);
  EXPECT_EQ(without_memory([&] {
              owner.say({.word = LinkWord::ring, .value = kCells}, {shown.get()});
              return owner.read() == End::none && owner.heard(LinkWord::ring_taken) == 0 &&
                     owner.keeper->link() != nullptr;
            }),
            0);
  EXPECT_EQ(without_memory([&] {
              for (int i = 0; i < 2; ++i) owner.say({.word = LinkWord::ring, .value = kCells}, {shown.get()});
              return owner.read() == End::protocol_broken;
            }),
            0)
      << "none is shown twice";
  EXPECT_EQ(without_memory([&] {
              owner.say({.word = LinkWord::ring, .value = kCells}, {wrong.get()});
              return owner.read() == End::protocol_broken;
            }),
            0)
      << "what is wrong with it is seen all the same";
}

TEST(RingMemory, AReaderShortOfMemoryForAPageDoesNotBlameItsOwner) {
  Speaker owner(::geteuid());
  EXPECT_EQ(without_memory([&] { return owner.read() == End::no_memory; }), 0);
}

#endif

// --- what its owner takes for an answer

// What a reader does with a ring before it says that it has taken it.
End answered_after(const std::function<void(const FileDescriptor&)>& deed, int answers = 1) {
  Speaker reader(::geteuid());
  EXPECT_EQ(reader.read(), End::none);
  EXPECT_TRUE(reader.keeper->offer_ring(kCells));
  LinkMessage message;
  do {
    base::Received got =
        base::receive_message(reader.socket.get(), std::as_writable_bytes(std::span(&message, 1)));
    if (got.state != base::SocketState::ok) return End::peer_gone;
    if (message.word == LinkWord::ring) deed(got.fds[0]);
  } while (message.word != LinkWord::ring);
  for (int i = 0; i < answers; ++i) reader.say({.word = LinkWord::ring_taken}, {});
  return reader.read();
}

void* map_writable(const FileDescriptor& memfd) {
  return ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd.get(), 0);
}

void seal(const FileDescriptor& memfd, int seals) { EXPECT_EQ(::fcntl(memfd.get(), F_ADD_SEALS, seals), 0); }

TEST(RingMemory, IsUsedOnlyWhenItsReaderHasSealedItWhole) {
  constexpr int kAll = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  EXPECT_EQ(answered_after([](const auto& memfd) { seal(memfd, kAll); }), End::none);
  EXPECT_EQ(answered_after([](const auto& memfd) {
              // As this library's reader does.
              EXPECT_EQ(shm::map_foreign_memory(memfd, kBytes, shm::Writers::both_ends).refusal, nullptr);
            }),
            End::none);
  EXPECT_EQ(answered_after([](const auto& memfd) { seal(memfd, kAll); }, 2), End::protocol_broken) << "twice";
  EXPECT_EQ(answered_after([](const auto&) {}), End::protocol_broken);
  EXPECT_EQ(answered_after([](const auto& memfd) { seal(memfd, F_SEAL_FUTURE_WRITE); }),
            End::protocol_broken);
  EXPECT_EQ(answered_after([](const auto& memfd) { seal(memfd, F_SEAL_SEAL); }), End::protocol_broken);
  EXPECT_EQ(answered_after([](const auto& memfd) {
              ::fallocate(memfd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 4096);
              seal(memfd, kAll);
            }),
            End::protocol_broken);
  EXPECT_EQ(answered_after([](const auto& memfd) {
              EXPECT_EQ(::madvise(map_writable(memfd), kBytes, MADV_REMOVE), 0);
              seal(memfd, kAll);
            }),
            End::protocol_broken);
}

// Everything that could take memory away from under the other side, once it is sealed. Bit i says that
// attempt i did not fail.
TEST(RingMemory, CannotBeTakenAwayOrPunchedOnceItIsSealed) {
  shm::OwnedMemory owned = shm::make_sealed_memory(kBytes, shm::Writers::both_ends);
  const shm::ForeignMemory read = shm::map_foreign_memory(owned.memfd, kBytes, shm::Writers::both_ends);
  ASSERT_EQ(read.refusal, nullptr);
  for (void* const mapping : {owned.mapping.data(), read.mapping.data()}) {
    EXPECT_NE(::madvise(mapping, kBytes, MADV_REMOVE), 0);
    EXPECT_NE(::madvise(mapping, 4096, MADV_REMOVE), 0);
  }
  const int fd = owned.memfd.get();
  EXPECT_NE(::ftruncate(fd, 0), 0);
  EXPECT_NE(::ftruncate(fd, 2 * kBytes), 0);
  EXPECT_NE(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_NE(::fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 4096), 0);
  EXPECT_NE(::pwrite(fd, "x", 1, 0), 1);
  EXPECT_NE(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_EQ(map_writable(owned.memfd), MAP_FAILED);
  EXPECT_TRUE(shm::sealed_by_reader(owned));
  EXPECT_EQ(::lseek(fd, 0, SEEK_HOLE), static_cast<off_t>(kBytes));
}

// --- what its reader may write there

// The reader of the victim's messages, who writes what it likes over what it reads.
class Scribe {
 public:
  Scribe(RogueLink& link, std::uint64_t seed) : link_(link), random_(seed) {
    in_.reset(link.theirs().cells, shm::kHomeCells, 1, shm::first_cell(link.theirs().header.interface));
  }

  // Takes what has come, without telling the victim, until it shows a longer ring.
  bool wait_for_ring() {
    LinkMessage message;
    const base::Received got =
        base::receive_message(link_.socket(), std::as_writable_bytes(std::span(&message, 1)));
    if (got.state != base::SocketState::ok || message.word != LinkWord::ring) return false;
    shm::ForeignMemory ring =
        shm::map_foreign_memory(got.fds[0], message.value * interface::kCell, shm::Writers::both_ends);
    if (ring.refusal != nullptr) return false;
    ring_ = std::move(ring.mapping);
    return link_.say(LinkWord::ring_taken, 0, -1);
  }

  // Reads so many packets and writes over each of the longer ring's. False: one was not what was sent.
  bool read(int packets) {
    interface::Words words;
    while (packets > 0) {
      if (!in_.look(words)) {
        if (link_.ended()) return false;
        link_.ring();
        continue;
      }
      const interface::Packet packet = interface::packet_of(words);
      if (packet.lead.operation == interface::Operation::continue_ring) {
        shm::continue_in(in_, static_cast<const interface::Packet*>(ring_.data()),
                         static_cast<std::uint32_t>(ring_.size() / interface::kCell));
        grown_ = true;
      } else {
        const std::uint32_t cells = interface::cells_of(packet.lead);
        if (packet.lead.operation != interface::Operation::write || cells >= in_.count()) return false;
        if (!sent_by_victim(in_.payload(packet.lead))) return false;
        const auto* cell = reinterpret_cast<const std::byte*>(in_.turn_at());
        in_.skip(cells);
        if (grown_) scribble(cell, cells);
        --packets;
      }
      base::RealMemory::store_release(link_.mine().credits.taken, in_.taken());
      link_.ring();
    }
    return grown_;
  }

  // All of it, as often as that.
  void scribble_everywhere(int times) {
    for (int i = 0; i < times; ++i)
      scribble(static_cast<const std::byte*>(ring_.data()),
               static_cast<std::uint32_t>(ring_.size() / interface::kCell));
  }

 private:
  static bool sent_by_victim(const interface::Payload& data) {
    return std::all_of(data.first, data.first + data.first_length,
                       [](std::byte byte) { return byte == std::byte{0x77}; });
  }

  // From a cell on, up to the end of the ring.
  void scribble(const std::byte* at, std::uint32_t cells) {
    auto* const words = static_cast<std::uint64_t*>(ring_.data());
    const auto first = static_cast<std::size_t>(at - static_cast<const std::byte*>(ring_.data())) / 8;
    const std::size_t all = ring_.size() / 8;
    for (std::size_t i = first; i < first + cells * 8 && i < all; ++i)
      base::RealMemory::store_relaxed(words[i], random_());
  }

  RogueLink& link_;
  std::mt19937_64 random_;
  shm::RingReader<> in_;
  shm::Mapping ring_;
  bool grown_ = false;
};

TEST_P(HostileRingMemory, AReaderThatWritesOverItHurtsNobodyElse) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    Scribe scribe(link, 1);
    line.put(self.id());
    if (!scribe.wait_for_ring()) return 1;
    if (!scribe.read(1000)) return 2;
    line.put('.');
    scribe.scribble_everywhere(100);
    return line.take<char>() ? 0 : 3;
  });
  const auto id = rogue.line().take<std::uint64_t>();
  ASSERT_TRUE(id);
  world.send_to(World::ticket_back(*id));
  EXPECT_TRUE(rogue.line().take<char>()) << "what was sent arrives, whatever was written before";
  world.expect_goes_on();
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  EXPECT_TRUE(eventually([&] { return world.counters().links == 1; }));
  EXPECT_GT(world.report().sent, 0u);
  world.expect_errors({});
  world.expect_clean();
}

}  // namespace
}  // namespace hamlyn::test
