#include "fabric/shm/sealed_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/memfd.h"
#include "base/throw_system.h"
#include "hamlyn/values/error.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace hamlyn::shm {

namespace {

// FUTURE_WRITE: writable mappings stay, nobody gets another, and nobody punches holes. SEAL: nobody adds
// seals that would stop the other side from mapping.
constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kReadersSeals = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

int seals_at_first(Writers writers) noexcept {
  switch (writers) {
    case Writers::owner:
      return kSize | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    case Writers::both_ends:
      return kSize;
    case Writers::everybody:
      return kSize | F_SEAL_SEAL;
  }
  return 0;
}

bool has_seals(const base::FileDescriptor& memfd, int seals) noexcept {
  const int found = fcntl(memfd.get(), F_GET_SEALS);
  return found >= 0 && (found & seals) == seals;
}

// Pages that are not there would be made, and paid for, by whoever touches them first. (Blocks may stand
// behind the end of a file, so their number says nothing.)
bool whole(const base::FileDescriptor& memfd, std::size_t bytes) noexcept {
  return lseek(memfd.get(), 0, SEEK_HOLE) == static_cast<off_t>(bytes);
}

ForeignMemory refused(const char* why, bool no_memory = false) noexcept {
  return {Mapping{}, why, no_memory};
}

// Errors of mmap and madvise in a process that has no more memory, addresses, or pages that it may lock.
bool short_of_memory(int error) noexcept { return error == ENOMEM || error == EAGAIN; }

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

OwnedMemory make_sealed_memory(std::size_t bytes, Writers writers) {
  OwnedMemory made;
  made.memfd = base::make_memfd("hamlyn", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (!made.memfd) base::throw_system("memfd_create");
  rlimit limit{};
  // Beyond it there would be a signal.
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur)
    throw Error(ErrorCode::out_of_memory,
                "shared memory of " + std::to_string(bytes) +
                    " bytes: the limit of this process for files (RLIMIT_FSIZE) is lower");
  if (ftruncate(made.memfd.get(), static_cast<off_t>(bytes)) != 0) base::throw_system("ftruncate of a memfd");
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.memfd.get(), 0);
  if (data == MAP_FAILED) throw Error(ErrorCode::out_of_memory, "mmap of a link's memory failed");
  made.mapping = Mapping(data, bytes);
  // Populated now: an error here instead of a signal on the data path.
  if (madvise(data, bytes, MADV_DONTFORK) != 0 || madvise(data, bytes, MADV_POPULATE_WRITE) != 0)
    throw Error(ErrorCode::out_of_memory, "a link's memory could not be populated");
  if (fcntl(made.memfd.get(), F_ADD_SEALS, seals_at_first(writers)) != 0) base::throw_system("F_ADD_SEALS");
  return made;
}

ForeignMemory map_foreign_memory(const base::FileDescriptor& memfd, std::size_t bytes,
                                 Writers writers) noexcept {
  if (!memfd) return refused("no descriptor came with it");
  struct statfs file_system {};
  if (fstatfs(memfd.get(), &file_system) != 0 || file_system.f_type != TMPFS_MAGIC)
    return refused("the descriptor is not plain shared memory");  // huge pages can fail with a signal
  struct stat file {};
  if (fstat(memfd.get(), &file) != 0 || !S_ISREG(file.st_mode))
    return refused("the descriptor is not a memfd");
  if (file.st_size < 0 || static_cast<std::size_t>(file.st_size) != bytes)
    return refused("the memory has another size");
  if (!has_seals(memfd, seals_at_first(writers))) return refused("the memory lacks seals");
  const int access = writers == Writers::owner ? PROT_READ : PROT_READ | PROT_WRITE;
  void* data = mmap(nullptr, bytes, access, MAP_SHARED, memfd.get(), 0);
  if (data == MAP_FAILED) return refused("the memory cannot be mapped", short_of_memory(errno));
  ForeignMemory mapped{Mapping(data, bytes)};
  if (writers == Writers::both_ends && fcntl(memfd.get(), F_ADD_SEALS, kReadersSeals) != 0)
    return refused("the memory cannot be sealed");
  // Pages that are there cannot go again: the seals see to that.
  if (!whole(memfd, bytes)) return refused("the memory has holes");
  if (madvise(data, bytes, MADV_DONTFORK) != 0 || madvise(data, bytes, MADV_POPULATE_READ) != 0)
    return refused("the memory cannot be populated", short_of_memory(errno));
  return mapped;
}

bool sealed_by_reader(const OwnedMemory& memory) noexcept {
  return has_seals(memory.memfd, kSize | kReadersSeals) && whole(memory.memfd, memory.mapping.size());
}

}  // namespace hamlyn::shm
