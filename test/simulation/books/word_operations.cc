// Fetch-and-ops of every kind but add on words of which those who ask know what may stand there
// (shared_words.h); their owner is told of those that want it, once each.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "interface/remote/requests.h"
#include "test/simulation/books/operations.h"
#include "test/simulation/books/shared_words.h"

namespace hamlyn::simulation {

namespace {

// Each kind of word with 8 bytes, and with 4 and something behind them that nobody may touch.
constexpr std::size_t kSizes = 2;
constexpr std::size_t kSwapsFrom = kSizes, kExtremesFrom = 2 * kSizes, kWords = 6 * kSizes;
constexpr std::uint64_t kBehind = 0xC0FFEE00u;

constexpr std::uint32_t bytes_of(std::size_t word) noexcept { return word % kSizes == 0 ? 8 : 4; }

constexpr OperationKind kind_of(std::size_t word) noexcept {
  return word < kSwapsFrom      ? OperationKind::fetch_bits
         : word < kExtremesFrom ? OperationKind::fetch_swap
                                : OperationKind::fetch_extreme;
}

class WordOperations final : public Operation {
 public:
  explicit WordOperations(World& world) : world_(world) {}

  void come(Process& process) override;
  void start(Process& process) override;
  void step(Process& process) override { collect(process); }
  void notified(Process& process, const Notification& notification) override;
  void may_lose(Process& from, Process& to) override;
  void link_over(Process&, Process&) override {}
  void under_way(const Process& from, const Process& to, Kinds& kinds) const override;
  void check_rest() override;

 private:
  // What a process has for this.
  struct Place {
    OwnedSlot* slot = nullptr;
    Control control{};
    BitWord bits[kSizes]{BitWord(8), BitWord(4)};
    SwapWord swaps[kSizes]{SwapWord(8), SwapWord(4)};
    std::vector<ExtremeWord> extremes;
    interface::Terminus* termini[2] = {};
    bool asked_bits[kMostProcesses + 1][kSizes] = {};  // by that process, which waits
    // Fetches that its owner may have been told of by now, must hear of, and has heard of:
    std::uint64_t may_tell = 0, must_tell = 0, told = 0;
  };
  struct Request {
    Process* from = nullptr;
    Process* to = nullptr;
    interface::Requests* requests = nullptr;  // null: it has no answer
    RemoteHandle handle{};
    std::size_t word = 0;
    Fetch fetch{};
    std::uint64_t before = 0;  // the word's now(), or sure(), when it was asked for
    bool notify = false;
    bool may_be_lost = false;
  };

  static std::uint64_t standing(const Place& place, std::size_t word);
  void ask(Process& from, Process& to, Place& place, std::size_t word);
  void choose(Place& place, Request& request);
  void refused(OperationKind kind, Status status);
  void collect(Process& process);
  void finish(const Request& request, const Outcome& outcome);
  static void done(Place& place, const Request& request, std::uint64_t value);
  static void unsure(Place& place, const Request& request);
  static bool is_told(const Place& place, bool notify) noexcept {
    return place.control == Control::always || (place.control == Control::conditional && notify);
  }

  World& world_;
  std::map<std::uint64_t, Place> places_;
  std::vector<Request> waiting_;  // for an answer
  std::vector<Request> silent_;   // have none
};

void WordOperations::come(Process& process) {
  sim::Generator& chance = world_.chance();
  Place& place = places_[process.number()];
  Area& area = process.make_area(kWords * 8);
  for (const FetchOp op :
       {FetchOp::min_signed, FetchOp::max_signed, FetchOp::min_unsigned, FetchOp::max_unsigned}) {
    for (std::size_t size = 0; size != kSizes; ++size) place.extremes.emplace_back(op, bytes_of(size));
  }
  const auto places = static_cast<std::uint32_t>(chance.between(1, 4));
  place.slot = &process.make_slot(*this, area,
                                  {.fast = false, .places = places, .fetches = true, .puts = true}, chance);
  constexpr Control kControls[] = {Control::conditional, Control::conditional, Control::always,
                                   Control::never};
  place.control = kControls[chance.below(std::size(kControls))];
  process.core().set_control(place.slot->index(), place.control);
  for (std::size_t word = 0; word != kWords; ++word) {
    const std::uint64_t first = word < kExtremesFrom ? 0 : place.extremes[word - kExtremesFrom].begin();
    const std::uint64_t whole = bytes_of(word) == 4 ? first | kBehind << 32 : first;
    std::memcpy(place.slot->base() + word * 8, &whole, sizeof whole);
  }
  for (auto& terminus : place.termini)
    terminus =
        &process.make_terminus(chance.between(1, 24), static_cast<Priority>(chance.below(kPriorities)));
}

std::uint64_t WordOperations::standing(const Place& place, std::size_t word) {
  std::uint64_t whole;
  std::memcpy(&whole, place.slot->base() + word * 8, sizeof whole);
  if (bytes_of(word) == 8) return whole;
  demand(whole >> 32 == kBehind, "a fetch-and-op has changed what stands behind its word");
  return whole & 0xFFFFFFFFu;
}

// --- who asks

void WordOperations::start(Process& from) {
  collect(from);  // what a terminus has of an operation that is over goes with the next one
  sim::Generator& chance = world_.chance();
  Process* const to = world_.any_other(from);
  if (to == nullptr) return;
  Place& place = places_[to->number()];
  // As often one of each kind.
  const std::size_t word = chance.below(3) * kSizes + chance.below(kSizes);
  ask(from, *to, place, word < kExtremesFrom ? word : kExtremesFrom + chance.below(kWords - kExtremesFrom));
}

void WordOperations::ask(Process& from, Process& to, Place& place, std::size_t word) {
  sim::Generator& chance = world_.chance();
  if (word < kSwapsFrom && place.asked_bits[from.number()][word]) return;
  Request request{.from = &from, .to = &to, .word = word};
  choose(place, request);
  // Of the others, nothing is known without an answer.
  const bool answered = word < kExtremesFrom || !chance.one_in(4);
  interface::Requests& requests = places_[from.number()].termini[chance.below(2)]->requests();
  const auto fetch = [&] {
    const RemoteOptions options{.offset = word * 8, .answered = answered, .notify = request.notify};
    const Status status =
        requests.fetch(place.slot->ticket(), request.fetch, options, nullptr, &request.handle);
    world_.note(from, "does fetch-and-op % with word % of process %: status %",
                {static_cast<std::uint64_t>(request.fetch.op), word, to.number(),
                 static_cast<std::uint64_t>(status)});
    if (status == (answered ? Status::pending : Status::ok)) return true;
    refused(request.notify ? OperationKind::fetch_told : kind_of(word), status);
    return false;
  };
  // Whoever cannot have it told does it all the same.
  request.notify = chance.one_in(2);
  bool left = fetch();
  if (!left && std::exchange(request.notify, false)) left = fetch();
  const OperationKind kind = kind_of(word);
  if (!left) {
    if (kind == OperationKind::fetch_swap) place.swaps[word - kSwapsFrom].forget(request.fetch);
    return;
  }
  world_.begun(kind);
  if (request.notify) world_.begun(OperationKind::fetch_told);
  if (is_told(place, request.notify)) ++place.may_tell;
  request.may_be_lost = world_.unsure(from, to);
  if (!answered) return silent_.push_back(request);
  request.requests = &requests;
  if (kind == OperationKind::fetch_bits) place.asked_bits[from.number()][word] = true;
  waiting_.push_back(request);
}

void WordOperations::choose(Place& place, Request& request) {
  sim::Generator& chance = world_.chance();
  const std::uint64_t now = standing(place, request.word);
  switch (kind_of(request.word)) {
    case OperationKind::fetch_bits:
      request.fetch = place.bits[request.word].choose(request.from->number(), chance);
      return;
    case OperationKind::fetch_swap:
      request.before = place.swaps[request.word - kSwapsFrom].now();
      request.fetch = place.swaps[request.word - kSwapsFrom].choose(now, chance);
      return;
    default:
      request.before = place.extremes[request.word - kExtremesFrom].sure();
      request.fetch = place.extremes[request.word - kExtremesFrom].choose(now, chance);
  }
}

void WordOperations::refused(OperationKind kind, Status status) {
  world_.met(kind, status);
  const bool told = kind == OperationKind::fetch_told;
  demand(status == Status::connecting || status == Status::queue_full || status == Status::link_ended ||
             status == Status::refused || (told && (status == Status::no_place || status == Status::stale)),
         "a fetch-and-op was answered with something else");
}

// --- what becomes of it

void WordOperations::collect(Process& process) {
  std::erase_if(waiting_, [&](const Request& request) {
    if (request.from != &process) return false;
    const Outcome outcome = request.requests->outcome(request.handle);
    if (outcome.status == Status::pending) return false;
    finish(request, outcome);
    return true;
  });
}

void WordOperations::finish(const Request& request, const Outcome& outcome) {
  Place& place = places_[request.to->number()];
  world_.note(*request.from, "has an answer of process %: status %, value %",
              {request.to->number(), static_cast<std::uint64_t>(outcome.status), outcome.value});
  if (request.word < kSwapsFrom) place.asked_bits[request.from->number()][request.word] = false;
  switch (outcome.status) {
    case Status::ok:
      ++world_.counts.completed;
      return done(place, request, outcome.value);
    case Status::link_ended:
      ++world_.counts.failed;
      demand(request.may_be_lost, "a fetch-and-op failed though its link lived");
      return unsure(place, request);
    default:
      throw Violation("a fetch-and-op ended with something else");
  }
}

void WordOperations::done(Place& place, const Request& request, std::uint64_t value) {
  if (is_told(place, request.notify)) ++place.must_tell;
  switch (kind_of(request.word)) {
    case OperationKind::fetch_bits:
      return place.bits[request.word].done(request.from->number(), request.fetch, value);
    case OperationKind::fetch_swap:
      return place.swaps[request.word - kSwapsFrom].done(request.fetch, value, request.before);
    default:
      return place.extremes[request.word - kExtremesFrom].done(request.fetch, value, request.before);
  }
}

// Nobody will know whether it was done.
void WordOperations::unsure(Place& place, const Request& request) {
  switch (kind_of(request.word)) {
    case OperationKind::fetch_bits:
      return place.bits[request.word].unsure(request.from->number(), request.fetch);
    case OperationKind::fetch_swap:
      return place.swaps[request.word - kSwapsFrom].unsure();
    default:
      return;
  }
}

// Its owner. Each fetch takes a place of its own, unless nobody wanted to have it told.
void WordOperations::notified(Process& process, const Notification& n) {
  Place& place = places_[process.number()];
  demand(n.kind == Notification::Kind::fetched, "something else than a fetch-and-op was told of");
  demand(place.control != Control::never, "a fetch-and-op was told of that nobody wanted to hear of");
  const bool inside = n.offset < kWords * 8 && n.length <= kWords * 8 - n.offset;
  demand(inside && n.word != 0, "a fetch-and-op was told of elsewhere");
  if (n.word == 1)
    demand(n.offset % 8 == 0 && n.length == bytes_of(n.offset / 8), "a fetch-and-op was told of elsewhere");
  demand(n.peer != process.number() && n.peer <= world_.processes().size(),
         "nobody has done what was told of");
  place.told += n.word;
  demand(place.told <= place.may_tell, "a fetch-and-op was told of twice");
  world_.note(process, "hears of % fetch-and-ops of process %", {n.word, n.peer});
}

void WordOperations::may_lose(Process& from, Process& to) {
  const auto mark = [&](Request& request) {
    if (request.from == &from && request.to == &to) request.may_be_lost = true;
  };
  std::ranges::for_each(waiting_, mark);
  std::ranges::for_each(silent_, mark);
}

void WordOperations::under_way(const Process& from, const Process& to, Kinds& kinds) const {
  for (const Request& request : waiting_) {
    if (request.from != &from || request.to != &to) continue;
    kinds.set(static_cast<std::size_t>(kind_of(request.word)));
    if (request.notify) kinds.set(static_cast<std::size_t>(OperationKind::fetch_told));
  }
}

void WordOperations::check_rest() {
  for (const auto& process : world_.processes()) {
    if (process->alive) collect(*process);
  }
  for (const Request& request : waiting_) {
    demand(!request.from->alive, "a fetch-and-op is pending for ever");
    unsure(places_[request.to->number()], request);
  }
  for (const Request& request : silent_) {
    Place& place = places_[request.to->number()];
    if (request.may_be_lost || !request.to->alive) continue;
    if (is_told(place, request.notify)) ++place.must_tell;
    place.extremes[request.word - kExtremesFrom].done(request.fetch);
  }
  for (auto& [number, place] : places_) {
    for (std::size_t word = 0; word != kWords; ++word) {
      const std::uint64_t value = standing(place, word);
      if (word < kSwapsFrom) {
        place.bits[word].check(value);
      } else if (word < kExtremesFrom) {
        place.swaps[word - kSwapsFrom].check(value);
      } else {
        place.extremes[word - kExtremesFrom].check(value);
      }
    }
    demand(place.told >= place.must_tell || !world_.process(number).alive, "a fetch-and-op was not told of");
  }
}

}  // namespace

std::unique_ptr<Operation> make_word_operations(World& world) {
  return std::make_unique<WordOperations>(world);
}

}  // namespace hamlyn::simulation
