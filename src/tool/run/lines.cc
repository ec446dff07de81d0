#include "tool/run/lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "tool/failure.h"

namespace hamlyn::tool {

Lines::Lines(std::string label, int output) : label_(std::move(label)), output_(output) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_failure("pipe", errno);
  ours_.reset(ends[0]);
  theirs_.reset(ends[1]);
  ::fcntl(ours_.get(), F_SETFL, O_NONBLOCK);  // the rank's end blocks, as a program expects
}

void Lines::write(std::string_view line) const {
  std::string whole = label_;
  whole += line;
  whole += '\n';
  std::string_view left = whole;
  while (!left.empty()) {
    const ssize_t written = ::write(output_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // nobody reads any more
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Lines::pass_on() {
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t got = ::read(ours_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    if (got == 0) return end();
    rest_.append(bytes.data(), static_cast<std::size_t>(got));
    std::string_view left = rest_;
    for (std::size_t at = left.find('\n'); at != std::string_view::npos; at = left.find('\n')) {
      write(left.substr(0, at));
      left.remove_prefix(at + 1);
    }
    for (; left.size() >= kLongest; left.remove_prefix(kLongest)) write(left.substr(0, kLongest));
    rest_ = std::string(left);
  }
}

void Lines::end() {
  if (!ours_) return;
  if (!rest_.empty()) write(rest_);
  rest_.clear();
  ours_.reset();
}

}  // namespace hamlyn::tool
