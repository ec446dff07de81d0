#include "files/fault.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace hamlyn::internal_::files {
namespace {

struct Row {
  Fault fault;
  int number;
};

// The first row of a fault is the number that it becomes.
constexpr std::array kRows = {
    Row{Fault::not_permitted, EPERM},
    Row{Fault::no_entry, ENOENT},
    Row{Fault::io, EIO},
    Row{Fault::access_denied, EACCES},
    Row{Fault::busy, EBUSY},
    Row{Fault::exists, EEXIST},
    Row{Fault::cross_device, EXDEV},
    Row{Fault::not_a_directory, ENOTDIR},
    Row{Fault::is_a_directory, EISDIR},
    Row{Fault::invalid, EINVAL},
    Row{Fault::too_large, EFBIG},
    Row{Fault::no_space, ENOSPC},
    Row{Fault::read_only, EROFS},
    Row{Fault::too_many_links, EMLINK},
    Row{Fault::name_too_long, ENAMETOOLONG},
    Row{Fault::not_empty, ENOTEMPTY},
    Row{Fault::too_many_symlinks, ELOOP},
    Row{Fault::quota, EDQUOT},
    Row{Fault::stale, ESTALE},
    Row{Fault::not_supported, ENOTSUP},
    Row{Fault::not_supported, ENOSYS},
    Row{Fault::not_supported, ENODEV},
    Row{Fault::out_of_range, ERANGE},
    Row{Fault::out_of_range, EOVERFLOW},
    Row{Fault::too_many_open, EMFILE},
    Row{Fault::too_many_open, ENFILE},
    Row{Fault::out_of_memory, ENOMEM},
    Row{Fault::text_busy, ETXTBSY},
};

}  // namespace

Fault fault_of(int number) noexcept {
  if (number == 0) return Fault::none;
  const auto* const row = std::ranges::find(kRows, number, &Row::number);
  return row == kRows.end() ? Fault::io : row->fault;
}

int number_of(Fault fault) noexcept {
  if (fault == Fault::none) return 0;
  const auto* const row = std::ranges::find(kRows, fault, &Row::fault);
  return row == kRows.end() ? EIO : row->number;
}

}  // namespace hamlyn::internal_::files
