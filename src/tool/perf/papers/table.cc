#include "tool/perf/papers/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hamlyn::tool::perf::papers {
namespace {

using Json = nlohmann::ordered_json;

std::string written(const Cell& cell) {
  if (!cell) return "-";
  const double size = *cell < 0 ? -*cell : *cell;
  return size < 1 ? fmt::format("{:.2f}", *cell) : fmt::format("{:.{}f}", *cell, size < 1000 ? 1 : 0);
}

// Widths of a table's first column, and of the others.
struct Widths {
  std::size_t name = 0;
  std::vector<std::size_t> columns;
};
Widths widths_of(const Table& table) {
  Widths out{table.title.size(), {}};
  for (const Row& row : table.rows) out.name = std::max(out.name, row.name.size());
  for (std::size_t i = 0; i != table.columns.size(); ++i) {
    std::size_t width = table.columns[i].size();
    for (const Row& row : table.rows) width = std::max(width, written(row.cells[i]).size());
    out.columns.push_back(width);
  }
  return out;
}

bool has(const std::vector<Figure>& figures, const std::vector<std::string>& names, Distance distance) {
  return std::ranges::all_of(names, [&](const std::string& name) {
    const Figure* const found = find(figures, name);
    return found != nullptr && found->median_at(distance);
  });
}

}  // namespace

std::string to_text(const Table& table) {
  const Widths widths = widths_of(table);
  std::string text = fmt::format("\n{:<{}}", table.title, widths.name);
  for (std::size_t i = 0; i != table.columns.size(); ++i)
    text += fmt::format("  {:>{}}", table.columns[i], widths.columns[i]);
  text += "\n";
  for (const Row& row : table.rows) {
    text += fmt::format("{:<{}}", row.name, widths.name);
    for (std::size_t i = 0; i != row.cells.size(); ++i)
      text += fmt::format("  {:>{}}", written(row.cells[i]), widths.columns[i]);
    text += "\n";
  }
  text += fmt::format("processors: {}\n", table.distance ? name_of(*table.distance) : "not always as far");
  return table.note.empty() ? text : text + table.note + "\n";
}

Json to_object(const Table& table) {
  Json json{{"table", table.id}, {"title", table.title}, {"columns", table.columns}};
  json["rows"] = Json::array();
  for (const Row& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row.cells) cells.push_back(cell ? Json(*cell) : Json(nullptr));
    json["rows"].push_back({{"name", row.name}, {"cells", std::move(cells)}});
  }
  json["distance"] = table.distance ? Json(name_of(*table.distance)) : Json(nullptr);
  json["note"] = table.note;
  return json;
}

Reading::Reading(const std::vector<Figure>& figures, const std::vector<std::string>& names)
    : figures_(figures) {
  for (const Distance distance : kDistances)
    if (!distance_ && has(figures, names, distance)) distance_ = distance;
}

Cell Reading::of(const std::string& name) const {
  const Figure* const found = find(figures_, name);
  if (found == nullptr) return {};
  return distance_ ? found->median_at(*distance_) : Cell(found->summary.median);
}

Cell sum(const std::vector<Cell>& cells) {
  double out = 0;
  for (const Cell& cell : cells) {
    if (!cell) return {};
    out += *cell;
  }
  return out;
}
Cell difference(Cell of, Cell without) { return of && without ? Cell(*of - *without) : Cell(); }
Cell quotient(Cell of, Cell by) { return of && by ? Cell(*of / *by) : Cell(); }
Cell times(Cell of, double factor) { return of ? Cell(*of * factor) : Cell(); }

}  // namespace hamlyn::tool::perf::papers
