#include "files/tree_key.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "base/file_descriptor.h"
#include "base/random.h"
#include "base/throw_system.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::files {
namespace {

using base::SipHash;

std::string home() {
  std::vector<char> memory(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, memory.data(), memory.size(), &found) != 0 || found == nullptr)
    throw Error(ErrorCode::system, "this user has no home: name a folder for the server's state");
  return found->pw_dir;
}

// A folder or file of this user's alone.
void check_own(int file, const std::string& path) {
  struct stat found;
  if (fstat(file, &found) != 0) base::throw_system(("cannot look at " + path).c_str());
  if (found.st_uid != geteuid() || (found.st_mode & 077u) != 0)
    throw Error(ErrorCode::not_permitted, path + " must be this user's alone (chmod go= " + path +
                                              "): whoever reads it opens any file");
}

std::optional<SipHash::Key> read_key(int folder, const std::string& path) {
  const base::FileDescriptor file(openat(folder, "key", O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) base::throw_system(("cannot open " + path + "/key").c_str());
  check_own(file.get(), path + "/key");
  SipHash::Key key;
  if (::read(file.get(), key.data(), sizeof key) != sizeof key)
    throw Error(ErrorCode::system, path + "/key is no key: remove it, and all handles are new");
  return key;
}

// A key that is there is whole: it is written beside, and then has its name.
void make_key(int folder, const std::string& path) {
  const SipHash::Key key = {base::random_key(), base::random_key()};
  const std::string beside = "key." + std::to_string(base::random_key());
  const base::FileDescriptor file(
      openat(folder, beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool made = file && ::write(file.get(), key.data(), sizeof key) == sizeof key &&
                    fsync(file.get()) == 0 && linkat(folder, beside.c_str(), folder, "key", 0) == 0;
  const int why = errno;
  unlinkat(folder, beside.c_str(), 0);
  if (made) fsync(folder);
  errno = why;
  if (!made && why != EEXIST) base::throw_system(("cannot write " + path + "/key").c_str());
}

}  // namespace

std::string state_folder(std::string_view name) {
  const std::string below = "/hamlyn/files/" + std::string(name);
  if (geteuid() == 0) return "/var/lib" + below;
  if (const char* const state = secure_getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    return state + below;
  return home() + "/.local/state" + below;
}

SipHash::Key tree_key(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), failed);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    base::throw_system(("cannot make the folder " + folder).c_str());
  const base::FileDescriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!open) base::throw_system(("cannot open the folder " + folder).c_str());
  check_own(open.get(), folder);
  if (const auto key = read_key(open.get(), folder)) return *key;
  make_key(open.get(), folder);
  const auto key = read_key(open.get(), folder);
  if (!key) throw Error(ErrorCode::system, folder + "/key has gone");
  return *key;
}

}  // namespace hamlyn::internal_::files
