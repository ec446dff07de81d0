#include <algorithm>
#include <exception>

#include "hamlyn/core/mapped_slot.h"
#include "hamlyn/protocols/loan.h"
#include "library/no_link.h"
#include "library/with_memory.h"
#include "protocols/copy_of.h"
#include "protocols/library_port.h"
#include "protocols/loan_book.h"
#include "protocols/loan_words.h"
#include "protocols/seeds.h"

namespace hamlyn {

using protocols::Dispatcher;
using protocols::LoanBook;
using protocols::LoanHeader;
using protocols::LoanHolder;
using protocols::LoanPlace;
using protocols::LoanRefused;
using protocols::LoanWords;
using protocols::throw_forked;

namespace {

// Given to receivers before a buffer is said to be missing: one of them may tell of an end.
constexpr int kArrivals = 64;

}  // namespace

namespace internal_::protocols {

// A pool's record of one receiver. It lives longer than its LoanSender if something is still lent.
struct LoanHolder final : Receiver, Due {
  // Steps of the opening, each of which may have to wait for the receiver's side.
  enum class State : std::uint8_t { fresh, asked, refused, answered, mapping, reaching, open };

  LoanHolder(Manager& manager, LoanBook& the_book, const Ticket& the_door, std::uint32_t the_most)
      : Receiver(manager),
        book(the_book),
        door(the_door),
        peer(the_door.interface),
        most(the_most),
        desk(manager.inside(), *this, 64, {.entries = 1, .places = 8}),
        terminus(manager.interface(), {.entries = 2}) {
    manager.inside().expect_due();
  }
  ~LoanHolder() override { manager().inside().remove(*this); }

  void process_arrival(const Notification& arrival) override {
    hear(arrival);
    if (!opened() && !settle()) manager().inside().add(*this);
  }

  void hear(const Notification& arrival) noexcept {
    if (arrival.kind == Notification::Kind::failed) return finish(Status::link_ended);
    // Only by the receiver's doing can somebody have a ticket to the entry by which we hear of its end.
    if (!arrival.fast) return finish(Status::broken);
    if (arrival.peer != peer) return;  // of somebody who was shown our ticket
    switch (static_cast<LoanWord>(arrival.word)) {
      case LoanWord::answer:
        if (state == State::asked) {
          const auto said = copy_of<LoanAnswer>(desk.bytes().subspan(arrival.offset, arrival.length));
          if (!said || !good(*said)) return finish(Status::broken);
          answer = *said;
          state = State::answered;
        }
        return;
      case LoanWord::refuse:
        if (state == State::asked) {
          const auto said = copy_of<LoanRefused>(desk.bytes().subspan(arrival.offset, arrival.length));
          refused = said.value_or(LoanRefused{});
          state = State::refused;
        }
        return;
      case LoanWord::given_back:
        return;  // whoever waits looks again
      case LoanWord::gone:
        return finish(Status::closed);
    }
    finish(Status::broken);
  }

  // Nobody is there any more who would give anything back.
  void finish(Status why) noexcept {
    if (end == Status::ok) end = why;
    book.clear(shelf);
  }

  // --- the opening, under the manager's lock

  bool opened() const noexcept { return state == State::open; }
  bool answered() const noexcept { return state >= State::answered; }
  // Goes on as far as can be. pending: not open yet; ok; otherwise why it never will be.
  Status go_on_opening() noexcept {
    if (end == Status::ok && state == State::fresh) ask();
    if (end == Status::ok && state == State::asked) look_whether_it_was_taken();
    if (end == Status::ok && state == State::refused) finish(Status::refused);
    if (end == Status::ok && state == State::answered) begin_mapping();
    if (end == Status::ok && state == State::mapping && mapping->opened({}) != Status::timed_out)
      take_mapping();
    if (end == Status::ok && state == State::reaching) reach();
    if (end != Status::ok) return end;
    return opened() ? Status::ok : Status::pending;
  }
  // True: the opening is over, or nothing but an answer of the receiver's can bring it on.
  bool settle() noexcept override {
    const bool over = go_on_opening() != Status::pending;
    return over || (state == State::asked && terminus.status(asked) != Status::pending);
  }

  // Asks over a link that is watched: from there on its end fails the desk's entry, which is how we hear of
  // it. Otherwise the answer, its link's end and another link with the same peer may all be there at the next
  // look, and that link's end would tell nothing.
  void ask() noexcept {
    const Status linked = terminus.try_connect(door);
    if (for_now(linked)) return;
    if (linked != Status::ok) return finish(linked);
    if (desk.expect(0, peer) != Status::ok) return;  // it has ended: another one is asked for
    const Status sent =
        terminus.send(door, std::as_bytes(std::span{&opener, 1}), {.acknowledged = true}, &asked);
    if (sent == Status::queue_full) return;
    if (sent != Status::ok && sent != Status::pending) return finish(sent);
    state = State::asked;
  }
  void look_whether_it_was_taken() noexcept {
    const Status taken = terminus.status(asked);
    if (taken == Status::refused) refusal = terminus.refusal(asked);
    if (taken != Status::ok && taken != Status::pending) finish(taken);
  }
  void begin_mapping() noexcept {
    fail_with_errors([&] {
      mapping = std::make_unique<MappedSlot>(manager().interface(), answer.returns(peer), kBegin);
      state = State::mapping;
    });
  }
  void take_mapping() noexcept {
    fail_with_errors([&] {
      mapping->open({});
      page = std::move(mapping);
      state = State::reaching;
    });
    mapping.reset();
    if (page == nullptr) return;
    const std::span<const std::byte> bytes = page->bytes();
    if (bytes.size() < sizeof(LoanReturns) ||
        reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(LoanReturns) != 0)
      finish(Status::broken);
  }
  void reach() noexcept {
    const Ticket ticket = answer.landing(peer);
    const Status reached = terminus.try_connect(ticket);
    if (for_now(reached)) return;
    if (reached != Status::ok) return finish(reached);
    landing = ticket;
    numbers = reinterpret_cast<const LoanReturns*>(page->bytes().data())->numbers;
    state = State::open;
  }
  template <class Work>
  void fail_with_errors(Work work) noexcept {
    try {
      work();
    } catch (const std::bad_alloc&) {
      finish(Status::no_buffer);
    } catch (const Error& error) {
      const bool no_memory = error.code() == ErrorCode::out_of_memory;
      const bool gone = error.code() == ErrorCode::peer_died || !manager().inside().linked(peer);
      // A slot that cannot be mapped is none that an honest receiver names.
      const bool wrong = error.code() == ErrorCode::not_permitted;
      finish(no_memory ? Status::no_buffer
             : gone    ? Status::link_ended
             : wrong   ? Status::broken
                       : Status::refused);
    }
  }

  void collect() noexcept {
    if (numbers == nullptr) return;
    book.collect(shelf, [&](std::uint32_t index) { return LoanWords<>::given_back(numbers[index]); });
  }

  bool over() const noexcept { return orphan && (end != Status::ok || shelf.count() == 0); }

  LoanBook& book;
  const Ticket door;
  const std::uint64_t peer;
  const std::uint32_t most;
  LibraryPort::Landing desk;  // where the receiver answers
  LoanOpen opener;            // for it, until that has left
  Terminus terminus;
  LoanBook::Shelf shelf;
  SendHandle asked;
  Refusal refusal = Refusal::none;
  LoanRefused refused;                     // as the receiver says
  std::unique_ptr<MappedSlot> mapping;     // the receiver's, while it is being mapped
  Ticket landing;                          // where loans are told
  std::unique_ptr<MappedSlot> page;        // the receiver's
  const std::uint32_t* numbers = nullptr;  // that it has given back, there
  LoanAnswer answer;
  State state = State::fresh;
  Status end = Status::ok;
  bool orphan = false;  // its LoanSender has gone
};

}  // namespace internal_::protocols

struct LoanPool::Inside {
  Inside(Manager& manager, const protocols::LoanCuts& the_cuts)
      : dispatcher(manager.inside()),
        cuts(the_cuts),
        book(cuts),
        area(manager.interface(), protocols::loan_area_bytes(cuts), Sharing::mapped_read_only),
        slot(area, manager.queue(), {.access = Access::read_only}),
        header(*reinterpret_cast<LoanHeader*>(area.bytes().data())) {
    protocols::place_loans(cuts, [&](const LoanPlace& place) { places.push_back(place); });
  }

  // All of it under the manager's lock.

  bool take(std::size_t bytes, LoanPool& pool, Loan& out) noexcept {
    const auto index = book.take(bytes);
    if (!index) return false;
    show_number(*index);
    out.pool_ = &pool;
    out.index_ = *index;
    out.bytes_ = area.bytes(places[*index].offset, bytes);
    return true;
  }
  void show_number(std::uint32_t index) noexcept {
    LoanWords<>::show(header.numbers[index], book.number(index), book.taken_by_force(index));
  }
  void collect() noexcept {
    for (const auto& holder : holders) holder->collect();
  }
  // Receivers that give something back from here on ring.
  void ask_for_returns() noexcept {
    LoanWords<>::want(header.wanted);
    collect();
  }
  void forget_those_done() noexcept {
    std::erase_if(holders, [](const auto& holder) { return holder->over(); });
  }
  LoanHolder* add(std::unique_ptr<LoanHolder> holder) {
    holders.push_back(std::move(holder));
    return holders.back().get();
  }
  // One that is not open. Its receiver may answer when nobody is here any more, or have answered, which
  // nobody has heard yet.
  void remove(LoanHolder* gone) noexcept {
    dispatcher.interface.run();
    gone->desk.change_key();
    dispatcher.hear_last(gone->desk.number(), [&](const Notification& each) { gone->hear(each); });
    if (gone->answered() && (gone->end == Status::ok || gone->end == Status::link_ended))
      dispatcher.farewell(gone->answer.landing(gone->peer), protocols::kLoansClosed);
    std::erase_if(holders, [&](const auto& holder) { return holder.get() == gone; });
  }

  Dispatcher& dispatcher;
  const protocols::LoanCuts cuts;
  LoanBook book;
  std::vector<LoanPlace> places;
  MessageArea area;
  Slot slot;  // whose ticket lets receivers map the area, and nothing else
  LoanHeader& header;
  std::vector<std::unique_ptr<LoanHolder>> holders;
  base::PendingCalls calls;
};

// --- loans

Loan::Loan(Loan&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      index_(other.index_),
      bytes_(std::exchange(other.bytes_, {})) {}

Loan& Loan::operator=(Loan&& other) noexcept {
  if (this == &other) return *this;
  let_go();
  pool_ = std::exchange(other.pool_, nullptr);
  index_ = other.index_;
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

void Loan::let_go() noexcept {
  if (pool_ == nullptr) return;
  const Dispatcher::Guard guard(pool_->inside_->dispatcher);
  if (guard) {
    pool_->inside_->book.let_go(index_);
    pool_->inside_->dispatcher.look_again();  // somebody may wait for a buffer
  }
  pool_ = nullptr;
  bytes_ = {};
}

std::uint32_t Loan::holders() const noexcept {
  if (pool_ == nullptr) return 0;
  const Dispatcher::Guard guard(pool_->inside_->dispatcher);
  if (!guard) return 0;
  pool_->inside_->collect();
  return pool_->inside_->book.holders(index_);
}

void Loan::withdraw() noexcept {
  if (pool_ == nullptr) return;
  LoanPool::Inside& inside = *pool_->inside_;
  const Dispatcher::Guard guard(inside.dispatcher);
  if (!guard) return;
  for (const auto& holder : inside.holders) inside.book.take_back(index_, holder->shelf);
  inside.book.renew_number(index_);
  inside.show_number(index_);
  inside.dispatcher.look_again();
}

// --- pools

LoanPool::LoanPool(Manager& manager, const std::vector<LoanClass>& classes) try : manager_(manager) {
  protocols::LoanCuts cuts{};
  if (classes.empty() || classes.size() > cuts.size())
    throw Error(ErrorCode::invalid_argument, "a pool of loans has 1 to 8 classes of buffers");
  std::ranges::transform(classes, cuts.begin(), [](const LoanClass& of) {
    return protocols::LoanCut{of.bytes, of.count};
  });
  const bool empty = std::ranges::any_of(classes, [](const LoanClass& of) { return of.count == 0; });
  if (empty || protocols::loan_area_bytes(cuts) == 0)
    throw Error(ErrorCode::invalid_argument,
                "a pool of loans has 1 to 1024 buffers of 1 to 2^30 bytes, and 2^36 bytes at most");
  if (manager.interface().waiting().forked()) throw_forked();
  inside_ = std::make_unique<Inside>(manager, cuts);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a pool of loans");
}

LoanPool::~LoanPool() {
  if (!inside_->dispatcher.close_and_drain(inside_->calls)) {
    (void)inside_.release();  // all of it is the parent's
    return;
  }
  {
    const Dispatcher::Guard guard(inside_->dispatcher);
    inside_->holders.clear();
  }
  inside_.reset();
}

Status LoanPool::take(std::size_t bytes, Loan& out) noexcept {
  Inside& inside = *inside_;
  out.let_go();  // it may be of another manager
  const Dispatcher::Guard guard(inside.dispatcher);
  if (!guard) return Status::forked;
  if (inside.take(bytes, *this, out)) return Status::ok;
  if (bytes > inside.book.longest()) return Status::too_long;
  inside.collect();
  if (inside.take(bytes, *this, out)) return Status::ok;
  if (guard.nested()) return Status::no_buffer;
  for (int i = 0; i < kArrivals && inside.dispatcher.poll(); ++i) {
  }
  inside.collect();
  inside.forget_those_done();
  return inside.take(bytes, *this, out) ? Status::ok : Status::no_buffer;
}

Status LoanPool::take(std::size_t bytes, Loan& out, std::chrono::nanoseconds timeout) noexcept {
  const Status status = take(bytes, out);
  if (status != Status::no_buffer) return status;
  Inside& inside = *inside_;
  Dispatcher::PendingCall call(inside.dispatcher, inside.calls);
  const auto again = [&] {
    inside.ask_for_returns();
    inside.forget_those_done();
    return inside.take(bytes, *this, out) ? Status::ok : Status::pending;
  };
  return inside.dispatcher.wait(call, again, library::deadline_in(timeout));
}

void LoanPool::revoke() {
  const Dispatcher::Guard guard(inside_->dispatcher);
  if (!guard) throw_forked();
  inside_->slot.change_key();
  inside_->area.revoke();
  for (const auto& holder : inside_->holders) {
    if (holder->end != Status::ok) continue;
    if (holder->numbers != nullptr) inside_->dispatcher.farewell(holder->landing, protocols::kLoansClosed);
    holder->finish(Status::closed);  // of those, too, that are being opened: their receivers map what was
  }
  inside_->dispatcher.look_again();
}

std::uint32_t LoanPool::free_buffers() noexcept {
  const Dispatcher::Guard guard(inside_->dispatcher);
  if (!guard) return 0;
  inside_->collect();
  return inside_->book.free_buffers();
}

// --- senders

namespace {

std::string why_refused(LoanRefused refused) {
  if (const NotMapped why = refused.not_mapped(); why != NotMapped::none)
    return std::string("the receiver could not map the pool: ") + text(why);
  switch (refused.why) {
    case LoanRefused::kNotWanted:
      return "the receiver does not want this sender";
    case LoanRefused::kNoMemory:
      return "the receiver has no memory to map the pool with";
    case LoanRefused::kNotInTime:
      return "the receiver did not get the pool mapped in its time: make another sender";
    case LoanRefused::kUnfit:
      return "what the receiver has mapped cannot be the pool";
    default:
      return "the receiver does not want this sender or could not map the pool, and does not say which";
  }
}

[[noreturn]] void throw_unopened(LoanHolder& holder, Status status) {
  if (status == Status::refused && holder.refusal != Refusal::none)
    protocols::throw_refused_seed(holder.refusal);
  if (status == Status::invalid) protocols::throw_nested("a loan sender");
  if (status == Status::no_buffer) library::throw_no_memory("the pages of a receiver of loans");
  library::throw_if_no_link("nothing can be lent there", holder.manager().interface(), holder.peer);
  switch (status) {
    case Status::refused:
      throw Error(ErrorCode::peer_refused, why_refused(holder.refused));
    case Status::timed_out:
      throw Error(ErrorCode::timed_out, "the receiver has not looked at who wants to lend");
    case Status::cancelled:
      throw Error(ErrorCode::cancelled, "cancelled while a loan sender was opened");
    case Status::forked:
      throw_forked();
    case Status::broken:
      throw Error(ErrorCode::peer_refused, "the receiver has said what no receiver says");
    default:
      throw Error(ErrorCode::peer_died, "the receiver has gone, or its process, or its link");
  }
}

bool may_change(Status status) noexcept {
  return status == Status::no_buffer || status == Status::no_place || status == Status::queue_full ||
         status == Status::connecting;
}

}  // namespace

LoanSender::LoanSender(LoanPool& pool, const Seed& seed, const Options& options, Begin) try : pool_(pool) {
  protocols::check_seed(seed, SeedKind::loan);
  if (options.most == 0)
    throw Error(ErrorCode::invalid_argument, "a receiver of loans may have at least one buffer");
  LoanPool::Inside& inside = *pool.inside_;
  const Dispatcher::Guard guard(inside.dispatcher);
  if (!guard) throw_forked();
  if (!guard.nested()) inside.forget_those_done();
  holder_ = inside.add(std::make_unique<LoanHolder>(pool.manager(), inside.book, seed.ticket, options.most));
  holder_->opener.desk = holder_->desk.ticket();
  holder_->opener.area = inside.slot.ticket();
  holder_->opener.cuts = inside.cuts;
  holder_->opener = protocols::in_wire_order(holder_->opener);
  if (!holder_->settle()) inside.dispatcher.add(*holder_);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a sender of loans");
}

LoanSender::~LoanSender() {
  LoanPool::Inside& inside = *pool_.inside_;
  if (!inside.dispatcher.close_and_drain(Dispatcher::calls_of(*holder_))) return;
  const Dispatcher::Guard guard(inside.dispatcher);
  if (!holder_->opened()) {
    inside.remove(holder_);
    return;
  }
  if (holder_->end == Status::ok) inside.dispatcher.farewell(holder_->landing, protocols::kLoansClosed);
  holder_->collect();
  holder_->orphan = true;
  inside.dispatcher.look_again();
  if (!guard.nested()) inside.forget_those_done();
}

Status LoanSender::opened(std::chrono::nanoseconds timeout) noexcept {
  return pool_.inside_->dispatcher.receive(
      *holder_, [&] { return holder_->go_on_opening(); }, timeout);
}

void LoanSender::open(std::chrono::nanoseconds timeout) try {
  if (const Status status = opened(timeout); status != Status::ok) throw_unopened(*holder_, status);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a sender of loans");
}

// Under the lock.
Status LoanSender::try_send(const Loan& loan, std::size_t length) noexcept {
  pool_.inside_->dispatcher.assert_held();
  LoanHolder& holder = *holder_;
  if (holder.end != Status::ok) return holder.end;
  if (loan.pool_ != &pool_) return Status::invalid;
  if (length > loan.bytes_.size()) return Status::too_long;
  LoanBook& book = pool_.inside_->book;
  if (!book.may_lend(loan.index_, holder.shelf)) return Status::invalid;
  if (holder.shelf.count() >= holder.most) {
    holder.collect();
    if (holder.shelf.count() >= holder.most) return Status::no_buffer;
  }
  const protocols::LoanMessage message{book.number(loan.index_), static_cast<std::uint32_t>(length)};
  const Status status = holder.terminus.send_fast(holder.landing, {}, word_of(message), loan.index_);
  if (status == Status::ok) [[likely]] {
    book.lend(loan.index_, holder.shelf);
    return status;
  }
  if (status == Status::no_place || status == Status::queue_full) return status;
  if (!holder.opened()) return Status::connecting;  // there is no landing yet
  // The link that it was opened on has gone, or the slot there.
  holder.finish(status == Status::refused ? Status::closed : Status::link_ended);
  return holder.end;
}

Status LoanSender::send(const Loan& loan, std::size_t length) noexcept {
  Dispatcher& dispatcher = pool_.inside_->dispatcher;
  const Dispatcher::Guard guard(dispatcher);
  if (!guard) return Status::forked;
  const Status status = try_send(loan, length);
  if (status == Status::ok) [[likely]]
    return status;
  if (guard.nested() || !may_change(status)) return status;
  for (int i = 0; i < kArrivals && dispatcher.poll(); ++i) {  // one of them may tell of its end
  }
  return try_send(loan, length);
}

Status LoanSender::send(const Loan& loan, std::size_t length, std::chrono::nanoseconds timeout) noexcept {
  LoanPool::Inside& inside = *pool_.inside_;
  Dispatcher::PendingCall call(inside.dispatcher, Dispatcher::calls_of(*holder_));
  {
    const Dispatcher::Guard guard(inside.dispatcher);
    if (!guard) return Status::forked;
    const Status status = try_send(loan, length);
    if (!may_change(status)) [[likely]]
      return status;
    if (guard.nested()) return Status::invalid;
    if (call.closing()) return Status::cancelled;
    call.begin();
  }
  const auto again = [&] {
    Status status = try_send(loan, length);
    if (status == Status::no_buffer) {
      inside.ask_for_returns();
      status = try_send(loan, length);
    }
    return may_change(status) ? Status::pending : status;
  };
  return inside.dispatcher.wait(call, again, library::deadline_in(timeout));
}

void LoanSender::withdraw() noexcept {
  LoanPool::Inside& inside = *pool_.inside_;
  const Dispatcher::Guard guard(inside.dispatcher);
  if (!guard) return;
  inside.book.clear(holder_->shelf);
  inside.dispatcher.look_again();
}

std::uint32_t LoanSender::held() const noexcept {
  const Dispatcher::Guard guard(pool_.inside_->dispatcher);
  if (!guard) return 0;
  holder_->collect();
  return holder_->shelf.count();
}

Status LoanSender::end() const noexcept {
  const Dispatcher::Guard guard(pool_.inside_->dispatcher);
  return guard ? holder_->end : Status::forked;
}

}  // namespace hamlyn
