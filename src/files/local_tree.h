#pragma once
// Handles of a directory of a local file system, and what they open. The kernel's own handles are sealed
// with the store's key, so that only what was found below the root is ever opened.
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/namespaces.h"
#include "base/siphash.h"
#include "files/fault.h"
#include "files/handle.h"
#include "files/places.h"
#include "files/values.h"

namespace hamlyn::internal_::files {

// A process with the right to open files by the kernel's handles (CAP_DAC_READ_SEARCH) does so. Another one,
// which serves its own user alone, finds them by their places (places.h).
//
// Threads: any.
class LocalTree {
 public:
  // `key`: of the tree, secret and the same for ever. Throws Error: invalid_argument (no directory, a file
  // system without handles or over a network, handles that are too long, one that is served already), system.
  LocalTree(const std::string& path, const base::SipHash::Key& key);

  const Handle& root() const noexcept { return root_; }
  // The file of a handle, by which it can be named and opened again (O_PATH). stale: no handle of this tree,
  // or its file has gone.
  Done<base::FileDescriptor> open(const Handle& handle) const;
  // The handle of an open file. cross_device: it is of another file system, mounted in the tree.
  Done<Handle> handle_of(int file) const noexcept;
  // A file was found, or made, or has come there.
  void note(const Handle& file, Kind kind, const Handle& folder, std::string_view name) const;
  // A name has gone.
  void forget(const Handle& folder, std::string_view name) const;
  // While it is held nobody opens a file: who moves one holds it until that is noted.
  std::unique_lock<std::shared_mutex> moving() const;
  // While it is held nobody moves a file: who finds one holds it until that is noted.
  std::shared_lock<std::shared_mutex> still() const;

 private:
  std::uint64_t seal_of(const Handle& handle) const noexcept;

  base::SipHash::Key key_;
  base::FileDescriptor directory_;
  int mount_ = 0;  // the kernel's number of the root's mount
  Handle root_;
  std::unique_ptr<Places> places_;  // null: by handles
};

// Attributes of an open file.
Done<Attributes> attributes_of(int file);

}  // namespace hamlyn::internal_::files
