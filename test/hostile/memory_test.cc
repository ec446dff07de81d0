// What a rogue may hand over as its memory, and what it may do to it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/socket.h"
#include "fabric/shm/shm_link.h"
#include "test/hostile/world.h"

namespace hamlyn::test {
namespace {

HAMLYN_HOSTILE(Memory)

using base::FileDescriptor;
using library::LinkMessage;
using library::LinkWord;

constexpr unsigned kAllSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

// Of interface `id`.
FileDescriptor memory(std::uint64_t id, std::size_t bytes, unsigned seals,
                      unsigned flags = MFD_ALLOW_SEALING) {
  FileDescriptor made(::memfd_create("rogue", MFD_CLOEXEC | flags));
  if (made && ::ftruncate(made.get(), static_cast<off_t>(bytes)) != 0) return {};
  // Whole but for its seals: with them it would be taken for that interface's page.
  shm::PageHeader header{};
  header.interface = id;
  header.magic = shm::kPageMagic;
  header.structures = shm::kPageVersion;
  header.cell_bytes = interface::kCell;
  header.mtu = 8192;
  if (made && bytes >= sizeof header) ::pwrite(made.get(), &header, sizeof header, 0);
  if (made && seals != 0 && ::fcntl(made.get(), F_ADD_SEALS, seals) != 0) return {};
  return made;
}

// A good page but for what `change` does to its header.
template <class Change>
FileDescriptor page(std::uint64_t interface, Change change) {
  shm::OwnedMemory made = shm::ShmLink::prepare_page(interface, 8192);
  change(static_cast<shm::Page*>(made.mapping.data())->header);
  return std::move(made.memfd);
}

struct Trial {
  std::string what;
  // What it says on a link: a new one, or one whose pages were exchanged.
  std::function<void(RogueLink&, std::uint64_t interface)> say;
  bool exchanged = false;
};

LinkMessage area_message(std::uint64_t bytes = 4096) {
  LinkMessage message;
  message.word = LinkWord::area;
  message.bytes = bytes;
  message.number = 1;
  message.generation = 1;
  return message;
}

// As its page, or as a send buffer area of a page's size.
Trial shows_as(LinkWord word, const std::string& what, std::function<FileDescriptor(std::uint64_t)> make) {
  return {what,
          [word, make](RogueLink& link, std::uint64_t id) {
            LinkMessage message = area_message();
            message.word = word;
            const FileDescriptor made = make(id);
            const int fd = made.get();
            link.say(message, std::span(&fd, fd >= 0 ? 1 : 0));
          },
          word == LinkWord::area};
}
Trial shows(const std::string& what, std::function<FileDescriptor(std::uint64_t)> make) {
  return shows_as(LinkWord::page, what, std::move(make));
}

std::vector<Trial> wrong_memories(LinkWord word) {
  std::vector<Trial> out;
  const auto shows = [word](const std::string& what, std::function<FileDescriptor(std::uint64_t)> make) {
    return shows_as(word, what, std::move(make));
  };
  out.push_back(shows("no descriptor", [](auto) { return FileDescriptor{}; }));
  for (const unsigned missing : {unsigned{F_SEAL_SHRINK}, unsigned{F_SEAL_GROW},
                                 unsigned{F_SEAL_FUTURE_WRITE}, unsigned{F_SEAL_SEAL}, kAllSeals})
    out.push_back(shows("without seals " + std::to_string(missing),
                        [missing](auto id) { return memory(id, 4096, kAllSeals & ~missing); }));
  for (const std::size_t bytes : {0u, 1u, 4095u, 4097u, 8192u, 1u << 20})
    out.push_back(shows("of " + std::to_string(bytes) + " bytes",
                        [bytes](auto id) { return memory(id, bytes, kAllSeals); }));
  out.push_back(shows("memory that cannot be sealed", [](auto id) { return memory(id, 4096, 0, 0); }));
  out.push_back(shows("a regular file", [](auto) {
    FileDescriptor file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    return ::ftruncate(file.get(), 4096) == 0 ? std::move(file) : FileDescriptor{};
  }));
  out.push_back(shows("a regular file on tmpfs", [](auto) {
    FileDescriptor file(::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    return file && ::ftruncate(file.get(), 4096) == 0 ? std::move(file) : FileDescriptor{};
  }));
  for (const char* path : {"/dev/zero", "/dev/null", "/tmp", "/proc/self/mem", "/proc/self/maps"})
    out.push_back(shows(path, [path](auto) { return FileDescriptor(::open(path, O_RDONLY | O_CLOEXEC)); }));
  out.push_back(shows("a pipe", [](auto) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return FileDescriptor{};
    ::close(ends[1]);
    return FileDescriptor(ends[0]);
  }));
  out.push_back(shows("a socket", [](auto) { return base::socket_pair().first; }));
  out.push_back(shows("an eventfd", [](auto) { return FileDescriptor(::eventfd(0, EFD_CLOEXEC)); }));
  out.push_back(shows("a path", [](auto) { return FileDescriptor(::open("/tmp", O_PATH | O_CLOEXEC)); }));
  // No descriptor, and refused all the same, where the kernel has none to give.
  out.push_back(shows("huge pages", [](auto id) {
    return memory(id, std::size_t{2} << 20, kAllSeals, MFD_ALLOW_SEALING | MFD_HUGETLB);
  }));
  out.push_back(shows("secret memory", [](auto) {
    FileDescriptor secret(static_cast<int>(::syscall(SYS_memfd_secret, O_CLOEXEC)));
    return secret && ::ftruncate(secret.get(), 4096) == 0 ? std::move(secret) : FileDescriptor{};
  }));
  out.push_back(shows("write-only", [](std::uint64_t id) {
    const FileDescriptor good = page(id, [](auto&) {});
    return FileDescriptor(
        ::open(("/proc/self/fd/" + std::to_string(good.get())).c_str(), O_WRONLY | O_CLOEXEC));
  }));
  out.push_back({"two descriptors",
                 [word](RogueLink& link, std::uint64_t id) {
                   const FileDescriptor one = page(id, [](auto&) {}), two = page(id, [](auto&) {});
                   LinkMessage message = area_message();
                   message.word = word;
                   const int both[] = {one.get(), two.get()};
                   link.say(message, both);
                 },
                 word == LinkWord::area});
  return out;
}

std::vector<Trial> wrong_pages() {
  using Header = shm::PageHeader;
  const auto with = [](const std::string& what, void (*change)(Header&)) {
    return shows(what, [change](std::uint64_t id) { return page(id, change); });
  };
  return {
      with("another magic", [](Header& header) { header.magic ^= 1; }),
      with("a later version", [](Header& header) { header.structures += 1; }),
      with("an earlier version", [](Header& header) { header.structures -= 1; }),
      with("cells of 128 bytes", [](Header& header) { header.cell_bytes = 128; }),
      with("MTU 0", [](Header& header) { header.mtu = 0; }),
      with("MTU 63", [](Header& header) { header.mtu = 63; }),
      with("MTU 65", [](Header& header) { header.mtu = 65; }),
      with("MTU 32832", [](Header& header) { header.mtu = 32832; }),
      with("the greatest MTU", [](Header& header) { header.mtu = 0xFFFFFFC0u; }),
      with("another interface", [](Header& header) { header.interface ^= 1; }),
      with("all zero", [](Header& header) { header = Header{}; }),
      with("all ones", [](Header& header) { std::memset(static_cast<void*>(&header), 0xFF, sizeof header); }),
  };
}

template <class Bytes>
void say_bytes(RogueLink& link, const Bytes& bytes) {
  base::send_message(link.socket(), std::as_bytes(std::span(bytes)));
}

shm::OwnedMemory good_ring(std::uint32_t cells) {
  return shm::make_sealed_memory(cells * interface::kCell, shm::Writers::both_ends);
}

std::vector<Trial> wrong_words() {
  std::vector<Trial> out;
  const auto message = [&](const std::string& what, LinkMessage wrong) {
    for (const bool exchanged : {false, true}) {
      out.push_back({what,
                     [wrong](RogueLink& link, std::uint64_t id) {
                       const FileDescriptor good = page(id, [](auto&) {});
                       const int fd = good.get();
                       link.say(wrong, std::span(&fd, 1));
                     },
                     exchanged});
    }
  };
  message("another magic", {.magic = 0x12345678, .word = LinkWord::page});
  message("another version", {.version = 1, .word = LinkWord::page});
  message("word 0", {.word = LinkWord{0}});
  message("word 99", {.word = LinkWord{99}});
  message("a ring of 48 cells", {.word = LinkWord::ring, .value = 48});
  message("a ring of no cells", {.word = LinkWord::ring});
  message("a ring of all cells", {.word = LinkWord::ring, .value = ~std::uint64_t{0}});
  message("a ring that is a page", {.word = LinkWord::ring, .value = shm::kGrownCells[0]});
  message("a ring taken, with a descriptor", {.word = LinkWord::ring_taken});
  for (const bool exchanged : {false, true}) {
    for (const std::size_t size : {1u, 63u, 65u, 4096u, 65536u})
      out.push_back({std::to_string(size) + " bytes",
                     [size](RogueLink& link, std::uint64_t) { say_bytes(link, noise(size)); }, exchanged});
    out.push_back({"noise of the right size",
                   [](RogueLink& link, std::uint64_t) { say_bytes(link, noise(sizeof(LinkMessage))); },
                   exchanged});
    out.push_back({"a ring taken that nobody offered",
                   [](RogueLink& link, std::uint64_t) { link.say(LinkWord::ring_taken, 0, -1); }, exchanged});
    out.push_back({"a good ring before any page, or too many",
                   [](RogueLink& link, std::uint64_t) {
                     for (const std::uint32_t cells : {shm::kGrownCells[0], shm::kGrownCells[1]}) {
                       const shm::OwnedMemory ring = good_ring(cells);
                       link.say(LinkWord::ring, cells, ring.memfd.get());
                     }
                   },
                   exchanged});
    out.push_back({"the same ring again",
                   [](RogueLink& link, std::uint64_t) {
                     for (int i = 0; i < 2; ++i) {
                       const std::uint32_t cells = shm::kGrownCells[0];
                       const shm::OwnedMemory ring = good_ring(cells);
                       link.say(LinkWord::ring, cells, ring.memfd.get());
                     }
                   },
                   exchanged});
  }
  out.push_back({"a second page",
                 [](RogueLink& link, std::uint64_t id) {
                   const FileDescriptor good = page(id, [](auto&) {});
                   link.say(LinkWord::page, 0, good.get());
                 },
                 true});
  return out;
}

// What is wrong with an area though its memory is good.
std::vector<Trial> wrong_areas() {
  std::vector<Trial> out;
  const auto area = [&](const std::string& what, LinkMessage wrong, int times = 1) {
    out.push_back({what,
                   [wrong, times](RogueLink& link, std::uint64_t) {
                     const shm::OwnedMemory good = shm::make_sealed_memory(4096);
                     const int fd = good.memfd.get();
                     for (int i = 0; i < times; ++i) link.say(wrong, std::span(&fd, 1));
                   },
                   true});
  };
  const auto with = [](auto change) {
    LinkMessage message = area_message();
    change(message);
    return message;
  };
  area("number 64", with([](LinkMessage& message) { message.number = 64; }));
  area("number 65535", with([](LinkMessage& message) { message.number = 65535; }));
  area("generation 0", with([](LinkMessage& message) { message.generation = 0; }));
  area("no bytes", with([](LinkMessage& message) { message.bytes = 0; }));
  area("more bytes than there are", with([](LinkMessage& message) { message.bytes = 8192; }));
  area("twice by one number", area_message(), 2);
  area("withdrawn, with a descriptor",
       with([](LinkMessage& message) { message.word = LinkWord::area_withdrawn; }));
  area("taken, with a descriptor", with([](LinkMessage& message) { message.word = LinkWord::area_taken; }));
  out.push_back({"with holes",
                 [](RogueLink& link, std::uint64_t) {
                   const FileDescriptor holes = memory(0, 65536, kAllSeals);
                   const int fd = holes.get();
                   link.say(area_message(65536), std::span(&fd, 1));
                 },
                 true});
  // Their number is that of a file without holes.
  out.push_back({"with holes, and blocks behind its end",
                 [](RogueLink& link, std::uint64_t) {
                   const FileDescriptor holes = memory(0, 65536, 0);
                   ::fallocate(holes.get(), FALLOC_FL_KEEP_SIZE, 65536, 65536);
                   ::fcntl(holes.get(), F_ADD_SEALS, kAllSeals);
                   const int fd = holes.get();
                   link.say(area_message(65536), std::span(&fd, 1));
                 },
                 true});
  out.push_back({"withdrawn by a number that cannot be",
                 [](RogueLink& link, std::uint64_t) {
                   LinkMessage message = area_message();
                   message.word = LinkWord::area_withdrawn;
                   message.number = 64;
                   link.say(message, {});
                 },
                 true});
  out.push_back({"a mapped slot that nobody asked for",
                 [](RogueLink& link, std::uint64_t) {
                   const shm::OwnedMemory good = shm::make_sealed_memory(4096);
                   LinkMessage message = area_message();
                   message.word = LinkWord::imported;
                   const int both[] = {good.memfd.get(), good.memfd.get()};
                   link.say(message, both);
                 },
                 true});
  out.push_back({"the refusal of one that nobody asked for",
                 [](RogueLink& link, std::uint64_t) { link.say(LinkWord::import_refused, 1, -1); }, true});
  out.push_back({"before any page", [](RogueLink& link, std::uint64_t) {
                   const shm::OwnedMemory good = shm::make_sealed_memory(4096);
                   const int fd = good.memfd.get();
                   link.say(area_message(), std::span(&fd, 1));
                 }});
  return out;
}

// Cells that no sender would write.
std::vector<Trial> wrong_cells() {
  using interface::Operation;
  std::vector<Trial> out;
  enum class Ring { main, reply, urgent };
  const auto cell = [&](const std::string& what, interface::Lead lead, Ring ring = Ring::main) {
    out.push_back(
        {what,
         [lead, ring](RogueLink& link, std::uint64_t self) {
           interface::Packet* to = ring == Ring::reply    ? link.mine().replies
                                   : ring == Ring::urgent ? link.mine().urgent
                                                          : &link.mine().cells[shm::first_cell(self)];
           base::RealMemory::store_release(*reinterpret_cast<std::uint64_t*>(to), shm::word_of(lead));
           base::RealMemory::store_release(link.mine().announcement.announced, 1u);
           link.ring();
         },
         true});
  };
  cell("no operation", {1, 0, Operation::none, 0});
  cell("operation 127", {1, 0, Operation{127}, 0});
  cell("operation 255", {1, 0, Operation{255}, 0});
  cell("61 bytes of metadata", {1, 0, Operation::write, 61});
  cell("255 bytes of metadata", {1, 16, Operation::write, 255});
  cell("longer than the MTU", {1, 8193, Operation::write, 0});
  cell("the longest there is", {1, 65535, Operation::write, 0});
  cell("longer than the ring", {1, 40 * 64, Operation::write, 0});
  cell("as long as the ring, with metadata", {1, 38 * 64 + 1, Operation::write, 1});
  cell("an area's part that says not which", {1, 0, Operation::area_write, 0});
  cell("an area's part with data behind it", {1, 17, Operation::area_write, 0});
  cell("an area's part among replies", {1, 16, Operation::area_write, 0}, Ring::reply);
  cell("an urgent area's part", {1, 16, Operation::area_write, 0}, Ring::urgent);
  cell("a control packet with data", {1, 16, Operation::open, 0});
  cell("a control packet with metadata", {1, 0, Operation::credit, 4});
  cell("to be continued nowhere", {1, 0, Operation::continue_ring, 0});
  cell("a write among the replies", {1, 16, Operation::write, 0}, Ring::reply);
  cell("a write with metadata among the replies", {1, 0, Operation::write, 60}, Ring::reply);
  cell("a request among the replies", {1, 0, Operation::get, 0}, Ring::reply);
  cell("a reply longer than replies are", {1, interface::kReplyPayload + 1, Operation::get_data, 0},
       Ring::reply);
  cell("a reply of no kind", {1, 0, Operation{99}, 0}, Ring::reply);
  cell("replies continued", {1, 0, Operation::continue_ring, 0}, Ring::reply);
  cell("an urgent packet longer than urgent ones are", {1, 321, Operation::write, 0}, Ring::urgent);
  cell("an urgent packet of no kind", {1, 0, Operation{99}, 0}, Ring::urgent);
  cell("urgent metadata of 61 bytes", {1, 0, Operation::write, 61}, Ring::urgent);
  cell("the urgent ring continued", {1, 0, Operation::continue_ring, 0}, Ring::urgent);
  return out;
}

void expect_refused(World::Options options, const std::vector<Trial>& trials) {
  World world(options);
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      std::optional<RogueLink> link;
      if (trials[i].exchanged) {
        link.emplace(self.connect(world.victim()));
      } else {
        link = self.introduce(world.victim());
      }
      if (!link) {
        line.put(i);
        return 1;
      }
      trials[i].say(*link, self.id());
      if (!link->wait_for_end()) {
        line.put(i);
        return 2;
      }
      self.end(*link);
    }
    return 0;
  });
  const int status = rogue.wait();
  if (status != 0) {
    const auto at = rogue.line().take<std::size_t>();
    FAIL() << (status == 2 ? "not refused: " : "no link for: ") << (at ? trials.at(*at).what : "?");
  }
  EXPECT_EQ(world.counters().links_broken, trials.size());
  EXPECT_EQ(no_links(world, LinkReason::protocol_broken), trials.size());
  world.expect_clean();
}

TEST_P(HostileMemory, RefusesMemoryOfAnotherKind) {
  expect_refused(options(), wrong_memories(LinkWord::page));
}
TEST_P(HostileMemory, RefusesAreasOfAnotherKind) {
  expect_refused(options(), wrong_memories(LinkWord::area));
}
TEST_P(HostileMemory, RefusesAreasThatCannotBe) { expect_refused(options(), wrong_areas()); }
TEST_P(HostileMemory, RefusesPagesOfAnotherVersionOrKind) { expect_refused(options(), wrong_pages()); }
TEST_P(HostileMemory, RefusesWordsThatNoPeerSays) { expect_refused(options(), wrong_words()); }
TEST_P(HostileMemory, EndsALinkWithCellsThatNoPeerWrites) { expect_refused(options(), wrong_cells()); }

// What a good rogue shows is mapped, up to a bound; what it says of areas that it never showed is refused.
TEST_P(HostileMemory, TakesOnlySoManyBytesOfAreas) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    const shm::OwnedMemory good = shm::make_sealed_memory(4096);
    const int fd = good.memfd.get();
    const auto answer = [&](const LinkMessage& message) {
      link.say(message, std::span(&fd, 1));
      LinkMessage said;
      base::receive_message(link.socket(), std::as_writable_bytes(std::span(&said, 1)));
      return said.word;
    };
    if (answer(area_message(std::uint64_t{2} << 30)) != LinkWord::area_refused) return 1;
    if (answer(area_message(~std::uint64_t{0})) != LinkWord::area_refused) return 2;
    if (answer(area_message()) != LinkWord::area_taken) return 3;
    LinkMessage gone = area_message();
    gone.word = LinkWord::area_withdrawn;
    if (!link.say(gone, {}) || answer(area_message()) != LinkWord::area_taken) return 4;
    // The victim copies out of it what it is told to, and nothing that is not there.
    link.say_good(2);
    interface::AreaPart part {
      1, 1, 16, 4096 - 16
    };
    interface::Packet packet = packet_for(world.tickets().counted[0], sizeof part);
    interface::set_lead(packet, interface::Operation::area_write, sizeof part, 0);
    for (const std::uint64_t wrong : {std::uint64_t{4096 - 15}, std::uint64_t{4096}, ~std::uint64_t{7}}) {
      const interface::AreaPart beyond { 1, 1, 16, wrong };
      if (!link.put(packet, &beyond)) return 5;
    }
    return link.put(packet, &part) && line.take<char>() ? 0 : 6;
  });
  EXPECT_TRUE(eventually([&] { return world.report().counted == 1; }));
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  std::array<std::uint64_t, kCauses> expected{};
  expected[static_cast<std::size_t>(Refusal::bad_area)] = 3;
  world.expect_errors(expected);
  world.expect_clean();
}

// Everything that could take memory away from under the other side, or give write access to it. All of it
// must fail; bit i says that attempt i did not.
unsigned attack_memory(int fd, const shm::Mapping& mapping) {
  unsigned got = 0;
  unsigned bit = 0;
  const auto tried = [&](bool succeeded) { got |= succeeded ? 1u << bit : 0u, ++bit; };
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const FileDescriptor writable(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const int doors[] = {fd, writable.get()};
  for (const int door : doors) {
    tried(::ftruncate(door, 0) == 0);
    tried(::ftruncate(door, 65536) == 0);
    tried(::fallocate(door, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0);
    tried(::fallocate(door, FALLOC_FL_ZERO_RANGE, 0, 4096) == 0);
    tried(::pwrite(door, "x", 1, 2048) == 1);
    tried(::fcntl(door, F_ADD_SEALS, F_SEAL_WRITE) == 0);
    void* again = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, door, 0);
    tried(again != MAP_FAILED);
    void* readable = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, door, 0);
    tried(readable != MAP_FAILED && ::mprotect(readable, 4096, PROT_READ | PROT_WRITE) == 0);
    tried(readable != MAP_FAILED && ::madvise(readable, 4096, MADV_REMOVE) == 0);
  }
  tried(::open(path.c_str(), O_RDWR | O_TRUNC | O_CLOEXEC) >= 0 && ::lseek(fd, 0, SEEK_END) == 0);
  tried(::madvise(mapping.data(), mapping.size(), MADV_REMOVE) == 0);
  return got;
}

TEST_P(HostileMemory, CannotTakeAwayPunchOrReopenMemory) {
  World world(options());
  Actor rogue = world.rogue([&](Line& line, Rogue& self) {
    RogueLink link = self.connect(world.victim());
    line.put(attack_memory(link.my_memory().memfd.get(), link.my_memory().mapping));
    line.put(attack_memory(link.their_memfd(), link.their_mapping()));
    ::mprotect(link.their_mapping().data(), 4096, PROT_READ | PROT_WRITE);
    // And the link works as if nothing had been.
    return link.put(packet_for(world.tickets().counted[0], 16)) && line.take<char>() ? 0 : 1;
  });
  EXPECT_EQ(rogue.line().take<unsigned>(), 0u) << "with its own memory";
  EXPECT_EQ(rogue.line().take<unsigned>(), 0u) << "with the victim's";
  EXPECT_TRUE(eventually([&] { return world.report().counted == 1; }));
  rogue.line().put('.');
  EXPECT_EQ(rogue.wait(), 0);
  world.expect_errors({});
  world.expect_clean();
}

}  // namespace
}  // namespace hamlyn::test
