// Datagrams: each lands and its sender knows it, or does not.
#include <optional>

#include "test/chaos/courier.h"
#include "test/chaos/door.h"
#include "test/chaos/roles.h"
#include "test/chaos/sandbox.h"

namespace hamlyn::chaos {
namespace {

constexpr std::size_t kLongest = 65536;

class DatagramCourier final : public Courier {
 public:
  DatagramCourier(Stage& stage, Manager& manager) : Courier(stage, manager.interface()), manager_(manager) {}

 private:
  std::uint64_t open() override {
    const Seed seed{partners_ticket(partner())};
    sender_.emplace(manager_, seed);
    return seed.ticket.interface;
  }
  void shut() noexcept override { sender_.reset(); }
  std::size_t longest() const noexcept override { return kLongest; }

  Answer post(std::span<std::byte> letter, std::uint32_t) override {
    const Status status = sender_->deliver(letter, kStep * 10);
    return status == Status::refused ? Answer::stale : answer_of(status, Answer::delivered);
  }

  Manager& manager_;
  std::optional<DatagramSender> sender_;
};

}  // namespace

int send_datagrams(Stage& stage) {
  Manager manager(stage.manager_options());
  stage.enter(manager.interface());
  return DatagramCourier(stage, manager).run();
}

int receive_datagrams(Stage& stage) {
  Manager manager(stage.manager_options());
  Sandbox sandbox(stage, manager.interface());
  DatagramReceiver receiver(manager, kLongest);
  stage.enter(manager.interface());
  bool published = change_door(stage, manager, receiver.make_seed());
  Datagram datagram;
  while (published && !stage.leaving()) {
    const Status status = receiver.receive(datagram, kStep / 10);
    if (status == Status::ok) stage.ledger().receive(stage.seat(), datagram.bytes, false);
    if (status != Status::timed_out) static_cast<void>(receiver.make_ready());
    // After one that failed, seeds from before are worth nothing.
    if (status == Status::link_ended || status == Status::abandoned)
      published = change_door(stage, manager, receiver.make_seed());
    sandbox.rake();
  }
  return 0;
}

}  // namespace hamlyn::chaos
