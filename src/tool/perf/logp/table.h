#pragma once
// Parameters of layers as they are reported, with the signatures that they are of.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/perf/distance.h"
#include "tool/perf/logp/signature.h"

namespace hamlyn::tool::perf::logp {

struct Row {
  std::string layer;
  std::string what;
  std::uint32_t under_way = 0;
  std::optional<Distance> distance;  // none: the processors moved, each time
  Signature signature;
  Parameters parameters;
  std::string below;           // layer whose message its own is built on; empty: none
  std::optional<double> over;  // half a round trip beside that one's of this run
};

struct Table {
  std::string machine;
  std::string date;     // UTC, ISO 8601
  std::string version;  // of Hamlyn
  bool between_nodes = false;
  std::uint32_t peers = 1;  // endpoints that asked
  std::vector<Row> rows;
};

// Notes what each row's half round trip is over that of the layer below, where both were taken equally far.
void compare(Table& table);
// One object, ended with a newline.
std::string to_json(const Table& table);
// Tables for people: ours in nanoseconds, and paper 2's in microseconds.
std::string to_text(const Table& table);

}  // namespace hamlyn::tool::perf::logp
