#pragma once
// The sending side of a transfer (tool/transfer_wire.h has the protocol).
#include <array>
#include <optional>

#include "hamlyn/hamlyn.h"
#include "tool/checksum.h"
#include "tool/deadline.h"
#include "tool/failure.h"
#include "tool/input.h"
#include "tool/options.h"
#include "tool/progress.h"
#include "tool/report.h"
#include "tool/stop.h"
#include "tool/transfer_book.h"

namespace hamlyn::tool {

class Sender {
 public:
  Sender(const SendOptions& options, Input& input, Stop& stop);

  // Finds the receiver, sends everything, waits for its verdict. Throws Failure or Error.
  Report run();

 private:
  // A part of the area, from which the receiver copies.
  struct Buffer {
    std::size_t offset = 0;
    SendHandle handle;  // of the chunk that is, or was, sent from here
  };

  void find_receiver();
  Ticket lookup_door();
  bool greet(const Ticket& door);
  void note_refusal(std::uint64_t receiver);
  Status say_hello(const Ticket& door);
  bool await_answer(const Ticket& door);
  bool still_registered(const Ticket& door);

  void send_everything(Progress& progress);
  Buffer& free_buffer();
  void send_chunk(Buffer& buffer, std::size_t length, const ChunkNote& note);
  void send_end();
  void await_verdict();

  void handle(const Notification& notification);
  void read_message(std::span<const std::byte> bytes);
  void drain();
  void wait_for_news();
  Failure why_gone();

  const SendOptions& options_;
  const std::optional<std::uint32_t> wanted_;  // user; none: anyone
  Input& input_;
  Deadline deadline_;
  Interface interface_;
  Stop::Cancels cancels_;
  MessageArea mailbox_area_;
  NotificationQueue queue_;
  Slot mailbox_;
  SendBufferArea area_;  // before the terminus, which may send from it until it is gone
  std::array<Buffer, kPlaces> buffers_;
  Terminus terminus_;

  Peer receiver_;
  bool gone_ = false;                    // the link with the receiver has ended
  std::uint64_t refused_by_ = 0;         // the receiver with whom there was no link to be had lately
  Deadline refused_{Deadline::never()};  // and until when it is tried
  std::optional<DepartureBook> book_;
  std::optional<Verdict> verdict_;
  Checksum checksum_;
};

}  // namespace hamlyn::tool
