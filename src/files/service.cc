#include "files/service.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/byte_order.h"
#include "base/siphash.h"

namespace hamlyn::internal_::files {
namespace {

constexpr Caller kNobody{};  // whoever asks for no rights: the server itself

// Behind `used` bytes of entries, if it fits.
bool append(FolderRecord& record, const Name& name) noexcept {
  constexpr std::size_t kHead = 24;
  const std::size_t bytes = (kHead + name.text.size() + 7) / 8 * 8;
  if (record.used + bytes > record.entries.size()) return false;
  std::byte* const at = record.entries.data() + record.used;
  base::store_little(at, name.inode);
  base::store_little(at + 8, name.cookie);
  base::store_little(at + 16, static_cast<std::uint32_t>(name.kind));
  base::store_little(at + 20, static_cast<std::uint32_t>(name.text.size()));
  std::memcpy(at + kHead, name.text.data(), name.text.size());
  record.used += static_cast<std::uint32_t>(bytes);
  return true;
}

}  // namespace

struct Service::Who {
  Who(const GroupsOf& groups_of, std::uint32_t user) : groups(groups_of(user)) {
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
  // `forget` takes out what the change concerns.
  template <class Forget>
  Changing(Service& service, std::initializer_list<Handle> files, Forget forget) : service_(service) {
    const std::lock_guard guard(service.mutex_);
    for (const Handle& file : files) {
      Stripe& stripe = service.stripe_of(file);
      ++stripe.begun;
      ++stripe.under_way;
      stripes_.push_back(&stripe);
    }
    forget(service.areas_);
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

Service::Service(Store& store, AreaWriter& areas, GroupsOf groups_of)
    : store_(store), areas_(areas), groups_of_(std::move(groups_of)) {}

Service::Stripe& Service::stripe_of(const Handle& file) noexcept { return stripes_[file.seal % kStripes]; }

// --- what is missing

Handle Service::root() { return store_.root(); }

void Service::show_attributes(const Handle& file) {
  Finding finding(*this, file);
  const Done<Attributes> now = store_.attributes(file);
  if (now) finding.put([&](AreaWriter& areas) { areas.attributes(file, now.value); });
}

FoundAnswer Service::look_up(std::uint32_t user, const Handle& folder, std::string_view name) {
  const Who who(groups_of_, user);
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
  const Who who(groups_of_, user);
  FolderAnswer answer;
  Finding finding(*this, folder);
  const Done<bool> done =
      store_.list(who.caller, folder, cookie, [&](const Name& each) { return append(answer.record, each); });
  answer.fault = done.fault;
  answer.record.last = done.value ? 1 : 0;
  if (done) finding.put([&](AreaWriter& areas) { areas.folder({folder, cookie}, answer.record); });
  return answer;
}

CountAnswer Service::load(std::uint32_t user, const Handle& file, std::uint64_t block) {
  const Who who(groups_of_, user);
  std::vector<std::byte> bytes(kBlock);
  Finding finding(*this, file);
  const Done<std::size_t> done = store_.read(who.caller, file, block * kBlock, bytes);
  if (done)
    finding.put([&](AreaWriter& areas) { areas.data({file, block}, std::span(bytes).first(done.value)); });
  return {done.fault, done.value};
}

BytesAnswer Service::read(std::uint32_t user, const Handle& file, std::uint64_t offset,
                          std::uint32_t length) {
  const Who who(groups_of_, user);
  BytesAnswer answer;
  answer.bytes.resize(std::min<std::size_t>(length, kBlock / 2));
  const Done<std::size_t> done = store_.read(who.caller, file, offset, answer.bytes);
  answer.fault = done.fault;
  answer.bytes.resize(done.value);
  return answer;
}

RoomAnswer Service::room() {
  const Done<Room> done = store_.room();
  return {done.fault, done.value};
}

// --- changes

CountAnswer Service::write(std::uint32_t user, const Handle& file, std::uint64_t offset,
                           std::span<const std::byte> data) {
  const Who who(groups_of_, user);
  const Done<Attributes> before = store_.attributes(file);
  if (!before) return {before.fault, 0};
  // A write behind the end lengthens the block where the end was, too.
  const std::uint64_t first = std::min(offset, before.value.size) / kBlock;
  const Changing changing(*this, {file}, [&](AreaWriter& areas) {
    areas.forget_attributes(file);
    areas.forget_data(file, first, (offset + data.size()) / kBlock);
  });
  const Done<std::size_t> done = store_.write(who.caller, file, offset, data);
  return {done.value != 0 ? Fault::none : done.fault, done.value};
}

AttributesAnswer Service::change(std::uint32_t user, const Handle& file, const Changes& changes) {
  const Who who(groups_of_, user);
  const Changing changing(*this, {file}, [&](AreaWriter& areas) {
    areas.forget_attributes(file);
    if (changes.size) areas.forget_data(file, 0, ~std::uint64_t{0});
  });
  const Done<Attributes> done = store_.change(who.caller, file, changes);
  return {done.fault, done.value};
}

template <class Make>
FoundAnswer Service::make(const Handle& folder, std::string_view name, Make make) {
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
  const Who who(groups_of_, user);
  return make(folder, name, [&] { return store_.create(who.caller, folder, name, mode, fresh); });
}

FoundAnswer Service::make_directory(std::uint32_t user, const Handle& folder, std::string_view name,
                                    std::uint32_t mode) {
  const Who who(groups_of_, user);
  return make(folder, name, [&] { return store_.make_directory(who.caller, folder, name, mode); });
}

FoundAnswer Service::make_symbolic_link(std::uint32_t user, const Handle& folder, std::string_view name,
                                        std::string_view target) {
  const Who who(groups_of_, user);
  return make(folder, name, [&] { return store_.make_symbolic_link(who.caller, folder, name, target); });
}

AttributesAnswer Service::link(std::uint32_t user, const Handle& file, const Handle& folder,
                               std::string_view name) {
  const Who who(groups_of_, user);
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
  const Who who(groups_of_, user);
  const Handle file = store_.look_up(kNobody, folder, name).value.handle;
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

// Whoever is moved, and whoever it takes the place of, have other attributes then.
Fault Service::rename(std::uint32_t user, const Handle& from, std::string_view name, const Handle& to,
                      std::string_view new_name, Renaming how) {
  const Who who(groups_of_, user);
  const Handle moved = store_.look_up(kNobody, from, name).value.handle;
  const Handle replaced = store_.look_up(kNobody, to, new_name).value.handle;
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
