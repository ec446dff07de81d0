// The two commands around Sender and Receiver: what is opened first, and what is said at the end.
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/standard_output.h"
#include "tool/input.h"
#include "tool/options.h"
#include "tool/output.h"
#include "tool/receiver.h"
#include "tool/report.h"
#include "tool/sender.h"
#include "tool/stop.h"

namespace hamlyn::tool {
namespace {

void tell(const TransferOptions& options, const char* what, const Report& report, bool data_on_output) {
  if (options.json && !data_on_output) {
    base::print(to_json(report) + "\n");
  } else if (options.json) {
    std::fprintf(stderr, "%s\n", to_json(report).c_str());
  } else if (!options.quiet) {
    std::fprintf(stderr, "%s %s\n", what, to_text(report).c_str());
  }
}

}  // namespace

// Files are opened before anything else: a wrong path is told at once and not when the partner has come.
void run_send(const SendOptions& options) {
  Stop stop;
  Input input(options.file);
  const Report report = Sender(options, input, stop).run();
  tell(options, "sent", report, false);
}

void run_receive(const ReceiveOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write, with a line that says so
  Stop stop;
  Output output(options.file, options.keep_partial);
  const Report report = Receiver(options, output, stop).run();
  tell(options, "received", report, output.standard());
}

}  // namespace hamlyn::tool
