#include "files/area_reader.h"

#include <algorithm>
#include <array>

#include "hamlyn/segment/versioned.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::files {
namespace {

AreasHeader header_of(Import& import, std::chrono::nanoseconds timeout) {
  AreasHeader header;
  if (import.size() < sizeof(Versioned<AreasHeader>))
    throw Error(ErrorCode::version_mismatch, "these are no areas of a file service");
  const Status status = FarVersioned<AreasHeader>(import, 0).read(header, timeout);
  if (status != Status::ok)
    throw Error(status == Status::timed_out ? ErrorCode::timed_out : ErrorCode::peer_died,
                std::string("the header of the areas cannot be read: ") + name(status));
  if (const char* const why = invalid(header, import.size()); why != nullptr)
    throw Error(ErrorCode::version_mismatch, why);
  return header;
}

template <class Shape>
Shape shape_of(const AreaPlace& place, const AreasHeader& header) {
  return Shape(place.offset, place.count, header.salt);
}

}  // namespace

AreaReader::AreaReader(Import& import, std::chrono::nanoseconds timeout)
    : import_(import),
      header_(header_of(import, timeout)),
      names_(import, shape_of<NameArea>(header_.names, header_)),
      attributes_(import, shape_of<AttributeArea>(header_.attributes, header_)),
      links_(import, shape_of<LinkArea>(header_.links, header_)),
      folders_(import, shape_of<FolderArea>(header_.folders, header_)),
      index_(import, shape_of<DataIndex>(header_.index, header_)) {}

Status AreaReader::look_up(const Handle& folder, std::string_view name, Handle& out,
                           std::chrono::nanoseconds timeout) noexcept {
  NameRecord record;
  const Status status = names_.read(name_key(folder, name, header_.salt), record, timeout);
  if (status != Status::ok) return status;
  // Two names of one key: the later one has taken the place.
  if (record.length != name.size() || record.length > record.text.size() ||
      name != std::string_view(record.text.data(), record.length))
    return Status::not_ready;
  out = record.file;
  return Status::ok;
}

Status AreaReader::attributes(const Handle& file, Attributes& out,
                              std::chrono::nanoseconds timeout) noexcept {
  return attributes_.read(file, out, timeout);
}

Status AreaReader::link(const Handle& link, std::string& out, std::chrono::nanoseconds timeout) {
  LinkRecord record;
  const Status status = links_.read(link, record, timeout);
  if (status != Status::ok) return status;
  if (record.length == 0 || record.length > kShortLink) return Status::not_ready;
  out.assign(record.target.data(), record.length);
  return Status::ok;
}

Status AreaReader::folder(const FolderKey& key, FolderRecord& out,
                          std::chrono::nanoseconds timeout) noexcept {
  const Status status = folders_.read(key, out, timeout);
  if (status == Status::ok && out.used > out.entries.size()) return Status::not_ready;
  return status;
}

// A frame that is changed meanwhile is missing, or a page does not fit its check.
Status AreaReader::data(const DataKey& key, std::size_t offset, std::span<std::byte> into, std::size_t& done,
                        std::chrono::nanoseconds timeout) noexcept {
  done = 0;
  std::uint64_t number = 0;
  Status status = index_.read(key, number, timeout);
  if (status != Status::ok) return status;
  if (number >= header_.pages.count) return Status::not_ready;
  Versioned<FrameRecord> head;
  status = import_.read(header_.heads.offset + number * sizeof head,
                        std::as_writable_bytes(std::span(&head, 1)), timeout);
  if (status != Status::ok) return status;
  const FrameRecord& frame = head.value;
  if (!head.whole() || !(DataKey{frame.file, frame.block} == key) || frame.length > kBlock)
    return Status::not_ready;
  if (offset >= frame.length) return Status::ok;
  const std::size_t end = std::min<std::size_t>(frame.length, offset + into.size());
  const std::uint64_t pages = header_.pages.offset + number * kBlock;
  for (std::size_t at = offset; at != end;) {
    const std::size_t page = at / kPage;
    std::array<std::byte, kPage> whole;
    status = import_.read(pages + page * kPage, whole, timeout);
    if (status != Status::ok) return status;
    if (frame.checks[page] != check_of_page(key, page, whole)) return Status::not_ready;
    const std::size_t stop = std::min(end, (page + 1) * kPage);
    std::copy(whole.begin() + static_cast<std::ptrdiff_t>(at % kPage),
              whole.begin() + static_cast<std::ptrdiff_t>(stop - page * kPage),
              into.begin() + static_cast<std::ptrdiff_t>(at - offset));
    at = stop;
  }
  done = end - offset;
  return Status::ok;
}

}  // namespace hamlyn::internal_::files
