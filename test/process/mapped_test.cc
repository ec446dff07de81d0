// Mapped slots between real processes: what an importer can do, and what it cannot.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "hamlyn/hamlyn.h"
#include "test/support/actor.h"
#include "test/support/command.h"
#include "test/support/daemon.h"
#include "test/support/said_by.h"

namespace hamlyn::test {
namespace {

constexpr int kOwner = 41001;
constexpr int kStranger = 41002;

class Mapped : public testing::Test {
 protected:
  using Owner = std::function<int(Line&, MessageArea&, Slot&, NotificationQueue&)>;
  using Importer = std::function<int(Line&, Interface&, const Ticket&)>;

  static bool root() { return ::geteuid() == 0; }
  static std::vector<std::string> words() {
    return root() ? std::vector<std::string>{"--service"} : std::vector<std::string>{};
  }
  Interface::Options options() const { return {.node = folder_.file("node"), .start_node = false}; }

  // Each says what it likes to the other; the test's own process only passes it on, a byte at a time.
  void run(Sharing sharing, const Owner& owner, const Importer& importer, bool stranger = false) {
    Actor to(
        [&](Line& line) {
          Interface interface(options());
          MessageArea area(interface, 3 * 4096, sharing);
          NotificationQueue queue(interface);
          Slot slot(area, queue, {.base = 4096, .entries = 1});
          line.put(slot.ticket(0));
          return owner(line, area, slot, queue);
        },
        root() ? kOwner : -1);
    const auto ticket = to.line().take<Ticket>();
    ASSERT_TRUE(ticket);
    Actor from(
        [&](Line& line) {
          Interface interface(options());
          return importer(line, interface, *ticket);
        },
        !root()    ? -1
        : stranger ? kStranger
                   : kOwner);
    while (const auto said = from.line().take<char>()) {
      to.line().put(*said);
      const auto answer = to.line().take<char>();
      if (!answer) break;
      from.line().put(*answer);
    }
    EXPECT_EQ(from.wait(), 0);
    to.line().put('.');
    EXPECT_EQ(to.wait(), 0);
  }
  static bool turn(Line& line) { return line.put('.') && line.take<char>().has_value(); }

  Folder folder_{0755};
  Daemon daemon_{folder_.file("node"), words()};
};

ErrorCode refusal(Interface& interface, const Ticket& ticket) {
  try {
    MappedSlot mapped(interface, ticket, kPatience);
    return ErrorCode{};
  } catch (const Error& error) {
    return error.code();
  }
}

// Why it is not mapped, which is what the text says as well.
NotMapped why_not(Interface& interface, const Ticket& ticket) {
  MappedSlot mapped(interface, ticket, kBegin);
  const std::string said = said_by([&] { mapped.open(kPatience); });
  return said.find(text(mapped.not_mapped())) != std::string::npos ? mapped.not_mapped() : NotMapped::unsaid;
}

sigjmp_buf behind_the_store;

// Whether this thread's own store there ends in a signal. (A forked child has no such memory: it would
// always.)
bool store_faults(std::byte* at) {
  struct sigaction jump {
  }, before{};
  jump.sa_handler = [](int) { siglongjmp(behind_the_store, 1); };
  ::sigaction(SIGSEGV, &jump, &before);
  const bool faults = sigsetjmp(behind_the_store, 1) != 0;
  if (!faults) *const_cast<volatile std::byte*>(at) = std::byte{1};
  ::sigaction(SIGSEGV, &before, nullptr);
  return faults;
}

// By every door there is to the memory at `at`. Bit i: attempt i succeeded.
unsigned doors_to(std::byte* at) {
  unsigned got = 0;
  if (::mprotect(at, 4096, PROT_READ | PROT_WRITE) == 0) got |= 1;
  if (::madvise(at, 4096, MADV_REMOVE) == 0) got |= 2;
  char name[64];
  // Root may open the file behind a mapping.
  std::snprintf(name, sizeof name, "/proc/self/map_files/%lx-%lx", reinterpret_cast<unsigned long>(at) - 4096,
                reinterpret_cast<unsigned long>(at) + 8192);
  const int file = ::open(name, O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    if (::pwrite(file, "x", 1, 4096) == 1) got |= 4;
    if (::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) != MAP_FAILED) got |= 8;
    if (::ftruncate(file, 0) == 0) got |= 16;
    if (::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0) got |= 32;
  }
  // None of its descriptors leads there: the library has closed it.
  for (int fd = 3; fd < 256; ++fd) {
    struct stat of {};
    if (fd != file && ::fstat(fd, &of) == 0 && of.st_size == 3 * 4096) got |= 64;
  }
  // Nor may it be written through the kernel.
  const int memory = ::open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (memory >= 0 && ::pwrite(memory, "x", 1, reinterpret_cast<off_t>(at)) == 1) got |= 128;
  return got;
}

TEST_F(Mapped, ReadOnlyMemoryIsReadInPlaceByAnyTicketHolderAndWrittenByNone) {
  const Owner owner = [](Line& line, MessageArea& area, Slot& slot, NotificationQueue& queue) {
    if (!line.take<char>()) return 1;
    std::memcpy(area.bytes().data() + 4096, "what the owner says", 19);
    line.put('.');
    if (!line.take<char>()) return 2;
    // Nothing of it has come here, and messages still come as packets.
    if (std::memcmp(area.bytes().data() + 4096, "what the owner says", 19) != 0) return 3;
    line.put('.');
    Notification arrival;
    if (queue.receive(arrival, kPatience) != Status::ok || arrival.length != 4000) return 4;
    if (slot.bytes(arrival)[3999] != std::byte{7}) return 5;
    return line.take<char>() ? 0 : 6;
  };
  const Importer importer = [](Line& line, Interface& interface, const Ticket& ticket) {
    MappedSlot mapped(interface, ticket, kPatience);
    if (mapped.can_write() || !mapped.writable().empty() || mapped.bytes().size() != 8192) return 11;
    if (!turn(line)) return 12;
    if (std::memcmp(mapped.bytes().data(), "what the owner says", 19) != 0 || !mapped.current()) return 13;
    auto* const place = const_cast<std::byte*>(mapped.bytes().data());
    if (!store_faults(place)) return 14;
    if (const unsigned got = doors_to(place); got != 0) {
      std::fprintf(stderr, "doors that were open: %u\n", got);
      return 15;
    }
    if (!turn(line)) return 18;
    Terminus terminus(interface);
    const std::vector<std::byte> data(4000, std::byte{7});
    SendHandle handle;
    if (terminus.send(ticket, data, {}, &handle) > Status::pending) return 16;
    return terminus.wait(handle, kPatience) == Status::ok ? 0 : 17;
  };
  run(Sharing::mapped_read_only, owner, importer);
  if (root()) run(Sharing::mapped_read_only, owner, importer, true);
}

TEST_F(Mapped, ReadWriteMemoryTakesStoresAndLockedInstructionsOfBothSides) {
  constexpr std::uint64_t kAdds = 20000;
  run(
      Sharing::mapped_read_write,
      [](Line& line, MessageArea& area, Slot& slot, NotificationQueue& queue) {
        auto& word = *reinterpret_cast<std::uint64_t*>(area.bytes().data() + 4096);
        if (!line.take<char>()) return 1;
        line.put('.');
        for (std::uint64_t i = 0; i < kAdds; ++i) std::atomic_ref(word).fetch_add(1);
        if (!line.take<char>()) return 2;
        if (std::atomic_ref(word).load() != 4 * kAdds) return 3;
        line.put('.');
        Notification arrival;
        if (queue.receive(arrival, kPatience) != Status::ok || arrival.length != 5000) return 4;
        if (arrival.offset != 100 || slot.bytes(arrival)[4999] != std::byte{9}) return 5;
        return line.take<char>() ? 0 : 6;
      },
      [](Line& line, Interface& interface, const Ticket& ticket) {
        MappedSlot mapped(interface, ticket, kPatience);
        if (!mapped.can_write() || !turn(line)) return 11;
        for (std::uint64_t i = 0; i < kAdds; ++i) mapped.word<std::uint64_t>(0).fetch_add(3);
        if (!turn(line)) return 12;
        Terminus terminus(interface);
        const std::vector<std::byte> data(5000, std::byte{9});
        // There at once: no packet has to be taken for it.
        if (terminus.send(ticket, data, {.offset = 100}) != Status::ok) return 13;
        return mapped.bytes()[5099] == std::byte{9} ? 0 : 14;
      });
}

TEST_F(Mapped, ARevokedHolderKeepsOldPagesAndSeesNothingNew) {
  for (const Sharing sharing : {Sharing::mapped_read_only, Sharing::mapped_read_write}) {
    run(
        sharing,
        [](Line& line, MessageArea& area, Slot& slot, NotificationQueue& queue) {
          std::memset(area.bytes().data() + 4096, 'a', 8192);
          if (!line.take<char>()) return 1;
          area.revoke();
          for (const std::byte each : area.bytes(4096, 8192)) {
            if (each != std::byte{'a'}) return 2;  // the bytes have moved with it
          }
          std::memset(area.bytes().data() + 4096, 'b', 8192);
          line.put('.');
          if (!line.take<char>()) return 3;
          for (const std::byte each : area.bytes(4096, 8192)) {
            if (each != std::byte{'b'}) return 4;  // what the holder wrote is not here
          }
          line.put('.');
          Notification arrival;
          if (queue.receive(arrival, kPatience) != Status::ok || arrival.length != 3000) return 5;
          if (slot.bytes(arrival)[2999] != std::byte{'c'}) return 6;
          return line.take<char>() ? 0 : 7;
        },
        [](Line& line, Interface& interface, const Ticket& ticket) {
          MappedSlot mapped(interface, ticket, kPatience);
          if (!mapped.current() || mapped.bytes()[0] != std::byte{'a'}) return 11;
          if (!turn(line)) return 12;
          if (mapped.current() || mapped.bytes()[0] != std::byte{'a'}) return 13;
          if (mapped.can_write()) std::memset(mapped.writable().data(), 'x', 8192);
          MappedSlot again(interface, ticket, kPatience);
          if (!again.current() || again.bytes()[0] != std::byte{'b'}) return 14;
          if (!turn(line)) return 15;
          // By the new mapping, if it can; never by the old one.
          Terminus terminus(interface);
          const std::vector<std::byte> data(3000, std::byte{'c'});
          SendHandle handle;
          if (terminus.send(ticket, data, {}, &handle) > Status::pending) return 16;
          return terminus.wait(handle, kPatience) == Status::ok ? 0 : 17;
        });
  }
}

TEST_F(Mapped, NobodyMapsWhatIsNotForIt) {
  const Owner owner = [](Line& line, MessageArea&, Slot&, NotificationQueue&) {
    return line.take<char>() ? 0 : 1;
  };
  run(Sharing::guarded, owner, [](Line&, Interface& interface, const Ticket& ticket) {
    if (why_not(interface, ticket) != NotMapped::not_shown) return 11;
    return refusal(interface, ticket) == ErrorCode::not_permitted ? 0 : 12;
  });
  run(Sharing::mapped_read_only, owner, [](Line&, Interface& interface, const Ticket& ticket) {
    const auto wrong = [&](NotMapped why, auto change) {
      Ticket other = ticket;
      change(other);
      return refusal(interface, other) == ErrorCode::not_permitted && why_not(interface, other) == why;
    };
    if (!wrong(NotMapped::bad_key, [](Ticket& other) { other.key ^= 1; })) return 11;
    if (!wrong(NotMapped::gone, [](Ticket& other) { ++other.generation; })) return 12;
    if (!wrong(NotMapped::gone, [](Ticket& other) { other.slot = 63; })) return 13;
    if (!wrong(NotMapped::gone, [](Ticket& other) { other.slot = ~0u; })) return 14;
    Ticket nobody = ticket;
    nobody.interface = 1u << 30;
    if (refusal(interface, nobody) != ErrorCode::peer_died) return 15;
    return refusal(interface, ticket) == ErrorCode{} ? 0 : 16;
  });
  if (!root()) return;
  run(
      Sharing::mapped_read_write, owner,
      [](Line&, Interface& interface, const Ticket& ticket) {
        if (why_not(interface, ticket) != NotMapped::other_user) return 11;
        return refusal(interface, ticket) == ErrorCode::not_permitted ? 0 : 12;
      },
      true);
}

// A key can be guessed by asking to map as by sending, and is counted and told as then. A good ticket of a
// slot that is not mapped, or not for that user, is no offence.
TEST_F(Mapped, ATicketThatIsWrongIsToldOfAsOneInAPacketIs) {
  for (const Sharing sharing : {Sharing::mapped_read_only, Sharing::guarded}) {
    const Owner owner = [](Line& line, MessageArea&, Slot&, NotificationQueue& queue) {
      if (!line.take<char>()) return 1;
      std::uint64_t told[static_cast<std::size_t>(Refusal::count)] = {};
      const auto all = [&] {
        return told[static_cast<std::size_t>(Refusal::bad_key)] == 3 &&
               told[static_cast<std::size_t>(Refusal::stale_generation)] == 1 &&
               told[static_cast<std::size_t>(Refusal::bad_slot)] == 1;
      };
      Notification arrival;
      while (!all()) {
        if (queue.receive(arrival, kPatience) != Status::ok) return 2;
        if (arrival.kind != Notification::Kind::protocol_error) return 3;
        told[static_cast<std::size_t>(arrival.cause)] += arrival.word;
      }
      if (queue.poll()) return 4;
      return line.put('.') && line.take<char>() ? 0 : 5;
    };
    run(sharing, owner, [](Line& line, Interface& interface, const Ticket& ticket) {
      refusal(interface, ticket);
      for (std::uint64_t guess = 1; guess != 4; ++guess) {
        Ticket guessed = ticket;
        guessed.key ^= guess;
        if (refusal(interface, guessed) != ErrorCode::not_permitted) return 11;
      }
      Ticket stale = ticket;
      ++stale.generation;
      Ticket none = ticket;
      none.slot = ~0u;
      refusal(interface, stale), refusal(interface, none);
      return turn(line) ? 0 : 12;
    });
  }
}

TEST_F(Mapped, AMappedSlotIsNotParanoidAndAGuardedAreaIsNotRevoked) {
  Actor one([&](Line&) {
    Interface interface(options());
    NotificationQueue queue(interface);
    const auto code = [](auto work) {
      try {
        work();
      } catch (const Error& error) {
        return error.code();
      }
      return ErrorCode{};
    };
    for (const Sharing sharing : {Sharing::mapped_read_only, Sharing::mapped_read_write}) {
      MessageArea area(interface, 1, sharing);
      if (area.bytes().size() != 4096) return 1;
      for (const Mode mode : {Mode::paranoid, Mode::paranoid_one_shot}) {
        if (code([&] { Slot slot(area, queue, {.mode = mode, .entries = 1}); }) !=
            ErrorCode::invalid_argument)
          return 2;
      }
    }
    MessageArea area(interface, 1);
    return code([&] { area.revoke(); }) == ErrorCode::invalid_argument ? 0 : 3;
  });
  EXPECT_EQ(one.wait(), 0);
}

// Memory that the application has already is a receive area in place.
TEST_F(Mapped, ExistingMemoryIsAnAreaWhereItLies) {
  Actor one([&](Line&) {
    Interface interface(options());
    const auto map = [](int access) {
      return static_cast<std::byte*>(::mmap(nullptr, 16384, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    };
    std::byte* const memory = map(PROT_READ | PROT_WRITE);
    std::byte* const unwritable = map(PROT_READ);
    std::byte* const closed = map(PROT_NONE);
    const auto refused = [&](std::byte* at, std::size_t bytes) {
      try {
        MessageArea area(interface, std::span(at, bytes));
      } catch (const Error& error) {
        return error.code() == ErrorCode::invalid_argument;
      }
      return false;
    };
    if (!refused(memory + 1, 4096) || !refused(memory, 4095) || !refused(memory, 0)) return 1;
    if (!refused(unwritable, 4096) || !refused(closed, 4096)) return 2;
    std::memset(memory, 'k', 16384);
    {
      MessageArea area(interface, std::span(memory + 4096, 8192));
      NotificationQueue queue(interface);
      Slot slot(area, queue, {.entries = 1});
      if (area.bytes().data() != memory + 4096 || memory[4096] != std::byte{'k'}) return 3;
      if (slot.bytes().data() != memory + 4096) return 4;
    }
    return memory[4096] == std::byte{'k'} ? 0 : 5;  // it is still there
  });
  EXPECT_EQ(one.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
