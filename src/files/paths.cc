#include "files/paths.h"

#include <optional>
#include <vector>

namespace hamlyn::internal_::files {
namespace {

// Goes down a path, and keeps the folders above for "..".
class Walk {
 public:
  Walk(Store& store, const Caller& caller) : store_(store), caller_(caller), above_{store.root()} {}

  // Makes a step for each name of `path`; the last one's link is followed if `follow`.
  Fault go(std::string_view path, bool follow) {
    if (path.size() > kMostPath) return Fault::name_too_long;
    while (!path.empty()) {
      const std::size_t slash = path.find('/');
      const std::string_view step = path.substr(0, slash);
      const std::string_view rest = slash == std::string_view::npos ? "" : path.substr(slash + 1);
      const bool last = slash == std::string_view::npos;
      if (const Fault fault = make(step, follow || !last); fault != Fault::none) return fault;
      if (!last && file_) return Fault::not_a_directory;
      path = rest;
    }
    return Fault::none;
  }
  const Handle& folder() const noexcept { return above_.back(); }
  Done<Found> end() {
    if (file_) return {Fault::none, *file_};
    const Done<Attributes> attributes = store_.attributes(folder());
    return {attributes.fault, {folder(), attributes.value}};
  }

 private:
  Fault make(std::string_view step, bool follow) {
    if (step.empty() || step == ".") return Fault::none;
    if (step == "..") {
      if (above_.size() == 1) return Fault::cross_device;
      above_.pop_back();
      return Fault::none;
    }
    const Done<Found> found = store_.look_up(caller_, folder(), step);
    if (!found) return found.fault;
    const Kind kind = found.value.attributes.kind;
    if (kind == Kind::directory) above_.push_back(found.value.handle);
    if (kind == Kind::symbolic_link && follow) return follow_link(found.value.handle);
    if (kind != Kind::directory) file_ = found.value;
    return Fault::none;
  }
  Fault follow_link(const Handle& link) {
    if (++links_ > kMostLinks) return Fault::too_many_symlinks;
    const Done<std::string> target = store_.read_link(link);
    if (!target) return target.fault;
    if (target.value.starts_with('/')) return Fault::cross_device;
    return go(target.value, true);
  }

  Store& store_;
  const Caller& caller_;
  std::vector<Handle> above_;  // from the root on; the last one is where the walk stands
  std::optional<Found> file_;  // where it has ended, if that is no directory
  int links_ = 0;
};

}  // namespace

Done<Found> find(Store& store, const Caller& caller, std::string_view path, bool follow) {
  Walk walk(store, caller);
  if (const Fault fault = walk.go(path, follow); fault != Fault::none) return {fault, {}};
  return walk.end();
}

Done<Place> place_of(Store& store, const Caller& caller, std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (const Fault fault = judge(name); fault != Fault::none) return {fault, {}};
  Walk walk(store, caller);
  const std::string_view above = path.substr(0, path.size() - name.size());
  if (const Fault fault = walk.go(above, true); fault != Fault::none) return {fault, {}};
  return {Fault::none, {walk.folder(), std::string(name)}};
}

}  // namespace hamlyn::internal_::files
