#include "tool/perf/papers/papers.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "base/standard_output.h"
#include "tool/perf/clock.h"
#include "tool/perf/papers/tables.h"
#include "tool/perf/report_object.h"
#include "tool/perf/session.h"

namespace hamlyn::tool {

namespace perf::papers {
namespace {

// Throws std::invalid_argument.
std::vector<Chapter> chosen(const std::string& which) {
  const auto all = chapters();
  if (which == "all") return {all.begin(), all.end()};
  std::vector<Chapter> out;
  std::istringstream words(which);
  for (std::string word; std::getline(words, word, ',');) {
    const auto found = std::ranges::find(all, word, &Chapter::id);
    if (found == all.end()) {
      std::string names = "all";
      for (const Chapter& each : all) names += ", " + std::string(each.id);
      throw std::invalid_argument(fmt::format("--tables: {} is none of {}", word, names));
    }
    out.push_back(*found);
  }
  return out;
}

// Each figure once: two tables may have the same.
std::vector<Meter> meters_of(const std::vector<Chapter>& chapters) {
  std::vector<Meter> out;
  for (const Chapter& chapter : chapters)
    for (Meter& meter : chapter.meters())
      if (std::ranges::find(out, meter.name, &Meter::name) == out.end()) out.push_back(std::move(meter));
  return out;
}

std::string json_of(const Report& report, const std::vector<Table>& tables) {
  nlohmann::ordered_json json = to_object(report);
  json["paper"] = "paper 2";
  json["ns_per_cycle"] = ns_per_tick();
  json["cycles_per_reading"] = ticks_per_reading();
  json["tables"] = nlohmann::ordered_json::array();
  for (const Table& table : tables) json["tables"].push_back(to_object(table));
  return json.dump(2) + "\n";
}

std::string text_of(const Report& report, const std::vector<Table>& tables) {
  std::string text = fmt::format(
      "{}\n{}, hamlyn {}\npaper 2\na cycle of the time-stamp counter is {:.3f} ns; reading it costs {:.0f}, "
      "which are taken out\n",
      report.machine, report.date, report.version, ns_per_tick(), ticks_per_reading());
  for (const Table& table : tables) text += to_text(table);
  return text;
}

}  // namespace
}  // namespace perf::papers

int run_tables(const TablesOptions& options) {
  using namespace perf;
  const std::vector<papers::Chapter> chapters = papers::chosen(options.which);
  ns_per_tick();
  ticks_per_reading();  // before the first fork
  PerfOptions measuring;
  measuring.cores = options.cores;
  const Measured measured = measure(papers::meters_of(chapters), measuring, options.rounds);
  std::vector<papers::Table> tables;
  for (const papers::Chapter& chapter : chapters)
    for (papers::Table& table : chapter.tables(measured.report.figures, ns_per_tick()))
      tables.push_back(std::move(table));
  base::print(options.json ? papers::json_of(measured.report, tables)
                           : papers::text_of(measured.report, tables));
  return tell(measured.failures, "hamlyn logp");
}

}  // namespace hamlyn::tool
