#include "test/hostile/world.h"

#include <unistd.h>

#include <cstdio>

#include "node/client/list.h"
#include "test/hostile/parts.h"

namespace hamlyn::test {

namespace {

constexpr int kVictimUser = 41001;
constexpr int kOtherUser = 41002;

}  // namespace

World::World(Options options) : node_(folder_.file("node")) {
  const bool root = ::geteuid() == 0;
  std::vector<std::string> words;
  if (root) words.push_back("--service");
  if (!options.config.empty()) {
    write_file(folder_.file("config"), options.config);
    words.insert(words.end(), {"--config", folder_.file("config")});
  }
  daemon_ = std::make_unique<Daemon>(node_, words);
  victim_user_ = root ? kVictimUser : -1;
  rogue_user_ = options.other_user ? kOtherUser : victim_user_;
  options.victim.node = node_;
  options.victim.start_node = false;
  victim_ = std::make_unique<Actor>(
      [&](Line& line) { return be_victim(line, options.victim, options.rearm); }, victim_user_);
  const auto neighbours_slot = victim_->line().take<Ticket>();
  neighbour_ = std::make_unique<Actor>(
      [&](Line& line) { return be_neighbour(line, node_, neighbours_slot.value()); }, victim_user_);
  const auto echo = neighbour_->line().take<Ticket>();
  if (!neighbours_slot || !echo) throw std::runtime_error("the stage is not set");
  victim_->line().put(Order{Order::Kind::echo_to, *echo});
  tickets_ = fresh_tickets();
  expect_goes_on();
  before_ = report();
}

Actor World::rogue(const std::function<int(Line&, Rogue&)>& part) const {
  return Actor(
      [&](Line& line) {
        Rogue rogue(node_);
        return part(line, rogue);
      },
      rogue_user_);
}

Report World::report() {
  victim_->line().put(Order{Order::Kind::report, {}});
  const auto report = victim_->line().take<Report>();
  EXPECT_TRUE(report) << "the victim does not answer; it is " << (victim_->running() ? "there" : "dead");
  return report.value_or(Report{});
}

Tickets World::fresh_tickets() {
  victim_->line().put(Order{Order::Kind::tickets, {}});
  const auto tickets = victim_->line().take<Tickets>();
  EXPECT_TRUE(tickets) << "the victim does not answer";
  return tickets.value_or(Tickets{});
}

Ticket World::ticket_back(std::uint64_t rogue) {
  Ticket back;
  back.interface = rogue;
  back.entry = 0;
  back.bound = 1 << 20;
  return back;
}

void World::send_to(const Ticket& ticket) { victim_->line().put(Order{Order::Kind::send_to, ticket}); }

void World::map(const Ticket& ticket) { victim_->line().put(Order{Order::Kind::map, ticket}); }

std::uint64_t World::rounds() {
  neighbour_->line().put(Order{Order::Kind::report, {}});
  const auto rounds = neighbour_->line().take<std::uint64_t>();
  EXPECT_TRUE(rounds) << "the neighbour does not answer; it is "
                      << (neighbour_->running() ? "there" : "dead");
  return rounds.value_or(0);
}

void World::expect_goes_on() {
  const std::uint64_t before = rounds();
  EXPECT_TRUE(eventually([&] { return rounds() > before + 4 || testing::Test::HasFailure(); }))
      << "the neighbour's messages do not go on";
}

interface::CounterPage World::counters() {
  interface::CounterPage page {};
  const node::NodeList list = node::list(at(node_));
  for (const node::AttachedProcess& process : list.attached) {
    if (process.interface != victim()) continue;
    EXPECT_EQ(::pread(process.counters.get(), &page, sizeof page, 0), static_cast<ssize_t>(sizeof page));
  }
  EXPECT_EQ(interface::invalid(page), nullptr);
  return page;
}

void World::expect_clean() {
  Report now;
  const bool clean = eventually([&] {
    now = report();
    return (now.fds == before_.fds && now.control_fds == before_.control_fds &&
            now.mappings == before_.mappings) ||
           testing::Test::HasFailure();
  });
  EXPECT_TRUE(clean) << "descriptors " << before_.fds << " -> " << now.fds << ", of the control thread "
                     << before_.control_fds << " -> " << now.control_fds << ", mappings " << before_.mappings
                     << " -> " << now.mappings;
  EXPECT_EQ(now.damage, 0u);
  EXPECT_EQ(now.wrong, 0u);
  expect_goes_on();
}

void World::expect_errors(const std::array<std::uint64_t, kCauses>& expected) {
  Report now;
  eventually([&] { return (now = report()).errors == expected || testing::Test::HasFailure(); });
  const interface::CounterPage page = counters();
  for (std::size_t i = 0; i < kCauses; ++i) {
    EXPECT_EQ(now.errors[i], expected[i]) << "told: " << name(static_cast<Refusal>(i));
    EXPECT_EQ(page.refused[i], expected[i]) << "counted: " << name(static_cast<Refusal>(i));
  }
}

void Hostile::SetUp() {
  if (GetParam() == Rogues::of_other_user && ::geteuid() != 0)
    GTEST_SKIP() << "SKIPPED: another user can only be tried as root; the same user is";
}

std::string rogue_name(const testing::TestParamInfo<Rogues>& info) {
  return info.param == Rogues::of_same_user ? "SameUser" : "OtherUser";
}

}  // namespace hamlyn::test
