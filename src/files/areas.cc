#include "files/areas.h"

#include <algorithm>
#include <cstring>

#include "base/byte_order.h"
#include "base/siphash.h"

namespace hamlyn::internal_::files {
namespace {

using HeaderRecord = Versioned<AreasHeader>;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;

std::uint64_t up_to_page(std::uint64_t bytes) noexcept { return (bytes + kPage - 1) / kPage * kPage; }

// Areas in the order in which they lie, with the bytes of one of each.
struct Row {
  AreaPlace AreasHeader::*place;
  std::uint64_t each;
};
constexpr std::array kRows = {
    Row{&AreasHeader::names, NameArea::bytes(1)},
    Row{&AreasHeader::attributes, AttributeArea::bytes(1)},
    Row{&AreasHeader::links, LinkArea::bytes(1)},
    Row{&AreasHeader::folders, FolderArea::bytes(1)},
    Row{&AreasHeader::index, DataIndex::bytes(1)},
    Row{&AreasHeader::heads, sizeof(Versioned<FrameRecord>)},
    Row{&AreasHeader::pages, kBlock},
};

// Bytes of an entry before its name.
constexpr std::size_t kEntryHead = 24;

std::size_t bytes_of_entry(std::size_t name) noexcept { return (kEntryHead + name + 7) / 8 * 8; }

}  // namespace

AreasHeader lay_out(const AreaSizes& sizes, std::uint64_t epoch, std::uint64_t salt) noexcept {
  // A quarter of the index is used when all frames are: a bucket of four seldom overflows.
  const std::array counts = {sizes.names,  sizes.attributes, sizes.links, sizes.folders,
                             sizes.frames, sizes.frames,     sizes.frames};
  AreasHeader out;
  out.epoch = epoch;
  out.salt = salt;
  std::uint64_t at = up_to_page(sizeof(HeaderRecord));
  for (std::size_t i = 0; i != kRows.size(); ++i) {
    out.*kRows[i].place = {at, counts[i]};
    at = up_to_page(at + counts[i] * kRows[i].each);
  }
  return out;
}

std::uint64_t bytes_of(const AreasHeader& header) noexcept {
  return header.pages.offset + header.pages.count * kBlock;
}

const char* invalid(const AreasHeader& header, std::uint64_t bytes) noexcept {
  if (header.magic != AreasHeader::kMagic) return "these are no areas of a file service";
  if (header.version != AreasHeader::kVersion) return "the areas are of another version";
  if (bytes > kMostBytes) return "the areas are too long";
  std::uint64_t end = up_to_page(sizeof(HeaderRecord));
  for (const Row& row : kRows) {
    const AreaPlace& place = header.*row.place;
    if (place.count == 0 || place.offset % sizeof(std::uint64_t) != 0 || place.offset < end ||
        place.offset > bytes || place.count > (bytes - place.offset) / row.each)
      return "an area lies outside of its segment, or across another";
    end = place.offset + place.count * row.each;
  }
  return header.heads.count == header.pages.count ? nullptr : "there are not as many frames as heads";
}

bool append(FolderRecord& record, const Name& name) noexcept {
  const std::size_t bytes = bytes_of_entry(name.text.size());
  if (record.used + bytes > record.entries.size()) return false;
  std::byte* const at = record.entries.data() + record.used;
  base::store_little(at, name.inode);
  base::store_little(at + 8, name.cookie);
  base::store_little(at + 16, static_cast<std::uint32_t>(name.kind));
  base::store_little(at + 20, static_cast<std::uint32_t>(name.text.size()));
  std::memcpy(at + kEntryHead, name.text.data(), name.text.size());
  record.used += static_cast<std::uint32_t>(bytes);
  return true;
}

bool take(const FolderRecord& record, std::size_t& at, Name& name) noexcept {
  const std::size_t used = std::min<std::size_t>(record.used, record.entries.size());
  if (at > used || used - at < kEntryHead) return false;
  const std::byte* const entry = record.entries.data() + at;
  const std::size_t length = base::load_little<std::uint32_t>(entry + 20);
  if (length > kMostName || bytes_of_entry(length) > used - at) return false;
  name = {.text = {reinterpret_cast<const char*>(entry + kEntryHead), length},
          .cookie = base::load_little<std::uint64_t>(entry + 8),
          .inode = base::load_little<std::uint64_t>(entry),
          .kind = static_cast<Kind>(base::load_little<std::uint32_t>(entry + 16))};
  at += bytes_of_entry(length);
  return true;
}

NameKey name_key(const Handle& folder, std::string_view name, std::uint64_t salt) noexcept {
  std::array<std::uint64_t, 1 + (kMostName + 7) / 8> words{};
  const std::size_t length = std::min(name.size(), kMostName);
  words[0] = length;
  std::array<std::byte, sizeof words - sizeof words[0]> text{};
  std::ranges::copy(std::as_bytes(std::span(name.data(), length)), text.begin());
  for (std::size_t i = 1; i != words.size(); ++i)
    words[i] = base::load_little<std::uint64_t>(text.data() + (i - 1) * sizeof(std::uint64_t));
  const auto used = std::span(words).first(1 + (length + 7) / 8);
  return {folder, base::SipHash::of({salt, 1}, used), base::SipHash::of({salt, 2}, used)};
}

std::uint64_t check_of_page(const DataKey& key, std::size_t page,
                            std::span<const std::byte, kPage> bytes) noexcept {
  const std::uint64_t place = internal_::segment::check_of(page, &key, sizeof key);
  return internal_::segment::check_of(place, bytes.data(), bytes.size());
}

}  // namespace hamlyn::internal_::files
