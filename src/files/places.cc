#include "files/places.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

namespace hamlyn::internal_::files {
namespace {

constexpr int kPath = O_PATH | O_NOFOLLOW | O_CLOEXEC;

Done<base::FileDescriptor> open_at(int folder, const char* name) {
  base::FileDescriptor file(openat(folder, name, kPath));
  if (!file) return {fault_of(errno), {}};
  return {Fault::none, std::move(file)};
}

}  // namespace

Places::Places(int root, const Handle& handle, HandleOf handle_of)
    : root_(root), root_handle_(handle), handle_of_(std::move(handle_of)) {}

void Places::note(const Handle& file, Kind kind, const Handle& folder, std::string_view name) {
  if (file == root_handle_) return;
  Place place{folder, std::string(name)};
  const std::lock_guard guard(mutex_);
  std::vector<Place>& all = noted_[file];
  if (kind == Kind::directory) all.clear();  // which has one name
  if (std::ranges::find(all, place) == all.end()) all.push_back(std::move(place));
}

Done<base::FileDescriptor> Places::open(const Handle& file) {
  Done<base::FileDescriptor> there = open_noted(file, 0);
  if (there.fault != Fault::stale) return there;
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(all_noted_, true)) return there;
  }
  note_below(root_, root_handle_, 0);
  return open_noted(file, 0);
}

std::vector<Places::Place> Places::places_of(const Handle& file) {
  const std::lock_guard guard(mutex_);
  const auto found = noted_.find(file);
  return found == noted_.end() ? std::vector<Place>{} : found->second;
}

void Places::drop(const Handle& file, const Place& place) {
  const std::lock_guard guard(mutex_);
  const auto found = noted_.find(file);
  if (found == noted_.end()) return;
  std::erase(found->second, place);
  if (found->second.empty()) noted_.erase(found);
}

// Each folder on the way is looked at: whoever was moved stands elsewhere now.
Done<base::FileDescriptor> Places::open_noted(const Handle& file, std::size_t depth) {
  if (file == root_handle_) return open_at(root_, ".");
  if (depth == kDeepest) return {Fault::stale, {}};
  for (const Place& place : places_of(file)) {
    const Done<base::FileDescriptor> folder = open_noted(place.folder, depth + 1);
    if (!folder && folder.fault != Fault::stale) return {folder.fault, {}};
    if (folder) {
      Done<base::FileDescriptor> there = open_at(folder.value.get(), place.name.c_str());
      const Done<Handle> handle = there ? handle_of_(there.value.get()) : Done<Handle>{there.fault, {}};
      if (handle && handle.value == file) return there;
      if (!there && there.fault != Fault::no_entry) return there;
    }
    drop(file, place);
  }
  return {Fault::stale, {}};
}

void Places::note_below(int folder, const Handle& handle, std::size_t depth) {
  const int open = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(open < 0 ? nullptr : fdopendir(open), closedir);
  if (list == nullptr || depth == kDeepest) return;
  while (const dirent* const entry = readdir(list.get())) {
    const std::string_view text = entry->d_name;
    if (text == "." || text == "..") continue;
    const base::FileDescriptor file(openat(open, entry->d_name, kPath));
    const Done<Handle> of = file ? handle_of_(file.get()) : Done<Handle>{Fault::stale, {}};
    if (!of) continue;
    const bool directory = entry->d_type == DT_DIR;
    note(of.value, directory ? Kind::directory : Kind::other, handle, text);
    if (directory) note_below(file.get(), of.value, depth + 1);
  }
}

}  // namespace hamlyn::internal_::files
