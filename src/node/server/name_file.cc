#include "node/server/name_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "node/mind/clerk.h"

namespace hamlyn::node {
namespace {

constexpr std::uint32_t kNameMagic = 0x314D4E48;  // "HNM1": another layout has another one

struct Header {
  std::uint32_t magic = kNameMagic;
  std::uint32_t complete = 0;
  std::uint64_t processes = 0;  // the namespace that their ids are of
};

struct Row {
  std::uint64_t interface = 0;
  std::uint32_t uid = 0;
  std::uint32_t pid = 0;
  std::uint32_t length = 0;  // of the name; 0: the row is free
  std::uint32_t reserved = 0;
  char name[kMaxName]{};
};

std::uint64_t process_namespace() {
  struct stat info {};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

bool has_ended(std::uint32_t pid) { return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH; }

Row row_of(const OwnedName& name) {
  Row out;
  out.interface = name.interface;
  out.uid = name.uid;
  out.pid = name.pid;
  out.length = static_cast<std::uint32_t>(name.name.copy(out.name, kMaxName));
  return out;
}

std::string file_of(const std::string& socket) { return socket + ".names"; }

}  // namespace

std::optional<std::vector<OwnedName>> NameFile::left_at(const std::string& socket) {
  const base::FileDescriptor file{::open(file_of(socket).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  struct stat info {};
  Header header;
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & 077) != 0 || ::read(file.get(), &header, sizeof header) != sizeof header ||
      header.magic != kNameMagic || header.complete != 1) {
    return std::nullopt;
  }
  const bool knows_processes = header.processes != 0 && header.processes == process_namespace();
  std::vector<OwnedName> out;
  Row row;
  ssize_t got = 0;
  while ((got = ::read(file.get(), &row, sizeof row)) == sizeof row) {
    if (row.length == 0) continue;
    const std::string_view name(row.name, std::min<std::size_t>(row.length, kMaxName));
    if (row.length > kMaxName || !valid_name(name) || out.size() == kMostNames) return std::nullopt;
    if (knows_processes && has_ended(row.pid)) continue;
    out.push_back({std::string(name), row.interface, row.uid, row.pid});
  }
  if (got != 0) return std::nullopt;
  return out;
}

NameFile::NameFile(const std::string& socket, const std::optional<std::vector<OwnedName>>& names)
    : path_(file_of(socket)), complete_(names.has_value()) {
  // A daemon that reads the file finds this one whole, or the one before.
  const std::string fresh = path_ + ".new";
  ::unlink(fresh.c_str());
  file_.reset(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  const Header header{.complete = complete_ ? 1u : 0u, .processes = process_namespace()};
  write(0, &header, sizeof header);
  if (names) {
    for (const OwnedName& name : *names) put(name);
  }
  if (file_ && ::rename(fresh.c_str(), path_.c_str()) == 0) return;
  file_.reset();
  ::unlink(fresh.c_str());
  ::unlink(path_.c_str());
}

void NameFile::put(const OwnedName& name) {
  if (!file_) return;
  auto at = rows_.find(name.name);
  if (at == rows_.end()) {
    auto row = static_cast<std::uint32_t>(rows_.size());  // as many rows as names, if none is free
    if (!free_.empty()) {
      row = free_.back();
      free_.pop_back();
    }
    at = rows_.emplace(name.name, row).first;
  }
  const Row row = row_of(name);
  write(sizeof(Header) + std::uint64_t{at->second} * sizeof row, &row, sizeof row);
}

void NameFile::remove(std::string_view name) {
  const auto at = rows_.find(name);
  if (at == rows_.end()) return;
  const Row row;
  write(sizeof(Header) + std::uint64_t{at->second} * sizeof row, &row, sizeof row);
  free_.push_back(at->second);
  rows_.erase(at);
}

void NameFile::complete() {
  if (std::exchange(complete_, true)) return;
  const std::uint32_t yes = 1;
  write(offsetof(Header, complete), &yes, sizeof yes);
}

// One that lacks a name is worse than none.
void NameFile::write(std::uint64_t at, const void* bytes, std::size_t size) {
  if (file_ && ::pwrite(file_.get(), bytes, size, static_cast<off_t>(at)) != static_cast<ssize_t>(size))
    discard();
}

void NameFile::discard() {
  file_.reset();
  ::unlink(path_.c_str());
}

}  // namespace hamlyn::node
