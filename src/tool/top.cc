// `hamlyn top`: looks at the node again and again, and shows what has moved between two looks.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

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
void redraw(const std::string& text) {
  std::string screen = "\033[H";
  for (const char c : text) {
    if (c == '\n') screen += "\033[K";
    screen += c;
  }
  std::fputs((screen + "\033[J").c_str(), stdout);
}

}  // namespace

void run_top(const TopOptions& options) {
  Stop stop;
  const bool terminal = !options.json && ::isatty(STDOUT_FILENO) == 1;
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  NodeView before = look_at_node(options.node);
  Clock::time_point then = Clock::now();
  for (std::uint64_t looks = 0; options.count == 0 || looks != options.count; ++looks) {
    if (!wait_until(then + interval)) return;
    NodeView now = look_at_node(options.node);
    const Clock::time_point moment = Clock::now();
    const double seconds = std::chrono::duration<double>(moment - then).count();
    if (options.json) {
      std::puts(traffic_json(before, now, seconds, options.pid).c_str());
    } else if (terminal) {
      redraw(traffic_text(before, now, seconds, options.pid));
    } else {
      std::fputs(traffic_text(before, now, seconds, options.pid).c_str(), stdout);
    }
    std::fflush(stdout);
    before = std::move(now);
    then = moment;
  }
}

}  // namespace hamlyn::tool
