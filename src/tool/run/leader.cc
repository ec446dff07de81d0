#include "tool/run/leader.h"

#include <fmt/core.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

using internal_::job::DeskService;
using namespace std::chrono_literals;

constexpr auto kPatience = 3s;        // between SIGTERM and SIGKILL
constexpr auto kComing = 60s;         // for other hosts to come
constexpr std::uint32_t kLost = 255;  // the status of ranks whose host has gone

internal_::job::Secret make_secret() {
  internal_::job::Secret out;
  for (std::size_t at = 0; at != out.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t half = internal_::base::random_key();
    std::memcpy(out.data() + at, &half, sizeof half);
  }
  return out;
}

// Each rank has a meeting and a watch under way, and each host an order to wait for.
constexpr hamlyn::rpc::ServerOptions kDesk{
    .clients = 1024, .of_one = 2, .stacks = 4, .frame = 8064, .long_frame = 0, .result = 8064, .owed = 4096};

std::string own_program() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "hamlyn" : self.string();
}

}  // namespace

Leader::Leader(const RunOptions& options, int front)
    : options_(options),
      secret_(make_secret()),
      events_(front),
      interface_({.node = options.node, .start_node = options.node.empty()}),
      desk_(options.ranks, secret_, options.hosts),
      server_(interface_, internal_::job::desk_name(options.job), desk_, kDesk),
      part_(options,
            place_of(options) == options.hosts.size()
                ? Block{}
                : block_of(options.ranks, options.hosts.size(), place_of(options)),
            secret_) {
  desk_.on_report([this] { events_.news(); });
  serving_ = std::thread([this] { static_cast<void>(server_.run()); });
}

Leader::~Leader() {
  server_.stop();
  serving_.join();
}

std::uint32_t Leader::run() {
  start_hosts();
  part_.start();
  while (!over()) {
    const Events::Came came = events_.wait(part_.lines(), 1s);
    if (came.front_ended) return 128 + SIGKILL;
    std::vector<std::uint32_t> all(options_.ranks);
    for (std::uint32_t rank = 0; rank != options_.ranks; ++rank) all[rank] = rank;
    for (const int each : came.signals) signal(all, each);
    for (const RankEnd& each : desk_.take_reports()) note(each);
    reap();
    if (options_.hosts.size() > 1) look_for_lost_hosts();
    if (patience_ && Clock::now() > *patience_) signal(to_be_ended(), SIGKILL);
  }
  for (Lines& each : part_.lines()) each.pass_on(), each.end();
  if (options_.json) print_json();
  return status_;
}

void Leader::start_hosts() {
  if (options_.via.empty()) return;
  const std::string folder = std::filesystem::current_path().string();
  for (std::size_t host = 0; host != options_.hosts.size(); ++host) {
    if (host == place_of(options_)) continue;
    const std::string& name = options_.hosts[host];
    Start what{.words = words_of(options_.via, name), .environment = {}};
    for (const std::string& each : {own_program(), std::string("run"), std::string("--agent")})
      what.words.push_back(each);
    what.words.push_back(agent_of(options_, name, folder));
    others_.emplace(start(what), host);
  }
}

void Leader::reap() {
  while (const auto child = take_ended()) {
    if (const auto rank = part_.take(child->pid)) {
      note({*rank, child->status});
    } else if (const auto other = others_.find(child->pid); other != others_.end()) {
      note_lost(other->second);
      others_.erase(other);
    }
  }
}

void Leader::note(const RankEnd& end) {
  if (!ended_.emplace(end.rank, end.status).second) return;
  desk_.ended(end.rank, end.status);
  if (end.status == 0) return;
  if (status_ == 0) status_ = end.status;
  const std::vector<std::uint32_t> others = to_be_ended();
  if (others.empty()) return;
  signal(others, SIGTERM);
  if (!patience_) patience_ = Clock::now() + kPatience;
}

std::vector<std::uint32_t> Leader::to_be_ended() {
  std::vector<std::uint32_t> out;
  for (std::uint32_t rank = 0; rank != options_.ranks; ++rank)
    if (!ended_.contains(rank) && !desk_.goes_on(rank)) out.push_back(rank);
  return out;
}

void Leader::signal(const std::vector<std::uint32_t>& ranks, int number) {
  for (const std::uint32_t rank : ranks) part_.signal(rank, number);
  if (options_.hosts.size() == 1 || ranks.empty()) return;
  std::vector<std::uint32_t> order{static_cast<std::uint32_t>(number)};
  order.insert(order.end(), ranks.begin(), ranks.end());
  desk_.order(order);
}

void Leader::note_lost(std::size_t host) {
  // A host that has ended well has reported all of its ranks before.
  for (const RankEnd& each : desk_.take_reports()) note(each);
  const Block block = block_of(options_.ranks, options_.hosts.size(), host);
  for (std::uint32_t rank = block.first; rank != block.first + block.ranks; ++rank) note({rank, kLost});
}

void Leader::look_for_lost_hosts() {
  const bool late = patience_ || Clock::now() - began_ > kComing;
  for (std::size_t host = 0; host != options_.hosts.size(); ++host)
    if (host != place_of(options_) && desk_.lost(options_.hosts[host], late)) note_lost(host);
}

void Leader::print_json() const {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (std::size_t host = 0; host != options_.hosts.size(); ++host) {
    const Block block = block_of(options_.ranks, options_.hosts.size(), host);
    for (std::uint32_t rank = block.first; rank != block.first + block.ranks; ++rank)
      ranks.push_back({{"rank", rank}, {"host", options_.hosts[host]}, {"status", ended_.at(rank)}});
  }
  const std::chrono::duration<double> took = Clock::now() - began_;
  const nlohmann::ordered_json all{{"job", options_.job},
                                   {"size", options_.ranks},
                                   {"status", status_},
                                   {"seconds", took.count()},
                                   {"ranks", std::move(ranks)}};
  fmt::print(stderr, "{}\n", all.dump());
}

}  // namespace hamlyn::tool
