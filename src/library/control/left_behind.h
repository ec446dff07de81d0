#pragma once
// Memory that this process has shown to processes of other users, and has given up since, and that somebody
// still holds: by a mapping, a descriptor, a path, or a descriptor under way. Its pages are charged to this
// process's control group. So whoever holds too much gets no more.
//
// The kernel tells exactly when nobody holds it any more. A watch of inotify on the memory's file is told of
// its end (IN_DELETE_SELF) when the last path to it has gone, whatever kind that was, ours included. (A lease
// of the file, F_SETLEASE, knows nothing of O_PATH descriptors. docs/architecture.md has the trial.)
//
// Where there is no such watch (no /proc, or fs.inotify.max_user_instances is used up) memory of a link
// counts until the process at its other end has ended, and memory of an area for good.
//
// Threads: the one that keeps the links.
#include <cstdint>
#include <map>
#include <set>

#include "base/file_descriptor.h"
#include "base/namespaces.h"
#include "library/control/fair_share.h"

namespace hamlyn::internal_::library {

class LeftBehind {
 public:
  using Piece = std::uint64_t;  // 0: none
  // link: shown to one user. area: of the application, who knows how long it is, shown to any number.
  enum class Kind : std::uint8_t { link, area };

  static constexpr std::uint64_t kEachPieces = 64;  // of links, of one user
  static constexpr std::uint64_t kEachBytes = std::uint64_t{16} << 20;
  static constexpr std::uint64_t kEachAreas = 16;

  // Whether that user may be shown more of that kind.
  bool allows(std::uint32_t uid, Kind kind);

  // Watches memory that is about to be shown. `epoll`: hears of its end; -1: nobody does.
  Piece watch(int memfd, std::uint64_t bytes, Kind kind, int epoll);
  // The user is about to be shown it.
  void show(Piece piece, std::uint32_t uid);
  // Counts it from now on: this process has given it up. `pidfd`: of the process that it was shown to, if
  // there is one such.
  void leave(Piece piece, int pidfd = -1);
  // Looks what has gone since.
  void settle();

  // Count what was given up and is held.
  std::uint64_t pieces() const noexcept { return held_; }
  std::uint64_t bytes() const noexcept { return held_bytes_; }

 private:
  struct Memory {
    Kind kind{};
    std::uint64_t bytes = 0;
    int watch = -1;
    int epoll = -1;
    std::set<std::uint32_t> users = {};
    bool left = false;
    base::FileDescriptor process = {};  // instead of a watch
  };
  using Memories = std::map<Piece, Memory>;

  bool fits(std::uint32_t uid, Kind kind) const noexcept;
  void count(const Memory& memory);
  Memories::iterator forget(Memories::iterator at);
  void read_watches();
  void look_at_processes();

  Memories memories_;
  std::map<int, Piece> watches_;
  Piece last_ = 0;
  base::FileDescriptor inotify_;
  std::uint64_t processes_ = 0;  // memories that count until a process has ended
  std::uint64_t held_ = 0;
  std::uint64_t held_bytes_ = 0;
  FairShare links_{2 * kEachPieces, kEachPieces};
  FairShare link_bytes_{2 * kEachBytes, kEachBytes};
  FairShare areas_{4 * kEachAreas, kEachAreas};
};

}  // namespace hamlyn::internal_::library
