#include "tool/perf/ranks.h"

#include <optional>
#include <string>
#include <thread>

#include "job/desk_service.h"
#include "tool/perf/far_nodes.h"

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

Interface* working = nullptr;

// Where a rank is, and what it is there.
Interface::Options at_place(Place place, std::uint32_t rank) {
  Interface::Options options{.requests = kGetsOfRank};
  if (place == Place::ofi) options.node = at_far_node(static_cast<int>(rank));
  return options;
}
JobPlace place_of(const std::string& job, Place place, std::uint32_t rank) {
  if (place == Place::ofi) return {.job = job, .rank = rank, .size = 2, .here = 0, .size_here = 1};
  return {.job = job, .rank = rank, .size = 2, .here = rank, .size_here = 2};
}

void take_part(const std::string& job, std::uint32_t rank, const RankOptions& options, Room& room,
               const RankWork& work) {
  const Interface::Options at = at_place(options.place, rank);
  Interface desks({.node = at.node});
  std::optional<DeskOfTwo> desk;
  if (rank == 0) desk.emplace(desks, job);
  Interface interface(at);
  splitc::ProgramOptions way = options.way;
  way.heap = options.heap;
  splitc::Program program(interface, place_of(job, options.place, rank), way);
  {
    Words words(2 * kOver);
    splitc::barrier();
    working = &interface;
    work(words, room);
    working = nullptr;
    splitc::barrier();
  }
  program.end();
  room.meet();  // the desk is there until both have left
}

}  // namespace

std::vector<double> run_ranks(Cores cores, const RankOptions& options, const RankWork& first,
                              const RankWork& second) {
  const std::string job = new_meeting();
  if (options.place == Place::ofi) far_node(0);  // here, once for all rounds
  return run_pair(
      cores, {.results = options.results}, [&](Room& room) { take_part(job, 0, options, room, first); },
      [&](Room& room) { take_part(job, 1, options, room, second); });
}

Interface& interface_of_rank() { return *working; }

void serve(Words& words, Room&) {
  const auto over = own(words, kOver);
  while (over.load(std::memory_order_acquire) == 0) splitc::poll();
}

}  // namespace hamlyn::tool::perf
