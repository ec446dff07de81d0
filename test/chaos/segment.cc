// Segments: a letter is written to its account's part, and when it has landed a word is swapped that counts
// it. Where it may be mapped (one user, every other seat) this goes by stores, otherwise by packets.
#include <optional>
#include <vector>

#include "hamlyn/segment/segment.h"
#include "test/chaos/counter.h"
#include "test/chaos/courier.h"
#include "test/chaos/door.h"
#include "test/chaos/roles.h"
#include "test/chaos/sandbox.h"

namespace hamlyn::chaos {
namespace {

constexpr std::size_t kWords = kAccounts * sizeof(std::uint64_t);
constexpr std::size_t kPart = 1024;

class SegmentCourier final : public Courier {
 public:
  SegmentCourier(Stage& stage, Interface& interface) : Courier(stage, interface) {}

 private:
  std::uint64_t open() override {
    const Ticket ticket = partners_ticket(partner());
    import_.emplace(interface(), ticket);
    return ticket.interface;
  }
  void shut() noexcept override { import_.reset(); }
  std::size_t longest() const noexcept override { return kPart; }

  Answer post(std::span<std::byte> bytes, std::uint32_t account) override {
    const Letter letter = *read_letter(bytes);
    const std::size_t part = kWords + account * kPart;
    if (ended(import_->write(part, bytes, kStep * 50)) || ended(import_->flush(kStep * 50)))
      return Answer::ended;
    if (stage().chance(4) == 0 && !read_back(part, bytes)) return Answer::ended;
    return count(letter, account * sizeof(std::uint64_t));
  }

  bool ended(Status status) noexcept { return answer_of(status, Answer::delivered) != Answer::delivered; }

  Answer count(const Letter& letter, std::size_t word) {
    const Outcome outcome =
        letter.number == 0
            ? import_->fetch(word, {.op = FetchOp::swap, .operand = counter(letter.serial, 1)}, kStep * 50)
            : import_->compare_and_swap(word, counter(letter.serial, letter.number),
                                        counter(letter.serial, letter.number + 1), kStep * 50);
    if (ended(outcome.status)) return Answer::ended;
    if (letter.number != 0 && outcome.value != counter(letter.serial, letter.number))
      stage().fault("a swap finds another number than the one before has left");
    return Answer::delivered;
  }

  bool read_back(std::size_t part, std::span<const std::byte> bytes) {
    back_.resize(bytes.size());
    if (ended(import_->read(part, back_, kStep * 50))) return false;
    if (!std::equal(bytes.begin(), bytes.end(), back_.begin()))
      stage().fault("what has landed is not what was put");
    return true;
  }

  std::optional<Import> import_;
  std::vector<std::byte> back_;
};

}  // namespace

int write_segment(Stage& stage) {
  Interface interface(stage.interface_options());
  stage.enter(interface);
  return SegmentCourier(stage, interface).run();
}

int export_segment(Stage& stage) {
  Interface interface(stage.interface_options());
  Sandbox sandbox(stage, interface);
  SegmentOptions options;
  options.bytes = kWords + kAccounts * kPart;
  options.sharing = stage.seat() % 2 == 0 ? Sharing::guarded : Sharing::mapped_read_write;
  options.protection.mode = 0666;
  Segment segment(interface, options);
  stage.enter(interface);
  if (!open_door(stage, [&] { interface.publish(stage.name(), segment.ticket(), {.everyone = true}); }))
    return 0;
  SegmentRecord record;
  while (!stage.leaving()) {
    static_cast<void>(segment.wait(record, kStep / 10));
    count_letters(stage, [&](std::uint32_t account) {
      return segment.at<std::uint64_t>(account * sizeof(std::uint64_t)).load();
    });
    sandbox.rake();
  }
  return 0;
}

}  // namespace hamlyn::chaos
