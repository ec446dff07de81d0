// Tables of the papers: what they are made of, their sums and shares, and how they are printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tool/perf/papers/sizes.h"
#include "tool/perf/papers/sweep.h"
#include "tool/perf/papers/tables.h"
#include "tool/perf/papers/watch.h"

namespace hamlyn::tool::perf::papers {
namespace {

Figure figure(const std::string& name, double near, Cell far = {}) {
  Figure out{name, std::string(unit_of(name)), {near, near, near, near, near}, false, 1, {near}};
  out.median_at(Distance::far) = far;
  return out;
}

const Chapter& chapter(std::string_view id) {
  const auto all = chapters();
  return *std::ranges::find(all, id, &Chapter::id);
}

// Figures of a chapter, each of that value.
std::vector<Figure> all_of(const Chapter& of, double value) {
  std::vector<Figure> out;
  for (const Meter& meter : of.meters()) out.push_back(figure(meter.name, value));
  return out;
}

const Row& row(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table.rows, name, &Row::name);
  if (found == table.rows.end()) throw std::runtime_error("no row " + std::string(name));
  return *found;
}

// Adds up a column over the rows that are no sums.
double column(const Table& table, std::size_t at, const std::vector<std::string>& sums) {
  double out = 0;
  for (const Row& each : table.rows)
    if (std::ranges::find(sums, each.name) == sums.end()) out += each.cells.at(at).value();
  return out;
}

TEST(PerfPapers, EachTableHasItsFiguresOnceAndRowsAsLongAsItsHead) {
  for (const Chapter& each : chapters()) {
    SCOPED_TRACE(each.id);
    std::set<std::string> names;
    const std::vector<Meter> meters = each.meters();
    for (const Meter& meter : meters) names.insert(meter.name);
    EXPECT_EQ(names.size(), meters.size());
    for (const Table& table : each.tables(all_of(each, 10), 0.5)) {
      EXPECT_EQ(table.id, each.id);
      EXPECT_FALSE(table.rows.empty());
      for (const Row& of : table.rows) EXPECT_EQ(of.cells.size(), table.columns.size()) << of.name;
    }
  }
}

TEST(PerfPapers, WhatWasNotMeasuredIsNoNumber) {
  for (const Chapter& each : chapters()) {
    for (const Table& table : each.tables({}, 0.5)) {
      EXPECT_FALSE(table.distance.has_value());
      EXPECT_NE(to_text(table).find("  -"), std::string::npos) << each.id;
      EXPECT_EQ(to_text(table).find("nan"), std::string::npos) << each.id;
    }
  }
}

TEST(PerfPapers, AViStandsBesideThoseOfItsTime) {
  const Chapter& first = chapter("1");
  const Table base = first.tables(
      {figure("shm.vi.send.16.oneway", 123), figure("shm.vi.touched.65536.bandwidth", 9.5)}, 0.5)[0];
  EXPECT_DOUBLE_EQ(row(base, "here, 16 bytes").cells[0].value(), 0.123);
  EXPECT_DOUBLE_EQ(row(base, "here, 16 bytes").cells[1].value(), 9500);
  EXPECT_FALSE(row(base, "here, 4 bytes").cells[0].has_value());
  EXPECT_EQ(row(base, "Giganet cLan").cells[0], 24);
}

TEST(PerfPapers, CallsOfViAreTheWholeOfThePaper) {
  const Chapter& third = chapter("3");
  const Table calls = third.tables(all_of(third, 10), 0.5).at(0);
  const std::vector<std::string> sums{"base VI", "event notification", "flow control", "semantics", "all"};
  EXPECT_NEAR(column(calls, 0, sums), 100, 1e-9);
  EXPECT_NEAR(column(calls, 1, sums), 100, 1e-9);
  EXPECT_NEAR(column(calls, 2, sums), 100, 1e-9);
  EXPECT_NEAR(row(calls, "base VI").cells[0].value(), 32.5, 1e-9);  // as the paper has them
  EXPECT_NEAR(row(calls, "event notification").cells[0].value(), 44.2, 1e-9);
  EXPECT_NEAR(row(calls, "flow control").cells[1].value(), 11.6, 1e-9);
  EXPECT_NEAR(row(calls, "semantics").cells[1].value(), 5.4, 1e-9);
  EXPECT_DOUBLE_EQ(row(calls, "all").cells[3].value(), 130);  // thirteen calls of 10 ns
  EXPECT_DOUBLE_EQ(row(calls, "all").cells[4].value(), 260);  // cycles of half a nanosecond
  EXPECT_NEAR(row(calls, "event notification").cells[2].value(), 100.0 * 2 / 13, 1e-9);
}

TEST(PerfPapers, PartsOfActiveMessagesAddUp) {
  const Chapter& third = chapter("3");
  std::vector<Figure> figures = all_of(third, 10);
  for (Figure& each : figures)
    if (each.name == "shm.am.vi.match.none.cost") each = figure(each.name, 7);
  const Table parts = third.tables(figures, 0.5).at(1);
  EXPECT_NEAR(column(parts, 0, {"all"}), 100, 1e-9);
  for (const std::size_t percent : {std::size_t{2}, std::size_t{4}, std::size_t{6}})
    EXPECT_NEAR(column(parts, percent, {"all"}), 100, 1e-9);
  EXPECT_DOUBLE_EQ(row(parts, "process received message").cells[3].value(), 14);  // 7 ns over a VI
  EXPECT_DOUBLE_EQ(row(parts, "read data from message").cells[3].value(), 6);     // what arguments add
  EXPECT_DOUBLE_EQ(row(parts, "read data from message").cells[1].value(), 0);
  EXPECT_DOUBLE_EQ(row(parts, "all").cells[1].value(), 140);
}

TEST(PerfPapers, AGetIsItsThreeParts) {
  const Chapter& fourth = chapter("4");
  const Table get = fourth.tables(all_of(fourth, 20), 0.5).at(0);
  EXPECT_DOUBLE_EQ(row(get, "all").cells[0].value(), 60);
  EXPECT_DOUBLE_EQ(row(get, "all").cells[1].value(), 120);
  EXPECT_NEAR(column(get, 2, {"all"}), 100, 1e-9);
}

TEST(PerfPapers, AKilobyteTakesLongerByWhatItTakes) {
  const Chapter& fifth = chapter("5");
  std::vector<Figure> figures = all_of(fifth, 1);
  for (Figure& each : figures) {
    if (each.name == "copy.1024.cost") each = figure(each.name, 30);
    if (each.name == "shm.vi.send.16.rate") each = figure(each.name, 20e6);  // one in 50 ns
    if (each.name == "shm.vi.swept.1024.bandwidth") each = figure(each.name, 4);
    if (each.name == "shm.am.swept.1024.bandwidth") each = figure(each.name, 2);
  }
  const Table longer = fifth.tables(figures, 0.5).at(0);
  EXPECT_DOUBLE_EQ(row(longer, "total").cells[1].value(), 80);
  EXPECT_DOUBLE_EQ(row(longer, "total").cells[0].value(), 18.5);
  EXPECT_DOUBLE_EQ(row(longer, "measured: am").cells[1].value(), 512 - 256);
  EXPECT_DOUBLE_EQ(row(longer, "measured: am.vi").cells[1].value(), 1024 - 256);
}

TEST(PerfPapers, ATableIsOfOneDistance) {
  const std::vector<Figure> both{figure("a.cost", 10, 50), figure("b.cost", 20, 70)};
  const Reading near(both, {"a.cost", "b.cost"});
  EXPECT_EQ(near.distance(), Distance::near);
  EXPECT_EQ(near.of("b.cost"), 20);
  std::vector<Figure> moved = both;
  moved[1].median_at(Distance::near).reset();
  const Reading far(moved, {"a.cost", "b.cost"});
  EXPECT_EQ(far.distance(), Distance::far);
  EXPECT_EQ(far.of("a.cost"), 50);
  moved[0].median_at(Distance::far).reset();
  const Reading mixed(moved, {"a.cost", "b.cost"});
  EXPECT_FALSE(mixed.distance().has_value());
  EXPECT_EQ(mixed.of("b.cost"), 20);  // of all rounds
  EXPECT_FALSE(mixed.of("c.cost").has_value());
}

const Table kTable{.id = "9",
                   .title = "table 9",
                   .columns = {"us", "%"},
                   .rows = {{"one", {1.25, {}}}, {"a longer name", {12345, 0.125}}},
                   .note = "A note.",
                   .distance = Distance::far};

TEST(PerfPapers, TextStandsInColumns) {
  EXPECT_EQ(to_text(kTable),
            "\ntable 9           us     %\none              1.2     -\na longer name  12345  0.12\n"
            "processors: far\nA note.\n");
}

TEST(PerfPapers, JsonHasEachCell) {
  const auto wanted =
      nlohmann::ordered_json::parse(R"({"table": "9", "title": "table 9", "columns": ["us", "%"],
    "rows": [{"name": "one", "cells": [1.25, null]}, {"name": "a longer name", "cells": [12345.0, 0.125]}],
    "distance": "far", "note": "A note."})");
  EXPECT_EQ(to_object(kTable), wanted);
}

TEST(PerfPapers, NothingComesOfCellsThatAreNone) {
  EXPECT_EQ(sum({1.0, 2.0}), 3);
  EXPECT_FALSE(sum({1.0, {}}).has_value());
  EXPECT_EQ(difference(5.0, 2.0), 3);
  EXPECT_FALSE(difference({}, 2.0).has_value());
  EXPECT_EQ(quotient(6.0, 3.0), 2);
  EXPECT_FALSE(quotient(6.0, {}).has_value());
  EXPECT_EQ(times(2.0, 4), 8);
}

TEST(PerfPapers, AMessageOfAnySizeIsReadWhole) {
  for (const std::uint32_t bytes : kSizes) {
    std::vector<std::byte> message(bytes);
    fill(message, 7);
    EXPECT_TRUE(is_filled(message, 7));
    EXPECT_FALSE(is_filled(message, 8));
    for (const std::size_t at : {std::size_t{0}, message.size() / 2, message.size() - 1}) {
      message[at] ^= std::byte{1};
      EXPECT_FALSE(is_filled(message, 7)) << bytes << " bytes, at " << at;
      message[at] ^= std::byte{1};
    }
    EXPECT_GT(timed(bytes), window(bytes)) << bytes;
  }
}

TEST(PerfPapers, HandsThatDidNotRunStandAtNothing) {
  watch().begin();
  {
    const During outer(AmPart::keep_books);
    const During inner(AmPart::post);
  }
  const PartTicks spent = watch().spent();
  EXPECT_EQ(spent[static_cast<std::size_t>(AmPart::act)], 0);
  EXPECT_EQ(spent[static_cast<std::size_t>(AmPart::look)], 0);
  watch().begin();
  EXPECT_EQ(watch().spent(), PartTicks{});
}

}  // namespace
}  // namespace hamlyn::tool::perf::papers
