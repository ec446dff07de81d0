// Fetch-and-add on a word of another's, and gets beside it. Each add must find what the one before has left.
#include <cstring>

#include "test/chaos/counter.h"
#include "test/chaos/courier.h"
#include "test/chaos/door.h"
#include "test/chaos/roles.h"
#include "test/chaos/sandbox.h"

namespace hamlyn::chaos {
namespace {

constexpr std::size_t kWords = kAccounts * sizeof(std::uint64_t);
constexpr std::size_t kText = 16384;  // for gets: bytes that never change
constexpr std::uint32_t kMostGet = 4096;
std::byte text(std::size_t at) { return static_cast<std::byte>(at * 31 + at / 251); }

class RemoteCourier final : public Courier {
 public:
  RemoteCourier(Stage& stage, Interface& interface)
      : Courier(stage, interface),
        area_(interface, kMostGet),
        queue_(interface, 64),
        slot_(area_, queue_, {}),
        terminus_(interface) {}

 private:
  std::uint64_t open() override {
    ticket_ = partners_ticket(partner());
    return ticket_.interface;
  }
  void shut() noexcept override {}
  std::size_t longest() const noexcept override { return kShortestLetter; }

  Answer post(std::span<std::byte> bytes, std::uint32_t account) override {
    const Letter letter = *read_letter(bytes);
    if (stage().chance(4) == 0 && !get()) return Answer::ended;
    const bool first = letter.number == 0;
    const Fetch fetch{.op = first ? FetchOp::swap : FetchOp::add,
                      .operand = first ? counter(letter.serial, 1) : 1};
    const Outcome outcome =
        terminus_.fetch(ticket_, fetch, {.offset = account * sizeof(std::uint64_t)}, kStep * 50);
    if (outcome.status == Status::ok && !first && outcome.value != counter(letter.serial, letter.number))
      stage().fault("an add finds another number than the one before has left");
    if (outcome.status == Status::refused)
      stage().fault(std::string("an add is refused: ") + name(outcome.cause));
    return ended(outcome.status) ? Answer::ended : Answer::delivered;
  }

  bool ended(Status status) noexcept { return answer_of(status, Answer::delivered) != Answer::delivered; }

  bool get() {
    const std::size_t length = stage().chance(1, kMostGet);
    const std::size_t at = stage().chance(kText - length);
    if (ended(terminus_.get(ticket_, slot_, 0, length, {.offset = kWords + at}, kStep * 50).status))
      return false;
    for (std::size_t i = 0; i < length; ++i) {
      if (slot_.bytes()[i] == text(at + i)) continue;
      stage().fault("a get brings other bytes");
      break;
    }
    return true;
  }

  MessageArea area_;
  NotificationQueue queue_;
  Slot slot_;
  Terminus terminus_;
  Ticket ticket_;
};

}  // namespace

int fetch(Stage& stage) {
  Interface interface(stage.interface_options());
  stage.enter(interface);
  return RemoteCourier(stage, interface).run();
}

int be_fetched_from(Stage& stage) {
  Interface interface(stage.interface_options());
  Sandbox sandbox(stage, interface);
  MessageArea area(interface, kWords + kText);
  for (std::size_t at = 0; at < kText; ++at) area.bytes()[kWords + at] = text(at);
  NotificationQueue queue(interface, 64);
  Slot slot(area, queue, {.fast = false, .fetches = true, .gets = kMostGet});
  stage.enter(interface);
  if (!open_door(stage, [&] { interface.publish(stage.name(), slot.ticket(), {.everyone = true}); }))
    return 0;
  auto* const words = reinterpret_cast<std::uint64_t*>(area.bytes().data());
  Notification next;
  while (!stage.leaving()) {
    static_cast<void>(queue.receive(next, kStep / 10));
    count_letters(stage, [&](std::uint32_t account) { return std::atomic_ref(words[account]).load(); });
    sandbox.rake();
  }
  return 0;
}

}  // namespace hamlyn::chaos
