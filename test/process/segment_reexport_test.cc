// Segments are exported again and again, in the same memory and, some, under the same name, while others go
// on with what they have imported of earlier ones: those are told so, and touch no successor (paper 4,
// sections 4.2.1 and 4.2.6). HAMLYN_TEST_EXPORTS says how often instead (docs/remote-memory.md).
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/file_descriptor.h"
#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

class SegmentsAnew : public WithSegments {
 protected:
  static constexpr std::size_t kBytes = 4096;
  static constexpr std::size_t kUsers = 2;
  static constexpr int kShown = 25;        // of all generations, these are imported
  static constexpr std::size_t kHeld = 8;  // by each user at a time

  static int exports() {
    const char* const asked = std::getenv("HAMLYN_TEST_EXPORTS");
    if (asked != nullptr) return std::max(std::atoi(asked), kShown);
#ifdef __SANITIZE_ADDRESS__
    return 1000;
#else
    return nodes == nullptr ? 20'000 : 1000;
#endif
  }
  struct Pipe {
    base::FileDescriptor out, in;
  };
  static Pipe make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    return {base::FileDescriptor(ends[0]), base::FileDescriptor(ends[1])};
  }
  // What is in a segment: nothing, or what its own users have put there, who know its key.
  static bool is_of(std::span<const std::byte> bytes, const Ticket& ticket) {
    for (std::size_t at = 0; at != bytes.size(); at += sizeof ticket.key) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      if (word != 0 && word != ticket.key) return false;
    }
    return true;
  }

  int export_all(Line& line);
  int use_all(std::size_t number, Line& line);

  // Where the exporter shows a generation, to each user.
  std::vector<Pipe> shown_;
};

// Of each generation shown it waits until all have imported it.
int SegmentsAnew::export_all(Line& line) {
  Interface interface(options());
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const std::span<std::byte> bytes(static_cast<std::byte*>(memory), kBytes);
  constexpr Sharing kKinds[] = {Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write};
  const int all = exports(), between = all / kShown;
  std::optional<std::uint32_t> place;
  for (int i = 0; i < all; ++i) {
    const bool show = i % between == 0;
    SegmentOptions options{.memory = bytes};
    if (show) options.name = "anew";
    if (i % 8 == 0 || show) options.sharing = kKinds[i / (show ? between : 8) % 3];
    auto segment = std::make_unique<Segment>(interface, options);
    const Ticket ticket = segment->ticket();
    if (place.value_or(ticket.slot) != ticket.slot) return 2;
    place = ticket.slot;
    if (show) {
      for (const Pipe& pipe : shown_) {
        if (::write(pipe.in.get(), &ticket, sizeof ticket) != sizeof ticket) return 3;
      }
      line.put(i);
      if (!line.take<char>()) return 4;
    }
    segment.reset();
    if (!is_of(bytes, ticket)) return 5;
    std::ranges::fill(bytes, std::byte{0});
  }
  shown_.clear();
  line.put(-1);
  return line.take<char>() ? 0 : 6;
}

// Goes on with all that it holds until the exporter ends.
int SegmentsAnew::use_all(std::size_t number, Line& line) {
  for (Pipe& pipe : shown_) pipe.in = {};
  Interface interface(other_options());
  const int shown = shown_[number].out.get();
  std::vector<std::unique_ptr<Import>> held;
  std::size_t uses = 0;
  // One operation of each kind. 0, or what was wrong with it.
  const auto use = [&](Import& import, bool over, bool alive) {
    const auto wrong = [&](Status status) {
      return (over && status != Status::stale) || (alive && status != Status::ok);
    };
    const Ticket& ticket = import.ticket();
    const std::size_t at = ++uses * 24 % (kBytes - 8);
    Status status = import.store(at, ticket.key);
    if (status == Status::ok) status = import.flush(kPatience);
    if (wrong(status)) return 20 + static_cast<int>(status);
    std::vector<std::byte> room(64);
    status = import.read(at & ~std::size_t{63}, room, kPatience);
    if (wrong(status)) return 60 + static_cast<int>(status);
    if (status == Status::ok && !is_of(room, ticket)) return 10;
    status = import.compare_and_swap(at & ~std::size_t{7}, 0, ticket.key, kPatience).status;
    if (wrong(status)) return 100 + static_cast<int>(status);
    return 0;
  };
  for (;;) {
    pollfd ready{.fd = shown, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 0) == 1) {
      Ticket ticket;
      if (::read(shown, &ticket, sizeof ticket) != sizeof ticket) return line.put(uses) ? 0 : 1;
      // Its predecessors had gone before it was there.
      for (const auto& import : held) {
        if (const int wrong = use(*import, true, false)) return wrong;
      }
      if (held.size() == kHeld) held.erase(held.begin() + static_cast<int>(uses % (kHeld - 1)));
      held.push_back(number == 0 ? std::make_unique<Import>(interface, ticket)
                                 : std::make_unique<Import>(interface, "anew"));
      if (const int wrong = use(*held.back(), false, true)) return wrong;
      line.put(std::size_t{0});
    }
    for (const auto& import : held) {
      const bool over = import != held.back();
      if (const int wrong = use(*import, over, false)) return wrong;
    }
  }
}

TEST_F(SegmentsAnew, are_not_touched_by_those_who_have_imported_earlier_ones) {
  for (std::size_t i = 0; i != kUsers; ++i) shown_.push_back(make_pipe());
  Actor exporter([&](Line& line) { return export_all(line); });
  std::vector<Actor> users;
  for (std::size_t i = 0; i != kUsers; ++i)
    users.emplace_back([&, i](Line& line) { return use_all(i, line); });
  for (Pipe& pipe : shown_) pipe.in = {};
  int showed = 0;
  for (;;) {
    const auto generation = exporter.line().take<int>();
    if (!generation) FAIL() << "the exporter has ended with " << exporter.wait();
    if (*generation == -1) break;
    for (Actor& user : users) {
      if (!user.line().take<std::size_t>()) {
        FAIL() << "a user has ended with " << user.wait() << " at generation " << *generation;
      }
    }
    ++showed;
    exporter.line().put('g');
  }
  EXPECT_GE(showed, kShown);
  for (Actor& user : users) {
    const auto uses = user.line().take<std::size_t>();
    EXPECT_EQ(user.wait(), 0);
    EXPECT_GT(uses.value_or(0), static_cast<std::size_t>(2 * kShown));
  }
  exporter.line().put('e');
  EXPECT_EQ(exporter.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
