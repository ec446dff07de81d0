#pragma once
// The remote operations that a terminus has asked for, and how they ended. A request leaves at once or not at
// all: the papers' direct interface is the one for them (paper 1, section 5.2.2).
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/namespaces.h"
#include "hamlyn/values/remote.h"
#include "hamlyn/values/ticket.h"
#include "interface/core.h"

namespace hamlyn::internal_::interface {

class Terminus;

// Where a get lands: a part of a slot of this interface, or memory of the caller's.
struct Landing {
  std::uint32_t slot = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  // The caller's, who waits, and says so if it waits no more (give_up). Null: the slot.
  std::byte* to = nullptr;
};

class Requests {
 public:
  Requests(Core& core, Terminus& terminus, std::size_t entries);
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // pending: asked. ok: a fetch that nobody answers has left. Otherwise nothing was done. `queue` is the one
  // of the options.
  Status fetch(const Ticket& ticket, const Fetch& fetch, const RemoteOptions& options, Queue* queue,
               RemoteHandle* handle) noexcept;
  Status get(const Ticket& ticket, const Landing& landing, const RemoteOptions& options, Queue* queue,
             RemoteHandle* handle) noexcept;

  // A fence waits for this on a link that does not keep the order: so much had been put there when it began
  // to. A caller that asks again and again keeps the mark, so that puts of others meanwhile do not make it
  // wait longer.
  struct Mark {
    std::uint64_t link = 0;  // its serial; 0: it does not wait yet
    std::uint64_t count = 0;
  };
  // Whether all puts to that slot before have landed. On a link that does not keep the order, queue_full
  // while some are on their way. Without a mark of its own: those of this terminus before the last call.
  Status fence(const Ticket& ticket, const RemoteOptions& options, Queue* queue, RemoteHandle* handle,
               Mark* mark = nullptr) noexcept;
  // Asks for the word of `bytes` bytes at options.offset as soon as it is not `seen`. Of a link's places,
  // kMostWatches are for watches.
  Status watch(const Ticket& ticket, std::uint32_t bytes, std::uint64_t seen, const RemoteOptions& options,
               RemoteHandle* handle) noexcept;
  // Whether the slot is still open as it was: its owner is asked, and no fence answered for.
  Status look(const Ticket& ticket, RemoteHandle* handle) noexcept;
  // The terminus has put something: its next fence has more to wait for.
  void forget_mark() noexcept { mark_ = {}; }

  // `invalid`: no such operation, or so long over that its place has another.
  Outcome outcome(RemoteHandle handle) const noexcept;

  // Remembers the place for a caller that looks often.
  struct Place {
    std::uint64_t sequence;
    std::size_t index;
  };
  Place find(RemoteHandle handle) const noexcept {
    return {handle.sequence, handle.sequence & (records_.size() - 1)};
  }
  Outcome outcome(Place place) const noexcept {
    const Record& record = records_[place.index];
    return place.sequence != 0 && place.sequence == record.sequence ? record.outcome : Outcome{};
  }
  // Somebody waits for its outcome, which stays until that is over. Whoever holds it is the only one.
  void hold(RemoteHandle handle) noexcept { records_[find(handle).index].held = true; }
  // Whether it was held.
  bool let_go(Place place) noexcept {
    Record& record = records_[place.index];
    return place.sequence == record.sequence && std::exchange(record.held, false);
  }
  // Nobody waits for it any more. What the answer to a fence says of puts that were refused, or are lost, the
  // next fence of this terminus says: it does not leave before. What was to land in the caller's memory does
  // not. A watch is taken back.
  void give_up(Place place) noexcept;
  // Returns how a fence ends by its answer: the first refusal that nobody has heard of, if there is one; or
  // link_ended, if puts may be lost with an earlier link, and why that has ended.
  static Status settle_fence(Asked& asked, Status status, std::uint64_t& value) noexcept;
  // The link by which the answer will come; null if it is over.
  Link* link(Place place) const noexcept {
    const Record& record = records_[place.index];
    return place.sequence == record.sequence && record.outcome.status == Status::pending ? record.link
                                                                                         : nullptr;
  }

  // Told by the core: `asked` is over.
  void over(const Asked& asked, std::uint64_t peer, Status status, std::uint64_t value) noexcept {
    Record& record = records_[asked.record];
    record.outcome = {status, asked.cause, value};
    if (record.queue != nullptr) [[unlikely]]
      tell(record, asked, peer);
  }
  // The queue of `asked` is gone.
  void forget_queue(const Asked& asked, const Queue* queue) noexcept;

 private:
  struct Record {
    std::uint64_t sequence = 0;  // of its handle; 0: never used
    Outcome outcome;
    Link* link = nullptr;  // while it is pending
    Queue* queue = nullptr;
    std::uint64_t word = 0;
    bool held = false;
  };
  static constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

  bool awaits_given_up(const Link& link, const SendCredit& credit) const noexcept;

  // A request that the owner may be told of.
  struct Telling {
    std::uint32_t entry = 0;
    SendCredit* credit = nullptr;  // null: it is not
    Status asked(Status status) const noexcept {
      const bool left = status == Status::pending || status == Status::ok;
      if (credit != nullptr && left) --credit->left;
      return status;
    }
  };
  Status find_place(const Ticket& ticket, const RemoteOptions& options, Telling& telling) noexcept;
  Status link_for(const Ticket& ticket, std::uint64_t offset, std::uint64_t length, Link*& link) noexcept;
  Status put(Link& link, const Ticket& ticket, Packet& packet, const std::byte* data,
             const RemoteOptions& options, Queue* queue, const Landing* landing, RemoteHandle* handle,
             SendCredit* told_by = nullptr) noexcept;
  std::uint32_t free_record() noexcept;
  void tell(Record& record, const Asked& asked, std::uint64_t peer) noexcept;

  Core& core_;
  Terminus& terminus_;
  const std::size_t entries_;
  std::vector<Record> records_;  // a power of two of them; the first `entries_` are used
  Mark mark_;                    // of a fence that waits, and was not asked for with another
  std::size_t next_ = 0;         // the record that was used longest ago, or is not free
};

}  // namespace hamlyn::internal_::interface
