#pragma once
// The receiving side of a transfer (tool/transfer_wire.h has the protocol).
#include <optional>

#include "hamlyn/hamlyn.h"
#include "tool/checksum.h"
#include "tool/deadline.h"
#include "tool/options.h"
#include "tool/output.h"
#include "tool/progress.h"
#include "tool/report.h"
#include "tool/stop.h"
#include "tool/transfer_book.h"

namespace hamlyn::tool {

class Receiver {
 public:
  Receiver(const ReceiveOptions& options, Output& output, Stop& stop);

  // Waits for a sender, writes everything it sends, tells it so. Throws Failure or Error.
  Report run();

 private:
  void await_sender();
  bool accept(const Notification& notification);
  bool answer(const Hello& hello);
  void withdraw();

  void receive_everything(Progress& progress);
  bool next_notification(Notification& out);
  void handle(const Notification& notification);
  void read_chunk(const Notification& notification);
  void write_arrivals(Progress& progress);
  void give_back(const ArrivalBook::Arrival& arrival);
  void check_end(const ChunkNote& note);

  Ticket open_place(std::uint32_t place);
  void tell(Outcome outcome) noexcept;

  const ReceiveOptions& options_;
  Output& output_;
  Interface interface_;
  Stop::Cancels cancels_;
  MessageArea door_area_;
  MessageArea chunk_area_;
  NotificationQueue queue_;
  Slot door_;
  Slot chunks_;
  Terminus terminus_;

  Peer sender_;
  Ticket mailbox_;
  std::uint64_t expected_ = kUnknownSize;
  bool gone_ = false;   // the link with the sender has ended
  bool whole_ = false;  // the end is here and agrees
  ArrivalBook book_;
  Checksum checksum_;
};

}  // namespace hamlyn::tool
