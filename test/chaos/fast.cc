// Fast messages: one packet, straight from the terminus into the receiver's queue.
#include "test/chaos/cells.h"
#include "test/chaos/courier.h"
#include "test/chaos/door.h"
#include "test/chaos/roles.h"
#include "test/chaos/sandbox.h"

namespace hamlyn::chaos {
namespace {

class FastCourier final : public Courier {
 public:
  FastCourier(Stage& stage, Interface& interface) : Courier(stage, interface), terminus_(interface) {}

 private:
  std::uint64_t open() override {
    ticket_ = partners_ticket(partner());
    connect(terminus_, ticket_);
    return ticket_.interface;
  }
  void shut() noexcept override {}
  std::size_t longest() const noexcept override { return kCellBytes; }

  Answer post(std::span<std::byte> letter, std::uint32_t account) override {
    const std::uint32_t number = read_letter(letter)->number;
    const Status status = terminus_.send_fast(ticket_, letter, number, cell(account, number));
    interface().run();
    return answer_of(status, Answer::accepted);
  }

  Terminus terminus_;
  Ticket ticket_;
};

}  // namespace

int send_fast(Stage& stage) {
  Interface interface(stage.interface_options());
  stage.enter(interface);
  return FastCourier(stage, interface).run();
}

int receive_fast(Stage& stage) {
  Interface interface(stage.interface_options());
  Sandbox sandbox(stage, interface);
  MessageArea area(interface, kCellArea);
  NotificationQueue queue(interface);
  Slot slot(area, queue, {.places = kPlaces});
  stage.enter(interface);
  if (!open_door(stage, [&] { interface.publish(stage.name(), slot.ticket(), {.everyone = true}); }))
    return 0;
  Notification next;
  while (!stage.leaving()) {
    if (queue.receive(next, kStep / 10) == Status::ok && next.kind == Notification::Kind::message)
      stage.ledger().receive(stage.seat(), slot.bytes(next), false);
    sandbox.rake();
  }
  return 0;
}

}  // namespace hamlyn::chaos
