#include "segment/clerk.h"

#include <poll.h>
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
#include "hamlyn/interface.h"
#include "hamlyn/message_area.h"
#include "hamlyn/notification_queue.h"
#include "hamlyn/slot.h"
#include "hamlyn/terminus.h"
#include "segment/clerk_wire.h"
#include "segment/probe.h"

namespace hamlyn::segment {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPlaces = 48;  // reads under way; a terminus has 63 entries
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

class Clerk {
 public:
  Clerk(base::FileDescriptor daemon, const std::string& node)
      : daemon_(std::move(daemon)), interface_({.node = node, .start_node = false}) {}

  void run() {
    for (;;) {
      wait();
      while (take_order()) {
      }
      take_answers();
      if (Clock::now() >= next_refresh_) refresh();
    }
  }

 private:
  struct Read {
    bool busy = false;
    ClerkMessage order;
    std::optional<Probe> probe;  // none: it is of a header
  };
  struct Watched {  // a registry that names were read in
    node::FarRegistry registry;
    std::optional<std::uint64_t> changes;  // when it was looked at last
    bool looking = false;
    Clock::time_point read{};
  };

  void wait() {
    if (under_way_ != 0) {
      Notification answer;
      if (queue_.receive(answer, kAwake) == Status::ok) return take_answer(answer);
    }
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(next_refresh_ - Clock::now());
    const int time = watched_.empty() ? -1 : static_cast<int>(std::max<std::int64_t>(rest.count(), 0));
    std::array<pollfd, 2> waits{{{daemon_.get(), POLLIN, 0}, {queue_.descriptor(), POLLIN, 0}}};
    ::poll(waits.data(), waits.size(), time);
  }

  // False: there was none.
  bool take_order() {
    ClerkMessage order;
    auto got =
        base::receive_message(daemon_.get(), std::as_writable_bytes(std::span{&order, 1}), MSG_DONTWAIT);
    if (got.state == base::SocketState::again) return false;
    // Whatever is said otherwise, the daemon has gone, and its clerk goes with it.
    if (got.state != base::SocketState::ok || got.bytes != sizeof order) ::_exit(0);
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
        ::_exit(1);
    }
    return true;
  }

  void say(ClerkMessage message) {
    if (base::send_message(daemon_.get(), std::as_bytes(std::span{&message, 1})) != base::SocketState::ok)
      ::_exit(0);
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
    if (watched.registry.generation != registry.generation || watched.registry.ticket != registry.ticket)
      watched = {registry, {}, false, Clock::now()};
    if (!watched.changes) {
      // What is read before the first look at its changes could be stale for ever.
      if (!watched.looking) look_at_header(order.node, watched);
      return say(ClerkKind::unknown, order);
    }
    const auto place = free_place();
    if (!place) return say(ClerkKind::unknown, order);
    reads_[*place].order = order;
    reads_[*place].probe.emplace(key_, RegistryShape{order.table, order.buckets}, name_in(order),
                                 order.reads);
    if (const auto trouble = get(*place)) say(*trouble, order);
  }

  std::optional<std::size_t> free_place() const {
    const auto free = std::ranges::find(reads_, false, &Read::busy);
    return free == reads_.end() ? std::nullopt
                                : std::optional{static_cast<std::size_t>(free - reads_.begin())};
  }

  // What to say if it could not be asked for.
  std::optional<ClerkKind> get(std::size_t place) {
    Read& read = reads_[place];
    const std::size_t from = read.probe ? bucket_offset(read.probe->bucket()) : 0;
    const std::size_t bytes = read.probe ? kBucketBytes : kRegistryHeader;
    const Status status = terminus_.get(read.order.registry, landing_slot_, place * kBucketBytes, bytes,
                                        {.offset = from, .queue = &queue_, .word = place});
    if (status == Status::pending) {
      under_way_ += read.busy ? 0 : 1;
      read.busy = true;
      return std::nullopt;
    }
    end(read);
    const bool later =
        status == Status::connecting || status == Status::queue_full || status == Status::no_place;
    return later ? ClerkKind::unknown : ClerkKind::lost;
  }

  void end(Read& read) {
    under_way_ -= read.busy ? 1 : 0;
    read.busy = false;
    read.probe.reset();
  }

  void take_answers() {
    while (const auto answer = queue_.poll()) take_answer(*answer);
  }

  void take_answer(const Notification& answer) {
    const bool done = answer.kind == Notification::Kind::remote_done;
    if ((!done && answer.kind != Notification::Kind::remote_failed) || answer.word >= kPlaces) return;
    const auto place = static_cast<std::size_t>(answer.word);
    Read& read = reads_[place];
    if (!read.busy) return;
    if (!read.probe) return take_header(read, place, done);
    const ClerkMessage order = read.order;
    if (!done) {
      end(read);
      return say(ClerkKind::lost, order);
    }
    const Probe::Says says =
        read.probe->take(std::span<const std::byte, kBucketBytes>{landed(place, kBucketBytes)});
    if (says == Probe::Says::more) {
      if (const auto trouble = get(place)) say(*trouble, order);
      return;
    }
    ClerkMessage out;
    out.serial = order.serial;
    out.node = order.node;
    out.reads = read.probe->reads();
    out.kind = says == Probe::Says::found    ? ClerkKind::found
               : says == Probe::Says::absent ? ClerkKind::absent
               : says == Probe::Says::wrong  ? ClerkKind::lost
                                             : ClerkKind::unknown;
    if (says == Probe::Says::found) {
      put_name(out, name_in(order));
      put_what(out, read.probe->record());
    }
    end(read);
    say(out);
  }

  std::span<std::byte> landed(std::size_t place, std::size_t bytes) {
    return landing_.bytes(place * kBucketBytes, bytes);
  }

  // What has changed.

  void look_at_header(std::uint32_t node, Watched& watched) {
    const auto place = free_place();
    if (!place) return;
    Read& read = reads_[*place];
    read.order = {};
    read.order.node = node;
    put_registry(read.order, watched.registry);
    watched.looking = !get(*place);
  }

  void take_header(Read& read, std::size_t place, bool done) {
    const ClerkMessage order = read.order;
    end(read);
    const auto found = watched_.find(order.node);
    if (found == watched_.end() || found->second.registry.generation != order.table) return;
    Watched& watched = found->second;
    watched.looking = false;
    std::uint64_t changes = 0;
    const bool whole =
        done && read_changes(std::span<const std::byte, kRegistryHeader>{landed(place, kRegistryHeader)},
                             {order.table, order.buckets}, changes);
    if (whole && watched.changes == changes) return;
    const bool first = !watched.changes;
    watched.changes = changes;
    if (!whole) watched_.erase(found);
    if (!whole || !first) say(ClerkKind::changed, order);
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
      ClerkMessage out;
      out.kind = ClerkKind::changed;
      out.node = node;
      at = watched_.erase(at);
      say(out);
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
  std::array<Read, kPlaces> reads_;
  std::size_t under_way_ = 0;
  std::map<std::uint32_t, Watched> watched_;  // by node
  Clock::time_point next_refresh_ = Clock::now() + kRefresh;
};

}  // namespace

void run_clerk(base::FileDescriptor daemon, const std::string& node) {
  ::prctl(PR_SET_NAME, "hamlyn-clerk");  // as `hamlyn node` shows it
  try {
    Clerk{std::move(daemon), node}.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hamlynd: the clerk of names ends: %s\n", error.what());
  }
  ::_exit(1);
}

}  // namespace hamlyn::segment
