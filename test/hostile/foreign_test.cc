// Descriptors that hold up whoever closes them, unread queues, and more of them than anybody may have under
// way: neither the daemon nor a process waits for a rogue.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "base/socket.h"
#include "library/control/link_keeper.h"
#include "node/client/address.h"
#include "node/client/list.h"
#include "test/hostile/speaker.h"
#include "test/hostile/world.h"

namespace hamlyn::test {
namespace {

HAMLYN_HOSTILE(Foreign)

using base::FileDescriptor;
using library::LinkMessage;
using library::LinkWord;

// A TCP socket that is full and whose last close waits, for a day, until somebody reads the other end.
struct Lingering {
  FileDescriptor socket, other;

  Lingering() {
    const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    socket.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(listener.get(), place, size) != 0 || ::listen(listener.get(), 1) != 0 ||
        ::getsockname(listener.get(), place, &size) != 0 || ::connect(socket.get(), place, size) != 0)
      throw std::runtime_error("no TCP connection");
    other.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::vector<char> bytes(65536);
    while (::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
    const linger day{1, 86400};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &day, sizeof day);
  }
};

// Sends a descriptor that is then nowhere else. A child does it and ends: the victim may have closed it
// before the rogue could, who would then wait for itself.
void send_away(int to, std::span<const std::byte> bytes, FileDescriptor fd, std::size_t times = 1) {
  int gate[2];
  if (::pipe(gate) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(gate[1]);
    char end = 0;
    while (::read(gate[0], &end, 1) < 0) {
    }
    const std::vector<int> fds(times, fd.get());
    base::send_message(to, bytes, fds, MSG_DONTWAIT);
    ::_exit(0);
  }
  ::close(gate[0]);
  fd.reset();
  ::close(gate[1]);
  ::waitpid(child, nullptr, 0);
}

void send_lingering(int to, std::span<const std::byte> bytes, std::vector<FileDescriptor>& keep,
                    std::size_t times = 1) {
  Lingering one;
  send_away(to, bytes, std::move(one.socket), times);
  keep.push_back(std::move(one.other));
}

// The same in the queue of a Unix socket.
void send_nested(int to, std::span<const std::byte> bytes, std::vector<FileDescriptor>& keep) {
  auto [outer, inner] = base::socket_pair();
  send_lingering(outer.get(), bytes, keep);
  send_away(to, bytes, std::move(inner));
}

// A message of no bytes, which is not the end, though it looks like it.
void send_empty(int to) { ::send(to, nullptr, 0, MSG_DONTWAIT | MSG_NOSIGNAL); }

template <class Message>
auto bytes_of(const Message& message) {
  return std::as_bytes(std::span(&message, 1));
}

TEST_P(HostileForeign, HoldsUpNoDaemon) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue&) {
    std::vector<FileDescriptor> keep;
    const node::Hello hello;
    const node::Request nonsense;
    for (int style = 0; style < 8; ++style) {
      FileDescriptor node = node::connect_to(world.node());
      const int to = node.get();
      if (style >= 4) base::send_message(to, bytes_of(hello), {}, MSG_DONTWAIT);
      switch (style) {
        case 0:
          send_lingering(to, bytes_of(hello), keep);
          break;
        case 1:
          send_lingering(to, bytes_of(hello), keep, base::kMaxDescriptors);
          break;
        case 2:
          send_nested(to, bytes_of(hello), keep);
          break;
        case 3:  // behind what is malformed already
          base::send_message(to, bytes_of(nonsense), {}, MSG_DONTWAIT);
          send_lingering(to, bytes_of(hello), keep);
          break;
        case 4:
          send_lingering(to, bytes_of(nonsense), keep);
          break;
        case 5:
          send_empty(to);
          send_lingering(to, bytes_of(nonsense), keep);
          break;
        case 6:
          base::send_message(to, bytes_of(nonsense), {}, MSG_DONTWAIT);
          send_nested(to, bytes_of(nonsense), keep);
          node.reset();
          break;
        default:
          send_lingering(to, bytes_of(nonsense), keep);
          ::shutdown(to, SHUT_RDWR);
          break;
      }
      if (node) keep.push_back(std::move(node));
    }
    line.put('.');
    return line.take<char>() ? 0 : 1;
  });
  ASSERT_TRUE(rogue.line().take<char>());
  node::ClientOptions asking = at(world.node());
  EXPECT_TRUE(eventually([&] { return node::list(asking).attached.size() == 3; }))
      << "the daemon serves others, and has dropped it";
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

TEST_P(HostileForeign, HoldsUpNoPeer) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    std::vector<FileDescriptor> keep;
    std::vector<RogueLink> links;
    LinkMessage page;
    page.word = LinkWord::page;
    LinkMessage area;
    area.word = LinkWord::area;
    area.bytes = 4096;
    for (int style = 0; style < 6; ++style) {
      std::optional<RogueLink> link;
      if (style >= 3) {
        link = self.connect(world.victim());
      } else if (!eventually([&] { return (link = self.introduce(world.victim())).has_value(); })) {
        return 1;
      }
      const int to = link->socket();
      switch (style) {
        case 0:
          send_lingering(to, bytes_of(page), keep);
          break;
        case 1:
          send_nested(to, bytes_of(page), keep);
          break;
        case 2:  // and nothing that the victim reads first: it ends the link when the time for a page is over
          send_empty(to);
          send_lingering(to, bytes_of(page), keep);
          break;
        case 3:
          send_lingering(to, bytes_of(area), keep);
          break;
        case 4:
          base::send_message(to, bytes_of(page).first(7), {}, MSG_DONTWAIT);
          send_lingering(to, bytes_of(area), keep, base::kMaxDescriptors);
          break;
        default:  // unread when it is asked to end
          send_lingering(to, bytes_of(page).first(7), keep);
          send_nested(to, bytes_of(page), keep);
          link->hang_up();
          break;
      }
      if (style < 5 && !link->wait_for_end()) return 2 + style;
      self.end(*link);
      links.push_back(std::move(*link));
    }
    line.put('.');
    return line.take<char>() ? 0 : 9;
  });
  ASSERT_TRUE(rogue.line().take<char>()) << "the victim waits: " << rogue.wait();
  world.expect_goes_on();
  Actor other = world.rogue([&](Line&, Rogue& self) {
    self.connect(world.victim());
    return 0;
  });
  EXPECT_EQ(other.wait(), 0) << "the victim makes links with others";
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

// Whoever lets introductions lie, and says at once that their links have ended, has used up nothing that
// others need: the daemon has a bound of descriptors under way.
TEST(HostileIntroductions, ThatNobodyReadsStopNobodyElses) {
  // Root's daemon has no bound. A user of its own: the kernel counts by user.
  const int user = ::geteuid() == 0 ? 41003 : -1;
  Child stage{user, [] {
                const rlimit few{256, 256};
                if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
                const Folder folder;
                const Daemon daemon{folder.file("s")};
                std::vector<node::Client> crowd;
                for (int i = 0; i < 16; ++i) crowd.push_back(node::Client::attach(at(folder.file("s"))));
                std::uint64_t link = crowd.back().interface_id();
                for (std::uint64_t round = 1; round <= 4; ++round) {
                  for (std::size_t i = 0; i < crowd.size(); ++i) {
                    for (std::size_t j = i + 1; j < crowd.size(); ++j) {
                      ++link;  // the daemon counts on
                      crowd[i].introduce(round * 1000 + j, crowd[j].interface_id());
                      crowd[i].link_ended(link);
                      crowd[j].link_ended(link);
                    }
                  }
                }
                node::Client one = node::Client::attach(at(folder.file("s")));
                node::Client two = node::Client::attach(at(folder.file("s")));
                if (!one.introduce(1, two.interface_id())) return 2;
                if (next_event(one).kind != node::Event::Kind::introduced) return 3;
                if (next_event(two).kind != node::Event::Kind::introduced) return 4;
                return 0;
              }};
  EXPECT_EQ(stage.wait(), 0);
}

// A peer that reads late is told of the end of an area before the next one of its number, whatever had no
// room.
TEST(LinkKeeper, NeverShowsTwoAreasOfOneNumber) {
  base::Foreign foreign;
  const shm::OwnedMemory memory = shm::make_sealed_memory(4096);
  for (int earlier = 0; earlier < 2; ++earlier) {
    auto [ours, theirs] = base::socket_pair();
    library::AreaBudget budget;
    library::HandedOut handed_out;
    library::LinkKeeper keeper({}, base::ForeignSocket(foreign, std::move(ours)), 1, 7, 8192, budget,
                               handed_out);
    // What fits first decides whether a showing or a withdrawal is the first that does not.
    if (earlier != 0) keeper.answer_import({.word = LinkWord::import_refused}, {});
    std::uint16_t shown = 0;
    int withdrawn = 0;
    for (std::uint16_t generation = 1; generation <= 4000; ++generation) {
      interface::SendArea area {};
      area.generation = generation;
      area.size = 4096;
      keeper.show_area(0, area, memory.memfd.get());
      keeper.withdraw_area(0);
      if (generation % 1000 != 0) continue;
      LinkMessage message;
      while (base::receive_message(theirs.get(), std::as_writable_bytes(std::span(&message, 1)), MSG_DONTWAIT)
                 .state == base::SocketState::ok) {
        if (message.word == LinkWord::area) {
          ASSERT_EQ(shown, 0u);
          shown = message.generation;
        } else if (message.word == LinkWord::area_withdrawn) {
          ASSERT_EQ(message.generation, std::exchange(shown, std::uint16_t{0}));
          ++withdrawn;
        }
      }
    }
    EXPECT_GT(withdrawn, 100);
  }
}

LinkMessage area_of(std::uint16_t number, LinkWord word = LinkWord::area) {
  return {.word = word, .bytes = 4096, .number = number, .generation = 1};
}

TEST(LinkKeeper, WhatThisProcessHasNoDescriptorForIsNoFaultOfThePeers) {
  Speaker peer(::geteuid());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const library::LinkKeeper::End end = peer.read();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(end, library::LinkKeeper::End::no_memory);
  EXPECT_EQ(peer.keeper->why().reason, LinkReason::no_descriptors);
}

// Others want their turn: what a peer shows may be long, and it takes time to map it.
TEST(LinkKeeper, MapsOneAreaAtATurn) {
  const shm::OwnedMemory memory = shm::make_sealed_memory(4096);
  Speaker peer(::geteuid());
  for (std::uint16_t number = 0; number < 3; ++number) peer.say(area_of(number), {memory.memfd.get()});
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
    EXPECT_EQ(peer.heard(LinkWord::area_taken), 1);
  }
}

TEST(LinkKeeper, ForgetsTheAreaThatIsMeantAndNoOther) {
  const shm::OwnedMemory memory = shm::make_sealed_memory(4096);
  Speaker peer(::geteuid());
  peer.say(area_of(0), {memory.memfd.get()});
  LinkMessage other = area_of(0, LinkWord::area_withdrawn);
  ++other.generation;
  peer.say(other, {});
  ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
  ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
  EXPECT_NE((*peer.keeper->link()->shown)[0].data, nullptr);
}

// What is said without end is heard a little at a time.
TEST(LinkKeeper, TakesAFewWordsAtATurn) {
  Speaker peer(::geteuid());
  ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
  for (std::uint64_t i = 0; i < 40; ++i) peer.say({.word = LinkWord::import, .value = i}, {});
  for (const std::size_t taken : {16u, 16u, 8u}) {
    ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
    EXPECT_EQ(peer.keeper->take_import_requests().size(), taken);
  }
}

TEST(LinkKeeper, TakesNoMappingTwiceNorOneThatItHasNotAskedFor) {
  const shm::OwnedMemory memory = shm::make_sealed_memory(4096);
  const shm::OwnedMemory page = shm::make_sealed_memory(sizeof(shm::Page));
  Speaker peer(::geteuid());
  ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
  library::MappingRequest import;
  import.answer.number = 5;
  ASSERT_TRUE(peer.keeper->ask_import(import));
  for (const std::size_t good : {1u, 0u}) {
    peer.say({.word = LinkWord::imported, .value = 5, .bytes = 4096, .bound = 4096},
             {memory.memfd.get(), page.memfd.get()});
    EXPECT_EQ(peer.read(),
              good != 0 ? library::LinkKeeper::End::none : library::LinkKeeper::End::protocol_broken);
    EXPECT_EQ(peer.keeper->take_import_answers().size(), good);
  }
}

// Each of many links may be shown as much as one is, of the same memory.
TEST(LinkKeeper, MapsNoMoreOfAllPeersThanThereIsAndOfAUserNoMoreThanItLeaves) {
  const shm::OwnedMemory memory = shm::make_sealed_memory(4096);
  const std::uint32_t user = ::geteuid();
  const auto shows = [&](Speaker& peer, std::uint16_t number) {
    peer.say(area_of(number), {memory.memfd.get()});
    EXPECT_EQ(peer.read(), library::LinkKeeper::End::none);
    return peer.heard(LinkWord::area_taken) == 1;
  };
  for (library::AreaBudget budget :
       {library::AreaBudget(8, 1 << 20), library::AreaBudget(1000, 8 * 4096 + 4095)}) {
    Speaker first(user, &budget), second(user, &budget), other(user + 1, &budget);
    for (std::uint16_t number = 0; number < 2; ++number)
      EXPECT_TRUE(shows(first, number) && shows(second, number));
    EXPECT_FALSE(shows(first, 2)) << "half of it";
    first.say(area_of(0, LinkWord::area_withdrawn), {});
    EXPECT_TRUE(shows(first, 3)) << "what was withdrawn counts no more";
    EXPECT_TRUE(shows(other, 0) && shows(other, 1));
    EXPECT_FALSE(shows(other, 2)) << "half of the other half";
    second.keeper.reset();
    EXPECT_TRUE(shows(other, 3)) << "nor does what a link had that has gone";
    EXPECT_FALSE(shows(first, 4)) << "two of its own, and three of others";
  }
}

// settle() is called under the run lock.
TEST(LinkKeeper, UnmapsWhatIsForgottenWhenItIsToldTo) {
  const shm::OwnedMemory memory = shm::make_sealed_memory(4096);
  Speaker peer(::geteuid());
  peer.say(area_of(0), {memory.memfd.get()});
  ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
  void* const at = const_cast<std::byte*>((*peer.keeper->link()->shown)[0].data);
  ASSERT_NE(at, nullptr);
  peer.say(area_of(0, LinkWord::area_withdrawn), {});
  ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
  EXPECT_EQ((*peer.keeper->link()->shown)[0].data, nullptr);
  unsigned char there = 0;
  EXPECT_EQ(::mincore(at, 4096, &there), 0);
  peer.keeper->unmap_forgotten();
  EXPECT_NE(::mincore(at, 4096, &there), 0);
}

// Whoever gives back the last of it frees it, which takes 180 ms for each GiB.
TEST(LinkKeeper, LeavesWhatIsLargeToAnotherThread) {
  constexpr std::uint64_t kBytes = base::Disposal::kSmall + 4096;
  Speaker peer(::geteuid());
  const auto area = [](std::uint16_t number, LinkWord word, std::uint64_t bytes) {
    return LinkMessage{.word = word, .bytes = bytes, .number = number, .generation = 1};
  };
  const auto handed = [&] { return peer.foreign.disposal().handed(); };
  for (std::uint16_t number = 0; number < 2; ++number) {
    const shm::OwnedMemory memory = shm::make_sealed_memory(kBytes);
    peer.say(area(number, LinkWord::area, kBytes), {memory.memfd.get()});
    ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
  }
  EXPECT_EQ(peer.heard(LinkWord::area_taken), 2);
  EXPECT_EQ(handed(), 2u) << "the descriptors";
  peer.say(area(0, LinkWord::area_withdrawn, kBytes), {});
  ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
  peer.keeper->unmap_forgotten();
  EXPECT_EQ(handed(), 3u) << "the mapping that is withdrawn";
  const shm::OwnedMemory memory = shm::make_sealed_memory(kBytes);
  peer.say(area(2, LinkWord::area, kBytes - 4096), {memory.memfd.get()});
  EXPECT_EQ(peer.read(), library::LinkKeeper::End::protocol_broken) << "larger than it says";
  peer.keeper.reset();
  EXPECT_EQ(handed(), 4u) << "the mapping that the link had";
}

// A ring of 2 GiB stays where it is, and goes with the socket.
TEST(LinkKeeper, TakesNoMemoryThatIsLargerThanItsWordMayHave) {
  const base::FileDescriptor large{::memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  ASSERT_EQ(::ftruncate(large.get(), off_t{2} << 30), 0);
  ASSERT_EQ(::fcntl(large.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  for (const LinkWord word : {LinkWord::page, LinkWord::ring, LinkWord::area}) {
    Speaker peer(::geteuid());
    ASSERT_EQ(peer.read(), library::LinkKeeper::End::none) << "its page";
    LinkMessage message = area_of(0, word);
    message.value = shm::kGrownCells[0];
    peer.say(message, {large.get()});
    EXPECT_EQ(peer.read(), library::LinkKeeper::End::protocol_broken);
    std::byte byte{};
    EXPECT_EQ(::recv(peer.keeper->socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT), 1);
    peer.keeper.reset();
    EXPECT_EQ(peer.foreign.pending_closes(), 1u) << "closed by a thread that ends";
    EXPECT_EQ(peer.foreign.disposal().handed(), 0u);
  }
}

// Its owner can punch holes into memory that everybody may write: nobody maps that of another user.
TEST(LinkKeeper, MapsMemoryThatAllMayWriteOfItsOwnUserAlone) {
  const shm::OwnedMemory memory = shm::make_sealed_memory(4096, shm::Writers::everybody);
  const shm::OwnedMemory page = shm::make_sealed_memory(sizeof(shm::Page));
  for (const bool own : {true, false}) {
    Speaker peer(own ? ::geteuid() : ::geteuid() + 1);
    ASSERT_EQ(peer.read(), library::LinkKeeper::End::none);
    library::MappingRequest import;
    import.answer.number = 5;
    ASSERT_TRUE(peer.keeper->ask_import(import));
    peer.say({.word = LinkWord::imported, .value = 5, .bytes = 4096, .kind = 1, .bound = 4096},
             {memory.memfd.get(), page.memfd.get()});
    using End = library::LinkKeeper::End;
    EXPECT_EQ(peer.read(), own ? End::none : End::protocol_broken);
    EXPECT_EQ(peer.keeper->take_import_answers().size(), own ? 1u : 0u);
  }
}

// A process whose descriptors run out refuses links; it does not lose its daemon, and with it its names.
TEST_P(HostileForeign, TakesNoNameByUsingUpDescriptors) {
  World world(options());
  constexpr std::size_t kLinks = 16;  // half of 64 descriptors for the rest
  Actor owner(
      [&](Line& line) {
        const rlimit few{64, 64};
        if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
        Interface interface({.node = world.node(), .start_node = false});
        MessageArea area(interface, 4096);
        NotificationQueue queue(interface, 16);
        Slot slot(area, queue, {});
        const Ticket made = slot.ticket();
        interface.publish("toy", made, {.everyone = true});
        line.put(made);
        line.take<char>();
        // Others may lower it further; what comes then is refused, one by one.
        const rlimit fewer{32, 64};
        if (::setrlimit(RLIMIT_NOFILE, &fewer) != 0) return 2;
        line.put('.');
        return line.take<char>() ? 0 : 3;
      },
      world.victim_user());
  const auto ticket = owner.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  Actor rogue = world.rogue([&](Line& line, Rogue&) {
    std::vector<std::unique_ptr<Rogue>> crowd;
    std::vector<RogueLink> links;
    const auto connect = [&](int times) {
      int made = 0;
      for (int i = 0; i < times; ++i) {
        crowd.push_back(std::make_unique<Rogue>(world.node()));
        auto link = crowd.back()->introduce(ticket->interface);
        if (!link) continue;
        made += link->exchange(crowd.back()->id());
        links.push_back(std::move(*link));
      }
      return made;
    };
    line.put(connect(30));
    line.take<char>();
    line.put(connect(4));
    // A name that the daemon had given up would be to be had.
    node::Client thief = node::Client::attach(at(world.node()));
    thief.publish(1, "toy", {}, *ticket);
    const node::Event told = next_event(thief);
    line.put(told.error);
    return line.take<char>() ? 0 : 1;
  });
  EXPECT_EQ(rogue.line().take<int>(), static_cast<int>(kLinks));
  owner.line().put('.');
  ASSERT_TRUE(owner.line().take<char>());
  rogue.line().put('.');
  EXPECT_EQ(rogue.line().take<int>(), 0);
  EXPECT_EQ(rogue.line().take<ErrorCode>(), ErrorCode::name_taken);
  owner.line().put('.');
  EXPECT_EQ(owner.wait(), 0);
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_clean();
}

}  // namespace
}  // namespace hamlyn::test
