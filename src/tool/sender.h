#pragma once
// The sending side of a transfer (tool/transfer_wire.h has the protocol).
#include <array>
#include <memory>
#include <optional>

#include "hamlyn/hamlyn.h"
#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/stream.h"
#include "tool/checksum.h"
#include "tool/deadline.h"
#include "tool/failure.h"
#include "tool/input.h"
#include "tool/options.h"
#include "tool/progress.h"
#include "tool/report.h"
#include "tool/stop.h"
#include "tool/transfer_wire.h"

namespace hamlyn::tool {

class Sender {
 public:
  Sender(const SendOptions& options, Input& input, Stop& stop);

  // Finds the receiver, sends everything, waits for its verdict. Throws Failure or Error.
  Report run();

 private:
  void find_receiver();
  Seed lookup_receiver();
  bool open(const Seed& seed);
  Failure not_taken(const Error& last) const;
  void note_refusal(std::uint64_t receiver);

  void send_everything(Progress& progress);
  void await_input();
  void send(std::span<const std::byte> record);
  template <class Step>
  void insist(Step step);
  void say_end();
  void await_verdict();
  bool look_for_verdict(const Deadline& deadline);
  Failure why_ended(Status status);

  const SendOptions& options_;
  const std::optional<std::uint32_t> wanted_;  // user; none: anyone
  Input& input_;
  Deadline deadline_;
  Manager manager_;
  Stop::Cancels cancels_;
  DatagramReceiver verdicts_;
  SendBufferArea area_;
  std::unique_ptr<StreamSender> stream_;
  std::array<SendHandle, kPieces> pieces_;  // where they stand in the area

  Peer receiver_;
  WhyNoLink why_;                        // there was no link the last time that one failed
  std::uint64_t refused_by_ = 0;         // the receiver with whom there was no link to be had lately
  Deadline refused_{Deadline::never()};  // and until when it is tried
  std::optional<Verdict> verdict_;
  Checksum checksum_;
};

}  // namespace hamlyn::tool
