#include "tool/run/lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "tool/failure.h"

namespace hamlyn::tool {

Lines::Lines(std::string label, Sink& output) : label_(std::move(label)), output_(&output) {
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
  output_->add(whole);
}

void Lines::pass_on() {
  std::array<char, 16384> bytes;
  ssize_t got = 0;
  do got = ::read(ours_.get(), bytes.data(), bytes.size());
  while (got < 0 && errno == EINTR);
  if (got < 0) return;
  if (got == 0) {
    if (!rest_.empty()) write(std::exchange(rest_, {}));
    return ours_.reset();
  }
  rest_.append(bytes.data(), static_cast<std::size_t>(got));
  std::string_view left = rest_;
  for (;;) {
    const std::size_t end = left.substr(0, kLongest + 1).find('\n');
    const bool whole = end != std::string_view::npos;
    if (!whole && left.size() <= kLongest) break;
    write(left.substr(0, whole ? end : kLongest));
    left.remove_prefix(whole ? end + 1 : kLongest);
  }
  rest_ = std::string(left);
}

}  // namespace hamlyn::tool
