#pragma once
// Numbers by which the kernel knows the files of a mount, and how often it has been told each. A number
// stands for one handle until the kernel has forgotten it as often.
//
// Threads: any. Owner: its maker.
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/namespaces.h"
#include "files/handle.h"

namespace hamlyn::internal_::mount {

class Nodes {
 public:
  static constexpr std::uint64_t kRoot = 1;  // FUSE's number of the root, which is never forgotten

  explicit Nodes(const files::Handle& root);

  // The kernel is told of that file, once more.
  std::uint64_t tell(const files::Handle& file);
  // The kernel has forgotten it so often.
  void forget(std::uint64_t number, std::uint64_t times);
  // Nothing: the kernel was not told that number, which no kernel asks for.
  std::optional<files::Handle> of(std::uint64_t number) const;

 private:
  struct Node {
    files::Handle file;
    std::uint64_t told = 0;
  };

  mutable std::mutex mutex_;  // guards the following
  std::unordered_map<std::uint64_t, Node> nodes_;
  std::map<files::Handle, std::uint64_t> numbers_;
  std::uint64_t last_ = kRoot;
};

}  // namespace hamlyn::internal_::mount
