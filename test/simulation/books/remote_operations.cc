// Fetch-and-ops on words that their owner counts up as well, and gets of bytes that their owner rewrites all
// the time: each fetch is done once, each get brings bytes that stood there while it was under way.
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "interface/packets/strides.h"
#include "interface/remote/requests.h"
#include "test/simulation/books/operations.h"
#include "test/simulation/books/world.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint64_t kCounters = 8;  // each in 8 bytes; the second half of them are of 4
constexpr std::uint64_t kData = 1024;   // bytes behind them, for gets: words of version and number
constexpr std::uint64_t kBytes = kCounters * 8 + kData;
constexpr std::uint64_t kLandings = 8;  // of kData bytes and a guard, each for one get at a time
constexpr std::uint64_t kStride = kData + Area::kGuard;

std::uint64_t load(const std::byte* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

class RemoteOperations final : public Operation {
 public:
  explicit RemoteOperations(World& world) : world_(world) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override;
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void link_over(Process&, Process&) override {}
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override;
  void check_rest() override;

 private:
  struct Counter {
    std::uint64_t sure = 0;    // what must have been added
    std::uint64_t unsure = 0;  // what may have been
    std::set<std::uint64_t> seen;
  };
  // What a process has for this.
  struct Place {
    OwnedSlot* target = nullptr;
    OwnedSlot* landing = nullptr;
    Counter counters[kCounters];
    std::uint64_t version = 0;
    bool landing_used[kLandings] = {};
  };
  struct Request {
    Process* from;
    Process* to;
    interface::Requests* requests;
    RemoteHandle handle;
    bool get;
    std::uint64_t where;    // a counter, or the first byte of the data
    std::uint64_t operand;  // or the length of a get
    std::uint64_t landing;
    std::uint64_t version;  // of the data when it was asked for
    std::uint32_t element;  // of what size the numbers of a get are; 0: bytes
    Strides strides;        // by which a get gathers them
    bool told;              // by a notification, when it is over
    bool may_be_lost;
    bool may_be_cancelled = false;
    bool over = false;
    unsigned notifications = 0;
  };

  void start_fetch(Process& from, Process& to);
  void start_get(Process& from, Process& to);
  void accept(OperationKind kind, Status status);
  void collect(Process& process);
  void finish(Request& request, const Outcome& outcome);
  void check_bytes(const Request& request);
  OperationKind kind_of_get(std::uint32_t element) const {
    return element != 0 && world_.orders_differ() ? OperationKind::get_turned : OperationKind::get;
  }
  void rewrite(Place& place);

  World& world_;
  std::map<std::uint64_t, Place> places_;
  std::vector<Request> requests_;
  std::size_t settled_ = 0;  // requests before it are over
};

void RemoteOperations::come(Process& process) {
  Place& place = places_[process.number()];
  Area& area = process.make_area(kBytes);
  place.target = &process.make_slot(*this, area, {.fetches = true, .gets = kData}, world_.chance());
  Area& landing = process.make_area(kLandings * kStride);
  for (std::uint64_t i = 0; i < kLandings; ++i) landing.guard(i * kStride + kData);
  place.landing = &process.make_slot(*this, landing, {}, world_.chance());
  rewrite(place);
}

// The owner writes; word by word, as a program would that lets others read at the same time.
void RemoteOperations::rewrite(Place& place) {
  ++place.version;
  for (std::uint64_t i = 0; i < kData / 8; ++i) {
    const std::uint64_t word = place.version << 32 | i;
    std::memcpy(place.target->base() + kCounters * 8 + i * 8, &word, sizeof word);
  }
}

void RemoteOperations::start(Process& from) {
  collect(from);  // what a terminus has of an operation that is over goes with the next one
  Process* to = world_.any_other(from);
  if (to == nullptr) return;
  if (world_.chance().one_in(2)) {
    start_fetch(from, *to);
  } else {
    start_get(from, *to);
  }
}

void RemoteOperations::accept(OperationKind kind, Status status) {
  world_.met(kind, status);
  demand(status == Status::connecting || status == Status::no_place || status == Status::queue_full ||
             status == Status::link_ended || status == Status::refused,
         "a remote operation was answered with something else");
}

void RemoteOperations::start_fetch(Process& from, Process& to) {
  sim::Generator& chance = world_.chance();
  const std::uint64_t where = chance.below(kCounters);
  const std::uint64_t operand = chance.between(1, 5);
  const bool answered = !chance.one_in(4);
  interface::Requests& requests = from.terminus(chance).requests();
  RemoteHandle handle;
  const Status status = requests.fetch(places_[to.number()].target->ticket(),
                                       {.bytes = where < kCounters / 2 ? 8u : 4u, .operand = operand},
                                       {.offset = where * 8, .answered = answered}, nullptr, &handle);
  world_.note(from, "adds % to counter % of process %: status %",
              {operand, where, to.number(), static_cast<std::uint64_t>(status)});
  if (status != (answered ? Status::pending : Status::ok)) return accept(OperationKind::fetch, status);
  world_.begun(OperationKind::fetch);
  requests_.push_back({&from, &to, answered ? &requests : nullptr, handle, false, where, operand, 0, 0, 0,
                       Strides{}, false, world_.unsure(from, to)});
}

void RemoteOperations::start_get(Process& from, Process& to) {
  sim::Generator& chance = world_.chance();
  Place& own = places_[from.number()];
  const std::uint64_t landing = chance.below(kLandings);
  if (own.landing_used[landing]) return;
  std::uint64_t length = 8 * chance.between(1, kData / 8);
  std::uint64_t reach = length;
  Strides strides{.chunk = static_cast<std::uint32_t>(length)};
  const bool gathers = chance.one_in(4);
  if (gathers) {
    strides.chunk = static_cast<std::uint32_t>(8 * chance.between(1, 4));
    strides.x_chunks = static_cast<std::uint32_t>(chance.between(1, 4));
    strides.y_chunks = static_cast<std::uint32_t>(chance.between(1, 4));
    strides.x_stride = strides.chunk + 8 * chance.below(3);
    strides.y_stride = strides.x_stride * strides.x_chunks + 8 * chance.below(3);
    length = interface::data_of(strides);
    reach = interface::span_of(strides);
  }
  const std::uint64_t where = 8 * chance.below((kData - reach) / 8 + 1);
  interface::Requests& requests = from.terminus(chance).requests();
  interface::Queue* const queue = chance.one_in(2) ? from.queues[chance.below(2)] : nullptr;
  const Place& place = places_[to.number()];
  const std::uint32_t element = any_element(chance);
  RemoteHandle handle;
  // Up to the very edge of what was granted.
  const interface::Landing into { own.landing->index(), landing* kStride + kData - length, length };
  const Status status = requests.get(place.target->ticket(), into,
                                     {.offset = kCounters * 8 + where,
                                      .word = requests_.size(),
                                      .element = element,
                                      .strides = gathers ? &strides : nullptr},
                                     queue, &handle);
  world_.note(from, "gets % bytes at % of process %: status %",
              {length, where, to.number(), static_cast<std::uint64_t>(status)});
  const OperationKind kind = kind_of_get(element);
  if (status != Status::pending) return accept(kind, status);
  world_.begun(kind);
  own.landing_used[landing] = true;
  requests_.push_back({&from, &to, &requests, handle, true, where, length, landing, place.version, element,
                       strides, queue != nullptr, world_.unsure(from, to)});
}

void RemoteOperations::step(Process& process) {
  collect(process);
  sim::Generator& chance = world_.chance();
  Place& place = places_[process.number()];
  if (chance.one_in(3)) rewrite(place);
  const std::uint64_t counter = chance.below(kCounters / 2);
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place.target->base() + counter * 8))
      .fetch_add(1);
  ++place.counters[counter].sure;
  if (chance.one_in(50)) {
    world_.note(process, "changes the key of its landings");
    place.landing->change_key();
    for (std::size_t i = settled_; i < requests_.size(); ++i) {
      if (requests_[i].get && requests_[i].from == &process) requests_[i].may_be_cancelled = true;
    }
  }
}

void RemoteOperations::notified(Process& process, const Notification& n) {
  demand(n.kind == Notification::Kind::remote_done || n.kind == Notification::Kind::remote_failed,
         "a message came where nobody sends");
  demand(n.word < requests_.size(), "a get ended that nobody asked for");
  Request& request = requests_[n.word];
  demand(request.get && request.told && request.from == &process, "a get ended that is somebody else's");
  demand(++request.notifications == 1, "a get ended twice");
  demand(request.to->number() == n.peer, "a get was answered by somebody else");
}

void RemoteOperations::collect(Process& process) {
  while (settled_ < requests_.size() && requests_[settled_].over) ++settled_;
  for (std::size_t i = settled_; i < requests_.size(); ++i) {
    Request& request = requests_[i];
    if (request.from != &process || request.over || request.requests == nullptr) continue;
    const Outcome outcome = request.requests->outcome(request.handle);
    if (outcome.status != Status::pending) finish(request, outcome);
  }
}

void RemoteOperations::finish(Request& request, const Outcome& outcome) {
  request.over = true;
  Place& place = places_[request.to->number()];
  if (request.get) places_[request.from->number()].landing_used[request.landing] = false;
  world_.note(*request.from, "has an answer of process %: status %, value %",
              {request.to->number(), static_cast<std::uint64_t>(outcome.status), outcome.value});
  switch (outcome.status) {
    case Status::ok:
      ++world_.counts.completed;
      if (request.get) {
        check_bytes(request);
      } else {
        Counter& counter = place.counters[request.where];
        counter.sure += request.operand;
        demand(counter.seen.insert(outcome.value).second, "two fetches saw the same count");
      }
      return;
    case Status::link_ended:
      demand(request.may_be_lost, "a remote operation failed though its link lived");
      if (!request.get) place.counters[request.where].unsure += request.operand;
      ++world_.counts.failed;
      return;
    case Status::cancelled:
      demand(request.may_be_cancelled, "a get was cancelled though its landing is there");
      ++world_.counts.failed;
      return;
    default:
      throw Violation("a remote operation ended with something else");
  }
}

// Each word as it was at some time while the get was under way.
void RemoteOperations::check_bytes(const Request& request) {
  const std::byte* const landed =
      places_[request.from->number()].landing->base() + request.landing * kStride + kData - request.operand;
  std::vector<std::byte> bytes(landed, landed + request.operand);
  world_.as_it_comes(bytes, request.element);  // back to what was sent
  const std::uint64_t now = places_[request.to->number()].version;
  for (std::uint64_t i = 0; i < request.operand; i += 8) {
    const std::uint64_t word = load(bytes.data() + i);
    const std::uint64_t from = request.where + interface::place_of(request.strides, i);
    demand((word & 0xFFFFFFFFu) == from / 8, "a get brought bytes from elsewhere");
    demand(word >> 32 >= request.version && word >> 32 <= now, "a get brought bytes of another time");
  }
}

void RemoteOperations::may_lose(Process& from, Process& to) {
  for (std::size_t i = settled_; i < requests_.size(); ++i) {
    if (requests_[i].from == &from && requests_[i].to == &to) requests_[i].may_be_lost = true;
  }
}

void RemoteOperations::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  for (std::size_t i = settled_; i < requests_.size(); ++i) {
    const Request& request = requests_[i];
    if (request.from == &from && request.to == &to && !request.over && request.requests != nullptr)
      kinds.set(static_cast<std::size_t>(request.get ? kind_of_get(request.element) : OperationKind::fetch));
  }
}

void RemoteOperations::check_rest() {
  for (const auto& process : world_.processes()) {
    if (process->alive) collect(*process);
  }
  for (const Request& request : requests_) {
    demand(request.over || request.requests == nullptr || !request.from->alive,
           "a remote operation is pending for ever");
    if (request.over && request.told && request.from->alive)
      demand(request.notifications == 1, "nobody was told that a get is over");
    if (request.over || request.get) continue;
    // One without an answer, or of a process that died.
    Counter& counter = places_[request.to->number()].counters[request.where];
    (request.may_be_lost ? counter.unsure : counter.sure) += request.operand;
  }
  for (const auto& [number, place] : places_) {
    for (std::uint64_t i = 0; i < kCounters; ++i) {
      const std::uint64_t value = load(place.target->base() + i * 8);
      const Counter& counter = place.counters[i];
      // What was sure when its owner died may have been on its way to it.
      demand(value <= counter.sure + counter.unsure, "something was added twice");
      demand(value >= counter.sure || !world_.process(number).alive, "something was not added");
    }
  }
  for (const auto& process : world_.processes()) {
    for (const auto& [peer, end] : process->links)
      demand(end.link().remote.asks_nothing() && end.link().remote.owes_nothing(), "a request was left over");
  }
}

}  // namespace

std::unique_ptr<Operation> make_remote_operations(World& world) {
  return std::make_unique<RemoteOperations>(world);
}

}  // namespace hamlyn::simulation
