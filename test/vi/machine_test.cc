// A NIC's machine by itself: what it does with descriptors, at each level, and what it refuses.
#include "test/vi/vi_party.h"

namespace hamlyn::test {
namespace {

TEST_P(ViLevels, sends_land_in_the_oldest_receive_and_both_come_back) {
  connect(GetParam());
  here.write(0, "hello");
  Descriptor* const receive = there.descriptor({{100, 3}, {200, 100}});
  Descriptor* const send = here.descriptor({{0, 2}, {2, 3}}, kImmediate, 77);
  ASSERT_EQ(there.post_receive(to, receive), Result::success);
  ASSERT_EQ(here.post_send(from, send), Result::success);
  world.settle();
  Descriptor* back = nullptr;
  EXPECT_EQ(here.done(from, Side::send, &back), kSent);
  EXPECT_EQ(back, send);
  EXPECT_EQ(there.done(to, Side::receive, &back), kReceived | kHasImmediate);
  EXPECT_EQ(back, receive);
  EXPECT_EQ(receive->length, 5u);
  EXPECT_EQ(receive->immediate, 77u);
  EXPECT_EQ(there.text(100, 3) + there.text(200, 2), "hello");
  EXPECT_EQ(here.machine().take(from, Side::send).result, Result::descriptor_error) << "nothing is posted";
}

TEST_P(ViLevels, receives_of_more_pieces_than_a_slot_takes_are_scattered) {
  connect(GetParam());
  here.write(0, "0123456789abcdefghijklmnopqrstuv");
  std::vector<std::pair<std::size_t, std::uint32_t>> parts;
  for (std::size_t i = 0; i != 30; ++i) parts.push_back({i * 8, 1});
  // 30 segments take more than the place of a descriptor that `there` makes: use the memory behind.
  Descriptor head;
  head.segment_count = 30;
  std::vector<Segment> segments;
  for (std::size_t i = 0; i != 30; ++i) segments.push_back({there.address(i * 8), there.handle, 1});
  std::byte* const at = there.bytes(32768, 1024).data();
  std::memcpy(at, static_cast<const void*>(&head), 32);
  std::memcpy(at + 32, segments.data(), segments.size() * sizeof(Segment));
  ASSERT_EQ(there.post_receive(to, reinterpret_cast<Descriptor*>(at)), Result::success);
  ASSERT_EQ(here.post_send(from, here.descriptor({{0, 20}})), Result::success);
  world.settle();
  EXPECT_EQ(there.done(to, Side::receive), kReceived);
  EXPECT_EQ(there.text(8 * 19, 1), "j");
  EXPECT_EQ(there.text(8 * 20, 1), std::string(1, '\0'));
}

TEST_P(ViLevels, writes_take_no_descriptor_and_with_immediate_one_behind_the_data) {
  connect(GetParam());
  here.write(0, "written");
  ASSERT_EQ(here.post_send(from, here.remote(there, 500, {{0, 7}}, kRdmaWrite)), Result::success);
  world.settle();
  EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite);
  EXPECT_EQ(there.text(500, 7), "written");
  Descriptor* const receive = there.descriptor({});
  ASSERT_EQ(there.post_receive(to, receive), Result::success);
  ASSERT_EQ(here.post_send(from, here.remote(there, 600, {{0, 3}, {3, 4}}, kRdmaWrite | kImmediate, 5)),
            Result::success);
  ASSERT_EQ(here.post_send(from, here.remote(there, 700, {{0, 1}}, kRdmaWrite)), Result::success);
  world.settle();
  EXPECT_EQ(there.done(to, Side::receive), kDone | kOfRemoteWrite | kHasImmediate);
  EXPECT_EQ(receive->immediate, 5u);
  EXPECT_EQ(receive->length, 7u);
  EXPECT_EQ(there.text(600, 7), "written");
  EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite);
  EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite);
}

TEST_P(ViLevels, reads_bring_what_stands_there) {
  connect(GetParam());
  there.write(500, "to be read");
  ASSERT_EQ(here.post_send(from, here.remote(there, 500, {{0, 5}, {64, 5}}, kRdmaRead)), Result::success);
  world.settle();
  EXPECT_EQ(here.done(from, Side::send), kDone | kOfRead);
  EXPECT_EQ(here.text(0, 5) + here.text(64, 5), "to be read");
}

TEST_P(ViLevels, a_fence_waits_for_the_reads_before_it) {
  connect(GetParam());
  for (int i = 0; i != 20; ++i) {
    ASSERT_EQ(there.post_receive(to, there.descriptor({})), Result::success);
    ASSERT_EQ(here.post_send(from, here.remote(there, 500, {{0, 5}}, kRdmaRead)), Result::success);
    ASSERT_EQ(here.post_send(from, here.descriptor({}, kQueueFence)), Result::success);
    while (there.done(to, Side::receive) == 0) ASSERT_TRUE(world.step());
    ASSERT_EQ(here.done(from, Side::send), kDone | kOfRead) << "over before the send has begun";
    world.settle();
    ASSERT_EQ(here.done(from, Side::send), kSent);
  }
}

TEST_P(ViLevels, reads_with_a_fence_wait_for_no_part_of_their_own) {
  connect(GetParam());
  for (int i = 0; i != 20; ++i) {
    world.crowded = 50;  // the first part finds room now and then, and the second does not
    ASSERT_EQ(here.post_send(from, here.remote(there, 500, {{0, 5}, {64, 5}}, kRdmaRead | kQueueFence)),
              Result::success);
    world.crowded = 0;
    world.settle();
    ASSERT_EQ(here.done(from, Side::send), kDone | kOfRead) << i;
  }
}

TEST_P(ViLevels, all_comes_back_flushed_after_a_disconnect) {
  connect(GetParam());
  for (int i = 0; i != 5; ++i) ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
  ASSERT_EQ(here.machine().disconnect(from), Result::success);
  EXPECT_EQ(here.state(from), State::idle);
  world.settle();
  EXPECT_EQ(there.state(to), State::error);
  for (int i = 0; i != 5; ++i) EXPECT_EQ(there.done(to, Side::receive), kReceived | kFlushed);
  ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
  EXPECT_EQ(there.done(to, Side::receive), kReceived | kFlushed) << "posted in the state error";
  ASSERT_EQ(there.machine().disconnect(to), Result::success);
  join(world, here, from, there, to);
}

TEST_P(ViLevels, no_descriptor_and_too_short_a_one) {
  for (const bool shorter : {false, true}) {
    connect(GetParam());
    int lost = 0, empty = 0;
    there.machine().on_error([&](const ErrorEvent& event) {
      lost += event.fault == Fault::connection_lost;
      empty += event.fault == Fault::no_descriptor;
    });
    if (shorter) {
      ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 4}})), Result::success);
    }
    ASSERT_EQ(here.post_send(from, here.descriptor({{0, 5}})), Result::success);
    world.settle();
    while (const auto notice = there.machine().take_notice()) (*notice)();
    const std::uint32_t sent = here.done(from, Side::send);
    if (GetParam() == Reliability::unreliable) {
      EXPECT_EQ(sent, kSent) << "it is dropped, and the sender hears nothing";
      EXPECT_EQ(here.state(from), State::connected);
      EXPECT_EQ(there.state(to), State::connected);
      EXPECT_EQ(there.done(to, Side::receive), 0u);
      EXPECT_EQ(lost, 0);
    } else {
      EXPECT_EQ(here.state(from), State::error);
      EXPECT_EQ(there.state(to), State::error);
      EXPECT_EQ(lost, 1);
      EXPECT_EQ(empty, shorter ? 0 : 1);
      EXPECT_EQ(there.done(to, Side::receive), shorter ? kReceived | kLengthError : 0u);
      const std::uint32_t why = shorter ? kLengthError : kRemoteDescriptorError;
      EXPECT_EQ(sent, GetParam() == Reliability::delivery ? kSent : kSent | why);
    }
    there.machine().on_error(nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(all, ViLevels,
                         testing::Values(Reliability::unreliable, Reliability::delivery,
                                         Reliability::reception));

TEST_F(ViMachine, refuses_descriptors_with_the_reason_in_their_status) {
  connect(Reliability::unreliable);
  const auto status_of = [&](Descriptor* what) {
    EXPECT_EQ(here.post_send(from, what), Result::success);
    world.settle();
    return here.done(from, Side::send);
  };
  Descriptor* what = here.descriptor({{0, 4}});
  what->length = 5;
  EXPECT_EQ(status_of(what), kSent | kLengthError);
  what = here.descriptor({{0, 4}}, 0x100);
  EXPECT_EQ(status_of(what), kSent | kFormatError);
  what = here.descriptor({{0, 4}}, 3);
  EXPECT_EQ(status_of(what) & kErrors, kFormatError);
  what = here.descriptor({});
  what->segment_count = kMostSegments + 1;
  EXPECT_EQ(status_of(what), kSent | kFormatError);
  what = here.descriptor({{0, 4}});
  what->segments[0].handle += 0x10000;
  EXPECT_EQ(status_of(what), kSent | kProtectionError);
  what = here.descriptor({{0, 4}});
  what->segments[0].address = here.address(here.all().size() - 3);
  EXPECT_EQ(status_of(what), kSent | kProtectionError);
  what = here.descriptor({}, kRdmaWrite);
  EXPECT_EQ(status_of(what) & kErrors, kFormatError) << "RDMA without an address";
  what = here.descriptor({{0, 60000}, {0, 60000}});
  EXPECT_EQ(status_of(what), kSent | kLengthError) << "more than the VI's transfer size";
  Tag other = 0;
  MemoryHandle foreign = 0;
  ASSERT_EQ(here.machine().create_tag(other), Result::success);
  ASSERT_EQ(here.machine().register_memory(here.all(), {other, false, false}, foreign), Result::success);
  what = here.descriptor({{0, 4}});
  what->segments[0].handle = foreign;
  EXPECT_EQ(status_of(what), kSent | kProtectionError);
  EXPECT_EQ(here.state(from), State::connected);
}

TEST_F(ViMachine, tells_of_descriptors_that_are_nowhere_by_the_error_handler) {
  connect(Reliability::delivery);
  std::vector<ErrorEvent> events;
  here.machine().on_error([&](const ErrorEvent& event) { events.push_back(event); });
  Descriptor* const good = here.descriptor({{0, 4}});
  auto* const crooked = reinterpret_cast<Descriptor*>(reinterpret_cast<std::byte*>(good) + 32);
  EXPECT_EQ(here.post_send(from, crooked), Result::success);
  EXPECT_EQ(here.machine().post_receive(from, good, here.handle + 0x10000), Result::success);
  while (const auto notice = here.machine().take_notice()) (*notice)();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].fault, Fault::post_descriptor);
  EXPECT_EQ(events[0].descriptor, crooked);
  EXPECT_EQ(events[1].operation, kOfReceive);
  EXPECT_EQ(here.machine().take(from, Side::send).result, Result::descriptor_error) << "they were not posted";
}

TEST_F(ViMachine, refuses_posts_in_a_wrong_state_and_beyond_the_queue) {
  from = here.make_vi();
  EXPECT_EQ(here.post_send(from, here.descriptor({})), Result::invalid_state);
  for (std::uint32_t i = 0; i != kMostDescriptors; ++i)
    ASSERT_EQ(here.post_receive(from, here.descriptor({})), Result::success);
  EXPECT_EQ(here.post_receive(from, here.descriptor({})), Result::error_resource);
  EXPECT_EQ(here.machine().destroy_vi(from), Result::error_resource);
  ASSERT_EQ(here.machine().disconnect(from), Result::success);
  while (here.done(from, Side::receive) != 0) {
  }
  EXPECT_EQ(here.machine().destroy_vi(from), Result::success);
  EXPECT_EQ(here.machine().destroy_vi(from), Result::invalid_parameter);
  EXPECT_EQ(here.post_receive(from, here.descriptor({})), Result::invalid_parameter);
}

TEST_F(ViMachine, the_copy_of_the_post_counts) {
  connect(Reliability::delivery);
  Descriptor* const receive = there.descriptor({{0, 8}});
  ASSERT_EQ(there.post_receive(to, receive), Result::success);
  receive->segments[0] = {there.address(300), there.handle, 8};
  here.write(0, "data");
  ASSERT_EQ(here.post_send(from, here.descriptor({{0, 4}})), Result::success);
  world.settle();
  EXPECT_EQ(there.text(0, 4), "data");
  EXPECT_EQ(there.text(300, 4), std::string(4, '\0'));
}

TEST_F(ViMachine, the_length_of_a_receive_counts_for_nothing) {
  connect(Reliability::delivery);
  Descriptor* const receive = there.descriptor({{0, 8}});
  for (const std::uint32_t length : {0u, 3u, 9u, 0xFFFFFFFFu}) {
    receive->length = length;
    ASSERT_EQ(there.post_receive(to, receive), Result::success);
    ASSERT_EQ(here.post_send(from, here.descriptor({{0, 5}})), Result::success);
    world.settle();
    EXPECT_EQ(there.done(to, Side::receive), kReceived);
    EXPECT_EQ(receive->length, 5u);
  }
}

TEST_F(ViMachine, completion_queues_have_an_entry_for_each_and_tell_when_they_overrun) {
  std::uint32_t queue = 0;
  ASSERT_EQ(there.machine().create_queue(2, queue), Result::success);
  from = here.make_vi();
  to = there.make_vi(Reliability::delivery, queue, queue);
  join(world, here, from, there, to);
  int overruns = 0;
  there.machine().on_error([&](const ErrorEvent& event) { overruns += event.fault == Fault::overrun; });
  for (int i = 0; i != 4; ++i) {
    ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
    ASSERT_EQ(here.post_send(from, here.descriptor({{0, 4}})), Result::success);
  }
  world.settle();
  while (const auto notice = there.machine().take_notice()) (*notice)();
  EXPECT_EQ(overruns, 1);
  for (int i = 0; i != 2; ++i) {
    const Completion event = there.machine().take_event(queue);
    EXPECT_EQ(event.result, Result::success);
    EXPECT_EQ(event.vi, to);
    EXPECT_TRUE(event.receive);
  }
  EXPECT_EQ(there.machine().take_event(queue).result, Result::not_done);
  for (int i = 0; i != 4; ++i) EXPECT_EQ(there.done(to, Side::receive), kReceived) << "no descriptor is lost";
  EXPECT_EQ(there.machine().destroy_queue(queue), Result::error_resource) << "a VI has it";
  EXPECT_EQ(there.machine().resize_queue(queue, 16), Result::success);
  EXPECT_EQ(there.machine().resize_queue(queue, 0), Result::invalid_parameter);
}

TEST_F(ViMachine, gives_what_a_message_completes_to_whoever_looks_at_an_empty_queue) {
  std::uint32_t queue = 0, other = 0;
  ASSERT_EQ(there.machine().create_queue(4, queue), Result::success);
  ASSERT_EQ(there.machine().create_queue(4, other), Result::success);
  from = here.make_vi();
  to = there.make_vi(Reliability::delivery, 0, queue);
  join(world, here, from, there, to);
  std::vector<Descriptor*> posted;
  for (int i = 0; i != 5; ++i) {
    posted.push_back(there.descriptor({{0, 8}}));
    ASSERT_EQ(there.post_receive(to, posted.back()), Result::success);
  }
  Notification message;
  message.kind = Notification::Kind::message;
  message.slot = there.machine().vi(to)->inbox->number();
  message.length = 4;
  message.peer = there.machine().vi(to)->other.peer;
  message.word = word_of({77, true});
  const auto hear = [&](std::uint32_t of, std::uint64_t number) {
    message.offset = number;
    return there.machine().hear_for(*there.machine().queue(of), message);
  };
  const Taken taken = hear(queue, 0);
  EXPECT_EQ(taken.result, Result::success);
  EXPECT_EQ(taken.vi, to);
  EXPECT_TRUE(taken.receive);
  ASSERT_EQ(taken.descriptor, posted[0]);
  EXPECT_EQ(posted[0]->status, kReceived | kHasImmediate);
  EXPECT_EQ(posted[0]->length, 4u);
  EXPECT_EQ(posted[0]->immediate, 77u);
  EXPECT_EQ(hear(queue, 0).result, Result::not_done) << "it is over";
  EXPECT_EQ(there.machine().take_event(queue).result, Result::not_done);
  EXPECT_EQ(there.machine().take(to, Side::receive).result, Result::not_done);

  EXPECT_EQ(hear(other, 1).result, Result::not_done) << "it has its entry elsewhere";
  EXPECT_EQ(hear(queue, 2).result, Result::not_done) << "an entry stands before it";
  for (int i = 1; i != 3; ++i) {
    EXPECT_EQ(there.machine().take_event(queue).vi, to);
    EXPECT_EQ(there.machine().take(to, Side::receive).descriptor, posted[static_cast<std::size_t>(i)]);
  }
  message.peer = 99;
  EXPECT_EQ(hear(queue, 3).result, Result::not_done) << "nobody of this connection has sent it";
  EXPECT_EQ(there.state(to), State::error);
  EXPECT_EQ(there.machine().take(to, Side::receive).descriptor->status, kDone | kTransportError | kOfReceive);
}

TEST_F(ViMachine, notifies_once_of_an_entry) {
  std::uint32_t queue = 0;
  ASSERT_EQ(there.machine().create_queue(4, queue), Result::success);
  from = here.make_vi();
  to = there.make_vi(Reliability::delivery, 0, queue);
  join(world, here, from, there, to);
  int calls = 0;
  const auto count = [&](std::uint32_t vi, bool receive) { calls += vi == to && receive ? 1 : 100; };
  ASSERT_EQ(there.machine().notify_queue(queue, count), Result::success);
  EXPECT_EQ(there.machine().notify_queue(queue, count), Result::error_resource) << "there is one already";
  for (int i = 0; i != 2; ++i) {
    ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
    ASSERT_EQ(here.post_send(from, here.descriptor({{0, 4}})), Result::success);
  }
  world.settle();
  while (const auto notice = there.machine().take_notice()) (*notice)();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(there.machine().take_event(queue).vi, to) << "the other one";
  EXPECT_EQ(there.machine().take_event(queue).result, Result::not_done);
}

TEST_F(ViMachine, keeps_what_is_in_use) {
  connect(Reliability::delivery);
  EXPECT_EQ(here.machine().destroy_vi(from), Result::invalid_state) << "it is connected";
  ASSERT_EQ(here.machine().disconnect(from), Result::success);
  EXPECT_EQ(here.machine().destroy_tag(here.tag), Result::error_resource) << "a VI and memory have it";
  EXPECT_EQ(here.machine().destroy_vi(from), Result::success);
  EXPECT_EQ(here.machine().destroy_tag(here.tag), Result::error_resource) << "memory has it";
  EXPECT_EQ(here.machine().deregister_memory(here.all().data(), here.handle), Result::success);
  EXPECT_EQ(here.machine().destroy_tag(here.tag), Result::success);
  EXPECT_EQ(here.machine().destroy_tag(here.tag), Result::invalid_parameter);
}

TEST_F(ViMachine, has_so_many_of_each_object_and_no_more) {
  std::uint32_t number = 0;
  for (std::uint32_t i = 0; i != kMostQueues; ++i)
    ASSERT_EQ(here.machine().create_queue(1, number), Result::success);
  EXPECT_EQ(here.machine().create_queue(1, number), Result::error_resource);
  for (std::uint32_t i = 0; i != kMostVis; ++i) ASSERT_NE(here.make_vi(), 0u);
  EXPECT_EQ(here.machine().create_vi({.tag = here.tag}, 0, 0, number), Result::error_resource);
  for (std::uint32_t i = 1; i != kMostRegions; ++i)  // `here` has one
    ASSERT_EQ(here.machine().register_memory(here.bytes(0, 1), {here.tag, false, false}, number),
              Result::success);
  EXPECT_EQ(here.machine().register_memory(here.bytes(0, 1), {here.tag, false, false}, number),
            Result::error_resource);
}

TEST_F(ViMachine, notifies_once) {
  connect(Reliability::delivery);
  int calls = 0;
  ASSERT_EQ(there.machine().notify(to, Side::receive, [&](std::uint32_t, Descriptor*) { ++calls; }),
            Result::success);
  for (int i = 0; i != 2; ++i) {
    ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
    ASSERT_EQ(here.post_send(from, here.descriptor({{0, 4}})), Result::success);
  }
  world.settle();
  while (const auto notice = there.machine().take_notice()) (*notice)();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(there.done(to, Side::receive), kReceived) << "the other one";
  EXPECT_EQ(there.done(to, Side::receive), 0u);
}

TEST_F(ViMachine, several_segments_are_copied_together_once_however_often_they_find_no_room) {
  connect(Reliability::delivery);
  ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
  here.write(0, "abcdef");
  world.crowded = 100;
  ASSERT_EQ(here.post_send(from, here.descriptor({{0, 2}, {4, 2}})), Result::success);
  here.write(0, "uvwxyz");  // it was posted: what is written from now on may leave or not
  for (int i = 0; i != 3; ++i) here.machine().step();
  world.crowded = 0;
  world.settle();
  EXPECT_EQ(here.done(from, Side::send), kSent);
  EXPECT_EQ(there.done(to, Side::receive), kReceived);
  EXPECT_EQ(there.text(0, 4), "abef");
  // The next one in that place of the queue has its own.
  for (int i = 0; i != 40; ++i) {
    here.write(0, i % 2 == 0 ? "123456" : "654321");
    ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
    ASSERT_EQ(here.post_send(from, here.descriptor({{0, 2}, {4, 2}})), Result::success);
    world.settle();
    EXPECT_EQ(here.done(from, Side::send), kSent);
    EXPECT_EQ(there.done(to, Side::receive), kReceived);
    EXPECT_EQ(there.text(0, 4), i % 2 == 0 ? "1256" : "6521");
  }
}

TEST_F(ViMachine, what_found_no_memory_leaves_when_there_is_some) {
  connect(Reliability::delivery);
  ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
  world.no_memory = true;
  ASSERT_EQ(here.post_send(from, here.descriptor({{0, 5}})), Result::success);
  for (int i = 0; i != 3; ++i) {
    here.machine().step();
    EXPECT_TRUE(here.machine().restless());
  }
  world.no_memory = false;
  world.settle();
  EXPECT_EQ(here.done(from, Side::send), kSent);
  EXPECT_EQ(there.done(to, Side::receive), kReceived);
}

}  // namespace
}  // namespace hamlyn::test
