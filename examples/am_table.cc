// Active messages: a table whose rows are dealt out over the ranks of a job. Each rank adds to rows of all
// others, and then rank 0 fetches what stands there.
//
//   hamlyn run -n 4 am_table
//
// Started alone it is a job of one.
#include <hamlyn/am.h>
#include <hamlyn/job.h>

#include <array>
#include <cstdio>
#include <vector>

#include "check.h"

namespace am = hamlyn::am;

namespace {

constexpr std::uint32_t kRows = 1000;
constexpr am::HandlerNumber kAdd = 1, kRead = 2, kValue = 3;

void good(am::Result result) {
  if (result == am::Result::ok) return;
  std::fprintf(stderr, "am_table: %s\n", am::name(result));
  std::exit(1);
}

struct Told {
  am::Name name;
  am::Tag tag;
};

}  // namespace

int main() try {
  hamlyn::Interface interface;
  hamlyn::Job job(interface);
  am::Bundle bundle(interface);
  am::Endpoint endpoint(bundle);

  std::vector<std::int32_t> rows(kRows);
  std::int64_t sum = 0;
  std::uint32_t added = 0, read = 0;
  good(endpoint.set_handler(kAdd, [&](am::Token&, const am::Arrival& arrival) {
    rows.at(static_cast<std::size_t>(arrival.arguments[0])) += arrival.arguments[1];
    ++added;
  }));
  good(endpoint.set_handler(kRead, [&](am::Token& token, const am::Arrival& arrival) {
    good(token.reply(kValue, std::array{rows.at(static_cast<std::size_t>(arrival.arguments[0]))}));
  }));
  good(endpoint.set_handler(kValue, [&](am::Token&, const am::Arrival& arrival) {
    sum += arrival.arguments[0];
    ++read;
  }));

  // Everybody maps everybody.
  const am::Tag tag = 7 + job.rank();
  good(endpoint.set_tag(tag));
  std::vector<Told> all;
  check(job.all_gather(Told{endpoint.name(), tag}, all));
  for (std::uint32_t rank = 0; rank != job.size(); ++rank)
    good(endpoint.map(rank, all[rank].name, all[rank].tag));

  for (std::uint32_t row = 0; row != kRows; ++row)
    for (std::uint32_t rank = 0; rank != job.size(); ++rank)
      good(endpoint.request(rank, kAdd, std::array{static_cast<std::int32_t>(row), std::int32_t{1}}));
  while (added != kRows * job.size()) good(bundle.poll());

  if (job.rank() == 0) {
    for (std::uint32_t row = 0; row != kRows; ++row)
      for (std::uint32_t rank = 0; rank != job.size(); ++rank)
        good(endpoint.request(rank, kRead, std::array{static_cast<std::int32_t>(row)}));
    while (read != kRows * job.size()) good(bundle.poll());
    std::printf("%lld in all\n", static_cast<long long>(sum));
  }
  // Others poll until rank 0 has read all.
  while (job.barrier(std::chrono::milliseconds{1}) == hamlyn::Status::timed_out) good(bundle.poll());
  return written(0);
} catch (const std::exception& error) {
  std::fprintf(stderr, "am_table: %s\n", error.what());
  return 1;
}
