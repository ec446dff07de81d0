#pragma once
// A table of a paper with what was measured beside it. Pure: of figures, without clocks.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tool/perf/figure.h"

namespace hamlyn::tool::perf::papers {

using Cell = std::optional<double>;  // none: the paper does not say, or it was not measured

struct Row {
  std::string name;
  std::vector<Cell> cells;
};

struct Table {
  std::string id;  // as --tables has it
  std::string title;
  std::vector<std::string> columns;  // each with its unit
  std::vector<Row> rows;
  std::string note;  // how to read it; empty: as it stands
  // How far the processors were from each other; none: not always as far.
  std::optional<Distance> distance;
};

std::string to_text(const Table& table);
nlohmann::ordered_json to_object(const Table& table);

// Figures that one table is made of, all at one distance of the processors if they were all measured at it.
class Reading {
 public:
  Reading(const std::vector<Figure>& figures, const std::vector<std::string>& names);
  Cell of(const std::string& name) const;
  const std::optional<Distance>& distance() const { return distance_; }

 private:
  const std::vector<Figure>& figures_;
  std::optional<Distance> distance_;
};

// Arithmetic on cells: none if one of them is.
Cell sum(const std::vector<Cell>& cells);
Cell difference(Cell of, Cell without);
Cell quotient(Cell of, Cell by);
Cell times(Cell of, double factor);

}  // namespace hamlyn::tool::perf::papers
