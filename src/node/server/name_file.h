#pragma once
// The names that are registered, in a file beside the socket, written before whoever registers one is told
// so. The next daemon keeps those names for their owners, and gives out all others at once.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "node/mind/node.h"

namespace hamlyn::node {

class NameFile {
 public:
  // Reads what the daemon before has left, without the names of processes that have ended since: they are
  // free. Nothing: it is not known which names there were.
  static std::optional<std::vector<OwnedName>> left_at(const std::string& socket);

  // Begins anew, with these. What then is not known to be all is not told to the next daemon, before
  // `complete`. If the file cannot be written there will be none.
  NameFile(const std::string& socket, const std::optional<std::vector<OwnedName>>& names);

  void put(const OwnedName& name);
  void remove(std::string_view name);
  // Notes that whoever had a name has come back, or will not.
  void complete();
  // Nobody had any.
  void discard();

 private:
  void write(std::uint64_t at, const void* bytes, std::size_t size);

  std::string path_;
  base::FileDescriptor file_;
  bool complete_ = false;
  std::map<std::string, std::uint32_t, std::less<>> rows_;
  std::vector<std::uint32_t> free_;
};

}  // namespace hamlyn::node
