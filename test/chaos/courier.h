#pragma once
// What every sender does, whatever it sends by: finds its receiver, sends letter after letter, writes what it
// is told of each, and begins anew when the way has ended.
#include <cstdint>
#include <span>
#include <vector>

#include "test/chaos/stage.h"

namespace hamlyn::chaos {

enum class Answer : std::uint8_t {
  accepted,  // see Said
  delivered,
  refused,
  stale,      // refused, and so will be whatever comes after it this way
  unknown,    // nobody can say; the next letter may go
  not_taken,  // nothing was done: the same letter once more
  ended,      // and whether this letter arrives, nobody knows
};

class Courier {
 public:
  Courier(Stage& stage, Interface& interface) : stage_(stage), interface_(interface) {}
  virtual ~Courier() = default;

  // Sends until the driver wants no more.
  int run();

 protected:
  // Opens the way to the receiver; gives its interface. Throws Error.
  virtual std::uint64_t open() = 0;
  virtual void shut() noexcept = 0;
  // The longest letter that it takes.
  virtual std::size_t longest() const noexcept = 0;
  // Letters that are answered `accepted` are so only after `flush`.
  virtual bool gathers() const noexcept { return false; }
  virtual Answer post(std::span<std::byte> letter, std::uint32_t account) = 0;
  virtual Answer flush() { return Answer::accepted; }

  Stage& stage() noexcept { return stage_; }
  Interface& interface() noexcept { return interface_; }
  std::uint32_t partner() const noexcept { return stage_.partners().front(); }
  // How a status of the data path answers, where `ok` is `done`. It is kept for whoever looks.
  Answer answer_of(Status status, Answer done) noexcept;
  // Makes the link that the ticket needs. Throws Error.
  void connect(Terminus& terminus, const Ticket& ticket);
  // The partner's ticket, as it is registered now. Throws Error.
  Ticket partners_ticket(std::uint32_t seat);

 private:
  enum class End : std::uint8_t { none, stale, told };  // of the way

  End fill(Book& book);
  End send_one(Book& book);
  End settle(Book& book);

  Stage& stage_;
  Interface& interface_;
  std::vector<std::byte> letter_;
  std::vector<std::uint32_t> gathered_;
};

}  // namespace hamlyn::chaos
