#include "node/server/place_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string_view>

namespace hamlyn::node {
namespace {

constexpr std::uint32_t kWatched = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |
                                   IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK;

std::string folder_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

}  // namespace

PlaceWatch::File::File(const std::string& path) noexcept {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return;
  device = info.st_dev;
  inode = info.st_ino;
}

bool PlaceWatch::File::is_at(const std::string& path) const noexcept {
  const File now(path);
  return now.inode != 0 && now.inode == inode && now.device == device;
}

PlaceWatch::PlaceWatch(const std::string& socket)
    : socket_path_(socket),
      folder_path_(folder_of(socket)),
      folder_(folder_path_),
      lock_(socket + ".lock"),
      events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (events_ && ::inotify_add_watch(events_.get(), folder_path_.c_str(), kWatched) < 0) events_.reset();
}

bool PlaceWatch::disturbed() noexcept {
  const std::string_view name = std::string_view(socket_path_).substr(socket_path_.rfind('/') + 1);
  alignas(inotify_event) char events[4096];
  bool out = false;
  for (;;) {
    const ssize_t got = ::read(events_.get(), events, sizeof events);
    if (got <= 0) return out;
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, events + at, sizeof event);
      const std::string_view of(events + at + sizeof event, ::strnlen(events + at + sizeof event, event.len));
      out |= event.len == 0 || of == name || (of.starts_with(name) && of.substr(name.size()) == ".lock");
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

}  // namespace hamlyn::node
