#include "tool/perf/papers/tables.h"

#include <array>
#include <string>

#include "tool/perf/our_party.h"
#include "tool/perf/our_vi.h"
#include "tool/perf/papers/meters.h"
#include "tool/perf/papers/paper2.h"
#include "tool/perf/papers/sizes.h"

namespace hamlyn::tool::perf::papers {
namespace {

using Figures = std::vector<Figure>;

std::vector<std::string> names_of(const std::vector<Meter>& meters) {
  std::vector<std::string> out;
  for (const Meter& meter : meters) out.push_back(meter.name);
  return out;
}
void append(std::vector<Meter>& to, std::vector<Meter> more) {
  for (Meter& meter : more) to.push_back(std::move(meter));
}

// --- table 1

constexpr std::array<std::uint32_t, 2> kShort{4, 16};
constexpr std::uint32_t kLong = 65536;

std::vector<Meter> base_meters() {
  std::vector<Meter> out;
  for (const std::uint32_t bytes : kShort) out.push_back(vi_send(Place::shm, bytes));
  out.push_back(vi_bandwidth(kLong, true));
  return out;
}

std::vector<Table> base_tables(const Figures& figures, double) {
  const Reading reading(figures, names_of(base_meters()));
  Table out{.id = "1",
            .title = "table 1: a VI",
            .columns = {"RTT/2 us", "MB/s"},
            .rows = {},
            .note = "Here messages of 64 KiB are filled by their sender and read whole by their receiver.",
            .distance = reading.distance()};
  for (const Base& base : kBases)
    out.rows.push_back({base.what, {base.microseconds, base.megabytes_per_second}});
  for (const std::uint32_t bytes : kShort) {
    out.rows.push_back({"here, " + std::to_string(bytes) + " bytes",
                        {times(reading.of(vi_send(Place::shm, bytes).name), 1e-3),
                         times(reading.of(vi_bandwidth(kLong, true).name), 1e3)}});
  }
  return {out};
}

// --- tables 3 and 4: each call of VI alone

std::vector<Meter> call_meters() {
  std::vector<Meter> out;
  for (int call = 0; call != static_cast<int>(ViCall::count); ++call)
    out.push_back(vi_call_cost(static_cast<ViCall>(call)));
  return out;
}

// Costs of one call, or of several together.
struct CallCost {
  double third = 0, fourth = 0;
  std::vector<Cell> ns;
  void add(const Call& call, const Reading& reading) {
    third += call.request_reply;
    fourth += call.get;
    ns.push_back(reading.of(vi_call_cost(call.of).name));
  }
  std::vector<Cell> cells(Cell all, double cycle) const {
    const Cell own = sum(ns);
    return {third, fourth, times(quotient(own, all), 100), own, times(own, 1 / cycle)};
  }
};

Table call_table(const Figures& figures, double cycle) {
  const Reading reading(figures, names_of(call_meters()));
  Table out{.id = "3",
            .title = "tables 3 and 4: calls of VI, each alone",
            .columns = {"table 3 %", "table 4 %", "here %", "here ns", "cycles"},
            .rows = {},
            .note = "Each call is made for a batch of messages that have come: no waiting is in it.",
            .distance = reading.distance()};
  CallCost all;
  for (const Call& call : kCalls) all.add(call, reading);
  const Cell whole = sum(all.ns);
  for (const std::string_view category : kCategories) {
    CallCost together;
    std::vector<Row> rows;
    for (const Call& call : kCalls) {
      if (call.category != category) continue;
      CallCost one;
      one.add(call, reading);
      rows.push_back({std::string("  ") + call.operation, one.cells(whole, cycle)});
      together.add(call, reading);
    }
    out.rows.push_back({std::string(category), together.cells(whole, cycle)});
    for (Row& row : rows) out.rows.push_back(std::move(row));
  }
  out.rows.push_back({"all", all.cells(whole, cycle)});
  return out;
}

// --- table 3: parts of active messages in place

// Per cent of table 3, of those calls together.
template <class... Calls>
constexpr double shares(Calls... calls) {
  return (call_of(calls).request_reply + ...);
}
struct Part {
  const char* name;
  AmPart part;
  double paper;  // per cent, of the calls that are in it
};
// A part that is one of the paper's calls.
constexpr Part same(AmPart part, ViCall call) { return {call_of(call).operation, part, shares(call)}; }
constexpr std::array kParts{
    Part{"build and post; ends of sends", AmPart::post,
         shares(ViCall::build_send, ViCall::post_send, ViCall::queue_send, ViCall::send_done)},
    Part{"find and take what came; post receives", AmPart::look,
         shares(ViCall::queue_receive, ViCall::receive_done, ViCall::post_receive)},
    Part{"recycle what was sent", AmPart::recycle_send, shares(ViCall::recycle_send)},
    Part{"recycle what was received", AmPart::recycle_receive, shares(ViCall::recycle_receive)},
    same(AmPart::keep_books, ViCall::credit),
    same(AmPart::match, ViCall::match),
    same(AmPart::act, ViCall::act),
};
constexpr const Call& kRead = call_of(ViCall::read);
constexpr std::array kWays{am::Way::slots, am::Way::vi, am::Way::vi3};
constexpr std::size_t kArguments = 4;

std::vector<Meter> part_meters() {
  std::vector<Meter> out;
  for (const am::Way way : kWays) {
    for (const Part& part : kParts) out.push_back(am_part(way, part.part, kArguments));
    out.push_back(am_part(way, AmPart::match, 0));
  }
  return out;
}

// Nanoseconds of the parts by one way; the last is the reading of arguments: what they add to a message.
std::vector<Cell> parts_of(const Reading& reading, am::Way way) {
  std::vector<Cell> out;
  Cell read;
  for (const Part& part : kParts) {
    Cell cell = reading.of(am_part_name(way, part.part, kArguments));
    if (part.part == AmPart::match) {
      const Cell without = reading.of(am_part_name(way, part.part, 0));
      read = difference(cell, without);
      cell = without;
    }
    out.push_back(cell);
  }
  out.push_back(read);
  return out;
}

Table part_table(const Figures& figures, double cycle) {
  const Reading reading(figures, names_of(part_meters()));
  Table out{.id = "3",
            .title = "table 3: a request of 4 arguments and its reply",
            .columns = {"paper %"},
            .rows = {},
            .note =
                "Cycles of the time-stamp counter, of both sides, in batches of 8. What 4 arguments add to "
                "messages that "
                "come\ncounts as reading them. Over VIs some receives are posted where they are recycled. "
                "Each reading of "
                "the counter\nwaits for all loads before it.",
            .distance = reading.distance()};
  std::vector<std::vector<Cell>> ways;
  for (const am::Way way : kWays) {
    out.columns.push_back(std::string(name_of(way)) + " cycles");
    out.columns.push_back("%");
    ways.push_back(parts_of(reading, way));
  }
  const auto row = [&](const std::string& name, double paper, auto cell_of) {
    Row next{name, {paper}};
    for (const std::vector<Cell>& way : ways) {
      const Cell ns = cell_of(way);
      next.cells.push_back(times(ns, 1 / cycle));
      next.cells.push_back(times(quotient(ns, sum(way)), 100));
    }
    out.rows.push_back(std::move(next));
  };
  for (std::size_t i = 0; i <= kParts.size(); ++i)
    row(i < kParts.size() ? kParts[i].name : kRead.operation,
        i < kParts.size() ? kParts[i].paper : kRead.request_reply, [i](const auto& way) { return way[i]; });
  row("all", 100, [](const auto& way) { return sum(way); });
  return out;
}

std::vector<Meter> third_meters() {
  std::vector<Meter> out = call_meters();
  append(out, part_meters());
  return out;
}
std::vector<Table> third_tables(const Figures& figures, double cycle) {
  return {call_table(figures, cycle), part_table(figures, cycle)};
}

// --- table 4: a get

std::vector<Meter> get_meters() {
  std::vector<Meter> out;
  for (int part = 0; part != static_cast<int>(GetPart::count); ++part)
    out.push_back(get_part(static_cast<GetPart>(part)));
  return out;
}
std::vector<Table> get_tables(const Figures& figures, double cycle) {
  constexpr std::array kWhat{"the call that asks: bookkeeping, build, post",
                             "the owner's interface: find, check, read, answer",
                             "the wait for an answer that is there"};
  const std::vector<std::string> names = names_of(get_meters());
  const Reading reading(figures, names);
  Table out{
      .id = "4",
      .title = "table 4: a Split-C get of a word, guarded",
      .columns = {"here ns", "cycles", "%"},
      .rows = {},
      .note =
          "The paper has messages and credits of Split-C's here, by calls of VI: they stand in table 3. "
          "Here the owner's\ninterface answers, and no receive, queue or credit is Split-C's own.",
      .distance = reading.distance()};
  std::vector<Cell> all;
  for (const std::string& name : names) all.push_back(reading.of(name));
  for (std::size_t i = 0; i != all.size(); ++i)
    out.rows.push_back(
        {kWhat[i], {all[i], times(all[i], 1 / cycle), times(quotient(all[i], sum(all)), 100)}});
  out.rows.push_back({"all", {sum(all), times(sum(all), 1 / cycle), Cell(100)}});
  return {out};
}

// --- table 5 and figure 5

constexpr std::array kCarriers{Carrier::vi,     Carrier::am,     Carrier::am_vi,
                               Carrier::am_vi3, Carrier::splitc, Carrier::splitc_mapped};
constexpr std::size_t kKilobyte = 1024;

std::vector<Meter> longer_meters() {
  std::vector<Meter> out{copy_cost(kKilobyte), vi_rate()};
  for (const Carrier carrier : kCarriers) out.push_back(carried(carrier, kKilobyte));
  return out;
}
std::vector<Table> longer_tables(const Figures& figures, double) {
  const Reading reading(figures, names_of(longer_meters()));
  Table out{.id = "5",
            .title = "table 5: a message of 1 KiB, longer than by VI",
            .columns = {"paper us", "here ns"},
            .rows = {},
            .note = "A short receive is one of a stream of messages of 16 bytes by a VI; the paper's had 32.",
            .distance = reading.distance()};
  const Cell copy = reading.of(copy_cost(kKilobyte).name);
  const Cell receive = quotient(Cell(1e9), reading.of(vi_rate().name));
  out.rows.push_back({"memory copy", {kCopyMicroseconds, copy}});
  out.rows.push_back({"short network receive", {kReceiveMicroseconds, receive}});
  out.rows.push_back({"total", {kCopyMicroseconds + kReceiveMicroseconds, sum({copy, receive})}});
  const auto each = [&](Carrier carrier) {
    return quotient(Cell(double{kKilobyte}), reading.of(carried_name(carrier, kKilobyte)));
  };
  for (const Carrier carrier : kCarriers) {
    if (carrier == Carrier::vi) continue;
    const bool papers = carrier == Carrier::am_vi || carrier == Carrier::splitc;
    out.rows.push_back(
        {std::string("measured: ") + name_of(carrier),
         {papers ? Cell(kLongerMicroseconds) : Cell(), difference(each(carrier), each(Carrier::vi))}});
  }
  return {out};
}

std::vector<Meter> bandwidth_meters() {
  std::vector<Meter> out;
  for (const std::uint32_t bytes : kSizes)
    for (const Carrier carrier : kCarriers) out.push_back(carried(carrier, bytes));
  return out;
}
std::vector<Table> bandwidth_tables(const Figures& figures, double) {
  const Reading reading(figures, names_of(bandwidth_meters()));
  Table out{
      .id = "figure5",
      .title = "figure 5: MB/s against bytes",
      .columns = {},
      .rows = {},
      .note =
          "Each message is filled by its sender and read whole by its receiver. Split-C's are bulk puts, "
          "with a sync for a few.\nThe paper's end at 32 KiB: VI 68.3 MB/s, active messages and Split-C "
          "alike below 4 KiB, and 44 MB/s from there on.",
      .distance = reading.distance()};
  for (const char* const name : kCarrierNames) out.columns.emplace_back(name);
  for (const std::uint32_t bytes : kSizes) {
    Row row{std::to_string(bytes), {}};
    for (const Carrier carrier : kCarriers)
      row.cells.push_back(times(reading.of(carried_name(carrier, bytes)), 1e3));
    out.rows.push_back(std::move(row));
  }
  return {out};
}

// --- figure 2

template <class Each>
void each_access(Each each) {
  for (const bool guarded : {true, false})
    for (int access = 0; access != static_cast<int>(Access::count); ++access)
      each(static_cast<Access>(access), guarded);
}
template <class Each>
void each_type(Each each) {
  for (int type = 0; type != static_cast<int>(CType::count); ++type) each(static_cast<CType>(type));
}

std::vector<Meter> access_meters() {
  std::vector<Meter> out;
  each_access([&](Access access, bool guarded) {
    each_type([&](CType type) { out.push_back(access_cost(access, type, guarded)); });
  });
  return out;
}
std::vector<Table> access_tables(const Figures& figures, double) {
  const Reading reading(figures, names_of(access_meters()));
  Table out{.id = "figure2",
            .title = "figure 2: Split-C, ns",
            .columns = {kCTypeNames.begin(), kCTypeNames.end()},
            .rows = {},
            .note =
                "Medians of rows of 64. Get and put include their share of one sync; stores are as they "
                "leave. The paper's "
                "read and write\ntake a little less than a round trip, 71 us; its get and put a little less "
                "than the gap, 30 us; "
                "its stores less than that.",
            .distance = reading.distance()};
  each_access([&](Access access, bool guarded) {
    Row row{
        std::string(kAccessNames[static_cast<std::size_t>(access)]) + (guarded ? ", guarded" : ", mapped"),
        {}};
    each_type([&](CType type) { row.cells.push_back(reading.of(access_name(access, type, guarded))); });
    out.rows.push_back(std::move(row));
  });
  return {out};
}

constexpr std::array kChapters{
    Chapter{"1", base_meters, base_tables},
    Chapter{"3", third_meters, third_tables},
    Chapter{"4", get_meters, get_tables},
    Chapter{"5", longer_meters, longer_tables},
    Chapter{"figure2", access_meters, access_tables},
    Chapter{"figure5", bandwidth_meters, bandwidth_tables},
};

}  // namespace

std::span<const Chapter> chapters() { return kChapters; }

}  // namespace hamlyn::tool::perf::papers
