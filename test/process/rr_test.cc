// The thesis's own interface (hamlyn/c/rr.h): its code fragments between processes, and what differs.
#include "hamlyn/c/rr.h"

#include "node/mind/node_wire.h"

#include "test/process/rr_ends.h"

namespace hamlyn::test {
namespace {

TEST_F(Rr, the_papers_fragments_run) {
  for (const auto fragment : {fragment_export, fragment_export_heap}) {
    with_exporter(
        [=](Line& line) {
          char* address = nullptr;
          int control = -1, data = -1;
          const int segment = fragment(&address);
          std::memset(address, 0, 8192);  // malloc gives what was there
          fragment_descriptors(segment, &control, &data);
          line.put('e');
          const rr_record record = record_from(control);
          EXPECT_EQ(record.kind, static_cast<std::uint32_t>(RR_WRITTEN));
          EXPECT_EQ(record.offset, 80u);
          EXPECT_EQ(record.length, 40u);
          EXPECT_EQ(std::memcmp(address + 80, kWords, sizeof kWords), 0);
          line.take<char>();
          EXPECT_EQ(std::memcmp(address + 120, kWords, sizeof kWords), 0) << "it has landed by now";
          EXPECT_EQ(address[4096], 'b');
          rr_record more;
          EXPECT_EQ(::read(control, &more, sizeof more), -1) << "only one write had the notify bit";
          EXPECT_EQ(rr_cleanexport(segment), 0);
        },
        [] {
          const int segment = fragment_import();
          Results results;
          EXPECT_EQ(write_ten(segment, 80 | RR_NOTIFY), 0);
          EXPECT_EQ(write_ten(segment, 120), 0);
          const std::vector<char> block(4096, 'b');
          EXPECT_EQ(rwblk(segment, 4096, 4096, block.data()), 0);
          EXPECT_EQ(rri(segment, results.segment, 80, 8 | RR_NOTIFY), 0);
          rr_record record = record_from(results.control);
          EXPECT_EQ(record.kind, static_cast<std::uint32_t>(RR_READ));
          EXPECT_EQ(record.offset, 8u);
          EXPECT_EQ(record.length, 40u);
          EXPECT_EQ(record.count, 1u);
          EXPECT_EQ(std::memcmp(results.address + 8, kWords, sizeof kWords), 0);
          EXPECT_EQ(rrblk(segment, results.segment, 4096, 4096 | RR_NOTIFY, 4096), 0);
          record = record_from(results.control);
          EXPECT_EQ(record.length, 4096u);
          EXPECT_EQ(std::memcmp(results.address + 4096, block.data(), block.size()), 0);
          const cas_place place{segment, 0, results.segment, 64, results.address};
          EXPECT_TRUE(fragment_cas(&place, 0, 5, 1));
          EXPECT_FALSE(fragment_cas(&place, 0, 6, 1));
          EXPECT_TRUE(fragment_cas(&place, 5, 0, 2));
          EXPECT_EQ(rr_cleanimport(segment), 0);
        });
  }
}

// Processes that hold a lock by CAS count without another lock; so does the exporter, on its own segment.
TEST_F(Rr, a_lock_by_cas_is_held_by_one) {
  constexpr unsigned kRounds = 30;
  const auto count_to = [](int segment, volatile char* counter, unsigned who, const Results& results) {
    const cas_place place{segment, 0, results.segment, 0, results.address};
    for (unsigned done = 0; done < kRounds;) {
      if (!fragment_cas(&place, 0, who, who)) continue;
      if (counter != nullptr) {
        *counter = static_cast<char>(*counter + 1);
      } else {
        EXPECT_EQ(rrblk(segment, results.segment, 64, 64 | RR_NOTIFY, 1), 0);
        record_from(results.control);
        const char next = static_cast<char>(results.address[64] + 1);
        EXPECT_EQ(rwblk(segment, 64, 1, &next), 0);
      }
      EXPECT_TRUE(fragment_cas(&place, who, 0, who)) << "somebody else took it";
      ++done;
    }
  };
  Actor exporter = process(Side::exporter, [&](Line& line) {
    char* address = nullptr;
    const int segment = fragment_export(&address);
    line.put('e');
    Results results;
    count_to(segment, address + 64, 1, results);
    line.take<char>();
    EXPECT_EQ(address[64], static_cast<char>(3 * kRounds));
    return 0;
  });
  ASSERT_TRUE(exporter.line().take<char>());
  const auto importer = [&](unsigned who) {
    return process(Side::importer, [&, who](Line&) {
      Results results;
      const int segment = fragment_import();
      count_to(segment, nullptr, who, results);
      return rr_cleanimport(segment);
    });
  };
  Actor one = importer(2), other = importer(3);
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(other.wait(), 0);
  exporter.line().put('.');
  EXPECT_EQ(exporter.wait(), 0);
}

TEST_F(Rr, cas_says_who_was_last) {
  with_exporter(
      [](Line& line) {
        char* address = nullptr;
        fragment_export(&address);
        line.put('e');
        line.take<char>();
      },
      [] {
        const int segment = fragment_import();
        Results results;
        const auto swap = [&](std::uint32_t expected, std::uint32_t desired, std::uint32_t nonce) {
          EXPECT_EQ(rrcsi(segment, results.segment, 8, 16, expected, desired, nonce), 0);
          return results.word(16);
        };
        const auto is = [](RrWord word, std::uint32_t value, std::uint32_t nonce) {
          EXPECT_EQ(word.value, value);
          EXPECT_EQ(word.nonce, nonce);
        };
        is(swap(0, 7, 100), 0, 100);
        is(swap(0, 8, 101), 7, 100);
        is(swap(0, 7, 100), 7, 100);  // as one whose reply was lost sees it: the new value, and its own nonce
        is(swap(7, 9, 102), 7, 102);
        is(swap(9, 9, 103), 9, 103);
        EXPECT_EQ(rr_cleanimport(segment), 0);
      });
}

TEST_F(Rr, writes_wait_for_what_is_not_pinned) {
  take_turns(
      [](Line& line) {
        char* address = nullptr;
        int control = -1, data = -1;
        const int segment = fragment_export(&address);
        fragment_descriptors(segment, &control, &data);
        EXPECT_EQ(rr_remap(segment, address + 5000, 1, nullptr, 0), address);
        line.put('e');
        line.take<char>();
        char room[256];
        rr_held held;
        EXPECT_TRUE(ready(data));
        EXPECT_EQ(::read(data, room, sizeof room), static_cast<ssize_t>(sizeof held) + 40);
        std::memcpy(&held, room, sizeof held);
        EXPECT_EQ(held.offset, 4096u);
        EXPECT_EQ(held.notify, 1);
        EXPECT_EQ(std::memcmp(room + sizeof held, kWords, 40), 0);
        EXPECT_EQ(address[4096], 0);
        EXPECT_EQ(record_from(control).kind, static_cast<std::uint32_t>(RR_WAITS));
        EXPECT_EQ(rr_remap(segment, address, 4096, address + 4096, 4096), address);
        line.put('p');
        line.take<char>();
        EXPECT_EQ(address[4096], 1);
        EXPECT_EQ(address[0], 0);
      },
      [](Line& line) {
        const int segment = fragment_import();
        Results results;
        EXPECT_EQ(rri(segment, results.segment, 4096, 0 | RR_NOTIFY), 0);
        EXPECT_EQ(record_from(results.control).kind, static_cast<std::uint32_t>(RR_READ_FAILED));
        EXPECT_EQ(write_ten(segment, 4096 | RR_NOTIFY), 0);
        line.put('w');
        line.take<char>();
        EXPECT_EQ(write_ten(segment, 4096), 0);
        EXPECT_EQ(write_ten(segment, 0), 0);
        EXPECT_ERRNO(rrcsi(segment, results.segment, 0, 0, 0, 1, 1), EAGAIN);
        EXPECT_EQ(rr_cleanimport(segment), 0);
      });
}

TEST_F(Rr, mprot_holds_what_comes) {
  with_exporter(
      [](Line& line) {
        char* address = nullptr;
        const int segment = fragment_export(&address);
        EXPECT_EQ(mprot(segment), 0);
        line.put('e');
        line.take<char>();
        EXPECT_EQ(address[0], 0);
        EXPECT_EQ(munprot(segment), 0);
        EXPECT_EQ(address[0], 1);
      },
      [] {
        const int segment = fragment_import();
        EXPECT_EQ(write_ten(segment, 0), 0);
        EXPECT_EQ(rr_cleanimport(segment), 0);  // it has been taken
        const int more = fragment_import();
        const char block[4096] = {};
        for (int i = 0; i < 20; ++i) EXPECT_EQ(rwblk(more, 4096, sizeof block, block), 0);
        EXPECT_ERRNO(rr_cleanimport(more), ENOBUFS);
      });
}

TEST_F(Rr, notification_is_as_it_was_set) {
  struct Case {
    int control;
    std::uint32_t bit;
    bool told;
  };
  for (const Case& each : {Case{RR_NOINTR, RR_NOTIFY, false}, Case{RR_INTR, 0, true},
                           Case{RR_CINTR, 0, false}, Case{RR_CINTR, RR_NOTIFY, true}}) {
    with_exporter(
        [&](Line& line) {
          char* address = nullptr;
          const int segment = fragment_export(&address);
          const int control = rr_getfd(segment, RR_CONTROL);
          EXPECT_EQ(rr_setintr(segment, each.control), 0);
          line.put('e');
          line.take<char>();
          EXPECT_EQ(address[0], 1);
          pollfd fd{control, POLLIN, 0};
          EXPECT_EQ(::poll(&fd, 1, each.told ? kPatienceMs : 0), each.told ? 1 : 0);
        },
        [&] {
          const int segment = fragment_import();
          EXPECT_EQ(write_ten(segment, each.bit), 0);
          Results results;
          EXPECT_EQ(rr_setintr(results.segment, each.control), 0);
          EXPECT_EQ(rri(segment, results.segment, 0, each.bit), 0);
          EXPECT_EQ(rrcsi(segment, results.segment, 64, 64, 0, 1, 1), 0);  // the read is over before it
          pollfd fd{results.control, POLLIN, 0};
          EXPECT_EQ(::poll(&fd, 1, each.told ? kPatienceMs : 0), each.told ? 1 : 0);
          EXPECT_EQ(rr_cleanimport(segment), 0);
        });
  }
}

// The notify bit of an offset in the exporter's segment; what is done without it is told of to nobody.
TEST_F(Rr, exporters_are_told_of_reads_and_cas_that_ask_for_it) {
  take_turns(
      [](Line& line) {
        char* address = nullptr;
        const int segment = fragment_export(&address);
        const int control = rr_getfd(segment, RR_CONTROL);
        line.put('e');
        line.take<char>();
        std::uint64_t peer = 0;
        const auto expect = [&](rr_kind kind, std::uint64_t offset, std::uint64_t length) {
          const rr_record record = record_from(control);
          EXPECT_EQ(record.kind, static_cast<std::uint32_t>(kind));
          EXPECT_EQ(record.offset, offset);
          EXPECT_EQ(record.length, length);
          EXPECT_EQ(record.count, 1u);
          peer = record.peer;
        };
        expect(RR_GOT, 80, 40);
        expect(RR_GOT, 4096, 100);
        expect(RR_SWAPPED, 8, 8);
        expect(RR_SWAPPED, 8, 8);  // it did not swap
        EXPECT_TRUE(nodes == nullptr || peer >> node::kNodeShift == 2);
        EXPECT_EQ(rr_setintr(segment, RR_NOINTR), 0);
        line.put('n');
        line.take<char>();
        rr_record more;
        EXPECT_EQ(::read(control, &more, sizeof more), -1);
        EXPECT_EQ(errno, EAGAIN);
      },
      [](Line& line) {
        const int segment = fragment_import();
        Results results;
        EXPECT_EQ(rri(segment, results.segment, 120, 0), 0);
        EXPECT_EQ(rrcsi(segment, results.segment, 8, 0, 0, 1, 1), 0);
        EXPECT_EQ(rri(segment, results.segment, 80 | RR_NOTIFY, 0), 0);
        EXPECT_EQ(rrblk(segment, results.segment, 4096 | RR_NOTIFY, 0, 100), 0);
        EXPECT_EQ(rrcsi(segment, results.segment, 8 | RR_NOTIFY, 0, 1, 7, 2), 0);
        EXPECT_EQ(rrcsi(segment, results.segment, 8 | RR_NOTIFY, 0, 0, 8, 3), 0);
        EXPECT_EQ(results.word(0).value, 7u);
        EXPECT_EQ(rrcsi(results.segment, results.segment, 64 | RR_NOTIFY, 0, 0, 1, 1), 0);
        line.put('d');
        line.take<char>();
        EXPECT_EQ(rri(segment, results.segment, 80 | RR_NOTIFY, 0), 0);
        EXPECT_EQ(rrcsi(segment, results.segment, 8 | RR_NOTIFY, 0, 7, 8, 4), 0);
        EXPECT_EQ(rr_cleanimport(segment), 0);
      });
}

TEST_F(Rr, long_blocks_go_in_pieces) {
  constexpr int kBytes = 300000;
  with_exporter(
      [](Line& line) {
        int segment = -1;
        char* const address = rr_export("long", kBytes, 0600, &segment, nullptr);
        for (int i = 0; i < kBytes; ++i) address[i] = static_cast<char>(i % 251);
        line.put('e');
        line.take<char>();
      },
      [] {
        const int segment = rr_import("long", O_RDONLY);
        int landing = -1;
        char* const address = rr_export(nullptr, kBytes, 0600, &landing, nullptr);
        const int control = rr_getfd(landing, RR_CONTROL);
        EXPECT_EQ(rrblk(segment, landing, 1, 2 | RR_NOTIFY, kBytes - 2), 0);
        record_from(control);
        int wrong = 0;
        for (int i = 0; i < kBytes - 2; ++i)
          wrong += address[i + 2] != static_cast<char>((i + 1) % 251) ? 1 : 0;
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(rr_cleanimport(segment), 0);
      });
}

}  // namespace
}  // namespace hamlyn::test
