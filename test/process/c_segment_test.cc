// Puts and segments in C: what a C program does with them (test/process/c_segments.c), on one node and on
// two, and what each function refuses.
#include "test/process/c_segments.h"

#include <gtest/gtest.h>

#include "test/process/c_ends.h"

namespace hamlyn::test {
namespace {

class CSegments : public CInterface {
 protected:
  void with_two(const std::function<void(hamlyn_interface*& one, hamlyn_interface* other)>& work) {
    in_child([&] {
      hamlyn_interface *one = nullptr, *other = nullptr;
      const Node here(options().node), there(other_options().node);
      const hamlyn_interface_options of_one = here.options(), of_other = there.options();
      ASSERT_OK(hamlyn_interface_make(&of_one, &one));
      ASSERT_OK(hamlyn_interface_make(&of_other, &other));
      work(one, other);
      EXPECT_OK(hamlyn_interface_free(other));
      EXPECT_OK(hamlyn_interface_free(one));
    });
  }
};

TEST_F(CSegments, puts_land_are_told_of_and_gathered_again) {
  with_two([](auto* one, auto* other) { EXPECT_EQ(c_puts(one, other), 0) << hamlyn_last_error(); });
}

TEST_F(CSegments, puts_wait_where_the_owner_says_so) {
  with_two([](auto* one, auto* other) { EXPECT_EQ(c_puts_that_wait(one, other), 0) << hamlyn_last_error(); });
}

TEST_F(CSegments, are_written_read_and_swapped_in) {
  with_two([&](auto* one, auto* other) {
    EXPECT_EQ(c_segment(one, other, HAMLYN_GUARDED), 0) << hamlyn_last_error();
    if (nodes != nullptr) return;
    EXPECT_EQ(c_segment(one, other, HAMLYN_MAPPED_READ_ONLY), 0) << hamlyn_last_error();
    EXPECT_EQ(c_segment(one, other, HAMLYN_MAPPED_READ_WRITE), 0) << hamlyn_last_error();
  });
}

TEST_F(CSegments, have_words_of_which_everybody_finds_out_whether_a_swap_was_done) {
  with_two([&](auto* one, auto* other) {
    EXPECT_EQ(c_sure_swap(one, other, HAMLYN_GUARDED), 0) << hamlyn_last_error();
    if (nodes != nullptr) return;
    EXPECT_EQ(c_sure_swap(one, other, HAMLYN_MAPPED_READ_WRITE), 0) << hamlyn_last_error();
  });
}

TEST_F(CSegments, do_what_a_run_time_needs) {
  with_two([&](auto* one, auto* other) {
    EXPECT_EQ(c_run_time(one, other, HAMLYN_GUARDED), 0) << hamlyn_last_error();
    if (nodes != nullptr) return;
    EXPECT_EQ(c_run_time(one, other, HAMLYN_MAPPED_READ_ONLY), 0) << hamlyn_last_error();
    EXPECT_EQ(c_run_time(one, other, HAMLYN_MAPPED_READ_WRITE), 0) << hamlyn_last_error();
  });
}

TEST_F(CSegments, have_slots_that_count_and_queues_that_hear_of_sends) {
  with_two([](auto* one, auto* other) { EXPECT_EQ(c_ends_of_sends(one, other), 0) << hamlyn_last_error(); });
}

TEST_F(CSegments, are_imported_while_the_program_does_other_work) {
  with_two([](auto* one, auto* other) { EXPECT_EQ(c_openings(one, other), 0) << hamlyn_last_error(); });
}

TEST_F(CSegments, have_as_many_requests_under_way_as_is_said) {
  for (const std::uint64_t requests : {std::uint64_t{15}, std::uint64_t{65}, std::uint64_t{1} << 33}) {
    hamlyn_interface_options options{};
    options.size = sizeof options;
    options.requests = requests;
    hamlyn_interface* none = nullptr;
    EXPECT_EQ(hamlyn_interface_make(&options, &none), HAMLYN_INVALID_ARGUMENT);
  }
}

TEST_F(CSegments, tell_their_exporter) {
  with_two(
      [](auto* one, auto* other) { EXPECT_EQ(c_segment_control(one, other), 0) << hamlyn_last_error(); });
}

TEST_F(CSegments, say_why_the_link_has_ended_with_which_writes_may_be_lost) {
  with_two([](auto*& one, auto* other) {
    EXPECT_EQ(c_reason_of_flush(one, other), 0) << hamlyn_last_error();
    one = nullptr;  // which it has freed
  });
}

TEST_F(CSegments, refuse_what_cannot_be) {
  with_two(
      [](auto* one, auto* other) { EXPECT_EQ(c_segment_refusals(one, other), 0) << hamlyn_last_error(); });
}

TEST_F(CSegments, refuse_what_is_null) {
  const hamlyn_ticket ticket{};
  const hamlyn_protection protection{};
  hamlyn_outcome outcome{};
  hamlyn_held_put held{};
  std::size_t size = 0;
  std::uint64_t word = 0;
  void* data = nullptr;
  const void* mapped = nullptr;
  int number = 0;
  std::uint32_t value = 0;
  hamlyn_sure_swap* none = nullptr;
  const hamlyn_status answers[] = {
      hamlyn_put(nullptr, &ticket, "x", 1, nullptr, nullptr),
      hamlyn_put_wait(nullptr, &ticket, "x", 1, nullptr, 0),
      hamlyn_fence(nullptr, &ticket, nullptr, nullptr),
      hamlyn_flush(nullptr, &ticket, 0, &outcome),
      hamlyn_slot_set_control(nullptr, 0),
      hamlyn_slot_inhibit(nullptr),
      hamlyn_slot_release(nullptr),
      hamlyn_slot_unpin(nullptr, 0, 1),
      hamlyn_slot_pin(nullptr, 0, 1),
      hamlyn_slot_take_held(nullptr, &held, &word, 8),
      hamlyn_slot_protect(nullptr, &protection),
      hamlyn_segment_make(nullptr, nullptr, nullptr),
      hamlyn_segment_bytes(nullptr, &data, &size),
      hamlyn_segment_ticket(nullptr, nullptr),
      hamlyn_segment_revoke(nullptr),
      hamlyn_segment_protect(nullptr, &protection),
      hamlyn_segment_set_control(nullptr, 0),
      hamlyn_segment_inhibit(nullptr),
      hamlyn_segment_release(nullptr),
      hamlyn_segment_unpin(nullptr, 0, 1),
      hamlyn_segment_pin(nullptr, 0, 1),
      hamlyn_segment_take_held(nullptr, &held, &word, 8),
      hamlyn_segment_wait(nullptr, 0, nullptr),
      hamlyn_segment_wait_until(nullptr, 0, HAMLYN_EQUAL, 0, 0, &word),
      hamlyn_segment_wait_until_any(nullptr, &size, 1, HAMLYN_EQUAL, 0, 0, 0, &size, &word),
      hamlyn_segment_changed(nullptr),
      hamlyn_import_wait_until(nullptr, 0, HAMLYN_EQUAL, 0, 0, &word),
      hamlyn_import_changed(nullptr),
      hamlyn_segment_control_descriptor(nullptr, &number),
      hamlyn_segment_data_descriptor(nullptr, &number),
      hamlyn_import_make(nullptr, "name", nullptr, nullptr),
      hamlyn_import_make_of(nullptr, &ticket, nullptr, nullptr),
      hamlyn_import_begin(nullptr, "name", nullptr, nullptr),
      hamlyn_import_begin_of(nullptr, &ticket, nullptr, nullptr),
      hamlyn_import_open(nullptr, 0),
      hamlyn_mapped_slot_begin(nullptr, &ticket, nullptr),
      hamlyn_mapped_slot_open(nullptr, 0),
      hamlyn_import_size(nullptr, &size),
      hamlyn_import_mapped(nullptr, &mapped, &size),
      hamlyn_import_current(nullptr, &number),
      hamlyn_import_not_mapped(nullptr, &value),
      hamlyn_mapped_slot_not_mapped(nullptr, &value),
      hamlyn_write(nullptr, 0, "x", 1, nullptr, nullptr),
      hamlyn_write_wait(nullptr, 0, "x", 1, nullptr, 0),
      hamlyn_write_state(nullptr, {}),
      hamlyn_write_flush(nullptr, 0, nullptr),
      hamlyn_write_flush_begin(nullptr, nullptr),
      hamlyn_write_flush_all(nullptr, 1, 0, nullptr),
      hamlyn_write_signal_word(nullptr, 0, "x", 1, nullptr, nullptr, 0),
      hamlyn_read_begin(nullptr, 0, &word, 8, nullptr, nullptr),
      hamlyn_read_cancel(nullptr, {}),
      hamlyn_import_update(nullptr, 0, nullptr, 0, 0),
      hamlyn_slot_landed(nullptr, &word),
      hamlyn_slot_wait_landed(nullptr, 1, 0),
      hamlyn_write_why(nullptr, &value, &value),
      hamlyn_outcome_why(nullptr, &value, &value),
      hamlyn_outcome_why(&outcome, nullptr, &value),
      hamlyn_write_signal(nullptr, 0, "x", 1, 0, 1, HAMLYN_SIGNAL_SET, 0),
      hamlyn_read(nullptr, 0, &word, 8, nullptr, 0),
      hamlyn_read_into(nullptr, 0, nullptr, 0, 8, nullptr, nullptr),
      hamlyn_read_outcome(nullptr, {}, &outcome),
      hamlyn_read_wait(nullptr, {}, 0, &outcome),
      hamlyn_import_fetch(nullptr, 0, nullptr, 0, 0, &outcome),
      hamlyn_sure_swap_make(0, 1, 1, nullptr),
      hamlyn_sure_swap_make(0, 256, 1, &none),
      hamlyn_sure_swap_make(0, 255, 0, &none),
      hamlyn_sure_swap_make(0, 255, 256, &none),
      hamlyn_sure_swap_swap(nullptr, nullptr, 0, 1, 0, nullptr),
      hamlyn_sure_swap_settle(nullptr, nullptr, 0, nullptr),
      hamlyn_sure_swap_settled(nullptr, &number),
      hamlyn_sure_swap_load(nullptr, nullptr, 0, &value),
      hamlyn_compare_and_swap(nullptr, 0, 0, 1, 0, &outcome),
  };
  for (std::size_t i = 0; i < std::size(answers); ++i) EXPECT_EQ(answers[i], HAMLYN_INVALID_ARGUMENT) << i;
  EXPECT_STREQ(hamlyn_last_error(), "hamlyn_compare_and_swap: a NULL argument");
  EXPECT_OK(hamlyn_sure_swap_free(nullptr));
  EXPECT_OK(hamlyn_segment_free(nullptr));
  EXPECT_OK(hamlyn_import_free(nullptr));
}

TEST_F(CSegments, a_forked_child_is_told_so) {
  for (const std::uint32_t sharing : {HAMLYN_GUARDED, HAMLYN_MAPPED_READ_ONLY, HAMLYN_MAPPED_READ_WRITE}) {
    SCOPED_TRACE(sharing);
    with_two([&](auto* one, auto* other) {
      hamlyn_segment_options options{};
      options.size = sizeof options;
      options.bytes = kPage;
      options.sharing = sharing;
      hamlyn_segment* segment = nullptr;
      hamlyn_import* import = nullptr;
      hamlyn_sure_swap* swap = nullptr;
      hamlyn_ticket ticket{};
      ASSERT_OK(hamlyn_sure_swap_make(0, 1, 1, &swap));
      ASSERT_OK(hamlyn_segment_make(one, &options, &segment));
      ASSERT_OK(hamlyn_segment_ticket(segment, &ticket));
      ASSERT_OK(hamlyn_import_make_of(other, &ticket, nullptr, &import));
      Child child(-1, [&] {
        hamlyn_outcome outcome{};
        hamlyn_segment_record record{};
        std::uint64_t word = 0;
        hamlyn_segment* own = nullptr;
        const hamlyn_protection protection{0600, 0, nullptr};
        const hamlyn_status answers[] = {
            hamlyn_write(import, 0, "x", 1, nullptr, nullptr),
            hamlyn_write_flush(import, kLong, nullptr),
            hamlyn_read(import, 0, &word, 8, nullptr, kLong),
            hamlyn_compare_and_swap(import, 0, 0, 1, kLong, &outcome),
            hamlyn_sure_swap_swap(swap, import, 0, 1, kLong, nullptr),
            hamlyn_segment_wait(segment, kLong, &record),
            hamlyn_segment_wait_until(segment, 0, HAMLYN_EQUAL, 1, kLong, &word),
            hamlyn_segment_inhibit(segment),
            hamlyn_segment_protect(segment, &protection),
            hamlyn_segment_make(one, &options, &own),
        };
        for (int i = 0; i < static_cast<int>(std::size(answers)); ++i)
          if (answers[i] != HAMLYN_FORKED) return i + 1;
        return hamlyn_import_free(import) == HAMLYN_OK && hamlyn_segment_free(segment) == HAMLYN_OK ? 0 : 50;
      });
      EXPECT_EQ(child.wait(), 0) << "the call of that number, counted from 1";
      EXPECT_OK(hamlyn_import_free(import));
      EXPECT_OK(hamlyn_segment_free(segment));
      EXPECT_OK(hamlyn_sure_swap_free(swap));
    });
  }
}

}  // namespace
}  // namespace hamlyn::test
