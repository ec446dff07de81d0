#include "files/clerk.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "files/area_reader.h"
#include "files/service.h"
#include "hamlyn/rpc.h"
#include "hamlyn/segment/segment.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::files {
namespace {

using library::Clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::chrono::seconds kGroupsLast{10};  // until they are asked for again
constexpr std::size_t kMostUsers = 1024;         // whose groups are remembered
constexpr std::size_t kPiece = 32768;            // bytes of data in one call
constexpr nanoseconds kRest = milliseconds(20);  // between looks for a server
constexpr std::uint32_t kNobodysUser = 65534;
constexpr std::uint32_t kNobodysGroup = ~std::uint32_t{1};  // that nobody has

nanoseconds left(library::Deadline deadline) {
  return deadline ? std::max<nanoseconds>(*deadline - Clock::now(), nanoseconds{0}) : nanoseconds::max();
}

// The door of a service, if that is of this user or of the superuser: anybody may register a free name.
Ticket door_of(Interface& interface, std::string_view name, milliseconds timeout) {
  Registrant who;
  const Ticket door = interface.lookup(name, timeout, &who);
  if (who.uid != 0 && who.uid != geteuid())
    throw Error(ErrorCode::not_permitted, "the service \"" + std::string(name) + "\" is that of user " +
                                              std::to_string(who.uid) + ": its clerk must be of that user");
  return door;
}

// Whether it will be so the next time, too.
bool lasts(ErrorCode code) {
  constexpr std::array kLast = {ErrorCode::not_permitted, ErrorCode::version_mismatch,
                                ErrorCode::name_invalid,  ErrorCode::invalid_argument,
                                ErrorCode::cancelled,     ErrorCode::forked,
                                ErrorCode::out_of_memory};
  return std::ranges::find(kLast, code) != kLast.end();
}

// A server that lets nobody of this host ask says why.
About ask_about(hamlyn::rpc::Client<Service>& client, const std::string& name, milliseconds timeout) {
  const std::string who = "the service \"" + name + "\"";
  if (const Status opened = client.opened(timeout); opened != Status::ok)
    throw Error(opened == Status::timed_out ? ErrorCode::timed_out : ErrorCode::peer_died,
                who + " does not let its clerk in: " + hamlyn::name(opened));
  auto about = client.within(timeout).call<&Service::about>();
  if (about) return *about;
  if (about.status() == Status::refused)
    throw Error(ErrorCode::not_permitted, who + " refuses this host: " + std::string(about.text()));
  throw Error(about.status() == Status::timed_out ? ErrorCode::timed_out : ErrorCode::peer_died,
              who + " does not answer: " + hamlyn::name(about.status()));
}

milliseconds rounded(nanoseconds time) {
  return std::chrono::ceil<milliseconds>(std::min<nanoseconds>(time, std::chrono::hours(24)));
}

}  // namespace

struct Clerk::Session {
  Session(Interface& interface, const std::string& name, milliseconds timeout)
      : client(interface, door_of(interface, name, timeout), {.timeout = timeout}, kBegin),
        about(ask_about(client, name, timeout)),
        import(interface, about.areas, {.access = Access::read_only, .timeout = timeout}),
        areas(import, timeout) {}

  hamlyn::rpc::Client<Service> client;
  const About about;
  Import import;
  AreaReader areas;
};

Clerk::Clerk(Interface& interface, std::string_view name, const Options& options)
    : interface_(interface),
      name_(name),
      options_(options),
      session_(open_session(library::deadline_in(options.timeout))) {
  about_ = session_->about;
}

Clerk::~Clerk() = default;

Clerk::Counts Clerk::counts() const noexcept {
  return {found_.load(std::memory_order_relaxed), asked_.load(std::memory_order_relaxed)};
}

Handle Clerk::root() const {
  const std::lock_guard guard(mutex_);
  return about_.root;
}

// --- the server

// One thread opens a session, and the others wait for that.
Clerk::Look Clerk::session(library::Deadline deadline) {
  const auto settled = [this] {
    const std::lock_guard guard(mutex_);
    return session_ != nullptr || !opening_;
  };
  for (;;) {
    {
      const std::lock_guard guard(mutex_);
      if (session_ != nullptr) return session_;
      if (!std::exchange(opening_, true)) break;
    }
    if (interface_.wait_any(settled, left(deadline)) != Status::ok) return nullptr;
  }
  Look made;
  try {
    made = open_session(deadline);
  } catch (const std::exception&) {  // there is none in time, or no memory for it
  }
  const std::lock_guard guard(mutex_);
  session_ = made;
  if (made != nullptr) about_ = made->about;
  opening_ = false;
  interface_.changed();
  return made;
}

// A server that comes, or goes, may be seen half: then it is looked for again.
Clerk::Look Clerk::open_session(library::Deadline deadline) {
  for (;;) {
    try {
      return std::make_shared<Session>(interface_, name_, rounded(left(deadline)));
    } catch (const Error& error) {
      if (lasts(error.code()) || left(deadline) == nanoseconds{0}) throw;
      static_cast<void>(interface_.wait_any([] { return false; }, std::min(left(deadline), kRest)));
    }
  }
}

void Clerk::give_up(const Look& session) {
  const std::lock_guard guard(mutex_);
  if (session_ == session) session_ = nullptr;
}

template <auto kFunction, class Answer, class... Arguments>
Done<Answer> Clerk::ask(Again again, const Arguments&... arguments) {
  const library::Deadline deadline = library::deadline_in(options_.time);
  asked_.fetch_add(1, std::memory_order_relaxed);
  for (;;) {
    const Look now = session(deadline);
    if (now == nullptr) return {Fault::no_server, {}};
    auto result = now->client.within(left(deadline)).template call<kFunction>(arguments...);
    if (result) return {Fault::none, std::move(*result)};
    if (result.status() == Status::no_buffer) return {Fault::out_of_memory, {}};
    if (result.fate() == hamlyn::rpc::Fate::done) return {Fault::io, {}};
    if (result.status() == Status::refused || result.status() == Status::too_long) return {Fault::io, {}};
    if (result.fate() == hamlyn::rpc::Fate::unknown && again == Again::no) return {Fault::unknown, {}};
    if (left(deadline) == nanoseconds{0}) return {Fault::no_server, {}};
    give_up(now);
  }
}

template <auto kFunction, class Answer, class Value, class... Arguments>
Done<Value> Clerk::ask_for(Again again, Value Answer::*member, const Arguments&... arguments) {
  Done<Answer> answer = ask<kFunction, Answer>(again, arguments...);
  if (!answer) return {answer.fault, {}};
  return {answer.value.fault, std::move(answer.value.*member)};
}

template <auto kFunction, class... Arguments>
Fault Clerk::ask_to(Again again, const Arguments&... arguments) {
  const Done<Fault> answer = ask<kFunction, Fault>(again, arguments...);
  return answer ? answer.value : answer.fault;
}

// Looks that fail for another reason than that nothing is there find a server that has gone.
template <class Read>
bool Clerk::find(Read read) {
  Look now;
  {
    const std::lock_guard guard(mutex_);
    now = session_;
  }
  if (now == nullptr) return false;
  const Status status = read(now->areas, nanoseconds(options_.time));
  if (status == Status::ok) found_.fetch_add(1, std::memory_order_relaxed);
  if (status != Status::ok && status != Status::not_ready) give_up(now);
  return status == Status::ok;
}

// --- rights

Done<std::vector<std::uint32_t>> Clerk::groups_of(std::uint32_t user) {
  const Clock::time_point now = Clock::now();
  {
    const std::lock_guard guard(mutex_);
    const auto known = groups_.find(user);
    if (known != groups_.end() && now < known->second.until) return {Fault::none, known->second.all};
  }
  Done<std::vector<std::uint32_t>> all = ask<&Service::groups, std::vector<std::uint32_t>>(Again::yes, user);
  if (!all) return all;
  const std::lock_guard guard(mutex_);
  if (groups_.size() >= kMostUsers) groups_.clear();
  groups_[user] = {all.value, now + kGroupsLast};
  return all;
}

bool Clerk::squashes_root() const {
  const std::lock_guard guard(mutex_);
  return about_.squashes_root != 0;
}

Fault Clerk::judge_caller(const Caller& caller, const Handle& file, Kind kind, Right right, bool& by_server) {
  by_server = false;
  const Done<Attributes> known = attributes(file);
  if (!known) return known.fault;
  const Kind is = known.value.kind;
  if (kind == Kind::directory && is != Kind::directory) return Fault::not_a_directory;
  if (kind == Kind::file && is == Kind::directory) return Fault::is_a_directory;
  if (kind == Kind::file && is != Kind::file) return Fault::invalid;
  by_server = known.value.listed != 0;
  if (by_server) return Fault::none;
  Caller judged{.user = caller.user == 0 && squashes_root() ? kNobodysUser : caller.user};
  // The owner reads and writes what it has open, whatever the mode says.
  if (kind == Kind::file && judged.user == known.value.owner) return Fault::none;
  const Done<std::vector<std::uint32_t>> groups = groups_of(judged.user);
  if (!groups) return groups.fault;
  judged.group = groups.value.empty() ? kNobodysGroup : groups.value.front();
  judged.groups = groups.value;
  return may(judged, known.value, right) ? Fault::none : Fault::access_denied;
}

// --- what is there

Done<Attributes> Clerk::attributes(const Handle& file) {
  Attributes out;
  if (find([&](AreaReader& areas, nanoseconds time) { return areas.attributes(file, out, time); }))
    return {Fault::none, out};
  return ask_for<&Service::attributes>(Again::yes, &AttributesAnswer::attributes, file);
}

Done<Found> Clerk::look_up(const Caller& caller, const Handle& folder, std::string_view name) {
  if (const Fault fault = judge(name); fault != Fault::none) return {fault, {}};
  bool by_server = false;
  const Fault fault = judge_caller(caller, folder, Kind::directory, Right::search, by_server);
  if (fault != Fault::none) return {fault, {}};
  Handle file;
  if (!by_server &&
      find([&](AreaReader& areas, nanoseconds time) { return areas.look_up(folder, name, file, time); })) {
    if (file.length == 0) return {Fault::no_entry, {}};
    const Done<Attributes> known = attributes(file);
    if (known.fault != Fault::stale) return {known.fault, {file, known.value}};
  }
  return ask_for<&Service::look_up>(Again::yes, &FoundAnswer::found, caller.user, folder, name);
}

Done<std::string> Clerk::read_link(const Handle& link) {
  std::string out;
  if (find([&](AreaReader& areas, nanoseconds time) { return areas.link(link, out, time); }))
    return {Fault::none, std::move(out)};
  Done<TextAnswer> answer = ask<&Service::read_link, TextAnswer>(Again::yes, link);
  if (!answer) return {answer.fault, {}};
  return {answer.value.first, std::move(answer.value.second)};
}

Done<FolderRecord> Clerk::record_of(const Caller& caller, const FolderKey& key, bool by_server) {
  FolderRecord record;
  if (!by_server &&
      find([&](AreaReader& areas, nanoseconds time) { return areas.folder(key, record, time); }))
    return {Fault::none, record};
  return ask_for<&Service::folder>(Again::yes, &FolderAnswer::record, caller.user, key.folder, key.cookie);
}

Done<bool> Clerk::list(const Caller& caller, const Handle& folder, std::uint64_t cookie,
                       const std::function<bool(const Name&)>& each) {
  bool by_server = false;
  const Fault fault = judge_caller(caller, folder, Kind::directory, Right::read, by_server);
  if (fault != Fault::none) return {fault, {}};
  for (;;) {
    const Done<FolderRecord> record = record_of(caller, {folder, cookie}, by_server);
    if (!record) return {record.fault, {}};
    std::size_t at = 0;
    Name name;
    const std::uint64_t before = cookie;
    while (take(record.value, at, name)) {
      if (!each(name)) return {Fault::none, false};
      cookie = name.cookie;
    }
    if (record.value.last != 0) return {Fault::none, true};
    if (cookie == before) return {Fault::io, {}};  // a record without an entry that is not the last
  }
}

Done<std::size_t> Clerk::read_block(const Caller& caller, const DataKey& key, std::size_t offset,
                                    std::span<std::byte> into, bool by_server) {
  std::size_t done = 0;
  const auto look = [&](AreaReader& areas, nanoseconds time) {
    return areas.data(key, offset, into, done, time);
  };
  if (!by_server) {
    if (find(look)) return {Fault::none, done};
    const Done<std::uint64_t> loaded =
        ask_for<&Service::load>(Again::yes, &CountAnswer::count, caller.user, key.file, key.block);
    if (!loaded || loaded.value <= offset) return {loaded.fault, 0};
    if (find(look)) return {Fault::none, done};
  }
  // Pushed out again, or judged by the server alone.
  for (done = 0; done != into.size();) {
    const std::uint64_t from = key.block * kBlock + offset + done;
    const auto length = static_cast<std::uint32_t>(std::min(into.size() - done, kPiece));
    const Done<BytesAnswer> answer =
        ask<&Service::read, BytesAnswer>(Again::yes, caller.user, key.file, from, length);
    if (!answer) return {answer.fault, done};
    const auto& [fault, bytes] = answer.value;
    if (fault != Fault::none || bytes.size() > length) return {fault, done};
    std::ranges::copy(bytes, into.begin() + static_cast<std::ptrdiff_t>(done));
    done += bytes.size();
    if (bytes.size() < length) break;
  }
  return {Fault::none, done};
}

Done<std::size_t> Clerk::read(const Caller& caller, const Handle& file, std::uint64_t offset,
                              std::span<std::byte> into) {
  bool by_server = false;
  const Fault fault = judge_caller(caller, file, Kind::file, Right::read, by_server);
  if (fault != Fault::none) return {fault, 0};
  std::size_t done = 0;
  while (done != into.size()) {
    const std::uint64_t at = offset + done;
    const std::size_t within = at % kBlock;
    const std::size_t wanted = std::min(into.size() - done, kBlock - within);
    const Done<std::size_t> got =
        read_block(caller, {file, at / kBlock}, within, into.subspan(done, wanted), by_server);
    done += got.value;
    if (!got) return {got.fault, done};  // fewer bytes than asked for are the file's end
    if (got.value != wanted) break;
  }
  return {Fault::none, done};
}

// --- changes

Done<std::size_t> Clerk::write(const Caller& caller, const Handle& file, std::uint64_t offset,
                               std::span<const std::byte> data) {
  std::size_t done = 0;
  do {
    const auto piece = data.subspan(done, std::min(data.size() - done, kPiece));
    const Done<std::uint64_t> count =
        ask_for<&Service::write>(Again::no, &CountAnswer::count, caller.user, file, offset + done, piece);
    if (!count || count.value > piece.size()) return {done != 0 ? Fault::none : count.fault, done};
    done += count.value;
    if (count.value != piece.size()) break;
  } while (done != data.size());
  return {Fault::none, done};
}

// One piece is appended whole; of a longer one a part, as POSIX lets a write do.
Done<std::size_t> Clerk::append(const Caller& caller, const Handle& file, std::span<const std::byte> data) {
  const auto piece = data.first(std::min(data.size(), kPiece));
  const Done<std::uint64_t> count =
      ask_for<&Service::append>(Again::no, &CountAnswer::count, caller.user, file, piece);
  return {count.fault, std::min<std::size_t>(count.value, piece.size())};
}

Done<Attributes> Clerk::change(const Caller& caller, const Handle& file, const Changes& changes) {
  return ask_for<&Service::change>(Again::no, &AttributesAnswer::attributes, caller.user, file,
                                   wanted(changes));
}

Done<Found> Clerk::create(const Caller& caller, const Handle& folder, std::string_view name,
                          std::uint32_t mode, bool fresh) {
  return ask_for<&Service::create>(Again::no, &FoundAnswer::found, caller.user, folder, name, mode, fresh);
}

Done<Found> Clerk::make_directory(const Caller& caller, const Handle& folder, std::string_view name,
                                  std::uint32_t mode) {
  return ask_for<&Service::make_directory>(Again::no, &FoundAnswer::found, caller.user, folder, name, mode);
}

Done<Found> Clerk::make_symbolic_link(const Caller& caller, const Handle& folder, std::string_view name,
                                      std::string_view target) {
  return ask_for<&Service::make_symbolic_link>(Again::no, &FoundAnswer::found, caller.user, folder, name,
                                               target);
}

Done<Attributes> Clerk::link(const Caller& caller, const Handle& file, const Handle& folder,
                             std::string_view name) {
  return ask_for<&Service::link>(Again::no, &AttributesAnswer::attributes, caller.user, file, folder, name);
}

Fault Clerk::remove(const Caller& caller, const Handle& folder, std::string_view name) {
  return ask_to<&Service::remove>(Again::no, caller.user, folder, name);
}

Fault Clerk::remove_directory(const Caller& caller, const Handle& folder, std::string_view name) {
  return ask_to<&Service::remove_directory>(Again::no, caller.user, folder, name);
}

Fault Clerk::rename(const Caller& caller, const Handle& from, std::string_view name, const Handle& to,
                    std::string_view new_name, Renaming how) {
  return ask_to<&Service::rename>(Again::no, caller.user, from, name, to, new_name, how);
}

Fault Clerk::sync(const Handle& file) { return ask_to<&Service::sync>(Again::yes, file); }

Done<Room> Clerk::room() { return ask_for<&Service::room>(Again::yes, &RoomAnswer::room); }

}  // namespace hamlyn::internal_::files
