// Registered memory of a NIC's machine: who may write and read there, and what ends with it.
#include "test/vi/vi_party.h"

namespace hamlyn::test {
namespace {

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

TEST_P(ViLevels, a_write_that_tells_takes_no_descriptor_once_its_right_has_ended) {
  for (const int how : {0, 1, 2}) {
    connect(GetParam());
    MemoryHandle handle = 0;
    ASSERT_EQ(there.machine().register_memory(there.bytes(1000, 64), {there.tag, true, true}, handle),
              Result::success);
    const auto write = [&](std::uint32_t immediate) {
      Descriptor* const out = here.remote(there, 1000, {{0, 4}}, kRdmaWrite | kImmediate, immediate);
      out->segments[0].handle = handle;
      return here.post_send(from, out);
    };
    for (int i = 0; i != 3; ++i) ASSERT_EQ(there.post_receive(to, there.descriptor({})), Result::success);
    here.write(0, "1st ");
    ASSERT_EQ(write(1), Result::success);
    world.settle();
    EXPECT_EQ(there.done(to, Side::receive), kDone | kOfRemoteWrite | kHasImmediate);
    EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite);
    here.write(0, "2nd ");
    ASSERT_EQ(write(2), Result::success);  // on its way
    ASSERT_EQ(here.post_send(from, here.descriptor({}, kImmediate, 3)), Result::success);
    const void* const memory = there.bytes(1000, 1).data();
    Result result = Result::success;
    if (how == 0) result = there.machine().deregister_memory(memory, handle);
    if (how == 1) result = there.machine().set_memory(memory, handle, {there.tag, false, false});
    if (how == 2) there.machine().vi(to)->other.windows.erase(handle);  // and the news is lost
    ASSERT_EQ(result, Result::success);
    world.settle();
    EXPECT_EQ(there.text(1000, 4), "1st ");
    Descriptor* back = nullptr;
    const std::uint32_t received = there.done(to, Side::receive, &back);
    if (GetParam() == Reliability::unreliable) {
      EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite) << "the writer hears nothing";
      EXPECT_EQ(here.done(from, Side::send), kSent);
      EXPECT_EQ(received, kReceived | kHasImmediate) << "of the send behind it";
      EXPECT_EQ(back->immediate, 3u);
      EXPECT_EQ(here.state(from), State::connected);
      EXPECT_EQ(there.state(to), State::connected);
    } else {
      EXPECT_EQ(received, kReceived | kFlushed) << "nothing that was sent behind it takes one, either";
      EXPECT_EQ(here.done(from, Side::send),
                kDone | kOfWrite | (GetParam() == Reliability::reception ? kRdmaProtectionError : 0u));
      EXPECT_EQ(here.state(from), State::error);
      EXPECT_EQ(there.state(to), State::error);
    }
  }
}

TEST_P(ViLevels, a_write_that_tells_lands_nowhere_without_a_descriptor) {
  connect(GetParam());
  here.write(0, "evil");
  ASSERT_EQ(here.post_send(from, here.remote(there, 500, {{0, 4}}, kRdmaWrite | kImmediate)),
            Result::success);
  world.settle();
  EXPECT_EQ(there.text(500, 4), std::string(4, '\0'));
  const std::uint32_t why = GetParam() == Reliability::reception ? kRemoteDescriptorError : 0;
  EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite | why);
  EXPECT_EQ(here.state(from), GetParam() == Reliability::unreliable ? State::connected : State::error);
}

TEST_F(ViMachine, an_unreliable_write_without_a_right_is_counted_by_both_sides) {
  connect(Reliability::unreliable);
  MemoryHandle closed = 0;
  ASSERT_EQ(there.machine().register_memory(there.bytes(500, 64), {there.tag, false, false}, closed),
            Result::success);
  ASSERT_EQ(there.post_receive(to, there.descriptor({})), Result::success);
  for (const std::uint16_t control : {kRdmaWrite, std::uint16_t{kRdmaWrite | kImmediate}}) {
    const std::uint64_t before = world.ports[1]->turned_away;
    Descriptor* const write = here.remote(there, 500, {{0, 4}}, control);
    write->segments[0].handle = closed;
    ASSERT_EQ(here.post_send(from, write), Result::success);
    world.settle();
    EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite);
    EXPECT_EQ(world.ports[1]->turned_away, before + 1) << "it was sent, and was refused";
    EXPECT_EQ(there.done(to, Side::receive), 0u);
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

TEST_P(ViLevels, deregistering_ends_what_is_posted_there) {
  connect(GetParam());
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
  ASSERT_EQ(here.machine().vi(from)->other.grants.size(), 1u);
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

TEST_F(ViMachine, gives_the_first_rights_unasked_and_others_when_they_are_used) {
  connect(Reliability::delivery);
  const auto& held = here.machine().vi(from)->other.grants;
  MemoryHandle handle = 0;
  for (int i = 0; i != 70; ++i)
    ASSERT_EQ(there.machine().register_memory(there.bytes(500, 64), {there.tag, true, true}, handle),
              Result::success);
  world.settle();
  EXPECT_EQ(held.size(), 64u);
  EXPECT_FALSE(held.contains(handle));
  Descriptor* const write = here.remote(there, 500, {{0, 4}}, kRdmaWrite);
  write->segments[0].handle = handle;
  ASSERT_EQ(here.post_send(from, write), Result::success);
  world.settle();
  EXPECT_EQ(here.done(from, Side::send), kDone | kOfWrite);
  EXPECT_EQ(held.size(), 65u);
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
        held.set(other, {});
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

}  // namespace
}  // namespace hamlyn::test
