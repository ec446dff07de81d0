#pragma once
// The desk as a service of calls, which `hamlyn run` has (docs/run.md). Ranks are told apart by their
// interfaces.
#include <array>
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
#include "job/desk.h"

namespace hamlyn::internal_::job {

using Secret = std::array<std::byte, 16>;

// The name that is registered for a job.
inline std::string desk_name(const std::string& job) { return "job." + job; }
inline constexpr std::size_t kMostName = 60;

// How a meeting ended, for one rank: its number, bytes that were gathered, words of a failure, the first of
// those bytes.
using Met = std::tuple<Outcome, std::uint64_t, std::uint64_t, std::string, std::vector<std::byte>>;

// An order to another host's `hamlyn run`: a signal, and the ranks that get it.
using Order = std::vector<std::uint32_t>;

class DeskService {
 public:
  DeskService(std::uint32_t size, const Secret& secret, std::vector<std::string> hosts)
      : desk_(size), secret_(secret), hosts_(std::move(hosts)), meets_(size), watches_(size) {}

  // --- for ranks

  void join(hamlyn::rpc::Call& call, std::uint32_t rank, const Secret& secret, bool go_on);
  void leave(hamlyn::rpc::Call& call);
  void meet(hamlyn::rpc::Call& call, hamlyn::rpc::Answer<Met> answer, Kind kind,
            std::span<const std::byte> block);
  std::vector<std::byte> gathered(hamlyn::rpc::Call& call, std::uint64_t round, std::uint64_t offset);
  void watch(hamlyn::rpc::Call& call, hamlyn::rpc::Answer<std::vector<RankEnd>> answer, std::uint64_t known);

  // --- for `hamlyn run` on other hosts

  // Takes the command of `host` for a part of this one: both have as many ranks, and the same hosts. Returns
  // the job's secret.
  Secret enlist(hamlyn::rpc::Call& call, const std::string& host, std::uint32_t size,
                const std::vector<std::string>& hosts);
  // Answers with the next order.
  void orders(hamlyn::rpc::Call& call, hamlyn::rpc::Answer<Order> answer);
  void report(hamlyn::rpc::Call& call, std::uint32_t rank, std::uint32_t status);

  // --- for `hamlyn run` on this one

  void ended(std::uint32_t rank, std::uint32_t status);
  bool goes_on(std::uint32_t rank);
  // Gives an order to every other host.
  void order(const Order& what);
  // Whether that host was there and is not any more, as far as it is known; `late`: or never came.
  bool lost(const std::string& host, bool late);
  // Takes what other hosts have reported.
  std::vector<RankEnd> take_reports();
  // Called when there is a report: from a thread that serves.
  void on_report(std::function<void()> called) { reported_ = std::move(called); }

 private:
  struct Host {
    std::uint64_t interface = 0;
    std::size_t without = 0;  // looks at it in a row without it waiting for orders
    std::optional<hamlyn::rpc::Answer<Order>> waits;
    std::deque<Order> orders;
  };

  std::uint32_t rank_of(const hamlyn::rpc::Call& call) const;
  void tell_met();
  void tell_ends();
  static void give(Host& host);

  std::mutex mutex_;
  Desk desk_;
  const Secret secret_;
  const std::vector<std::string> hosts_;
  std::map<std::uint64_t, std::uint32_t> ranks_;  // by interface
  std::vector<std::optional<hamlyn::rpc::Answer<Met>>> meets_;
  struct Watch {
    hamlyn::rpc::Answer<std::vector<RankEnd>> answer;
    std::size_t known;
  };
  std::vector<std::optional<Watch>> watches_;
  std::map<std::string, Host> enlisted_;
  std::vector<RankEnd> reports_;
  std::function<void()> reported_;
};
HAMLYN_RPC(DeskService, join, leave, meet, gathered, watch, enlist, orders, report)

}  // namespace hamlyn::internal_::job
