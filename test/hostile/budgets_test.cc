// Budgets of what a process hands to others: descriptors that they have not read, memory that they go on
// holding. The budgets by themselves, and a link's keeper with them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <deque>
#include <vector>

#include "library/control/handed_out.h"
#include "test/hostile/speaker.h"
#include "test/support/actor.h"
#include "test/support/command.h"

namespace hamlyn::test {
namespace {

using base::FileDescriptor;
using library::FairShare;
using library::HandedOut;
using library::LeftBehind;
using library::LinkMessage;
using library::LinkWord;
using library::Unread;
using KeptEnd = library::LinkKeeper::End;

constexpr auto kLink = LeftBehind::Kind::link;
constexpr auto kArea = LeftBehind::Kind::area;
constexpr std::uint32_t kOne = 41001, kOther = 41002;

bool is_readable(int fd) {
  pollfd readable{fd, POLLIN, 0};
  return ::poll(&readable, 1, 0) == 1;
}

// --- shares

TEST(FairShare, IsNoMoreThanItLeavesToOthers) {
  FairShare share(32, 8);
  EXPECT_TRUE(share.fits(1, 8));
  EXPECT_FALSE(share.fits(1, 9));
  for (const std::uint32_t user : {1u, 2u, 3u}) share.add(user, 8);
  EXPECT_TRUE(share.fits(4, 4));
  EXPECT_FALSE(share.fits(4, 5)) << "half of what is left";
  share.give_back(1, 8);
  EXPECT_TRUE(share.fits(4, 8));
  EXPECT_EQ(share.sum(), 16u);
}

TEST(FairShare, OfSomebodyWhoHasTooMuchTakesNothingFromOthers) {
  FairShare share(32, 8);
  share.add(1, 1000);
  EXPECT_FALSE(share.fits(1, 1));
  EXPECT_TRUE(share.fits(2, 8));
  share.give_back(1, 1000);
  EXPECT_TRUE(share.fits(1, 8));
}

// --- descriptors

// Before who keeps sockets.
struct Budgets {
  base::Foreign foreign;
  library::AreaBudget areas;
  HandedOut handed;
};

struct Wire {
  base::ForeignSocket ours;
  FileDescriptor theirs;

  explicit Wire(base::Foreign& foreign, std::pair<FileDescriptor, FileDescriptor> ends = base::socket_pair())
      : ours(foreign, std::move(ends.first)), theirs(std::move(ends.second)) {}

  void send(HandedOut& handed, std::uint32_t uid, int times = 1) {
    const FileDescriptor memory(::memfd_create("handed", MFD_CLOEXEC));
    const int fd = memory.get();
    const std::byte byte{};
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(base::send_message(ours.get(), std::span(&byte, 1), std::span(&fd, 1), MSG_DONTWAIT),
                base::SocketState::ok);
      handed.sent(uid, ours.get(), 1);
    }
  }
  bool read() {
    std::byte byte{};
    return base::receive_message(theirs.get(), std::span(&byte, 1), MSG_DONTWAIT).state ==
           base::SocketState::ok;
  }
};

TEST(Unread, IsCountedUntilItIsRead) {
  Budgets budgets;
  HandedOut& handed = budgets.handed;
  Wire line(budgets.foreign);
  line.send(handed, kOne, Unread::kEach);
  EXPECT_FALSE(handed.room(kOne, 1));
  EXPECT_TRUE(handed.room(kOther, 1)) << "of each user of its own";
  std::byte byte{};
  ::recv(line.theirs.get(), &byte, 1, MSG_PEEK);
  EXPECT_FALSE(handed.room(kOne, 1)) << "a look reads nothing";
  while (line.read()) {
  }
  EXPECT_TRUE(handed.room(kOne, Unread::kEach));
  EXPECT_EQ(handed.unread().count(), 0u);
}

TEST(Unread, IsCountedWhenItsLinkHasEnded) {
  Budgets budgets;
  HandedOut& handed = budgets.handed;
  {
    Wire line(budgets.foreign);
    line.send(handed, kOne, 2);
    handed.end(std::move(line.ours));
    EXPECT_EQ(handed.unread().count(), 2u);
    EXPECT_TRUE(line.read() && line.read());
    std::byte byte{};
    EXPECT_EQ(::recv(line.theirs.get(), &byte, 1, MSG_DONTWAIT), 0) << "and then it hears of the end";
  }
  handed.settle();
  EXPECT_EQ(handed.unread().count(), 0u);
  Wire closed(budgets.foreign);
  closed.send(handed, kOne, 2);
  handed.end(std::move(closed.ours));
  closed.theirs.reset();
  handed.settle();
  EXPECT_EQ(handed.unread().count(), 0u) << "what nobody can read any more is nowhere";
}

TEST(Unread, TellsWhenSomethingWasRead) {
  Budgets budgets;
  HandedOut& handed = budgets.handed;
  handed.open();
  Wire line(budgets.foreign);
  line.send(handed, kOne);
  handed.settle();
  EXPECT_FALSE(is_readable(handed.descriptor()));
  ASSERT_TRUE(line.read());
  EXPECT_TRUE(is_readable(handed.descriptor()));
  handed.settle();
  EXPECT_FALSE(is_readable(handed.descriptor()));
  line.send(handed, kOne);
  handed.settle();
  line.theirs.reset();
  EXPECT_TRUE(is_readable(handed.descriptor()));
}

TEST(Unread, OfTheOwnUserAndOfRootIsNotCounted) {
  Budgets budgets;
  HandedOut& handed = budgets.handed;
  Wire line(budgets.foreign);
  line.send(handed, 0);
  line.send(handed, ::geteuid());
  EXPECT_EQ(handed.unread().count(), 0u);
  EXPECT_TRUE(handed.room(0, 1000) && handed.room(::geteuid(), 1000));
}

// --- memory

// Memory that is shown, as whoever was shown it may hold it.
struct Shown {
  LeftBehind::Piece piece = 0;
  FileDescriptor memfd;

  Shown(HandedOut& handed, std::uint32_t uid, LeftBehind::Kind kind = kLink, std::size_t bytes = 4096) {
    shm::OwnedMemory made = shm::make_sealed_memory(4096);
    memfd = std::move(made.memfd);
    handed.show(piece, uid, memfd.get(), bytes, kind);
  }
  FileDescriptor opened(int flags) const {
    const std::string path = "/proc/self/fd/" + std::to_string(memfd.get());
    return FileDescriptor(::open(path.c_str(), flags | O_CLOEXEC));
  }
};

TEST(LeftBehind, IsWhatSomebodyHoldsInWhateverWay) {
  HandedOut handed;
  handed.open();
  const auto holds = [&](const char* how, auto hold, auto let_go) {
    Shown shown(handed, kOne);
    auto held = hold(shown);
    shown.memfd.reset();
    handed.leave(shown.piece);
    handed.settle();
    EXPECT_EQ(handed.left().pieces(), 1u) << how;
    EXPECT_EQ(handed.left().bytes(), 4096u) << how;
    EXPECT_FALSE(is_readable(handed.descriptor())) << how;
    let_go(held);
    EXPECT_TRUE(is_readable(handed.descriptor())) << how;
    handed.settle();
    EXPECT_EQ(handed.left().pieces(), 0u) << how;
    EXPECT_EQ(handed.left().bytes(), 0u) << how;
  };
  const auto close = [](FileDescriptor& held) { held.reset(); };
  holds(
      "a descriptor", [](Shown& shown) { return shown.opened(O_RDONLY); }, close);
  holds(
      "a path", [](Shown& shown) { return shown.opened(O_PATH); }, close);
  const auto map = [](Shown& shown) {
    return ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, shown.memfd.get(), 0);
  };
  holds("a mapping", map, [](void* held) { ::munmap(held, 4096); });
  holds(
      "a mapping of a mapping",
      [&](Shown& shown) {
        void* const first = map(shown);
        void* const second = ::mremap(first, 0, 4096, MREMAP_MAYMOVE);
        ::munmap(first, 4096);
        return second;
      },
      [](void* held) { ::munmap(held, 4096); });
  holds(
      "a descriptor under way",
      [](Shown& shown) {
        auto ends = base::socket_pair();
        const std::byte byte{};
        const int fd = shown.memfd.get();
        base::send_message(ends.first.get(), std::span(&byte, 1), std::span(&fd, 1));
        return ends;
      },
      [](std::pair<FileDescriptor, FileDescriptor>& held) { held.second.reset(); });
}

TEST(LeftBehind, ByWhoLetsGoIsNothing) {
  HandedOut handed;
  for (std::uint64_t i = 0; i < 3 * LeftBehind::kEachPieces; ++i) {
    Shown shown(handed, kOne);
    shown.memfd.reset();
    handed.leave(shown.piece);
    ASSERT_TRUE(handed.allows(kOne, kLink)) << i;
  }
  handed.settle();
  EXPECT_EQ(handed.left().pieces(), 0u);
}

TEST(LeftBehind, IsBoundedInNumberAndInBytesForEachUser) {
  HandedOut handed;
  std::deque<Shown> held;
  const auto leave = [&](std::uint32_t uid, LeftBehind::Kind kind, std::size_t bytes = 4096) {
    held.emplace_back(handed, uid, kind, bytes);
    handed.leave(held.back().piece);
  };
  for (std::uint64_t i = 0; i < LeftBehind::kEachPieces; ++i) {
    EXPECT_TRUE(handed.allows(kOne, kLink));
    leave(kOne, kLink);
  }
  EXPECT_FALSE(handed.allows(kOne, kLink));
  EXPECT_TRUE(handed.allows(kOne, kArea)) << "of areas there is another bound";
  EXPECT_TRUE(handed.allows(kOther, kLink));
  constexpr std::size_t kSome = std::size_t{1} << 20;
  leave(kOther, kLink, LeftBehind::kEachBytes - kSome);
  EXPECT_TRUE(handed.allows(kOther, kLink));
  leave(kOther, kLink, kSome);
  EXPECT_FALSE(handed.allows(kOther, kLink));
  for (std::uint64_t i = 0; i < LeftBehind::kEachAreas; ++i) {
    EXPECT_TRUE(handed.allows(kOne, kArea));
    leave(kOne, kArea, std::size_t{1} << 30);
  }
  EXPECT_FALSE(handed.allows(kOne, kArea));
  held.clear();
  EXPECT_TRUE(handed.allows(kOne, kLink) && handed.allows(kOne, kArea) && handed.allows(kOther, kLink));
  EXPECT_EQ(handed.left().pieces(), 0u);
}

// Where nothing can be watched: a descriptor that is none has no path.
TEST(LeftBehind, CountsUntilTheProcessHasEndedWhereNothingCanBeWatched) {
  HandedOut handed;
  handed.open();
  Actor holder([](Line& line) { return line.take<char>() ? 0 : 1; });
  const FileDescriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, holder.pid(), 0)));
  LeftBehind::Piece piece = 0, area = 0;
  handed.show(piece, kOne, -1, 4096, kLink);
  handed.show(area, kOther, -1, 4096, kArea);
  handed.leave(piece, pidfd.get());
  handed.leave(area);
  handed.settle();
  EXPECT_EQ(handed.left().pieces(), 2u);
  EXPECT_FALSE(is_readable(handed.descriptor()));
  holder.line().put('.');
  EXPECT_EQ(holder.wait(), 0);
  EXPECT_TRUE(is_readable(handed.descriptor()));
  handed.settle();
  EXPECT_EQ(handed.left().pieces(), 1u) << "of the area nobody knows";
}

// --- a link's keeper

// A link with a process of another user, which asked for it, or was asked by a ticket that it gave away.
struct KeptLink {
  std::optional<library::LinkKeeper> keeper;
  FileDescriptor theirs;

  KeptLink(Budgets& budgets, bool asks) {
    auto [ours, others] = base::socket_pair();
    theirs = std::move(others);
    node::Event introduction;
    introduction.peer = Speaker::kPeer;
    introduction.peer_uid = kOne;
    introduction.initiator = asks;
    keeper.emplace(std::move(introduction), base::ForeignSocket(budgets.foreign, std::move(ours)), 1, 7, 8192,
                   budgets.areas, budgets.handed);
  }
};

// A ticket that was given away makes honest processes ask.
TEST(LinkKeeper, WhoAsksShowsNoMorePagesToAUserThanItReads) {
  Budgets budgets;
  HandedOut& handed = budgets.handed;
  std::deque<KeptLink> links;
  for (int i = 0; i < 40; ++i) {
    KeptLink& link = links.emplace_back(budgets, true);
    EXPECT_EQ(link.keeper->waits_to_show(), i >= static_cast<int>(Unread::kEach)) << i;
    link.keeper.reset();
  }
  EXPECT_EQ(handed.unread().count(), Unread::kEach);
  EXPECT_EQ(handed.left().pieces(), Unread::kEach) << "no others were made";
  links.clear();
  handed.settle();
  EXPECT_EQ(handed.unread().count(), 0u);
  EXPECT_EQ(handed.left().pieces(), 0u);
}

TEST(LinkKeeper, WhoIsAskedShowsItsPageWhenItHasTheAskers) {
  Speaker own(::geteuid()), other(kOne);
  EXPECT_EQ(own.heard(LinkWord::page), 1) << "of one user it does not matter";
  EXPECT_EQ(other.heard(LinkWord::page), 0);
  EXPECT_EQ(other.read(), KeptEnd::none);
  EXPECT_EQ(other.heard(LinkWord::page), 1);
  EXPECT_NE(other.keeper->link(), nullptr);
}

TEST(LinkKeeper, ShowsItsPageWhenThereIsRoomAgain) {
  Budgets budgets;
  HandedOut& handed = budgets.handed;
  Wire line(budgets.foreign);
  line.send(handed, kOne, Unread::kEach);
  Speaker peer(kOne, nullptr, &handed);
  EXPECT_EQ(peer.read(), KeptEnd::none);
  EXPECT_TRUE(peer.keeper->waits_to_show());
  EXPECT_EQ(peer.keeper->link(), nullptr) << "nothing is sent before";
  EXPECT_EQ(handed.left().pieces(), 0u);
  while (line.read()) {
  }
  EXPECT_EQ(peer.keeper->begin(peer), KeptEnd::none);
  EXPECT_FALSE(peer.keeper->waits_to_show());
  EXPECT_NE(peer.keeper->link(), nullptr);
  EXPECT_EQ(peer.heard(LinkWord::page), 1);
}

TEST(LinkKeeper, OffersNoRingToWhoReadsNothingOrHoldsTooMuch) {
  HandedOut handed;
  Speaker peer(kOne, nullptr, &handed);
  ASSERT_EQ(peer.read(), KeptEnd::none);
  EXPECT_TRUE(peer.keeper->may_offer_ring());
  Wire line(peer.foreign);
  line.send(handed, kOne, Unread::kEach - 1);
  EXPECT_FALSE(peer.keeper->may_offer_ring()) << "the page, and those";
  EXPECT_TRUE(peer.keeper->offers_later());
  EXPECT_EQ(peer.heard(LinkWord::page), 1);
  EXPECT_TRUE(peer.keeper->may_offer_ring());
  Shown shown(handed, kOne, kLink, LeftBehind::kEachBytes);
  handed.leave(shown.piece);
  EXPECT_FALSE(peer.keeper->may_offer_ring());
  shown.memfd.reset();
  EXPECT_TRUE(peer.keeper->may_offer_ring());
  EXPECT_FALSE(peer.keeper->offers_later());
}

TEST(LinkKeeper, LeavesNothingBehindWithWhoLetsGoOfPageAndRing) {
  HandedOut handed;
  Speaker peer(kOne, nullptr, &handed);
  ASSERT_EQ(peer.read(), KeptEnd::none);
  ASSERT_TRUE(peer.keeper->offer_ring(shm::kGrownCells[0]));
  LinkMessage message;
  const auto next = [&] {
    return base::receive_message(peer.socket.get(), std::as_writable_bytes(std::span(&message, 1)));
  };
  base::Received page = next(), ring = next();
  peer.keeper.reset();
  EXPECT_EQ(handed.left().pieces(), 2u);
  EXPECT_EQ(handed.left().bytes(), sizeof(shm::Page) + shm::kGrownCells[0] * interface::kCell);
  page.fds[0].reset();
  handed.settle();
  EXPECT_EQ(handed.left().pieces(), 1u);
  ring.fds[0].reset();
  handed.settle();
  EXPECT_EQ(handed.left().pieces(), 0u);
}

// --- one memory in two places

TEST(LinkKeeper, TakesAPageAsAnAreaTooAndNotAsARing) {
  Speaker peer(::geteuid());
  ASSERT_EQ(peer.read(), KeptEnd::none);
  const shm::OwnedMemory page = shm::ShmLink::prepare_page(Speaker::kPeer, 8192);
  peer.say({.word = LinkWord::area, .bytes = 4096, .number = 1, .generation = 1}, {page.memfd.get()});
  EXPECT_EQ(peer.read(), KeptEnd::none) << "its writer alone writes it, whatever it is called";
  const shm::OwnedMemory sealed = shm::make_sealed_memory(shm::kGrownCells[0] * interface::kCell);
  peer.say({.word = LinkWord::ring, .value = shm::kGrownCells[0]}, {sealed.memfd.get()});
  EXPECT_EQ(peer.read(), KeptEnd::protocol_broken);
}

// Two processes and a peer of both that gives the ring of the one to the other: what the owner writes is read
// by both, and nobody else writes there.
TEST(LinkKeeper, IsNotHurtByARingOfAThirdProcess) {
  Speaker owner(::geteuid()), other(::geteuid());
  ASSERT_EQ(owner.read(), KeptEnd::none);
  ASSERT_EQ(other.read(), KeptEnd::none);
  owner.heard(LinkWord::page);
  ASSERT_TRUE(owner.keeper->offer_ring(shm::kGrownCells[0]));
  LinkMessage offer;
  const base::Received ring =
      base::receive_message(owner.socket.get(), std::as_writable_bytes(std::span(&offer, 1)));
  other.say(offer, {ring.fds[0].get()});
  EXPECT_EQ(other.read(), KeptEnd::none);
  EXPECT_EQ(other.heard(LinkWord::ring_taken), 1) << "it has sealed it, as its reader";
  const int before = ::fcntl(ring.fds[0].get(), F_GET_SEALS);
  EXPECT_TRUE((before & F_SEAL_FUTURE_WRITE) != 0 && (before & F_SEAL_SEAL) != 0);
  owner.say({.word = LinkWord::ring_taken}, {});
  EXPECT_EQ(owner.read(), KeptEnd::none) << "nobody can take it away any more: it may as well be used";
  // Given on once more it is no ring: nobody can map it to be read as one.
  Speaker third(::geteuid());
  ASSERT_EQ(third.read(), KeptEnd::none);
  third.say(offer, {ring.fds[0].get()});
  EXPECT_EQ(third.read(), KeptEnd::protocol_broken);
}

}  // namespace
}  // namespace hamlyn::test
