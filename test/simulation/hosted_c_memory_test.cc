// Areas, slots, queues, termini, remote operations and segments by their C functions, between processes of a
// simulated host, and a death of either at any time.
#include <cstring>
#include <vector>

#include "test/simulation/hosted_c.h"

namespace hamlyn::test {
namespace {

constexpr std::size_t kBytes = 65536;

// What somebody offers that others send to: an area, its queue, a slot over all of it.
struct Place {
  Place(CProcess& me, const hamlyn_slot_options& options, std::uint32_t sharing = HAMLYN_GUARDED) {
    me.ok(hamlyn_area_make(me.interface, kBytes, sharing, area.out()), "no area");
    me.ok(hamlyn_queue_make(me.interface, 0, queue.out()), "no queue");
    me.ok(hamlyn_slot_make(area, queue, &options, slot.out()), "no slot");
    me.ok(hamlyn_area_bytes(area, &data, &length), "no bytes");
  }
  static std::string_view text(hamlyn_slot* slot, const hamlyn_notification& arrival) {
    void* at = nullptr;
    std::size_t bytes = 0;
    EXPECT_EQ(hamlyn_slot_message(slot, &arrival, &at, &bytes), HAMLYN_OK);
    return {static_cast<const char*>(at), bytes};
  }

  CArea area;
  CQueue queue;
  CSlot slot;
  void* data = nullptr;
  std::size_t length = 0;
};

TEST(HostedC, messages_land_in_entries_in_fast_mode_and_out_of_send_areas) {
  Hosted hosted({.least_delay = 1000, .most_delay = 50'000, .mtu = 256});
  add_c(hosted, [](CProcess& me) {
    hamlyn_slot_options options{};
    options.size = sizeof options;
    options.mode = HAMLYN_MODE_PARANOID_ONE_SHOT;
    options.entries = 2;
    Place place(me, options);
    options.mode = HAMLYN_MODE_GUARDED;
    options.entries = 0;
    options.places = 4;
    CSlot open;
    me.ok(hamlyn_slot_make(place.area, place.queue, &options, open.out()), "no slot");
    hamlyn_ticket ticket{};
    me.ok(hamlyn_slot_arm_within(place.slot, 0, 64, 5000), "it cannot be armed");
    me.ok(hamlyn_slot_entry_ticket(place.slot, 0, &ticket), "no ticket");
    me.ok(hamlyn_publish(me.interface, "entry", &ticket, 0), "it cannot be published");
    me.ok(hamlyn_slot_ticket(open, &ticket), "no ticket");
    me.ok(hamlyn_publish(me.interface, "fast", &ticket, 0), "it cannot be published");
    hamlyn_notification arrival{};
    me.ok(hamlyn_receive(place.queue, kSecond, &arrival), "no message");
    me.all.expect(arrival.kind == HAMLYN_MESSAGE && arrival.entry == 0 && arrival.peer == 2, "another");
    me.all.expect(place.text(place.slot, arrival) == std::string(5000, 'a'), "it is not what was sent");
    const void* metadata = nullptr;
    std::size_t length = 0;
    me.ok(hamlyn_slot_metadata(place.slot, 0, &metadata, &length), "no metadata");
    me.all.expect(me.text(metadata, length) == "beside it", "other metadata");
    me.ok(hamlyn_slot_arm_within(place.slot, 1, 0, 5000), "it cannot be armed");
    me.ok(hamlyn_slot_entry_ticket(place.slot, 1, &ticket), "no ticket");
    me.ok(hamlyn_publish(me.interface, "gathered", &ticket, 0), "it cannot be published");
    // Ten fast ones; a gathered one, whenever it comes; and that the second shot was refused.
    for (int left = 12; left != 0; --left) {
      me.ok(hamlyn_receive(place.queue, kSecond, &arrival), "no message");
      if (arrival.kind == HAMLYN_PROTOCOL_ERROR) {
        me.all.expect(arrival.cause == HAMLYN_REFUSAL_ENTRY_NOT_ARMED, "something else was refused");
        continue;
      }
      const bool fast = arrival.fast != 0;
      me.all.expect(place.text(fast ? open : place.slot, arrival) == (fast ? "fast" : "together"), "another");
    }
    me.ok(hamlyn_slot_change_key(open), "no other key");
    me.all.host.pause(5 * kMilli);
  });
  add_c(hosted, [](CProcess& me) {
    CSendArea area;
    CTerminus terminus;
    me.ok(hamlyn_send_area_make(me.interface, kBytes, area.out()), "no area");
    me.ok(hamlyn_terminus_make(me.interface, nullptr, terminus.out()), "no terminus");
    me.ok(hamlyn_bind(terminus, 3, area), "it cannot be bound");
    hamlyn_ticket ticket{};
    me.ok(hamlyn_lookup(me.interface, "entry", kSecond, &ticket), "no such name");
    hamlyn_send_options options{};
    options.size = sizeof options;
    options.metadata = "beside it";
    options.metadata_length = 9;
    options.flags = HAMLYN_ACKNOWLEDGED;
    const std::string text(5000, 'a');
    hamlyn_send_handle handle{};
    const auto acknowledged = [&] {
      const hamlyn_status status = hamlyn_send(terminus, &ticket, text.data(), 5000, &options, &handle);
      return status == HAMLYN_PENDING ? hamlyn_send_wait(terminus, handle, kSecond) : status;
    };
    me.ok(acknowledged(), "it does not land");
    me.is(acknowledged(), HAMLYN_REFUSED, "one shot is two");
    std::uint32_t cause = HAMLYN_REFUSAL_NONE;
    me.ok(hamlyn_send_refusal(terminus, handle, &cause), "nobody says why");
    me.all.expect(cause == HAMLYN_REFUSAL_ENTRY_NOT_ARMED, hamlyn_refusal_name(cause));

    hamlyn_ticket fast{};
    me.ok(hamlyn_lookup(me.interface, "fast", kSecond, &fast), "no such name");
    me.ok(hamlyn_connect(terminus, &fast, kSecond), "no places");
    for (int left = 10; left != 0;) {
      const hamlyn_status status = hamlyn_send_fast(terminus, &fast, "fast", 4, 7, 60'000);
      if (status == HAMLYN_OK) --left;
      if (status != HAMLYN_OK) me.ok(hamlyn_wait_for_place(terminus, &fast, kSecond), "no place comes free");
      if (!me.all.alive()) return;
    }
    me.ok(hamlyn_lookup(me.interface, "gathered", kSecond, &ticket), "no such name");
    void* bytes = nullptr;
    std::size_t length = 0;
    me.ok(hamlyn_send_area_bytes(area, &bytes, &length), "no bytes");
    std::memcpy(bytes, "gether", 6);
    std::memcpy(static_cast<char*>(bytes) + 1000, "to", 2);
    const hamlyn_piece pieces[] = {{3, 1000, 2}, {3, 0, 6}};
    hamlyn_status sent = hamlyn_send_gathered(terminus, &ticket, pieces, 2, nullptr, &handle);
    if (sent == HAMLYN_PENDING) sent = hamlyn_send_wait(terminus, handle, kSecond);
    me.ok(sent, "it is not sent");
    me.all.host.pause(kMilli);
    // What is sent with the former key goes nowhere, and its sender is told.
    hamlyn_status late = HAMLYN_OK;
    for (int i = 0; i < 100 && late == HAMLYN_OK; ++i) {
      me.all.host.pause(kMilli / 10);
      me.ok(hamlyn_interface_run(me.interface), "it does not run");
      late = hamlyn_send_fast(terminus, &fast, "late", 4, 7, 0);
    }
    me.is(late, HAMLYN_REFUSED, "the former key is good");
  });
  hosted.run();
}

TEST(HostedC, memory_is_read_added_to_and_mapped_from_afar) {
  Hosted hosted;
  add_c(hosted, [](CProcess& me) {
    hamlyn_slot_options options{};
    options.size = sizeof options;
    options.gets = 4096;
    options.flags = HAMLYN_FETCHES;
    Place place(me, options, HAMLYN_MAPPED_READ_ONLY);
    std::memcpy(static_cast<char*>(place.data) + 100, "there", 5);
    hamlyn_ticket ticket{};
    me.ok(hamlyn_slot_ticket(place.slot, &ticket), "no ticket");
    me.ok(hamlyn_publish(me.interface, "memory", &ticket, 0), "it cannot be published");
    me.all.host.pause(5 * kMilli);
    std::uint64_t word = 0;
    std::memcpy(&word, place.data, sizeof word);
    me.all.expect(word == 7, "it was not added");
    me.ok(hamlyn_area_revoke(place.area), "it cannot be taken back");
    me.all.host.pause(5 * kMilli);
  });
  add_c(hosted, [](CProcess& me) {
    hamlyn_slot_options options{};
    options.size = sizeof options;
    Place own(me, options);
    CTerminus terminus;
    CMappedSlot mapped;
    hamlyn_ticket ticket{};
    hamlyn_remote_handle handle{};
    hamlyn_outcome outcome{};
    me.ok(hamlyn_terminus_make(me.interface, nullptr, terminus.out()), "no terminus");
    me.ok(hamlyn_lookup(me.interface, "memory", kSecond, &ticket), "no such name");
    me.ok(hamlyn_connect(terminus, &ticket, kSecond), "no link");
    const hamlyn_fetch_request add{HAMLYN_ADD, 8, 7, 0};
    me.is(hamlyn_fetch(terminus, &ticket, &add, nullptr, &handle), HAMLYN_PENDING, "not asked for");
    me.ok(hamlyn_remote_wait(terminus, handle, kSecond, &outcome), "not added");
    me.all.expect(outcome.value == 0, "something stood there");
    hamlyn_remote_options from{};
    from.size = sizeof from;
    from.offset = 100;
    me.is(hamlyn_get(terminus, &ticket, own.slot, 8, 5, &from, &handle), HAMLYN_PENDING, "not asked for");
    me.ok(hamlyn_remote_wait(terminus, handle, kSecond, &outcome), "not read");
    me.all.expect(me.text(static_cast<char*>(own.data) + 8, 5) == "there", "something else was read");
    me.ok(hamlyn_mapped_slot_make(me.interface, &ticket, kSecond, mapped.out()), "not mapped");
    const void* data = nullptr;
    std::size_t length = 0;
    me.ok(hamlyn_mapped_slot_bytes(mapped, &data, &length), "no bytes");
    me.all.expect(me.text(static_cast<const char*>(data) + 100, 5) == "there", "something else is seen");
    int current = 0;
    me.ok(hamlyn_mapped_slot_current(mapped, &current), "nobody knows");
    me.all.expect(current == 1, "it was taken back");
    me.all.host.pause(7 * kMilli);
    me.ok(hamlyn_mapped_slot_current(mapped, &current), "nobody knows");
    me.all.expect(current == 0, "it was not taken back");
  });
  hosted.run();
}

void send_messages(Hosted& hosted) {
  add_c(hosted, [](CProcess& me) {
    hamlyn_slot_options options{};
    options.size = sizeof options;
    options.entries = 1;
    options.flags = HAMLYN_NO_FAST | HAMLYN_FETCHES;
    Place place(me, options);
    hamlyn_ticket ticket{};
    me.ok(hamlyn_slot_entry_ticket(place.slot, 0, &ticket), "no ticket");
    me.ok(hamlyn_publish(me.interface, "entry", &ticket, 0), "it cannot be published");
    for (int i = 0; i < 5; ++i) {
      hamlyn_notification arrival{};
      const hamlyn_status status = hamlyn_receive(place.queue, 3 * kMilli, &arrival);
      if (me.all.alive(2)) me.ok(status, "no message");
      if (status != HAMLYN_OK || arrival.kind == HAMLYN_LINK_ENDED_NOTICE) return;
      if (me.all.alive(2)) me.all.expect(arrival.kind == HAMLYN_MESSAGE, "it has failed");
      if (arrival.kind == HAMLYN_MESSAGE)
        me.all.expect(place.text(place.slot, arrival) == std::string(3000, 'm'), "it is not what was sent");
      static_cast<void>(hamlyn_slot_arm(place.slot, 0));
    }
    me.all.host.pause(kMilli);
  });
  add_c(hosted, [](CProcess& me) {
    CTerminus terminus;
    hamlyn_ticket ticket{};
    me.ok(hamlyn_terminus_make(me.interface, nullptr, terminus.out()), "no terminus");
    if (!me.look_up("entry", 1, ticket)) return;
    if (!me.went_well(hamlyn_connect(terminus, &ticket, kSecond), 1, "no link")) return;
    hamlyn_send_options options{};
    options.size = sizeof options;
    options.flags = HAMLYN_ACKNOWLEDGED;
    const std::string text(3000, 'm');
    for (int i = 0; i < 5;) {
      hamlyn_send_handle handle{};
      hamlyn_status status = hamlyn_send(terminus, &ticket, text.data(), text.size(), &options, &handle);
      if (status == HAMLYN_PENDING) status = hamlyn_send_wait(terminus, handle, kSecond);
      std::uint32_t cause = HAMLYN_REFUSAL_NONE;
      if (status == HAMLYN_REFUSED) static_cast<void>(hamlyn_send_refusal(terminus, handle, &cause));
      // The receiver has not armed it again yet.
      if (cause == HAMLYN_REFUSAL_ENTRY_NOT_ARMED || cause == HAMLYN_REFUSAL_ENTRY_BUSY) continue;
      if (!me.went_well(status, 1, "it does not land")) return;
      ++i;
    }
  });
}
TEST(HostedC, messages_tell_of_the_death_of_the_sender_at_any_time) {
  with_a_death_at_any_time(2, send_messages);
}
TEST(HostedC, messages_tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, send_messages);
}

// --- segments

hamlyn_segment_options board(std::uint32_t sharing) {
  hamlyn_segment_options options{};
  options.size = sizeof options;
  options.name = "board";
  options.bytes = kBytes;
  options.sharing = sharing;
  return options;
}

// By packets, by loads, and by loads and stores.
void use_a_segment(std::uint32_t sharing) {
  Hosted hosted;
  add_c(hosted, [sharing](CProcess& me) {
    CSegment segment;
    const hamlyn_segment_options options = board(sharing);
    me.ok(hamlyn_segment_make(me.interface, &options, segment.out()), "no segment");
    me.is(hamlyn_interface_free(me.interface), HAMLYN_INVALID_ARGUMENT, "a manager's interface goes");
    std::uint64_t word = 0;
    me.is(hamlyn_segment_wait_until(segment, 0, HAMLYN_EQUAL, 1, 100'000, &word), HAMLYN_TIMED_OUT, "done");
    me.ok(hamlyn_segment_wait_until(segment, 0, HAMLYN_EQUAL, 1, kSecond, &word), "no signal");
    void* data = nullptr;
    std::size_t length = 0;
    me.ok(hamlyn_segment_bytes(segment, &data, &length), "no bytes");
    me.all.expect(me.text(static_cast<char*>(data) + 64, 5) == "hello", "data is behind its signal");
    hamlyn_segment_record record{};
    me.ok(hamlyn_segment_wait(segment, kSecond, &record), "nothing is told");
    me.all.expect(record.kind == HAMLYN_WRITTEN && record.offset == 200 && record.length == 4, "another");
    me.all.expect(record.peer == 2, "of another");
    me.ok(hamlyn_segment_wait_until(segment, 8, HAMLYN_EQUAL, 44, kSecond, nullptr), "no swap");
    me.ok(hamlyn_segment_revoke(segment), "it cannot be taken back");
    me.all.host.pause(5 * kMilli);
  });
  add_c(hosted, [](CProcess& me) {
    CImport import, again, none;
    const hamlyn_import_options brief{sizeof brief, kMilli, HAMLYN_READ_WRITE, 0};
    me.is(hamlyn_import_make(me.interface, "nothing", &brief, none.out()), HAMLYN_TIMED_OUT, "a segment");
    me.ok(hamlyn_import_make(me.interface, "board", nullptr, import.out()), "no segment");
    std::size_t size = 0;
    me.ok(hamlyn_import_size(import, &size), "no size");
    me.all.expect(size == kBytes, "another size");
    me.ok(hamlyn_write_signal(import, 64, "hello", 5, 0, 1, HAMLYN_SIGNAL_ADD, kSecond), "not written");
    me.ok(hamlyn_write_flush(import, kSecond, nullptr), "it has not landed");  // loads overtake packets
    char read[5];
    me.ok(hamlyn_read(import, 64, read, sizeof read, nullptr, kSecond), "not read");
    me.all.expect(me.text(read, 5) == "hello", "something else was read");
    const hamlyn_write_options told{sizeof told, nullptr, HAMLYN_NOTIFY};
    me.ok(hamlyn_write_wait(import, 200, "told", 4, &told, kSecond), "not written");
    me.ok(hamlyn_write_flush(import, kSecond, nullptr), "it has not landed");
    hamlyn_outcome outcome{};
    const hamlyn_fetch_request add{HAMLYN_ADD, 8, 4, 0};
    me.ok(hamlyn_import_fetch(import, 8, &add, 0, kSecond, &outcome), "not added");
    me.ok(hamlyn_compare_and_swap(import, 8, 5, 9, kSecond, &outcome), "not compared");
    me.all.expect(outcome.value == 4, "something else stood there");
    me.ok(hamlyn_compare_and_swap(import, 8, 4, 44, kSecond, &outcome), "not swapped");
    me.is(hamlyn_write(import, kBytes, "x", 1, nullptr, nullptr), HAMLYN_OUT_OF_BOUNDS, "it fits");
    hamlyn_status status = HAMLYN_OK;
    for (int i = 0; i < 100 && status == HAMLYN_OK; ++i) {
      me.all.host.pause(kMilli / 10);
      status = hamlyn_compare_and_swap(import, 8, 0, 0, kSecond, &outcome);
    }
    me.is(status, HAMLYN_STALE, "it is not taken back");
    me.ok(hamlyn_import_make(me.interface, "board", nullptr, again.out()), "it is not there anew");
  });
  hosted.run();
}
TEST(HostedC, segments_are_written_read_swapped_and_taken_back_by_packets) { use_a_segment(HAMLYN_GUARDED); }
TEST(HostedC, segments_are_written_read_swapped_and_taken_back_by_loads) {
  use_a_segment(HAMLYN_MAPPED_READ_ONLY);
}
TEST(HostedC, segments_are_written_read_swapped_and_taken_back_by_stores) {
  use_a_segment(HAMLYN_MAPPED_READ_WRITE);
}

void count_in_a_segment(Hosted& hosted, std::uint32_t sharing) {
  add_c(hosted, [sharing](CProcess& me) {
    CSegment segment;
    const hamlyn_segment_options options = board(sharing);
    me.ok(hamlyn_segment_make(me.interface, &options, segment.out()), "no segment");
    const hamlyn_status status = hamlyn_segment_wait_until(segment, 0, HAMLYN_EQUAL, 10, 4 * kMilli, nullptr);
    if (me.all.alive(2)) me.ok(status, "no signal");
    me.all.host.pause(kMilli);
  });
  add_c(hosted, [](CProcess& me) {
    CImport import;
    const hamlyn_import_options options{sizeof options, 2 * kMilli, HAMLYN_READ_WRITE, 0};
    if (!me.went_well(hamlyn_import_make(me.interface, "board", &options, import.out()), 1, "no segment"))
      return;
    for (std::uint64_t i = 0; i < 10; ++i) {
      const std::vector<char> row(1000, 'r');
      const hamlyn_status written =
          hamlyn_write_signal(import, 64, row.data(), row.size(), 0, 1, HAMLYN_SIGNAL_ADD, kSecond);
      if (!me.went_well(written, 1, "not written")) return;
      char read[1000];
      if (!me.went_well(hamlyn_read(import, 64, read, sizeof read, nullptr, kSecond), 1, "not read")) return;
      me.all.expect(me.text(read, sizeof read) == me.text(row.data(), row.size()), "something else was read");
      hamlyn_outcome outcome{};
      const hamlyn_status swapped = hamlyn_compare_and_swap(import, 8, i, i + 1, kSecond, &outcome);
      if (!me.went_well(swapped, 1, "not swapped")) return;
      me.all.expect(outcome.value == i, "something else stood there");
    }
  });
}
TEST(HostedC, segments_tell_of_the_death_of_the_importer_at_any_time) {
  with_a_death_at_any_time(2, [](Hosted& hosted) { count_in_a_segment(hosted, HAMLYN_GUARDED); });
}
TEST(HostedC, segments_tell_of_the_death_of_the_exporter_at_any_time) {
  with_a_death_at_any_time(1, [](Hosted& hosted) { count_in_a_segment(hosted, HAMLYN_GUARDED); });
}
TEST(HostedC, mapped_segments_outlive_the_death_of_the_importer_at_any_time) {
  with_a_death_at_any_time(2, [](Hosted& hosted) { count_in_a_segment(hosted, HAMLYN_MAPPED_READ_WRITE); });
}
TEST(HostedC, mapped_segments_stay_readable_after_the_death_of_the_exporter_at_any_time) {
  with_a_death_at_any_time(1, [](Hosted& hosted) { count_in_a_segment(hosted, HAMLYN_MAPPED_READ_WRITE); });
}

}  // namespace
}  // namespace hamlyn::test
