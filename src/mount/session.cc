#define FUSE_USE_VERSION 314
#include "mount/session.h"

#include <fuse3/fuse_lowlevel.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "files/fault.h"
#include "hamlyn/values/error.h"
#include "mount/nodes.h"

namespace hamlyn::internal_::mount {
namespace {

using files::Attributes;
using files::Caller;
using files::Changes;
using files::Done;
using files::Fault;
using files::Found;
using files::Handle;
using files::Kind;
using files::Name;
using files::Renaming;
using files::Store;

constexpr std::size_t kMostBytes = 1 << 20;  // of one read or write

// Shared by all requests of a mount.
struct Mounted {
  Store& store;
  Nodes nodes;
  std::function<void()> begun;
};

Mounted& of(fuse_req_t request) { return *static_cast<Mounted*>(fuse_req_userdata(request)); }
Store& store_of(fuse_req_t request) { return of(request).store; }
// The user who asks. Groups are those that the server's host knows.
Caller caller_of(fuse_req_t request) { return {.user = fuse_req_ctx(request)->uid}; }
// The user who has opened the file, whoever uses its descriptor now.
Caller opener_of(const fuse_file_info& how) { return {.user = static_cast<std::uint32_t>(how.fh)}; }

// An answer that the kernel does not take any more, since its asker has gone, is nobody's loss.
void answer(fuse_req_t request, Fault fault) { fuse_reply_err(request, files::number_of(fault)); }

// Calls what(handle) of a number that the kernel was told.
template <class What>
void with(fuse_req_t request, fuse_ino_t number, What what) {
  const std::optional<Handle> handle = of(request).nodes.of(number);
  if (!handle) return answer(request, Fault::stale);
  what(*handle);
}

mode_t type_of(Kind kind) {
  switch (kind) {
    case Kind::file:
      return S_IFREG;
    case Kind::directory:
      return S_IFDIR;
    case Kind::symbolic_link:
      return S_IFLNK;
    case Kind::other:
      break;
  }
  return S_IFSOCK;  // shown, and never opened
}

timespec time_of(const files::Moment& moment) {
  return {.tv_sec = moment.seconds, .tv_nsec = moment.nanoseconds};
}

struct stat stat_of(const Attributes& attributes) {
  struct stat out {};
  out.st_ino = attributes.inode;
  out.st_mode = type_of(attributes.kind) | attributes.mode;
  out.st_nlink = attributes.links;
  out.st_uid = attributes.owner;
  out.st_gid = attributes.group;
  out.st_size = static_cast<off_t>(attributes.size);
  out.st_blksize = 65536;
  out.st_blocks = static_cast<blkcnt_t>(attributes.blocks);
  out.st_atim = time_of(attributes.read);
  out.st_mtim = time_of(attributes.written);
  out.st_ctim = time_of(attributes.changed);
  return out;
}

fuse_entry_param entry_of(fuse_req_t request, const Found& found) {
  fuse_entry_param entry{};
  entry.ino = of(request).nodes.tell(found.handle);
  entry.attr = stat_of(found.attributes);
  return entry;
}

void answer(fuse_req_t request, const Done<Found>& found) {
  if (!found) return answer(request, found.fault);
  const fuse_entry_param entry = entry_of(request, found.value);
  if (fuse_reply_entry(request, &entry) != 0) of(request).nodes.forget(entry.ino, 1);
}

void answer(fuse_req_t request, const Done<Attributes>& attributes) {
  if (!attributes) return answer(request, attributes.fault);
  const struct stat stat = stat_of(attributes.value);
  fuse_reply_attr(request, &stat, 0);
}

// Kernel and libfuse have agreed.
void begin(void* mounted, fuse_conn_info*) noexcept { static_cast<Mounted*>(mounted)->begun(); }

// --- names

void look_up(fuse_req_t request, fuse_ino_t folder, const char* name) {
  with(request, folder,
       [&](const Handle& at) { answer(request, store_of(request).look_up(caller_of(request), at, name)); });
}

void forget(fuse_req_t request, fuse_ino_t number, std::uint64_t times) {
  of(request).nodes.forget(number, times);
  fuse_reply_none(request);
}

void forget_several(fuse_req_t request, std::size_t count, fuse_forget_data* all) {
  for (std::size_t i = 0; i != count; ++i) of(request).nodes.forget(all[i].ino, all[i].nlookup);
  fuse_reply_none(request);
}

void read_link(fuse_req_t request, fuse_ino_t number) {
  with(request, number, [&](const Handle& link) {
    const Done<std::string> target = store_of(request).read_link(link);
    if (!target) return answer(request, target.fault);
    fuse_reply_readlink(request, target.value.c_str());
  });
}

void make_directory(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode) {
  with(request, folder, [&](const Handle& at) {
    answer(request, store_of(request).make_directory(caller_of(request), at, name, mode & 07777u));
  });
}

// Files alone are made by it; nodes of devices, pipes and sockets are of one host.
void make_node(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode, dev_t) {
  if (!S_ISREG(mode)) return answer(request, Fault::not_supported);
  with(request, folder, [&](const Handle& at) {
    answer(request, store_of(request).create(caller_of(request), at, name, mode & 07777u, true));
  });
}

void make_symbolic_link(fuse_req_t request, const char* target, fuse_ino_t folder, const char* name) {
  with(request, folder, [&](const Handle& at) {
    answer(request, store_of(request).make_symbolic_link(caller_of(request), at, name, target));
  });
}

void link(fuse_req_t request, fuse_ino_t number, fuse_ino_t folder, const char* name) {
  with(request, number, [&](const Handle& file) {
    with(request, folder, [&](const Handle& at) {
      const Done<Attributes> done = store_of(request).link(caller_of(request), file, at, name);
      answer(request, Done<Found>{done.fault, {file, done.value}});
    });
  });
}

void remove(fuse_req_t request, fuse_ino_t folder, const char* name) {
  with(request, folder,
       [&](const Handle& at) { answer(request, store_of(request).remove(caller_of(request), at, name)); });
}

void remove_directory(fuse_req_t request, fuse_ino_t folder, const char* name) {
  with(request, folder, [&](const Handle& at) {
    answer(request, store_of(request).remove_directory(caller_of(request), at, name));
  });
}

void rename(fuse_req_t request, fuse_ino_t from, const char* name, fuse_ino_t to, const char* new_name,
            unsigned flags) {
  constexpr unsigned kKnown = RENAME_NOREPLACE | RENAME_EXCHANGE;
  if ((flags & ~kKnown) != 0) return answer(request, Fault::invalid);
  const Renaming how = (flags & RENAME_EXCHANGE) != 0    ? Renaming::exchanges
                       : (flags & RENAME_NOREPLACE) != 0 ? Renaming::refuses
                                                         : Renaming::replaces;
  with(request, from, [&](const Handle& source) {
    with(request, to, [&](const Handle& target) {
      answer(request, store_of(request).rename(caller_of(request), source, name, target, new_name, how));
    });
  });
}

// --- attributes

void attributes(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  with(request, number, [&](const Handle& file) { answer(request, store_of(request).attributes(file)); });
}

Changes::Time wanted_time(bool now, const timespec& time) {
  return {.now = now,
          .moment = {.seconds = time.tv_sec, .nanoseconds = static_cast<std::uint32_t>(time.tv_nsec)}};
}

void change(fuse_req_t request, fuse_ino_t number, struct stat* stat, int which, fuse_file_info* how) {
  Changes changes;
  if ((which & FUSE_SET_ATTR_MODE) != 0) changes.mode = stat->st_mode & 07777u;
  if ((which & FUSE_SET_ATTR_UID) != 0) changes.owner = stat->st_uid;
  if ((which & FUSE_SET_ATTR_GID) != 0) changes.group = stat->st_gid;
  if ((which & FUSE_SET_ATTR_SIZE) != 0) changes.size = static_cast<std::uint64_t>(stat->st_size);
  if ((which & FUSE_SET_ATTR_ATIME) != 0)
    changes.read = wanted_time((which & FUSE_SET_ATTR_ATIME_NOW) != 0, stat->st_atim);
  if ((which & FUSE_SET_ATTR_MTIME) != 0)
    changes.written = wanted_time((which & FUSE_SET_ATTR_MTIME_NOW) != 0, stat->st_mtim);
  with(request, number, [&](const Handle& file) {
    const Caller caller = how != nullptr && changes.size ? opener_of(*how) : caller_of(request);
    answer(request, store_of(request).change(caller, file, changes));
  });
}

void room(fuse_req_t request, fuse_ino_t) {
  const Done<files::Room> room = store_of(request).room();
  if (!room) return answer(request, room.fault);
  struct statvfs out {};
  out.f_bsize = out.f_frsize = room.value.block;
  out.f_blocks = room.value.blocks;
  out.f_bfree = room.value.free;
  out.f_bavail = room.value.available;
  out.f_files = room.value.files;
  out.f_ffree = out.f_favail = room.value.files_free;
  out.f_namemax = 255;
  fuse_reply_statfs(request, &out);
}

// --- data. The kernel keeps none of it (direct_io).

// The kernel leaves it to an opening that truncates to do so.
Fault truncate(fuse_req_t request, const Handle& file, const fuse_file_info& how) {
  if ((how.flags & O_TRUNC) == 0) return Fault::none;
  return store_of(request).change(caller_of(request), file, {.size = 0}).fault;
}

void open_file(fuse_req_t request, fuse_ino_t number, fuse_file_info* how) {
  with(request, number, [&](const Handle& file) {
    if (const Fault fault = truncate(request, file, *how); fault != Fault::none)
      return answer(request, fault);
    how->fh = fuse_req_ctx(request)->uid;
    how->direct_io = 1;
    fuse_reply_open(request, how);
  });
}

void create(fuse_req_t request, fuse_ino_t folder, const char* name, mode_t mode, fuse_file_info* how) {
  with(request, folder, [&](const Handle& at) {
    const bool fresh = (how->flags & O_EXCL) != 0;
    const Done<Found> made = store_of(request).create(caller_of(request), at, name, mode & 07777u, fresh);
    const Fault fault = made ? truncate(request, made.value.handle, *how) : made.fault;
    if (fault != Fault::none) return answer(request, fault);
    if (made.value.attributes.kind != Kind::file) return answer(request, Fault::exists);
    const fuse_entry_param entry = entry_of(request, made.value);
    how->fh = fuse_req_ctx(request)->uid;
    how->direct_io = 1;
    if (fuse_reply_create(request, &entry, how) != 0) of(request).nodes.forget(entry.ino, 1);
  });
}

void read(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info* how) {
  with(request, number, [&](const Handle& file) {
    std::vector<std::byte> bytes(std::min(size, kMostBytes));
    const Done<std::size_t> done =
        store_of(request).read(opener_of(*how), file, static_cast<std::uint64_t>(offset), bytes);
    if (!done) return answer(request, done.fault);
    fuse_reply_buf(request, reinterpret_cast<const char*>(bytes.data()), done.value);
  });
}

// The kernel knows where the file ended when it looked last. Where it ends now the server knows.
void write(fuse_req_t request, fuse_ino_t number, const char* data, std::size_t size, off_t offset,
           fuse_file_info* how) {
  with(request, number, [&](const Handle& file) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const Caller caller = opener_of(*how);
    const Done<std::size_t> done =
        (how->flags & O_APPEND) != 0
            ? store_of(request).append(caller, file, bytes)
            : store_of(request).write(caller, file, static_cast<std::uint64_t>(offset), bytes);
    if (!done) return answer(request, done.fault);
    fuse_reply_write(request, done.value);
  });
}

void sync(fuse_req_t request, fuse_ino_t number, int, fuse_file_info*) {
  with(request, number, [&](const Handle& file) { answer(request, store_of(request).sync(file)); });
}

void done(fuse_req_t request, fuse_ino_t, fuse_file_info*) { answer(request, Fault::none); }

// --- directories

void open_folder(fuse_req_t request, fuse_ino_t, fuse_file_info* how) { fuse_reply_open(request, how); }

// Names in the form that the kernel takes, as many as it has asked for.
class Listing {
 public:
  Listing(fuse_req_t request, std::size_t size) : request_(request), bytes_(std::min(size, kMostBytes)) {}
  bool put(const char* name, Kind kind, std::uint64_t inode, std::uint64_t next) {
    struct stat stat {};
    stat.st_ino = inode;
    stat.st_mode = type_of(kind);
    const std::size_t taken = fuse_add_direntry(request_, bytes_.data() + used_, bytes_.size() - used_, name,
                                                &stat, static_cast<off_t>(next));
    if (taken > bytes_.size() - used_) return false;
    used_ += taken;
    return true;
  }
  void send() { fuse_reply_buf(request_, bytes_.data(), used_); }

 private:
  fuse_req_t request_;
  std::vector<char> bytes_;
  std::size_t used_ = 0;
};

// "." and "..", which a store does not list, come first. Cookies 1 and 2 are theirs on the server's file
// systems, too, so that no other name has them.
void list(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info*) {
  with(request, number, [&](const Handle& folder) {
    Listing listing(request, size);
    auto from = static_cast<std::uint64_t>(offset);
    if (from < 1 && !listing.put(".", Kind::directory, number, 1)) return listing.send();
    if (from < 2 && !listing.put("..", Kind::directory, number, 2)) return listing.send();
    if (from <= 2) from = 0;
    const Done<bool> done = store_of(request).list(caller_of(request), folder, from, [&](const Name& name) {
      return listing.put(std::string(name.text).c_str(), name.kind, name.inode, name.cookie);
    });
    if (!done) return answer(request, done.fault);
    listing.send();
  });
}

// --- what is not there yet. Without an answer of ours the kernel would lock on this host alone.

void lock(fuse_req_t request, fuse_ino_t, fuse_file_info*, struct flock*, int) {
  answer(request, Fault::not_supported);
}
void look_for_lock(fuse_req_t request, fuse_ino_t, fuse_file_info*, struct flock*) {
  answer(request, Fault::not_supported);
}
void lock_file(fuse_req_t request, fuse_ino_t, fuse_file_info*, int) {
  answer(request, Fault::not_supported);
}

// No exception goes through libfuse. What throws has not answered yet.
template <auto kFunction>
struct Guarded;
template <class... Arguments, void (*kFunction)(fuse_req_t, Arguments...)>
struct Guarded<kFunction> {
  static void run(fuse_req_t request, Arguments... arguments) noexcept {
    try {
      kFunction(request, arguments...);
    } catch (const std::bad_alloc&) {
      answer(request, Fault::out_of_memory);
    } catch (const std::exception&) {
      answer(request, Fault::io);
    }
  }
};
template <auto kFunction>
constexpr auto guarded = &Guarded<kFunction>::run;

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops out{};
  out.init = begin;
  out.lookup = guarded<look_up>;
  out.forget = guarded<forget>;
  out.forget_multi = guarded<forget_several>;
  out.getattr = guarded<attributes>;
  out.setattr = guarded<change>;
  out.readlink = guarded<read_link>;
  out.mknod = guarded<make_node>;
  out.mkdir = guarded<make_directory>;
  out.unlink = guarded<remove>;
  out.rmdir = guarded<remove_directory>;
  out.symlink = guarded<make_symbolic_link>;
  out.rename = guarded<rename>;
  out.link = guarded<link>;
  out.open = guarded<open_file>;
  out.read = guarded<read>;
  out.write = guarded<write>;
  out.flush = guarded<done>;
  out.release = guarded<done>;
  out.fsync = guarded<sync>;
  out.opendir = guarded<open_folder>;
  out.readdir = guarded<list>;
  out.releasedir = guarded<done>;
  out.fsyncdir = guarded<sync>;
  out.statfs = guarded<room>;
  out.create = guarded<create>;
  out.getlk = guarded<look_for_lock>;
  out.setlk = guarded<lock>;
  out.flock = guarded<lock_file>;
  return out;
}

// The words that libfuse takes.
std::vector<std::string> words_of(const Options& options) {
  std::string wanted = "default_permissions,subtype=hamlyn,nodev,nosuid";
  if (options.all_users) wanted += ",allow_other";
  if (options.read_only) wanted += ",ro";
  for (const std::string& each : options.more) wanted += "," + each;
  std::string source = options.source;
  std::ranges::replace(source, ',', '_');
  return {"hamlyn-mount", "-o", wanted + ",fsname=" + source};
}

// Where it is mounted, whatever the current folder is later. Throws Error(invalid_argument).
std::string mount_point(const std::string& directory) {
  std::error_code failed;
  const std::string where = std::filesystem::canonical(directory, failed);
  struct stat found {
  }, above{};
  if (failed || stat(where.c_str(), &found) != 0 || !S_ISDIR(found.st_mode))
    throw Error(ErrorCode::invalid_argument, directory + " is no directory to mount at");
  if (where == "/" || (stat((where + "/..").c_str(), &above) == 0 && above.st_dev != found.st_dev))
    throw Error(ErrorCode::invalid_argument, directory + " is a mount point in use");
  return where;
}

}  // namespace

struct Session::Inside {
  explicit Inside(Store& store) : mounted{store, Nodes(store.root()), {}} {}
  ~Inside() {
    if (session == nullptr) return;
    if (is_mounted) fuse_session_unmount(session);
    if (handles_signals) fuse_remove_signal_handlers(session);
    fuse_session_destroy(session);
  }

  Mounted mounted;
  fuse_session* session = nullptr;
  bool is_mounted = false, handles_signals = false;
};

Session::Session(Store& store, const Options& options) : inside_(std::make_unique<Inside>(store)) {
  if (access("/dev/fuse", R_OK | W_OK) != 0)
    throw Error(ErrorCode::not_permitted,
                std::string("/dev/fuse cannot be opened (") + std::strerror(errno) +
                    "): load the kernel's module fuse, or run where that device is");
  const std::string where = mount_point(options.directory);
  std::vector<std::string> words = words_of(options);
  std::vector<char*> pointers;
  for (std::string& each : words) pointers.push_back(each.data());
  fuse_args arguments{static_cast<int>(pointers.size()), pointers.data(), 0};
  static const fuse_lowlevel_ops kOperations = operations();
  inside_->session = fuse_session_new(&arguments, &kOperations, sizeof kOperations, &inside_->mounted);
  fuse_opt_free_args(&arguments);
  if (inside_->session == nullptr) throw Error(ErrorCode::system, "libfuse takes none of the options");
  if (fuse_set_signal_handlers(inside_->session) != 0)
    throw Error(ErrorCode::system, "the signals' handlers cannot be set");
  inside_->handles_signals = true;
  if (fuse_session_mount(inside_->session, where.c_str()) != 0)
    throw Error(ErrorCode::not_permitted,
                "cannot mount at " + where + ": root may, and others where they may write, with fusermount3");
  inside_->is_mounted = true;
}

Session::~Session() = default;

void Session::run(const std::function<void()>& begun) {
  inside_->mounted.begun = begun;
  fuse_loop_config* const config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, 16);
  const int ended = fuse_session_loop_mt(inside_->session, config);
  fuse_loop_cfg_destroy(config);
  if (ended < 0) throw Error(ErrorCode::system, std::string("the mount has ended: ") + std::strerror(-ended));
}

}  // namespace hamlyn::internal_::mount
