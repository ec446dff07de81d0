#include "files/places.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace hamlyn::internal_::files {
namespace {

constexpr int kPath = O_PATH | O_NOFOLLOW | O_CLOEXEC;

Done<base::FileDescriptor> open_at(int folder, const char* name) {
  base::FileDescriptor file(openat(folder, name, kPath));
  if (!file) return {fault_of(errno), {}};
  return {Fault::none, std::move(file)};
}

bool is_directory(int file, unsigned char type) {
  if (type != DT_UNKNOWN) return type == DT_DIR;
  struct stat found {};
  return fstat(file, &found) == 0 && S_ISDIR(found.st_mode);
}

}  // namespace

Places::Places(int root, const Handle& handle, HandleOf handle_of)
    : root_(root), root_handle_(handle), handle_of_(std::move(handle_of)) {}

void Places::note(const Handle& file, Kind kind, const Handle& folder, std::string_view name) {
  if (file == root_handle_) return;
  const Place place{folder, std::string(name)};
  const std::lock_guard guard(mutex_);
  const auto before = at_.find(place);
  if (before != at_.end() && before->second == file) return;
  if (before != at_.end()) drop(before->second, place);
  std::vector<Place>& all = noted_[file];
  if (kind == Kind::directory) {  // which has one name
    for (const Place& each : all) at_.erase(each);
    all.clear();
  }
  all.push_back(place);
  at_[place] = file;
}

void Places::forget(const Handle& folder, std::string_view name) {
  const Place place{folder, std::string(name)};
  const std::lock_guard guard(mutex_);
  const auto there = at_.find(place);
  if (there == at_.end()) return;
  drop(there->second, place);
}

void Places::drop(Handle file, const Place& place) {
  at_.erase(place);
  const auto found = noted_.find(file);
  if (found == noted_.end()) return;
  std::erase(found->second, place);
  if (found->second.empty()) noted_.erase(found);
}

Done<base::FileDescriptor> Places::open(const Handle& file) {
  const auto look = [&] {
    const std::shared_lock still(moving_);
    return open_noted(file, 0);
  };
  Done<base::FileDescriptor> there = look();
  if (there.fault != Fault::stale) return there;
  std::call_once(all_noted_, [this] { note_all(); });
  return look();
}

std::vector<Places::Place> Places::places_of(const Handle& file) {
  const std::lock_guard guard(mutex_);
  const auto found = noted_.find(file);
  return found == noted_.end() ? std::vector<Place>{} : found->second;
}

// Each folder on the way is looked at: one that was moved stands elsewhere now.
Done<base::FileDescriptor> Places::open_noted(const Handle& file, std::size_t depth) {
  if (file == root_handle_) return open_at(root_, ".");
  if (depth == kDeepest) return {Fault::stale, {}};
  for (const Place& place : places_of(file)) {
    const Done<base::FileDescriptor> folder = open_noted(place.first, depth + 1);
    if (folder.fault == Fault::stale) continue;  // it may be found again, and the file with it
    if (!folder) return {folder.fault, {}};
    Done<base::FileDescriptor> there = open_at(folder.value.get(), place.second.c_str());
    if (!there && there.fault != Fault::no_entry) return there;
    const Done<Handle> handle = there ? handle_of_(there.value.get()) : Done<Handle>{there.fault, {}};
    if (handle && handle.value == file) return there;
    const std::lock_guard guard(mutex_);
    drop(file, place);
  }
  return {Fault::stale, {}};
}

// One folder is open at a time, however deep the tree is.
void Places::note_all() {
  std::vector<Handle> folders{root_handle_};
  while (!folders.empty()) {
    const Handle folder = folders.back();
    folders.pop_back();
    note_in(folder, folders);
  }
}

void Places::note_in(const Handle& folder, std::vector<Handle>& folders) {
  const std::shared_lock still(moving_);
  const Done<base::FileDescriptor> there = open_noted(folder, 0);
  if (!there) return;
  const int open = openat(there.value.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(open < 0 ? nullptr : fdopendir(open), closedir);
  if (list == nullptr) return;
  while (const dirent* const entry = readdir(list.get())) {
    const std::string_view text = entry->d_name;
    if (text == "." || text == "..") continue;
    const Done<base::FileDescriptor> file = open_at(open, entry->d_name);
    const Done<Handle> of = file ? handle_of_(file.value.get()) : Done<Handle>{Fault::stale, {}};
    if (!of) continue;
    const bool directory = is_directory(file.value.get(), entry->d_type);
    note(of.value, directory ? Kind::directory : Kind::other, folder, text);
    if (directory) folders.push_back(of.value);
  }
}

}  // namespace hamlyn::internal_::files
