#pragma once
// The progress bar on a terminal, and how numbers are written for people.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace hamlyn::tool {

// "999 B", "1.00 kB", "12.3 MB", "123 GB": three digits, powers of 1000.
std::string format_bytes(double bytes);
// "0:07", "12:34", "1:02:03".
std::string format_seconds(double seconds);
// One line of at most `width` characters; the bar and the time left only when the total is known.
std::string format_progress(std::uint64_t bytes, std::optional<std::uint64_t> total, double seconds,
                            std::size_t width);

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // Shows nothing unless standard error is a terminal, and nothing when `quiet`.
  Progress(bool quiet, std::optional<std::uint64_t> total);
  ~Progress();  // wipes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::uint64_t bytes);  // draws at most ten times a second
  double seconds() const;

 private:
  bool shown_;
  bool drawn_ = false;
  std::optional<std::uint64_t> total_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_;
};

}  // namespace hamlyn::tool
