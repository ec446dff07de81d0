#pragma once
// The receiving side of a transfer (tool/transfer_wire.h has the protocol).
#include "hamlyn/hamlyn.h"
#include "hamlyn/protocols/stream.h"
#include "tool/checksum.h"
#include "tool/deadline.h"
#include "tool/options.h"
#include "tool/output.h"
#include "tool/progress.h"
#include "tool/report.h"
#include "tool/stop.h"
#include "tool/transfer_wire.h"

namespace hamlyn::tool {

class Receiver {
 public:
  Receiver(const ReceiveOptions& options, Output& output, Stop& stop);

  // Waits for a sender, writes everything it sends, tells it so. Throws Failure or Error.
  Report run();

 private:
  void await_sender();
  bool greeted(const Deadline& deadline);
  void check_attached(const Deadline& deadline);
  void withdraw();

  void receive_everything(Progress& progress);
  void take(std::span<const std::byte> bytes);
  void check_end();
  void tell(Outcome outcome) noexcept;

  const ReceiveOptions& options_;
  Output& output_;
  Manager manager_;
  Stop::Cancels cancels_;
  StreamReceiver stream_;

  Greeting greeting_;
  enum class Next { data, trailer, nothing } next_ = Next::data;
  Trailer trailer_;
  Checksum checksum_;
};

}  // namespace hamlyn::tool
