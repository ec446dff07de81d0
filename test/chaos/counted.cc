// Counted messages of any length, each acknowledged: by copy, or gathered out of a send buffer area. Several
// senders may want the same entry: who comes second is refused, and told so.
#include <cstring>
#include <vector>

#include "test/chaos/courier.h"
#include "test/chaos/door.h"
#include "test/chaos/entries.h"
#include "test/chaos/roles.h"
#include "test/chaos/sandbox.h"

namespace hamlyn::chaos {
namespace {

class CountedCourier final : public Courier {
 public:
  CountedCourier(Stage& stage, Interface& interface)
      : Courier(stage, interface), area_(interface, kLongestLetter), terminus_(interface) {
    static_cast<void>(terminus_.bind(0, area_));
  }

 private:
  std::uint64_t open() override {
    ticket_ = interface().lookup(entry_name(partner(), stage().chance(kEntries)), kStep);
    connect(terminus_, ticket_);
    return ticket_.interface;
  }
  void shut() noexcept override {}
  std::size_t longest() const noexcept override { return kLongestLetter; }

  Answer post(std::span<std::byte> letter, std::uint32_t) override {
    SendHandle handle;
    const Status taken = stage().chance(2) == 0 ? by_copy(letter, handle) : out_of_area(letter, handle);
    if (taken != Status::ok && taken != Status::pending) return answer_of(taken, Answer::delivered);
    Status status;
    do {
      status = terminus_.wait(handle, kStep);
    } while (status == Status::timed_out && !stage().leaving());
    if (status == Status::timed_out) static_cast<void>(terminus_.cancel(handle));
    if (status == Status::refused && terminus_.refusal(handle) == Refusal::stale_message)
      return Answer::stale;
    return answer_of(status, Answer::delivered);
  }

  Status by_copy(std::span<std::byte> letter, SendHandle& handle) noexcept {
    return terminus_.send(ticket_, letter, {.offset = place(), .acknowledged = true}, &handle);
  }
  Status out_of_area(std::span<std::byte> letter, SendHandle& handle) noexcept {
    std::memcpy(area_.bytes().data(), letter.data(), letter.size());
    const std::size_t cut = stage().chance(letter.size() + 1);
    const Piece pieces[] = {{0, 0, cut}, {0, cut, letter.size() - cut}};
    return terminus_.send_gathered(ticket_, pieces, {.offset = place(), .acknowledged = true}, &handle);
  }
  std::uint64_t place() const noexcept { return std::uint64_t{ticket_.entry} * kLongestLetter; }

  SendBufferArea area_;
  Terminus terminus_;
  Ticket ticket_;
};

class Entries {
 public:
  Entries(Stage& stage, Interface& interface)
      : stage_(stage),
        area_(interface, kEntries * kLongestLetter),
        queue_(interface),
        slot_(area_, queue_, {.entries = kEntries, .fast = false}) {}

  bool publish() {
    for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
      static_cast<void>(slot_.fail_after(entry, kTime));
      if (!publish(entry)) return false;
    }
    return true;
  }

  // False: everybody is to leave.
  bool take() {
    Notification next;
    if (queue_.receive(next, kStep / 10) != Status::ok) return true;
    if (next.kind == Notification::Kind::message) read(slot_.bytes(next));
    if (next.kind == Notification::Kind::message || next.kind == Notification::Kind::failed) arm(next.entry);
    return next.kind != Notification::Kind::failed || publish(next.entry);
  }

 private:
  // The rest of a message whose beginning was refused, because the entry was not free, may begin to fill it
  // when it is (docs/chaos.md, "What it has found"); and its sender may be stopped. So each has a time.
  static constexpr std::chrono::seconds kTime{2};

  // Under its name, in the place of what stood there: after a failure tickets from before are worth nothing.
  bool publish(std::uint32_t entry) {
    return change_name(stage_, slot_.interface(), entry_name(stage_.seat(), entry), slot_.ticket(entry));
  }

  void arm(std::uint32_t entry) noexcept {
    static_cast<void>(slot_.arm(entry));
    static_cast<void>(slot_.fail_after(entry, kTime));
  }

  // One letter behind the other, if it went to many: ours is the one for this seat.
  void read(std::span<const std::byte> bytes) noexcept {
    while (true) {
      const auto letter = read_letter(bytes);
      if (!letter || letter->to == stage_.seat() || letter->length == bytes.size()) break;
      bytes = bytes.subspan(letter->length);
    }
    stage_.ledger().receive(stage_.seat(), bytes, false);
  }

  Stage& stage_;
  MessageArea area_;
  NotificationQueue queue_;
  Slot slot_;
};

}  // namespace

int send_counted(Stage& stage) {
  Interface interface(stage.interface_options());
  stage.enter(interface);
  return CountedCourier(stage, interface).run();
}

int receive_counted(Stage& stage) {
  Interface interface(stage.interface_options());
  Sandbox sandbox(stage, interface);
  Entries entries(stage, interface);
  stage.enter(interface);
  bool published = entries.publish();
  while (published && !stage.leaving()) {
    published = entries.take();
    sandbox.rake();
  }
  return 0;
}

}  // namespace hamlyn::chaos
