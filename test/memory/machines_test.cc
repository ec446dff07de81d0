// The machines do what they should, and no more: the litmus tests of the memory models.
#include <gtest/gtest.h>

#include "test/memory/explored.h"

namespace hamlyn::test {
namespace {

struct Words {
  std::uint32_t x = 0, y = 0;
};
Words words;

using Reports = std::vector<std::vector<std::uint64_t>>;

// Whether the tasks may end with what `odd` says.
bool may(Model model, std::initializer_list<void (*)()> tasks, bool (*odd)(const Reports&)) {
  words = Words{};
  Explorer explorer(std::as_writable_bytes(std::span(&words, 1)), model);
  for (void (*const task)() : tasks) explorer.add(task);
  const std::string wrong =
      explorer.explore([&](const Reports& reports) { return odd(reports) ? "odd" : ""; });
  EXPECT_TRUE(wrong.empty() || wrong == "odd") << wrong;
  return !wrong.empty();
}

void store(std::uint32_t& word, Order order, std::uint32_t value = 1) {
  Explorer::store(&word, value, sizeof word, order);
}
void load(const std::uint32_t& word, Order order) {
  Explorer::report(Explorer::load(&word, sizeof word, order));
}

// Two tasks each store one word and look at the other's.
template <bool First, bool Second>
bool may_miss_each_other(Model model) {
  return may(model,
             {[] {
                store(words.x, Order::ordered);
                if (First) Explorer::fence();
                load(words.y, Order::ordered);
              },
              [] {
                store(words.y, Order::ordered);
                if (Second) Explorer::fence();
                load(words.x, Order::ordered);
              }},
             [](const Reports& reports) { return reports[0][0] == 0 && reports[1][0] == 0; });
}

// Data, and then a word that says that it is there.
template <Order Store, Order Load>
bool may_see_word_without_data(Model model) {
  return may(model,
             {[] {
                store(words.x, Order::relaxed);
                store(words.y, Store);
              },
              [] {
                load(words.y, Load);
                load(words.x, Order::relaxed);
              }},
             [](const Reports& reports) { return reports[1][0] == 1 && reports[1][1] == 0; });
}

// Data, and a word that says that it is no more, looked at behind the data.
template <bool Stores, bool Loads>
bool may_take_new_data_for_old(Model model) {
  return may(model,
             {[] {
                store(words.x, Order::relaxed);
                if (Stores) Explorer::fence();
                store(words.y, Order::relaxed);
              },
              [] {
                load(words.y, Order::relaxed);
                if (Loads) Explorer::load_fence();
                load(words.x, Order::relaxed);
              }},
             [](const Reports& reports) { return reports[1][0] == 1 && reports[1][1] == 0; });
}

template <bool Light, bool Heavy>
bool may_miss_with_light_and_heavy(Model model) {
  return may(model,
             {[] {
                store(words.x, Order::relaxed);
                if (Light) Explorer::light_fence();
                load(words.y, Order::relaxed);
              },
              [] {
                store(words.y, Order::relaxed);
                if (Heavy) Explorer::heavy_fence();
                load(words.x, Order::relaxed);
              }},
             [](const Reports& reports) { return reports[0][0] == 0 && reports[1][0] == 0; });
}

constexpr Model kBoth[] = {Model::x86_64, Model::weaker};

TEST(Machines, let_a_load_overtake_a_store_unless_both_sides_fence) {
  for (const Model model : kBoth) {
    EXPECT_TRUE((may_miss_each_other<false, false>(model)));
    EXPECT_TRUE((may_miss_each_other<true, false>(model)));
    EXPECT_TRUE((may_miss_each_other<false, true>(model)));
    EXPECT_FALSE((may_miss_each_other<true, true>(model)));
  }
}

TEST(Machines, keep_stores_in_order_on_x86_and_elsewhere_by_release_and_acquire) {
  EXPECT_FALSE((may_see_word_without_data<Order::relaxed, Order::relaxed>(Model::x86_64)));
  EXPECT_TRUE((may_see_word_without_data<Order::relaxed, Order::ordered>(Model::weaker)));
  EXPECT_TRUE((may_see_word_without_data<Order::ordered, Order::relaxed>(Model::weaker)));
  EXPECT_FALSE((may_see_word_without_data<Order::ordered, Order::ordered>(Model::weaker)));
}

TEST(Machines, keep_loads_in_order_on_x86_and_elsewhere_by_load_fences_against_fences) {
  EXPECT_FALSE((may_take_new_data_for_old<false, false>(Model::x86_64)));
  EXPECT_TRUE((may_take_new_data_for_old<true, false>(Model::weaker)));
  EXPECT_TRUE((may_take_new_data_for_old<false, true>(Model::weaker)));
  EXPECT_FALSE((may_take_new_data_for_old<true, true>(Model::weaker)));
}

TEST(Machines, order_a_light_fence_against_a_heavy_one) {
  for (const Model model : kBoth) EXPECT_FALSE((may_miss_with_light_and_heavy<true, true>(model)));
  for (const Model model : kBoth) EXPECT_TRUE((may_miss_with_light_and_heavy<true, false>(model)));
  EXPECT_TRUE((may_miss_with_light_and_heavy<false, true>(Model::weaker)));
}

TEST(Machines, never_go_back_in_one_word) {
  for (const Model model : kBoth) {
    EXPECT_FALSE(may(model,
                     {[] {
                        store(words.x, Order::relaxed);
                        store(words.x, Order::relaxed, 2);
                      },
                      [] {
                        load(words.x, Order::relaxed);
                        load(words.x, Order::relaxed);
                      }},
                     [](const Reports& reports) { return reports[1][0] > reports[1][1]; }));
  }
}

// Independent reads of independent writes: without fences two readers may see them in different orders.
template <bool Fences>
bool readers_may_disagree(Model model) {
  return may(model,
             {[] { store(words.x, Order::ordered); }, [] { store(words.y, Order::ordered); },
              [] {
                load(words.x, Order::ordered);
                if (Fences) Explorer::fence();
                load(words.y, Order::ordered);
              },
              [] {
                load(words.y, Order::ordered);
                if (Fences) Explorer::fence();
                load(words.x, Order::ordered);
              }},
             [](const Reports& reports) {
               return reports[2] == std::vector<std::uint64_t>{1, 0} &&
                      reports[3] == std::vector<std::uint64_t>{1, 0};
             });
}

TEST(Machines, show_stores_to_all_at_once_on_x86_and_elsewhere_by_fences) {
  EXPECT_FALSE(readers_may_disagree<false>(Model::x86_64));
  EXPECT_TRUE(readers_may_disagree<false>(Model::weaker));
  EXPECT_FALSE(readers_may_disagree<true>(Model::weaker));
}

// A fence before a relaxed store, or behind a relaxed load, is as good as a release, or an acquire.
TEST(Machines, take_fences_for_release_and_acquire) {
  EXPECT_FALSE(may(Model::weaker,
                   {[] {
                      store(words.x, Order::relaxed);
                      Explorer::fence();
                      store(words.y, Order::relaxed);
                    },
                    [] {
                      load(words.y, Order::relaxed);
                      Explorer::fence();
                      load(words.x, Order::relaxed);
                    }},
                   [](const Reports& reports) { return reports[1][0] == 1 && reports[1][1] == 0; }));
}

std::string plain(Order store_order, bool overwrite) {
  words = Words{};
  Explorer explorer(std::as_writable_bytes(std::span(&words, 1)), Model::weaker);
  if (overwrite) {  // what was read
    explorer.add([=] {
      load(words.x, Order::plain);
      store(words.y, store_order);
    });
    explorer.add([] {
      if (Explorer::load(&words.y, sizeof words.y, Order::ordered) == 1) store(words.x, Order::plain);
    });
  } else {
    explorer.add([=] {
      store(words.x, Order::plain);
      store(words.y, store_order);
    });
    explorer.add([] {
      if (Explorer::load(&words.y, sizeof words.y, Order::ordered) == 1) load(words.x, Order::plain);
    });
  }
  return explorer.explore([](const Reports&) { return ""; });
}

TEST(Machines, see_races_for_plain_words) {
  EXPECT_EQ(plain(Order::ordered, false), "");
  EXPECT_EQ(plain(Order::relaxed, false), "read while it may be written");
  EXPECT_EQ(plain(Order::ordered, true), "");
  EXPECT_EQ(plain(Order::relaxed, true), "written while it may be read");
}

}  // namespace
}  // namespace hamlyn::test
