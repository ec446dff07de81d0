#include "tool/run/streams.h"

#include <algorithm>

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
  for (std::size_t i = 0; i != lines_.size(); ++i)
    if (said[i + 2].revents != 0) lines_[i].pass_on();
}

Failure Streams::failure() const {
  if (out_.failed() != 0) return system_failure("cannot write standard output", out_.failed());
  return system_failure("cannot write standard error", error_.failed());
}

bool Streams::over() const {
  return out_.idle() && error_.idle() && std::ranges::all_of(lines_, &Lines::ended);
}

}  // namespace hamlyn::tool
