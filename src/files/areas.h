#pragma once
// Areas of a file service (paper 4, section 7.4.1; paper 3, section 5): names, attributes, directories,
// symbolic links and data, as the server shows them in one segment. A clerk finds there by one or two reads
// what it is asked for, or that it is missing; then it asks the server. Each record carries the handle that
// it is of, a version and a check, so that what is found proves itself.
//
// All numbers are little-endian (docs/wire.md). The segment's first bytes say where each area lies.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/namespaces.h"
#include "files/handle.h"
#include "files/store.h"
#include "files/values.h"
#include "hamlyn/segment/cache_area.h"

namespace hamlyn::internal_::files {

inline constexpr std::size_t kPage = 4096;         // what one check covers
inline constexpr std::size_t kBlock = 16 * kPage;  // data of one frame
inline constexpr std::size_t kMostName = 255;      // bytes of a name
inline constexpr std::size_t kShortLink = 487;     // bytes of a link's target; longer ones are asked for

// --- names: what stands in a folder under a name

// Two digests of the name, with the areas' salt: no client can choose names that fall together.
struct NameKey {
  Handle folder;
  std::uint64_t digest = 0, second_digest = 0;
};
struct NameRecord {
  Handle file;  // of length 0: there is no such name
  std::uint16_t length = 0;
  std::array<char, 262> text{};  // compared whole
};
static_assert(sizeof(NameRecord) == 312 && std::has_unique_object_representations_v<NameRecord>);

// --- symbolic links

struct LinkRecord {
  std::uint64_t length = 0;
  std::array<char, 488> target{};
};

// --- directories: entries in the order of the server's file system, as many as a record takes

struct FolderKey {
  Handle folder;
  std::uint64_t cookie = 0;  // behind which they begin; 0: at the first

  friend auto operator<=>(const FolderKey&, const FolderKey&) = default;
};
// Entries stand behind each other: inode, cookie (8 bytes each), kind, length (4 each), name, and as many
// zeros as make it a multiple of 8. The next record begins behind the last one's cookie.
struct FolderRecord {
  static constexpr std::size_t kBytes = 4000;
  std::uint32_t used = 0;  // of `entries`
  std::uint32_t last = 0;  // 1: there are no more
  std::array<std::byte, kBytes> entries{};
};
// Puts a name behind those that are there. False: the record is full.
bool append(FolderRecord& record, const Name& name) noexcept;
// Takes the name at `at`, and moves `at` behind it. False: there is none, or the bytes are no entry.
bool take(const FolderRecord& record, std::size_t& at, Name& name) noexcept;

// --- data: frames of 64 KiB

struct DataKey {
  Handle file;
  std::uint64_t block = 0;  // of kBlock bytes

  friend auto operator<=>(const DataKey&, const DataKey&) = default;
};
// Says what a frame holds.
struct FrameRecord {
  Handle file;
  std::uint64_t block = 0;
  std::uint64_t length = 0;  // bytes up to the end of the file, or kBlock
  std::array<std::uint64_t, kBlock / kPage> checks{};
};

using NameArea = CacheShape<NameKey, NameRecord>;
using AttributeArea = CacheShape<Handle, Attributes>;
using LinkArea = CacheShape<Handle, LinkRecord>;
using FolderArea = CacheShape<FolderKey, FolderRecord>;
using DataIndex = CacheShape<DataKey, std::uint64_t>;  // the number of the frame

// Where an area lies.
struct AreaPlace {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;  // buckets; of frames, frames
};

// First of all in the segment, a Versioned record. A clerk that knows another version or shape asks for all.
struct AreasHeader {
  static constexpr std::uint64_t kMagic = 0x53454C49464E4C48;  // "HLNFILES"
  static constexpr std::uint32_t kVersion = 1;

  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t zero = 0;
  std::uint64_t epoch = 0;  // of the server: another one after each start
  std::uint64_t salt = 0;
  AreaPlace names, attributes, links, folders, index, heads, pages;
};
static_assert(sizeof(AreasHeader) == 144);

// Which sizes a server takes, and the header that says so.
struct AreaSizes {
  std::uint64_t names = 4096, attributes = 4096, links = 256, folders = 256;  // buckets of four records
  std::uint64_t frames = 1024;                                                // of 64 KiB
};
AreasHeader lay_out(const AreaSizes& sizes, std::uint64_t epoch, std::uint64_t salt) noexcept;
// Bytes of the whole segment.
std::uint64_t bytes_of(const AreasHeader& header) noexcept;
// Why a header is none that a clerk can use, for a segment of so many bytes; null: it is one.
const char* invalid(const AreasHeader& header, std::uint64_t bytes) noexcept;

NameKey name_key(const Handle& folder, std::string_view name, std::uint64_t salt) noexcept;
// Checks a page of a block, of which file and where: a page that stands in another frame does not fit.
std::uint64_t check_of_page(const DataKey& key, std::size_t page,
                            std::span<const std::byte, kPage> bytes) noexcept;

}  // namespace hamlyn::internal_::files
