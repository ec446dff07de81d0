// hamlyn-mount NAME DIR: mounts the tree that `hamlyn serve` serves under that name. `hamlyn mount` runs it.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/standard_output.h"
#include "files/clerk.h"
#include "hamlyn/core/interface.h"
#include "mount/session.h"
#include "tool/ending.h"
#include "tool/failure.h"
#include "tool/words.h"

namespace hamlyn::internal_::mount {
namespace {

struct Words {
  std::string name, directory, node;
  bool read_only = false, foreground = false, json = false;
  double soft = 0;                // seconds; 0: for as long as it takes
  double timeout = 10;            // for the server at first
  std::string more_options;       // of mount(8)
  std::vector<std::string> more;  // of those, what the kernel takes
};

constexpr std::chrono::milliseconds kForEver = std::chrono::hours(24 * 365 * 10);

// Words of fstab that tell mount(8) when to mount, or say what is so anyway.
bool means_nothing_here(std::string_view word) {
  constexpr std::array<std::string_view, 12> kWords = {
      "rw", "dev", "suid", "exec", "async", "auto", "noauto", "user", "nofail", "_netdev", "nodev", "nosuid"};
  return word.empty() || word.starts_with("x-") || std::ranges::find(kWords, word) != kWords.end();
}

// Throws Failure (kUsage): a word that would have to mean something and does not.
void take_options(Words& words) {
  std::istringstream all(words.more_options);
  for (std::string each; std::getline(all, each, ',');) {
    if (means_nothing_here(each)) continue;
    if (each == "ro") {
      words.read_only = true;
    } else if (each.starts_with("node=")) {
      words.node = each.substr(5);
    } else if (each.starts_with("soft=")) {
      if (!CLI::detail::lexical_cast(each.substr(5), words.soft) || !(words.soft >= 0.1 && words.soft <= 1e6))
        throw tool::Failure("-o " + each + ": seconds from 0.1 to 1000000 are wanted", "usage",
                            "see 'hamlyn-mount --help'", tool::kUsage);
    } else if (each == "noexec" || each == "noatime" || each == "sync") {
      words.more.push_back(each);
    } else {
      throw tool::Failure("-o " + each + ": there is no such option", "usage", "see 'hamlyn-mount --help'",
                          tool::kUsage);
    }
  }
}

std::string read_words(int count, char** all, Words& words, tool::Speaker& speaker) {
  CLI::App app("Mount a tree of files that 'hamlyn serve' serves", speaker.program);
  app.set_version_flag("--version", speaker.program + " " HAMLYN_VERSION, "Print the version");
  app.add_option("name", words.name, "The name that the tree is served under")->type_name("NAME")->required();
  app.add_option("directory", words.directory, "Where it is to be seen")
      ->type_name("DIR")
      ->required()
      ->check(tool::not_empty());
  app.add_flag("--read-only,-r", words.read_only, "Nothing may be changed by this mount");
  app.add_option(
         "--soft", words.soft,
         "An operation ends with an error when the server has not answered for so long; by default it "
         "waits")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 1e6));
  app.add_option("--timeout", words.timeout,
                 "Wait no longer than this for the server at first; 10 by default")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.01, 1e6));
  app.add_option("--node", words.node,
                 "The socket of a node daemon that runs; by default the service's, else your own daemon's")
      ->type_name("SOCKET")
      ->check(tool::not_empty());
  app.add_flag("--foreground,-f", words.foreground, "Stay in the foreground until it is unmounted");
  app.add_option("-o", words.more_options,
                 "Options as mount(8) has them: ro, noexec, noatime, sync, soft=SECONDS, node=SOCKET")
      ->type_name("OPTION,...");
  app.add_flag("--json", words.json, "A failure is one JSON object on standard output, too");
  app.footer(tool::kExitCodes);
  const std::string text = tool::read_words(app, count, all, speaker);
  take_options(words);
  return text;
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

// A clerk that has found its server. Throws Failure, Error.
std::unique_ptr<files::Clerk> clerk_of(Interface& interface, const Words& words) {
  const std::chrono::milliseconds time = words.soft > 0 ? milliseconds(words.soft) : kForEver;
  try {
    return std::make_unique<files::Clerk>(interface, words.name,
                                          files::Clerk::Options{milliseconds(words.timeout), time});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timed_out) throw;
    throw tool::Failure("nobody serves '" + words.name + "' in the time given", name(error.code()),
                        "start 'hamlyn serve', or give more time with --timeout", tool::kTimedOut);
  }
}

// Serves the mount until it ends. `mounted` is called once it is there.
void serve(const Words& words, const std::function<void()>& mounted) {
  Interface interface({.node = words.node, .start_node = words.node.empty()});
  const std::unique_ptr<files::Clerk> clerk = clerk_of(interface, words);
  Session session(*clerk, {.source = words.name,
                           .directory = words.directory,
                           .read_only = words.read_only,
                           .more = words.more,
                           .all_users = geteuid() == 0});
  session.run(mounted);
}

// The mount goes on in a process of its own, which has neither terminal nor folder of this one's.
int serve_beside(const Words& words, const tool::Speaker& speaker) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw tool::system_failure("cannot make a pipe", errno);
  base::FileDescriptor hear(ends[0]), tell(ends[1]);
  const pid_t child = fork();
  if (child < 0) throw tool::system_failure("cannot start a process", errno);
  if (child == 0) {
    hear.reset();
    setsid();
    const int status = tool::run_to_the_end(speaker, [&] {
      serve(words, [&] {
        const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (const int fd : {0, 1, 2}) dup2(nothing, fd);
        // The mount is there, whether or not anybody waits for that.
        static_cast<void>(chdir("/") == 0 && write(tell.get(), "", 1) == 1);
        tell.reset();
      });
      return 0;
    });
    _exit(status);
  }
  tell.reset();
  char byte = 0;
  if (read(hear.get(), &byte, 1) == 1) return tool::kOk;
  int status = 0;
  waitpid(child, &status, 0);  // which has said why
  return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : tool::kFailed;
}

}  // namespace
}  // namespace hamlyn::internal_::mount

int main(int count, char** all) {
  using namespace hamlyn::internal_::mount;
  namespace tool = hamlyn::tool;
  tool::Speaker speaker{"hamlyn-mount", "", tool::JsonOutput::none};
  Words words;
  return tool::run_to_the_end(speaker, [&] {
    const std::string text = read_words(count, all, words, speaker);
    if (!text.empty()) hamlyn::internal_::base::print(text);
    if (!text.empty()) return static_cast<int>(tool::kOk);
    if (!words.foreground) return serve_beside(words, speaker);
    serve(words, [] {});
    return static_cast<int>(tool::kOk);
  });
}
