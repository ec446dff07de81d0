// Limit of a transfer: what the kernel moves between the same two files and processes by itself. One way is a
// Unix socket, the other a pipe with as large a buffer as the kernel gives.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "tool/perf/clock.h"
#include "tool/perf/limits.h"
#include "tool/perf/pair.h"
#include "tool/perf/transfer_ends.h"

namespace hamlyn::tool::perf {
namespace {

constexpr int kBuffer = 1 << 20;

using Ends = std::array<base::FileDescriptor, 2>;  // to read from, to write to

Ends socket_ends() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error("no socket pair");
  for (const int end : ends) {
    setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kBuffer, sizeof kBuffer);
    setsockopt(end, SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
  }
  return {base::FileDescriptor(ends[0]), base::FileDescriptor(ends[1])};
}

Ends pipe_ends() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  fcntl(ends[1], F_SETPIPE_SZ, kBuffer);
  return {base::FileDescriptor(ends[0]), base::FileDescriptor(ends[1])};
}

void copy(int from, int to) {
  std::vector<std::byte> piece(kTransferPiece);
  for (std::size_t all = 0; all != kTransferBytes;) {
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got <= 0) throw std::runtime_error("the transfer ended early");
    for (ssize_t done = 0; done != got;) {
      const ssize_t some = write(to, piece.data() + done, static_cast<std::size_t>(got - done));
      if (some <= 0) throw std::runtime_error("what was read could not be written");
      done += some;
    }
    all += static_cast<std::size_t>(got);
  }
}

std::vector<double> transfer(Cores cores, Ends (*make)()) {
  const TransferEnds& files = transfer_ends();
  files.begin();
  Ends ends = make();
  const std::vector<double> result = run_pair(
      cores, {},
      [&](Room& room) {
        ends[0].reset();
        room.meet();
        copy(files.from.get(), ends[1].get());
      },
      [&](Room& room) {
        ends[1].reset();
        room.meet();
        const std::uint64_t start = hamlyn_ticks();
        copy(ends[0].get(), files.to.get());
        room.report(static_cast<double>(kTransferBytes) /
                    (static_cast<double>(hamlyn_ticks() - start) * ns_per_tick()));
      });
  if (!files.arrived()) throw std::runtime_error("not everything has arrived");
  return result;
}

}  // namespace

Meter socket_limit() {
  return {.name = "limit.socket." + std::to_string(kTransferPiece) + ".bandwidth",
          .round = [](Cores cores, int) { return transfer(cores, socket_ends); }};
}

Meter pipe_limit() {
  return {.name = "limit.pipe." + std::to_string(kTransferPiece) + ".bandwidth",
          .round = [](Cores cores, int) { return transfer(cores, pipe_ends); }};
}

}  // namespace hamlyn::tool::perf
