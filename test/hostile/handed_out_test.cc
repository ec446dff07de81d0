// Strangers without a ticket make others pay: they read nothing of what they are shown, or never let go of
// it. It costs their user's own links and nobody else's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <vector>

#include "fabric/shm/shm_link.h"
#include "library/control/left_behind.h"
#include "library/control/unread.h"
#include "node/client/list.h"
#include "test/hostile/world.h"

namespace hamlyn::test {
namespace {

using base::FileDescriptor;
using library::LeftBehind;
using library::LinkMessage;
using library::LinkWord;
using library::Unread;

constexpr int kThirdUser = 41003;

// The rogue is of another user: within one there is nothing to be had.
struct HostileHandedOut : testing::Test {
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: another user can only be tried as root";
  }
  static World::Options options() { return {.other_user = true}; }
};

// Whether a process of that user can pass a descriptor. The kernel counts those of all its processes that are
// under way, and holds them against the limit of whoever sends one.
bool can_pass_a_descriptor(int user) {
  Actor sender(
      [](Line&) {
        const auto [here, there] = base::socket_pair();
        const rlimit few{24, 24};
        if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
        const std::byte byte{};
        const int fd = here.get();
        const auto sent =
            base::send_message(here.get(), std::span(&byte, 1), std::span(&fd, 1), MSG_DONTWAIT);
        return sent == base::SocketState::ok ? 0 : 2;
      },
      user);
  return sender.wait() == 0;
}

bool can_connect(const World& world, int user) {
  Actor other(
      [&](Line&) {
        Rogue(world.node()).connect(world.victim());
        return 0;
      },
      user);
  return other.wait() == 0;
}

// Ends by saying nonsense behind its page, and reads nothing. The socket stays open.
std::optional<RogueLink> break_off(Rogue& self, std::uint64_t victim) {
  auto link = self.introduce(victim);
  if (!link) return link;
  const shm::OwnedMemory page = shm::ShmLink::prepare_page(self.id(), 8192);
  link->say(LinkWord::page, 0, page.memfd.get());
  link->say(LinkMessage{.magic = 0}, {});
  if (!link->wait_for_end()) return std::nullopt;
  self.end(*link);
  return link;
}

TEST_F(HostileHandedOut, PagesThatNobodyReadsAreFew) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    std::deque<RogueLink> unread;
    while (unread.size() < 100) {
      auto link = break_off(self, world.victim());
      if (!link) return 1;
      unread.push_back(std::move(*link));
    }
    line.put('.');
    if (!line.take<char>()) return 2;
    unread.clear();
    line.put('.');
    self.connect(world.victim());
    return 0;
  });
  ASSERT_TRUE(rogue.line().take<char>());
  EXPECT_TRUE(eventually([&] { return world.counters().unread == Unread::kEach; }))
      << world.counters().unread;
  EXPECT_EQ(world.counters().left_pieces, Unread::kEach) << "and no more pages were made than those";
  EXPECT_TRUE(can_pass_a_descriptor(world.victim_user()));
  EXPECT_TRUE(can_connect(world, kThirdUser));
  world.expect_goes_on();
  rogue.line().put('.');
  ASSERT_TRUE(rogue.line().take<char>());
  EXPECT_EQ(rogue.wait(), 0) << "what it has closed counts no more";
  EXPECT_TRUE(eventually([&] { return world.counters().unread == 0 && world.counters().left_pieces == 0; }));
  world.expect_clean();
}

TEST_F(HostileHandedOut, MemoryThatIsNeverLetGoOfIsBounded) {
  World world(options());
  struct Held {
    std::uint64_t links = 0, bytes = 0;
  };
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    // Somebody honest of the same user.
    for (std::uint64_t i = 0; i < LeftBehind::kEachPieces + 4; ++i) {
      RogueLink link = self.connect(world.victim());
      self.end(link);
    }
    std::deque<RogueLink> mapped;
    std::deque<FileDescriptor> paths;
    Held held;
    while (held.links < 2 * LeftBehind::kEachPieces) {
      auto link = self.introduce(world.victim());
      if (!link) return 1;
      const bool made = link->exchange(self.id());
      self.end(*link);
      if (!made) break;
      struct stat file {};
      if (::fstat(link->their_memfd(), &file) != 0) return 2;
      ++held.links;
      held.bytes += static_cast<std::uint64_t>(file.st_size);
      if (held.links % 2 == 0) {
        const std::string path = "/proc/self/fd/" + std::to_string(link->their_memfd());
        paths.emplace_back(::open(path.c_str(), O_PATH | O_CLOEXEC));
      } else {
        link->hang_up();
        mapped.push_back(std::move(*link));
      }
    }
    line.put(held);
    if (!line.take<char>()) return 3;
    mapped.clear();
    paths.clear();
    self.connect(world.victim());
    return 0;
  });
  const auto held = rogue.line().take<Held>();
  ASSERT_TRUE(held);
  EXPECT_EQ(held->links, LeftBehind::kEachPieces);
  EXPECT_EQ(held->bytes, LeftBehind::kEachPieces * sizeof(shm::Page));
  EXPECT_EQ(world.counters().left_pieces, LeftBehind::kEachPieces);
  EXPECT_EQ(world.counters().left_bytes, held->bytes);
  EXPECT_EQ(world.counters().links_held_up, 1u);
  EXPECT_TRUE(eventually([&] { return no_links(world, LinkReason::memory_left_behind) == 1; }));
  EXPECT_TRUE(can_connect(world, kThirdUser));
  world.expect_goes_on();
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0) << "who has let go is served again";
  EXPECT_TRUE(eventually([&] { return world.counters().left_pieces == 0; }));
  world.expect_clean();
}

// --- mapped slots

// A process of the victim's user that shows a slot to everybody, and revokes it when it is told to.
struct Owner {
  Actor actor;
  Ticket ticket;

  explicit Owner(const World& world)
      : actor(
            [&](Line& line) {
              Interface interface({.node = world.node(), .start_node = false});
              MessageArea area(interface, 4096, Sharing::mapped_read_only);
              NotificationQueue queue(interface);
              Slot slot(area, queue, {.entries = 1});
              line.put(slot.ticket(0));
              while (line.take<char>()) {
                area.revoke();
                line.put('.');
              }
              return 0;
            },
            world.victim_user()),
        ticket(actor.line().take<Ticket>().value_or(Ticket{})) {}
  // For two more of the rogue's.
  bool has_no_room(const World& world) const {
    const std::uint64_t unread = counters(world).unread;
    return unread == Unread::kEach || unread + 1 == Unread::kEach;
  }
  bool revoke() { return actor.line().put('.') && actor.line().take<char>(); }
  interface::CounterPage counters(const World& world) const {
    interface::CounterPage page {};
    for (const node::AttachedProcess& process : node::list(at(world.node())).attached) {
      if (process.interface != ticket.interface) continue;
      EXPECT_GT(::pread(process.counters.get(), &page, sizeof page, 0), 0);
    }
    return page;
  }
};

void ask(const RogueLink& link, const Ticket& ticket, std::uint64_t number) {
  link.say({.word = LinkWord::import,
            .value = number,
            .slot = ticket.slot,
            .slot_generation = ticket.generation,
            .key = ticket.key},
           {});
}

bool all_was_read(const RogueLink& link) {
  int bytes = 0;
  return ::ioctl(link.socket(), SIOCOUTQ, &bytes) == 0 && bytes == 0;
}

TEST_F(HostileHandedOut, MappingsThatNobodyReadsAreFew) {
  constexpr std::uint64_t kAsked = 60;
  World world(options());
  Owner owner(world);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(owner.ticket.interface);
    for (std::uint64_t i = 0; i < kAsked; ++i) ask(link, owner.ticket, i);
    line.put('.');
    if (!line.take<char>()) return 1;
    for (std::uint64_t i = 0; i < kAsked; ++i) {
      const auto answer = link.hear();
      if (!answer || answer->word != LinkWord::imported || answer->value != i) return 2;
    }
    return 0;
  });
  ASSERT_TRUE(rogue.line().take<char>());
  EXPECT_TRUE(eventually([&] { return owner.has_no_room(world); }));
  EXPECT_TRUE(can_pass_a_descriptor(world.victim_user()));
  Actor honest(
      [&](Line&) {
        Interface interface({.node = world.node(), .start_node = false});
        MappedSlot mapped(interface, owner.ticket, kPatience);
        return mapped.current() ? 0 : 1;
      },
      kThirdUser);
  EXPECT_EQ(honest.wait(), 0);
  EXPECT_TRUE(eventually([&] { return owner.has_no_room(world); }));
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0) << "and all of them are answered in the end, in order";
  EXPECT_TRUE(eventually([&] { return owner.counters(world).unread == 0; }));
}

// An asker hangs up while its answer waits for what another process of its user does not read.
TEST_F(HostileHandedOut, AnAskerThatGoesIsNotWaitedFor) {
  World world(options());
  Owner owner(world);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    Rogue other(world.node());
    RogueLink deaf = self.connect(owner.ticket.interface), link = other.connect(owner.ticket.interface);
    for (std::uint64_t i = 0; i < 20; ++i) ask(deaf, owner.ticket, i);
    line.put('.');
    if (!line.take<char>()) return 1;
    ask(link, owner.ticket, 0);
    if (!eventually([&] { return all_was_read(link); })) return 2;
    link.hang_up();
    line.put('.');
    return line.take<char>() ? 0 : 3;
  });
  ASSERT_TRUE(rogue.line().take<char>());
  EXPECT_TRUE(eventually([&] { return owner.has_no_room(world); }));
  EXPECT_EQ(owner.counters(world).links, 2u);
  rogue.line().put('.');
  ASSERT_TRUE(rogue.line().take<char>());
  EXPECT_TRUE(eventually([&] { return owner.counters(world).links == 1; }));
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  EXPECT_TRUE(eventually([&] {
    const interface::CounterPage page = owner.counters(world);
    return page.unread == 0 && page.links == 0;
  }));
}

TEST_F(HostileHandedOut, RevokedMemoryThatIsHeldIsBoundedInNumber) {
  World world(options());
  Owner owner(world);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(owner.ticket.interface);
    std::deque<base::Received> held;
    for (std::uint64_t i = 0;; ++i) {
      ask(link, owner.ticket, i);
      LinkMessage answer;
      held.push_back(base::receive_message(link.socket(), std::as_writable_bytes(std::span(&answer, 1))));
      line.put(answer.word);
      if (!line.take<char>()) return 0;
      if (answer.word == LinkWord::import_refused) held.clear();
    }
  });
  std::uint64_t mapped = 0;
  while (rogue.line().take<LinkWord>() == LinkWord::imported && mapped < 2 * LeftBehind::kEachAreas) {
    ++mapped;
    ASSERT_TRUE(owner.revoke());
    rogue.line().put('.');
  }
  EXPECT_EQ(mapped, LeftBehind::kEachAreas);
  EXPECT_EQ(owner.counters(world).left_pieces, LeftBehind::kEachAreas);
  rogue.line().put('.');  // it lets go, and asks again
  EXPECT_EQ(rogue.line().take<LinkWord>(), LinkWord::imported);
}

// --- send buffer areas

// Sends a little out of a fresh area each time that it is told to.
int send_out_of_areas(Line& line, const World& world) {
  Interface interface({.node = world.node(), .start_node = false});
  MessageArea memory(interface, 4096);
  NotificationQueue queue(interface);
  Slot slot(memory, queue, {.entries = 1});
  line.put(slot.ticket(0));
  const auto rogue = line.take<std::uint64_t>();
  if (!rogue) return 1;
  Terminus terminus(interface);
  std::optional<SendBufferArea> area;
  while (line.take<char>()) {
    area.reset();
    area.emplace(interface, 4096);
    if (terminus.bind(1, *area) != Status::ok) return 2;
    const Piece piece{1, 0, 4096};
    const Status status = terminus.send_gathered(World::ticket_back(*rogue), {&piece, 1});
    if (status != Status::pending && status != Status::ok) return 3;
    line.put('.');
  }
  return 0;
}

// Two answers later whatever was to be shown has been.
bool is_shown_an_area(const RogueLink& link, const Ticket& ticket, std::deque<FileDescriptor>& held) {
  bool shown = false;
  for (std::uint64_t i = 0; i < 2; ++i) {
    ask(link, ticket, i);
    for (LinkMessage said; said.word != LinkWord::import_refused;) {
      base::Received got = base::receive_message(link.socket(), std::as_writable_bytes(std::span(&said, 1)));
      if (got.state != base::SocketState::ok) throw std::runtime_error("the link has ended");
      if (said.word != LinkWord::area) continue;
      shown = true;
      held.push_back(std::move(got.fds[0]));
    }
  }
  return shown;
}

TEST_F(HostileHandedOut, AreasAreShownNoMoreToWhoHoldsThoseThatHaveGone) {
  World world(options());
  Actor sender([&](Line& line) { return send_out_of_areas(line, world); }, world.victim_user());
  const auto ticket = sender.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(ticket->interface);
    line.put(self.id());
    std::deque<FileDescriptor> held;
    while (line.take<char>()) {
      const bool shown = is_shown_an_area(link, *ticket, held);
      line.put(shown);
      if (shown) continue;
      held.clear();
      line.put(eventually([&] { return is_shown_an_area(link, *ticket, held); }));
    }
    return 0;
  });
  sender.line().put(rogue.line().take<std::uint64_t>().value_or(0));
  const auto shown = [&] {
    sender.line().put('.');
    if (!sender.line().take<char>()) throw std::runtime_error("nothing is sent");
    rogue.line().put('.');
    return rogue.line().take<bool>().value_or(false);
  };
  // The last one is still there, and counts only when it has gone.
  for (std::uint64_t i = 0; i <= LeftBehind::kEachAreas; ++i) {
    ASSERT_EQ(shown(), i < LeftBehind::kEachAreas) << i;
  }
  EXPECT_EQ(rogue.line().take<bool>(), true) << "once it has let go of them";
}

}  // namespace
}  // namespace hamlyn::test
