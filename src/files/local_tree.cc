#include "files/local_tree.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/byte_order.h"
#include "base/throw_system.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::files {
namespace {

// File systems of other hosts: whoever serves one on has two caches that know nothing of each other.
constexpr std::array<long, 9> kOverNetworks = {
    NFS_SUPER_MAGIC,       SMB_SUPER_MAGIC,         0xFF534D42 /* cifs */,
    0xFE534D42 /* smb2 */, AFS_SUPER_MAGIC,         FUSE_SUPER_MAGIC,
    0x00C36400 /* ceph */, 0x0BD00BD3 /* lustre */, 0x47504653 /* gpfs */};

// A kernel handle with its bytes behind it.
class KernelHandle {
 public:
  KernelHandle() noexcept { get()->handle_bytes = Handle::kMost; }
  file_handle* get() noexcept { return reinterpret_cast<file_handle*>(memory_.data()); }
  file_handle* operator->() noexcept { return get(); }

 private:
  alignas(file_handle) std::array<std::byte, sizeof(file_handle) + Handle::kMost> memory_{};
};

// The key of one tree, of that folder on that file system: another one is served with another.
base::SipHash::Key key_of(const base::SipHash::Key& key, const file_handle* root,
                          const struct statfs& system) {
  std::array<std::uint64_t, 2 + Handle::kMost / sizeof(std::uint64_t)> words{};
  static_assert(sizeof system.f_fsid == sizeof words[0]);
  std::memcpy(&words[0], &system.f_fsid, sizeof words[0]);
  words[1] = root->handle_bytes | static_cast<std::uint64_t>(static_cast<std::uint32_t>(root->handle_type))
                                      << 32;
  std::memcpy(&words[2], root->f_handle, root->handle_bytes);
  return {base::SipHash::of(key, words), base::SipHash::of({key[1], key[0]}, words)};
}

Moment moment_of(const statx_timestamp& time) noexcept {
  return {.seconds = time.tv_sec, .nanoseconds = time.tv_nsec};
}

// Links have none, and what is neither file nor directory is nobody's to read.
bool has_list(int file, std::uint32_t mode) {
  if (!S_ISREG(mode) && !S_ISDIR(mode)) return false;
  const std::string again = "/proc/self/fd/" + std::to_string(file);
  return getxattr(again.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

Kind kind_of(std::uint32_t mode) noexcept {
  if (S_ISREG(mode)) return Kind::file;
  if (S_ISDIR(mode)) return Kind::directory;
  return S_ISLNK(mode) ? Kind::symbolic_link : Kind::other;
}

}  // namespace

Done<Attributes> attributes_of(int file) {
  struct statx found;
  if (statx(file, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &found) != 0)
    return {fault_of(errno), {}};
  // A file without a name is there while somebody has it open, and for nobody else.
  if (found.stx_nlink == 0) return {Fault::stale, {}};
  return {Fault::none,
          {.inode = found.stx_ino,
           .size = found.stx_size,
           .blocks = found.stx_blocks,
           .kind = kind_of(found.stx_mode),
           .mode = found.stx_mode & 07777u,
           .links = found.stx_nlink,
           .owner = found.stx_uid,
           .group = found.stx_gid,
           .listed = has_list(file, found.stx_mode) ? 1u : 0u,
           .read = moment_of(found.stx_atime),
           .written = moment_of(found.stx_mtime),
           .changed = moment_of(found.stx_ctime)}};
}

LocalTree::LocalTree(const std::string& path, const base::SipHash::Key& key) : key_(key) {
  directory_.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_) base::throw_system(("cannot serve " + path).c_str());
  if (flock(directory_.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error(ErrorCode::invalid_argument, path + " is served already, or locked by another process");
  struct statfs found;
  if (fstatfs(directory_.get(), &found) != 0) base::throw_system(("cannot look at " + path).c_str());
  if (std::ranges::find(kOverNetworks, static_cast<long>(found.f_type)) != kOverNetworks.end())
    throw Error(ErrorCode::invalid_argument,
                path + " lies on a file system of another host, or in another program: serve it where it is");
  KernelHandle kernel;
  if (name_to_handle_at(directory_.get(), "", kernel.get(), &mount_, AT_EMPTY_PATH) != 0) {
    if (errno == EOPNOTSUPP)
      throw Error(ErrorCode::invalid_argument, "the file system of " + path + " has no file handles");
    if (errno == EOVERFLOW)
      throw Error(ErrorCode::invalid_argument,
                  "the file system of " + path + " has handles of more than 32 bytes");
    base::throw_system(("cannot have a handle of " + path).c_str());
  }
  key_ = key_of(key, kernel.get(), found);
  const Done<Handle> root = handle_of(directory_.get());
  if (!root) base::throw_system(("cannot have a handle of " + path).c_str());
  root_ = root.value;
  const Done<base::FileDescriptor> again = open(root_);
  if (again.fault == Fault::not_permitted) {
    places_ = std::make_unique<Places>(directory_.get(), root_, [this](int file) { return handle_of(file); });
  } else if (!again) {
    throw Error(ErrorCode::system,
                "cannot open " + path + " by its handle: " + hamlyn::files::text(again.fault));
  }
}

std::uint64_t LocalTree::seal_of(const Handle& handle) const noexcept {
  constexpr std::size_t kWords = 1 + Handle::kMost / sizeof(std::uint64_t);
  std::array<std::uint64_t, kWords> words{};
  words[0] = handle.kind | std::uint64_t{handle.length} << 16;
  for (std::size_t i = 1; i != kWords; ++i)
    words[i] = base::load_little<std::uint64_t>(handle.bytes.data() + (i - 1) * sizeof(std::uint64_t));
  return base::SipHash::of(key_, words);
}

Done<Handle> LocalTree::handle_of(int file) const noexcept {
  KernelHandle kernel;
  int mount = 0;
  if (name_to_handle_at(file, "", kernel.get(), &mount, AT_EMPTY_PATH) != 0) return {fault_of(errno), {}};
  if (mount != mount_) return {Fault::cross_device, {}};
  Handle out;
  out.kind = static_cast<std::uint16_t>(kernel->handle_type);
  out.length = static_cast<std::uint16_t>(kernel->handle_bytes);
  std::memcpy(out.bytes.data(), kernel->f_handle, kernel->handle_bytes);
  out.seal = seal_of(out);
  return {Fault::none, out};
}

Done<base::FileDescriptor> LocalTree::open(const Handle& handle) const {
  if (handle.length == 0 || handle.length > Handle::kMost || handle.zero != 0 ||
      handle.seal != seal_of(handle))
    return {Fault::stale, {}};
  if (places_ != nullptr) return places_->open(handle);
  KernelHandle kernel;
  kernel->handle_bytes = handle.length;
  kernel->handle_type = handle.kind;
  std::memcpy(kernel->f_handle, handle.bytes.data(), handle.length);
  base::FileDescriptor file(open_by_handle_at(directory_.get(), kernel.get(), O_PATH | O_CLOEXEC));
  if (!file) return {fault_of(errno), {}};
  return {Fault::none, std::move(file)};
}

void LocalTree::note(const Handle& file, Kind kind, const Handle& folder, std::string_view name) const {
  if (places_ != nullptr) places_->note(file, kind, folder, name);
}

void LocalTree::forget(const Handle& folder, std::string_view name) const {
  if (places_ != nullptr) places_->forget(folder, name);
}

std::shared_lock<std::shared_mutex> LocalTree::still() const {
  return places_ != nullptr ? places_->still() : std::shared_lock<std::shared_mutex>();
}

std::unique_lock<std::shared_mutex> LocalTree::moving() const {
  return places_ != nullptr ? places_->moving() : std::unique_lock<std::shared_mutex>();
}

}  // namespace hamlyn::internal_::files
