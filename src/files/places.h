#pragma once
// Where the files of a tree stand, for a server that may not open them by their handles: such a process finds
// a file by its folder's place and a name there, and looks whether that is the file which was meant.
//
// Threads: any. Owner: its maker.
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/namespaces.h"
#include "files/fault.h"
#include "files/handle.h"
#include "files/values.h"

namespace hamlyn::internal_::files {

class Places {
 public:
  // Handle of a file that is open by O_PATH.
  using HandleOf = std::function<Done<Handle>(int file)>;

  // `root`: a directory that stays open.
  Places(int root, const Handle& handle, HandleOf handle_of);

  // A file was found, or made, there.
  void note(const Handle& file, Kind kind, const Handle& folder, std::string_view name);
  // Opens it by O_PATH. A file that was never noted is looked for in the whole tree, once: then all are
  // noted. stale: it has no place in the tree any more.
  Done<base::FileDescriptor> open(const Handle& file);

 private:
  struct Place {
    Handle folder;
    std::string name;

    friend bool operator==(const Place&, const Place&) = default;
  };
  static constexpr std::size_t kDeepest = 2048;  // folders above each other

  Done<base::FileDescriptor> open_noted(const Handle& file, std::size_t depth);
  std::vector<Place> places_of(const Handle& file);
  void drop(const Handle& file, const Place& place);
  void note_below(int folder, const Handle& handle, std::size_t depth);

  int root_;
  Handle root_handle_;
  HandleOf handle_of_;
  std::mutex mutex_;  // guards the following
  std::map<Handle, std::vector<Place>> noted_;
  bool all_noted_ = false;
};

}  // namespace hamlyn::internal_::files
