#include "files/fault.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace hamlyn {

namespace files {
namespace {

struct Row {
  Fault fault;
  int number;
  const char* name;
  const char* text;
};

constexpr std::array kRows = {
    Row{Fault::none, 0, "none", "it was done"},
    Row{Fault::not_permitted, EPERM, "not_permitted", "this user may not do that"},
    Row{Fault::no_entry, ENOENT, "no_entry", "there is no such file"},
    Row{Fault::io, EIO, "io", "the server could not do it"},
    Row{Fault::access_denied, EACCES, "access_denied", "this user has not the right"},
    Row{Fault::busy, EBUSY, "busy", "it is in use"},
    Row{Fault::exists, EEXIST, "exists", "that name is there already"},
    Row{Fault::cross_device, EXDEV, "cross_device",
        "it lies outside of the tree, or on another file system in it"},
    Row{Fault::not_a_directory, ENOTDIR, "not_a_directory", "a part of the path is no directory"},
    Row{Fault::is_a_directory, EISDIR, "is_a_directory", "it is a directory"},
    Row{Fault::invalid, EINVAL, "invalid", "that cannot be asked of such a file, or by such a name"},
    Row{Fault::too_large, EFBIG, "too_large", "the file would be too large"},
    Row{Fault::no_space, ENOSPC, "no_space", "the server's file system is full"},
    Row{Fault::read_only, EROFS, "read_only", "the tree may not be changed"},
    Row{Fault::too_many_links, EMLINK, "too_many_links", "the file has as many names as it may have"},
    Row{Fault::name_too_long, ENAMETOOLONG, "name_too_long",
        "the name is longer than 255 bytes, or the path than 4096"},
    Row{Fault::not_empty, ENOTEMPTY, "not_empty", "the directory is not empty"},
    Row{Fault::too_many_symlinks, ELOOP, "too_many_symlinks",
        "there are more than 40 symbolic links on the path"},
    Row{Fault::quota, EDQUOT, "quota", "the user's quota on the server is used up"},
    Row{Fault::stale, ESTALE, "stale", "the file has gone, or the server does not know it"},
    Row{Fault::not_supported, ENOTSUP, "not_supported",
        "the server's file system, or this version, cannot do that"},
    Row{Fault::out_of_range, ERANGE, "out_of_range", "a number is larger than can be told"},
    Row{Fault::too_many_open, EMFILE, "too_many_open", "the server has as many files open as it may"},
    Row{Fault::out_of_memory, ENOMEM, "out_of_memory", "there was no memory for it"},
    Row{Fault::text_busy, ETXTBSY, "text_busy", "the program runs"},
    Row{Fault::no_server, EHOSTDOWN, "no_server", "the server has not answered in time; nothing was changed"},
    Row{Fault::unknown, EIO, "unknown",
        "the server has gone before it answered; whether it was done is not known"},
};

const Row& row_of(Fault fault) noexcept {
  const auto* const row = std::ranges::find(kRows, fault, &Row::fault);
  return row == kRows.end() ? kRows[3] : *row;
}

}  // namespace

const char* name(Fault fault) noexcept { return row_of(fault).name; }
const char* text(Fault fault) noexcept { return row_of(fault).text; }
int number_of(Fault fault) noexcept { return row_of(fault).number; }

}  // namespace files

namespace internal_::files {
namespace {

// Numbers that are told as others are.
struct Alike {
  int number;
  Fault fault;
};
constexpr std::array kAlike = {
    Alike{ENOSYS, Fault::not_supported},
    Alike{ENODEV, Fault::not_supported},
    Alike{EOVERFLOW, Fault::out_of_range},
    Alike{ENFILE, Fault::too_many_open},
};

}  // namespace

// Faults of the server's own alone: what a clerk says is no errno of the server's.
Fault fault_of(int number) noexcept {
  for (const Alike& each : kAlike)
    if (each.number == number) return each.fault;
  for (auto fault = Fault::none; fault != Fault::no_server;
       fault = static_cast<Fault>(static_cast<std::uint16_t>(fault) + 1))
    if (hamlyn::files::number_of(fault) == number) return fault;
  return Fault::io;
}

}  // namespace internal_::files

}  // namespace hamlyn
