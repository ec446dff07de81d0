#include "tool/run/streams.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace hamlyn::tool {

Streams::Ends Streams::add(const std::string& label) {
  const int output = lines_.emplace_back(label, out_).theirs();
  return {output, lines_.emplace_back(label, error_).theirs()};
}

void Streams::started() {
  for (Lines& each : lines_) each.started();
}

void Streams::watch(std::vector<pollfd>& all) const {
  all.push_back({out_.descriptor(), POLLOUT, 0});
  all.push_back({error_.descriptor(), POLLOUT, 0});
  for (const Lines& each : lines_) all.push_back({each.descriptor(), POLLIN, 0});
}

void Streams::serve(std::span<const pollfd> said) {
  HAMLYN_ASSERT(said.size() == lines_.size() + 2, "as `watch` has put them");
  if (said[0].revents != 0) out_.write();
  if (said[1].revents != 0) error_.write();
  const std::size_t begin = first_, all = lines_.size();
  bool waits = false;
  for (std::size_t i = 0; i != all; ++i) {
    const std::size_t at = (begin + i) % all;
    if (said[at + 2].revents == 0) continue;
    if (lines_[at].descriptor() >= 0) {
      lines_[at].pass_on();
    } else if (!waits) {
      first_ = at;
      waits = true;
    }
  }
}

Failure Streams::failure() const {
  if (out_.failed() != 0) return system_failure("cannot write standard output", out_.failed());
  return system_failure("cannot write standard error", error_.failed());
}

bool Streams::taken() const {
  std::array<pollfd, 2> both{{{out_.shown(), POLLOUT, 0}, {error_.shown(), POLLOUT, 0}}};
  return ::poll(both.data(), both.size(), 0) == 2;
}

bool Streams::over() const {
  return out_.idle() && error_.idle() && std::ranges::all_of(lines_, &Lines::ended);
}

}  // namespace hamlyn::tool
