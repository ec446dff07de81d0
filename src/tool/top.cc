// `hamlyn top`: looks at the node again and again, and shows what has moved between two looks.
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/standard_output.h"
#include "tool/failure.h"
#include "tool/options.h"
#include "tool/stop.h"
#include "tool/traffic.h"

namespace hamlyn::tool {
namespace {

using Clock = std::chrono::steady_clock;

// False: it is to end.
bool wait_until(Clock::time_point moment) {
  while (!Stop::requested()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(moment - Clock::now()).count();
    if (left <= 0) return true;
    ::poll(nullptr, 0, static_cast<int>(left) + 1);  // a signal ends it
  }
  return false;
}

// Each line over the one that stood there, so that nothing flickers.
std::string redrawn(const std::string& text) {
  std::string screen = "\033[H";
  for (const char c : text) {
    if (c == '\n') screen += "\033[K";
    screen += c;
  }
  return screen + "\033[J";
}

// Looks and shows; throws Failure when it is to end before all looks are done.
class Top {
 public:
  explicit Top(const TopOptions& options)
      : options_(options), terminal_(!options.json && ::isatty(STDOUT_FILENO) == 1), before_(look()) {
    check_process(before_);
  }
  ~Top() {
    // The prompt, or the line that says why it ends, begins where the terminal has shown "^C".
    if (terminal_ && Stop::requested()) std::fputs("\r\033[K", stderr);
  }
  Top(const Top&) = delete;
  Top& operator=(const Top&) = delete;

  void look_again(Clock::duration interval) {
    if (!wait_until(then_ + interval)) throw ended();
    NodeView now = look();
    check_process(now);
    const Clock::time_point moment = Clock::now();
    const double seconds = std::chrono::duration<double>(moment - then_).count();
    if (options_.json) {
      base::print(traffic_json(before_, now, seconds, options_.pid) + "\n");
    } else {
      const std::string text = traffic_text(before_, now, seconds, options_.pid);
      base::print(terminal_ ? redrawn(text) : text);
    }
    base::flush_output();
    before_ = std::move(now);
    then_ = moment;
    ++looks_;
  }

 private:
  // A daemon that does not answer is no reason when the user has ended the wait for it.
  NodeView look() const {
    try {
      return look_at_node(options_.node);
    } catch (const Error&) {
      if (Stop::requested()) throw ended();
      throw;
    }
  }
  Failure ended() const { return interrupted(fmt::format("ended after {} looks", looks_)); }

  void check_process(const NodeView& node) const {
    if (!options_.pid || std::ranges::count(node.processes, *options_.pid, &ProcessView::pid) != 0) return;
    throw Failure(fmt::format("process {} {} attached to this node", *options_.pid,
                              looks_ == 0 ? "is not" : "is no longer"),
                  "process_unknown", "'hamlyn node' lists the processes that are");
  }

  const TopOptions& options_;
  bool terminal_;
  std::uint64_t looks_ = 0;
  NodeView before_;
  Clock::time_point then_ = Clock::now();
};

}  // namespace

void run_top(const TopOptions& options) {
  Stop stop;
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  Top top(options);
  for (std::uint64_t looks = 0; options.count == 0 || looks != options.count; ++looks)
    top.look_again(interval);
}

}  // namespace hamlyn::tool
