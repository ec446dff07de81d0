#pragma once
// Who was told what, in memory that the driver shares with all players (a memfd) and that outlives each of
// them. A record is one byte, written before or after the call that it is about, so that a player may be
// killed between any two of them and the record is true all the same.
//
// An account is some letters of one sender's life to one receiver's life. The sender opens it, writes what it
// is told of each letter, and closes it; the receiver counts how often it has got each. Only the driver frees
// it, when it has judged it.
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"
#include "test/chaos/latency.h"
#include "test/chaos/letter.h"

namespace hamlyn::chaos {

inline constexpr std::uint32_t kSeats = 128;
inline constexpr std::uint32_t kAccounts = 1024;
inline constexpr std::uint32_t kLetters = 1024;  // of one account

// What a sender knows of a letter.
enum class Said : std::uint8_t {
  nothing,    // it was never sent
  tried,      // the call was made, and what came of it is not known
  accepted,   // it is on its way: it arrives if the receiver lives, unless the sender is told of the link's
              // end
  delivered,  // it has arrived
  refused,    // it has not arrived, and will not
};

enum class Closed : std::uint32_t {
  not_yet,
  in_order,  // what was accepted arrives
  by_end,    // its sender was told that the link, or the stream, has ended
};

struct Account {
  std::atomic<std::uint64_t>
      sender;  // seat + 1 in the upper half, its life in the lower; 0: the account is free
  std::atomic<std::uint32_t> serial;  // of this use
  std::atomic<std::uint32_t> to;      // the receiver's seat
  std::atomic<std::uint32_t> to_life;
  std::atomic<bool> open;       // all of the above is there
  std::atomic<bool> untouched;  // nobody has hurt either of the two, nor the daemon, since it was opened
  std::atomic<bool> stalled;    // one of the two was stopped for so long that their link may have ended
  std::atomic<Closed> closed;
  std::atomic<std::uint32_t> next;  // the receiver's, of protocols that keep the order
  std::array<std::atomic<Said>, kLetters> said;
  std::array<std::atomic<std::uint8_t>, kLetters> times;
};

struct Seat {
  std::atomic<std::uint32_t> life;       // how many have sat here before; the driver's
  std::atomic<std::uint64_t> interface;  // of this life; 0: it has none yet
  std::atomic<Status> last;              // what its last call was answered
  std::atomic<bool> quiet;               // sends nothing, and waits for no answer
  // For who scribbles: where it may. How often that was written, times two; odd: it is being written.
  std::atomic<std::uint64_t> sandbox;
  std::array<Ticket, 5> tickets;  // of fast mode, and of entries
  std::array<char, 32> role;
};

enum class Phase : std::uint32_t { run, rest, leave };

struct Tally {
  std::atomic<std::uint64_t> letters;    // accepted or delivered, as their senders were told
  std::atomic<std::uint64_t> delivered;  // of those: told to have arrived
  std::atomic<std::uint64_t> received;
  std::atomic<std::uint64_t> refused;
  std::atomic<std::uint64_t> unknown;  // tried, and the sender was killed or told of an end
  std::atomic<std::uint64_t>
      excused;                      // accepted and not received: the receiver was killed, or the sender told
  std::atomic<std::uint64_t> late;  // of an account that was judged before
  std::atomic<std::uint64_t> ends;  // accounts closed by an end
  std::atomic<std::uint64_t> scribbles;  // links that were scribbled over
  std::atomic<std::uint64_t> names;      // registered, found and withdrawn
};

struct Ledger {
  std::atomic<Phase> phase;
  std::atomic<bool> chaos;  // which of the two latencies counts
  std::array<Latency, 2> latency;
  Tally tally;
  std::atomic<std::uint32_t> serials;
  std::atomic<std::uint32_t> faults;
  std::array<std::array<char, 200>, 32> fault_texts;
  std::atomic<std::uint32_t> sorrows;  // players that ended with an Error, by its code
  std::array<std::atomic<std::uint32_t>, 64> errors;
  std::array<Seat, kSeats> seats;
  std::array<Account, kAccounts> accounts;

  // A promise was broken. Kept with its text, of the first 32.
  void fault(const std::string& text) noexcept;

  // The receiver's: a letter has come to `seat`. Says what is wrong with that, by `fault`.
  void receive(std::uint32_t seat, std::span<const std::byte> bytes, bool in_order) noexcept;
  // The same, of letters that are counted in a word and not seen: all up to that number.
  void receive_up_to(Account& account, std::uint32_t count) noexcept;
};

// A new one, all zero, that forked children share.
Ledger& make_ledger();

// The sender's side of an account.
class Book {
 public:
  // For letters to whoever sits at `to` with the interface `interface`; it says `full` at once if nobody
  // does.
  Book(Ledger& ledger, std::uint32_t seat, std::uint32_t to, std::uint64_t interface);
  ~Book() { close(Closed::in_order); }
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  bool full() const noexcept { return account_ == nullptr || next_ == kLetters; }
  // The next letter, of that length. The same until it is said what became of it.
  Letter letter(std::size_t length) const noexcept;
  std::uint32_t account() const noexcept;
  std::uint32_t next() const noexcept { return next_; }

  void about_to_send() noexcept { say(next_, Said::tried); }
  void go_on(Said said) noexcept { say(next_++, said); }
  void say(std::uint32_t number, Said said) noexcept;
  void close(Closed how) noexcept;

 private:
  Ledger& ledger_;
  Account* account_ = nullptr;
  std::uint32_t next_ = 0;
};

}  // namespace hamlyn::chaos
