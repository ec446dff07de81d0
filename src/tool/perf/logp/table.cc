#include "tool/perf/logp/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace hamlyn::tool::perf::logp {
namespace {

using Json = nlohmann::ordered_json;

// Table 2 of paper 2 (section 7.1): Active Messages over VI, in microseconds.
struct Printed {
  const char* system;
  double half_round_trip, latency, send, receive, gap;
  // Delta that the table prints: over half a round trip of VI's smallest message (table 1). Its caption says
  // 16 bytes, whose half round trip is 32 us (section 3.3) on the LANai 7; none: not said.
  double over_smallest;
  std::optional<double> over_16_bytes;
};
constexpr std::array<Printed, 3> kPrinted{{{"AMVIAv1 (LANai 4)", 53.0, 45.0, 2.7, 5.3, 48.0, 19.9, {}},
                                           {"AMVIAv1 (LANai 7)", 39.2, 33.2, 3.2, 2.8, 34.7, 9.0, 7.2},
                                           {"AMVIAv3 (LANai 7)", 35.6, 29.6, 3.1, 2.9, 30.0, 5.4, 3.6}}};

std::string text_of(std::optional<double> value) { return value ? fmt::format("{:.1f}", *value) : "-"; }

std::string place_of(const Row& row) { return std::string(row.distance ? name_of(*row.distance) : "-"); }

std::string head(const char* unit) {
  return fmt::format("{:<18} {:>9} {:>9} {:>9} {:>9} {:>9}", unit, "L", "Os", "Or", "g", "RTT/2");
}
std::string cells(std::string_view name, const std::array<double, 5>& values) {
  return fmt::format("{:<18} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f}", name, values[0], values[1],
                     values[2], values[3], values[4]);
}

Json curve_json(const Curve& curve) {
  Json json{{"delay", curve.delay}, {"bursts", Json::array()}};
  for (const Burst& burst : curve.bursts)
    json["bursts"].push_back({{"length", burst.length}, {"interval", burst.interval}});
  return json;
}

Json row_json(const Row& row) {
  const Parameters& found = row.parameters;
  Json json{{"layer", row.layer},
            {"under_way", row.under_way},
            {"distance", row.distance ? Json(name_of(*row.distance)) : Json(nullptr)},
            {"L", found.latency},
            {"Os", found.send},
            {"Or", found.receive},
            {"g", found.gap},
            {"half_round_trip", found.half_round_trip},
            {"below", row.below.empty() ? Json(nullptr) : Json(row.below)},
            {"over_below", row.over ? Json(*row.over) : Json(nullptr)},
            {"signature", Json::array()}};
  for (const Curve& curve : row.signature.curves) json["signature"].push_back(curve_json(curve));
  return json;
}

Json printed_json(const Printed& of) {
  return {{"system", of.system},
          {"L", of.latency},
          {"Os", of.send},
          {"Or", of.receive},
          {"g", of.gap},
          {"half_round_trip", of.half_round_trip},
          {"over_vi", of.over_smallest},
          {"over_vi_16_bytes", of.over_16_bytes ? Json(*of.over_16_bytes) : Json(nullptr)}};
}

}  // namespace

void compare(Table& table) {
  for (Row& row : table.rows) {
    const auto below = std::ranges::find(table.rows, row.below, &Row::layer);
    if (below == table.rows.end() || !row.distance || row.distance != below->distance) continue;
    row.over = row.parameters.half_round_trip - below->parameters.half_round_trip;
  }
}

std::string to_json(const Table& table) {
  Json json{{"machine", table.machine}, {"date", table.date}, {"version", table.version}, {"unit", "ns"}};
  json["between_nodes"] = table.between_nodes;
  json["peers"] = table.peers;
  json["layers"] = Json::array();
  for (const Row& row : table.rows) json["layers"].push_back(row_json(row));
  json["paper"] = {{"table", "paper 2, table 2"}, {"unit", "us"}, {"rows", Json::array()}};
  for (const Printed& printed : kPrinted) json["paper"]["rows"].push_back(printed_json(printed));
  return json.dump(2) + "\n";
}

std::string to_text(const Table& table) {
  std::string text = fmt::format("{}\n{}, hamlyn {}\n\n", table.machine, table.date, table.version);
  if (table.between_nodes) text += "between two nodes\n";
  if (table.peers != 1) text += fmt::format("{} endpoints ask in turn\n", table.peers);
  text += head("ns") + fmt::format(" {:>8} {:>10} {:>8}  of\n", "over", "under way", "distance");
  for (const Row& row : table.rows) {
    const Parameters& found = row.parameters;
    text += cells(row.layer, {found.latency, found.send, found.receive, found.gap, found.half_round_trip});
    text +=
        fmt::format(" {:>8} {:>10} {:>8}  {}\n", text_of(row.over), row.under_way, place_of(row), row.what);
  }
  text += "over: RTT/2 beside that of the layer below, fast for am and vi for splitc.vi, am.vi and am.vi3\n";
  text += "\n" + head("paper 2, us") + fmt::format(" {:>8} {:>10}\n", "over", "over 16 B");
  for (const Printed& printed : kPrinted)
    text += cells(printed.system,
                  {printed.latency, printed.send, printed.receive, printed.gap, printed.half_round_trip}) +
            fmt::format(" {:>8.1f} {:>10}\n", printed.over_smallest, text_of(printed.over_16_bytes));
  return text;
}

}  // namespace hamlyn::tool::perf::logp
