// The command `hamlyn`: reads the command line, runs one command, and turns how it ended into one line and a
// status.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>
#include <string>

#include "tool/doctor.h"
#include "tool/failure.h"
#include "tool/options.h"
#include "tool/sim.h"
#ifdef HAMLYN_WITH_PERF
#include "tool/perf/perf.h"
#endif

namespace hamlyn::tool {
namespace {

constexpr const char* kExitCodes =
    "Exit status: 0 all went well, 1 it failed, 2 the command line is wrong, 3 the time given has passed, "
    "130 it was\n"
    "interrupted (Ctrl-C).";

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000)};
}

void add_node_option(CLI::App& command, std::string& node) {
  command
      .add_option("--node", node,
                  "The node daemon's socket; by default the service's, else your own daemon's")
      ->type_name("SOCKET");
}

void add_transfer_options(CLI::App& command, TransferOptions& options, const char* file_help) {
  command.add_option("name", options.name, "The name to meet under: 1 to 64 of A-Z a-z 0-9 . _ -")
      ->type_name("NAME")
      ->required();
  command.add_option("file", options.file, file_help)->type_name("FILE");
  command
      .add_option_function<double>(
          "--timeout", [&options](double seconds) { options.timeout = milliseconds(seconds); },
          "Wait no longer than this for the other side; by default for ever")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9));
  add_node_option(command, options.node);
  command.add_flag("--quiet,-q", options.quiet, "Neither progress bar nor summary");
  command.footer(kExitCodes);
}

void add_send(CLI::App& app, SendOptions& options) {
  CLI::App& command = *app.add_subcommand("send", "Send a file, or standard input, to 'hamlyn receive NAME'");
  add_transfer_options(command, options, "What to send; '-' or nothing: standard input");
  command
      .add_option("--to", options.to,
                  "Send to a receiver of this user, or of 'anyone'; by default to your own only")
      ->type_name("USER");
  command.add_flag("--json", options.json, "At the end, print one JSON object on standard output");
  command.callback([&options] { run_send(options); });
}

void add_receive(CLI::App& app, ReceiveOptions& options) {
  CLI::App& command = *app.add_subcommand("receive", "Receive what 'hamlyn send NAME' sends");
  add_transfer_options(command, options,
                       "Where to write it, once it is whole; '-' or nothing: standard output");
  command.add_flag("--group", options.rights.group, "Let users of your primary group send");
  command.add_flag("--everyone", options.rights.everyone, "Let all users of this host send");
  command.add_flag("--keep-partial", options.keep_partial,
                   "If it ends early, leave what came in FILE.partial");
  command.add_flag(
      "--json", options.json,
      "At the end, print one JSON object on standard output (standard error if the data goes there)");
  command.callback([&options] { run_receive(options); });
}

void add_node(CLI::App& app, NodeOptions& options) {
  CLI::App& command =
      *app.add_subcommand("node", "Show who is attached to this host's node, and their links");
  add_node_option(command, options.node);
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(std::string("Details of a process are shown to its owner and to root.\n") + kExitCodes);
  command.callback([&options] { run_node(options); });
}

void add_top(CLI::App& app, TopOptions& options) {
  CLI::App& command =
      *app.add_subcommand("top", "Show live what moves between the processes of this host's node");
  add_node_option(command, options.node);
  command.add_option("--pid", options.pid, "Show the links, slots, queues and termini of this process")
      ->type_name("PID");
  command.add_option("--interval,-i", options.seconds, "Time between two looks, 1 by default")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.01, 3600.0));
  command.add_option("--count,-n", options.count, "Look so often and end; by default until Ctrl-C")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command.add_flag("--json", options.json, "Print one JSON object for each look, on a line of its own");
  command.footer(std::string("It reads counters that each process keeps anyway: nobody is stopped or woken.\n"
                             "Details of a process are shown to its owner and to root.\n") +
                 kExitCodes);
  command.callback([&options] { run_top(options); });
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App& command =
      *app.add_subcommand("doctor", "Show what on this machine could be better, and how to change it");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(std::string("It changes nothing.\n") + kExitCodes);
  command.callback([&options] {
    if (const int status = run_doctor(options)) throw CLI::RuntimeError(status);
  });
}

void add_sim(CLI::App& app, SimOptions& options) {
  CLI::App& command = *app.add_subcommand("sim", "Run random programs over a simulated fabric, from seeds");
  command.add_option("--seed", options.seed, "Run the program of this seed")->type_name("N");
  command.add_option("--seeds", options.seeds, "Run those of all seeds from A to B")->type_name("A-B");
  command.add_flag("--verbose,-v", options.verbose, "Show each event of the one run");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(kExitCodes);
  command.callback([&options] {
    if (const int status = run_sim(options)) throw CLI::RuntimeError(status);
  });
}

#ifdef HAMLYN_WITH_PERF
void add_perf(CLI::App& app, PerfOptions& options) {
  CLI::App& command =
      *app.add_subcommand("perf", "Measure this machine's limits, Hamlyn, and installed peers");
  command.add_option("--only", options.only, "Measure only figures whose whole name matches")
      ->type_name("REGEX");
  command.add_option("--cores", options.cores, "The two processors to measure on")
      ->type_name("A,B")
      ->delimiter(',');
  command.add_option("--rounds", options.rounds, "How often each figure is taken")
      ->check(CLI::Range(1, 1000));
  command.add_flag("--peers", options.peers, "Also figures of peers that are installed");
  command.add_flag("--list", options.list, "Print the names of the figures and measure nothing");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(kExitCodes);
  // It has told its own reason by then.
  command.callback([&options] {
    if (const int status = run_perf(options)) throw CLI::RuntimeError(status);
  });
}
#endif

// The name of the command that was asked for, for its error line.
std::string command_of(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? std::string() : commands.front()->get_name();
}

int fail(const CLI::App& app, const Failure& failure) {
  fmt::print(stderr, "{}\n", line(command_of(app), failure));
  return failure.exit();
}

Failure usage(const CLI::App& app, const CLI::ParseError& error) {
  const std::string command = command_of(app);
  const auto unknown = app.remaining();
  // CLI11 says only that a command is missing.
  const std::string what = command.empty() && !unknown.empty()
                               ? fmt::format("there is no command '{}'", unknown[0])
                               : std::string(error.what());
  return {what, "usage", fmt::format("see 'hamlyn {}--help'", command.empty() ? command : command + " "),
          kUsage};
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return kOk;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::RuntimeError& ended) {
    return ended.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return fail(app, usage(app, error));
  } catch (const Failure& failed) {
    return fail(app, failed);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) return fail(app, interrupted(error.what()));  // by Ctrl-C
    return fail(app, failure(error));
  } catch (const std::bad_alloc&) {
    return fail(app, failure(Error(ErrorCode::out_of_memory, "no memory")));
  }
}

int run_command(int argc, char** argv) {
  CLI::App app("Sender-managed, protected communication between the processes of this host", "hamlyn");
  app.set_version_flag("--version", "hamlyn " HAMLYN_VERSION, "Print the version");
  app.require_subcommand(1);
  app.footer(std::string("'hamlyn COMMAND --help' tells more about a command.\n") + kExitCodes);
  SendOptions send;
  ReceiveOptions receive;
  NodeOptions node;
  TopOptions top;
  add_send(app, send);
  add_receive(app, receive);
  add_node(app, node);
  add_top(app, top);
  DoctorOptions doctor;
  add_doctor(app, doctor);
  SimOptions sim;
  add_sim(app, sim);
#ifdef HAMLYN_WITH_PERF
  PerfOptions perf;
  add_perf(app, perf);
#endif
  return run(app, argc, argv);
}

}  // namespace
}  // namespace hamlyn::tool

int main(int argc, char** argv) { return hamlyn::tool::run_command(argc, argv); }
