#pragma once
// Machine of what goes on with one other rank over a VI (paper 2, section 6): requests of this rank's, for
// which there are credits, and requests of the other's, which are handled as they come. No waiting.
//
// A request takes a credit, and a reply needs none: each side has receives for all requests that the other
// may have under way, and for all replies to its own. So who waits for a credit or a reply, and handles what
// comes meanwhile, waits for nobody who waits.
//
// Requests are handled in the order of their numbers. One that comes before its turn, or that is to be
// answered when no send is free, is kept with its receive.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/assert.h"
#include "base/copy.h"
#include "base/namespaces.h"
#include "splitc/shared_word.h"
#include "splitc/splitc_wire.h"
#include "splitc/strided.h"
#include "splitc/vi/message.h"
#include "splitc/word_operation.h"

namespace hamlyn::internal_::splitc {

// Rules that a rank has broken.
enum class Broken : std::uint8_t {
  none,
  kind,       // no message is of that kind
  number,     // its turn is another
  length,     // it has more or fewer bytes than it should
  credits,    // it has more under way than it may
  place,      // it leads out of the heap
  operation,  // there is none of that number, or the word is not aligned
  unasked,    // nothing was asked that it answers
  store,      // so many stores are not under way
};
// Says it in words.
const char* words_of(Broken rule) noexcept;

// Heap of this rank, as requests reach it.
struct OwnHeap {
  std::byte* segment = nullptr;        // which begins with the control block
  std::uint64_t first = 0, bytes = 0;  // places of the heap
  std::byte* stored = nullptr;         // word that counts what the other rank has stored
};

// `Line` leads to the other rank: has_room, take_room, give_room (credits); may_send; next_bytes; send.
template <class Line>
class Partner {
 public:
  // Throws std::bad_alloc.
  Partner(const Line& line, const OwnHeap& heap, std::uint32_t credits)
      : line_(line),
        heap_(heap),
        credits_(credits),
        quarter_(std::max(credits / 4, 1u)),
        asked_(credits),
        kept_(credits) {}

  // --- this rank's requests

  bool may_ask() noexcept { return line_.has_room() && line_.may_send(); }
  // Each needs may_ask. What is answered counts down in `under_way`, unless that is null. False: the
  // connection is over.
  bool read(const Piece& from, std::byte* into, std::uint32_t* under_way) noexcept {
    const auto bytes = static_cast<std::uint16_t>(from.bytes());
    const std::size_t length = begin(from);
    return ask(from.count == 1 ? Say::read : Say::read_rows, bytes, length, {into, bytes, under_way});
  }
  bool write(const Piece& to, const std::byte* from, std::uint32_t* under_way) noexcept {
    const std::size_t length = fill(to, from);
    return ask(to.count == 1 ? Say::write : Say::write_rows, static_cast<std::uint16_t>(to.bytes()), length,
               {nullptr, 0, under_way});
  }
  bool store(const Piece& to, const std::byte* from) noexcept {
    const std::size_t length = fill(to, from);
    return tell(to.count == 1 ? Say::store : Say::store_rows, static_cast<std::uint16_t>(to.bytes()), length);
  }
  // Adds 1 to a word, behind stores.
  bool count(std::uint64_t place) noexcept { return tell(Say::count, 0, begin({.place = place})); }
  // `before`: gets what stood there, 8 bytes; or null.
  bool fetch(std::uint64_t place, const Fetch& fetch, std::byte* before, std::uint32_t* under_way) noexcept {
    const WordRequest request{place, fetch.operand, fetch.compare, static_cast<std::uint32_t>(fetch.op),
                              fetch.bytes};
    std::memcpy(line_.next_bytes().data(), &request, sizeof request);
    return ask(Say::fetch, 0, sizeof request, {before, sizeof(std::uint64_t), under_way});
  }

  // Requests that were sent, and how many of the other's were handled.
  std::uint64_t sent() const noexcept { return sent_; }
  std::uint64_t handled() const noexcept { return handled_; }
  // Requests that are answered: how many were sent, and how many answers have come.
  std::uint64_t asked() const noexcept { return last_asked_; }
  std::uint64_t answered() const noexcept { return answered_; }
  // Nothing lands any more where requests would have it.
  void forget() noexcept { forgotten_ = true; }
  // Nothing is counted down any more in `under_way`, which goes.
  void forget(const std::uint32_t* under_way) noexcept {
    for (std::uint64_t i = answered_; i != last_asked_; ++i)
      if (Asked& asked = asked_[i % credits_]; asked.under_way == under_way) asked.under_way = nullptr;
  }

  // --- what comes

  struct Heard {
    Broken broken = Broken::none;
    bool kept = false;  // its receive is needed until `go_on` has handled it
  };
  // `place`: of its receive.
  Heard hear(std::uint32_t bits, std::span<const std::byte> bytes, std::uint32_t place) noexcept {
    const Word word = word_of(bits);
    if (!is_request(word.say)) return {hear_reply(word, bytes)};
    if (under_way_there_ == credits_) return {Broken::credits};
    const std::uint64_t ahead = (word.number - handled_) & kNumbers;
    if (ahead >= credits_ || kept_[(handled_ + ahead) % credits_].here) return {Broken::number};
    ++under_way_there_;
    if (ahead != 0 || !can_handle(word.say)) {
      kept_[(handled_ + ahead) % credits_] = {word, bytes, place, true};
      return {Broken::none, true};
    }
    return {handle(word, bytes)};
  }
  // Whether `go_on` may have something to do.
  bool is_behind() const noexcept { return kept_[handled_ % credits_].here || owed_ >= quarter_; }
  // Handles what was kept, and acknowledges, as far as it can; `free(place)` gets receives back.
  template <class Free>
  Broken go_on(Free free) noexcept {
    Broken broken = Broken::none;
    for (;;) {
      Kept& next = kept_[handled_ % credits_];
      if (!next.here || broken != Broken::none || !can_handle(next.word.say)) break;
      next.here = false;
      broken = handle(next.word, next.bytes);
      free(next.place);
    }
    if (owed_ >= quarter_) acknowledge();
    return broken;
  }

 private:
  // A request that is answered.
  struct Asked {
    std::byte* into = nullptr;
    std::uint32_t bytes = 0;
    std::uint32_t* under_way = nullptr;
    std::uint16_t number = 0;
    bool over = false;
  };
  struct Kept {
    Word word;
    std::span<const std::byte> bytes;
    std::uint32_t place = 0;
    bool here = false;
  };

  // --- this rank's requests

  // Writes where it goes. Returns how long that is.
  std::size_t begin(const Piece& to) noexcept {
    std::byte* const at = line_.next_bytes().data();
    if (to.count == 1) {
      const Place head{to.place};
      std::memcpy(at, &head, sizeof head);
      return sizeof head;
    }
    const Rows head{to.place, to.stride, to.chunk, to.count};
    std::memcpy(at, &head, sizeof head);
    return sizeof head;
  }
  std::size_t fill(const Piece& to, const std::byte* from) noexcept {
    const std::size_t head = begin(to);
    base::copy_from_shared(line_.next_bytes().data() + head, from, to.bytes());
    return head + to.bytes();
  }
  bool ask(Say say, std::uint16_t bytes, std::size_t length, Asked asked) noexcept {
    HAMLYN_ASSERT(last_asked_ - answered_ < credits_, "each has a credit");
    asked.number = static_cast<std::uint16_t>(sent_ & kNumbers);
    if (!request(say, bytes, length)) return false;
    asked_[last_asked_++ % credits_] = asked;
    return true;
  }
  bool tell(Say say, std::uint16_t bytes, std::size_t length) noexcept {
    if (!request(say, bytes, length)) return false;
    ++stores_;
    return true;
  }
  bool request(Say say, std::uint16_t bytes, std::size_t length) noexcept {
    const Word word{say, static_cast<std::uint16_t>(sent_ & kNumbers), bytes};
    if (!line_.send(bits_of(word), length)) return false;
    line_.take_room();
    ++sent_;
    return true;
  }

  // --- replies to them

  Broken hear_reply(const Word& word, std::span<const std::byte> bytes) noexcept {
    switch (word.say) {
      case Say::data:
        return hear_answer(word, bytes);
      case Say::done:
        return bytes.size() == 1 ? hear_answer(word, {}) : Broken::length;
      case Say::acknowledge:
        if (bytes.size() != 1) return Broken::length;
        if (word.bytes == 0 || word.bytes > stores_ || word.number != 0) return Broken::store;
        for (std::uint32_t i = 0; i != word.bytes; ++i) line_.give_room();
        stores_ -= word.bytes;
        return Broken::none;
      default:
        return Broken::kind;
    }
  }
  // Credits come back in the order of the requests.
  Broken hear_answer(const Word& word, std::span<const std::byte> bytes) noexcept {
    Asked* const asked = asked_with(word.number);
    if (asked == nullptr) return Broken::unasked;
    if (!forgotten_) {
      if (word.bytes != bytes.size() || bytes.size() != asked->bytes) return Broken::length;
      if (asked->into != nullptr) base::copy_to_shared(asked->into, bytes.data(), bytes.size());
      if (asked->under_way != nullptr) --*asked->under_way;
    }
    asked->over = true;
    for (; answered_ != last_asked_ && asked_[answered_ % credits_].over; ++answered_) line_.give_room();
    return Broken::none;
  }
  // Most answers are to the oldest. Null: it is none's that is under way.
  Asked* asked_with(std::uint16_t number) noexcept {
    for (std::uint64_t i = answered_; i != last_asked_; ++i)
      if (Asked& asked = asked_[i % credits_]; asked.number == number) return asked.over ? nullptr : &asked;
    return nullptr;
  }

  // --- the other's requests

  bool can_handle(Say say) noexcept { return is_store(say) || line_.may_send(); }
  Broken handle(const Word& word, std::span<const std::byte> bytes) noexcept {
    const Broken broken = act(word, bytes);
    ++handled_;
    return broken;
  }
  Broken act(const Word& word, std::span<const std::byte> bytes) noexcept {
    if (word.say == Say::fetch) return operate(word, bytes);
    Piece piece;
    const Broken broken = find(word, bytes, piece);
    if (broken != Broken::none) return broken;
    std::byte* const at = heap_.segment + piece.place;
    const Strides shape = piece.strides();
    const Strides* const strides = piece.count == 1 ? nullptr : &shape;
    switch (word.say) {
      case Say::read:
      case Say::read_rows:
        gather_from(line_.next_bytes().first(piece.bytes()), at, strides);
        return reply(Say::data, word.number, piece.bytes());
      case Say::write:
      case Say::write_rows:
        scatter_to(at, bytes, strides);
        return reply(Say::done, word.number, 0);
      case Say::count:
        if (piece.place % sizeof(std::uint64_t) != 0) return Broken::operation;
        apply<std::uint64_t>(at, {.operand = 1});
        return owe();
      default:
        scatter_to(at, bytes, strides);
        stored_ += bytes.size();
        set(heap_.stored, stored_);
        return owe();
    }
  }
  // Finds what a request is about; `bytes` is then the data alone.
  Broken find(const Word& word, std::span<const std::byte>& bytes, Piece& out) const noexcept {
    const bool rows = word.say >= Say::read_rows;
    const std::size_t head = rows ? sizeof(Rows) : sizeof(Place);
    if (bytes.size() < head) return Broken::length;
    if (rows) {
      Rows said;
      std::memcpy(&said, bytes.data(), sizeof said);
      if (said.count < 2 || said.chunk == 0 || std::uint64_t{said.chunk} * said.count != word.bytes)
        return Broken::length;
      out = {said.place, 0, said.stride, said.chunk, said.count};
    } else {
      Place said;
      std::memcpy(&said, bytes.data(), sizeof said);
      out = {said.place, 0, 0, word.say == Say::count ? std::uint32_t{sizeof(std::uint64_t)} : word.bytes, 1};
    }
    bytes = bytes.subspan(head);
    const bool brings = word.say != Say::read && word.say != Say::read_rows && word.say != Say::count;
    if (bytes.size() != (brings ? word.bytes : 0u) || word.bytes > kMostMessage ||
        (word.bytes == 0) != (word.say == Say::count))
      return Broken::length;
    return is_inside(out) ? Broken::none : Broken::place;
  }
  bool is_inside(const Piece& piece) const noexcept {
    const std::uint64_t from = piece.place - heap_.first;
    if (from > heap_.bytes) return false;
    const Strides shape = piece.strides();
    return fits(heap_.bytes - from, piece.bytes(), piece.count == 1 ? nullptr : &shape);
  }
  Broken operate(const Word& word, std::span<const std::byte> bytes) noexcept {
    WordRequest said;
    if (bytes.size() != sizeof said || word.bytes != 0) return Broken::length;
    std::memcpy(&said, bytes.data(), sizeof said);
    const Fetch fetch{static_cast<FetchOp>(said.op), said.bytes, said.operand, said.compare};
    if (said.op > 0xFF || !is_operation(fetch) || said.place % said.bytes != 0) return Broken::operation;
    if (!is_inside({.place = said.place, .chunk = said.bytes})) return Broken::place;
    const std::uint64_t before = apply(heap_.segment + said.place, fetch);
    std::memcpy(line_.next_bytes().data(), &before, sizeof before);
    return reply(Say::data, word.number, sizeof before);
  }
  // If it cannot leave, the connection is over, and nobody waits for it.
  Broken reply(Say say, std::uint16_t number, std::size_t length) noexcept {
    static_cast<void>(line_.send(bits_of({say, number, static_cast<std::uint16_t>(length)}), length));
    --under_way_there_;
    return Broken::none;
  }
  Broken owe() noexcept {
    if (++owed_ >= quarter_) acknowledge();
    return Broken::none;
  }
  void acknowledge() noexcept {
    if (!line_.may_send()) return;
    if (!line_.send(bits_of({Say::acknowledge, 0, static_cast<std::uint16_t>(owed_)}), 0)) return;
    under_way_there_ -= owed_;
    owed_ = 0;
  }

  Line line_;
  const OwnHeap heap_;
  const std::uint32_t credits_, quarter_;
  std::uint64_t sent_ = 0;
  std::uint32_t stores_ = 0;  // that were not acknowledged
  std::vector<Asked> asked_;  // a ring, as the next
  std::uint64_t last_asked_ = 0, answered_ = 0;
  bool forgotten_ = false;
  std::vector<Kept> kept_;  // by number
  std::uint64_t handled_ = 0;
  std::uint32_t under_way_there_ = 0;  // that this side has not answered or acknowledged
  std::uint32_t owed_ = 0;             // stores of them that were handled
  std::uint64_t stored_ = 0;           // bytes
};

}  // namespace hamlyn::internal_::splitc
