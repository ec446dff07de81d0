#pragma once
// Procedures for which clerks call the server (paper 4, section 7.4.2: a miss transfers control): what is
// missing in its areas, and everything that changes a file.
//
// Order: what a change concerns is taken out of the areas before it is made, and nothing that was found
// before its end is put there. So a clerk that looks behind an answer finds nothing of before the change.
//
// Only clerks of the service's own user may call (the name's rights say so). They are trusted to say for
// whom they ask: the server acts as that user, with the groups that its own host knows.
//
// Threads: any number may serve. Owner: its maker; store and areas outlive it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/namespaces.h"
#include "files/area_writer.h"
#include "files/store.h"
#include "hamlyn/rpc/listing.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn::internal_::files {

// Groups of a user, as the server's host knows them; the first one is the user's own.
using GroupsOf = std::function<std::vector<std::uint32_t>(std::uint32_t user)>;

struct FoundAnswer {
  Fault fault = Fault::none;
  Found found;
};
struct AttributesAnswer {
  Fault fault = Fault::none;
  Attributes attributes;
};
struct CountAnswer {
  Fault fault = Fault::none;
  std::uint64_t count = 0;
};
using TextAnswer = std::pair<Fault, std::string>;
struct FolderAnswer {
  Fault fault = Fault::none;
  FolderRecord record;
};
struct RoomAnswer {
  Fault fault = Fault::none;
  Room room;
};
using BytesAnswer = std::pair<Fault, std::vector<std::byte>>;
// Changes as they travel: those whose bit is in `which`.
struct Wanted {
  static constexpr std::uint32_t kMode = 1, kOwner = 2, kGroup = 4, kSize = 8, kRead = 16, kReadNow = 32,
                                 kWritten = 64, kWrittenNow = 128;
  std::uint32_t which = 0;
  std::uint32_t mode = 0, owner = 0, group = 0;
  std::uint64_t size = 0;
  Moment read, written;
};
Wanted wanted(const Changes& changes) noexcept;
// Nothing: bits that mean nothing, or a moment with a billion nanoseconds.
std::optional<Changes> changes(const Wanted& wanted) noexcept;
// Answers what a clerk asks first.
struct About {
  Handle root;
  std::uint32_t user = 0;           // the service's own
  std::uint32_t squashes_root = 0;  // 1: the superuser of a clerk's host is nobody here
  Ticket areas;                     // of the segment where they stand
};

class Service {
 public:
  // `squashes_root`: whoever asks for the superuser asks for nobody.
  Service(Store& store, AreaWriter& areas, const Ticket& ticket, GroupsOf groups_of,
          bool squashes_root = false);

  About about();
  // Groups of a user whose rights the clerk judges; the first is the user's own.
  std::vector<std::uint32_t> groups(std::uint32_t user);
  FoundAnswer look_up(std::uint32_t user, const Handle& folder, std::string_view name);
  AttributesAnswer attributes(const Handle& file);
  TextAnswer read_link(const Handle& link);
  // A record of a folder's entries, as the area has it.
  FolderAnswer folder(std::uint32_t user, const Handle& folder, std::uint64_t cookie);
  // Puts a block of a file's data into its area. Returns the bytes that there are.
  CountAnswer load(std::uint32_t user, const Handle& file, std::uint64_t block);
  // Reads a block that was pushed out of the area again before the clerk had it.
  BytesAnswer read(std::uint32_t user, const Handle& file, std::uint64_t offset, std::uint32_t length);
  CountAnswer write(std::uint32_t user, const Handle& file, std::uint64_t offset,
                    std::span<const std::byte> data);
  // Writes where the file ends then.
  CountAnswer append(std::uint32_t user, const Handle& file, std::span<const std::byte> data);
  AttributesAnswer change(std::uint32_t user, const Handle& file, const Wanted& wanted);
  FoundAnswer create(std::uint32_t user, const Handle& folder, std::string_view name, std::uint32_t mode,
                     bool fresh);
  FoundAnswer make_directory(std::uint32_t user, const Handle& folder, std::string_view name,
                             std::uint32_t mode);
  FoundAnswer make_symbolic_link(std::uint32_t user, const Handle& folder, std::string_view name,
                                 std::string_view target);
  AttributesAnswer link(std::uint32_t user, const Handle& file, const Handle& folder, std::string_view name);
  Fault remove(std::uint32_t user, const Handle& folder, std::string_view name);
  Fault remove_directory(std::uint32_t user, const Handle& folder, std::string_view name);
  Fault rename(std::uint32_t user, const Handle& from, std::string_view name, const Handle& to,
               std::string_view new_name, Renaming how);
  Fault sync(const Handle& file);
  RoomAnswer room();

 private:
  // One of those who share what is known of changes: files by chance.
  struct Stripe {
    std::uint64_t begun = 0;  // changes, ever
    std::uint64_t under_way = 0;
  };
  static constexpr std::size_t kStripes = 64;
  // A finding between its making and `put` is put only if nothing has changed meanwhile.
  class Finding;
  // A change of some files is under way.
  class Changing;
  // Names of one or two folders are the holder's to change.
  class Naming;
  struct Who;

  Stripe& stripe_of(const Handle& file) noexcept;
  // Puts what is there now of a file that was found.
  void show_attributes(const Handle& file);
  // Has data written from there on, at most to the file's end now, up to that block.
  template <class Act>
  CountAnswer put(const Handle& file, std::uint64_t offset, std::uint64_t last, Act act);
  template <class Make>
  FoundAnswer make(const Handle& folder, std::string_view name, Make make);
  Fault take_out(std::uint32_t user, const Handle& folder, std::string_view name, bool directory);

  Store& store_;
  AreaWriter& areas_;
  const Ticket ticket_;
  GroupsOf groups_of_;
  bool squashes_root_;
  // Names of a folder are changed one after the other: whose name is changed is known then.
  std::array<std::mutex, kStripes> naming_;
  std::mutex mutex_;  // guards the areas and the stripes
  std::array<Stripe, kStripes> stripes_;
};

HAMLYN_RPC(Service, about, groups, look_up, attributes, read_link, folder, load, read, write, append, change,
           create, make_directory, make_symbolic_link, link, remove, remove_directory, rename, sync, room)

}  // namespace hamlyn::internal_::files
