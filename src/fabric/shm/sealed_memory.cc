#include "fabric/shm/sealed_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/throw_system.h"
#include "hamlyn/error.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace hamlyn::shm {

namespace {

// FUTURE_WRITE: the owner keeps its writable mapping, nobody gets another. SEAL: nobody adds seals that would
// stop the other side from mapping.
int seals_for(Writers writers) noexcept {
  const int common = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  return writers == Writers::owner ? common | F_SEAL_FUTURE_WRITE : common;
}

ForeignMemory refused(const char* why, bool no_memory = false) noexcept {
  return {Mapping{}, why, no_memory};
}

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
  made.memfd.reset(memfd_create("hamlyn", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.memfd) base::throw_system("memfd_create");
  if (ftruncate(made.memfd.get(), static_cast<off_t>(bytes)) != 0) base::throw_system("ftruncate of a memfd");
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.memfd.get(), 0);
  if (data == MAP_FAILED) throw Error(ErrorCode::out_of_memory, "mmap of a link's memory failed");
  made.mapping = Mapping(data, bytes);
  // Populated now: an error here instead of a signal on the data path.
  if (madvise(data, bytes, MADV_DONTFORK) != 0 || madvise(data, bytes, MADV_POPULATE_WRITE) != 0)
    throw Error(ErrorCode::out_of_memory, "a link's memory could not be populated");
  if (fcntl(made.memfd.get(), F_ADD_SEALS, seals_for(writers)) != 0) base::throw_system("F_ADD_SEALS");
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
  const int seals = fcntl(memfd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & seals_for(writers)) != seals_for(writers))
    return refused("the memory lacks seals");
  // Pages that are not there yet would be made, and paid for, by whoever reads them first. They cannot go
  // again: the seals see to that.
  // (Blocks may stand behind the end of a file, so their number says nothing.)
  if (lseek(memfd.get(), 0, SEEK_HOLE) != file.st_size) return refused("the memory has holes");
  const int access = writers == Writers::owner ? PROT_READ : PROT_READ | PROT_WRITE;
  void* data = mmap(nullptr, bytes, access, MAP_SHARED, memfd.get(), 0);
  if (data == MAP_FAILED) return refused("the memory cannot be mapped", errno == ENOMEM);
  ForeignMemory mapped{Mapping(data, bytes)};
  if (madvise(data, bytes, MADV_DONTFORK) != 0 || madvise(data, bytes, MADV_POPULATE_READ) != 0)
    return refused("the memory cannot be populated", errno == ENOMEM);
  return mapped;
}

}  // namespace hamlyn::shm
