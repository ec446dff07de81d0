#include "files/service.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <mutex>

namespace hamlyn::internal_::files {
namespace {

constexpr std::uint32_t kNobodysUser = 65534;  // of all hosts

}  // namespace

namespace {

constexpr std::uint32_t kBillion = 1'000'000'000;

std::optional<Changes::Time> time_of(std::uint32_t which, std::uint32_t moment, std::uint32_t now,
                                     const Moment& wanted) noexcept {
  if ((which & now) != 0) return Changes::Time{.now = true};
  if ((which & moment) != 0) return Changes::Time{.moment = wanted};
  return std::nullopt;
}

}  // namespace

Wanted wanted(const Changes& changes) noexcept {
  Wanted out;
  const auto take = [&](std::uint32_t bit, const auto& from, auto& to) {
    if (from) out.which |= bit, to = *from;
  };
  const auto take_time = [&](std::uint32_t bit, std::uint32_t now, const auto& from, Moment& to) {
    if (from) out.which |= from->now ? now : bit, to = from->moment;
  };
  take(Wanted::kMode, changes.mode, out.mode);
  take(Wanted::kOwner, changes.owner, out.owner);
  take(Wanted::kGroup, changes.group, out.group);
  take(Wanted::kSize, changes.size, out.size);
  take_time(Wanted::kRead, Wanted::kReadNow, changes.read, out.read);
  take_time(Wanted::kWritten, Wanted::kWrittenNow, changes.written, out.written);
  return out;
}

std::optional<Changes> changes(const Wanted& wanted) noexcept {
  if (wanted.which > 2 * Wanted::kWrittenNow - 1 || wanted.read.nanoseconds >= kBillion ||
      wanted.written.nanoseconds >= kBillion)
    return std::nullopt;
  const auto given = [&](std::uint32_t bit, auto value) {
    return (wanted.which & bit) != 0 ? std::optional(value) : std::nullopt;
  };
  return Changes{.mode = given(Wanted::kMode, wanted.mode),
                 .owner = given(Wanted::kOwner, wanted.owner),
                 .group = given(Wanted::kGroup, wanted.group),
                 .size = given(Wanted::kSize, wanted.size),
                 .read = time_of(wanted.which, Wanted::kRead, Wanted::kReadNow, wanted.read),
                 .written = time_of(wanted.which, Wanted::kWritten, Wanted::kWrittenNow, wanted.written)};
}

namespace {

// The server, which looks for itself.
Caller itself() noexcept { return {.user = geteuid(), .group = getegid()}; }

}  // namespace

struct Service::Who {
  Who(const Service& service, std::uint32_t user) {
    if (service.squashes_root_ && user == 0) user = kNobodysUser;
    groups = service.groups_of_(user);
    caller.user = user;
    if (groups.empty()) return;
    caller.group = groups.front();
    caller.groups = groups;
  }
  std::vector<std::uint32_t> groups;
  // Without a group that the host knows, one that nobody has.
  Caller caller{.group = ~std::uint32_t{1}};
};

class Service::Finding {
 public:
  Finding(Service& service, const Handle& file) : service_(service), stripe_(service.stripe_of(file)) {
    const std::lock_guard guard(service.mutex_);
    begun_ = stripe_.begun;
  }
  template <class Put>
  void put(Put put) {
    const std::lock_guard guard(service_.mutex_);
    if (stripe_.begun == begun_ && stripe_.under_way == 0) put(service_.areas_);
  }

 private:
  Service& service_;
  Stripe& stripe_;
  std::uint64_t begun_ = 0;
};

class Service::Changing {
 public:
  Changing(Service& service, std::initializer_list<Handle> files) : service_(service) {
    stripes_.reserve(files.size());
    const std::lock_guard guard(service.mutex_);
    for (const Handle& file : files) {
      Stripe& stripe = service.stripe_of(file);
      ++stripe.begun;
      ++stripe.under_way;
      stripes_.push_back(&stripe);
    }
  }
  // `forget` takes out what the change concerns.
  template <class Forget>
  Changing(Service& service, std::initializer_list<Handle> files, Forget forget) : Changing(service, files) {
    take_out(forget);
  }
  template <class Forget>
  void take_out(Forget forget) {
    const std::lock_guard guard(service_.mutex_);
    forget(service_.areas_);
  }
  ~Changing() {
    const std::lock_guard guard(service_.mutex_);
    for (Stripe* stripe : stripes_) --stripe->under_way;
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  Service& service_;
  std::vector<Stripe*> stripes_;
};

class Service::Naming {
 public:
  Naming(Service& service, const Handle& folder) : Naming(service, folder, folder) {}
  Naming(Service& service, const Handle& one, const Handle& other) {
    const auto [first, second] = std::minmax({one.seal % kStripes, other.seal % kStripes});
    first_ = std::unique_lock(service.naming_[first]);
    if (first != second) second_ = std::unique_lock(service.naming_[second]);
  }

 private:
  std::unique_lock<std::mutex> first_, second_;
};

Service::Service(Store& store, AreaWriter& areas, const Ticket& ticket, GroupsOf groups_of,
                 bool squashes_root)
    : store_(store),
      areas_(areas),
      ticket_(ticket),
      groups_of_(std::move(groups_of)),
      squashes_root_(squashes_root) {}

Service::Stripe& Service::stripe_of(const Handle& file) noexcept { return stripes_[file.seal % kStripes]; }

// --- what is missing

About Service::about() {
  return {
      .root = store_.root(), .user = geteuid(), .squashes_root = squashes_root_ ? 1u : 0u, .areas = ticket_};
}

std::vector<std::uint32_t> Service::groups(std::uint32_t user) { return Who(*this, user).groups; }

void Service::show_attributes(const Handle& file) {
  Finding finding(*this, file);
  const Done<Attributes> now = store_.attributes(file);
  if (now) finding.put([&](AreaWriter& areas) { areas.attributes(file, now.value); });
}

FoundAnswer Service::look_up(std::uint32_t user, const Handle& folder, std::string_view name) {
  const Who who(*this, user);
  Finding finding(*this, folder);
  const Done<Found> done = store_.look_up(who.caller, folder, name);
  if (done || done.fault == Fault::no_entry)
    finding.put([&](AreaWriter& areas) { areas.name(folder, name, done.value.handle); });
  if (done) show_attributes(done.value.handle);
  return {done.fault, done.value};
}

AttributesAnswer Service::attributes(const Handle& file) {
  Finding finding(*this, file);
  const Done<Attributes> done = store_.attributes(file);
  if (done) finding.put([&](AreaWriter& areas) { areas.attributes(file, done.value); });
  return {done.fault, done.value};
}

TextAnswer Service::read_link(const Handle& link) {
  Finding finding(*this, link);
  const Done<std::string> done = store_.read_link(link);
  if (done) finding.put([&](AreaWriter& areas) { areas.link(link, done.value); });
  return {done.fault, done.value};
}

FolderAnswer Service::folder(std::uint32_t user, const Handle& folder, std::uint64_t cookie) {
  const Who who(*this, user);
  FolderAnswer answer;
  Finding finding(*this, folder);
  const Done<bool> done = store_.list(who.caller, folder, cookie,
                                      [&](const Name& each) { return files::append(answer.record, each); });
  answer.fault = done.fault;
  answer.record.last = done.value ? 1 : 0;
  if (done) finding.put([&](AreaWriter& areas) { areas.folder({folder, cookie}, answer.record); });
  return answer;
}

CountAnswer Service::load(std::uint32_t user, const Handle& file, std::uint64_t block) {
  const Who who(*this, user);
  std::vector<std::byte> bytes(kBlock);
  Finding finding(*this, file);
  const Done<std::size_t> done = store_.read(who.caller, file, block * kBlock, bytes);
  if (done)
    finding.put([&](AreaWriter& areas) { areas.data({file, block}, std::span(bytes).first(done.value)); });
  return {done.fault, done.value};
}

BytesAnswer Service::read(std::uint32_t user, const Handle& file, std::uint64_t offset,
                          std::uint32_t length) {
  const Who who(*this, user);
  BytesAnswer answer;
  auto& [fault, bytes] = answer;
  bytes.resize(std::min<std::size_t>(length, kBlock / 2));
  const Done<std::size_t> done = store_.read(who.caller, file, offset, bytes);
  fault = done.fault;
  bytes.resize(done.value);
  return answer;
}

RoomAnswer Service::room() {
  const Done<Room> done = store_.room();
  return {done.fault, done.value};
}

// --- changes

CountAnswer Service::write(std::uint32_t user, const Handle& file, std::uint64_t offset,
                           std::span<const std::byte> data) {
  const Who who(*this, user);
  return put(file, offset, (offset + data.size()) / kBlock,
             [&] { return store_.write(who.caller, file, offset, data); });
}

CountAnswer Service::append(std::uint32_t user, const Handle& file, std::span<const std::byte> data) {
  const Who who(*this, user);
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  return put(file, kEnd, kEnd, [&] { return store_.append(who.caller, file, data); });
}

// A write behind the end lengthens the block where the end was, too.
template <class Act>
CountAnswer Service::put(const Handle& file, std::uint64_t offset, std::uint64_t last, Act act) {
  Changing changing(*this, {file});
  // From here on nothing of the file is put into the areas: what is seen of its end is true of them.
  const Done<Attributes> before = store_.attributes(file);
  if (!before) return {before.fault, 0};
  changing.take_out([&](AreaWriter& areas) {
    areas.forget_attributes(file);
    areas.forget_data(file, std::min(offset, before.value.size) / kBlock, last);
  });
  const Done<std::size_t> done = act();
  return {done.value != 0 ? Fault::none : done.fault, done.value};
}

AttributesAnswer Service::change(std::uint32_t user, const Handle& file, const Wanted& wanted) {
  const std::optional<Changes> all = changes(wanted);
  if (!all) return {Fault::invalid, {}};
  const Who who(*this, user);
  const Changing changing(*this, {file}, [&](AreaWriter& areas) {
    areas.forget_attributes(file);
    if (all->size) areas.forget_data(file, 0, ~std::uint64_t{0});
  });
  const Done<Attributes> done = store_.change(who.caller, file, *all);
  return {done.fault, done.value};
}

template <class Make>
FoundAnswer Service::make(const Handle& folder, std::string_view name, Make make) {
  const Naming naming(*this, folder);
  Done<Found> done;
  {
    const Changing changing(*this, {folder}, [&](AreaWriter& areas) {
      areas.forget_name(folder, name);
      areas.forget_attributes(folder);
      areas.forget_folder(folder);
    });
    done = make();
  }
  return {done.fault, done.value};
}

FoundAnswer Service::create(std::uint32_t user, const Handle& folder, std::string_view name,
                            std::uint32_t mode, bool fresh) {
  const Who who(*this, user);
  return make(folder, name, [&] { return store_.create(who.caller, folder, name, mode, fresh); });
}

FoundAnswer Service::make_directory(std::uint32_t user, const Handle& folder, std::string_view name,
                                    std::uint32_t mode) {
  const Who who(*this, user);
  return make(folder, name, [&] { return store_.make_directory(who.caller, folder, name, mode); });
}

FoundAnswer Service::make_symbolic_link(std::uint32_t user, const Handle& folder, std::string_view name,
                                        std::string_view target) {
  const Who who(*this, user);
  return make(folder, name, [&] { return store_.make_symbolic_link(who.caller, folder, name, target); });
}

AttributesAnswer Service::link(std::uint32_t user, const Handle& file, const Handle& folder,
                               std::string_view name) {
  const Who who(*this, user);
  const Naming naming(*this, folder);
  const Changing changing(*this, {file, folder}, [&](AreaWriter& areas) {
    areas.forget_name(folder, name);
    areas.forget_attributes(folder);
    areas.forget_folder(folder);
    areas.forget_attributes(file);
  });
  const Done<Attributes> done = store_.link(who.caller, file, folder, name);
  return {done.fault, done.value};
}

Fault Service::take_out(std::uint32_t user, const Handle& folder, std::string_view name, bool directory) {
  const Who who(*this, user);
  const Naming naming(*this, folder);
  const Handle file = store_.look_up(itself(), folder, name).value.handle;
  const Changing changing(*this, {file, folder}, [&](AreaWriter& areas) {
    areas.forget_name(folder, name);
    areas.forget_attributes(folder);
    areas.forget_folder(folder);
    areas.forget_attributes(file);
    areas.forget_link(file);
    areas.forget_data(file, 0, ~std::uint64_t{0});
  });
  return directory ? store_.remove_directory(who.caller, folder, name)
                   : store_.remove(who.caller, folder, name);
}

Fault Service::remove(std::uint32_t user, const Handle& folder, std::string_view name) {
  return take_out(user, folder, name, false);
}
Fault Service::remove_directory(std::uint32_t user, const Handle& folder, std::string_view name) {
  return take_out(user, folder, name, true);
}

// The file that is moved, and the one whose place it takes, have other attributes then.
Fault Service::rename(std::uint32_t user, const Handle& from, std::string_view name, const Handle& to,
                      std::string_view new_name, Renaming how) {
  const Who who(*this, user);
  const Naming naming(*this, from, to);
  const Handle moved = store_.look_up(itself(), from, name).value.handle;
  const Handle replaced = store_.look_up(itself(), to, new_name).value.handle;
  const Changing changing(*this, {from, to, moved, replaced}, [&](AreaWriter& areas) {
    areas.forget_name(from, name);
    areas.forget_name(to, new_name);
    for (const Handle& folder : {from, to}) {
      areas.forget_attributes(folder);
      areas.forget_folder(folder);
    }
    for (const Handle& file : {moved, replaced}) areas.forget_attributes(file);
    areas.forget_link(replaced);
    areas.forget_data(replaced, 0, ~std::uint64_t{0});
  });
  return store_.rename(who.caller, from, name, to, new_name, how);
}

Fault Service::sync(const Handle& file) { return store_.sync(file); }

}  // namespace hamlyn::internal_::files
