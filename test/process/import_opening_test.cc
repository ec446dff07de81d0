// Imports and mapped slots that are begun: while they open, their program does other work. Whatever the other
// side does, comes late or never, goes or dies, they say so, and go without leaving anything behind.
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "test/process/segments.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::array kKinds{Sharing::guarded, Sharing::mapped_read_only, Sharing::mapped_read_write};

class ImportOpenings : public WithSegments {};

TEST_F(ImportOpenings, go_on_until_somebody_registers_the_name) {
  with_two([&](Interface& exporter, Interface& importer) {
    for (const Sharing sharing : kKinds) {
      Import import(importer, "late", kBegin);
      for (int i = 0; i != 20; ++i) EXPECT_EQ(import.opened(0ns), Status::timed_out);
      EXPECT_EQ(import.opened(2ms), Status::timed_out);
      EXPECT_EQ(error_of([&] { import.open(1ms); }), ErrorCode::timed_out);
      // There is nothing yet, and nothing waits longer than it may.
      const std::uint64_t word = 7;
      std::uint64_t back = 0;
      RemoteHandle handle;
      EXPECT_EQ(import.size(), 0u);
      EXPECT_FALSE(import.reads_by_loads() || import.writes_by_stores() || import.is_near());
      EXPECT_TRUE(import.mapped().empty());
      EXPECT_EQ(import.mapping(), nullptr);
      EXPECT_EQ(import.store(0, word), Status::connecting);
      EXPECT_EQ(import.load(0, back, 1ms), Status::connecting);
      EXPECT_EQ(import.fetch(0, {.op = FetchOp::add, .operand = 1}, 1ms).status, Status::connecting);
      EXPECT_EQ(import.update(0, {.op = FetchOp::add, .operand = 1}, 1ms), Status::connecting);
      EXPECT_EQ(import.read(0, std::as_writable_bytes(std::span(&back, 1)), &handle), Status::connecting);
      EXPECT_EQ(import.write_signal(0, {}, 0, 1, Signal::set, 1ms), Status::connecting);
      EXPECT_EQ(import.wait_until(
                    0, [](std::uint64_t) { return true; }, 1ms),
                Status::connecting);
      EXPECT_EQ(import.begin_flush(&handle), Status::connecting);
      EXPECT_EQ(import.flush(1ms), Status::connecting);
      EXPECT_EQ(import.changed(), Status::connecting);
      std::array<Import*, 1> all{&import};
      std::array<Status, 1> each{};
      EXPECT_EQ(Import::flush(all, 1ms, each), Status::connecting);
      EXPECT_EQ(each[0], Status::connecting);

      Segment segment(exporter, {.name = "late", .bytes = 4096, .sharing = sharing});
      EXPECT_EQ(import.opened(kPatience), Status::ok);
      EXPECT_NO_THROW(import.open(0ns));
      EXPECT_EQ(import.size(), 4096u);
      EXPECT_EQ(import.reads_by_loads(), nodes == nullptr && sharing != Sharing::guarded);
      if (sharing != Sharing::mapped_read_only) {
        EXPECT_EQ(import.store(8, word), Status::ok);
        EXPECT_EQ(import.flush(kPatience), Status::ok);
        EXPECT_EQ(segment.at<std::uint64_t>(8), word);
      }
      EXPECT_EQ(import.load(8, back, kPatience), Status::ok);
    }
  });
}

// An operation that waits carries the opening, too, by a name and by a ticket.
TEST_F(ImportOpenings, are_waited_for_by_what_is_done) {
  with_two([&](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "data", .bytes = 4096}),
        words(exporter, {.name = "words", .bytes = 4096});
    const std::uint64_t word = 9;
    std::uint64_t back = 0;
    {
      Import reads(importer, "data", kBegin);
      EXPECT_EQ(reads.load(0, back, kPatience), Status::ok);
    }
    {
      Import writes(importer, segment.ticket(), {.map = false}, kBegin);
      EXPECT_EQ(writes.write(0, std::as_bytes(std::span(&word, 1)), kPatience), Status::ok);
      EXPECT_EQ(writes.flush(kPatience), Status::ok);
      EXPECT_EQ(segment.at<std::uint64_t>(0), word);
    }
    {
      Import to_data(importer, segment.ticket(), kBegin), to_words(importer, "words", kBegin);
      const SignalWord signal{.value = 3, .in = &to_words};
      EXPECT_EQ(to_data.write_signal(8, std::as_bytes(std::span(&word, 1)), signal, kPatience), Status::ok);
      EXPECT_EQ(words.wait_until(
                    0, [](std::uint64_t value) { return value == 3; }, kPatience),
                Status::ok);
      EXPECT_EQ(segment.at<std::uint64_t>(8), word);
    }
    {
      Import one(importer, "data", kBegin), other(importer, words.ticket(), kBegin);
      std::array<Import*, 2> both{&one, &other};
      EXPECT_EQ(Import::flush(both, kPatience), Status::ok);
      EXPECT_EQ(one.opened(0ns), Status::ok);
      EXPECT_EQ(other.opened(0ns), Status::ok);
    }
    {
      Import adds(importer, "data", kBegin);
      EXPECT_EQ(adds.fetch(0, {.op = FetchOp::add, .operand = 1}, kPatience).value, word);
      Import blind(importer, "data", {.access = Access::write_only}, kBegin);
      EXPECT_EQ(blind.load(0, back, kPatience), Status::refused);
    }
  });
}

TEST_F(ImportOpenings, that_are_in_vain_say_why) {
  with_two([&](Interface& exporter, Interface& importer) {
    auto gone = std::make_unique<Segment>(exporter, SegmentOptions{.bytes = 4096});
    const Ticket stale_ticket = gone->ticket();
    gone.reset();
    MessageArea area(exporter, 4096);
    NotificationQueue queue(exporter, 16);
    const Slot slot(area, queue, {});
    exporter.publish("slot", slot.ticket());
    Import stale(importer, stale_ticket, kBegin), wrong(importer, "slot", kBegin);
    EXPECT_EQ(stale.opened(kPatience), Status::stale);
    EXPECT_EQ(wrong.opened(kPatience), Status::refused);
    std::uint64_t back = 0;
    for (int i = 0; i != 2; ++i) {  // for good
      EXPECT_EQ(stale.opened(0ns), Status::stale);
      EXPECT_EQ(wrong.opened(kPatience), Status::refused);
      EXPECT_EQ(error_of([&] { stale.open(0ns); }), ErrorCode::seed_stale);
      EXPECT_EQ(error_of([&] { wrong.open(0ns); }), ErrorCode::seed_wrong_kind);
      EXPECT_EQ(stale.load(0, back, kPatience), Status::connecting);
    }
    EXPECT_EQ(error_of([&] { Import(importer, slot.ticket(), kBegin); }), ErrorCode::seed_wrong_kind);
    EXPECT_EQ(error_of([&] { Import(importer, Ticket{}, kBegin); }), ErrorCode::invalid_argument);
    EXPECT_EQ(error_of([&] { Import(importer, stale_ticket, {.access = Access{3}}, kBegin); }),
              ErrorCode::invalid_argument);
    Import nameless(importer, "no name: a space", kBegin);
    EXPECT_EQ(nameless.opened(kPatience), Status::refused);
    EXPECT_EQ(error_of([&] { nameless.open(0ns); }), ErrorCode::name_invalid);
  });
}

// At any stage, by a name that nobody ever has, too. The next one opens as if there had been none.
TEST_F(ImportOpenings, may_be_given_up_at_any_time) {
  with_two([&](Interface& exporter, Interface& importer) {
    Segment segment(exporter, {.name = "data", .bytes = 4096, .sharing = Sharing::mapped_read_write});
    for (int i = 0; i != 40; ++i) {
      Import never(importer, "never", kBegin);
      Import by_name(importer, "data", kBegin);
      Import by_ticket(importer, segment.ticket(), kBegin);
      const MappedSlot mapping(importer, segment.ticket(), kBegin);
      for (int look = 0; look != i % 8; ++look)
        static_cast<void>(by_name.opened(std::chrono::microseconds{20}));
      if (i % 3 != 0) continue;
      EXPECT_EQ(by_ticket.opened(kPatience), Status::ok);
    }
    Import import(importer, "data");
    EXPECT_EQ(import.writes_by_stores(), nodes == nullptr);
  });
}

// Two wait for one, in threads of their own, and each hears of it.
TEST_F(ImportOpenings, end_for_who_waits_when_they_are_cancelled) {
  with_two([&](Interface& exporter, Interface& importer) {
    Import import(importer, "late", kBegin);
    std::uint64_t back = 0;
    for (const bool reads : {false, true}) {
      std::array<Status, 2> said{Status::pending, Status::pending};
      std::atomic<int> over = 0;
      std::array<std::thread, 2> waiting;
      for (std::size_t i = 0; i != 2; ++i)
        waiting[i] = std::thread([&, i] {
          std::uint64_t word = 0;
          said[i] = reads ? import.load(0, word, kPatience) : import.opened(kPatience);
          ++over;
        });
      while (over != 2) {  // they may not wait yet
        importer.cancel();
        std::this_thread::yield();
      }
      for (std::thread& each : waiting) each.join();
      EXPECT_EQ(said, (std::array{Status::cancelled, Status::cancelled}));
    }
    EXPECT_EQ(import.opened(0ns), Status::timed_out) << "it goes on";
    std::array<Status, 2> said{};
    std::array<std::thread, 2> waiting;
    for (std::size_t i = 0; i != 2; ++i)
      waiting[i] = std::thread([&, i] { said[i] = import.opened(kPatience); });
    const Segment segment(exporter, {.name = "late", .bytes = 4096, .sharing = Sharing::mapped_read_only});
    for (std::thread& each : waiting) each.join();
    EXPECT_EQ(said, (std::array{Status::ok, Status::ok}));
    EXPECT_EQ(import.load(0, back, kPatience), Status::ok);
  });
}

// One thread waits for all of them at once; one whose name nobody has holds up no other.
TEST_F(ImportOpenings, of_fifty_at_once_are_held_up_by_none_that_never_opens) {
  with_two([&](Interface& exporter, Interface& importer) {
    constexpr std::size_t kCount = 50;
    std::vector<std::unique_ptr<Import>> imports;
    Import never(importer, "never", kBegin);
    for (std::size_t i = 0; i != kCount; ++i)
      imports.push_back(std::make_unique<Import>(importer, "many" + std::to_string(i), kBegin));
    std::vector<std::unique_ptr<Segment>> segments;
    for (std::size_t i = 0; i != kCount; ++i)
      segments.push_back(std::make_unique<Segment>(
          exporter,
          SegmentOptions{
              .name = "many" + std::to_string(i), .bytes = 4096, .sharing = kKinds[i % kKinds.size()]}));
    const auto all_open = [&] {
      return std::ranges::all_of(imports, [](const auto& each) { return each->opened(0ns) == Status::ok; });
    };
    EXPECT_EQ(importer.wait_any(all_open, kPatience), Status::ok);
    EXPECT_EQ(never.opened(0ns), Status::timed_out);
  });
}

TEST_F(ImportOpenings, of_mapped_slots_go_on_while_their_program_does_other_work) {
  with_two([&](Interface& exporter, Interface& importer) {
    Segment shared(exporter, {.bytes = 4096, .sharing = Sharing::mapped_read_write}),
        guarded(exporter, {.bytes = 4096});
    MappedSlot slot(importer, shared.ticket(), kBegin), none(importer, guarded.ticket(), kBegin);
    const Status wanted = nodes == nullptr ? Status::ok : Status::refused;
    const auto both_over = [&] {
      const bool over = slot.opened(0ns) != Status::timed_out;
      return over && none.opened(0ns) != Status::timed_out;
    };
    EXPECT_EQ(importer.wait_any(both_over, kPatience), Status::ok);
    EXPECT_EQ(slot.opened(0ns), wanted);
    for (int i = 0; i != 2; ++i) {  // for good
      EXPECT_EQ(none.opened(kPatience), Status::refused);
      EXPECT_EQ(error_of([&] { none.open(0ns); }), ErrorCode::not_permitted);
      EXPECT_TRUE(none.bytes().empty() && none.writable().empty() && !none.current() && !none.can_write());
      EXPECT_EQ(none.status(), Status::stale);
    }
    EXPECT_EQ(error_of([&] { MappedSlot(importer, Ticket{}, kBegin); }), ErrorCode::invalid_argument);
    if (wanted != Status::ok) return;
    EXPECT_EQ(slot.status(), Status::ok);
    slot.word<std::uint64_t>(8) = 5;
    EXPECT_EQ(shared.at<std::uint64_t>(8), 5u);
  });
}

// --- exporters that stop, and die

TEST_F(ImportOpenings, wait_for_an_exporter_that_was_stopped_and_goes_on) {
  Actor exporter([&](Line& line) {
    Interface interface(other_options());
    Segment segment(interface, {.name = "data", .bytes = 4096, .sharing = Sharing::mapped_read_write});
    line.put(segment.ticket());
    line.take<char>();
    return 0;
  });
  const auto ticket = exporter.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  exporter.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return exporter.stopped(); }));
  Actor importer([&](Line& line) {
    Interface interface(options());
    {
      Import given_up(interface, *ticket, kBegin);
      if (given_up.opened(1ms) != Status::timed_out) return 1;
    }
    Import import(interface, *ticket, kBegin);
    MappedSlot mapped(interface, *ticket, kBegin);
    if (import.opened(5ms) != Status::timed_out || mapped.opened(0ns) != Status::timed_out) return 2;
    line.put('s');
    line.take<char>();
    if (import.opened(kPatience) != Status::ok) return 3;
    return mapped.opened(kPatience) == (nodes == nullptr ? Status::ok : Status::refused) ? 0 : 4;
  });
  ASSERT_TRUE(importer.line().take<char>());
  exporter.signal(SIGCONT);
  importer.line().put('l');
  EXPECT_EQ(importer.wait(), 0);
  exporter.line().put('.');
  EXPECT_EQ(exporter.wait(), 0);
}

TEST_F(ImportOpenings, tell_of_the_death_of_the_exporter) {
  Actor exporter([&](Line& line) {
    Interface interface(other_options());
    Segment segment(interface, {.bytes = 4096, .sharing = Sharing::mapped_read_write});
    line.put(segment.ticket());
    line.take<char>();
    return 0;
  });
  const auto ticket = exporter.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  exporter.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return exporter.stopped(); }));
  Actor importer([&](Line& line) {
    Interface interface(options());
    Import import(interface, *ticket, kBegin);
    MappedSlot mapped(interface, *ticket, kBegin);
    if (import.opened(1ms) != Status::timed_out) return 1;
    line.put('s');
    const Status said = import.opened(kPatience);
    if (said != Status::link_ended && said != Status::refused) return 2;
    const ErrorCode why = error_of([&] { import.open(0ns); });
    if (why != ErrorCode::peer_died && why != ErrorCode::peer_refused) return 3;
    if (mapped.opened(kPatience) == Status::ok) return 4;
    return import.opened(0ns) == said ? 0 : 5;
  });
  ASSERT_TRUE(importer.line().take<char>());
  exporter.signal(SIGKILL);
  EXPECT_EQ(importer.wait(), 0);
}

TEST_F(ImportOpenings, are_nothing_to_a_forked_child) {
  with_two([&](Interface& exporter, Interface& importer) {
    const Segment segment(exporter, {.name = "data", .bytes = 4096, .sharing = Sharing::mapped_read_write});
    auto begun = std::make_unique<Import>(importer, "never", kBegin);
    auto mapping = std::make_unique<MappedSlot>(importer, segment.ticket(), kBegin);
    Import open(importer, "data");
    Actor child([&](Line&) {
      if (begun->opened(kPatience) != Status::forked || open.opened(0ns) != Status::forked) return 1;
      if (mapping->opened(kPatience) != Status::forked) return 2;
      if (error_of([&] { begun->open(kPatience); }) != ErrorCode::forked) return 3;
      if (error_of([&] { Import(importer, "data", kBegin); }) != ErrorCode::forked) return 4;
      begun.reset();
      mapping.reset();
      return 0;
    });
    EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(begun->opened(0ns), Status::timed_out);
  });
}

}  // namespace
}  // namespace hamlyn::test
