#pragma once
// A tree in memory, as a store: what the service's machine is tested on in simulation, and what a real
// directory is compared with.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "files/rights.h"
#include "files/store.h"

namespace hamlyn::test {

namespace files = internal_::files;

class MemoryStore final : public files::Store {
 public:
  MemoryStore() { root_ = make(files::Kind::directory, 0777, {}); }

  // Called before and behind each operation, as if another thread of the server came between. Empty: nobody
  // does.
  std::function<void()> between;

  files::Handle root() const override { return root_; }
  files::Done<files::Attributes> attributes(const files::Handle& file) override {
    const Turn turn(*this);
    Node* const node = find(file);
    if (node == nullptr) return {files::Fault::stale, {}};
    return {files::Fault::none, attributes_of(*node)};
  }
  files::Done<files::Found> look_up(const files::Caller& caller, const files::Handle& folder,
                                    std::string_view name) override {
    const Turn turn(*this);
    const auto at = may_change(caller, folder, name, files::Right::search);
    if (!at) return {at.fault, {}};
    const auto there = at.value->names.find(std::string(name));
    if (there == at.value->names.end()) return {files::Fault::no_entry, {}};
    return found(there->second);
  }
  files::Done<std::string> read_link(const files::Handle& link) override {
    const Turn turn(*this);
    Node* const node = find(link);
    if (node == nullptr) return {files::Fault::stale, {}};
    if (node->is.kind != files::Kind::symbolic_link) return {files::Fault::invalid, {}};
    return {files::Fault::none, text_of(*node)};
  }
  // The cookie of a name is its place in the order of their making: an order that no change moves.
  files::Done<bool> list(const files::Caller& caller, const files::Handle& folder, std::uint64_t cookie,
                         const std::function<bool(const files::Name&)>& each) override {
    const Turn turn(*this);
    const auto at = may_change(caller, folder, "a", files::Right::read);
    if (!at) return {at.fault, {}};
    std::map<std::uint64_t, std::string> order;
    for (const auto& [name, handle] : at.value->names) order[at.value->made.at(name)] = name;
    for (auto next = order.upper_bound(cookie); next != order.end(); ++next) {
      Node* const node = find(at.value->names.at(next->second));
      if (!each({next->second, next->first, node->is.inode, node->is.kind}))
        return {files::Fault::none, false};
    }
    return {files::Fault::none, true};
  }
  files::Done<std::size_t> read(const files::Caller& caller, const files::Handle& file, std::uint64_t offset,
                                std::span<std::byte> into) override {
    const Turn turn(*this);
    const auto node = may_use(caller, file, files::Right::read);
    if (!node) return {node.fault, 0};
    const auto& data = node.value->data;
    if (offset >= data.size()) return {files::Fault::none, 0};
    const std::size_t count = std::min<std::size_t>(into.size(), data.size() - offset);
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
    return {files::Fault::none, count};
  }
  files::Done<std::size_t> write(const files::Caller& caller, const files::Handle& file, std::uint64_t offset,
                                 std::span<const std::byte> data) override {
    const Turn turn(*this);
    const auto node = may_use(caller, file, files::Right::write);
    if (!node) return {node.fault, 0};
    auto& all = node.value->data;
    if (!data.empty() && all.size() < offset + data.size()) all.resize(offset + data.size());
    if (!data.empty()) std::ranges::copy(data, all.begin() + static_cast<std::ptrdiff_t>(offset));
    touch(*node.value);
    return {files::Fault::none, data.size()};
  }
  files::Done<std::size_t> append(const files::Caller& caller, const files::Handle& file,
                                  std::span<const std::byte> data) override {
    const Turn turn(*this);
    Node* const node = find(file);
    return write(caller, file, node == nullptr ? 0 : node->data.size(), data);
  }
  files::Done<files::Attributes> change(const files::Caller& caller, const files::Handle& file,
                                        const files::Changes& changes) override {
    const Turn turn(*this);
    Node* const node = find(file);
    if (node == nullptr) return {files::Fault::stale, {}};
    if (changes.size) {
      const auto may = may_use(caller, file, files::Right::write);
      if (!may) return {may.fault, {}};
      node->data.resize(*changes.size);
    }
    if ((changes.mode || changes.read || changes.written) && caller.user != 0 &&
        caller.user != node->is.owner)
      return {files::Fault::not_permitted, {}};
    if ((changes.owner || changes.group) && caller.user != 0) return {files::Fault::not_permitted, {}};
    if (changes.mode) node->is.mode = *changes.mode & 07777;
    if (changes.owner) node->is.owner = *changes.owner;
    if (changes.group) node->is.group = *changes.group;
    if (changes.written) node->is.written = changes.written->moment;
    touch(*node);
    return {files::Fault::none, attributes_of(*node)};
  }
  files::Done<files::Found> create(const files::Caller& caller, const files::Handle& folder,
                                   std::string_view name, std::uint32_t mode, bool fresh) override {
    const Turn turn(*this);
    return make_at(caller, folder, name, files::Kind::file, mode, !fresh);
  }
  files::Done<files::Found> make_directory(const files::Caller& caller, const files::Handle& folder,
                                           std::string_view name, std::uint32_t mode) override {
    const Turn turn(*this);
    return make_at(caller, folder, name, files::Kind::directory, mode, false);
  }
  files::Done<files::Found> make_symbolic_link(const files::Caller& caller, const files::Handle& folder,
                                               std::string_view name, std::string_view target) override {
    const Turn turn(*this);
    auto made = make_at(caller, folder, name, files::Kind::symbolic_link, 0777, false);
    if (!made) return made;
    const auto bytes = std::as_bytes(std::span(target));
    find(made.value.handle)->data.assign(bytes.begin(), bytes.end());
    return found(made.value.handle);
  }
  files::Done<files::Attributes> link(const files::Caller& caller, const files::Handle& file,
                                      const files::Handle& folder, std::string_view name) override {
    const Turn turn(*this);
    Node* const node = find(file);
    if (node == nullptr) return {files::Fault::stale, {}};
    if (node->is.kind == files::Kind::directory) return {files::Fault::not_permitted, {}};
    const auto at = may_change(caller, folder, name, files::Right::write);
    if (!at) return {at.fault, {}};
    if (at.value->names.contains(std::string(name))) return {files::Fault::exists, {}};
    enter(*at.value, name, file);
    ++node->is.links;
    return attributes(file);
  }
  files::Fault remove(const files::Caller& caller, const files::Handle& folder,
                      std::string_view name) override {
    const Turn turn(*this);
    return take_out(caller, folder, name, false);
  }
  files::Fault remove_directory(const files::Caller& caller, const files::Handle& folder,
                                std::string_view name) override {
    const Turn turn(*this);
    return take_out(caller, folder, name, true);
  }
  files::Fault rename(const files::Caller& caller, const files::Handle& from, std::string_view name,
                      const files::Handle& to, std::string_view new_name, files::Renaming how) override {
    const Turn turn(*this);
    const auto out = may_change(caller, from, name, files::Right::write);
    const auto into = may_change(caller, to, new_name, files::Right::write);
    if (!out || !into) return out ? into.fault : out.fault;
    const auto there = out.value->names.find(std::string(name));
    if (there == out.value->names.end()) return files::Fault::no_entry;
    const files::Handle moved = there->second;
    const auto before = into.value->names.find(std::string(new_name));
    const bool replaces = before != into.value->names.end();
    if (how == files::Renaming::exchanges) {
      if (!replaces) return files::Fault::no_entry;
      if (lies_in(moved, to) || lies_in(before->second, from)) return files::Fault::invalid;
      std::swap(before->second, there->second);
      return files::Fault::none;
    }
    if (replaces && how == files::Renaming::refuses) return files::Fault::exists;
    if (replaces && before->second == moved) return files::Fault::none;
    if (lies_in(moved, to)) return files::Fault::invalid;
    const bool folder = find(moved)->is.kind == files::Kind::directory;
    if (replaces)
      if (const auto fault = take_out(caller, to, new_name, folder); fault != files::Fault::none)
        return fault;
    out.value->names.erase(std::string(name));
    enter(*into.value, new_name, moved);
    return files::Fault::none;
  }
  files::Fault sync(const files::Handle& file) override {
    const Turn turn(*this);
    return find(file) == nullptr ? files::Fault::stale : files::Fault::none;
  }
  files::Done<files::Room> room() override { return {files::Fault::none, {.block = 4096}}; }

 private:
  // Has something done before and behind each operation, but for those that it makes itself.
  class Turn {
   public:
    explicit Turn(MemoryStore& store) : store_(store) { come_between(); }
    ~Turn() { come_between(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    void come_between() const {
      if (store_.between == nullptr || std::exchange(store_.within_, true)) return;
      store_.between();
      store_.within_ = false;
    }
    MemoryStore& store_;
  };
  struct Node {
    files::Attributes is;
    std::vector<std::byte> data;
    std::map<std::string, files::Handle> names;
    std::map<std::string, std::uint64_t> made;
  };

  static std::string text_of(const Node& node) {
    return {reinterpret_cast<const char*>(node.data.data()), node.data.size()};
  }
  Node* find(const files::Handle& handle) {
    const auto found = nodes_.find(handle);
    return found == nodes_.end() ? nullptr : &found->second;
  }
  files::Attributes attributes_of(const Node& node) const {
    files::Attributes out = node.is;
    out.size = node.data.size();
    return out;
  }
  void touch(Node& node) { node.is.changed = {.seconds = static_cast<std::int64_t>(++time_)}; }
  void enter(Node& folder, std::string_view name, const files::Handle& file) {
    folder.names[std::string(name)] = file;
    folder.made[std::string(name)] = ++time_;
    touch(folder);
  }
  bool lies_in(const files::Handle& folder, const files::Handle& file) {
    if (folder == file) return true;
    Node* const node = find(folder);
    for (const auto& [name, handle] : node->names)
      if (find(handle)->is.kind == files::Kind::directory && lies_in(handle, file)) return true;
    return false;
  }
  files::Handle make(files::Kind kind, std::uint32_t mode, const files::Caller& caller) {
    const std::uint64_t number = ++last_;
    files::Handle handle{.kind = 1, .length = 8, .seal = number * 0x9E3779B97F4A7C15u};
    std::memcpy(handle.bytes.data(), &number, sizeof number);
    Node& node = nodes_[handle];
    node.is = {
        .inode = number, .kind = kind, .mode = mode, .links = 1, .owner = caller.user, .group = caller.group};
    touch(node);
    return handle;
  }
  files::Done<files::Found> found(const files::Handle& handle) {
    return {files::Fault::none, {handle, attributes_of(*find(handle))}};
  }
  files::Done<Node*> may_use(const files::Caller& caller, const files::Handle& file, files::Right right) {
    Node* const node = find(file);
    if (node == nullptr) return {files::Fault::stale, nullptr};
    if (node->is.kind == files::Kind::directory) return {files::Fault::is_a_directory, nullptr};
    if (node->is.kind != files::Kind::file) return {files::Fault::invalid, nullptr};
    if (caller.user != node->is.owner && !files::may(caller, node->is, right))
      return {files::Fault::access_denied, nullptr};
    return {files::Fault::none, node};
  }
  files::Done<Node*> may_change(const files::Caller& caller, const files::Handle& folder,
                                std::string_view name, files::Right right) {
    if (const auto fault = files::judge(name); fault != files::Fault::none) return {fault, nullptr};
    Node* const node = find(folder);
    if (node == nullptr) return {files::Fault::stale, nullptr};
    if (node->is.kind != files::Kind::directory) return {files::Fault::not_a_directory, nullptr};
    const bool may = files::may(caller, node->is, right) &&
                     (right != files::Right::write || files::may(caller, node->is, files::Right::search));
    if (!may) return {files::Fault::access_denied, nullptr};
    return {files::Fault::none, node};
  }
  files::Done<files::Found> make_at(const files::Caller& caller, const files::Handle& folder,
                                    std::string_view name, files::Kind kind, std::uint32_t mode, bool takes) {
    const auto at = may_change(caller, folder, name, files::Right::search);
    if (!at) return {at.fault, {}};
    const auto there = at.value->names.find(std::string(name));
    if (there != at.value->names.end())
      return takes ? found(there->second) : files::Done<files::Found>{files::Fault::exists, {}};
    if (!files::may(caller, at.value->is, files::Right::write)) return {files::Fault::access_denied, {}};
    const files::Handle handle = make(kind, mode, caller);
    enter(*find(folder), name, handle);
    return found(handle);
  }
  files::Fault take_out(const files::Caller& caller, const files::Handle& folder, std::string_view name,
                        bool directory) {
    const auto at = may_change(caller, folder, name, files::Right::write);
    if (!at) return at.fault;
    const auto there = at.value->names.find(std::string(name));
    if (there == at.value->names.end()) return files::Fault::no_entry;
    const files::Handle handle = there->second;
    Node& node = *find(handle);
    const bool is_directory = node.is.kind == files::Kind::directory;
    if (directory && !is_directory) return files::Fault::not_a_directory;
    if (!directory && is_directory) return files::Fault::is_a_directory;
    if (!node.names.empty()) return files::Fault::not_empty;
    at.value->names.erase(there);
    touch(*at.value);
    if (--node.is.links == 0) nodes_.erase(handle);
    return files::Fault::none;
  }

  bool within_ = false;
  std::map<files::Handle, Node> nodes_;
  files::Handle root_;
  std::uint64_t last_ = 0;
  std::uint64_t time_ = 0;
};

}  // namespace hamlyn::test
