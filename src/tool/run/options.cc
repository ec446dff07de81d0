#include "tool/run/options.h"

#include <fmt/core.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "job/name.h"
#include "tool/checksum.h"
#include "tool/failure.h"
#include "tool/run/hex.h"

namespace hamlyn::tool {
namespace {

using internal_::job::kMostClients;
using internal_::job::kMostName;

bool is_host(const std::string& word) {
  constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:-";
  return !word.empty() && word.front() != '-' && word.find_first_not_of(kLetters) == std::string::npos;
}

bool is_name(const std::string& word) {
  constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !word.empty() && word.size() <= kMostName && word.find_first_not_of(kLetters) == std::string::npos;
}

[[noreturn]] void refuse(std::string what, const char* advice = "see 'hamlyn run --help'") {
  throw Failure(std::move(what), "usage", advice, kUsage);
}

void check_hosts(const RunOptions& options) {
  for (const std::string& each : options.hosts)
    if (!is_host(each)) refuse(fmt::format("'{}' is no host: letters, digits, '.', ':' and '-'", each));
  for (auto each = options.hosts.begin(); each != options.hosts.end(); ++each)
    if (std::find(each + 1, options.hosts.end(), *each) != options.hosts.end())
      refuse(fmt::format("the host '{}' is there twice", *each));
  if (options.ranks < options.hosts.size())
    refuse(fmt::format("{} hosts cannot share {} ranks", options.hosts.size(), options.ranks));
}

std::string hex_of_text(const std::string& text) { return hex_of(std::as_bytes(std::span(text))); }

std::size_t others_of(const RunOptions& options) {
  return options.hosts.size() - (place_of(options) == options.hosts.size() ? 0 : 1);
}

// Each rank and each other host is a client of the desk.
void check_clients(const RunOptions& options) {
  const std::size_t others = others_of(options), clients = options.ranks + others;
  if (clients > kMostClients)
    refuse(fmt::format("{} ranks and {} other hosts are {}, and a job may have {}", options.ranks, others,
                       clients, kMostClients),
           "have fewer ranks or hosts");
}

void check_template(const RunOptions& options) {
  if (options.via.empty()) return;
  if (words_of(options.via, "").empty()) refuse("the template of --via has no word");
  if (others_of(options) > 1 && options.via.find("{host}") == std::string::npos)
    refuse("the template of --via does not say where {host} stands");
}

}  // namespace

std::string own_host() {
  char name[HOST_NAME_MAX + 1]{};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

void complete(RunOptions& options) {
  if (options.program.empty()) refuse("no program is named");
  check_hosts(options);
  if (options.hosts.empty()) {
    if (!options.via.empty() || !options.at.empty())
      refuse("--via and --at are for a job of several --hosts");
    options.hosts.push_back(is_host(own_host()) ? own_host() : "localhost");
    options.at = options.hosts.front();
  } else if (options.via.empty() && options.job.empty()) {
    refuse(
        "a job of several hosts has --job NAME, the same on each of them, or --via, which starts the others");
  }
  if (options.job.empty()) options.job = fmt::format("{}-{:x}", ::getpid(), base::random_key() & 0xffffff);
  if (!is_name(options.job))
    refuse(fmt::format("'{}' is no name of a job: 1 to {} of A-Z a-z 0-9 . _ -", options.job, kMostName));
  if (options.at.empty()) {
    const std::string whole = own_host(), host = whole.substr(0, whole.find('.'));
    const auto own = [&](const std::string& each) { return each == whole || each == host; };
    const auto found = std::ranges::find_if(options.hosts, own);
    if (found != options.hosts.end()) options.at = *found;
  }
  check_clients(options);
  check_template(options);
  const bool known = place_of(options) != options.hosts.size();
  if (!options.at.empty() && !known) refuse(fmt::format("'{}' is not one of the hosts", options.at));
  if (!known && options.via.empty())
    throw Failure(fmt::format("'{}' is not one of the hosts", own_host()), "host_unknown",
                  "say with --at which of them this is", kUsage);
}

std::size_t place_of(const RunOptions& options) {
  return static_cast<std::size_t>(std::ranges::find(options.hosts, options.at) - options.hosts.begin());
}

bool has_others(const RunOptions& options) { return others_of(options) != 0; }

std::uint64_t check_of(const std::vector<std::string>& hosts) {
  Checksum out;
  for (const std::string& each : hosts)  // each with its zero: no name of a host has one
    out.add(std::as_bytes(std::span(each.c_str(), each.size() + 1)));
  return out.value();
}

internal_::job::Block own_block(const RunOptions& options) {
  const std::size_t place = place_of(options);
  if (place == options.hosts.size()) return {};
  return internal_::job::block_of(options.ranks, options.hosts.size(), place);
}

std::vector<std::string> words_of(const std::string& via, const std::string& host) {
  constexpr std::string_view kHost = "{host}";
  std::vector<std::string> out;
  for (std::size_t at = via.find_first_not_of(' '); at < via.size(); at = via.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(via.find(' ', at), via.size());
    std::string word = via.substr(at, end - at);
    for (std::size_t found = word.find(kHost); found != std::string::npos;
         found = word.find(kHost, found + host.size()))
      word.replace(found, kHost.size(), host);
    out.push_back(std::move(word));
    at = end;
  }
  return out;
}

std::string agent_of(const RunOptions& options, const std::string& host, const std::string& folder) {
  std::vector<std::string> program;  // any bytes, of which JSON takes only some
  for (const std::string& each : options.program) program.push_back(hex_of_text(each));
  const nlohmann::json all{{"ranks", options.ranks},
                           {"hosts", options.hosts},
                           {"at", host},
                           {"job", options.job},
                           {"label", options.label},
                           {"bind", options.bind},
                           {"trusted_network", options.trusted_network},
                           {"token", options.token},
                           {"program", program},
                           {"folder", hex_of_text(folder)}};
  return hex_of_text(all.dump());
}

RunOptions options_of(const std::string& agent, std::string& folder) {
  RunOptions out;
  try {
    const nlohmann::json all = nlohmann::json::parse(text_of_hex(agent));
    all.at("ranks").get_to(out.ranks);
    all.at("hosts").get_to(out.hosts);
    all.at("at").get_to(out.at);
    all.at("job").get_to(out.job);
    all.at("label").get_to(out.label);
    all.at("bind").get_to(out.bind);
    all.at("trusted_network").get_to(out.trusted_network);
    all.at("token").get_to(out.token);
    for (const std::string& each : all.at("program").get<std::vector<std::string>>())
      out.program.push_back(text_of_hex(each));
    folder = text_of_hex(all.at("folder").get<std::string>());
  } catch (const nlohmann::json::exception&) {
    refuse("the word behind --agent is none that 'hamlyn run --via' has made");
  }
  out.agent = agent;
  return out;
}

std::vector<int> share_of(std::span<const int> processors, std::uint32_t here, std::uint32_t ranks) {
  const std::size_t all = processors.size();
  const std::size_t first = here * all / ranks, end = (here + std::size_t{1}) * all / ranks;
  const auto share = processors.subspan(first % all, std::max<std::size_t>(end - first, 1));
  return {share.begin(), share.end()};
}

}  // namespace hamlyn::tool
