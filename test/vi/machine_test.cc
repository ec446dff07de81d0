// A NIC's machine by itself: what it does, at each level, and what it refuses.
#include "test/vi/vi_party.h"

namespace hamlyn::test {
namespace {

constexpr std::uint32_t kSent = kDone | kOfSend, kReceived = kDone | kOfReceive;

class ViMachine : public testing::Test {
 protected:
  void connect(Reliability level) {
    from = here.make_vi(level);
    to = there.make_vi(level);
    join(world, here, from, there, to);
  }

  ViWorld world{1, 3};
  ViParty here{world, 0}, there{world, 1};
  std::uint32_t from = 0, to = 0;
};

class ViLevels : public ViMachine, public testing::WithParamInterface<Reliability> {};

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
  ASSERT_EQ(here.post_send(from, here.descriptor({}, kQueueFence)), Result::success);
  ASSERT_EQ(there.post_receive(to, there.descriptor({})), Result::success);
  world.settle();
  EXPECT_EQ(here.done(from, Side::send), kDone | kOfRead);
  EXPECT_EQ(here.done(from, Side::send), kSent);
  EXPECT_EQ(here.text(0, 5) + here.text(64, 5), "to be read");
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

TEST_P(ViLevels, writes_without_a_right_land_nowhere) {
  connect(GetParam());
  const bool told = GetParam() != Reliability::unreliable;
  here.write(0, "evil");
  there.write(500, "good");
  Tag other_tag = 0;
  MemoryHandle foreign = 0, closed = 0;
  ASSERT_EQ(there.machine().create_tag(other_tag), Result::success);
  ASSERT_EQ(there.machine().register_memory(there.bytes(500, 64), {other_tag, true, true}, foreign),
            Result::success);
  ASSERT_EQ(there.machine().register_memory(there.bytes(500, 64), {there.tag, false, false}, closed),
            Result::success);
  for (const std::uint32_t handle : {foreign, closed, there.handle + 0x10000u, 0u, 0xFFFFFFFFu}) {
    Descriptor* const write = here.remote(there, 500, {{0, 4}}, kRdmaWrite);
    write->segments[0].handle = handle;
    ASSERT_EQ(here.post_send(from, write), Result::success);
    world.settle();
    EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite | (told ? kRdmaProtectionError : 0u)) << handle;
    EXPECT_EQ(there.text(500, 4), "good");
    EXPECT_EQ(here.state(from), told ? State::error : State::connected);
    if (told) connect(GetParam());
  }
  // Beyond the region, before it, and over the end of all addresses.
  for (const std::uint64_t address :
       {there.address(there.all().size() - 3), there.address(0) - 1, ~std::uint64_t{0}}) {
    Descriptor* const write = here.remote(there, 500, {{0, 4}}, kRdmaWrite);
    write->segments[0].address = address;
    ASSERT_EQ(here.post_send(from, write), Result::success);
    world.settle();
    EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite | (told ? kRdmaProtectionError : 0u));
    if (told) connect(GetParam());
  }
}

TEST_P(ViLevels, a_right_ends_with_the_region_its_attributes_and_the_connection) {
  for (const int how : {0, 1, 2}) {
    connect(GetParam());
    MemoryHandle handle = 0;
    ASSERT_EQ(there.machine().register_memory(there.bytes(1000, 64), {there.tag, true, true}, handle),
              Result::success);
    const auto write = [&] {
      Descriptor* const out = here.remote(there, 1000, {{0, 4}}, kRdmaWrite);
      out->segments[0].handle = handle;
      return out;
    };
    here.write(0, "1st ");
    ASSERT_EQ(here.post_send(from, write()), Result::success);
    world.settle();
    EXPECT_EQ(there.text(1000, 4), "1st ");
    EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite);
    here.write(0, "2nd ");
    ASSERT_EQ(here.post_send(from, write()), Result::success);  // on its way
    const void* const memory = there.bytes(1000, 1).data();
    Result result = Result::success;
    if (how == 0) result = there.machine().deregister_memory(memory, handle);
    if (how == 1) result = there.machine().set_memory(memory, handle, {there.tag, false, false});
    if (how == 2) result = there.machine().disconnect(to);
    ASSERT_EQ(result, Result::success);
    world.settle();
    EXPECT_EQ(there.text(1000, 4), "1st ") << how;
  }
}

TEST_P(ViLevels, the_end_of_one_right_does_nothing_to_anothers) {
  ViParty third{world, 2};
  connect(GetParam());
  const std::uint32_t theirs = third.make_vi(GetParam()), with = there.make_vi(GetParam());
  join(world, third, theirs, there, with);
  third.write(0, "full");
  const auto flow = [&](int writes) {
    for (int i = 0; i != writes; ++i)
      ASSERT_EQ(third.post_send(theirs, third.remote(there, 700, {{0, 4}}, kRdmaWrite)), Result::success);
  };
  flow(20);
  ASSERT_EQ(there.machine().disconnect(to), Result::success);
  flow(20);
  world.settle();
  for (int i = 0; i != 40; ++i) EXPECT_EQ(third.done(theirs, Side::send), kDone | kOfWrite);
  EXPECT_EQ(there.text(700, 4), "full");
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

TEST_F(ViMachine, deregistering_ends_what_is_posted_there) {
  connect(Reliability::delivery);
  MemoryHandle handle = 0;
  ASSERT_EQ(there.machine().register_memory(there.bytes(1000, 64), {there.tag, false, false}, handle),
            Result::success);
  Descriptor* const receive = there.descriptor({{1000, 8}});
  receive->segments[0].handle = handle;
  ASSERT_EQ(there.post_receive(to, receive), Result::success);
  ASSERT_EQ(here.post_send(from, here.descriptor({{0, 4}})), Result::success);  // on its way
  ASSERT_EQ(there.machine().deregister_memory(there.bytes(1000, 1).data(), handle), Result::success);
  EXPECT_EQ(there.done(to, Side::receive), kReceived | kProtectionError);
  there.write(1000, "mine");
  world.settle();
  EXPECT_EQ(there.text(1000, 4), "mine");
  EXPECT_EQ(here.state(from), State::error);
  EXPECT_EQ(there.machine().deregister_memory(there.bytes(1000, 1).data(), handle),
            Result::invalid_parameter);
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

// --- connections

TEST_F(ViMachine, connects_whoever_waits_at_that_discriminator_and_nobody_else) {
  from = here.make_vi();
  to = there.make_vi();
  const Address asked = Address::of(0, std::as_bytes(std::span{"abcdefgh", 8}));
  const Address longer = Address::of(0, std::as_bytes(std::span{"abcdefgh1234", 12}));
  const std::uint32_t waiter = there.machine().add_waiter(longer);
  ASSERT_EQ(here.machine().ask_for(from, {}, asked, there.machine().door()), Result::success);
  EXPECT_EQ(here.post_send(from, here.descriptor({})), Result::invalid_state);
  world.settle();
  EXPECT_EQ(here.machine().outcome(from), Result::no_match);
  here.machine().give_up(from);
  EXPECT_EQ(here.state(from), State::idle);
  ASSERT_EQ(here.machine().ask_for(from, {}, longer, there.machine().door()), Result::success);
  world.settle();
  const std::uint32_t request = there.machine().request_of(waiter);
  ASSERT_NE(request, 0u);
  EXPECT_EQ(there.machine().reject(request), Result::success);
  EXPECT_EQ(there.machine().reject(request), Result::invalid_parameter);
  world.settle();
  EXPECT_EQ(here.machine().outcome(from), Result::reject);
}

TEST_F(ViMachine, accepts_equal_attributes_alone) {
  from = here.make_vi();
  std::uint32_t level = there.make_vi(Reliability::reception), size = 0, quality = 0;
  to = there.make_vi();
  ASSERT_EQ(there.machine().create_vi({.max_transfer = 1000, .tag = there.tag}, 0, 0, size), Result::success);
  ASSERT_EQ(there.machine().create_vi({.qos = 3, .tag = there.tag}, 0, 0, quality), Result::success);
  const std::uint32_t waiter = there.machine().add_waiter({});
  ASSERT_EQ(here.machine().ask_for(from, {}, {}, there.machine().door()), Result::success);
  world.settle();
  const std::uint32_t request = there.machine().request_of(waiter);
  EXPECT_EQ(there.machine().accept(request, level), Result::invalid_reliability_level);
  EXPECT_EQ(there.machine().accept(request, size), Result::invalid_mtu);
  EXPECT_EQ(there.machine().accept(request, quality), Result::invalid_qos);
  EXPECT_EQ(there.machine().accept(request, to), Result::success);
  world.settle();
  EXPECT_EQ(here.state(from), State::connected);
}

TEST_F(ViMachine, who_accepts_what_was_withdrawn_is_told) {
  from = here.make_vi();
  to = there.make_vi();
  const std::uint32_t waiter = there.machine().add_waiter({});
  ASSERT_EQ(here.machine().ask_for(from, {}, {}, there.machine().door()), Result::success);
  world.settle();
  const std::uint32_t request = there.machine().request_of(waiter);
  here.machine().give_up(from);
  ASSERT_EQ(there.machine().accept(request, to), Result::success) << "it has not heard yet";
  world.settle();
  EXPECT_EQ(here.state(from), State::idle);
  EXPECT_EQ(there.state(to), State::error);
}

TEST_F(ViMachine, two_that_ask_for_each_other_are_connected_in_any_order) {
  const Address one = Address::of(0, std::as_bytes(std::span{"one", 3}));
  const Address two = Address::of(0, std::as_bytes(std::span{"two", 3}));
  for (const int who : {1, 2, 3}) {
    from = here.make_vi();
    to = there.make_vi();
    ASSERT_EQ(here.machine().peer_request(from, one, two, {}), Result::success);
    ASSERT_EQ(there.machine().peer_request(to, two, one, {}), Result::success);
    if ((who & 1) != 0) here.machine().knock(from, there.machine().door());
    if ((who & 2) != 0) there.machine().knock(to, here.machine().door());
    world.settle();
    EXPECT_EQ(here.state(from), State::connected) << who;
    EXPECT_EQ(there.state(to), State::connected) << who;
    ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
    ASSERT_EQ(here.post_send(from, here.descriptor({{0, 4}})), Result::success);
    world.settle();
    EXPECT_EQ(there.done(to, Side::receive), kReceived);
  }
}

TEST_F(ViMachine, a_vi_connects_with_another_of_the_same_nic) {
  from = here.make_vi();
  to = here.make_vi();
  join(world, here, from, here, to);
  here.write(0, "self");
  ASSERT_EQ(here.post_receive(to, here.descriptor({{100, 8}})), Result::success);
  ASSERT_EQ(here.post_send(from, here.descriptor({{0, 4}})), Result::success);
  world.settle();
  EXPECT_EQ(here.done(to, Side::receive), kReceived);
  EXPECT_EQ(here.text(100, 4), "self");
}

TEST_F(ViMachine, a_death_ends_connections_and_requests) {
  connect(Reliability::delivery);
  ASSERT_EQ(here.post_receive(from, here.descriptor({{0, 8}})), Result::success);
  const std::uint32_t asking = here.make_vi();
  there.machine().add_waiter({});
  ASSERT_EQ(here.machine().ask_for(asking, {}, {}, there.machine().door()), Result::success);
  world.kill(1);
  world.settle();
  EXPECT_EQ(here.state(from), State::error);
  EXPECT_EQ(here.done(from, Side::receive), kReceived | kFlushed);
  EXPECT_EQ(here.machine().outcome(asking), Result::not_reachable);
}

// --- somebody who speaks the wire by hand

class ViStranger : public ViMachine {
 protected:
  void say(const Message& message) {
    static_cast<void>(
        world.ports[2]->say(there.machine().door(), std::as_bytes(std::span{&message, 1}), kOutboxWord));
    world.settle();
  }
};

TEST_F(ViStranger, ends_nobodys_connection_and_gets_no_right) {
  connect(Reliability::delivery);
  const auto* const vi = there.machine().vi(to);
  Message message;
  message.to = to;
  message.to_session = vi->other.own_session;  // even if it were known
  message.from = vi->other.vi;
  message.from_session = vi->other.session;
  message.handle = there.handle;
  const std::size_t windows = vi->other.windows.size();
  for (std::uint16_t kind = 0; kind != 40; ++kind) {
    message.say = static_cast<Say>(kind);
    say(message);
    EXPECT_EQ(there.state(to), State::connected) << kind;
    EXPECT_EQ(vi->other.peer, 1u);
    EXPECT_EQ(vi->other.windows.size(), windows);
  }
}

TEST_F(ViStranger, says_anything_and_nothing_comes_of_it) {
  connect(Reliability::delivery);
  there.machine().add_waiter({});
  std::mt19937_64 chance(5);
  for (int i = 0; i != 2000; ++i) {
    std::vector<std::byte> bytes(chance() % 4 == 0 ? chance() % 400 : sizeof(Message));
    for (std::byte& each : bytes) each = static_cast<std::byte>(chance());
    if (bytes.size() >= 4) {
      bytes[0] = std::byte{kWireVersion}, bytes[1] = std::byte{0};
      bytes[2] = static_cast<std::byte>(chance() % 14), bytes[3] = std::byte{0};
    }
    static_cast<void>(world.ports[2]->say(there.machine().door(), bytes, kOutboxWord));
    world.settle();
  }
  EXPECT_EQ(there.state(to), State::connected);
  EXPECT_EQ(here.state(from), State::connected);
}

TEST_F(ViMachine, an_immediate_that_no_honest_sender_has_breaks_the_connection) {
  connect(Reliability::delivery);
  ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
  WorldPort::Outlet outlet(*world.ports[0]);
  SendHandle handle;
  const Ticket inbox = here.machine().vi(from)->other.inbox;
  EXPECT_EQ(outlet.send(inbox, {}, std::uint64_t{1} << kWriteAt, false, 0, handle), Status::ok);
  world.settle();
  EXPECT_EQ(there.state(to), State::error);
  EXPECT_EQ(there.done(to, Side::receive), kReceived | kTransportError);
}

TEST_F(ViMachine, a_ticket_that_was_passed_on_is_worth_nothing_to_others) {
  connect(Reliability::delivery);
  ASSERT_EQ(there.post_receive(to, there.descriptor({{0, 8}})), Result::success);
  WorldPort::Outlet outlet(*world.ports[2]);
  SendHandle handle;
  EXPECT_EQ(outlet.send(here.machine().vi(from)->other.inbox, {}, 0, false, 0, handle), Status::ok);
  world.settle();
  EXPECT_EQ(there.state(to), State::error);
}

TEST_F(ViMachine, whoever_halts_an_inbox_ends_its_connection) {
  connect(Reliability::delivery);
  WorldPort::Outlet outlet(*world.ports[2]);
  SendHandle handle;
  EXPECT_EQ(outlet.send(here.machine().vi(from)->other.inbox, {}, 0, false, 0, handle), Status::ok);
  world.settle();
  EXPECT_EQ(there.state(to), State::error) << "what comes behind it would be lost in silence";
  EXPECT_EQ(here.state(from), State::error);
}

TEST_F(ViMachine, a_message_turned_away_before_the_answer_came_ends_the_connection) {
  from = here.make_vi();
  to = there.make_vi();
  const Address address = Address::of(1, std::as_bytes(std::span{"here", 4}));
  const std::uint32_t waiter = there.machine().add_waiter(address);
  ASSERT_EQ(here.machine().ask_for(from, {}, address, there.machine().door()), Result::success);
  world.settle();
  WorldPort::Outlet outlet(*world.ports[1]);
  SendHandle handle;
  EXPECT_EQ(outlet.send(here.machine().vi(from)->inbox->ticket(), {}, 0, false, 0, handle), Status::ok);
  world.settle();
  EXPECT_EQ(here.state(from), State::connect_pending);
  ASSERT_EQ(there.machine().accept(there.machine().request_of(waiter), to), Result::success);
  world.settle();
  EXPECT_EQ(here.machine().outcome(from), Result::success);
  EXPECT_EQ(here.state(from), State::error);
  EXPECT_EQ(there.state(to), State::error);
}

TEST_P(ViLevels, a_write_that_ends_before_it_has_left_reads_no_memory_any_more) {
  connect(GetParam());
  world.holds_puts = true;
  ASSERT_EQ(here.post_send(from, here.remote(there, 500, {{0, 4}}, kRdmaWrite)), Result::success);
  ASSERT_EQ(world.held_puts.size(), 1u);
  ASSERT_EQ(there.machine().deregister_memory(there.all().data(), there.handle), Result::success);
  world.settle();
  const bool told = GetParam() != Reliability::unreliable;
  EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite | (told ? kRdmaProtectionError : 0u));
  EXPECT_TRUE(world.held_puts.empty());
}

TEST_F(ViMachine, deregistering_ends_what_has_its_descriptor_there) {
  MemoryHandle apart = 0;
  ASSERT_EQ(here.machine().register_memory(here.all(), {here.tag, false, false}, apart), Result::success);
  from = here.make_vi();
  Descriptor* const first = here.descriptor({{0, 8}});
  Descriptor* const second = here.descriptor({{8, 8}});
  Descriptor* const third = here.descriptor({{16, 8}});
  ASSERT_EQ(here.post_receive(from, first), Result::success);
  ASSERT_EQ(here.machine().post_receive(from, second, apart), Result::success);
  ASSERT_EQ(here.post_receive(from, third), Result::success);
  ASSERT_EQ(here.machine().deregister_memory(here.all().data(), apart), Result::success);
  EXPECT_EQ(here.done(from, Side::receive), kReceived | kFlushed) << "it stands before one that ends";
  EXPECT_EQ(here.done(from, Side::receive), kReceived | kProtectionError);
  EXPECT_EQ(here.done(from, Side::receive), 0u) << "it goes on";
}

TEST_F(ViMachine, deregistering_waits_for_no_descriptor_that_stands_behind_others) {
  connect(Reliability::reception);
  MemoryHandle apart = 0;
  ASSERT_EQ(here.machine().register_memory(here.all(), {here.tag, false, false}, apart), Result::success);
  Descriptor* const wrong = here.descriptor({{0, 8}});
  wrong->control = 0xFFFF;
  ASSERT_EQ(here.post_receive(from, here.descriptor({{0, 8}})), Result::success);
  here.machine().vi(from)->state = State::idle;  // where what is wrong breaks nothing
  ASSERT_EQ(here.machine().post_receive(from, wrong, apart), Result::success);
  EXPECT_EQ(wrong->status, 0u) << "it is over, and waits for the first";
  here.machine().vi(from)->state = State::connected;
  ASSERT_EQ(here.machine().deregister_memory(here.all().data(), apart), Result::success);
  EXPECT_EQ(here.done(from, Side::receive), kReceived | kFlushed);
  EXPECT_EQ(here.done(from, Side::receive), kReceived | kFormatError);
}

TEST_F(ViMachine, asks_anew_for_a_right_that_was_refused) {
  connect(Reliability::unreliable);
  here.write(0, "new!");
  ASSERT_EQ(here.machine().vi(from)->other.grants.count(there.handle), 1u);
  there.machine().vi(to)->other.windows.erase(there.handle);  // and the news is lost
  ASSERT_EQ(here.post_send(from, here.remote(there, 500, {{0, 4}}, kRdmaWrite | kImmediate)),
            Result::success);
  world.settle();
  EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite);
  ASSERT_EQ(here.post_send(from, here.remote(there, 500, {{0, 4}}, kRdmaWrite)), Result::success);
  world.settle();
  EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite);
  EXPECT_EQ(there.text(500, 4), "new!");
}

TEST_F(ViMachine, a_connection_has_so_many_rights_and_no_more) {
  for (const bool giver : {false, true}) {
    connect(Reliability::delivery);
    MemoryHandle handle = 0;
    auto& given = there.machine().vi(to)->other.windows;
    auto& held = here.machine().vi(from)->other.grants;
    for (MemoryHandle other = 0xFF000000; (giver ? given.size() : held.size()) != kMostGrants; ++other) {
      if (giver)
        given[other] = nullptr;
      else
        held[other] = {};
    }
    ASSERT_EQ(there.machine().register_memory(there.bytes(0, 64), {there.tag, true, true}, handle),
              Result::success);
    Descriptor* const write = here.remote(there, 0, {{0, 4}}, kRdmaWrite);
    write->segments[0].handle = handle;
    ASSERT_EQ(here.post_send(from, write), Result::success);
    world.settle();
    EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite | kRdmaProtectionError);
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

// A port that takes what an outbox has, or nothing.
struct DoorPort {
  Status say(const Ticket&, std::span<const std::byte> data, std::uint64_t) {
    if (shut) return Status::queue_full;
    Message message;
    std::memcpy(static_cast<void*>(&message), data.data(), sizeof message);
    said.push_back(protocols::in_wire_order(message));
    return Status::ok;
  }

  bool shut = true;
  std::vector<Message> said;
};

TEST(ViOutbox, drops_news_of_rights_alone_when_it_is_full) {
  DoorPort port;
  Outbox<DoorPort> outbox(port);
  Ticket door;
  door.interface = 5;
  Message message;
  message.say = Say::grant;
  for (message.handle = 1; message.handle <= kMostOfOne; ++message.handle)
    outbox.add(door, message, message.handle != 1);
  for (int i = 0; i != 3; ++i) {
    message.say = Say::disconnect;
    outbox.add(door, message);
  }
  port.shut = false;
  outbox.pump([](const Ticket&, const Message&) { ADD_FAILURE(); });
  ASSERT_EQ(port.said.size(), kMostOfOne);
  EXPECT_EQ(port.said[0].handle, 1u) << "somebody has asked for it";
  EXPECT_EQ(port.said[1].handle, 5u) << "the oldest three have gone";
  for (std::size_t i = kMostOfOne - 3; i != kMostOfOne; ++i) EXPECT_EQ(port.said[i].say, Say::disconnect);
}

TEST(ViOutbox, has_a_bound_for_everything) {
  DoorPort port;
  Outbox<DoorPort> outbox(port);
  Message message;
  message.say = Say::deny;
  for (std::size_t i = 0; i != kBeyond * kMostOfOne + 10; ++i) outbox.add({}, message);
  message.say = Say::grant;
  outbox.add({}, message, true);
  port.shut = false;
  outbox.pump([](const Ticket&, const Message&) { ADD_FAILURE(); });
  EXPECT_EQ(port.said.size(), kBeyond * kMostOfOne);
  EXPECT_TRUE(outbox.empty());
}

TEST(ViOutbox, says_the_last_news_of_a_right_alone) {
  DoorPort port;
  Outbox<DoorPort> outbox(port);
  Message message;
  for (int i = 0; i != 10; ++i) {
    for (const Say say : {Say::grant, Say::revoke}) {
      message.say = say;
      for (message.handle = 1; message.handle != 4; ++message.handle) outbox.add({}, message, true);
    }
  }
  port.shut = false;
  outbox.pump([](const Ticket&, const Message&) { ADD_FAILURE(); });
  ASSERT_EQ(port.said.size(), 3u);
  for (const Message& said : port.said) EXPECT_EQ(said.say, Say::revoke);
}

}  // namespace
}  // namespace hamlyn::test
