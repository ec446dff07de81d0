#pragma once
// The file of a durable area: opened, checked, and given all its space before the area exists.
#include <cstddef>
#include <span>

#include "base/file_descriptor.h"
#include "base/namespaces.h"
#include "hamlyn/core/message_area.h"
#include "interface/durable/store.h"

namespace hamlyn::internal_::library {

// With room on the disk for `bytes`, and what it has now read into memory. Throws Error.
base::FileDescriptor open_area_file(const AreaFile& file, std::size_t bytes);
void read_area_file(const base::FileDescriptor& file, std::span<std::byte> into);
// Puts those bytes of `from` into the file; and what was put there onto the disk. False: some of it failed.
bool put_in_file(const base::FileDescriptor& file, std::span<const std::byte> from,
                 std::span<const interface::StoredRange> ranges) noexcept;
bool put_on_disk(const base::FileDescriptor& file) noexcept;

}  // namespace hamlyn::internal_::library
