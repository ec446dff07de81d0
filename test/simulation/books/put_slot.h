#pragma once
// What must be true of one slot that takes puts, from its making to its end: byte by byte, whose put may
// change it, and what has become of that put. A lane is what one terminus puts there; its bytes are nobody
// else's, and no two puts of it that may still land touch the same ones. Knows nothing of the interface but
// the bytes, what its owner has set, and what the senders were told.
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "hamlyn/core/terminus.h"
#include "hamlyn/values/protection.h"
#include "test/simulation/books/coverage.h"
#include "test/simulation/books/owned_slot.h"

namespace hamlyn::simulation {

struct Put {
  std::uint64_t from = 0;  // number of the process
  unsigned lane = 0;       // its terminus
  std::uint64_t number = 0;
  std::vector<std::uint64_t> places;  // of its bytes, in their order
  std::vector<std::byte> data;
  std::uint64_t landed = 0;  // bytes
  std::uint64_t taken = 0;   // by its owner, while they waited
  std::uint64_t tells = 0;   // notifications that it may cause
  bool single = false;       // one packet, which lands and is told of at one moment
  bool notify = false;
  OperationKind kind = OperationKind::put;
  std::vector<std::byte> as_sent;  // if the numbers of it are turned over on the way
  SendHandle handle;
  bool left = false;      // its terminus is done with it
  bool handed = false;    // what has not landed since waits in the slot, or is lost
  bool promised = false;  // a fence was answered ok
  bool hushed = false;    // a fence that had no answer may have been told that it was lost
  bool excused = false;   // its sender was told that it may be lost, or whoever waited was told to forget it
  bool final = false;     // nothing more of it lands

  bool whole() const noexcept { return landed == data.size(); }
};

class PutSlot {
 public:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kBytes = 2 * kPage;
  static constexpr unsigned kLanes = 2;  // of each process
  static constexpr std::uint64_t kLane = 256;
  // The first words of each lane, in both pages: one that is put again and again, often in both at once; one
  // that signals set, and one that they add to, in the first.
  enum Word : std::uint64_t { clock, set, sum, kWords };

  PutSlot(Area& area, std::uint64_t owner) : area_(area), owner_(owner) { fill(); }

  // --- what its owner has done. `check` was called before each, for what had landed until then.

  bool inhibited = false;
  bool unpinned[2] = {};
  bool guarded = false;  // by `protection`; otherwise its tickets suffice
  Protection protection;
  std::uint64_t key = 0;
  bool open = true;
  std::size_t hold = 0;
  // What waited is forgotten, and what is on its way is refused. `for_all`: by another ticket nobody hears of
  // that.
  void forget(bool for_all = false);
  // What waited there, a put or a part of one, was taken.
  void taken(std::uint64_t offset, std::uint64_t bytes);
  Control control() const noexcept { return control_; }
  void set_control(Control control) {
    control_ = control;
    only_asked_ &= control != Control::always;
  }
  void told(const Notification& notification);
  bool may_write(std::uint64_t number) const;

  // --- what the senders do

  // Null: there is no room for one now. `strided`: in chunks, which `strides` says.
  Put* begin(std::uint64_t from, unsigned lane, std::uint64_t page, std::uint64_t at,
             const std::vector<std::uint64_t>& places, sim::Generator& chance);
  void cancel_begun();  // it was not accepted
  void put_word(std::uint64_t from, unsigned lane, Word word) {
    ++sent_[index(from, lane, word)];
    may_tell_ += 3;  // if it went to both pages, and each of them waited
    if (word != clock) signals_[index(from, lane, word)].push_back(puts_.size());
  }
  std::uint64_t sent(std::uint64_t from, unsigned lane, Word word) { return sent_[index(from, lane, word)]; }
  static std::uint64_t place(std::uint64_t from, unsigned lane, std::uint64_t page, std::uint64_t at) {
    return page * kPage + (from - 1) * kLane * kLanes + lane * kLane + at;
  }
  std::deque<Put>& puts() noexcept { return puts_; }
  std::uint64_t forgotten() const noexcept { return forgotten_; }
  // Something has happened by which puts may be lost.
  void trouble(std::uint64_t from) { troubled_[from] = true; }
  void trouble_all();  // to whoever puts here
  bool troubled(std::uint64_t from) { return troubled_[from]; }
  // A fence of `from` is under way, or is over. While one is, another's may not say what that will: whoever
  // asks first hears of what was lost.
  void asks(std::uint64_t from, int change) { asked_[from] += change; }
  // Nothing more comes of what was put before; `promised`: and all of it has landed, or waits.
  void fenced(std::uint64_t from, unsigned lane, std::size_t before, bool promised);
  // A fence of it had no answer, which may have told of what was lost: what another was promised meanwhile,
  // or was signalled since.
  void unanswered(std::uint64_t from);
  // It was told that some may be lost.
  void told_lost(std::uint64_t from);
  // No link is left: nothing of it is on its way.
  void link_over(std::uint64_t from);

  // Adds the kinds of what `from` has put and has neither landed nor been lost.
  void under_way(std::uint64_t from, Kinds& kinds) const;

  // --- what is checked

  // All that has changed since the last time, and whether it may. `empty`: nothing waits.
  void check(bool empty, bool in_order);
  void check_told() const;
  void check_rest(const std::vector<bool>& alive) const;

 private:
  static std::size_t index(std::uint64_t from, unsigned lane, Word word) {
    return static_cast<std::size_t>(((from - 1) * kLanes + lane) * kWords + word);
  }
  bool asking(std::uint64_t from) const {
    const auto found = asked_.find(from);
    return found != asked_.end() && found->second != 0;
  }
  void fill();
  void see_byte(std::uint64_t at);
  void see_word(std::uint64_t at, bool in_order);
  void see_signal(std::uint64_t from, unsigned lane, std::uint64_t before) const;
  void settle();

  Area& area_;
  const std::uint64_t owner_;
  std::vector<std::byte> shadow_;
  std::vector<std::uint32_t> cover_;  // by byte: a put's number, from 1 on
  std::deque<Put> puts_;
  std::size_t settled_ = 0;  // all before are final
  std::map<std::size_t, std::uint64_t> sent_;
  std::map<std::size_t, std::vector<std::size_t>> signals_;  // puts before each
  std::map<std::size_t, std::uint64_t> signals_over_;        // those of them that are landed or lost
  std::map<std::uint64_t, bool> troubled_;
  std::map<std::uint64_t, int> asked_;  // fences under way, by process
  std::uint64_t forgotten_ = 0;
  Control control_ = Control::conditional;
  bool only_asked_ = true;  // it never was `always`
  std::uint64_t told_ = 0, must_tell_ = 0, may_tell_ = 0;
};

}  // namespace hamlyn::simulation
