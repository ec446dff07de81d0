#pragma once
// Where the files of a tree stand, for a server that may not open them by their handles: such a process finds
// a file by its folder's place and a name there, and looks whether that is the file which was meant.
//
// Threads: any. Owner: its maker.
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
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

  // A file was found, or made, there. A file that was noted there before stands there no more.
  void note(const Handle& file, Kind kind, const Handle& folder, std::string_view name);
  // No file stands there any more.
  void forget(const Handle& folder, std::string_view name);
  // While it is held nobody opens, so that what is moved is noted before it is looked for.
  std::unique_lock<std::shared_mutex> moving() { return std::unique_lock(moving_); }
  // While it is held nobody moves a file: what is found is noted where it is.
  std::shared_lock<std::shared_mutex> still() { return std::shared_lock(moving_); }
  // Opens it by O_PATH. A file that was never noted is looked for in the whole tree, once: then all are
  // noted. stale: it has no place in the tree any more.
  Done<base::FileDescriptor> open(const Handle& file);

 private:
  using Place = std::pair<Handle, std::string>;  // a folder, and a name there
  static constexpr std::size_t kDeepest = 2048;  // folders above each other

  Done<base::FileDescriptor> open_noted(const Handle& file, std::size_t depth);
  std::vector<Place> places_of(const Handle& file);
  // Under the mutex. `file`: a copy, since one that stands in `at_` goes.
  void drop(Handle file, const Place& place);
  void note_all();
  void note_in(const Handle& folder, std::vector<Handle>& folders);

  int root_;
  Handle root_handle_;
  HandleOf handle_of_;
  std::once_flag all_noted_;
  std::shared_mutex moving_;
  std::mutex mutex_;  // guards the following
  std::map<Handle, std::vector<Place>> noted_;
  std::map<Place, Handle> at_;
};

}  // namespace hamlyn::internal_::files
