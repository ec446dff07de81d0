#include <algorithm>
#include <string>
#include <string_view>

#include "test/conformance/conformance.h"

namespace hamlyn::test {

namespace {

// Why a test of the suite cannot hold where all its parties are one interface.
constexpr const char* kAtOnce =
    "SKIPPED: only for several interfaces: one side of it runs while the other does not";
constexpr const char* kOneSender = "SKIPPED: only for several interfaces: it has two senders";
constexpr const char* kOneLink =
    "SKIPPED: only for several interfaces: one end of a link goes while the other stays, or other links do";
constexpr const char* kOneCount = "SKIPPED: only for several interfaces: it counts what each side refuses";
constexpr const char* kNoGuest = "SKIPPED: only for several interfaces: nobody may less with its own slots";

struct Cannot {
  std::string_view test;
  const char* why;
};
constexpr Cannot kCannot[] = {
    {"Termini.are_held_up_by_no_destination_but_the_one_that_stalls", kAtOnce},
    {"RemoteLevels.each_has_its_own_places_at_both_sides", kAtOnce},
    {"RemoteReply.replies_beside_what_was_asked_for_do_nothing", kAtOnce},
    {"RemoteReply.an_answer_counts_once", kAtOnce},
    {"RemoteReply.answers_that_a_broken_link_owes_keep_nobody_awake", kAtOnce},
    {"Remote.a_requester_that_takes_no_replies_holds_up_nobody", kAtOnce},
    {"Priorities.overtake_bulk_at_the_next_packet_boundary", kAtOnce},
    {"Acknowledged.is_a_message_when_all_of_it_has_landed_and_no_sooner", kAtOnce},
    {"Acknowledged.more_than_may_be_outstanding_wait_and_all_arrive", kAtOnce},
    {"Refusals.packets_of_another_message_or_another_incarnation", kOneSender},
    {"Refusals.are_merged_by_link_and_cause", kOneSender},
    {"Fast.places_belong_to_one_slot_and_one_link", kOneSender},
    {"Fast.and_completions_fill_a_queue_and_none_is_lost", kOneSender},
    {"Fast.sender_hears_that_a_slot_is_gone", kOneSender},
    {"GivingBack.gives_nobody_more_places_at_a_slot_than_it_has_for_a_link", kOneSender},
    {"Groups.of_several_senders_are_told_of_once_when_all_has_come", kOneSender},
    {"Abandons.of_what_was_refused_end_nothing", kOneSender},
    {"Abandons.are_refused_like_any_other_packet", kOneSender},
    {"LinkEnds.what_arrived_whole_is_handed_over", kOneLink},
    {"LinkEnds.what_a_full_link_holds_of_both_levels_is_handed_over", kOneLink},
    {"LinkEnds.half_a_message_fails_its_entry_and_no_other", kOneLink},
    {"LinkEnds.each_queue_that_had_a_part_is_told_once", kOneLink},
    {"LinkEnds.senders_are_told", kOneLink},
    {"LinkEnds.each_queue_that_it_had_a_part_in_hears_of_it_once", kOneLink},
    {"LinkEnds.a_link_without_places_is_told_to_the_first_queue", kOneLink},
    {"LinkEnds.refusals_that_were_not_told_yet_are_told", kOneLink},
    {"SendEnds.are_told_of_what_went_with_its_link", kOneLink},
    {"RemoteLimits.are_those_of_the_side_that_wants_fewer", kAtOnce},
    {"RemoteLimits.hold_at_both_levels", kAtOnce},
    {"RemoteLimits.of_the_target_hold_whatever_the_requester_does", kAtOnce},
    {"RemoteLimits.that_are_none_change_nothing", kAtOnce},
    {"PutSignals.changes_by_hand_are_accounted_to_no_others", kOneSender},
    {"PutFence.what_nobody_waited_for_outlives_the_link", kOneLink},
    {"PutFence.a_fence_says_that_puts_may_be_lost_with_their_link", kOneLink},
    {"Remote.the_end_of_a_link_ends_what_was_asked_over_it", kOneLink},
    {"LongAnswers.that_are_forged_land_once_and_nowhere_else", kAtOnce},
    {"RemoteLevels.an_urgent_answer_overtakes_those_of_long_gets", kAtOnce},
    {"LongAnswers.that_nobody_takes_keep_nobody_awake", kAtOnce},
    {"Refusals.leads_that_cannot_be_break_the_link_and_no_other", kOneLink},
    {"Groups.fail_when_a_link_ends_that_had_contributed", kOneLink},
    {"Groups.do_not_take_the_next_link_for_one_that_had_contributed", kOneLink},
    {"Durable.the_link_may_end_while_the_sync_runs", kOneLink},
    {"Expiry.comes_early_when_the_sender_that_was_named_is_gone", kOneLink},
    {"Told.packets_that_lie_are_refused_and_nobody_is_told", kOneCount},
    {"Remote.more_requests_than_there_are_work_entries_are_refused", kOneCount},
    {"Remote.each_refusal_has_its_cause_at_both_sides", kOneCount},
    {"GivingBack.has_at_most_256_records_for_a_link", kOneCount},
    {"Gather.packets_that_lie_bring_nothing", kOneCount},
    {"Accesses.a_read_only_slot_gives_and_takes_nothing", kOneCount},
    {"Guest.that_may_only_read_puts_nothing_by_an_opening_that_it_has", kNoGuest},
    {"Guest.that_may_only_write_tells_of_no_read", kNoGuest},
    {"Guest.that_may_do_nothing_is_kept_no_places_for", kNoGuest},
};

}  // namespace

std::vector<FabricKind> fabrics() {
  return {{"shm", make_shm_fabric},
          {"sim", make_sim_fabric},
          {"ofi", make_ofi_fabric},
          {"oneself", make_shm_fabric, true}};
}

const char* why_not_oneself() {
  const testing::TestInfo& info = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(info.test_suite_name()) + "." + info.name();
  const auto* const found = std::ranges::find_if(
      kCannot, [&](const Cannot& each) { return name == "fabric/" + std::string(each.test) + "/oneself"; });
  return found == std::end(kCannot) ? nullptr : found->why;
}

}  // namespace hamlyn::test
