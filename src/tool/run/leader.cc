#include "tool/run/leader.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "tool/failure.h"
#include "tool/run/descendants.h"
#include "tool/run/hex.h"
#include "tool/run/processes.h"

namespace hamlyn::tool {
namespace {

using internal_::job::Block;
using internal_::job::block_of;
using internal_::job::DeskService;
using namespace std::chrono_literals;

constexpr auto kTelling = 100ms;      // between the end of a rank and SIGTERM for the others
constexpr auto kPatience = 3s;        // between SIGTERM and SIGKILL
constexpr auto kKillAgain = 1s;       // between SIGKILL and the next one, for hosts that have not taken it
constexpr auto kComing = 60s;         // for other hosts to come, and for their templates to end
constexpr std::uint32_t kLost = 255;  // the status of ranks whose host has gone

internal_::job::Secret make_secret() {
  internal_::job::Secret out;
  for (std::size_t at = 0; at != out.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t half = internal_::base::random_key();
    std::memcpy(out.data() + at, &half, sizeof half);
  }
  return out;
}

// Each rank has a meeting and a watch under way, and each host an order to wait for. Room for a client is
// made before it comes: there is some more, for ranks that are replaced and for strangers. Processors are for
// ranks.
hamlyn::rpc::ServerOptions desk_options(const RunOptions& options) {
  constexpr std::size_t kMore = 24;
  const std::size_t clients = options.ranks + options.hosts.size() + kMore;
  hamlyn::rpc::ServerOptions out = internal_::job::kDeskServer;
  out.clients = static_cast<std::uint32_t>(std::min<std::size_t>(clients, internal_::job::kMostClients));
  out.owed = 4096;
  out.waits = hamlyn::rpc::Waits::sleep;
  return out;
}

// The path of this program, as a shell on another host takes it.
std::string own_program() {
  constexpr const char* kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+/@%,:=";
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return "hamlyn";
  if (self.string().find_first_not_of(kPlain) != std::string::npos)
    throw Failure(
        fmt::format("'{}' has letters that a shell on another host takes for something else", self.string()),
        "usage", "install hamlyn in another folder", kUsage);
  return self.string();
}

RunOptions with_token(RunOptions options) {
  if (!options.via.empty()) options.token = hex_of(make_secret());
  return options;
}

}  // namespace

Leader::Leader(RunOptions options, int front)
    : options_(with_token(std::move(options))),
      others_wanted_(has_others(options_)),
      secret_(make_secret()),
      events_(front),
      interface_({.node = options_.node, .start_node = options_.node.empty()}),
      desk_({.size = options_.ranks,
             .secret = secret_,
             .hosts = options_.hosts,
             .check = check_of(options_.hosts),
             .own = place_of(options_),
             .token = options_.token}),
      server_(interface_, internal_::job::desk_name(options_.job), desk_, desk_options(options_)),
      part_(options_, own_block(options_), secret_, streams_),
      left_over_(kComing) {
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
  while (!over())
    if (const auto ended = step()) return *ended;
  return leave();
}

std::optional<std::uint32_t> Leader::step() {
  auto most = others_wanted_ ? 1000ms : std::chrono::milliseconds(1h);
  if (ending_)
    most = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(ending_->at - Clock::now()), 0ms, most);
  const Events::Came came = events_.wait(streams_, most);
  if (came.front_ended) return 128 + SIGKILL;
  if (const int ending = came.ending(); ending != 0 && others_wanted_ && !desk_.complete())
    return 128 + static_cast<std::uint32_t>(ending);  // those who have not come could not be told
  asked_to_end_ |= came.ending() != 0;
  for (const Passed& each : came.signals) pass_on(each);
  note_reports();
  reap();
  if (others_wanted_) look_for_lost_hosts();
  if (ending_ && Clock::now() >= ending_->at) end_others();
  return std::nullopt;
}

// Other hosts' commands end by themselves, and what ranks have written is passed on to its end.
std::uint32_t Leader::leave() {
  const auto until = Clock::now() + kPatience;
  const auto go_on = [&] {
    const auto most = others_.empty() ? std::chrono::milliseconds(1h) : 1000ms;
    const Events::Came came = events_.wait(streams_, asked_to_end_ ? 100ms : most);
    asked_to_end_ |= came.ending() != 0;
    return !came.front_ended && (!asked_to_end_ || Clock::now() < until);
  };
  while (!others_.empty() && go_on()) {
    reap();
    end_templates_left_over();
  }
  kill_all();  // whoever is left may write for ever
  while (!streams_.over() && go_on()) {
  }
  const bool unwritten = streams_.failed() && status_ == 0;
  if (options_.json) print_json(unwritten ? 1 : status_);
  if (unwritten) throw streams_.failure();
  return status_;
}

void Leader::start_hosts() {
  if (options_.via.empty()) return;
  const std::string folder = std::filesystem::current_path().string();
  for (std::size_t host = 0; host != options_.hosts.size(); ++host) {
    if (host == place_of(options_)) continue;
    const std::string& name = options_.hosts[host];
    // Behind a template the terminal could not be read: its group is in the background.
    Start what{.words = words_of(options_.via, name),
               .environment = {},
               .input = host == 0 && ::isatty(STDIN_FILENO) == 0,
               .own_group = true};
    for (const std::string& each : {own_program(), std::string("run"), std::string("--agent")})
      what.words.push_back(each);
    what.words.push_back(agent_of(options_, name, folder));
    if (options_.label) {
      const Streams::Ends ends = streams_.add({});  // its lines have labels
      what.output = ends.output;
      what.error = ends.error;
    }
    others_.emplace(start(what), host);
    streams_.started();
  }
}

void Leader::pass_on(const Passed& passed) {
  if (!passed.terminal) part_.signal_all(passed.number);
  if (others_wanted_) order(living(), passed.number);
}

void Leader::reap() {
  while (const auto child = take_ended()) {
    if (const auto rank = part_.take(child->pid)) {
      note({*rank, child->status});
    } else if (const auto other = others_.find(child->pid); other != others_.end()) {
      note_lost(other->second, child->status);
      others_.erase(other);
    }
  }
}

void Leader::note_reports() {
  for (const RankEnd& each : desk_.take_reports()) note(each);
}

void Leader::note(const RankEnd& end) {
  if (!ended_.emplace(end.rank, end.status).second) return;
  desk_.ended(end.rank, end.status);
  if (end.status == 0) return;
  if (status_ == 0) status_ = end.status;
  if (!ending_) ending_ = Ending{SIGTERM, Clock::now() + kTelling};
}

// Ranks that do not go on are to end, at first by themselves.
void Leader::end_others() {
  const std::vector<std::uint32_t> others = to_be_ended();
  for (const std::uint32_t rank : others) part_.signal(rank, ending_->number);
  if (others_wanted_ && !others.empty()) order(others, ending_->number);
  if (over())
    ending_.reset();
  else
    ending_ = Ending{SIGKILL, Clock::now() + (ending_->number == SIGTERM ? kPatience : kKillAgain)};
}

std::vector<std::uint32_t> Leader::living() const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t rank = 0; rank != options_.ranks; ++rank)
    if (!ended_.contains(rank)) out.push_back(rank);
  return out;
}

std::vector<std::uint32_t> Leader::to_be_ended() {
  std::vector<std::uint32_t> out = living();
  std::erase_if(out, [&](std::uint32_t rank) { return desk_.goes_on(rank); });
  return out;
}

void Leader::order(const std::vector<std::uint32_t>& ranks, int number) {
  std::vector<std::uint32_t> order{static_cast<std::uint32_t>(number)};
  order.insert(order.end(), ranks.begin(), ranks.end());
  desk_.order(order);
}

// Whether all ranks of a host have ended. One that has ended well has reported them before.
bool Leader::all_ended(std::size_t host) {
  note_reports();
  const Block block = block_of(options_.ranks, options_.hosts.size(), host);
  const auto first = ended_.lower_bound(block.first), end = ended_.lower_bound(block.first + block.ranks);
  return std::distance(first, end) == static_cast<std::ptrdiff_t>(block.ranks);
}

void Leader::note_lost(std::size_t host, std::uint32_t status) {
  note_reports();
  const Block block = block_of(options_.ranks, options_.hosts.size(), host);
  for (std::uint32_t rank = block.first; rank != block.first + block.ranks; ++rank)
    note({rank, status == 0 ? kLost : status});
}

void Leader::look_for_lost_hosts() {
  const bool late = Clock::now() - began_ > kComing;
  for (std::size_t host = 0; host != options_.hosts.size(); ++host) {
    if (host == place_of(options_) || !desk_.lost(host, Clock::now(), late) || all_ended(host)) continue;
    note_lost(host, kLost);
    for (const auto& [pid, of] : others_)
      if (of == host) ::kill(pid, SIGKILL);  // it may wait long for a host that does not answer
  }
}

// A template may wait for ever for a host that has gone, with all of its ranks ended. One that waits for who
// reads its output has time.
void Leader::end_templates_left_over() {
  const bool read = streams_.taken();
  for (const auto& [pid, host] : others_) {
    const bool gone = read && desk_.lost(host, Clock::now(), true);
    if (left_over_.is(host, gone, Clock::now())) ::kill(pid, SIGKILL);
  }
}

void Leader::print_json(std::uint32_t status) const {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (std::size_t host = 0; host != options_.hosts.size(); ++host) {
    const Block block = block_of(options_.ranks, options_.hosts.size(), host);
    for (std::uint32_t rank = block.first; rank != block.first + block.ranks; ++rank)
      ranks.push_back({{"rank", rank}, {"host", options_.hosts[host]}, {"status", ended_.at(rank)}});
  }
  const std::chrono::duration<double> took = Clock::now() - began_;
  const nlohmann::ordered_json all{{"job", options_.job},
                                   {"size", options_.ranks},
                                   {"status", status},
                                   {"seconds", took.count()},
                                   {"ranks", std::move(ranks)}};
  fmt::print(stderr, "{}\n", all.dump());
}

}  // namespace hamlyn::tool
