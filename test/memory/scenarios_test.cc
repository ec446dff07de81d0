// Every scenario holds on every machine; and each order that the source asks for is left out once, which some
// scenario must miss. docs/memory-model.md has the list of what misses which.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "test/memory/explored.h"
#include "test/memory/scenarios.h"

namespace hamlyn::test {

std::string room_unasked(Model model);
std::string doorbell_read_late(Model model);
std::string word_read_late(Model model);

namespace {

std::vector<Scenario> all() {
  std::vector<Scenario> all;
  for (const auto& some : {ring_scenarios(), bell_scenarios(), run_lock_scenarios(), record_scenarios(),
                           loan_scenarios(), sequence_scenarios()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

class Scenarios : public testing::TestWithParam<Scenario> {};

TEST_P(Scenarios, holds_on_every_machine) {
  OrderedPlace::reset();
  EXPECT_EQ(GetParam().run(Model::x86_64), "");
  EXPECT_EQ(GetParam().run(Model::weaker), "");
}

INSTANTIATE_TEST_SUITE_P(All, Scenarios, testing::ValuesIn(all()),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

TEST(Orders, a_sender_that_does_not_say_that_it_wants_room_is_not_woken) {
  OrderedPlace::reset();
  EXPECT_EQ(room_unasked(Model::x86_64), "task 1 sleeps for ever");
  EXPECT_EQ(room_unasked(Model::weaker), "task 1 sleeps for ever");
}

// SAMPLE_LATE and WORD_READ_LATE of the models (docs/model.md).
TEST(Orders, a_word_that_is_read_behind_the_look_lets_its_reader_sleep_for_ever) {
  OrderedPlace::reset();
  for (const Model model : {Model::x86_64, Model::weaker}) {
    EXPECT_EQ(doorbell_read_late(model), "task 1 sleeps for ever");
    EXPECT_EQ(word_read_late(model), "task 1 sleeps for ever");
  }
}

// The first scenario that misses it.
struct Missed {
  std::string on[2] = {"nothing", "nothing"};
};

std::map<std::string, Missed> leave_out_each() {
  std::map<std::string, Missed> missed;
  for (const Scenario& scenario : all()) {
    OrderedPlace::reset();
    scenario.run(Model::x86_64);
    for (const std::string& place : OrderedPlace::passed()) {
      Missed& each = missed[place];
      for (const Model model : {Model::x86_64, Model::weaker}) {
        std::string& by = each.on[static_cast<std::size_t>(model)];
        if (by != "nothing") continue;
        OrderedPlace::reset(place);
        if (!scenario.run(model).empty()) by = scenario.name;
      }
    }
  }
  OrderedPlace::reset();
  return missed;
}

TEST(Orders, misses_each_order_as_the_documentation_says) {
  std::ostringstream table;
  for (const auto& [place, missed] : leave_out_each()) {
    const std::size_t space = place.find(' ');
    table << "| `" << place.substr(0, space) << "` " << place.substr(space + 1) << " | " << missed.on[0]
          << " | " << missed.on[1] << " |\n";
  }
  std::ifstream file(HAMLYN_MEMORY_MODEL);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(text.find("| --- | --- | --- |\n" + table.str() + "\n"), std::string::npos) << table.str();
}

}  // namespace
}  // namespace hamlyn::test
