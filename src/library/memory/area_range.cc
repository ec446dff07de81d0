#include "library/memory/area_range.h"

#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/immortal.h"
#include "base/uncancelled.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::library {

namespace {

constinit std::mutex mutex;
constinit base::Immortal<std::vector<const AreaRange*>> ranges;

// A child that is forked while another thread has the mutex could never take it. From the program's start on:
// a child that is forked at the moment at which this is done would wait for the thread that does it.
const int forks_heard_of =
    pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });

[[noreturn]] void refuse(const char* why) {
  throw Error(ErrorCode::invalid_argument, std::string("memory that is to be mapped by others ") + why);
}

// Whether it lies in the variables of the program, or of a library that it has loaded: private pages, which
// begin as what stands in its file.
bool is_of_a_module(std::uintptr_t begin, std::uintptr_t end) noexcept {
  struct Range {
    std::uintptr_t begin, end;
  } range{begin, end};
  const auto look = [](dl_phdr_info* module, std::size_t, void* what) {
    constexpr std::uintptr_t kPage = 4096;
    const Range& wanted = *static_cast<const Range*>(what);
    for (std::size_t i = 0; i != module->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = module->dlpi_phdr[i];
      if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
      const std::uintptr_t first = module->dlpi_addr + part.p_vaddr, behind = first + part.p_memsz;
      if ((first & ~(kPage - 1)) <= wanted.begin && wanted.end <= (behind + kPage - 1) / kPage * kPage)
        return 1;
    }
    return 0;
  };
  return dl_iterate_phdr(look, &range) != 0;
}

}  // namespace

AreaRange::AreaRange(std::span<const std::byte> memory, bool alone)
    : begin_(memory.data()), end_(memory.data() + memory.size()) {
  if (forks_heard_of != 0) throw Error(ErrorCode::out_of_memory, "no memory to hear of forks");
  const std::lock_guard guard(mutex);
  const auto overlaps = [this](const AreaRange* other) {
    return other->begin_ < end_ && begin_ < other->end_;
  };
  if (alone && std::ranges::any_of(ranges.value, overlaps)) refuse("has another area in it");
  ranges.value.push_back(this);
}

AreaRange::~AreaRange() {
  const std::lock_guard guard(mutex);
  std::erase(ranges.value, this);
}

// The kernel's own list, in the order of addresses.
void check_private(std::span<const std::byte> memory) {
  const base::Uncancelled guard;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                             std::fclose);
  if (maps == nullptr) refuse("cannot be looked at: there is no /proc/self/maps");
  auto next = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t end = next + memory.size();
  char line[8192];
  // A line ends with a path, which somebody has chosen, and which may be longer: its rest is no line.
  for (bool begins = true; next < end && std::fgets(line, sizeof line, maps.get()) != nullptr;) {
    if (!std::exchange(begins, std::strchr(line, '\n') != nullptr)) continue;
    std::uint64_t first = 0, behind = 0, inode = 0;
    char rights[5] = {};
    int path = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64 " %n", &first, &behind, rights,
                    &inode, &path) != 4)
      continue;
    if (behind <= next) continue;
    if (first > next) break;
    if (std::strcmp(rights, "rw-p") != 0 && std::strcmp(rights, "rwxp") != 0)
      refuse(rights[3] == 's' ? "is shared already" : "is not readable and writable");
    const std::uintptr_t part_end = std::min<std::uintptr_t>(behind, end);
    if (inode != 0 && !is_of_a_module(next, part_end)) refuse("is that of a file");
    if (std::strncmp(line + path, "[stack", 6) == 0) refuse("is the stack");
    next = behind;
  }
  if (next < end) refuse("is not all there");
}

}  // namespace hamlyn::internal_::library
