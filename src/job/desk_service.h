#pragma once
// The desk as a service of calls, which `hamlyn run` has (docs/run.md). Ranks are told apart by their
// interfaces.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/rpc.h"
#include "job/block.h"
#include "job/desk.h"
#include "job/name.h"

namespace hamlyn::internal_::job {

using Secret = std::array<std::byte, 16>;

// Shape of the desk's calls at both ends. Frames are long enough for what the desk answers, and for what a
// rank gives. A meeting and a watch may be under way when a rank leaves: that is three stacks of four.
inline constexpr hamlyn::rpc::ClientOptions kDeskCalls{.stacks = 4, .frame = 8064, .result = 8064};
inline constexpr hamlyn::rpc::ServerOptions kDeskServer{.of_one = 2,
                                                        .stacks = kDeskCalls.stacks,
                                                        .frame = kDeskCalls.frame,
                                                        .long_frame = 0,
                                                        .result = kDeskCalls.result};
// Options of a client that looks for the desk for so long.
inline hamlyn::rpc::ClientOptions desk_calls(std::chrono::milliseconds timeout) {
  hamlyn::rpc::ClientOptions out = kDeskCalls;
  out.timeout = timeout;
  return out;
}

// How a meeting ended, for one rank: its number, bytes that were gathered, words of a failure, the first of
// those bytes.
using Met = std::tuple<Outcome, std::uint64_t, std::uint64_t, std::string, std::vector<std::byte>>;

// An order to another host's `hamlyn run`: a signal, and the ranks that get it.
using Order = std::vector<std::uint32_t>;

// Facts of a job that the desk knows from its beginning.
struct Terms {
  std::uint32_t size = 1;
  Secret secret{};
  std::vector<std::string> hosts;
  std::uint64_t check = 0;  // of that list, as other hosts show theirs
  std::size_t own = 0;      // which of them has the desk; as many as there are: none
  std::string token = {};   // other hosts show it; empty: they come by themselves, and have none
};

class DeskService {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit DeskService(Terms terms)
      : terms_(std::move(terms)),
        desk_(terms_.size),
        meets_(terms_.size),
        watches_(terms_.size),
        enlisted_(terms_.hosts.size()) {}

  // --- for ranks

  void join(hamlyn::rpc::Call& call, std::uint32_t rank, const Secret& secret, bool go_on);
  void leave(hamlyn::rpc::Call& call);
  void meet(hamlyn::rpc::Call& call, hamlyn::rpc::Answer<Met> answer, Kind kind,
            std::span<const std::byte> block);
  std::vector<std::byte> gathered(hamlyn::rpc::Call& call, std::uint64_t round, std::uint64_t offset);
  void watch(hamlyn::rpc::Call& call, hamlyn::rpc::Answer<std::vector<RankEnd>> answer, std::uint64_t known);

  // --- for `hamlyn run` on other hosts

  // Takes the command of `host` for a part of this one, once: both have as many ranks, and the same hosts, by
  // the list's checksum. Returns the job's secret.
  Secret enlist(hamlyn::rpc::Call& call, const std::string& host, const std::string& token,
                std::uint32_t size, std::uint64_t check);
  // Answers with the next order.
  void orders(hamlyn::rpc::Call& call, hamlyn::rpc::Answer<Order> answer);
  // A rank of that host has ended.
  void report(hamlyn::rpc::Call& call, std::uint32_t rank, std::uint32_t status);

  // --- for `hamlyn run` on this one

  void ended(std::uint32_t rank, std::uint32_t status);
  bool goes_on(std::uint32_t rank);
  // Gives an order to every other host, also to those that come later. Of many that a host does not take the
  // last 64 are kept.
  void order(const Order& what);
  // Whether every other host has come.
  bool complete();
  // Whether that host was there and is not any more; `late`: or never came.
  bool lost(std::size_t host, Time now, bool late);
  // Takes what other hosts have reported.
  std::vector<RankEnd> take_reports();
  // Called when there is a report: from a thread that serves.
  void on_report(std::function<void()> called) { reported_ = std::move(called); }

 private:
  struct Host {
    std::optional<std::uint64_t> interface;  // none: it has not come
    std::optional<hamlyn::rpc::Answer<Order>> waits;
    std::optional<Time> without;  // since then it was not seen to wait for orders
    std::deque<Order> orders;
  };

  std::uint32_t rank_of(const hamlyn::rpc::Call& call) const;
  std::size_t host_of(const hamlyn::rpc::Call& call) const;
  void forget(std::uint32_t rank);
  void tell_met();
  void tell_ends();
  static void give(Host& host);

  std::mutex mutex_;
  const Terms terms_;
  Desk desk_;
  std::map<std::uint64_t, std::uint32_t> ranks_;  // by interface
  std::vector<std::optional<hamlyn::rpc::Answer<Met>>> meets_;
  struct Watch {
    hamlyn::rpc::Answer<std::vector<RankEnd>> answer;
    std::size_t known;
  };
  std::vector<std::optional<Watch>> watches_;
  std::vector<Host> enlisted_;  // as in the terms
  std::vector<RankEnd> reports_;
  std::function<void()> reported_;
};
HAMLYN_RPC(DeskService, join, leave, meet, gathered, watch, enlist, orders, report)

}  // namespace hamlyn::internal_::job
