#include "tool/perf/logp/logp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

#include "base/standard_output.h"
#include "tool/perf/clock.h"
#include "tool/perf/keeper.h"
#include "tool/perf/logp/layers.h"
#include "tool/perf/logp/table.h"
#include "tool/perf/machine.h"
#include "tool/perf/papers/papers.h"
#include "tool/perf/session.h"

namespace hamlyn::tool {

namespace perf::logp {
namespace {

constexpr int kRounds = 300;
constexpr int kTries = 3;

// Requests of that layer under way.
std::uint32_t under_way(const Layer& layer, std::uint32_t credits) {
  return layer.most != 0 && credits != 0 ? credits : layer.under_way;
}

std::string names() {
  std::string all;
  for (const Layer& layer : layers()) all += (all.empty() ? "" : ", ") + std::string(layer.name);
  return all;
}

std::vector<Layer> chosen(const LogpOptions& options) {
  std::vector<Layer> out;
  for (const Layer& layer : layers())
    if (options.layer.empty() || options.layer == layer.name) out.push_back(layer);
  if (out.empty())
    throw std::invalid_argument(fmt::format("--layer: {} is none of {}", options.layer, names()));
  for (const Layer& layer : out)
    if (layer.most != 0 && options.credits > layer.most)
      throw std::invalid_argument(
          fmt::format("--k: the layer {} has at most {} requests under way", layer.name, layer.most));
  if (options.credits != 0 && out.size() == 1 && out.front().most == 0)
    throw std::invalid_argument(fmt::format("--k: the layer {} has no credits", options.layer));
  if (options.peers != 0 && (out.size() != 1 || !out.front().has_peers))
    throw std::invalid_argument("--peers: with --layer am, am.vi or am.vi3");
  return out;
}

// Measures again, kTries times in all, if the machine was disturbed or its processors moved meanwhile.
Row measured(const Layer& layer, Cores cores, const LogpOptions& options) {
  const Manner manner{.cores = cores,
                      .under_way = under_way(layer, options.credits),
                      .rounds = kRounds,
                      .place = options.between_nodes ? Place::ofi : Place::shm,
                      .peers = std::max(options.peers, 1u)};
  Row row{.layer = std::string(layer.name),
          .what = std::string(layer.what),
          .under_way = manner.under_way,
          .distance = {},
          .signature = {},
          .parameters = {},
          .below = std::string(layer.below),
          .over = {}};
  double before = line_nanoseconds(cores);
  for (int tries = 1; tries <= kTries && !row.distance; ++tries) {
    row.signature = layer.take(manner);
    const double after = line_nanoseconds(cores);
    const std::optional<Distance> distance = distance_between(std::exchange(before, after), after);
    try {
      row.parameters = parameters_of(row.signature);
      row.distance = distance;
    } catch (const NoParameters&) {
      if (tries == kTries) throw;
    }
  }
  return row;
}

TablesOptions tables_of(const LogpOptions& options) {
  if (!options.layer.empty() || options.credits != 0 || options.peers != 0 || options.between_nodes)
    throw std::invalid_argument(
        "--tables: without --layer, --k, --peers and --between-nodes, which are of the parameters");
  TablesOptions out{.which = options.tables, .cores = options.cores, .json = options.json};
  if (options.rounds != 0) out.rounds = options.rounds;
  return out;
}

}  // namespace
}  // namespace perf::logp

int run_logp(const LogpOptions& options) {
  using namespace perf;
  if (!options.tables.empty()) return run_tables(logp::tables_of(options));
  if (options.rounds != 0) throw std::invalid_argument("--rounds: only with --tables");
  const std::vector<logp::Layer> layers = logp::chosen(options);
  const Cores cores = cores_for(options.cores);
  ns_per_tick();
  const Keeper keeper;
  logp::Table table{describe_machine(cores),     utc_now(), HAMLYN_VERSION, options.between_nodes,
                    std::max(options.peers, 1u), {}};
  std::vector<std::string> failures;
  for (const logp::Layer& layer : layers) {
    try {
      table.rows.push_back(logp::measured(layer, cores, options));
    } catch (const std::exception& error) {
      failures.push_back(std::string(layer.name) + ": " + error.what());
    }
  }
  logp::compare(table);
  base::print(options.json ? to_json(table) : to_text(table));
  return tell(failures, "hamlyn logp");
}

}  // namespace hamlyn::tool
