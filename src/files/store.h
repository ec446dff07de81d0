#pragma once
// A tree of files as the server has it. The server's machine is written against this; on a host it is a
// directory of a local file system (local_store.h), in simulation a tree in memory.
//
// Rights are the caller's: each call is made as that user with these groups would make it on the server's
// host. Names are judged here: what is empty, longer than 255 bytes, "." or "..", or has a '/' or a 0 in it
// is `invalid` or `name_too_long`, and no symbolic link is followed. A handle that the store has not given,
// or whose file has gone, is `stale`.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "files/attributes.h"
#include "files/fault.h"
#include "files/handle.h"

namespace hamlyn::internal_::files {

// Who asks, as the node attests it. `groups`: besides `group`, as the server's host knows them.
struct Caller {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::span<const std::uint32_t> groups = {};
};

// A file that was found or made.
struct Found {
  Handle handle;
  Attributes attributes;
};

// One name of a directory.
struct Name {
  std::string_view text;
  std::uint64_t cookie = 0;  // behind which the next look goes on
  std::uint64_t inode = 0;
  Kind kind = Kind::other;
};

// What is to be set; the rest stays. `now`: the server's time.
struct Changes {
  struct Time {
    bool now = false;
    Moment moment = {};
  };
  std::optional<std::uint32_t> mode = {}, owner = {}, group = {};
  std::optional<std::uint64_t> size = {};
  std::optional<Time> read = {}, written = {};
};

// How rename treats a name that is there already.
enum class Renaming : std::uint8_t { replaces, refuses, exchanges };

// Room of the file system.
struct Room {
  std::uint64_t block = 0;  // bytes of one
  std::uint64_t blocks = 0, free = 0, available = 0;
  std::uint64_t files = 0, files_free = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual Handle root() const = 0;
  virtual Done<Attributes> attributes(const Handle& file) = 0;
  virtual Done<Found> look_up(const Caller& caller, const Handle& folder, std::string_view name) = 0;
  virtual Done<std::string> read_link(const Handle& link) = 0;
  // From `cookie` on, 0: from the first name. `each` returns false to stop behind a name. True: that was all.
  virtual Done<bool> list(const Caller& caller, const Handle& folder, std::uint64_t cookie,
                          const std::function<bool(const Name&)>& each) = 0;
  // Returns how many bytes there were. The file's owner may always read and write, as whoever has it open.
  virtual Done<std::size_t> read(const Caller& caller, const Handle& file, std::uint64_t offset,
                                 std::span<std::byte> into) = 0;
  virtual Done<std::size_t> write(const Caller& caller, const Handle& file, std::uint64_t offset,
                                  std::span<const std::byte> data) = 0;
  virtual Done<Attributes> change(const Caller& caller, const Handle& file, const Changes& changes) = 0;
  // Makes a file. `fresh`: none of that name may be there; else what is there is given.
  virtual Done<Found> create(const Caller& caller, const Handle& folder, std::string_view name,
                             std::uint32_t mode, bool fresh) = 0;
  virtual Done<Found> make_directory(const Caller& caller, const Handle& folder, std::string_view name,
                                     std::uint32_t mode) = 0;
  virtual Done<Found> make_symbolic_link(const Caller& caller, const Handle& folder, std::string_view name,
                                         std::string_view target) = 0;
  virtual Done<Attributes> link(const Caller& caller, const Handle& file, const Handle& folder,
                                std::string_view name) = 0;
  virtual Fault remove(const Caller& caller, const Handle& folder, std::string_view name) = 0;
  virtual Fault remove_directory(const Caller& caller, const Handle& folder, std::string_view name) = 0;
  virtual Fault rename(const Caller& caller, const Handle& from, std::string_view name, const Handle& to,
                       std::string_view new_name, Renaming how) = 0;
  // On the disk: the file's data and its attributes, of a directory its names.
  virtual Fault sync(const Handle& file) = 0;
  virtual Done<Room> room() = 0;
};

// Whether it may be a name: `none`, `invalid`, `name_too_long`.
Fault judge(std::string_view name) noexcept;

}  // namespace hamlyn::internal_::files
