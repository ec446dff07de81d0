#pragma once
// A tree of files that a server has (docs/files.md): paper 3, section 5, and paper 4, section 7.4.
//
//   hamlyn::files::Tree tree{interface, "projects"};
//   auto file = tree.open("notes/today.txt", {.write = true, .create = true});
//   if (!file) fail(text(file.fault));
//   auto written = file.value.write(std::as_bytes(std::span(line)));
//
// The process has a clerk of its own in it, so it is of the service's user, or the superuser's. What others
// have read lately is read without the server. A read that begins after a write has returned, anywhere, sees
// it.
//
// Paths go from the tree's root, with or without a '/' before them. One that leads out of the tree, by "..",
// or by a symbolic link with an absolute target, is `cross_device`.
//
// Threads: any, several at a time. Fork: a forked child has no tree. Owner: who made it; its interface is
// there for longer.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hamlyn/core/interface.h"
#include "hamlyn/files/fault.h"
#include "hamlyn/files/values.h"

namespace hamlyn {

namespace files {

// Says what a file is opened for.
struct Opening {
  bool read = true;           // its data may be read
  bool write = false;         // its data may be written
  bool create = false;        // if there is none
  bool fresh = false;         // with `create`: there must be none
  bool truncate = false;      // with `write`: it is empty then
  bool append = false;        // with `write`: each write goes to where the file ends then
  std::uint32_t mode = 0644;  // of one that is made
};

// One name of a directory.
struct DirectoryEntry {
  std::string name;          // of up to 255 bytes
  std::uint64_t cookie = 0;  // behind which `list` goes on
  std::uint64_t inode = 0;   // as Attributes::inode
  Kind kind = Kind::other;   // of the file
};

class Tree;

// An open file. Moves, never copies; an empty one answers `invalid`. Its tree is there for longer. Threads:
// one at a time, but for those functions that take an offset.
class File {
 public:
  File() noexcept;  // an empty one
  ~File();
  File(File&&) noexcept;  // leaves an empty one
  File& operator=(File&&) noexcept;

  // Bytes from where the last one ended; fewer than `into` takes only at the file's end.
  Done<std::size_t> read(std::span<std::byte> into);
  // Writes from there on. Fewer than all: the server has taken so many, and would not take more.
  Done<std::size_t> write(std::span<const std::byte> data);
  // Where the next `read` or `write` begins, in bytes from the file's begin.
  void seek(std::uint64_t offset) noexcept;
  std::uint64_t position() const noexcept;  // set by `seek`, `read` and `write`

  // As `read` and `write`, from an offset on; the position stays. With `append` the offset means nothing.
  Done<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const;
  Done<std::size_t> write_at(std::uint64_t offset,
                             std::span<const std::byte> data) const;  // see `read_at`
  Done<Attributes> attributes() const;                                // of now
  // Changes attributes, and returns those that it has then.
  Done<Attributes> change(const Changes& changes) const;
  // Data and attributes are on the server's disk.
  Fault sync() const;

 private:
  friend class Tree;
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// A served tree, and the clerk for it. Threads and owner: as above.
class Tree {
 public:
  // How it is opened.
  struct Options {
    std::chrono::milliseconds timeout{5000};  // to find the server at first
    std::chrono::milliseconds time{30000};    // of each operation, in which a server may go and come again
  };
  // Operations until now for which the server was not needed, and calls of it.
  struct Counts {
    std::uint64_t found = 0;  // looks that the areas have answered
    std::uint64_t asked = 0;  // calls of the server
  };

  // Throws Error: timed_out (nobody serves that name), not_permitted (a service of another user's),
  // version_mismatch, name_invalid, and as Import.
  Tree(Interface& interface, std::string_view name) : Tree(interface, name, Options{}) {}
  Tree(Interface& interface, std::string_view name, const Options& options);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  // Opens a file. is_a_directory: directories are listed.
  Done<File> open(std::string_view path, const Opening& opening = {});
  // `follow`: of what a symbolic link at the path's end leads to.
  Done<Attributes> attributes(std::string_view path, bool follow = true);
  // Changes attributes, and returns those that it has then.
  Done<Attributes> change(std::string_view path, const Changes& changes, bool follow = true);
  // Calls `each` with the names of a directory from behind a cookie on, 0: from the first on, in the order of
  // the server's file system, until it says false. The value is whether that was all.
  Done<bool> list(std::string_view path, std::uint64_t cookie,
                  const std::function<bool(const DirectoryEntry&)>& each);
  // All names, sorted.
  Done<std::vector<DirectoryEntry>> list(std::string_view path);
  // Where a symbolic link leads. invalid: it is none.
  Done<std::string> read_link(std::string_view path);
  // Makes a directory of that mode.
  Fault make_directory(std::string_view path, std::uint32_t mode = 0755);
  // Makes a symbolic link at `path` that leads to `target`, any text of up to 4095 bytes.
  Fault make_symbolic_link(std::string_view target, std::string_view path);
  // A second name of a file.
  Fault link(std::string_view path, std::string_view new_path);
  // Removes a name; with the last one goes the file.
  Fault remove(std::string_view path);
  Fault remove_directory(std::string_view path);  // an empty one
  // Gives another name, also in another directory.
  Fault rename(std::string_view path, std::string_view new_path, Renaming how = Renaming::replaces);
  Done<Room> room();               // of the server's file system
  Counts counts() const noexcept;  // until now

 private:
  friend class File;
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace files

}  // namespace hamlyn
