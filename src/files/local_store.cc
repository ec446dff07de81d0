#include "files/local_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "files/as_caller.h"

namespace hamlyn::internal_::files {
namespace {

// A file that is open by O_PATH, under a name that opens it anew: the kernel lets a process look at its own
// descriptors whoever it acts as.
std::string anew(int file) { return "/proc/self/fd/" + std::to_string(file); }

Fault fault_now() noexcept { return fault_of(errno); }

// Entries as the kernel gives them, several at a time.
class Listing {
 public:
  explicit Listing(int folder) noexcept : folder_(folder) {}
  // Returns the next one; null: there is none, and `fault` says why.
  const dirent64* next() noexcept {
    if (at_ == length_) {
      const long got = syscall(SYS_getdents64, folder_, bytes_.data(), bytes_.size());
      fault = got < 0 ? fault_now() : Fault::none;
      if (got <= 0) return nullptr;
      at_ = 0;
      length_ = static_cast<std::size_t>(got);
    }
    const auto* const entry = reinterpret_cast<const dirent64*>(bytes_.data() + at_);
    at_ += entry->d_reclen;
    return entry;
  }
  Fault fault = Fault::none;

 private:
  int folder_;
  std::size_t at_ = 0, length_ = 0;
  alignas(dirent64) std::array<std::byte, 32768> bytes_;
};

Kind kind_of_type(unsigned char type) noexcept {
  switch (type) {
    case DT_REG:
      return Kind::file;
    case DT_DIR:
      return Kind::directory;
    case DT_LNK:
      return Kind::symbolic_link;
    default:
      return Kind::other;
  }
}

// Some file systems do not say it in the list.
Kind kind_at(int folder, const dirent64& entry) {
  if (entry.d_type != DT_UNKNOWN) return kind_of_type(entry.d_type);
  struct stat found {};
  if (fstatat(folder, entry.d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) return Kind::other;
  return kind_of_type(static_cast<unsigned char>(IFTODT(found.st_mode)));
}

timespec time_of(const std::optional<Changes::Time>& time) noexcept {
  if (!time) return {.tv_sec = 0, .tv_nsec = UTIME_OMIT};
  if (time->now) return {.tv_sec = 0, .tv_nsec = UTIME_NOW};
  return {.tv_sec = time->moment.seconds, .tv_nsec = time->moment.nanoseconds};
}

unsigned flags_of(Renaming how) noexcept {
  switch (how) {
    case Renaming::refuses:
      return RENAME_NOREPLACE;
    case Renaming::exchanges:
      return RENAME_EXCHANGE;
    case Renaming::replaces:
      break;
  }
  return 0;
}

}  // namespace

LocalStore::LocalStore(const std::string& path, const base::SipHash::Key& key) : tree_(path, key) {}

// --- what is there

Done<Found> LocalStore::found(int file) const {
  const Done<Handle> handle = tree_.handle_of(file);
  if (!handle) return {handle.fault, {}};
  const Done<Attributes> attributes = attributes_of(file);
  return {attributes.fault, {handle.value, attributes.value}};
}

Done<Found> LocalStore::noted(int file, const Handle& folder, std::string_view name) const {
  const Done<Found> out = found(file);
  if (out) tree_.note(out.value.handle, out.value.attributes.kind, folder, name);
  return out;
}

Done<Found> LocalStore::found_at(const Caller& caller, const Handle& handle, int folder,
                                 const std::string& name) const {
  const std::shared_lock still = tree_.still();
  base::FileDescriptor file;
  {
    const AsCaller as(caller);
    if (as.fault() != Fault::none) return {as.fault(), {}};
    file.reset(openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!file) return {fault_now(), {}};
  }
  return noted(file.get(), handle, name);
}

Done<Attributes> LocalStore::attributes(const Handle& file) {
  const auto there = tree_.open(file);
  return there ? attributes_of(there.value.get()) : Done<Attributes>{there.fault, {}};
}

Done<Found> LocalStore::look_up(const Caller& caller, const Handle& folder, std::string_view name) {
  if (const Fault fault = judge(name); fault != Fault::none) return {fault, {}};
  const auto there = tree_.open(folder);
  if (!there) return {there.fault, {}};
  return found_at(caller, folder, there.value.get(), std::string(name));
}

Done<std::string> LocalStore::read_link(const Handle& link) {
  const auto there = tree_.open(link);
  if (!there) return {there.fault, {}};
  std::array<char, PATH_MAX> target;
  const ssize_t length = readlinkat(there.value.get(), "", target.data(), target.size());
  // The kernel says of a file that is no link that there is none.
  if (length < 0) return {errno == ENOENT ? Fault::invalid : fault_now(), {}};
  return {Fault::none, std::string(target.data(), static_cast<std::size_t>(length))};
}

Done<bool> LocalStore::list(const Caller& caller, const Handle& folder, std::uint64_t cookie,
                            const std::function<bool(const Name&)>& each) {
  const auto there = tree_.open(folder);
  if (!there) return {there.fault, {}};
  const AsCaller as(caller);
  if (as.fault() != Fault::none) return {as.fault(), {}};
  const base::FileDescriptor open(
      ::open(anew(there.value.get()).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open) return {fault_now(), {}};
  if (cookie != 0 && lseek64(open.get(), static_cast<off64_t>(cookie), SEEK_SET) < 0)
    return {Fault::invalid, {}};
  Listing listing(open.get());
  while (const dirent64* const entry = listing.next()) {
    const std::string_view text = entry->d_name;
    if (text == "." || text == "..") continue;
    if (!each({text, static_cast<std::uint64_t>(entry->d_off), entry->d_ino, kind_at(open.get(), *entry)}))
      return {Fault::none, false};
  }
  return {listing.fault, true};
}

// --- data

Done<base::FileDescriptor> LocalStore::open_data(const Caller& caller, int file, int flags) const {
  const Done<Attributes> attributes = attributes_of(file);
  if (!attributes) return {attributes.fault, {}};
  if (attributes.value.kind == Kind::directory) return {Fault::is_a_directory, {}};
  if (attributes.value.kind != Kind::file) return {Fault::invalid, {}};
  const auto open = [&] { return ::open(anew(file).c_str(), flags | O_CLOEXEC | O_NOCTTY); };
  base::FileDescriptor out;
  if (caller.user == attributes.value.owner) {
    out.reset(open());
  } else {
    const AsCaller as(caller);
    if (as.fault() != Fault::none) return {as.fault(), {}};
    out.reset(open());
  }
  if (!out) return {fault_now(), {}};
  return {Fault::none, std::move(out)};
}

Done<std::size_t> LocalStore::read(const Caller& caller, const Handle& file, std::uint64_t offset,
                                   std::span<std::byte> into) {
  const auto there = tree_.open(file);
  if (!there) return {there.fault, {}};
  const auto data = open_data(caller, there.value.get(), O_RDONLY);
  if (!data) return {data.fault, {}};
  std::size_t done = 0;
  while (done != into.size()) {
    const ssize_t got = pread64(data.value.get(), into.data() + done, into.size() - done,
                                static_cast<off64_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {fault_now(), done};
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return {Fault::none, done};
}

Done<std::size_t> LocalStore::write(const Caller& caller, const Handle& file, std::uint64_t offset,
                                    std::span<const std::byte> data) {
  return put(caller, file, 0, offset, data);
}

Done<std::size_t> LocalStore::append(const Caller& caller, const Handle& file,
                                     std::span<const std::byte> data) {
  return put(caller, file, O_APPEND, 0, data);
}

// As the caller, whose quota it is. With O_APPEND the kernel looks at no offset.
Done<std::size_t> LocalStore::put(const Caller& caller, const Handle& file, int flags, std::uint64_t offset,
                                  std::span<const std::byte> data) const {
  const auto there = tree_.open(file);
  if (!there) return {there.fault, {}};
  const auto open = open_data(caller, there.value.get(), O_WRONLY | flags);
  if (!open) return {open.fault, {}};
  const AsCaller as(caller);
  if (as.fault() != Fault::none) return {as.fault(), {}};
  std::size_t done = 0;
  while (done != data.size()) {
    const ssize_t put = pwrite64(open.value.get(), data.data() + done, data.size() - done,
                                 static_cast<off64_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return {fault_now(), done};
    done += static_cast<std::size_t>(put);
  }
  return {Fault::none, done};
}

// --- changes

Done<Attributes> LocalStore::change(const Caller& caller, const Handle& file, const Changes& changes) {
  const auto there = tree_.open(file);
  if (!there) return {there.fault, {}};
  const int fd = there.value.get();
  if (changes.size) {
    const auto data = open_data(caller, fd, O_WRONLY);
    if (!data) return {data.fault, {}};
    const AsCaller as(caller);
    if (as.fault() != Fault::none) return {as.fault(), {}};
    if (ftruncate64(data.value.get(), static_cast<off64_t>(*changes.size)) != 0) return {fault_now(), {}};
  }
  const AsCaller as(caller);
  if (as.fault() != Fault::none) return {as.fault(), {}};
  if (changes.owner || changes.group) {
    const uid_t owner = changes.owner.value_or(static_cast<uid_t>(-1));
    const gid_t group = changes.group.value_or(static_cast<gid_t>(-1));
    if (fchownat(fd, "", owner, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) return {fault_now(), {}};
  }
  // Behind the owner, whose change takes set-id bits away.
  if (changes.mode && chmod(anew(fd).c_str(), *changes.mode & 07777u) != 0) return {fault_now(), {}};
  if (changes.read || changes.written) {
    const std::array<timespec, 2> times = {time_of(changes.read), time_of(changes.written)};
    if (utimensat(fd, "", times.data(), AT_EMPTY_PATH) != 0) return {fault_now(), {}};
  }
  return attributes_of(fd);
}

template <class Act>
Fault LocalStore::act_at(const Caller& caller, const Handle& folder, std::string_view name, Act act) const {
  if (const Fault fault = judge(name); fault != Fault::none) return fault;
  const auto there = tree_.open(folder);
  if (!there) return there.fault;
  const std::string text(name);
  const AsCaller as(caller);
  if (as.fault() != Fault::none) return as.fault();
  return act(there.value.get(), text.c_str()) == 0 ? Fault::none : fault_now();
}

template <class Make>
Done<Found> LocalStore::make_at(const Caller& caller, const Handle& folder, std::string_view name,
                                Make make) const {
  if (const Fault fault = act_at(caller, folder, name, make); fault != Fault::none) return {fault, {}};
  const auto there = tree_.open(folder);
  if (!there) return {there.fault, {}};
  return found_at(caller, folder, there.value.get(), std::string(name));
}

// The file that is there may go between two looks: then it is made after all.
Done<Found> LocalStore::create(const Caller& caller, const Handle& folder, std::string_view name,
                               std::uint32_t mode, bool fresh) {
  for (int tries = 8;; --tries) {
    base::FileDescriptor made;
    const Fault fault = act_at(caller, folder, name, [&](int at, const char* text) {
      made.reset(openat(at, text, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 07777u));
      return made ? 0 : -1;
    });
    if (fault == Fault::none) return noted(made.get(), folder, name);
    if (fresh || fault != Fault::exists) return {fault, {}};
    const Done<Found> there = look_up(caller, folder, name);
    if (there.fault != Fault::no_entry || tries == 0) return there;
  }
}

Done<Found> LocalStore::make_directory(const Caller& caller, const Handle& folder, std::string_view name,
                                       std::uint32_t mode) {
  return make_at(caller, folder, name,
                 [&](int at, const char* text) { return mkdirat(at, text, mode & 07777u); });
}

Done<Found> LocalStore::make_symbolic_link(const Caller& caller, const Handle& folder, std::string_view name,
                                           std::string_view target) {
  if (target.empty() || target.find('\0') != std::string_view::npos) return {Fault::invalid, {}};
  const std::string to(target);
  return make_at(caller, folder, name,
                 [&](int at, const char* text) { return symlinkat(to.c_str(), at, text); });
}

Done<Attributes> LocalStore::link(const Caller& caller, const Handle& file, const Handle& folder,
                                  std::string_view name) {
  const auto there = tree_.open(file);
  if (!there) return {there.fault, {}};
  const std::string from = anew(there.value.get());
  const Fault fault = act_at(caller, folder, name, [&](int at, const char* text) {
    return linkat(AT_FDCWD, from.c_str(), at, text, AT_SYMLINK_FOLLOW);
  });
  if (fault != Fault::none) return {fault, {}};
  tree_.note(file, Kind::other, folder, name);
  return attributes_of(there.value.get());
}

Fault LocalStore::remove(const Caller& caller, const Handle& folder, std::string_view name) {
  return take_out(caller, folder, name, 0);
}

Fault LocalStore::remove_directory(const Caller& caller, const Handle& folder, std::string_view name) {
  return take_out(caller, folder, name, AT_REMOVEDIR);
}

Fault LocalStore::take_out(const Caller& caller, const Handle& folder, std::string_view name,
                           int flags) const {
  const Fault fault =
      act_at(caller, folder, name, [flags](int at, const char* text) { return unlinkat(at, text, flags); });
  if (fault == Fault::none) tree_.forget(folder, name);
  return fault;
}

Fault LocalStore::rename(const Caller& caller, const Handle& from, std::string_view name, const Handle& to,
                         std::string_view new_name, Renaming how) {
  if (const Fault fault = judge(new_name); fault != Fault::none) return fault;
  const auto target = tree_.open(to);
  if (!target) return target.fault;
  const std::string there(new_name);
  return act_at(caller, from, name, [&](int at, const char* text) {
    const std::unique_lock moving = tree_.moving();
    const int done = renameat2(at, text, target.value.get(), there.c_str(), flags_of(how));
    if (done == 0 && moving) {
      tree_.forget(from, name);
      note_at(target.value.get(), to, there);
      if (how == Renaming::exchanges) note_at(at, from, text);
    }
    return done;
  });
}

void LocalStore::note_at(int folder, const Handle& handle, const std::string& name) const {
  const base::FileDescriptor file(openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (file) static_cast<void>(noted(file.get(), handle, name));
}

// --- the disk

Fault LocalStore::sync(const Handle& file) {
  const auto there = tree_.open(file);
  if (!there) return there.fault;
  const Done<Attributes> attributes = attributes_of(there.value.get());
  if (!attributes) return attributes.fault;
  // To open anything else may do something.
  const Kind kind = attributes.value.kind;
  if (kind != Kind::file && kind != Kind::directory) return Fault::invalid;
  const base::FileDescriptor open(::open(anew(there.value.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!open) return fault_now();
  return fsync(open.get()) == 0 ? Fault::none : fault_now();
}

Done<Room> LocalStore::room() {
  const auto there = tree_.open(tree_.root());
  if (!there) return {there.fault, {}};
  struct statfs64 found;
  if (fstatfs64(there.value.get(), &found) != 0) return {fault_now(), {}};
  return {Fault::none,
          {.block = static_cast<std::uint64_t>(found.f_bsize),
           .blocks = found.f_blocks,
           .free = found.f_bfree,
           .available = found.f_bavail,
           .files = found.f_files,
           .files_free = found.f_ffree}};
}

}  // namespace hamlyn::internal_::files
