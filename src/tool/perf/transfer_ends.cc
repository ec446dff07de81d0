#include "tool/perf/transfer_ends.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace hamlyn::tool::perf {
namespace {

constexpr std::size_t kWords = kTransferPiece / sizeof(std::uint64_t);

base::FileDescriptor file_in_memory(std::uint64_t number) {
  base::FileDescriptor file(memfd_create("hamlyn-perf", 0));  // a program that is started gets it, too
  std::vector<std::uint64_t> piece(kWords);
  for (std::size_t done = 0; done != kTransferBytes; done += kTransferPiece) {
    for (std::uint64_t& word : piece) word = ++number * 0x9E3779B97F4A7C15;
    if (pwrite(file.get(), piece.data(), kTransferPiece, static_cast<off_t>(done)) !=
        static_cast<ssize_t>(kTransferPiece))
      throw std::runtime_error(std::string("no file in memory: ") + std::strerror(errno));
  }
  return file;
}

}  // namespace

TransferEnds::TransferEnds() : from(file_in_memory(0)), to(file_in_memory(1)) {}

void TransferEnds::begin() const {
  lseek(from.get(), 0, SEEK_SET);
  lseek(to.get(), 0, SEEK_SET);
  // The last transfer's bytes are not to be taken for the next one's.
  const std::vector<std::uint64_t> nothing(kWords);
  for (std::size_t at = 0; at != kTransferBytes; at += kTransferPiece) {
    if (pwrite(to.get(), nothing.data(), sizeof(std::uint64_t), static_cast<off_t>(at)) < 0)
      throw std::runtime_error(std::string("a file in memory takes nothing: ") + std::strerror(errno));
  }
}

bool TransferEnds::arrived() const {
  std::uint64_t sent = 0, came = 0;
  for (std::size_t at = 0; at != kTransferBytes; at += kTransferPiece) {
    const auto offset = static_cast<off_t>(at);
    if (pread(from.get(), &sent, sizeof sent, offset) != sizeof sent ||
        pread(to.get(), &came, sizeof came, offset) != sizeof came || sent != came)
      return false;
  }
  return true;
}

const TransferEnds& transfer_ends() {
  static const TransferEnds ends;
  return ends;
}

}  // namespace hamlyn::tool::perf
