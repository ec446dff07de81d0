#include "tool/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string>

#include "job/name.h"
#include "tool/failure.h"
#include "tool/perf/words.h"
#include "tool/words.h"

namespace hamlyn::tool {
namespace {

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000)};
}

// Not CLI::Range, which lets through what is no number ("nan").
CLI::Validator between(double low, double high) {
  return {[low, high](const std::string& text) {
            double value = 0;
            const bool good = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
            return good ? std::string() : fmt::format("Value {} not in range {:g} to {:g}", text, low, high);
          },
          fmt::format("FLOAT in [{:g} - {:g}]", low, high), "SECONDS"};
}

void add_node_option(CLI::App& command, std::string& node) {
  command
      .add_option("--node", node,
                  "The socket of a node daemon that runs; by default the service's, else your own daemon's")
      ->type_name("SOCKET")
      ->check(not_empty());
}

void add_transfer_options(CLI::App& command, TransferOptions& options, const char* file_help) {
  command.add_option("name", options.name, "The name to meet under: 1 to 64 of A-Z a-z 0-9 . _ -")
      ->type_name("NAME")
      ->required();
  command.add_option("file", options.file, file_help)->type_name("FILE")->check(not_empty());
  command
      .add_option_function<double>(
          "--timeout", [&options](double seconds) { options.timeout = milliseconds(seconds); },
          "Never wait longer than this for the other side; by default for ever")
      ->type_name("SECONDS")
      ->check(between(0, 1e9));
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
      ->type_name("USER")
      ->check(not_empty());
  command.add_flag("--json", options.json, "At the end, print one JSON object on standard output");
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
}

void add_node(CLI::App& app, NodeOptions& options) {
  CLI::App& command =
      *app.add_subcommand("node", "Show who is attached to this host's node, and their links");
  add_node_option(command, options.node);
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(std::string("Details of a process are shown to its owner and to root.\n") + kExitCodes);
}

void add_top(CLI::App& app, TopOptions& options) {
  CLI::App& command =
      *app.add_subcommand("top", "Show live what moves between the processes of this host's node");
  add_node_option(command, options.node);
  command.add_option("--pid", options.pid, "Show the links, slots, queues and termini of this process")
      ->type_name("PID");
  command.add_option("--interval,-i", options.seconds, "Time between two looks, 1 by default")
      ->type_name("SECONDS")
      ->check(between(0.01, 3600));
  command.add_option("--count,-n", options.count, "Look so often and end; by default until Ctrl-C")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  command.add_flag("--json", options.json, "Print one JSON object for each look, on a line of its own");
  command.footer(std::string("It reads counters that each process keeps anyway: nobody is stopped or woken.\n"
                             "Details of a process are shown to its owner and to root.\n") +
                 kExitCodes);
}

void add_calls(CLI::App& app, CallsOptions& options) {
  CLI::App& command = *app.add_subcommand("calls", "List the procedures of a service of calls, or call one");
  command.add_option("name", options.name, "The name that the service is registered under")
      ->type_name("NAME")
      ->required();
  command.add_option("procedure", options.procedure, "Call this one")->type_name("PROCEDURE");
  command
      .add_option("arguments", options.arguments,
                  "What it takes: numbers, true or false, text. '--' in front of those that begin with '-'")
      ->type_name("ARGUMENT");
  command
      .add_option_function<double>(
          "--timeout", [&options](double seconds) { options.timeout = milliseconds(seconds); },
          "Never wait longer than this for the service; 5 by default")
      ->type_name("SECONDS")
      ->check(between(0, 1e9));
  add_node_option(command, options.node);
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(kExitCodes);
}

void add_serve(CLI::App& app, ServeOptions& options) {
  CLI::App& command =
      *app.add_subcommand("serve", "Serve a directory of this host as a shared tree of files");
  command.add_option("directory", options.directory, "What to serve; nobody else may change it meanwhile")
      ->type_name("DIR")
      ->required()
      ->check(not_empty());
  command.add_option("--name", options.name, "The name it is found by: 1 to 64 of A-Z a-z 0-9 . _ -")
      ->type_name("NAME")
      ->required();
  command
      .add_option("--state", options.state, "Where the tree's key is kept; by default in this user's state")
      ->type_name("FOLDER")
      ->check(not_empty());
  command.add_flag("--squash-root", options.squash_root, "The superuser of a client's host is nobody here");
  command.add_flag("--trusted-network", options.trusted_network,
                   "As the superuser, serve other hosts, too: nothing is encrypted or authenticated there");
  command.add_option("--data", options.data, "Data that clients find without the server, 256 MiB by default")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(false));
  command.add_option("--threads", options.threads, "That serve; by default one for each processor, 2 to 8")
      ->type_name("N")
      ->check(CLI::Range(1u, 256u));
  add_node_option(command, options.node);
  command.add_flag("--json", options.json, "Print one JSON object when it serves");
  command.footer(
      std::string("It serves until it is interrupted. The superuser's acts for each user; any other "
                  "one\nfor its own user alone.\n") +
      kExitCodes);
}

void add_files(CLI::App& app, FilesOptions& options) {
  CLI::App& command =
      *app.add_subcommand("files", "Look into a tree that 'hamlyn serve' serves, or change it");
  command.add_option("name", options.name, "The name that the tree is served under")
      ->type_name("NAME")
      ->required();
  command
      .add_option(
          "action", options.action,
          "ls [PATH], cat PATH, put FILE PATH ('-': standard input), stat PATH, df, mkdir PATH, rm PATH, "
          "mv PATH PATH")
      ->type_name("ACTION")
      ->required();
  command.add_option("paths", options.paths, "What it is done to, from the tree's root on")
      ->type_name("PATH");
  command.add_flag("-l", options.all, "ls: with kind, mode, owner, group, size and time (UTC)");
  command
      .add_option_function<double>(
          "--timeout", [&options](double seconds) { options.timeout = milliseconds(seconds); },
          "Never wait longer than this for the server; 5 by default")
      ->type_name("SECONDS")
      ->check(between(0, 1e9));
  add_node_option(command, options.node);
  command.add_flag("--json", options.json, "ls, stat, df: print JSON");
  command.footer(kExitCodes);
}

// All its words are those of hamlyn-mount, which has a help of its own.
void add_mount(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("mount", "Mount a tree that 'hamlyn serve' serves, by hamlyn-mount");
  command.set_help_flag();
  command.prefix_command();
}

void add_unmount(CLI::App& app, UnmountOptions& options) {
  CLI::App& command = *app.add_subcommand("umount", "Unmount such a tree");
  command.add_option("directory", options.directory, "Where it is mounted")
      ->type_name("DIR")
      ->required()
      ->check(not_empty());
  command.footer("It runs 'fusermount3 -u DIR', whose exit status is its own.");
}

void add_run(CLI::App& app, RunOptions& options) {
  CLI::App& command =
      *app.add_subcommand("run", "Start 'PROGRAM [ARGUMENTS...]', behind the options, as the ranks of a job");
  command.add_option("-n,--ranks", options.ranks, "How many, 1 by default")
      ->type_name("N")
      ->check(CLI::Range(std::uint32_t{1}, internal_::job::kMostRanks));
  command.add_option("--hosts", options.hosts, "The hosts that share them, in blocks; by default this one")
      ->type_name("HOST,...")
      ->delimiter(',');
  command.add_option("--at", options.at, "Which of them this host is; by default found by its name")
      ->type_name("HOST");
  command
      .add_option("--via", options.via,
                  "Start the other hosts by this, as 'ssh {host}'; by default each runs the same command")
      ->type_name("WORDS")
      ->check(not_empty());
  command.add_option("--job", options.job, "The job's name; by default one is made")
      ->type_name("NAME")
      ->check(not_empty());
  command.add_flag("--label", options.label, "Write the rank in front of each line");
  command.add_flag("--bind", options.bind, "Give each rank processors of its own, as far as there are");
  command.add_flag("--trusted-network", options.trusted_network,
                   "Let ranks give their whole memory to those of other hosts");
  add_node_option(command, options.node);
  command.add_flag("--json", options.json, "At the end, print one JSON object on standard error");
  command.add_option("--agent", options.agent, "What --via starts; for nobody else")
      ->type_name("WORD")
      ->check(not_empty());
  // All from the program's name on is the program's.
  command.prefix_command();
  command.footer(
      "Exit status: that of the first rank that failed, 128 and the signal if one ended it; 126 or 127 if "
      "the\n"
      "program cannot be started; 1 if it failed before that, 2 if the command line is wrong.");
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App& command =
      *app.add_subcommand("doctor", "Show what on this machine could be better, and how to change it");
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(std::string("It changes nothing.\n") + kExitCodes);
}

#ifdef HAMLYN_WITH_PERF
void add_perf(CLI::App& app, PerfOptions& options) {
  add_measuring(*app.add_subcommand("perf", "Measure this machine's limits and Hamlyn"), options);
}

void add_logp(CLI::App& app, LogpOptions& options) {
  CLI::App& command = *app.add_subcommand("logp", "Measure the LogP model's parameters of Hamlyn's layers");
  command.add_option("--layer", options.layer, "fast, am, segments, splitc or vi; by default each")
      ->type_name("LAYER")
      ->check(not_empty());
  command
      .add_option("--k", options.credits,
                  "Credits: requests under way at a time, of layers that have them; by default as they do")
      ->type_name("N")
      ->check(CLI::Range(std::uint32_t{1}, kMostCredits));
  command
      .add_option("--peers", options.peers, "Endpoints that ask in turn, of active messages; by default 1")
      ->type_name("N")
      ->check(CLI::Range(std::uint32_t{1}, kMostPeers));
  command.add_flag("--between-nodes", options.between_nodes, "Measure between two nodes on loopback");
  command.add_option("--cores", options.cores, "The two processors to measure on")
      ->type_name("A,B")
      ->delimiter(',');
  command
      .add_flag("--tables{all}", options.tables,
                "Print other tables of paper 2 with ours: 1, 3, 4, 5, figure2, figure5; by default all")
      ->type_name("WHICH");
  command.add_option("--rounds", options.rounds, "How often each figure of the tables is taken")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  command.add_flag("--json", options.json, "Print one JSON object");
  command.footer(kExitCodes);
}
#endif

// Notes the command, and where its JSON goes: known also where the command line is wrong further on.
void note_command(const CLI::App& app, CommandLine& out) {
  const auto commands = app.get_subcommands();
  if (commands.empty()) return;
  const CLI::App& command = *commands.front();
  out.speaker.command = command.get_name();
  const CLI::Option* const json = command.get_option_no_throw("--json");
  if (json == nullptr || json->count() == 0) return;
  const bool data_on_output =
      out.speaker.command == "run" || (out.speaker.command == "receive" && out.receive.file == "-");
  out.speaker.json = data_on_output ? JsonOutput::on_error : JsonOutput::on_output;
}

Failure usage(const CLI::App& app, const Speaker& speaker, const CLI::ParseError& error) {
  const auto unknown = app.remaining();
  // CLI11 says only that a command is missing.
  const std::string what = speaker.command.empty() && !unknown.empty()
                               ? fmt::format("there is no command '{}'", unknown[0])
                               : std::string(error.what());
  return {what, "usage", fmt::format("see '{} --help'", speaker.name()), kUsage};
}

}  // namespace

void read_command_line(int count, const char* const* words, CommandLine& out) {
  CLI::App app("Sender-managed, protected communication between the processes of this host", "hamlyn");
  app.set_version_flag("--version", "hamlyn " HAMLYN_VERSION, "Print the version");
  app.require_subcommand(1);
  app.footer(std::string("'hamlyn COMMAND --help' tells more about a command.\n") + kExitCodes);
  add_send(app, out.send);
  add_receive(app, out.receive);
  add_node(app, out.node);
  add_top(app, out.top);
  add_calls(app, out.calls);
  add_serve(app, out.serve);
  add_files(app, out.files);
  add_mount(app);
  add_unmount(app, out.unmount);
  add_run(app, out.run);
  add_doctor(app, out.doctor);
#ifdef HAMLYN_WITH_PERF
  add_perf(app, out.perf);
  add_logp(app, out.logp);
#endif
  // Behind "--" stands the program of `hamlyn run`, unless it has begun before.
  const char* const* const behind = std::find(words, words + count, std::string_view("--"));
  const bool runs = count > 1 && words[1] == std::string_view("run");
  try {
    app.parse(runs ? static_cast<int>(behind - words) : count, words);
    note_command(app, out);
    if (out.speaker.command == "mount") out.mount.words.assign(words + 2, words + count);
    if (runs) {
      out.run.program = app.get_subcommand("run")->remaining();
      const bool begun = !out.run.program.empty();
      for (const char* const* each = behind; each != words + count; ++each)
        if (begun || each != behind) out.run.program.emplace_back(*each);
    }
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app.exit(asked, text);
    out.help = text.str();
  } catch (const CLI::ParseError& error) {
    note_command(app, out);
    throw usage(app, out.speaker, error);
  }
}

}  // namespace hamlyn::tool
