#pragma once
// A clerk's side of a server's areas: finds there what it is asked for without the server (paper 4, section
// 7.4.1: pure data transfer). By loads on the server's host, by gets from others.
//
// The server is trusted, and its memory is not: whatever stands there, a call ends in its time, and gives
// what a check has proven, or that it is missing.
//
// Threads: any. Owner: its maker; the import outlives it.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "files/areas.h"
#include "hamlyn/segment/segment.h"
#include "hamlyn/values/status.h"

namespace hamlyn::internal_::files {

class AreaReader {
 public:
  // Reads the header. Throws Error: version_mismatch (the text says what is wrong with it), peer_died, and
  // as Import.
  AreaReader(Import& import, std::chrono::nanoseconds timeout);

  std::uint64_t epoch() const noexcept { return header_.epoch; }

  // All answer ok; not_ready: it is missing, ask the server; or as Import::read. `timeout` is for each read.
  // `out` of length 0: there is no such name.
  Status look_up(const Handle& folder, std::string_view name, Handle& out,
                 std::chrono::nanoseconds timeout) noexcept;
  Status attributes(const Handle& file, Attributes& out, std::chrono::nanoseconds timeout) noexcept;
  Status link(const Handle& link, std::string& out, std::chrono::nanoseconds timeout);
  Status folder(const FolderKey& key, FolderRecord& out, std::chrono::nanoseconds timeout) noexcept;
  // `offset`: within the block. `done`: bytes there are from there on, at most as many as `into` takes; fewer
  // where the file ends.
  Status data(const DataKey& key, std::size_t offset, std::span<std::byte> into, std::size_t& done,
              std::chrono::nanoseconds timeout) noexcept;

 private:
  Import& import_;
  AreasHeader header_;
  FarCacheArea<NameKey, NameRecord> names_;
  FarCacheArea<Handle, Attributes> attributes_;
  FarCacheArea<Handle, LinkRecord> links_;
  FarCacheArea<FolderKey, FolderRecord> folders_;
  FarCacheArea<DataKey, std::uint64_t> index_;
};

}  // namespace hamlyn::internal_::files
