// The thesis's own calls between simulated processes, of which each has an interface and numbers of its own.
#include <fcntl.h>
#include <hamlyn/c/rr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

// The name may not be there yet. -1: whoever would export it has died, or this process has.
int import_from(Hosted& all, std::uint64_t exporter) {
  int number = -1;
  while (all.alive() && all.alive(exporter) && (number = rr_import("ServiceFubar", O_RDWR)) == -1) {
    all.expect(errno == ENOENT || errno == ECONNRESET || errno == ECANCELED, "it cannot be imported");
    all.host.pause(kMillisecond / 10);
  }
  return number;
}

// The listing of docs/c-interface.md. False: the exporter has died, or its link has ended.
bool count_one_up(Hosted& all, int counter, int results, const char* address, unsigned nonce) {
  unsigned value = 0;
  for (;;) {
    if (rrcsi(counter, results, 0, 0, value, value + 1, nonce) == -1) {
      all.expect(errno == ECONNRESET || errno == ESTALE, "a swap has failed");
      return false;
    }
    if (*reinterpret_cast<const unsigned*>(address) == value) return true;
    value = *reinterpret_cast<const unsigned*>(address);
  }
}

void export_until(Hosted& all, std::uint64_t time, const std::function<void(const char*)>& look) {
  int segment = -1;
  char* const address = rr_export("ServiceFubar", 4096, 0600, &segment, nullptr);
  all.expect(address != reinterpret_cast<char*>(-1), "it cannot be exported");
  const int own = rr_import("ServiceFubar", O_RDWR);
  all.expect(own > 0 && rr_cleanimport(own) == 0, "one's own cannot be imported");
  if (all.host.time() < time) all.host.pause(time - all.host.time());
  look(address);
  all.expect(rr_cleanexport(segment) == 0, "it cannot be deleted");
}

TEST(HostedRr, counts_each_swap_once_though_packets_are_lost_late_and_repeated) {
  for (std::uint64_t seed = 1; seed <= kRoughSeeds / 4 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hosted hosted(rough_rules(seed), seed);
    constexpr unsigned kCounters = 3, kTimes = 20;
    hosted.add([&](Hosted& all) {
      export_until(all, 2000 * kMillisecond, [&](const char* address) {
        unsigned value = 0;
        std::memcpy(&value, address, sizeof value);
        EXPECT_EQ(value, kCounters * kTimes);
      });
    });
    for (unsigned nonce = 1; nonce <= kCounters; ++nonce) {
      hosted.add([nonce](Hosted& all) {
        int results = -1;
        const char* const address = rr_export(nullptr, 4096, 0600, &results, nullptr);
        const int counter = import_from(all, 1);
        for (unsigned i = 0; i < kTimes; ++i)
          all.expect(count_one_up(all, counter, results, address, nonce), "its link has ended");
        all.expect(rr_cleanimport(counter) == 0, "it cannot be given back");
        all.expect(rr_cleanimport(counter) == -1 && errno == EBADF, "it can be given back twice");
      });
    }
    hosted.run();
  }
}

TEST(HostedRr, reads_what_was_written_however_many_are_under_way) {
  Hosted hosted;
  hosted.add([](Hosted& all) { export_until(all, 20 * kMillisecond, [](const char*) {}); });
  hosted.add([](Hosted& all) {
    int landing = -1;
    const char* const address = rr_export(nullptr, 8192, 0600, &landing, nullptr);
    const int remote = import_from(all, 1);
    const std::vector<char> row(4096, 'r');
    all.expect(rwblk(remote, 0, 4096, row.data()) == 0, "it cannot be written");
    const int told = rr_getfd(landing, RR_CONTROL);
    all.expect(told != -1, "it has no descriptor");
    for (std::uint32_t i = 0; i < 200; ++i)  // more than there is room for
      all.expect(rri(remote, landing, i % 100 * 40, i * 40 | RR_NOTIFY) == 0, "it cannot be read");
    std::uint32_t reads = 0;
    for (rr_record record; reads < 200 && wait_until_readable(told);)
      while (::read(told, &record, sizeof record) == sizeof record)
        reads += record.kind == RR_READ ? record.count : 0;
    all.expect(reads == 200, "it is told of otherwise");
    all.expect(std::string_view(address, 8000) == std::string(8000, 'r'), "something else was read");
  });
  hosted.run();
}

void count(Hosted& hosted) {
  hosted.add([](Hosted& all) { export_until(all, kMillisecond, [](const char*) {}); });
  hosted.add([](Hosted& all) {
    int results = -1;
    const char* const address = rr_export(nullptr, 4096, 0600, &results, nullptr);
    const int counter = import_from(all, 1);
    for (int i = 0; i < 10 && counter != -1; ++i) {
      if (!count_one_up(all, counter, results, address, 7)) return;
    }
  });
}
TEST(HostedRr, tells_of_the_death_of_the_importer_at_any_time) { with_a_death_at_any_time(2, count); }
TEST(HostedRr, tells_of_the_death_of_the_exporter_at_any_time) { with_a_death_at_any_time(1, count); }

}  // namespace
}  // namespace hamlyn::test
