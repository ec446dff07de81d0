#include "library/memory/area_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/throw_system.h"
#include "library/setting.h"

namespace hamlyn::internal_::library {

namespace {

struct Opened {
  base::FileDescriptor file;
  bool created = false;
};

[[noreturn]] void no_room(std::size_t bytes, const char* why) {
  throw Error(ErrorCode::disk_full,
              "no space for an area's file of " + std::to_string(bytes) + " bytes: " + why);
}

Opened open_path(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;  // a pipe would wait for its other end
  Opened opened;
  opened.file.reset(open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0600));
  opened.created = static_cast<bool>(opened.file);
  if (!opened.file && errno == EEXIST) opened.file.reset(open(path.c_str(), kFlags));
  if (!opened.file) base::throw_system(("open of " + path).c_str());
  // Two areas on one file would overwrite each other's messages.
  if (flock(opened.file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) throw Error(ErrorCode::not_permitted, path + " is the file of another area");
    if (opened.created) unlink(path.c_str());
    throw Error(ErrorCode::invalid_argument, "the file system of an area's file has no locks");
  }
  return opened;
}

Opened open_descriptor(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) base::throw_system("the descriptor of an area's file");
  if ((flags & O_ACCMODE) != O_RDWR || (flags & O_APPEND) != 0)
    throw Error(ErrorCode::invalid_argument,
                "the descriptor of an area's file is open for reading and writing, and not for appending");
  Opened opened;
  opened.file.reset(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!opened.file) base::throw_system("dup of an area's file");
  return opened;
}

// All of it now, so that no write later finds the disk full.
void give_space(const base::FileDescriptor& file, std::size_t bytes) {
  rlimit limit{};
  // Beyond it there would be a signal.
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur)
    no_room(bytes, "the limit of this process (RLIMIT_FSIZE) is lower");
  while (fallocate(file.get(), 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno == EINTR) continue;
    if (errno == ENOSPC) no_room(bytes, "the disk is full");
    if (errno == EDQUOT) no_room(bytes, "the quota on that disk is used up");
    if (errno == EFBIG) no_room(bytes, "its file system has no such long files");
    if (errno == EOPNOTSUPP)
      throw Error(ErrorCode::invalid_argument, "the file system of an area's file cannot set space aside");
    base::throw_system("fallocate of an area's file");
  }
  if (fsync(file.get()) != 0) base::throw_system("fsync of an area's file");
}

// So that a new file is still there after a crash.
void sync_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const base::FileDescriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || fsync(opened.get()) != 0) base::throw_system(("fsync of " + folder).c_str());
}

}  // namespace

base::FileDescriptor open_area_file(const AreaFile& file, std::size_t bytes) {
  if (file.path.empty() == (file.descriptor < 0))
    throw Error(ErrorCode::invalid_argument, "an area's file has either a path or a descriptor");
  Opened opened = file.path.empty() ? open_descriptor(file.descriptor) : open_path(file.path);
  struct stat before {};
  if (fstat(opened.file.get(), &before) != 0 || !S_ISREG(before.st_mode))
    throw Error(ErrorCode::invalid_argument, "an area's file is a regular file");
  try {
    give_space(opened.file, bytes);
    if (opened.created) sync_folder(file.path);
  } catch (...) {
    // As it was before.
    [[maybe_unused]] const int cut = ftruncate(opened.file.get(), before.st_size);
    if (opened.created) unlink(file.path.c_str());
    throw;
  }
  return std::move(opened.file);
}

void read_area_file(const base::FileDescriptor& file, std::span<std::byte> into) {
  for (std::size_t at = 0; at < into.size();) {
    const ssize_t got = pread(file.get(), into.data() + at, into.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) base::throw_system("read of an area's file");
    if (got == 0) throw Error(ErrorCode::system, "an area's file was cut short while it was read");
    at += static_cast<std::size_t>(got);
  }
}

bool put_in_file(const base::FileDescriptor& file, std::span<const std::byte> from,
                 std::span<const interface::StoredRange> ranges) noexcept {
  for (const auto& [offset, length] : ranges) {
    for (std::uint64_t at = offset; at < offset + length;) {
      const ssize_t put = pwrite(file.get(), from.data() + at, offset + length - at, static_cast<off_t>(at));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      at += static_cast<std::uint64_t>(put);
    }
  }
  return true;
}

bool put_on_disk(const base::FileDescriptor& file) noexcept {
  return simulation != nullptr ? simulation->sync(file.get()) : fdatasync(file.get()) == 0;
}

}  // namespace hamlyn::internal_::library
