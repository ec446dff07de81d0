// The node daemon: `hamlynd --help`.
#include <fcntl.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <utility>

#include "base/descriptor_table.h"
#include "base/short_slices.h"
#include "base/standard_output.h"
#include "base/throw_system.h"
#include "daemon/clerk_process.h"
#include "daemon/clerk_starter.h"
#include "daemon/inheritance.h"
#include "hamlyn/values/error.h"
#include "node/client/address.h"
#include "node/client/constraints.h"
#include "node/client/start.h"
#include "node/server/server.h"
#include "segment/clerk.h"

namespace {

using namespace hamlyn;

constexpr const char* kServiceConfig = "/etc/hamlyn/hamlynd.toml";

struct Arguments {
  std::string socket;
  std::string config;
  std::vector<std::string> join;
  bool service = false;
  int idle_exit = 10;
  bool idle_exit_given = false;
  int ready = -1;
  int clerk = -1;
  bool later = false;
};

// Leaves the process that started us, so that it has no child to wait for and its terminal does not end us.
void go_to_background() {
  const pid_t child = ::fork();
  if (child < 0) base::throw_system("fork");
  if (child > 0) ::_exit(0);
  ::setsid();
  if (::chdir("/") != 0) base::throw_system("chdir");
}

node::ServerOptions server_options(const Arguments& arguments) {
  node::ServerOptions out;
  out.service = arguments.service;
  out.socket = arguments.socket;
  if (out.socket.empty() && out.service) {
    out.socket = node::kServiceSocket;
    // Made by systemd as a rule. All users are to reach the socket, whatever our umask is.
    const auto folder = std::filesystem::path(out.socket).parent_path();
    if (::mkdir(folder.c_str(), 0755) == 0 && ::chmod(folder.c_str(), 0755) != 0) base::throw_system("chmod");
  }
  if (out.socket.empty()) out.socket = node::own_socket();
  out.socket = std::filesystem::absolute(out.socket);
  std::string config = arguments.config;
  if (config.empty() && out.service && ::access(kServiceConfig, F_OK) == 0) config = kServiceConfig;
  if (!config.empty()) out.config = node::read_config(config);
  out.config.cluster.join.insert(out.config.cluster.join.end(), arguments.join.begin(), arguments.join.end());
  if (!out.config.cluster.join.empty() && out.config.cluster.id == 0) {
    throw Error(ErrorCode::invalid_argument,
                "whoever joins a cluster needs [cluster] id in its configuration");
  }
  const bool stays = !arguments.idle_exit_given && (out.service || out.config.cluster.id != 0);
  out.idle_exit = std::chrono::seconds{stays ? 0 : arguments.idle_exit};
  out.version = HAMLYN_VERSION;
  if (arguments.later) {
    out.version = "99.0.0";
    out.protocol = (node::kProtocolAdded + 4) << 16 | node::kProtocolVersion;
  }
  return out;
}

void serve(Arguments& arguments) {
  ::umask(077);
  node::ServerOptions options = server_options(arguments);
  // Before anything secret is read.
  const bool of_its_own = options.service && options.config.cluster.id != 0;
  std::string why;
  std::unique_ptr<daemon::ClerkStarter> starter;
  if (of_its_own) starter = daemon::ClerkStarter::make(options.config.cluster.clerk_user, why);
  daemon::give_up_changing_users();
  daemon::ClerkMachine& machine = starter != nullptr ? *starter : daemon::this_machine();
  daemon::ClerkProcess clerk{machine};
  options.clerk = &clerk;
  auto log = spdlog::stderr_logger_st("hamlynd");
  log->set_pattern("%Y-%m-%d %H:%M:%S %l: %v");
  log->set_level(spdlog::level::from_str(options.config.log_level));
  log->flush_on(spdlog::level::info);
  spdlog::set_default_logger(log);
  if (of_its_own && starter == nullptr)
    spdlog::warn("the clerk of names has the daemon's own account: {}", why);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  if (arguments.ready >= 0) go_to_background();
  node::Server server{options};
  for (const std::string& limit : node::constraints_of(static_cast<std::uint32_t>(::getpid())))
    spdlog::warn("{}, which its starter has left it", limit);
  if (arguments.ready >= 0) {
    if (::write(arguments.ready, &node::kListens, 1) != 1)
      base::throw_system("write to whoever started this daemon");
    ::close(std::exchange(arguments.ready, -1));
  }
  server.run(signals);
}

// Refuses an empty word: the text of a variable that is not set, as a rule.
CLI::Validator not_empty() {
  return {[](const std::string& text) { return text.empty() ? std::string("It is empty") : std::string(); },
          ""};
}

int run(int count, char** words, Arguments& arguments) {
  CLI::App app{
      "hamlynd introduces the processes of this host to each other and keeps their names and quotas.\n"
      "Programs start one of their user's own when they need it; run it as a service for links between "
      "users."};
  app.add_option("--socket", arguments.socket,
                 "where to listen (default: the service's or this user's own place)")
      ->check(not_empty());
  app.add_option("--config", arguments.config, "quotas, rights and log level: a TOML file, see docs/node.md")
      ->check(not_empty());
  app.add_option("--join", arguments.join,
                 "a boot server of the cluster that this node belongs to, as host or host:port; see "
                 "docs/cluster.md")
      ->check(not_empty());
  app.add_flag("--service", arguments.service, "serve all users and do not leave when idle");
  auto* idle = app.add_option("--idle-exit", arguments.idle_exit,
                              "leave after so many seconds with nobody attached; 0: never")
                   ->check(CLI::Range(0, 86400))
                   ->capture_default_str();
  app.add_option("--background", arguments.ready,
                 "go to the background and write to this descriptor when listening")
      ->check(CLI::Range(3, 1023));
  // By the daemon itself: the clerk of its names, which talks to it by this descriptor.
  app.add_option("--clerk", arguments.clerk)->check(CLI::Range(3, 1023))->group("");
  // By tests: a daemon as it may be some versions later, to whose protocol more requests have been added.
  app.add_flag("--later", arguments.later)->group("");
  app.set_version_flag("--version", "hamlynd " HAMLYN_VERSION);
  try {
    app.parse(count, words);
  } catch (const CLI::Success& wanted) {  // --help, --version
    std::ostringstream text;
    app.exit(wanted, text);
    base::print(text.str());
    base::finish_output();
    return 0;
  } catch (const CLI::ParseError& wrong) {
    std::fprintf(stderr, "hamlynd: %s (usage): see 'hamlynd --help'\n", wrong.what());
    return 2;
  }
  arguments.idle_exit_given = idle->count() != 0;
  if (arguments.ready >= 0) daemon::take_back_inheritance();
  base::ask_for_short_slices();
  if (arguments.clerk >= 0) segment::run_clerk(base::FileDescriptor{arguments.clerk}, arguments.socket);
  serve(arguments);
  return 0;
}

// A log may lie where there is no room for it: whoever has started this daemon hears the reason itself. If
// nobody hears it, the log has it.
void tell_why(int ready, const char* why) {
  const std::string words = std::string(" ") + why;
  [[maybe_unused]] const auto written =
      ::write(ready, words.data(), std::min(words.size(), node::kMostReason));
}

}  // namespace

int main(int count, char** words) {
  hamlyn::base::fill_standard_descriptors();  // the log must go into no file of ours
  ::signal(SIGXFSZ, SIG_IGN);  // whoever started us may be limited: what cannot be written any more fails
  Arguments arguments;
  try {
    return run(count, words, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hamlynd: %s\n", error.what());
    if (arguments.ready >= 0) tell_why(arguments.ready, error.what());
    return 1;
  }
}
