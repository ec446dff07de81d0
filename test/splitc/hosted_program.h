#pragma once
// Split-C programs on the simulator: a desk in a process of its own, and ranks in others.
#include <cstdlib>
#include <functional>
#include <string>

#include "hamlyn/rpc.h"
#include "hamlyn/splitc.h"
#include "job/desk_service.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {

// So many seeds, times HAMLYN_TEST_SEEDS. A fiber's switch costs sanitized builds much.
inline std::uint64_t more(std::uint64_t seeds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  seeds = (seeds + 3) / 4;
#endif
  const char* const times = std::getenv("HAMLYN_TEST_SEEDS");
  return seeds * (times == nullptr ? 1 : std::strtoull(times, nullptr, 10));
}

// Ways of a program.
enum class Way { mapped, guarded, vi };
inline constexpr Way kWays[] = {Way::mapped, Way::guarded, Way::vi};
inline splitc::ProgramOptions options_of(Way way, std::size_t heap, std::uint32_t credits = 0) {
  return {.heap = heap,
          .guarded = way == Way::guarded,
          .over = way == Way::vi ? splitc::Over::vi : splitc::Over::segments,
          .credits = credits};
}

// Adds the desk, process 1, and so many ranks behind it. `errors` gets what each rank's program threw.
class HostedProgram {
 public:
  HostedProgram(Hosted& hosted, std::uint32_t ranks, const splitc::ProgramOptions& options,
                std::function<void()> body)
      : errors(ranks), over_(ranks) {
    hosted.add([this, ranks](Hosted& all) { serve_desk(all, ranks); });
    for (std::uint32_t rank = 0; rank != ranks; ++rank)
      hosted.add([this, rank, ranks, options, body](Hosted& all) {
        try {
          Interface interface({.requests = 64});
          splitc::Program program(
              interface, {.job = "splitc", .rank = rank, .size = ranks, .here = rank, .size_here = ranks},
              options);
          body();
          program.end();
          ++ended;
        } catch (const std::exception& error) {
          if (all.alive()) errors[rank] = error.what();
        }
        over_[rank] = true;
      });
  }

  std::vector<std::string> errors;
  std::uint32_t ended = 0;

 private:
  // Serves as `hamlyn run` does, until all ranks have come to their ends.
  void serve_desk(Hosted& all, std::uint32_t ranks) {
    using internal_::job::DeskService;
    Interface interface;
    internal_::job::Terms terms;
    terms.size = ranks;
    DeskService desk(terms);
    rpc::ServerOptions options = internal_::job::kDeskServer;
    options.clients = ranks;
    options.owed = 4096;
    rpc::Server<DeskService> server(interface, internal_::job::desk_name("splitc"), desk, options);
    std::vector<bool> told(ranks);
    const auto tell = [&](std::uint32_t rank, std::uint32_t status) {
      if (!told[rank]) desk.ended(rank, status);
      told[rank] = true;
    };
    while (std::ranges::find(over_, false) != over_.end()) {
      static_cast<void>(server.serve_one(std::chrono::microseconds{200}));
      for (std::uint32_t rank = 0; rank != ranks; ++rank)
        if (!all.alive(rank + 2)) tell(rank, 128 + 9);
      for (std::uint32_t rank = 0; rank != ranks; ++rank)
        if (over_[rank]) tell(rank, errors[rank].empty() ? 0 : 1);
    }
  }

  std::vector<bool> over_;  // ranks that have come to their ends
};

}  // namespace hamlyn::test
