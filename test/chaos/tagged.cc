// Tagged remote writes.
#include <optional>

#include "test/chaos/cells.h"
#include "test/chaos/courier.h"
#include "test/chaos/door.h"
#include "test/chaos/roles.h"
#include "test/chaos/sandbox.h"

namespace hamlyn::chaos {
namespace {

class TaggedCourier final : public Courier {
 public:
  TaggedCourier(Stage& stage, Manager& manager) : Courier(stage, manager.interface()), manager_(manager) {}

 private:
  std::uint64_t open() override {
    const Seed seed{partners_ticket(partner())};
    sender_.emplace(manager_, seed);
    return seed.ticket.interface;
  }
  void shut() noexcept override { sender_.reset(); }
  std::size_t longest() const noexcept override { return kCellBytes; }

  Answer post(std::span<std::byte> letter, std::uint32_t account) override {
    const std::uint32_t number = read_letter(letter)->number;
    const Status status = sender_->send(letter, cell(account, number), number, kStep);
    return status == Status::timed_out ? Answer::not_taken : answer_of(status, Answer::accepted);
  }

  Manager& manager_;
  std::optional<TaggedSender> sender_;
};

}  // namespace

int send_tagged(Stage& stage) {
  Manager manager(stage.manager_options());
  stage.enter(manager.interface());
  return TaggedCourier(stage, manager).run();
}

int receive_tagged(Stage& stage) {
  Manager manager(stage.manager_options());
  Sandbox sandbox(stage, manager.interface());
  TaggedReceiver receiver(manager, kCellArea, {.places = kPlaces});
  stage.enter(manager.interface());
  if (!open_door(stage, [&] { manager.publish(stage.name(), receiver.make_seed(), {.everyone = true}); }))
    return 0;
  Tagged tagged;
  while (!stage.leaving()) {
    if (receiver.get_tag(tagged, kStep / 10) == Status::ok)
      stage.ledger().receive(stage.seat(), receiver.bytes(tagged), false);
    sandbox.rake();
  }
  return 0;
}

}  // namespace hamlyn::chaos
