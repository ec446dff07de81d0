#include "tool/perf/keeper.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "base/file_descriptor.h"
#include "hamlyn/core/interface.h"

namespace hamlyn::tool::perf {
namespace {

void say(int to, const std::string& text) {
  if (write(to, text.data(), text.size()) < 0) _exit(1);
}

// Attaches, says "." or what is wrong, and stays until it is killed.
int stay_attached(int to) {
  try {
    const Interface interface;
    say(to, ".");
    for (;;) pause();
  } catch (const std::exception& error) {
    say(to, error.what());
  }
  return 1;
}

}  // namespace

Keeper::Keeper() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  const base::FileDescriptor from{ends[0]};
  base::FileDescriptor to{ends[1]};
  worker_.emplace([&] { return stay_attached(to.get()); });
  to.reset();
  std::array<char, 1024> text{};
  const ssize_t length = read(from.get(), text.data(), text.size());
  const std::string said{text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
  if (said != ".")
    throw std::runtime_error(said.empty() ? "a process that attached to the node has died" : said);
}

}  // namespace hamlyn::tool::perf
