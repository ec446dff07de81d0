#include "hamlyn/files/tree.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "files/clerk.h"
#include "files/paths.h"
#include "files/rights.h"

namespace hamlyn {

namespace files {

using namespace internal_::files;

struct Tree::Inside {
  Inside(Interface& interface, std::string_view name, const Options& options)
      : clerk(interface, name, {.timeout = options.timeout, .time = options.time}),
        caller{.user = geteuid()} {}

  Clerk clerk;
  const Caller caller;
};

struct File::Inside {
  Tree::Inside& tree;
  Handle handle;
  Opening opening;
  std::uint64_t position = 0;
};

// --- a file

File::File() noexcept = default;
File::~File() = default;
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;

Done<std::size_t> File::read(std::span<std::byte> into) {
  const Done<std::size_t> done = read_at(position(), into);
  if (inside_ != nullptr) inside_->position += done.value;
  return done;
}

Done<std::size_t> File::write(std::span<const std::byte> data) {
  const Done<std::size_t> done = write_at(position(), data);
  if (inside_ != nullptr) inside_->position += done.value;
  return done;
}

void File::seek(std::uint64_t offset) noexcept {
  if (inside_ != nullptr) inside_->position = offset;
}

std::uint64_t File::position() const noexcept { return inside_ == nullptr ? 0 : inside_->position; }

Done<std::size_t> File::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  if (inside_ == nullptr || !inside_->opening.read) return {Fault::invalid, 0};
  return inside_->tree.clerk.read(inside_->tree.caller, inside_->handle, offset, into);
}

Done<std::size_t> File::write_at(std::uint64_t offset, std::span<const std::byte> data) const {
  if (inside_ == nullptr || !inside_->opening.write) return {Fault::invalid, 0};
  Clerk& clerk = inside_->tree.clerk;
  const Caller& caller = inside_->tree.caller;
  return inside_->opening.append ? clerk.append(caller, inside_->handle, data)
                                 : clerk.write(caller, inside_->handle, offset, data);
}

Done<Attributes> File::attributes() const {
  if (inside_ == nullptr) return {Fault::invalid, {}};
  return inside_->tree.clerk.attributes(inside_->handle);
}

Done<Attributes> File::change(const Changes& changes) const {
  if (inside_ == nullptr) return {Fault::invalid, {}};
  return inside_->tree.clerk.change(inside_->tree.caller, inside_->handle, changes);
}

Fault File::sync() const {
  return inside_ == nullptr ? Fault::invalid : inside_->tree.clerk.sync(inside_->handle);
}

// --- a tree

Tree::Tree(Interface& interface, std::string_view name, const Options& options)
    : inside_(std::make_unique<Inside>(interface, name, options)) {}

Tree::~Tree() = default;

Tree::Counts Tree::counts() const noexcept {
  const Clerk::Counts counts = inside_->clerk.counts();
  return {counts.found, counts.asked};
}

namespace {

Done<Found> find_or_make(Store& store, const Caller& caller, std::string_view path, const Opening& opening) {
  if (!opening.create) return files::find(store, caller, path, true);
  if (!opening.fresh) {
    const Done<Found> there = files::find(store, caller, path, true);
    if (there.fault != Fault::no_entry) return there;
  }
  const Done<Place> place = place_of(store, caller, path);
  if (!place) return {place.fault, {}};
  return store.create(caller, place.value.folder, place.value.name, opening.mode, opening.fresh);
}

}  // namespace

Done<File> Tree::open(std::string_view path, const Opening& opening) {
  if ((!opening.read && !opening.write) || ((opening.truncate || opening.append) && !opening.write) ||
      (opening.fresh && !opening.create))
    return {Fault::invalid, {}};
  Clerk& clerk = inside_->clerk;
  const Caller& caller = inside_->caller;
  const Done<Found> found = find_or_make(clerk, caller, path, opening);
  if (!found) return {found.fault, {}};
  const Handle& handle = found.value.handle;
  if (found.value.attributes.kind == Kind::directory) return {Fault::is_a_directory, {}};
  if (found.value.attributes.kind != Kind::file) return {Fault::invalid, {}};
  // Whether it may be read and written is asked by an operation of no bytes.
  if (opening.read)
    if (const auto may = clerk.read(caller, handle, 0, {}); !may) return {may.fault, {}};
  if (opening.write && !opening.truncate)
    if (const auto may = clerk.write(caller, handle, 0, {}); !may) return {may.fault, {}};
  if (opening.truncate)
    if (const auto empty = clerk.change(caller, handle, {.size = 0}); !empty) return {empty.fault, {}};
  Done<File> out;
  out.value.inside_ = std::make_unique<File::Inside>(*inside_, handle, opening);
  return out;
}

Done<Attributes> Tree::attributes(std::string_view path, bool follow) {
  const Done<Found> found = files::find(inside_->clerk, inside_->caller, path, follow);
  return {found.fault, found.value.attributes};
}

Done<Attributes> Tree::change(std::string_view path, const Changes& changes, bool follow) {
  const Done<Found> found = files::find(inside_->clerk, inside_->caller, path, follow);
  if (!found) return {found.fault, {}};
  return inside_->clerk.change(inside_->caller, found.value.handle, changes);
}

Done<bool> Tree::list(std::string_view path, std::uint64_t cookie,
                      const std::function<bool(const DirectoryEntry&)>& each) {
  const Done<Found> found = files::find(inside_->clerk, inside_->caller, path, true);
  if (!found) return {found.fault, {}};
  return inside_->clerk.list(inside_->caller, found.value.handle, cookie, [&](const Name& name) {
    return each({std::string(name.text), name.cookie, name.inode, name.kind});
  });
}

Done<std::vector<DirectoryEntry>> Tree::list(std::string_view path) {
  Done<std::vector<DirectoryEntry>> out;
  out.fault = list(path, 0, [&](const DirectoryEntry& entry) {
                out.value.push_back(entry);
                return true;
              }).fault;
  std::ranges::sort(out.value, {}, &DirectoryEntry::name);
  return out;
}

Done<std::string> Tree::read_link(std::string_view path) {
  const Done<Found> found = files::find(inside_->clerk, inside_->caller, path, false);
  if (!found) return {found.fault, {}};
  return inside_->clerk.read_link(found.value.handle);
}

// --- names

Fault Tree::make_directory(std::string_view path, std::uint32_t mode) {
  const Done<Place> at = place_of(inside_->clerk, inside_->caller, path);
  if (!at) return at.fault;
  return inside_->clerk.make_directory(inside_->caller, at.value.folder, at.value.name, mode).fault;
}

Fault Tree::make_symbolic_link(std::string_view target, std::string_view path) {
  const Done<Place> at = place_of(inside_->clerk, inside_->caller, path);
  if (!at) return at.fault;
  return inside_->clerk.make_symbolic_link(inside_->caller, at.value.folder, at.value.name, target).fault;
}

Fault Tree::link(std::string_view path, std::string_view new_path) {
  const Done<Found> found = files::find(inside_->clerk, inside_->caller, path, false);
  if (!found) return found.fault;
  const Done<Place> at = place_of(inside_->clerk, inside_->caller, new_path);
  if (!at) return at.fault;
  return inside_->clerk.link(inside_->caller, found.value.handle, at.value.folder, at.value.name).fault;
}

Fault Tree::remove(std::string_view path) {
  const Done<Place> at = place_of(inside_->clerk, inside_->caller, path);
  return at ? inside_->clerk.remove(inside_->caller, at.value.folder, at.value.name) : at.fault;
}

Fault Tree::remove_directory(std::string_view path) {
  const Done<Place> at = place_of(inside_->clerk, inside_->caller, path);
  return at ? inside_->clerk.remove_directory(inside_->caller, at.value.folder, at.value.name) : at.fault;
}

Fault Tree::rename(std::string_view path, std::string_view new_path, Renaming how) {
  const Done<Place> from = place_of(inside_->clerk, inside_->caller, path);
  if (!from) return from.fault;
  const Done<Place> to = place_of(inside_->clerk, inside_->caller, new_path);
  if (!to) return to.fault;
  return inside_->clerk.rename(inside_->caller, from.value.folder, from.value.name, to.value.folder,
                               to.value.name, how);
}

Done<Room> Tree::room() { return inside_->clerk.room(); }

}  // namespace files

}  // namespace hamlyn
