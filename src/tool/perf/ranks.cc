#include "tool/perf/ranks.h"

#include <optional>
#include <string>
#include <thread>

#include "job/desk_service.h"
#include "tool/perf/our_party.h"

namespace hamlyn::tool::perf {

namespace {

// The desk of a job of two, which `hamlyn run` has otherwise.
class DeskOfTwo {
 public:
  DeskOfTwo(Interface& interface, const std::string& job)
      : desk_(two_ranks()),
        server_(interface, internal_::job::desk_name(job), desk_, for_two_ranks()),
        serving_([this] { static_cast<void>(server_.run()); }) {}
  ~DeskOfTwo() {
    server_.stop();
    serving_.join();
  }

 private:
  static rpc::ServerOptions for_two_ranks() {
    rpc::ServerOptions out = internal_::job::kDeskServer;
    out.clients = 2;
    return out;
  }
  static internal_::job::Terms two_ranks() {
    internal_::job::Terms terms;
    terms.size = 2;
    return terms;
  }

  internal_::job::DeskService desk_;
  rpc::Server<internal_::job::DeskService> server_;
  std::thread serving_;
};

void take_part(const std::string& job, std::uint32_t rank, splitc::ProgramOptions options, Room& room,
               const RankWork& work) {
  Interface desks;
  std::optional<DeskOfTwo> desk;
  if (rank == 0) desk.emplace(desks, job);
  Interface interface({.requests = kGetsOfRank});
  options.heap = std::size_t{1} << 20;
  splitc::Program program(interface, {.job = job, .rank = rank, .size = 2, .here = rank, .size_here = 2},
                          options);
  {
    Words words(2 * kOver);
    splitc::barrier();
    work(words, room);
    splitc::barrier();
  }
  program.end();
  room.meet();  // the desk is there until both have left
}

}  // namespace

std::vector<double> run_ranks(Cores cores, std::size_t results, const splitc::ProgramOptions& options,
                              const RankWork& first, const RankWork& second) {
  const std::string job = new_meeting();
  return run_pair(
      cores, {.results = results}, [&](Room& room) { take_part(job, 0, options, room, first); },
      [&](Room& room) { take_part(job, 1, options, room, second); });
}

void serve(Words& words, Room&) {
  const auto over = own(words, kOver);
  while (over.load(std::memory_order_acquire) == 0) splitc::poll();
}

}  // namespace hamlyn::tool::perf
