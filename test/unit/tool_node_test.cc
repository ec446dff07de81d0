// `hamlyn node` reads pages that strangers wrote: right ones are shown, wrong ones are named, none is obeyed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file_descriptor.h"
#include "hamlyn/rpc/call.h"
#include "tool/node_view.h"
#include "tool/traffic.h"

namespace hamlyn::tool {
namespace {

constexpr std::uint64_t kInterface = 12;

std::unique_ptr<interface::CounterPage> page() {
  auto page = std::make_unique<interface::CounterPage>();
  page->magic = interface::kCounterMagic;
  page->version = interface::kCounterVersion;
  page->interface = kInterface;
  page->slots = 3;
  page->refused[static_cast<std::size_t>(Refusal::bad_key)] = 5;
  std::strcpy(page->program, "prices");
  interface::LinkCounters& row = page->link[7];
  row.peer = 13;
  row.peer_pid = 99;
  row.memory_out = row.memory_in = 8192;
  row.packets_in = 4;
  row.refused[static_cast<std::size_t>(Refusal::out_of_bounds)] = 2;
  row.bad_frames = 3;
  page->bad_frames = 4;
  page->unknown_frames = 6;
  page->unread = 7;
  page->left_pieces = 63;
  page->left_bytes = 8000;
  page->links_held_up = 9;
  page->no_link[static_cast<std::size_t>(LinkReason::no_descriptors)] = 8;
  page->no_link[interface::kCounterReasons - 1] = 9;  // of a later version
  return page;
}

ProcessView read(const void* bytes, std::size_t length) {
  const base::FileDescriptor file(::memfd_create("page", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), bytes, length), static_cast<ssize_t>(length));
  ProcessView process{.interface = kInterface, .program = "attested"};
  read_details(file.get(), process);
  return process;
}

TEST(ToolNode, ShowsWhatAPageSays) {
  const ProcessView process = read(page().get(), sizeof(interface::CounterPage));
  ASSERT_TRUE(process.details.has_value()) << process.why_no_details;
  EXPECT_EQ(process.program, "prices");
  EXPECT_EQ(process.details->slots, 3u);
  EXPECT_EQ(process.details->refused, (Refusals{{"bad_key", 5}, {"bad_frame", 4}, {"unknown_frame", 6}}));
  NodeView node;
  node.processes.push_back(process);
  EXPECT_NE(
      to_text(node).find("other users: 7 descriptors unread, 63 pieces of memory held that are of no use "
                         "any more (8.00 kB); 9 links not made for that"),
      std::string::npos)
      << to_text(node);
  const auto details = nlohmann::json::parse(to_json(node))["attached"][0]["details"];
  EXPECT_EQ(details["unread"], 7);
  EXPECT_EQ(details["left_pieces"], 63);
  EXPECT_EQ(details["left_bytes"], 8000);
  EXPECT_EQ(details["links_held_up"], 9);
  EXPECT_EQ(process.details->no_link, (Refusals{{"no_descriptors", 8}, {"unknown", 9}}));
  EXPECT_NE(to_text(node).find("links refused or ended: no_descriptors 8, unknown 9\n"), std::string::npos);
  ASSERT_EQ(process.details->links.size(), 1u) << "rows without a peer are free";
  const LinkView& link = process.details->links[0];
  EXPECT_EQ(link.peer, 13u);
  EXPECT_EQ(link.memory_out + link.memory_in, 16384u);
  EXPECT_EQ(link.refused, (Refusals{{"out_of_bounds", 2}, {"bad_frame", 3}}));
}

TEST(ToolNode, TellsOfCallsTheirTimesAndWhyTheyFailed) {
  auto all = page();
  interface::CallCounters& row = all->call[3];
  row.side = interface::CallSide::procedure;
  row.calls = 16'000;
  row.retries = 7;
  std::strcpy(row.name, "calculator.mi\nus");
  row.failed[static_cast<std::size_t>(rpc::Cause::threw)] = 4;
  row.failed[static_cast<std::size_t>(interface::CallEnd::given_up)] = 5;
  row.times[interface::time_place(500)] = 980;
  row.times[interface::time_place(3'000)] = 19;
  row.times[interface::time_place(2'000'000)] = 1;
  const ProcessView process = read(all.get(), sizeof *all);
  ASSERT_TRUE(process.details);
  ASSERT_EQ(process.details->call_rows.size(), 1u);
  const CallView& view = process.details->call_rows[0];
  EXPECT_EQ(view.name, "calculator.mi?us");
  EXPECT_EQ(view.failed, (Refusals{{"threw", 4}, {"given_up", 5}}));
  EXPECT_EQ(view.timed, 1000u);
  EXPECT_EQ(view.median, 512u);
  EXPECT_EQ(view.one_in_100, 3'072u);
  EXPECT_EQ(view.one_in_1000, 3'072u);
  NodeView node;
  node.processes.push_back(process);
  const std::string text = traffic_text(node, node, 1, process.pid);
  EXPECT_NE(text.find("  512 ns  3.07 us  3.07 us  calculator.mi?us threw 4, given_up 5\n"),
            std::string::npos)
      << text;
  const auto json = nlohmann::json::parse(to_json(node))["attached"][0]["details"]["call_rows"][0];
  EXPECT_EQ(json["side"], "procedure");
  EXPECT_EQ(json["retries"], 7);
  EXPECT_EQ(json["failed"]["threw"], 4);
  EXPECT_EQ(json["p99_nanoseconds"], 3'072);
}

TEST(ToolNode, HasEachTimeInTheRangeThatHoldsIt) {
  for (std::uint64_t time = 1; time < 7'000'000'000; time += 1 + time / 9) {
    const std::size_t place = interface::time_place(time);
    EXPECT_LT(time, interface::least_time(place + 1)) << time;
    EXPECT_TRUE(place == 0 || time >= interface::least_time(place)) << time;
  }
  EXPECT_EQ(interface::time_place(0), 0u);
  EXPECT_EQ(interface::time_place(~0ull), interface::kCounterTimes - 1);
}

TEST(ToolNode, NamesWhatIsWrongWithAPage) {
  const auto good = page();
  EXPECT_FALSE(read(good.get(), sizeof *good - 1).details) << "too short";
  EXPECT_FALSE(read(good.get(), 0).details) << "empty";
  auto longer = std::make_unique<std::array<interface::CounterPage, 2>>();
  (*longer)[0] = *good;
  EXPECT_FALSE(read(longer.get(), sizeof *good + 1).details) << "too long";
  auto bad = page();
  bad->magic ^= 1;
  EXPECT_FALSE(read(bad.get(), sizeof *bad).details);
  bad = page();
  bad->version += 1;
  EXPECT_FALSE(read(bad.get(), sizeof *bad).details);
  EXPECT_EQ(read(bad.get(), 94208).why_no_details, "counter page of another version");
  bad = page();
  bad->interface += 1;
  const ProcessView process = read(bad.get(), sizeof *bad);
  EXPECT_FALSE(process.details);
  EXPECT_NE(process.why_no_details, "");
  EXPECT_EQ(process.program, "attested");
  ProcessView pipe{.interface = kInterface};
  read_details(-1, pipe);
  EXPECT_NE(pipe.why_no_details, "");
}

TEST(ToolNode, APageOfNoiseIsOnlyNumbersAndText) {
  auto noisy = page();
  std::memset(noisy->program, 0xFF, sizeof noisy->program);
  std::memset(noisy->link, 0xFF, sizeof noisy->link);
  std::memset(noisy->refused, 0xFF, sizeof noisy->refused);
  std::memset(noisy->no_link, 0xFF, sizeof noisy->no_link);
  NodeView node;
  node.processes.push_back(read(noisy.get(), sizeof *noisy));
  ASSERT_TRUE(node.processes[0].details);
  EXPECT_EQ(node.processes[0].program, std::string(sizeof noisy->program, '?'));
  EXPECT_EQ(node.processes[0].details->links.size(), interface::kCounterLinks);
  EXPECT_FALSE(to_text(node).empty());
  EXPECT_TRUE(nlohmann::json::accept(to_json(node)));
}

TEST(ToolTop, ShowsTheDifferenceOfTwoLooks) {
  auto then = page(), now = page();
  now->link[7].packets_in = then->link[7].packets_in + 500;
  now->link[7].bytes_in = 8000;
  now->wakeups = 10;
  now->refused[static_cast<std::size_t>(Refusal::bad_key)] += 2;
  now->slot[3] = {.generation = 1,
                  .queue = 1,
                  .entries = 2,
                  .places = 0,
                  .bound = 64,
                  .messages = 7,
                  .bytes = 70,
                  .failed = 1,
                  .most_places = 3,
                  .most_entries = 1,
                  .reserved = 0};
  now->slot_refused[3].by_cause[static_cast<std::size_t>(Refusal::bad_key)] = 2;
  now->queue[0].places = 64;
  now->terminus[1].entries = 63;
  NodeView before, after;
  before.processes.push_back(read(then.get(), sizeof *then));
  after.processes.push_back({.interface = 99, .pid = 5});
  after.processes.push_back(read(now.get(), sizeof *now));
  const std::vector<ProcessTraffic> all = traffic(before, after, 2);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].process->interface, kInterface) << "the busiest first";
  EXPECT_EQ(all[0].rates.packets_in, 250);
  EXPECT_EQ(all[0].rates.bytes_in, 4000);
  EXPECT_EQ(all[0].wakeups, 5);
  EXPECT_EQ(all[0].refused, 2u);
  EXPECT_EQ(after.processes[1].details->slot_rows.at(0).slot, 3u);
  EXPECT_EQ(after.processes[1].details->terminus_rows.at(0).terminus, 2u);
  EXPECT_TRUE(nlohmann::json::accept(traffic_json(before, after, 2, {})));
  EXPECT_NE(traffic_text(before, after, 2, {}).find("250"), std::string::npos);
  before.processes[0].pid = after.processes[1].pid = 6;
  const std::string one = traffic_text(before, after, 2, 6);
  EXPECT_NE(one.find("pid 99                    250   4.00 kB"), std::string::npos) << one;
  EXPECT_NE(one.find("1 of 2       3 of 0  bad_key 2\n"), std::string::npos) << one;
  EXPECT_NE(to_json(after).find("\"refused\":{\"bad_key\":2}"), std::string::npos);
  const auto top = nlohmann::json::parse(traffic_json(before, after, 2, 6)).at("processes");
  ASSERT_EQ(top.size(), 1u);
  EXPECT_EQ(top[0].at("slot_rows").at(0).at("messages"), 7);
  const auto details = nlohmann::json::parse(to_json(after)).at("attached").at(1).at("details");
  for (const char* rows : {"slot_rows", "queue_rows", "terminus_rows"})
    EXPECT_EQ(top[0].at(rows), details.at(rows)) << "both commands give the same rows";
  EXPECT_EQ(top[0].at("link_rows"), details.at("links"));
  EXPECT_FALSE(
      nlohmann::json::parse(traffic_json(before, after, 2, {})).at("processes").at(0).contains("slot_rows"));
  // Counters that went back, as of a page that its owner scribbles into, are nothing and not a huge number.
  EXPECT_EQ(traffic(after, before, 2).at(0).rates.packets_in, 0);
  EXPECT_EQ(rate(5, 9, 0), 0);
}

TEST(ToolTop, APageOfNoiseIsOnlyNumbers) {
  auto noisy = page();
  std::memset(noisy->link, 0xFF, sizeof noisy->link);
  std::memset(noisy->slot, 0xFF, sizeof noisy->slot);
  std::memset(noisy->queue, 0xFF, sizeof noisy->queue);
  std::memset(noisy->terminus, 0xFF, sizeof noisy->terminus);
  NodeView before, after;
  before.processes.push_back(read(page().get(), sizeof *noisy));
  after.processes.push_back(read(noisy.get(), sizeof *noisy));
  after.processes[0].pid = 4;
  EXPECT_NE(traffic_text(before, after, 1, 4).find("SLOT"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(traffic_json(before, after, 1, 4)));
}

TEST(ToolNode, TextHasNoControlCharacters) {
  EXPECT_EQ(printable("ok\033[2J\n\xff.", 32), "ok?[2J??.");
  EXPECT_EQ(printable("not ended", 3), "not");
}

TEST(ToolNode, JsonHasDetailsOnlyWhereTheyAreKnown) {
  NodeView node{.version = "1", .uid = 0, .pid = 1, .seconds = 2, .names = 0, .processes = {}};
  node.processes.push_back(read(page().get(), sizeof(interface::CounterPage)));
  node.processes.push_back({.interface = 13, .uid = 1000, .pid = 99, .program = "other"});
  const auto json = nlohmann::json::parse(to_json(node));
  ASSERT_EQ(json.at("attached").size(), 2u);
  EXPECT_EQ(json["attached"][0]["details"]["links"][0]["memory_in"], 8192);
  EXPECT_EQ(json["attached"][0]["details"]["refused"]["bad_key"], 5);
  EXPECT_TRUE(json["attached"][1]["details"].is_null());
  EXPECT_NE(to_text(node).find("link to 13"), std::string::npos);
  EXPECT_NE(to_text(node).find("out_of_bounds 2"), std::string::npos);
}

}  // namespace
}  // namespace hamlyn::tool
