#include "node/server/state_files.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <thread>

#include "base/throw_system.h"
#include "node/client/address.h"

namespace hamlyn::node {
namespace {

constexpr Time kLeaving{2000};  // a daemon that has closed its socket ends much sooner
constexpr std::size_t kKnownBytes = 2 + Member::kBytes;  // of a message that tells of one
constexpr off_t kMostKnownBytes = sizeof(Secret) + 65535 * kKnownBytes;

base::FileDescriptor open_or_throw(const std::string& path, int flags) {
  base::FileDescriptor out{::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!out) base::throw_system(("open " + path).c_str());
  return out;
}

// The file is there whole, or as it was before.
void replace_file(const std::string& path, const void* bytes, std::size_t size) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  const auto file = open_or_throw(fresh, O_WRONLY | O_CREAT | O_EXCL);
  if (::write(file.get(), bytes, size) != static_cast<ssize_t>(size)) base::throw_system("write");
  if (::rename(fresh.c_str(), path.c_str()) != 0) base::throw_system("rename");
}

Key make_key(const std::string& path) {
  Key key;
  ::randombytes_buf(key.data(), key.size());
  replace_file(path, key.data(), key.size());
  return key;
}

}  // namespace

base::FileDescriptor lock_socket(const std::string& socket) {
  auto lock = open_or_throw(socket + ".lock", O_RDWR | O_CREAT);
  const auto deadline = std::chrono::steady_clock::now() + kLeaving;
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      throw Error(ErrorCode::invalid_argument, "another hamlynd serves " + socket + " already");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return lock;
}

Key load_key(const std::string& socket) {
  const std::string path = socket + ".key";
  const base::FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (!file && errno == ENOENT) return make_key(path);
  if (!file) base::throw_system(("open " + path).c_str());
  struct stat info {};
  Key key;
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & 077) != 0 ||
      ::read(file.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
    throw Error(ErrorCode::not_permitted,
                path + " is not a key of 32 bytes that only this user can read: remove it");
  }
  return key;
}

Secret load_secret(const std::string& path) {
  const base::FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
  if (!file) base::throw_system(("open the cluster's secret " + path).c_str());
  struct stat info {};
  std::array<unsigned char, 4097> bytes{};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 077) != 0 ||
      (info.st_uid != ::geteuid() && info.st_uid != 0)) {
    throw Error(ErrorCode::not_permitted, path + " must be a file of this user, or root's, of mode 0600");
  }
  const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
  if (size < 32 || size > 4096) {
    throw Error(
        ErrorCode::invalid_argument,
        path + " must have 32 to 4096 bytes that nobody can guess: head -c 32 /dev/urandom > " + path);
  }
  Secret out;
  ::crypto_generichash(reinterpret_cast<unsigned char*>(out.data()), out.size(), bytes.data(),
                       static_cast<unsigned long long>(size), nullptr, 0);
  ::sodium_memzero(bytes.data(), bytes.size());
  return out;
}

Secret own_secret() {
  const std::string socket = own_socket();
  const std::string path = socket.substr(0, socket.rfind('/') + 1) + "cluster.secret";
  if (::access(path.c_str(), F_OK) == 0) return load_secret(path);
  // Two daemons may start at once: the file comes into being whole, and the first one stays.
  Key key;
  ::randombytes_buf(key.data(), key.size());
  const std::string fresh = path + "." + std::to_string(::getpid());
  replace_file(fresh, key.data(), key.size());
  const int failed = ::link(fresh.c_str(), path.c_str()) != 0 ? errno : 0;
  ::unlink(fresh.c_str());
  if (failed != 0 && failed != EEXIST) base::throw_system(("make " + path).c_str());
  return load_secret(path);
}

std::uint64_t next_incarnation(const std::string& socket) {
  const std::string path = socket + ".incarnation";
  std::uint64_t before = 0;
  if (const base::FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)}; file) {
    if (::read(file.get(), &before, sizeof before) != sizeof before) before = 0;
  }
  const auto clock = std::chrono::system_clock::now().time_since_epoch();
  const auto now =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(clock).count());
  const std::uint64_t out = std::max(now, before + 1);
  replace_file(path, &out, sizeof out);
  return out;
}

// Its hash under the secret, and messages that tell of members.
std::vector<Member> known_at(const std::string& socket, const Secret& secret) {
  const base::FileDescriptor file{
      ::open((socket + ".members").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size < static_cast<off_t>(sizeof(Secret)) || info.st_size > kMostKnownBytes)
    return {};
  std::vector<std::byte> bytes(static_cast<std::size_t>(info.st_size));
  if (::read(file.get(), bytes.data(), bytes.size()) != info.st_size) return {};
  const auto said = std::span<const std::byte>{bytes}.subspan(sizeof(Secret));
  const Secret hash = keyed_hash(secret, said);
  if (::sodium_memcmp(hash.data(), bytes.data(), hash.size()) != 0) return {};
  std::vector<Member> out;
  for (std::size_t at = 0; at < said.size(); at += kKnownBytes) {
    const auto message = split_message(said.subspan(at, std::min(kKnownBytes, said.size() - at)));
    const auto members = message ? decode_members(message->second) : std::nullopt;
    if (!members) return {};
    out.insert(out.end(), members->begin(), members->end());
  }
  return out;
}

void keep_known(const std::string& socket, const Secret& secret, std::span<const Member> members) {
  std::vector<std::byte> bytes(sizeof(Secret));
  for (const Member& member : members) {
    const auto message = encode_members(std::span{&member, 1});
    bytes.insert(bytes.end(), message.begin(), message.end());
  }
  const Secret hash = keyed_hash(secret, std::span{bytes}.subspan(sizeof(Secret)));
  std::ranges::copy(hash, bytes.begin());
  replace_file(socket + ".members", bytes.data(), bytes.size());
}

bool marked(const std::string& socket) { return ::access((socket + ".attached").c_str(), F_OK) == 0; }

void mark(const std::string& socket) {
  const base::FileDescriptor made{
      ::open((socket + ".attached").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
}

void unmark(const std::string& socket) { ::unlink((socket + ".attached").c_str()); }

}  // namespace hamlyn::node
