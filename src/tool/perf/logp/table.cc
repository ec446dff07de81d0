#include "tool/perf/logp/table.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace hamlyn::tool::perf::logp {
namespace {

using Json = nlohmann::ordered_json;

// Table 2 of paper 2 (section 7.1): Active Messages over VI, in microseconds.
struct Printed {
  const char* system;
  double half_round_trip, latency, send, receive, gap;
  // Delta that the table prints: over half a round trip of VI's smallest message (table 1).
  double over_smallest;
};
constexpr std::array<Printed, 3> kPrinted{{{"AMVIAv1 (LANai 4)", 53.0, 45.0, 2.7, 5.3, 48.0, 19.9},
                                           {"AMVIAv1 (LANai 7)", 39.2, 33.2, 3.2, 2.8, 34.7, 9.0},
                                           {"AMVIAv3 (LANai 7)", 35.6, 29.6, 3.1, 2.9, 30.0, 5.4}}};

std::string place_of(const Row& row) { return std::string(row.distance ? name_of(*row.distance) : "-"); }

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
            {"signature", Json::array()}};
  for (const Curve& curve : row.signature.curves) json["signature"].push_back(curve_json(curve));
  return json;
}

Json printed_json(const Printed& of) {
  return {{"system", of.system},        {"L", of.latency}, {"Os", of.send},
          {"Or", of.receive},           {"g", of.gap},     {"half_round_trip", of.half_round_trip},
          {"over_vi", of.over_smallest}};
}

}  // namespace

std::string to_json(const Table& table) {
  Json json{{"machine", table.machine}, {"date", table.date}, {"version", table.version}, {"unit", "ns"}};
  json["layers"] = Json::array();
  for (const Row& row : table.rows) json["layers"].push_back(row_json(row));
  json["paper"] = {{"table", "paper 2, table 2"}, {"unit", "us"}, {"rows", Json::array()}};
  for (const Printed& printed : kPrinted) json["paper"]["rows"].push_back(printed_json(printed));
  return json.dump(2) + "\n";
}

std::string to_text(const Table& table) {
  constexpr const char* kHead = "{:<18} {:>9} {:>9} {:>9} {:>9} {:>9}";
  std::string text = fmt::format("{}\n{}, hamlyn {}\n\n", table.machine, table.date, table.version);
  text += fmt::format(fmt::runtime(std::string(kHead) + " {:>10} {:>8}  {}\n"), "ns", "L", "Os", "Or", "g",
                      "RTT/2", "under way", "distance", "of");
  for (const Row& row : table.rows) {
    const Parameters& p = row.parameters;
    text += fmt::format("{:<18} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>10} {:>8}  {}\n", row.layer,
                        p.latency, p.send, p.receive, p.gap, p.half_round_trip, row.under_way, place_of(row),
                        row.what);
  }
  text += fmt::format(fmt::runtime("\n" + std::string(kHead) + "\n"), "paper 2, us", "L", "Os", "Or", "g",
                      "RTT/2");
  for (const Printed& p : kPrinted)
    text += fmt::format("{:<18} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f}\n", p.system, p.latency, p.send,
                        p.receive, p.gap, p.half_round_trip);
  return text;
}

}  // namespace hamlyn::tool::perf::logp
