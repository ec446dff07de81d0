// Imports and mapped slots that are begun, between processes of a simulated host or of two: over seeds, with
// an exporter that comes late or dies at any time, and with an importer that gives up at any time.
#include <array>
#include <optional>

#include "hamlyn/protocols/coroutine.h"
#include "hamlyn/segment/segment.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBytes = 4096;

bool may_still_open(Status status) { return status == Status::timed_out; }

Ticket ticket_of(Interface& interface, std::string_view name) { return interface.lookup(name, 1s); }

// Looked at by turns, without ever waiting for one of them, until all are open.
TEST(HostedImportOpenings, go_on_while_their_program_does_other_work) {
  unsigned looks = 0, mapped = 0;
  for (std::uint64_t seed = 0; seed != kRoughSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    const bool far = seed % 3 == 2;
    hosted.host.come_at(far ? 1 : 0, [&](simulation::Inhabitant&) {
      Interface interface;
      const Segment first(interface, {.name = "first", .bytes = kBytes});
      hosted.host.pause((seed % 7) * kMillisecond);
      const Segment late(interface, {.name = "late", .bytes = kBytes, .sharing = Sharing::mapped_read_write});
      hosted.host.pause(400 * kMillisecond);
    });
    hosted.host.come_at(far ? 2 : 0, [&](simulation::Inhabitant&) {
      Interface interface;
      Import late(interface, "late", kBegin);
      Import first(interface, ticket_of(interface, "first"), kBegin);
      std::optional<MappedSlot> slot;
      std::array<Status, 3> said{Status::timed_out, Status::timed_out, Status::timed_out};
      for (int i = 0; i != 10000; ++i) {
        const std::uint64_t before = hosted.host.time();
        said[0] = late.opened(0s);
        said[1] = first.opened(0s);
        if (!slot && said[0] == Status::ok) slot.emplace(interface, late.ticket(), kBegin);
        if (slot) said[2] = slot->opened(0s);
        looks += may_still_open(said[0]);
        if (may_still_open(said[0]))
          hosted.expect(late.store(0, std::uint64_t{1}) == Status::connecting || late.size() != 0, "stored");
        hosted.expect(hosted.host.time() - before < kMillisecond, "a look waits");
        if (std::ranges::none_of(said, may_still_open)) break;
        hosted.host.pause(50'000);  // other work
      }
      EXPECT_EQ(said[0], Status::ok) << name(said[0]);
      EXPECT_EQ(said[1], Status::ok) << name(said[1]);
      EXPECT_EQ(said[2], far ? Status::refused : Status::ok) << name(said[2]);
      EXPECT_EQ(late.writes_by_stores(), !far);
      mapped += late.writes_by_stores();
      hosted.expect(first.store(8, std::uint64_t{2}) == Status::ok, "it is not stored");
      hosted.expect(first.flush(5s) == Status::ok, "it does not land");
      std::uint64_t back = 0;
      hosted.expect(first.load(8, back, 5s) == Status::ok && back == 2, "it is another");
    });
    hosted.run();
  }
  EXPECT_GT(looks, kRoughSeeds);
  EXPECT_GT(mapped, kRoughSeeds / 3);
}

// Awaited by tasks of one thread, one of them with the operation alone.
TEST(HostedImportOpenings, are_awaited_by_tasks) {
  for (std::uint64_t seed = 0; seed != kRoughSeeds / 2 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    unsigned open = 0;
    hosted.add([&](Hosted& all) {
      Interface interface;
      all.host.pause((seed % 5) * kMillisecond);
      const Segment one(interface, {.name = "one", .bytes = kBytes});
      all.host.pause(kMillisecond);
      const Segment other(interface,
                          {.name = "other", .bytes = kBytes, .sharing = Sharing::mapped_read_only});
      all.host.pause(400 * kMillisecond);
    });
    hosted.add([&](Hosted& all) {
      Manager manager;
      Interface& interface = manager.interface();
      Import other(interface, "other", kBegin), one(interface, "one", kBegin);
      Loop loop(manager);
      const auto opens = [&](Import& import) -> Task {
        const Status status = co_await loop.open(import);
        all.expect(status == Status::ok && import.size() == kBytes, "it is not open");
        ++open;
      };
      loop.start(opens(other));
      loop.start(opens(one));
      loop.run();
      all.expect(other.reads_by_loads() == (seed % 3 != 2), "it is mapped otherwise");
    });
    hosted.run();
    EXPECT_EQ(open, 2u);
  }
}

// --- a death at any time

void open_three(Hosted& hosted) {
  hosted.add([](Hosted& all) {
    Interface interface;
    const Segment guarded(interface, {.name = "guarded", .bytes = kBytes});
    const Segment shared(interface,
                         {.name = "shared", .bytes = kBytes, .sharing = Sharing::mapped_read_write});
    all.host.pause(5 * kMillisecond);
  });
  hosted.add([](Hosted& all) {
    Interface interface;
    Import guarded(interface, "guarded", kBegin), shared(interface, "shared", kBegin);
    const std::array said{guarded.opened(2s), shared.opened(2s)};
    for (const Status status : said) {
      if (all.alive(1)) continue;  // by then; before, or in the meantime, it may have opened
      all.expect(status == Status::ok || status == Status::link_ended || status == Status::timed_out,
                 name(status));
    }
    std::uint64_t back = 0;
    const Status loaded = shared.load(0, back, 1s);
    all.expect(said[1] != Status::ok || loaded == Status::ok || loaded == Status::link_ended ||
                   loaded == Status::stale,
               name(loaded));
  });
}
TEST(HostedImportOpenings, tell_of_the_death_of_the_exporter_at_any_time) {
  with_a_death_at_any_time(1, open_three);
}
TEST(HostedImportOpenings, leave_nothing_behind_when_the_importer_dies) {
  with_a_death_at_any_time(2, open_three);
}

// --- given up at any time

TEST(HostedImportOpenings, that_are_given_up_at_any_time_leave_nothing_behind) {
  unsigned open = 0, given_up = 0;
  for (std::uint64_t time = 0; time < 600'000 && !testing::Test::HasFailure(); time += 10'000) {
    SCOPED_TRACE(time);
    Hosted hosted;
    hosted.add([&](Hosted& all) {
      Interface interface;
      const Segment shared(interface,
                           {.name = "shared", .bytes = kBytes, .sharing = Sharing::mapped_read_write});
      all.host.pause(time + 5 * kMillisecond);
    });
    hosted.add([&](Hosted& all) {
      Interface interface;
      const Ticket ticket = ticket_of(interface, "shared");
      {
        const Import never(interface, "never", kBegin);
        Import by_name(interface, "shared", kBegin), by_ticket(interface, ticket, kBegin);
        const MappedSlot slot(interface, ticket, kBegin);
        const std::uint64_t until = all.host.time() + time;
        while (all.host.time() < until) {
          static_cast<void>(by_name.opened(0s));  // whatever it answers
          static_cast<void>(by_ticket.opened(0s));
          all.host.pause(5'000);
        }
        ++(by_name.opened(0s) == Status::ok ? open : given_up);
      }
      Import import(interface, "shared", kBegin);
      all.expect(import.opened(1s) == Status::ok, "it does not open again");
      all.expect(import.writes_by_stores(), "it is not mapped again");
      all.expect(import.store(0, std::uint64_t{3}) == Status::ok, "it is not stored");
    });
    hosted.run();
  }
  EXPECT_GT(open, 5u);
  EXPECT_GT(given_up, 5u);
}

}  // namespace
}  // namespace hamlyn::test
