#include <algorithm>
#include <optional>

#include "hamlyn/core/mapped_slot.h"
#include "hamlyn/core/message_area.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/protocols/loan.h"
#include "library/with_memory.h"
#include "protocols/copy_of.h"
#include "protocols/dispatcher.h"
#include "protocols/loan_wire.h"
#include "protocols/loan_words.h"
#include "protocols/seeds.h"

namespace hamlyn {

using base::RealMemory;
using protocols::Dispatcher;
using protocols::LoanHeader;
using protocols::LoanLender;
using protocols::LoanMessage;
using protocols::LoanOpen;
using protocols::LoanPlace;
using protocols::LoanRefused;
using protocols::LoanReturns;
using protocols::LoanWord;
using protocols::LoanWords;
using protocols::throw_forked;

namespace {

constexpr std::chrono::seconds kMapping{1};  // for each of two steps of the opening
constexpr std::uint32_t kWatch = 1;          // entry of the door that fails with the sender's link

}  // namespace

namespace internal_::protocols {

// A sender's memory, mapped here. It outlives its receiver if something of it is still borrowed.
struct LoanLender {
  LoanLender(Dispatcher& the_dispatcher, const LoanCuts& cuts, std::unique_ptr<MappedSlot> mapped)
      : dispatcher(the_dispatcher),
        memory(std::move(mapped)),
        header(*reinterpret_cast<const LoanHeader*>(memory->bytes().data())) {
    place_loans(cuts, [&](const LoanPlace& place) { places.push_back(place); });
  }

  // All under the manager's lock but `current`.

  std::span<const std::byte> bytes(std::uint32_t index, std::uint32_t length) const noexcept {
    return memory->bytes().subspan(places[index].offset, length);
  }
  void give_back(std::uint32_t index, std::uint32_t number) noexcept {
    --borrowed;
    if (returns == nullptr) {
      if (borrowed == 0) delete this;
      return;
    }
    // One that was taken back by force and lent anew may be here twice. Its sender waits for the later one,
    // and must not find the number of the one before in its place.
    const std::uint32_t last = RealMemory::load_relaxed(returns[index]);
    if (last != 0 && static_cast<std::int32_t>(number - last) < 0) return;
    const std::uint32_t wanted = LoanWords<>::give_back(returns[index], number, header.wanted);
    if (wanted != rung) [[unlikely]]
      ring(wanted);
  }
  void ring(std::uint32_t wanted) noexcept {
    rung = wanted;
    constexpr auto kWord = static_cast<std::uint64_t>(LoanWord::given_back);
    const Status status = terminus->send_fast(desk, {}, kWord);
    if (status == Status::queue_full || status == Status::connecting) dispatcher.farewell(desk, kWord);
  }
  // Its receiver has another one, or goes.
  void detach() noexcept {
    returns = nullptr;
    if (borrowed == 0) delete this;
  }
  bool current(std::uint32_t index, std::uint32_t number) const noexcept {
    return LoanWords<>::current(header.numbers[index], number) && memory->current();
  }

  Dispatcher& dispatcher;
  const std::unique_ptr<MappedSlot> memory;
  const LoanHeader& header;       // the sender's to change
  std::vector<LoanPlace> places;  // as it said once
  std::uint32_t borrowed = 0;
  std::uint32_t* returns = nullptr;  // null: detached
  std::uint32_t rung = 0;
  Terminus* terminus = nullptr;
  Ticket desk;
};

}  // namespace internal_::protocols

struct LoanReceiver::Inside {
  // A sender has knocked; it is being answered.
  enum class State : std::uint8_t { idle, offered, knocked, opening, open };

  Inside(Manager& manager, std::uint32_t places)
      : dispatcher(manager.inside()),
        queue(manager.interface(), std::size_t{2} * places),
        door_area(manager.interface(), sizeof(LoanOpen)),
        door(door_area, queue, {.mode = Mode::paranoid, .entries = 2, .fast = false}),
        landing_area(manager.interface(), protocols::kLoanBuffers),
        landing(landing_area, queue, {.places = places}),
        returns_area(manager.interface(), sizeof(LoanReturns), Sharing::mapped_read_only),
        returns(returns_area, queue, {.access = Access::read_only}),
        terminus(manager.interface(), {.entries = 2}) {}

  // Ends the calls that wait in it: they wait for the queue. Not under the lock. False: in a forked child.
  bool retire() noexcept {
    return calls.close_and_drain<Dispatcher::Guard>(dispatcher, [this] { dispatcher.waiting.changed(); });
  }

  // All under the manager's lock, but `answer`.

  void finish(Status why) noexcept {
    end = why;
    dispatcher.waiting.changed();  // others who wait for the queue end, too
  }

  // A sender that wants to be answered.
  struct Opening {
    LoanOpen open;
    std::uint64_t opener = 0;
    std::uint64_t number = 0;
  };

  // The next of the queue; only `standing`: without a run of the interface.
  bool take(Notification& next, bool standing) noexcept {
    if (!standing) return queue.poll({&next, 1}) != 0;
    const library::Lock lock(dispatcher.waiting);
    return lock && queue.take(lock.held(), next) == Status::ok;
  }

  // Takes what has come. pending: there is nothing; not_ready: a sender wants to be answered.
  Status look(LoanMessage& message, std::uint32_t& index, bool standing) noexcept {
    // After so many that are nobody's the caller looks at the time.
    for (int left = Dispatcher::kMostAtOnce; left != 0; --left) {
      if (end != Status::ok) return end;
      if (state == State::knocked) [[unlikely]]
        return Status::not_ready;
      Notification next;
      if (!take(next, standing)) return met ? Status::pending : look_for_who_gave_up();
      if (next.fast && next.slot == landing.number()) [[likely]] {
        if (state != State::open || next.peer != sender) continue;
        met = true;
        message = protocols::loan_of(next.word);
        if (good(message, next.offset, lender->places)) [[likely]] {
          index = static_cast<std::uint32_t>(next.offset);
          return Status::ok;
        }
        finish(next.word == protocols::kLoansClosed ? Status::closed : Status::broken);
      } else if (next.slot == door.number()) {
        if (knocks(next)) return Status::not_ready;
      }
    }
    more = true;
    return Status::pending;
  }

  // A sender that gave up while it was answered has never heard of that, and says nothing more: its desk
  // takes no words any more, of which its interface tells ours. Nothing that it has sent is overtaken by that
  // news but in the look before: so the second look counts.
  Status look_for_who_gave_up() noexcept {
    if (state != State::open || terminus.try_connect(lender->desk) != Status::refused) return Status::pending;
    if (std::exchange(desk_gone, true)) {
      finish(Status::closed);
      return end;
    }
    dispatcher.waiting.changed();
    return Status::pending;
  }

  // Takes the next opening. Cannot fail once the one before was read.
  void open_door() noexcept { static_cast<void>(door.arm(0)); }
  // Whether it is a sender who is to be answered.
  bool knocks(const Notification& arrival) noexcept {
    if (arrival.entry == kWatch) {
      if (arrival.kind == Notification::Kind::failed && state == State::open) finish(Status::link_ended);
      return false;
    }
    if (arrival.kind != Notification::Kind::message && arrival.kind != Notification::Kind::failed)
      return false;
    if (state != State::offered) return false;
    const auto said = arrival.kind == Notification::Kind::message
                          ? protocols::copy_of<LoanOpen>(door.bytes(arrival))
                          : std::nullopt;
    if (!said || !good(*said, arrival.peer)) {
      open_door();
      return false;
    }
    opening = {*said, arrival.peer, opening.number + 1};
    state = State::knocked;
    return true;
  }

  static std::uint32_t why_not(ErrorCode code, const MappedSlot* memory) noexcept {
    switch (code) {
      case ErrorCode::out_of_memory:
        return LoanRefused::kNoMemory;
      case ErrorCode::timed_out:
        return LoanRefused::kNotInTime;
      case ErrorCode::not_permitted:
        if (memory == nullptr) return LoanRefused::kUnsaid;
        return LoanRefused::kNotMapped | static_cast<std::uint32_t>(memory->not_mapped());
      default:
        return LoanRefused::kUnsaid;
    }
  }
  // Maps what the opener shows. Null: it could not be, for that reason. Not under the lock.
  static std::unique_ptr<MappedSlot> map(Manager& manager, const LoanOpen& open,
                                         LoanRefused& refused) noexcept {
    std::unique_ptr<MappedSlot> memory;
    try {
      memory = std::make_unique<MappedSlot>(manager.interface(), open.area, kBegin);
      memory->open(kMapping);
    } catch (const Error& error) {
      refused.why = why_not(error.code(), memory.get());
      return nullptr;
    } catch (const std::exception&) {
      refused.why = LoanRefused::kNoMemory;
      return nullptr;
    }
    const bool fits = !memory->can_write() &&
                      memory->bytes().size() >= protocols::loan_area_bytes(open.cuts) &&
                      reinterpret_cast<std::uintptr_t>(memory->bytes().data()) % alignof(LoanHeader) == 0;
    if (fits) return memory;
    refused.why = LoanRefused::kUnfit;
    return nullptr;
  }

  // Maps what the opener shows, if it is wanted, and tells it so; or that it cannot be.
  void answer(Manager& manager, const Opening& asked, bool wanted) noexcept {
    const LoanOpen& open = asked.open;
    LoanRefused refused;
    std::unique_ptr<MappedSlot> memory;
    LoanLender* made = nullptr;
    const Status connected = terminus.connect(open.desk, kMapping);
    const bool reached = connected == Status::ok;
    if (connected == Status::timed_out) refused.why = LoanRefused::kNotInTime;
    if (!wanted) refused.why = LoanRefused::kNotWanted;
    if (reached && wanted) memory = map(manager, open, refused);
    try {
      if (memory != nullptr) made = new LoanLender(dispatcher, open.cuts, std::move(memory));
    } catch (const std::exception&) {
      refused.why = LoanRefused::kNoMemory;
    }
    const Dispatcher::Guard guard(dispatcher);
    if (!guard) return;
    if (state != State::opening || opening.number != asked.number) {  // a new seed was made meanwhile
      delete made;
      return;
    }
    if (made == nullptr || !watch()) {
      delete made;
      state = State::offered;
      open_door();  // before the sender hears of it, which may come again at once
      // A sender that cannot be told has its own time-out.
      refused = protocols::in_wire_order(refused);
      static_cast<void>(terminus.send_fast(open.desk, std::as_bytes(std::span{&refused, 1}),
                                           static_cast<std::uint64_t>(LoanWord::refuse)));
      return;
    }
    lender = made;
    made->desk = open.desk;
    made->terminus = &terminus;
    made->returns = numbers();
    made->rung = RealMemory::load_relaxed(made->header.wanted);
    sender = asked.opener;
    met = desk_gone = false;
    state = State::open;
    // A sender that cannot be told has gone, or given up.
    if (!tell(open.desk)) finish(dispatcher.linked(sender) ? Status::closed : Status::link_ended);
  }

  // An entry that nobody can fill: it fails with the link, which is how we hear of the end. It is the one
  // that the sender has asked by: if that has ended meanwhile, the sender has heard so, and will not be there
  // by the next.
  bool watch() noexcept {
    static_cast<void>(door.disarm(kWatch));  // if it cannot be, neither can it be armed
    return door.arm(kWatch, {0, 0}) == Status::ok && door.expect_as(kWatch, 0) == Status::ok;
  }
  bool tell(const Ticket& desk) noexcept {
    const Ticket here = landing.ticket(), page = returns.ticket();
    protocols::LoanAnswer said;
    said.landing_key = here.key;
    said.landing_slot = here.slot;
    said.landing_generation = here.generation;
    said.returns_key = page.key;
    said.returns_slot = page.slot;
    said.returns_generation = page.generation;
    said = protocols::in_wire_order(said);
    return terminus.send_fast(desk, std::as_bytes(std::span{&said, 1}),
                              static_cast<std::uint64_t>(LoanWord::answer)) == Status::ok;
  }

  // As if this were a new receiver.
  void begin_anew() noexcept {
    if (lender != nullptr) {
      if (end != Status::link_ended)
        dispatcher.farewell(lender->desk, static_cast<std::uint64_t>(LoanWord::gone));
      std::exchange(lender, nullptr)->detach();
    }
    sender = 0;
    end = Status::ok;
    state = State::idle;
    landing.change_key();
    returns.change_key();
    // Notifications that still stand in the queue were meant for the receiver that was there before.
    Notification old;
    do {
      for (std::size_t most = queue.capacity(); most != 0 && queue.poll({&old, 1}) != 0; --most) {
      }
    } while (door.disarm(0) != Status::ok || door.disarm(kWatch) != Status::ok);
    std::ranges::for_each(std::span(numbers(), protocols::kLoanBuffers),
                          [](std::uint32_t& number) { RealMemory::store_relaxed(number, 0u); });
  }

  std::uint32_t* numbers() noexcept {
    return reinterpret_cast<LoanReturns*>(returns_area.bytes().data())->numbers;
  }

  Dispatcher& dispatcher;
  NotificationQueue queue;
  MessageArea door_area;
  Slot door;
  MessageArea landing_area;  // nothing lands there but its offsets
  Slot landing;
  MessageArea returns_area;
  Slot returns;  // whose ticket lets the sender map that page, and nothing else
  Terminus terminus;
  State state = State::idle;
  Status end = Status::ok;
  std::uint64_t sender = 0;
  LoanLender* lender = nullptr;
  Opening opening;
  bool met = true;         // nobody is to be looked for who gave up
  bool desk_gone = false;  // of a sender of whom nothing has come
  bool more = false;       // a look ended before the queue did
  base::PendingCalls calls;
};

// --- what is borrowed

Borrowed::Borrowed(Borrowed&& other) noexcept
    : lender_(std::exchange(other.lender_, nullptr)),
      index_(other.index_),
      number_(other.number_),
      bytes_(std::exchange(other.bytes_, {})) {}

Borrowed& Borrowed::operator=(Borrowed&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  lender_ = std::exchange(other.lender_, nullptr);
  index_ = other.index_;
  number_ = other.number_;
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

bool Borrowed::current() const noexcept {
  if (lender_ == nullptr || lender_->dispatcher.waiting.forked()) return false;
  return lender_->current(index_, number_);
}

void Borrowed::give_back() noexcept {
  if (lender_ == nullptr) return;
  const Dispatcher::Guard guard(lender_->dispatcher);
  bytes_ = {};
  LoanLender* const lender = std::exchange(lender_, nullptr);
  if (guard) lender->give_back(index_, number_);
}

// --- the receiver

LoanReceiver::LoanReceiver(Manager& manager, const Options& options) try : manager_(manager) {
  if (options.places == 0 || options.places > protocols::kLoanBuffers)
    throw Error(ErrorCode::invalid_argument, "a receiver of loans has 1 to 1024 places");
  if (manager.interface().waiting().forked()) throw_forked();
  inside_ = std::make_unique<Inside>(manager, options.places);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a receiver of loans");
}

LoanReceiver::~LoanReceiver() {
  if (!inside_->retire()) {
    (void)inside_.release();  // all of it is the parent's
    return;
  }
  {
    const Dispatcher::Guard guard(inside_->dispatcher);
    inside_->begin_anew();
  }
  inside_.reset();
}

Seed LoanReceiver::make_seed() {
  const Dispatcher::Guard guard(inside_->dispatcher);
  if (!guard) throw_forked();
  inside_->begin_anew();
  if (inside_->door.arm(0, {0, sizeof(LoanOpen)}) != Status::ok) throw_forked();
  inside_->state = Inside::State::offered;
  return protocols::make_seed(inside_->door.ticket(0), SeedKind::loan);
}

Status LoanReceiver::receive(Borrowed& out, std::chrono::nanoseconds timeout) noexcept {
  Inside& inside = *inside_;
  Dispatcher::PendingCall call(inside.dispatcher, inside.calls);
  const bool patient = timeout > std::chrono::nanoseconds{0};
  bool standing = false, wanted = false;
  std::optional<Inside::Opening> opening;
  const auto look = [&] {
    const Dispatcher::Guard guard(inside.dispatcher);
    if (!guard) return Status::forked;
    if (call.closing()) [[unlikely]]
      return Status::cancelled;
    LoanMessage message;
    const Status status = inside.look(message, out.index_, standing);
    if (status == Status::ok) [[likely]] {
      out.lender_ = inside.lender;
      ++out.lender_->borrowed;
      out.number_ = message.number;
      out.bytes_ = out.lender_->bytes(out.index_, message.length);
      return status;
    }
    if (status == Status::not_ready && guard.nested()) {  // the opener goes on knocking
      inside.dispatcher.waiting.changed();
      return Status::invalid;
    }
    if (status == Status::not_ready) {
      opening = inside.opening;
      wanted = admit(opening->opener);
      inside.state = Inside::State::opening;
    } else if (status != Status::pending) {
      return status;
    }
    // A sender may wait for what streams of this manager have put together.
    if (!guard.nested()) inside.dispatcher.settle_before_wait();
    if (status == Status::pending && !patient) return status;
    if (guard.nested()) return Status::invalid;
    call.begin();
    if (standing && std::exchange(inside.more, false)) inside.dispatcher.waiting.changed();  // there is more
    return status;
  };
  std::optional<library::Deadline> deadline;
  if (out) out.give_back();  // it may be of another manager
  // Without time to wait, too, a look goes through all that may stand in the queue.
  for (std::size_t looks = inside.queue.capacity() / Dispatcher::kMostAtOnce;;) {
    standing = false;
    Status status = look();
    if (status == Status::pending && patient) {
      standing = true;
      if (!deadline) deadline = library::deadline_in(timeout);
      status = inside.dispatcher.waiting.until(look, *deadline, call.cancels());
    } else if (status == Status::pending) {
      if (!std::exchange(inside.more, false) || looks-- == 0) return Status::timed_out;
      continue;
    }
    if (!opening) return status;
    inside.answer(manager_, *opening, wanted);
    opening.reset();
  }
}

bool LoanReceiver::admit(std::uint64_t) noexcept { return true; }

void LoanReceiver::retire() noexcept { inside_->retire(); }

std::uint64_t LoanReceiver::sender() const noexcept {
  const Dispatcher::Guard guard(inside_->dispatcher);
  return guard ? inside_->sender : 0;
}

int LoanReceiver::descriptor() { return inside_->queue.descriptor(); }

}  // namespace hamlyn
