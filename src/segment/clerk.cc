#include "segment/clerk.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/socket.h"
#include "hamlyn/core/interface.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/notification_queue.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "library/wait/descriptor_wait.h"
#include "segment/clerk_wire.h"
#include "segment/probe.h"
#include "segment/read_places.h"

namespace hamlyn::internal_::segment {
namespace {

using library::Clock;

constexpr std::size_t kPlaces = ReadPlaces::kPlaces;
constexpr std::chrono::microseconds kAwake{
    200};  // for the answer of a read, before anything else is waited for
constexpr std::chrono::milliseconds kRefresh{1000};
constexpr std::chrono::seconds kWatched{60};  // after the last read, a registry is looked at for changes

// The registry's memory, which the daemon writes, shown to others.
class Table {
 public:
  Table(Interface& interface, NotificationQueue& queue, const base::FileDescriptor& memory,
        const RegistryShape& shape)
      : bytes_(registry_bytes(shape.buckets)), mapping_(map(memory, bytes_)) {
    area_ = std::make_unique<MessageArea>(interface, mapping_);
    slot_ = std::make_unique<Slot>(*area_, queue,
                                   Slot::Options{.bound = bytes_,
                                                 .access = Access::read_only,
                                                 .fast = false,
                                                 .gets = static_cast<std::uint32_t>(kBucketBytes)});
  }
  ~Table() {
    slot_.reset();
    area_.reset();
    ::munmap(mapping_.data(), mapping_.size());
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  Ticket ticket() const { return slot_->ticket(); }

 private:
  static std::span<std::byte> map(const base::FileDescriptor& memory, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t whole = (bytes + page - 1) / page * page;
    void* const at = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
    if (at == MAP_FAILED) throw Error(ErrorCode::out_of_memory, "the registry cannot be mapped");
    return {static_cast<std::byte*>(at), whole};
  }

  std::size_t bytes_;
  std::span<std::byte> mapping_;
  std::unique_ptr<MessageArea> area_;
  std::unique_ptr<Slot> slot_;
};

// A clerk ends: with its daemon, as it should; or it cannot go on.
struct Over {
  bool as_it_should;
};

class Clerk {
 public:
  Clerk(base::FileDescriptor daemon, const std::string& node)
      : daemon_(std::move(daemon)), interface_({.node = node, .start_node = false}) {}

  [[noreturn]] void run() {
    for (;;) {
      wait();
      while (take_order()) {
      }
      take_answers();
      give_up_late();
      if (Clock::now() >= next_refresh_) refresh();
    }
  }

 private:
  struct Read {
    ClerkMessage order;
    std::optional<Probe> probe;  // none: it is of a header
    std::uint64_t epoch = 0;     // of what is watched, when it was asked for
  };
  struct Watched {  // a registry that names were read in
    node::FarRegistry registry;
    std::optional<std::uint64_t> changes;  // when it was looked at last
    bool looking = false;
    Clock::time_point read{};
    std::uint64_t epoch = 0;  // another whenever the daemon is told that names have changed
  };

  void wait() {
    const auto late = places_.deadline();
    if (late) {
      Notification answer;
      if (queue_.receive(answer, kAwake) == Status::ok) return take_answer(answer);
    }
    const auto until = std::min(late.value_or(next_refresh_), next_refresh_);
    const bool idle = watched_.empty() && !late;
    std::array<pollfd, 2> waits{{{daemon_.get(), POLLIN, 0}, {queue_.descriptor(), POLLIN, 0}}};
    if (!library::wait_for_descriptors(waits, idle ? std::nullopt : library::Deadline{until}))
      throw Over{false};
  }

  // False: there was none.
  bool take_order() {
    ClerkMessage order;
    auto got =
        base::receive_message(daemon_.get(), std::as_writable_bytes(std::span{&order, 1}), MSG_DONTWAIT);
    if (got.state == base::SocketState::again) return false;
    // Whatever is said otherwise, the daemon has gone, and its clerk goes with it.
    if (got.state != base::SocketState::ok || got.bytes != sizeof order) throw Over{true};
    switch (order.kind) {
      case ClerkKind::begin:
        key_ = order.key;
        break;
      case ClerkKind::table:
        show(order, got.fds[0]);
        break;
      case ClerkKind::read:
        read(order);
        break;
      default:
        throw Over{false};
    }
    return true;
  }

  void say(ClerkMessage message) {
    for (;;) {
      const auto said =
          base::send_message(daemon_.get(), std::as_bytes(std::span{&message, 1}), {}, MSG_DONTWAIT);
      if (said == base::SocketState::ok) return;
      pollfd room{daemon_.get(), POLLOUT, 0};
      if (said != base::SocketState::again || !library::wait_for_descriptors({&room, 1}, std::nullopt))
        throw Over{true};
    }
  }
  void say(ClerkKind kind, const ClerkMessage& order) {
    ClerkMessage out;
    out.kind = kind;
    out.serial = order.serial;
    out.node = order.node;
    say(out);
  }

  void show(const ClerkMessage& order, const base::FileDescriptor& memory) {
    if (order.buckets == 0) return table_.reset();
    auto table =
        std::make_unique<Table>(interface_, queue_, memory, RegistryShape{order.table, order.buckets});
    ClerkMessage out;
    out.kind = ClerkKind::ready;
    out.table = order.table;
    out.registry = table->ticket();
    table_ = std::move(table);
    say(out);
  }

  // Reading.

  void read(const ClerkMessage& order) {
    Watched& watched = watched_[order.node];
    watched.read = Clock::now();
    const node::FarRegistry registry = registry_in(order);
    if (watched.registry.generation != registry.generation || watched.registry.ticket != registry.ticket) {
      // Nobody hears any more of a change to what was read in the registry before this one.
      if (watched.changes) say_changed(order.node);
      watched = {registry, {}, false, Clock::now(), ++epochs_};
    }
    if (!watched.changes) {
      // A record that is read before the first look at the registry's changes could be stale for ever.
      if (!watched.looking) look_at_header(order.node, watched);
      return say(ClerkKind::unknown, order);
    }
    const auto place = places_.take(order.node, Clock::now());
    if (!place) return say(ClerkKind::unknown, order);
    reads_[*place].order = order;
    reads_[*place].epoch = watched.epoch;
    reads_[*place].probe.emplace(key_, RegistryShape{order.table, order.buckets}, name_in(order),
                                 order.reads);
    if (const auto trouble = get(*place)) say(*trouble, order);
  }

  // Asks for the bucket; returns what to say if it could not be asked for.
  std::optional<ClerkKind> get(std::size_t place) {
    Read& read = reads_[place];
    const std::size_t from = read.probe ? bucket_offset(read.probe->bucket()) : 0;
    const std::size_t bytes = read.probe ? kBucketBytes : kRegistryHeader;
    const Status status = terminus_.get(read.order.registry, landing_slot_, place * kBucketBytes, bytes,
                                        {.offset = from, .queue = &queue_, .word = place});
    if (status == Status::pending) return std::nullopt;
    end(place);
    const bool later =
        status == Status::connecting || status == Status::queue_full || status == Status::no_place;
    return later ? ClerkKind::unknown : ClerkKind::lost;
  }

  void end(std::size_t place) {
    places_.give(place);
    reads_[place].probe.reset();
  }

  void take_answers() {
    while (const auto answer = queue_.poll()) take_answer(*answer);
  }

  void take_answer(const Notification& answer) {
    const bool done = answer.kind == Notification::Kind::remote_done;
    if ((!done && answer.kind != Notification::Kind::remote_failed) || answer.word >= kPlaces) return;
    const auto place = static_cast<std::size_t>(answer.word);
    if (!places_.taken(place)) return;
    if (places_.late(place)) return end(place);  // it was given up
    Read& read = reads_[place];
    const ClerkMessage order = read.order;
    if (!read.probe) {
      const auto changes = done ? changes_in(order, place) : std::nullopt;
      end(place);
      return take_changes(order, changes);
    }
    if (!done) {
      end(place);
      return say(ClerkKind::lost, order);
    }
    const Probe::Says says =
        read.probe->take(std::span<const std::byte, kBucketBytes>{landed(place, kBucketBytes)});
    if (says == Probe::Says::more) {
      if (const auto trouble = get(place)) say(*trouble, order);
      return;
    }
    // A change was seen meanwhile: what comes behind that word may be older than it.
    const auto watched = watched_.find(order.node);
    const bool overtaken = watched == watched_.end() || watched->second.epoch != read.epoch;
    ClerkMessage out;
    out.serial = order.serial;
    out.node = order.node;
    out.reads = read.probe->reads();
    out.kind = says == Probe::Says::wrong    ? ClerkKind::lost
               : overtaken                   ? ClerkKind::unknown
               : says == Probe::Says::found  ? ClerkKind::found
               : says == Probe::Says::absent ? ClerkKind::absent
                                             : ClerkKind::unknown;
    if (out.kind == ClerkKind::found) {
      put_name(out, name_in(order));
      put_what(out, read.probe->record());
    }
    end(place);
    say(out);
  }

  // The daemon asks instead, and what was read there may have changed.
  void give_up_late() {
    while (const auto place = places_.find_late(Clock::now())) {
      const ClerkMessage order = reads_[*place].order;
      if (reads_[*place].probe) say(ClerkKind::unknown, order);
      take_changes(order, std::nullopt);
    }
  }

  std::span<std::byte> landed(std::size_t place, std::size_t bytes) {
    return landing_.bytes(place * kBucketBytes, bytes);
  }

  // Changes of the tables.

  void look_at_header(std::uint32_t node, Watched& watched) {
    const auto place = places_.take(node, Clock::now());
    if (!place) return;
    Read& read = reads_[*place];
    read.order = {};
    read.order.node = node;
    put_registry(read.order, watched.registry);
    watched.looking = !get(*place);
  }

  std::optional<std::uint64_t> changes_in(const ClerkMessage& order, std::size_t place) {
    const std::span<const std::byte, kRegistryHeader> header{landed(place, kRegistryHeader)};
    std::uint64_t changes = 0;
    const bool whole = read_changes(header, {order.table, order.buckets}, changes);
    return whole ? std::optional{changes} : std::nullopt;
  }

  // Nothing: it could not be looked at.
  void take_changes(const ClerkMessage& order, std::optional<std::uint64_t> changes) {
    const auto found = watched_.find(order.node);
    if (found == watched_.end() || found->second.registry.generation != order.table) return;
    Watched& watched = found->second;
    watched.looking = false;
    if (changes && watched.changes == changes) return;
    const bool first = !watched.changes;
    watched.changes = changes;
    if (!first) watched.epoch = ++epochs_;
    if (!changes) watched_.erase(found);
    if (!changes || !first) say_changed(order.node);
  }

  void say_changed(std::uint32_t node) {
    ClerkMessage out;
    out.kind = ClerkKind::changed;
    out.node = node;
    say(out);
  }

  void refresh() {
    const auto now = Clock::now();
    next_refresh_ = now + kRefresh;
    for (auto at = watched_.begin(); at != watched_.end();) {
      auto& [node, watched] = *at;
      if (!watched.looking && now - watched.read < kWatched) look_at_header(node, watched);
      if (now - watched.read < kWatched) {
        ++at;
        continue;
      }
      // Nobody looks any more: what is still used is read again, and so looked at again.
      const std::uint32_t gone = node;
      at = watched_.erase(at);
      say_changed(gone);
    }
  }

  base::FileDescriptor daemon_;
  RegistryKey key_{};
  Interface interface_;
  NotificationQueue queue_{interface_, 256};
  MessageArea landing_{interface_, kPlaces* kBucketBytes};
  Slot landing_slot_{landing_, queue_, {.fast = false, .places = 0}};
  Terminus terminus_{interface_};
  std::unique_ptr<Table> table_;
  ReadPlaces places_;
  std::array<Read, kPlaces> reads_;
  std::map<std::uint32_t, Watched> watched_;  // by node
  std::uint64_t epochs_ = 0;
  Clock::time_point next_refresh_ = Clock::now() + kRefresh;
};

template <class AtEnd>
void serve(base::FileDescriptor daemon, const std::string& node, AtEnd at_end) {
  Clerk clerk{std::move(daemon), node};
  try {
    clerk.run();
  } catch (const Over& over) {
    at_end(over.as_it_should);
  }
}

}  // namespace

void serve_as_clerk(base::FileDescriptor daemon, const std::string& node) {
  serve(std::move(daemon), node, [](bool) {});
}

void run_clerk(base::FileDescriptor daemon, const std::string& node) {
  ::prctl(PR_SET_NAME, "hamlyn-clerk");  // as `hamlyn node` shows it
  try {
    // Ends at once: nobody needs its memory in good order.
    serve(std::move(daemon), node, [](bool as_it_should) { ::_exit(as_it_should ? 0 : 1); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hamlynd: the clerk of names ends: %s\n", error.what());
  }
  ::_exit(1);
}

}  // namespace hamlyn::internal_::segment
