#pragma once
// The server's side of its areas: puts there what clerks are to find, and takes out what is no longer so.
// A finding is put before the server answers, and a change takes out what it concerns before it is made: so
// whoever reads behind an answer finds nothing of before it.
//
// Threads: one at a time. Owner: its maker; the segment outlives it.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/namespaces.h"
#include "files/areas.h"
#include "hamlyn/segment/segment.h"

namespace hamlyn::internal_::files {

class AreaWriter {
 public:
  // Lays out empty areas. Throws Error(invalid_argument): the segment is shorter than they are.
  AreaWriter(Segment& segment, const AreasHeader& header);

  // `file` of length 0: there is no such name.
  void name(const Handle& folder, std::string_view text, const Handle& file);
  void forget_name(const Handle& folder, std::string_view text);
  void attributes(const Handle& file, const Attributes& attributes);
  void forget_attributes(const Handle& file);
  // Longer targets than kShortLink stay away.
  void link(const Handle& link, std::string_view target);
  void forget_link(const Handle& link);
  void folder(const FolderKey& key, const FolderRecord& record);
  void forget_folder(const Handle& folder);  // all of its records
  // Data of a block from its begin on, up to the end of the file or to kBlock. A new block takes the frame
  // that was given longest ago.
  void data(const DataKey& key, std::span<const std::byte> bytes);
  // All that stands of a file from a block on, up to another one.
  void forget_data(const Handle& file, std::uint64_t first, std::uint64_t last);

 private:
  void forget(const DataKey& key);
  std::size_t frame_for(const DataKey& key);
  std::size_t head_at(std::size_t frame) const noexcept;

  Segment& segment_;
  AreasHeader header_;
  OwnCacheArea<NameKey, NameRecord> names_;
  OwnCacheArea<Handle, Attributes> attributes_;
  OwnCacheArea<Handle, LinkRecord> links_;
  OwnCacheArea<FolderKey, FolderRecord> folders_;
  OwnCacheArea<DataKey, std::uint64_t> index_;
  std::set<FolderKey> listed_;                  // records of folders that may stand there
  std::vector<std::optional<DataKey>> frames_;  // what each holds
  // Where each block stands. The index may have lost it, and a clerk's hint still lead there.
  std::map<DataKey, std::size_t> standing_;
  std::size_t next_ = 0;  // the frame that was given longest ago
};

}  // namespace hamlyn::internal_::files
