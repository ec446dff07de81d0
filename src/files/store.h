#pragma once
// A tree of files: what the server has, and what a clerk gives. On the server's host a directory of a local
// file system is one (local_store.h), in simulation a tree in memory, and for who reads and writes a clerk
// (clerk.h).
//
// Rights are the caller's: each call is made as that user with these groups would make it on the server's
// host. Names are judged here: what is empty, longer than 255 bytes, "." or "..", or has a '/' or a 0 in it
// is `invalid` or `name_too_long`, and no symbolic link is followed. A handle that the store has not given,
// or whose file has gone, is `stale`.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "files/fault.h"
#include "files/handle.h"
#include "files/values.h"

namespace hamlyn::internal_::files {

// The user for whom something is done. `groups`: besides `group`, as the server's host knows them.
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
  // Writes where the file ends then, whoever else appends. Of more bytes than fit a part may be done.
  virtual Done<std::size_t> append(const Caller& caller, const Handle& file,
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
