#pragma once
// One of two measuring processes that talk through Hamlyn: an interface with one of each thing, made from the
// public headers as any user would.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "hamlyn/hamlyn.h"
#include "tool/perf/pair.h"

namespace hamlyn::tool::perf {

// The message area begins with this much room for the other side's tickets and goodbye; figures use what
// follows.
inline constexpr std::size_t kControlBytes = 4096;

// Where the two processes are: on one node, or each on one of its own.
enum class Place { shm, ofi };
inline std::string prefix(Place place) { return place == Place::shm ? "shm." : "ofi."; }

struct PartyOptions {
  std::size_t bytes = 0;      // of message area, for the figure
  std::uint32_t entries = 0;  // metadata entries
  Sharing sharing = Sharing::guarded;
  std::uint32_t places = 64;  // notification places for fast mode
  bool remote = false;        // takes fetch-and-ops and gets
  Place place = Place::shm;
};

class Party {
 public:
  // `side` is 0 or 1. Publishes a ticket under a name that `meeting` and the side give, looks the other
  // side's up and makes the link. Throws std::runtime_error.
  Party(const PartyOptions& options, const std::string& meeting, int side);

  // Gives the other side tickets, in a message each.
  void hand_over(std::span<const Ticket> tickets);
  std::vector<Ticket> entry_tickets();
  void hand_over_entries() { hand_over(entry_tickets()); }
  // Takes the tickets that the other side hands over.
  std::vector<Ticket> take_tickets(std::size_t count);

  // Polls until something arrives; good until the next call. Throws std::runtime_error if it is no message.
  const Notification& next() {
    while (queue_.poll({&arrival_, 1}) == 0) {
    }
    if (arrival_.kind != Notification::Kind::message) throw_trouble(arrival_);
    return arrival_;
  }
  // Polls until some arrive, and takes as many, up to `out.size()`. Returns how many, never 0.
  std::size_t next(std::span<Notification> out) {
    for (;;) {
      const std::size_t count = queue_.poll(out);
      for (std::size_t i = 0; i < count; ++i) {
        if (out[i].kind != Notification::Kind::message) throw_trouble(out[i]);
      }
      if (count != 0) return count;
    }
  }
  // One look.
  std::optional<Notification> look() {
    std::optional<Notification> arrival = queue_.poll();
    if (arrival && arrival->kind != Notification::Kind::message) throw_trouble(*arrival);
    return arrival;
  }
  // Sleeps until something arrives.
  Notification next_asleep();
  // Like next_asleep, but sleeps as an event loop does: in poll(2), on the queue's descriptor.
  Notification next_on_descriptor();

  // Sends to the other side's slot in fast mode. `offset` counts from the end of the control bytes. While
  // there is no room the interface is run; nothing is dropped.
  void send_fast(std::span<const std::byte> data, std::uint64_t word, std::uint64_t offset = 0) {
    while (!try_send_fast(data, word, offset)) interface_.run();
  }
  // False: there is no room.
  bool try_send_fast(std::span<const std::byte> data, std::uint64_t word, std::uint64_t offset = 0) {
    const Status status = terminus_.send_fast(other_, data, word, kControlBytes + offset);
    if (status != Status::ok) throw_unless_full("send_fast", status);
    return status == Status::ok;
  }
  // A row of them.
  void send_fast(std::span<const FastMessage> row) {
    for (std::size_t done = 0;;) {
      std::size_t sent;
      const Status status = terminus_.send_fast_row(other_, row.subspan(done), sent);
      if (status == Status::ok) return;
      done += sent;
      run_or_throw("send_fast", status);
    }
  }
  SendHandle send(const Share& share, std::span<const std::byte> data);
  SendHandle send(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset = 0);
  // Binds the area to send out of; what is sent lands at the offset that it stands at.
  void bind(SendBufferArea& area) { expect_ok("bind", terminus_.bind(0, area)); }
  SendHandle send_from_area(const Ticket& ticket, std::uint64_t offset, std::uint64_t bytes);
  Interface& interface() { return interface_; }
  // Makes another one of the same place, which is there as long as this.
  Interface& another_interface();
  // The other side's slot, mapped; its bytes behind the control bytes are the figure's.
  MappedSlot& map() { return mapped_.emplace(interface_, other_, std::chrono::seconds{10}); }
  std::span<std::byte> area() { return area_.bytes().subspan(kControlBytes); }
  void wait_until_sent(SendHandle handle);
  bool sent(SendHandle handle) const { return terminus_.status(handle) == Status::ok; }

  // At the other side, `offset` bytes behind its control bytes: adds to a word, and gives what stood there;
  // or brings bytes, to the same place here.
  std::uint64_t fetch_add(std::uint64_t offset, std::uint64_t operand);
  std::span<const std::byte> get(std::uint64_t offset, std::size_t length);
  // Bytes of this side that the other side's calls change or bring.
  std::span<std::byte> figure_bytes() { return area_.bytes().subspan(kControlBytes); }

  // Where a message lies.
  std::span<std::byte> bytes(const Notification& notification) { return slot_.bytes(notification); }
  // Bytes at `offset` from the end of the control bytes.
  std::span<std::byte> landing(std::size_t offset, std::size_t bytes) {
    return slot_.bytes().subspan(kControlBytes + offset, bytes);
  }
  void arm(std::uint32_t entry);
  GroupShares arm_group(std::uint32_t entry, std::uint32_t members);
  void disarm(std::uint32_t entry);

  // Both sides call it last: returns when the other has everything.
  void finish();

 private:
  [[noreturn]] static void throw_trouble(const Notification& arrival);
  static void expect_ok(const char* doing, Status status);
  // Throws unless a send that was answered with `status` may be tried again.
  static void throw_unless_full(const char* doing, Status status);
  // Runs the interface if `status` says that it is full. Throws if `status` says anything else.
  void run_or_throw(const char* doing, Status status);

  const Interface::Options at_;
  Interface interface_;
  std::vector<std::unique_ptr<Interface>> further_;
  MessageArea area_;
  NotificationQueue queue_;
  Slot slot_;
  Terminus terminus_;
  std::uint32_t entries_;
  Notification arrival_;
  Ticket other_;
  std::optional<MappedSlot> mapped_;
};

// Makes a name for two processes to meet under. No other run has the name.
std::string new_meeting();

using PartySide = std::function<void(Party&, Room&)>;

// Runs both sides, each with a party.
std::vector<double> run_parties(Cores cores, std::size_t results, const PartyOptions& first_options,
                                const PartySide& first, const PartyOptions& second_options,
                                const PartySide& second);

// Throws std::runtime_error(what) if a measured message was not as it should be.
inline void expect(bool as_it_should_be, const char* what) {
  if (!as_it_should_be) throw std::runtime_error(what);
}

}  // namespace hamlyn::tool::perf
