#include "tool/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace hamlyn::tool {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::size_t kBarWidest = 30;

std::string bar(double part, std::size_t width) {
  const auto full = static_cast<std::size_t>(part * static_cast<double>(width));
  return fmt::format("[{}{}]", std::string(full, '='), std::string(width - full, ' '));
}

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string format_bytes(double bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  // 999.5 and more would be written as 1000.
  while (unit + 1 < kUnits.size() && bytes >= 999.5) {
    bytes /= 1000;
    ++unit;
  }
  const int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", bytes, decimals, kUnits[unit]);
}

std::string format_seconds(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 1e9));
  const auto hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, rest)
                   : fmt::format("{}:{:02}", minutes, rest);
}

std::string format_progress(std::uint64_t bytes, std::optional<std::uint64_t> total, double seconds,
                            std::size_t width) {
  const double done = static_cast<double>(bytes);
  const double rate = seconds > 0 ? done / seconds : 0;
  std::string text =
      fmt::format("{:>7}  {:>7}/s  {:>6}", format_bytes(done), format_bytes(rate), format_seconds(seconds));
  if (total && *total > 0) {
    const double part = std::min(1.0, done / static_cast<double>(*total));
    const double left = rate > 0 ? (static_cast<double>(*total) - done) / rate : 0;
    text += fmt::format("  {:3.0f} %  {} left", part * 100, format_seconds(left));
    if (width > text.size() + 8) text += "  " + bar(part, std::min(kBarWidest, width - text.size() - 4));
  }
  return text.substr(0, width);
}

Progress::Progress(bool quiet, std::optional<std::uint64_t> total)
    : shown_(!quiet && ::isatty(STDERR_FILENO) == 1), total_(total) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::at(std::uint64_t bytes) {
  if (!shown_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kRedraw;
  drawn_ = true;
  std::fputs(("\r" + format_progress(bytes, total_, seconds(), terminal_width() - 1) + "\033[K").c_str(),
             stderr);
}

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

}  // namespace hamlyn::tool
