#pragma once
// How an operation on files ends. Faults are what POSIX calls them, under numbers of their own: hosts number
// their errors differently, so no errno travels.
#include <cstdint>

namespace hamlyn {

namespace files {

// Numbers are the wire's (docs/wire.md): never reused.
enum class Fault : std::uint16_t {
  none = 0,
  not_permitted = 1,       // EPERM
  no_entry = 2,            // ENOENT
  io = 3,                  // EIO, and whatever has no name here
  access_denied = 4,       // EACCES
  busy = 5,                // EBUSY
  exists = 6,              // EEXIST
  cross_device = 7,        // EXDEV; a path that leads out of the tree
  not_a_directory = 8,     // ENOTDIR
  is_a_directory = 9,      // EISDIR
  invalid = 10,            // EINVAL
  too_large = 11,          // EFBIG
  no_space = 12,           // ENOSPC
  read_only = 13,          // EROFS
  too_many_links = 14,     // EMLINK
  name_too_long = 15,      // ENAMETOOLONG
  not_empty = 16,          // ENOTEMPTY
  too_many_symlinks = 17,  // ELOOP
  quota = 18,              // EDQUOT
  stale = 19,              // ESTALE: the file has gone, or there was none
  not_supported = 20,      // ENOTSUP
  out_of_range = 21,       // ERANGE, EOVERFLOW
  too_many_open = 22,      // EMFILE, ENFILE
  out_of_memory = 23,      // ENOMEM
  text_busy = 24,          // ETXTBSY
  // Faults of a clerk's own, never a server's:
  no_server = 25,  // EHOSTDOWN: it has not answered in time. Nothing was changed
  unknown = 26,    // EIO: the server has gone before it answered. Whether it was done is not known
};

// Its name, as written here. Never null.
const char* name(Fault fault) noexcept;
// Says what it means, in words. Never null.
const char* text(Fault fault) noexcept;
// The errno of this host; `none`: 0.
int number_of(Fault fault) noexcept;

// The outcome of an operation: a value, or why there is none.
template <class Value>
struct Done {
  Fault fault = Fault::none;  // why there is no value; none: there is one
  Value value{};              // what was asked for

  explicit operator bool() const noexcept { return fault == Fault::none; }
};

}  // namespace files

}  // namespace hamlyn
