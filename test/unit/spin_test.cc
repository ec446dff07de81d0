// How long a waiting thread spins, and when a polling one lets others run.
#include <gtest/gtest.h>

#include "library/wait/company.h"
#include "library/wait/spin_time.h"

namespace hamlyn::test {
namespace {

using library::Company;
using library::SpinTime;
using std::chrono::microseconds;

constexpr std::uint64_t kQuick = 3000, kLong = std::uint64_t{1} << 22;  // cycles

TEST(SpinTime, is_that_of_a_wake_up_unless_more_is_asked_for) {
  for (const int most : {0, 1, 8}) {
    SpinTime time{microseconds{most}};
    for (const int came : {1, 10, 1000}) {
      time.came_after(microseconds{came});
      EXPECT_EQ(time.now(), library::kSpin);
    }
  }
}

TEST(SpinTime, grows_while_what_is_waited_for_comes_in_that_time) {
  SpinTime time{microseconds{200}};
  EXPECT_EQ(time.now(), library::kSpin) << "nothing has come yet";
  time.came_after(microseconds{100});
  EXPECT_EQ(time.now(), microseconds{200});
  time.came_after(microseconds{201});
  EXPECT_EQ(time.now(), library::kSpin) << "it would have been spun in vain";
  time.came_after(microseconds{100});
  time.in_vain();
  EXPECT_EQ(time.now(), library::kSpin);
}

TEST(Company, lets_nobody_run_who_is_alone) {
  Company company;
  std::uint64_t now = kLong;
  for (int i = 0; i < 100000; ++i) EXPECT_FALSE(company.looked_in_vain(now += kQuick));
}

// One that polls in a loop.
std::uint64_t spin(Company& company) {
  std::uint64_t now = kLong;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(company.looked_in_vain(now += kQuick));
  return now;
}

TEST(Company, lets_nobody_run_who_does_other_things_between_its_looks) {
  Company company;
  std::uint64_t now = spin(company);
  EXPECT_TRUE(company.looked_in_vain(now += kLong));
  while (company.looked_in_vain(now += kQuick)) company.let_run(now += kQuick);
  EXPECT_TRUE(company.looked_in_vain(now += kLong));
  while (company.looked_in_vain(now += kLong)) company.let_run(now += kQuick);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(company.looked_in_vain(now += kLong));
}

TEST(Company, lets_others_run_after_it_was_held_up) {
  Company company;
  std::uint64_t now = spin(company);
  int yields = 0;
  EXPECT_TRUE(company.looked_in_vain(now += kLong));
  company.let_run(now += kQuick);
  while (company.looked_in_vain(now += kQuick)) company.let_run(now += kQuick), ++yields;
  EXPECT_EQ(yields, 999) << "nobody else ran: it is forgotten";
}

TEST(Company, goes_on_while_somebody_runs) {
  Company company;
  std::uint64_t now = spin(company);
  now += kLong;
  for (int i = 0; i < 10000; ++i) {
    EXPECT_TRUE(company.looked_in_vain(now += kQuick));
    company.let_run(now += 100 * kQuick);
  }
}

}  // namespace
}  // namespace hamlyn::test
