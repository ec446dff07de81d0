#include "test/chaos/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hamlyn/values/error.h"

namespace hamlyn::chaos {
namespace {

std::vector<std::string> faults(const Ledger& ledger) {
  std::vector<std::string> out;
  const std::size_t kept = std::min<std::size_t>(ledger.faults, ledger.fault_texts.size());
  for (std::size_t i = 0; i < kept; ++i) out.emplace_back(ledger.fault_texts[i].data());
  return out;
}

nlohmann::json object(const Belongings& of) {
  return {{"descriptors", of.descriptors},
          {"threads", of.threads},
          {"kib", of.kib},
          {"shared_kib", of.shared_kib}};
}

nlohmann::json object(const Look& look) {
  return {{"seconds", look.seconds},
          {"daemon", object(look.daemon)},
          {"survivors", object(look.steady)},
          {"machine_shared_kib", look.machine_shared_kib},
          {"bystander_median_us", look.median},
          {"bystander_p99_us", look.p99}};
}

nlohmann::json object(const Tally& tally) {
  return {{"accepted", tally.letters.load()},    {"told_delivered", tally.delivered.load()},
          {"received", tally.received.load()},   {"refused", tally.refused.load()},
          {"unknown", tally.unknown.load()},     {"excused", tally.excused.load()},
          {"late", tally.late.load()},           {"ends", tally.ends.load()},
          {"scribbled", tally.scribbles.load()}, {"names", tally.names.load()}};
}

}  // namespace

std::string heading() {
  return fmt::format(
      "{:>7}  {:>21}  {:>30}  {:>9}  {:>18}\n{:>7}  {:>6} {:>6} {:>7}  {:>8} {:>8} {:>12}  {:>9}  {:>8} "
      "{:>9}",
      "", "daemon", "survivors", "machine", "round trip (us)", "seconds", "fds", "thr", "KiB", "fds", "thr",
      "KiB", "shm KiB", "median", "p99");
}

std::string row(const Look& look) {
  return fmt::format("{:>7}  {:>6} {:>6} {:>7}  {:>8} {:>8} {:>12}  {:>9}  {:>8.1f} {:>9.1f}", look.seconds,
                     look.daemon.descriptors, look.daemon.threads, look.daemon.kib, look.steady.descriptors,
                     look.steady.threads, look.steady.kib, look.machine_shared_kib, look.median, look.p99);
}

std::string summary(const Conductor& conductor) {
  const Ledger& ledger = conductor.ledger();
  const Tally& tally = ledger.tally;
  const Done& done = conductor.done();
  std::string out = fmt::format(
      "{} processes at a time, {} in all: {} killed, {} stopped and continued; daemon killed {} and upgraded "
      "{} times\n"
      "{} letters accepted, of which {} were told to be delivered; {} received, {} refused, {} of which "
      "nobody can know, "
      "{} excused by a death or an end\n{} accounts ended by an end, {} late letters, {} links scribbled "
      "over, {} names\n",
      conductor.players(), done.starts, done.kills, done.stops, done.daemon_kills, done.upgrades,
      tally.letters.load(), tally.delivered.load(), tally.received.load(), tally.refused.load(),
      tally.unknown.load(), tally.excused.load(), tally.ends.load(), tally.late.load(),
      tally.scribbles.load(), tally.names.load());
  for (std::size_t code = 0; code < ledger.errors.size(); ++code) {
    if (ledger.errors[code] != 0)
      out += fmt::format("error {}: {}\n", name(static_cast<ErrorCode>(code)), ledger.errors[code].load());
  }
  for (const std::string& fault : faults(ledger)) out += "FAULT: " + fault + "\n";
  return out +
         (ledger.faults == 0 ? "every promise was kept\n" : fmt::format("{} faults\n", ledger.faults.load()));
}

std::string json(const Plan& plan, const Conductor& conductor, const std::vector<Look>& looks) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Look& look : looks) rows.push_back(object(look));
  const Done& done = conductor.done();
  const nlohmann::json all{{"seed", plan.seed},
                           {"processes", conductor.players()},
                           {"seconds", plan.seconds},
                           {"started", done.starts},
                           {"killed", done.kills},
                           {"stopped", done.stops},
                           {"daemon_killed", done.daemon_kills},
                           {"daemon_upgraded", done.upgrades},
                           {"letters", object(conductor.ledger().tally)},
                           {"looks", rows},
                           {"faults", faults(conductor.ledger())}};
  return all.dump(2);
}

std::string command_line(const Plan& plan) {
  return fmt::format("hamlyn-chaos --seconds {} --processes {} --seed {} --every {}{}{}", plan.seconds,
                     plan.processes, plan.seed, plan.every, plan.users ? " --users" : "",
                     plan.daemon_faults ? " --daemon-faults" : "");
}

}  // namespace hamlyn::chaos
