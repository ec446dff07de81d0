#include "files/area_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hamlyn/segment/versioned.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::files {
namespace {

template <class Shape>
Shape shape_of(const AreaPlace& place, const AreasHeader& header) {
  return Shape(place.offset, place.count, header.salt);
}

}  // namespace

AreaWriter::AreaWriter(Segment& segment, const AreasHeader& header)
    : segment_(segment),
      header_(header),
      names_(segment, shape_of<NameArea>(header.names, header)),
      attributes_(segment, shape_of<AttributeArea>(header.attributes, header)),
      links_(segment, shape_of<LinkArea>(header.links, header)),
      folders_(segment, shape_of<FolderArea>(header.folders, header)),
      index_(segment, shape_of<DataIndex>(header.index, header)),
      frames_(header.pages.count) {
  if (const char* const why = invalid(header, segment.bytes().size()); why != nullptr)
    throw Error(ErrorCode::invalid_argument, why);
  OwnVersioned<AreasHeader>(segment, 0).write(header);
}

void AreaWriter::name(const Handle& folder, std::string_view text, const Handle& file) {
  NameRecord record{.file = file, .length = static_cast<std::uint16_t>(text.size())};
  std::ranges::copy(text.substr(0, record.text.size()), record.text.begin());
  names_.put(name_key(folder, text, header_.salt), record);
}
void AreaWriter::forget_name(const Handle& folder, std::string_view text) {
  names_.remove(name_key(folder, text, header_.salt));
}

void AreaWriter::attributes(const Handle& file, const Attributes& attributes) {
  attributes_.put(file, attributes);
}
void AreaWriter::forget_attributes(const Handle& file) { attributes_.remove(file); }

void AreaWriter::link(const Handle& link, std::string_view target) {
  LinkRecord record{.length = target.size()};
  if (target.size() > kShortLink) return;
  std::ranges::copy(target, record.target.begin());
  links_.put(link, record);
}
void AreaWriter::forget_link(const Handle& link) { links_.remove(link); }

// There are at most four times as many records as buckets: what was pushed out is forgotten with the rest.
void AreaWriter::folder(const FolderKey& key, const FolderRecord& record) {
  if (listed_.size() == FolderArea::kWays * header_.folders.count) {
    for (const FolderKey& each : std::exchange(listed_, {})) folders_.remove(each);
  }
  listed_.insert(key);  // before it stands there: what cannot be noted is not put
  folders_.put(key, record);
}
void AreaWriter::forget_folder(const Handle& folder) {
  const auto first = listed_.lower_bound({folder, 0});
  auto each = first;
  for (; each != listed_.end() && each->folder == folder; ++each) folders_.remove(*each);
  listed_.erase(first, each);
}

// --- data

std::size_t AreaWriter::head_at(std::size_t frame) const noexcept {
  return header_.heads.offset + frame * sizeof(Versioned<FrameRecord>);
}

std::size_t AreaWriter::frame_for(const DataKey& key) {
  if (const auto there = standing_.find(key); there != standing_.end()) return there->second;
  const std::size_t frame = std::exchange(next_, (next_ + 1) % frames_.size());
  if (frames_[frame]) {
    const DataKey before = *frames_[frame];
    forget(before);
  }
  return frame;
}

// The head is taken out before the pages change, and put behind them: a reader has the pages of its head, or
// the check of a page says that it has not.
void AreaWriter::data(const DataKey& key, std::span<const std::byte> bytes) {
  const std::size_t frame = frame_for(key);
  forget(key);
  standing_[key] = frame;  // before it stands there: what cannot be noted is not put
  frames_[frame] = key;
  FrameRecord record{.file = key.file, .block = key.block, .length = bytes.size()};
  std::byte* const pages = segment_.bytes().data() + header_.pages.offset + frame * kBlock;
  for (std::size_t at = 0, page = 0; at < bytes.size(); at += kPage, ++page) {
    const auto part = bytes.subspan(at, std::min(kPage, bytes.size() - at));
    std::array<std::byte, kPage> whole{};
    std::ranges::copy(part, whole.begin());
    internal_::segment::write_record(pages + at, whole.data(), whole.size());
    record.checks[page] = check_of_page(key, page, whole);
  }
  OwnVersioned<FrameRecord>(segment_, head_at(frame)).write(record);
  index_.put(key, frame);
}

void AreaWriter::forget_data(const Handle& file, std::uint64_t first, std::uint64_t last) {
  for (;;) {
    const auto each = standing_.lower_bound({file, first});
    if (each == standing_.end() || each->first.file != file || each->first.block > last) return;
    const DataKey key = each->first;
    forget(key);
  }
}

void AreaWriter::forget(const DataKey& key) {
  const auto there = standing_.find(key);
  if (there == standing_.end()) return;
  index_.remove(key);
  OwnVersioned<FrameRecord>(segment_, head_at(there->second)).write({});
  frames_[there->second].reset();
  standing_.erase(there);
}

}  // namespace hamlyn::internal_::files
