// `hamlyn files`: looks into a served tree, and changes it, without a mount.
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/standard_output.h"
#include "hamlyn/files.h"
#include "hamlyn/protocols/manager.h"
#include "tool/failure.h"
#include "tool/files/options.h"
#include "tool/input.h"
#include "tool/node_view.h"
#include "tool/stop.h"

namespace hamlyn::tool {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kPiece = 1 << 20;  // bytes that are copied at a time

[[noreturn]] void fail(const std::string& what, files::Fault fault) {
  throw Failure(fmt::format("{}: {}", what, files::text(fault)), files::name(fault), "see docs/files.md");
}

template <class Value>
Value take(files::Done<Value> done, const std::string& what) {
  if (!done) fail(what, done.fault);
  return std::move(done.value);
}

void check(files::Fault fault, const std::string& what) {
  if (fault != files::Fault::none) fail(what, fault);
}

const char* word_of(files::Kind kind) {
  switch (kind) {
    case files::Kind::file:
      return "file";
    case files::Kind::directory:
      return "directory";
    case files::Kind::symbolic_link:
      return "symbolic_link";
    case files::Kind::other:
      break;
  }
  return "other";
}

char letter_of(files::Kind kind) {
  switch (kind) {
    case files::Kind::file:
      return '-';
    case files::Kind::directory:
      return 'd';
    case files::Kind::symbolic_link:
      return 'l';
    case files::Kind::other:
      break;
  }
  return '?';
}

std::string mode_text(const files::Attributes& of) {
  std::string out(1, letter_of(of.kind));
  constexpr std::string_view kLetters = "rwxrwxrwx";
  for (std::size_t i = 0; i != kLetters.size(); ++i)
    out += (of.mode >> (8 - i) & 1u) != 0 ? kLetters[i] : '-';
  return out;
}

std::string time_text(const files::Moment& moment) {
  const auto seconds = static_cast<std::time_t>(moment.seconds);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return fmt::format("{} s", moment.seconds);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

ordered_json json_of(const std::string& path, const files::Attributes& of) {
  return {{"path", path},
          {"kind", word_of(of.kind)},
          {"size", of.size},
          {"mode", fmt::format("{:04o}", of.mode)},
          {"links", of.links},
          {"owner", of.owner},
          {"group", of.group},
          {"inode", of.inode},
          {"written", fmt::format("{}.{:09}", of.written.seconds, of.written.nanoseconds)}};
}

// Names are any bytes: what is no text is shown as such.
std::string text_of(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}
std::string shown(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char each) { return each < 0x20 || each == 0x7F; }, '?');
  return name;
}

// One command of it, on an open tree.
class Commands {
 public:
  Commands(files::Tree& tree, const FilesOptions& options) : tree_(tree), options_(options) {}

  void list();
  void cat();
  void put();
  void stat();
  void room();
  void make_directory() { check(tree_.make_directory(path(0), 0755), path(0)); }
  void remove();
  void move() { check(tree_.rename(path(0), path(1)), path(0)); }

 private:
  std::string path(std::size_t number) const {
    return number < options_.paths.size() ? options_.paths[number] : std::string();
  }
  std::string below(const std::string& name) const {
    const std::string folder = path(0);
    return folder.empty() || folder.ends_with('/') ? folder + name : folder + "/" + name;
  }

  files::Tree& tree_;
  const FilesOptions& options_;
};

void Commands::list() {
  ordered_json all = ordered_json::array();
  for (const files::DirectoryEntry& each : take(tree_.list(path(0)), path(0).empty() ? "/" : path(0))) {
    if (!options_.all && !options_.json) {
      base::print(shown(each.name) + "\n");
      continue;
    }
    const auto of = tree_.attributes(below(each.name), false);
    if (of.fault == files::Fault::no_entry || of.fault == files::Fault::stale) continue;  // removed meanwhile
    if (of.fault == files::Fault::cross_device) continue;  // another file system is mounted there
    const files::Attributes is = take(of, below(each.name));
    if (options_.json)
      all.push_back(json_of(each.name, is));
    else
      base::print(fmt::format("{} {:>3} {:>8} {:>8} {:>12} {} {}\n", mode_text(is), is.links,
                              user_name(is.owner), is.group, is.size, time_text(is.written),
                              shown(each.name)));
  }
  if (options_.json) base::print(text_of(all) + "\n");
}

void Commands::cat() {
  files::File file = take(tree_.open(path(0)), path(0));
  std::vector<std::byte> bytes(kPiece);
  for (;;) {
    check_stop("reading");
    const std::size_t count = take(file.read(bytes), path(0));
    base::print({reinterpret_cast<const char*>(bytes.data()), count});
    if (count == 0) return;
  }
}

std::uint32_t mode_of_new() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666u & ~mask;
}

// The old file is replaced when all has come. Its rights stay.
void Commands::put() {
  Input input(path(0));
  const std::string to = path(1);
  const std::string beside = fmt::format("{}.{:016x}", to, base::random_key());
  const auto old = tree_.attributes(to);
  const files::Opening fresh{
      .write = true, .create = true, .fresh = true, .mode = old ? old.value.mode & 0777u : mode_of_new()};
  files::File file = take(tree_.open(beside, fresh), to);
  std::vector<std::byte> bytes(kPiece);
  try {
    while (!input.ended()) {
      check_stop("writing");
      const std::size_t count = input.read_available(bytes);
      if (count == 0 && !input.ended()) input.wait(-1);
      for (std::size_t done = 0; done != count;)
        done += take(file.write(std::span(bytes).subspan(done, count - done)), to);
    }
    check(file.sync(), to);
    check(tree_.rename(beside, to), to);
  } catch (...) {
    static_cast<void>(tree_.remove(beside));
    throw;
  }
}

void Commands::stat() {
  const files::Attributes of = take(tree_.attributes(path(0), false), path(0));
  if (options_.json) return base::print(text_of(json_of(path(0), of)) + "\n");
  base::print(
      fmt::format("{} {}\n  {} bytes in {} blocks of 512, {} name{}\n  mode {:04o}, owner {} ({}), "
                  "group {}, inode {}\n  read {}, written {}, changed {} UTC\n",
                  word_of(of.kind), path(0), of.size, of.blocks, of.links, of.links == 1 ? "" : "s", of.mode,
                  user_name(of.owner), of.owner, of.group, of.inode, time_text(of.read),
                  time_text(of.written), time_text(of.changed)));
}

void Commands::room() {
  const files::Room room = take(tree_.room(), options_.name);
  if (options_.json)
    return base::print(ordered_json{{"bytes", room.blocks * room.block},
                                    {"free", room.free * room.block},
                                    {"available", room.available * room.block},
                                    {"files", room.files},
                                    {"files_free", room.files_free}}
                           .dump() +
                       "\n");
  base::print(fmt::format("{} bytes, {} of them free, {} for users; {} files, {} more\n",
                          room.blocks * room.block, room.free * room.block, room.available * room.block,
                          room.files - room.files_free, room.files_free));
}

void Commands::remove() {
  const files::Fault fault = tree_.remove(path(0));
  check(fault == files::Fault::is_a_directory ? tree_.remove_directory(path(0)) : fault, path(0));
}

struct Action {
  std::string_view name;
  std::size_t least, most;  // paths
  void (Commands::*run)();
};
constexpr std::array kActions = {
    Action{"ls", 0, 1, &Commands::list},   Action{"cat", 1, 1, &Commands::cat},
    Action{"put", 2, 2, &Commands::put},   Action{"stat", 1, 1, &Commands::stat},
    Action{"df", 0, 0, &Commands::room},   Action{"mkdir", 1, 1, &Commands::make_directory},
    Action{"rm", 1, 1, &Commands::remove}, Action{"mv", 2, 2, &Commands::move},
};

const Action& action_of(const FilesOptions& options) {
  for (const Action& each : kActions) {
    if (each.name != options.action) continue;
    if (options.paths.size() >= each.least && options.paths.size() <= each.most) return each;
    throw Failure(fmt::format("'{}' takes {} path{}, not {}", each.name, each.most, each.most == 1 ? "" : "s",
                              options.paths.size()),
                  "usage", "see 'hamlyn files --help'", kUsage);
  }
  throw Failure(fmt::format("there is no action '{}'", options.action), "usage",
                "ls, cat, put, stat, df, mkdir, rm and mv are there", kUsage);
}

}  // namespace

void run_files(const FilesOptions& options) {
  const Action& action = action_of(options);
  Stop stop;
  Manager manager({.interface = {.node = options.node, .start_node = options.node.empty()}});
  const Stop::Cancels cancels(stop, manager);
  try {
    files::Tree tree(manager.interface(), options.name, {.timeout = options.timeout});
    Commands commands(tree, options);
    (commands.*action.run)();
  } catch (const Error& error) {
    check_stop("the tree was asked for");
    if (error.code() != ErrorCode::timed_out && error.code() != ErrorCode::name_unknown) throw;
    throw Failure(
        fmt::format("nobody serves '{}' in the time given{}", options.name, where_asked(options.node)),
        name(error.code()), "start 'hamlyn serve', or give more time with --timeout", kTimedOut);
  }
}

}  // namespace hamlyn::tool
