// The command `hamlyn`: reads the command line and runs one command.
#include "base/standard_output.h"
#include "tool/command_line.h"
#include "tool/ending.h"
#include "tool/failure.h"
#include "tool/run/run.h"

namespace hamlyn::tool {
namespace {

int run(const CommandLine& line) {
  if (!line.help.empty()) base::print(line.help);
  if (!line.help.empty()) return kOk;
  const std::string& command = line.speaker.command;
  if (command == "send") run_send(line.send);
  if (command == "receive") run_receive(line.receive);
  if (command == "node") run_node(line.node);
  if (command == "top") run_top(line.top);
  if (command == "calls") run_calls(line.calls);
  if (command == "serve") run_serve(line.serve);
  if (command == "files") run_files(line.files);
  if (command == "mount") run_mount(line.mount);
  if (command == "umount") run_unmount(line.unmount);
  if (command == "run") return run_job(line.run);
  if (command == "doctor") return run_doctor(line.doctor);
#ifdef HAMLYN_WITH_PERF
  if (command == "perf") return run_perf(line.perf);
  if (command == "logp") return run_logp(line.logp);
#endif
  return kOk;
}

}  // namespace
}  // namespace hamlyn::tool

int main(int argc, char** argv) {
  hamlyn::tool::CommandLine line;
  return hamlyn::tool::run_to_the_end(line.speaker, [&] {
    read_command_line(argc, argv, line);
    return hamlyn::tool::run(line);
  });
}
