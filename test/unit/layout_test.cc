// What two processes both see: every offset of docs/wire.md, and the validators that name what is wrong. A
// change here is a change of the structures' version.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fabric/shm/layout.h"
#include "fabric/sim/generator.h"
#include "interface/counters.h"
#include "interface/packets/packet.h"
#include "library/control/link_message.h"

namespace hamlyn::test {
namespace {

using interface::CallCounters;
using interface::CounterPage;
using interface::Lead;
using interface::LinkCounters;
using interface::Operation;
using interface::Packet;
using interface::QueueCounters;
using interface::SlotCounters;
using interface::TerminusCounters;
using library::LinkMessage;
using library::LinkWord;
using shm::Page;
using shm::PageHeader;

// The offsets, written as numbers on purpose.
static_assert(offsetof(Ticket, host) == 0 && offsetof(Ticket, interface) == 8 &&
              offsetof(Ticket, slot) == 16 && offsetof(Ticket, generation) == 20 &&
              offsetof(Ticket, key) == 24 && offsetof(Ticket, entry) == 32 &&
              offsetof(Ticket, incarnation) == 36 && offsetof(Ticket, base) == 40 &&
              offsetof(Ticket, bound) == 48 && offsetof(Ticket, version) == 56 &&
              offsetof(Ticket, purpose) == 60 && sizeof(Ticket) == 64);
static_assert(offsetof(Lead, turn) == 0 && offsetof(Lead, length) == 4 && offsetof(Lead, operation) == 6 &&
              offsetof(Lead, metadata_length) == 7 && sizeof(Lead) == 8);
static_assert(offsetof(Packet, slot) == 8 && offsetof(Packet, generation) == 12 &&
              offsetof(Packet, key) == 16 && offsetof(Packet, offset) == 24 &&
              offsetof(Packet, entry) == 32 && offsetof(Packet, delta) == 36 &&
              offsetof(Packet, word) == 40 && offsetof(Packet, data) == 48 && sizeof(Packet) == 64);
static_assert(offsetof(PageHeader, magic) == 0 && offsetof(PageHeader, structures) == 8 &&
              offsetof(PageHeader, cell_bytes) == 10 && offsetof(PageHeader, mtu) == 12 &&
              offsetof(PageHeader, interface) == 16 && sizeof(PageHeader) == 64);
static_assert(offsetof(shm::Credits, taken) == 0 && offsetof(shm::Credits, replies_taken) == 8 &&
              offsetof(shm::Credits, urgent_taken) == 16);
static_assert(offsetof(shm::Watch, watch) == 0 && offsetof(shm::Watch, doorbell) == 4 &&
              offsetof(shm::Watch, areas) == 8);
static_assert(offsetof(Page, header) == 0 && offsetof(Page, credits) == 64 && offsetof(Page, watch) == 128 &&
              offsetof(Page, announcement) == 192 && offsetof(Page, replies) == 256 &&
              offsetof(Page, urgent) == 1024 && offsetof(Page, cells) == 1536 && sizeof(Page) == 4096);
static_assert(offsetof(LinkMessage, magic) == 0 && offsetof(LinkMessage, version) == 4 &&
              offsetof(LinkMessage, word) == 6 && offsetof(LinkMessage, value) == 8 &&
              offsetof(LinkMessage, bytes) == 16 && offsetof(LinkMessage, number) == 24 &&
              offsetof(LinkMessage, generation) == 26 && offsetof(LinkMessage, slot) == 28 &&
              offsetof(LinkMessage, slot_generation) == 32 && offsetof(LinkMessage, kind) == 36 &&
              offsetof(LinkMessage, key) == 40 && offsetof(LinkMessage, offset) == 48 &&
              offsetof(LinkMessage, bound) == 56 && sizeof(LinkMessage) == 64);
static_assert(offsetof(LinkCounters, peer) == 0 && offsetof(LinkCounters, peer_uid) == 8 &&
              offsetof(LinkCounters, peer_pid) == 12 && offsetof(LinkCounters, memory_out) == 16 &&
              offsetof(LinkCounters, memory_in) == 24 && offsetof(LinkCounters, packets_out) == 32 &&
              offsetof(LinkCounters, packets_in) == 40 && offsetof(LinkCounters, bytes_out) == 48 &&
              offsetof(LinkCounters, bytes_in) == 56 && offsetof(LinkCounters, doorbells) == 64 &&
              offsetof(LinkCounters, bad_frames) == 80 && offsetof(LinkCounters, refused) == 128 &&
              sizeof(LinkCounters) == 256);
static_assert(offsetof(CounterPage, magic) == 0 && offsetof(CounterPage, version) == 8 &&
              offsetof(CounterPage, pid) == 12 && offsetof(CounterPage, interface) == 16 &&
              offsetof(CounterPage, links) == 24 && offsetof(CounterPage, links_ended) == 32 &&
              offsetof(CounterPage, slots) == 40 && offsetof(CounterPage, queues) == 48 &&
              offsetof(CounterPage, areas_bytes) == 56 && offsetof(CounterPage, packets_in) == 64 &&
              offsetof(CounterPage, packets_out) == 72 && offsetof(CounterPage, wakeups) == 80 &&
              offsetof(CounterPage, empty_wakeups) == 88 && offsetof(CounterPage, events_lost) == 96 &&
              offsetof(CounterPage, links_broken) == 104 && offsetof(CounterPage, bad_frames) == 128 &&
              offsetof(CounterPage, unknown_frames) == 136 && offsetof(CounterPage, unread) == 144 &&
              offsetof(CounterPage, left_pieces) == 152 && offsetof(CounterPage, left_bytes) == 160 &&
              offsetof(CounterPage, links_held_up) == 168 && offsetof(CounterPage, no_link) == 184 &&
              offsetof(CounterPage, refused) == 512 && offsetof(CounterPage, program) == 768 &&
              offsetof(CounterPage, link) == 1024 && offsetof(CounterPage, link) == 1024 &&
              offsetof(CounterPage, slot) == 65536 && offsetof(CounterPage, queue) == 81920 &&
              offsetof(CounterPage, terminus) == 86016 && offsetof(CounterPage, slot_refused) == 94208 &&
              offsetof(CounterPage, call) == 126976 && sizeof(CounterPage) == 208896);
static_assert(offsetof(CallCounters, side) == 0 && offsetof(CallCounters, peer) == 8 &&
              offsetof(CallCounters, calls) == 16 && offsetof(CallCounters, retries) == 24 &&
              offsetof(CallCounters, failed) == 32 && offsetof(CallCounters, name) == 128 &&
              offsetof(CallCounters, times) == 192 && sizeof(CallCounters) == 640);
static_assert(offsetof(SlotCounters, generation) == 0 && offsetof(SlotCounters, queue) == 4 &&
              offsetof(SlotCounters, bound) == 16 && offsetof(SlotCounters, messages) == 24 &&
              offsetof(SlotCounters, most_places) == 48 && offsetof(SlotCounters, most_entries) == 52 &&
              sizeof(SlotCounters) == 64);
static_assert(offsetof(QueueCounters, notifications) == 8 && offsetof(QueueCounters, most_standing) == 16 &&
              sizeof(QueueCounters) == 64);
static_assert(offsetof(TerminusCounters, level) == 4 && offsetof(TerminusCounters, messages) == 8 &&
              offsetof(TerminusCounters, most_pending) == 24 && offsetof(TerminusCounters, no_link) == 32 &&
              offsetof(TerminusCounters, no_entry) == 64 && sizeof(TerminusCounters) == 128);

TEST(Layout, the_numbers_of_operations_and_causes_are_frozen) {
  EXPECT_EQ(static_cast<int>(Operation::write), 1);
  EXPECT_EQ(static_cast<int>(Operation::open), 2);
  EXPECT_EQ(static_cast<int>(Operation::grant), 3);
  EXPECT_EQ(static_cast<int>(Operation::credit), 4);
  EXPECT_EQ(static_cast<int>(Operation::continue_ring), 5);
  EXPECT_EQ(static_cast<int>(Operation::area_write), 6);
  EXPECT_EQ(static_cast<int>(Operation::get), 7);
  EXPECT_EQ(static_cast<int>(Operation::get_strided), 20);
  EXPECT_EQ(static_cast<int>(Operation::opened_write), 21);
  EXPECT_EQ(static_cast<int>(Operation::watch), 23);
  EXPECT_EQ(static_cast<int>(Operation::get_data), 8);
  EXPECT_EQ(static_cast<int>(Operation::fetch), 9);
  EXPECT_EQ(static_cast<int>(Operation::fetched), 10);
  EXPECT_EQ(static_cast<int>(Operation::refused_request), 13);
  EXPECT_EQ(static_cast<int>(Operation::abandon), 11);
  EXPECT_EQ(static_cast<int>(Operation::delivered), 12);
  EXPECT_EQ(static_cast<int>(Operation::write_acknowledged), 14);
  const char* const causes[] = {
      "none",          "malformed",         "bad_slot",  "stale_generation", "bad_key",
      "mode_forbids",  "out_of_bounds",     "bad_entry", "entry_not_armed",  "entry_busy",
      "stale_message", "metadata_too_long", "no_place",  "over_budget",      "misaligned",
      "unasked_reply", "bad_share",         "bad_area",  "too_long",         "not_durable",
      "not_pinned",    "inhibited",         "hold_full", "not_permitted",    "no_buffer"};
  ASSERT_EQ(std::size(causes), static_cast<std::size_t>(Refusal::count));
  for (std::size_t i = 0; i < std::size(causes); ++i) EXPECT_STREQ(name(static_cast<Refusal>(i)), causes[i]);
}

TEST(Layout, the_bytes_of_a_packet_stand_where_they_should) {
  Packet packet{};
  set_lead(packet, Operation::write, 0x1234, 0x3C);
  Ticket ticket;
  ticket.slot = 0x01020304;
  ticket.generation = 0x05060708;
  ticket.key = 0x1112131415161718u;
  set_slot(packet, ticket);
  set_entry(packet, 0x21222324, 0x25262728);
  packet.word = interface::message_word(0x31323334, 0x35363738);
  const unsigned char expected[] = {0,    0,    0,    0,    0x34, 0x12, 1,    0x3C, 4,    3,    2,    1,
                                    8,    7,    6,    5,    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
                                    0,    0,    0,    0,    0,    0,    0,    0,    0x24, 0x23, 0x22, 0x21,
                                    0x28, 0x27, 0x26, 0x25, 0x34, 0x33, 0x32, 0x31, 0x38, 0x37, 0x36, 0x35};
  EXPECT_EQ(std::memcmp(&packet, expected, sizeof expected), 0);
  EXPECT_EQ(interface::message_of(packet.word), 0x31323334u);
  EXPECT_EQ(interface::incarnation_of(packet.word), 0x35363738u);
}

TEST(Validators, a_lead_says_what_is_wrong_with_it) {
  const auto check = [](std::size_t length, int operation, std::size_t metadata) -> std::string {
    Packet packet{};
    set_lead(packet, static_cast<Operation>(operation), length, metadata);
    const char* wrong = invalid(packet.lead, 1024);
    return wrong == nullptr ? "" : wrong;
  };
  EXPECT_EQ(check(0, 1, 0), "");
  EXPECT_EQ(check(1024, 1, 60), "");
  EXPECT_EQ(check(1025, 1, 0), "the packet is longer than the MTU");
  EXPECT_EQ(check(0xFFFF, 1, 0), "the packet is longer than the MTU");
  EXPECT_EQ(check(0, 1, 61), "metadata is longer than 60 bytes");
  EXPECT_EQ(check(0, 1, 255), "metadata is longer than 60 bytes");
  EXPECT_EQ(check(0, 0, 0), "unknown operation");
  EXPECT_EQ(check(0, 127, 0), "unknown operation");
  EXPECT_EQ(check(0, 255, 0), "unknown operation");
  for (const int operation : {2, 3, 4, 5, 7, 11, 12, 13}) {
    EXPECT_EQ(check(0, operation, 0), "");
    EXPECT_EQ(check(1, operation, 0), "a control packet carries no data");
    EXPECT_EQ(check(0, operation, 1), "a control packet carries no data");
  }
}

TEST(Validators, requests_and_replies_carry_what_they_must) {
  const auto check = [](Operation operation, std::size_t length, std::size_t metadata = 0) {
    Packet packet{};
    set_lead(packet, operation, length, metadata);
    return invalid(packet.lead, 1024) == nullptr;
  };
  EXPECT_TRUE(check(Operation::fetch, 16));
  EXPECT_FALSE(check(Operation::fetch, 15));
  EXPECT_FALSE(check(Operation::fetch, 17));
  EXPECT_FALSE(check(Operation::fetch, 16, 1));
  EXPECT_TRUE(check(Operation::fetched, 8));
  EXPECT_FALSE(check(Operation::fetched, 0));
  EXPECT_FALSE(check(Operation::fetched, 16));
  EXPECT_FALSE(check(Operation::fetched, 8, 1));
  EXPECT_TRUE(check(Operation::get_data, 0));
  EXPECT_TRUE(check(Operation::get_data, 1024));
  EXPECT_FALSE(check(Operation::get_data, 1025));
  EXPECT_FALSE(check(Operation::get_data, 16, 1));
}

TEST(Validators, only_replies_stand_among_replies) {
  const auto check = [](Operation operation, std::size_t length, std::size_t metadata = 0) {
    Packet packet{};
    set_lead(packet, operation, length, metadata);
    return interface::invalid_reply(packet.lead) == nullptr;
  };
  EXPECT_TRUE(check(Operation::grant, 0));
  EXPECT_TRUE(check(Operation::credit, 0));
  EXPECT_TRUE(check(Operation::get_data, interface::kReplyPayload));
  EXPECT_FALSE(check(Operation::get_data, interface::kReplyPayload + 1));
  EXPECT_TRUE(check(Operation::fetched, 8));
  EXPECT_TRUE(check(Operation::refused_request, 0));
  EXPECT_TRUE(check(Operation::delivered, 0));
  for (const Operation operation : {Operation::none, Operation::write, Operation::open,
                                    Operation::continue_ring, Operation::get, Operation::write_acknowledged})
    EXPECT_FALSE(check(operation, 0));
  EXPECT_FALSE(check(Operation::write, 0, 60)) << "there would be no metadata to copy";
  EXPECT_FALSE(check(Operation::fetch, 16));
}

TEST(Validators, a_packet_takes_as_many_cells_as_its_data_needs) {
  const auto cells = [](std::size_t length, std::size_t metadata) {
    Packet packet{};
    set_lead(packet, Operation::write, length, metadata);
    return cells_of(packet.lead);
  };
  EXPECT_EQ(cells(0, 0), 1u);
  EXPECT_EQ(cells(16, 0), 1u);
  EXPECT_EQ(cells(17, 0), 2u);
  EXPECT_EQ(cells(64, 0), 2u);
  EXPECT_EQ(cells(65, 0), 3u);
  EXPECT_EQ(cells(16, 1), 2u);
  EXPECT_EQ(cells(8192, 60), 130u);
  EXPECT_EQ(cells(0xFFFF, 255), 1026u) << "also of a length that cannot be";
}

TEST(Validators, a_page_says_what_is_wrong_with_it) {
  PageHeader good{};
  good.magic = shm::kPageMagic;
  good.structures = shm::kPageVersion;
  good.cell_bytes = 64;
  good.mtu = 8192;
  good.interface = 7;
  EXPECT_EQ(invalid(good, 7), nullptr);
  EXPECT_STREQ(invalid(good, 8), "the page of another interface");
  PageHeader page = good;
  page.magic ^= 1;
  EXPECT_STREQ(invalid(page, 7), "not a link page");
  page = good;
  page.structures = shm::kPageVersion - 1;
  EXPECT_STREQ(invalid(page, 7), "structures of another version");
  page = good;
  page.cell_bytes = 128;
  EXPECT_STREQ(invalid(page, 7), "cells of another size");
  for (const std::uint32_t mtu : {0u, 63u, 65u, 32769u, 32832u, 0xFFFFFFC0u}) {
    page = good;
    page.mtu = mtu;
    EXPECT_STREQ(invalid(page, 7), "an MTU that cannot be") << mtu;
  }
}

TEST(Validators, a_link_message_says_what_is_wrong_with_it) {
  LinkMessage message;
  EXPECT_STREQ(invalid(message), "an unknown link message");
  message.word = LinkWord::page;
  EXPECT_EQ(invalid(message), nullptr);
  message.word = static_cast<LinkWord>(static_cast<int>(LinkWord::farewell) + 1);
  EXPECT_STREQ(invalid(message), "an unknown link message");
  message.word = LinkWord::ring_taken;
  message.version = 1;
  EXPECT_STREQ(invalid(message), "a link message of another version");
  message.magic = 0;
  EXPECT_STREQ(invalid(message), "not a link message");
}

TEST(Validators, a_counter_page_says_what_is_wrong_with_it) {
  const auto page = std::make_unique<CounterPage>();
  EXPECT_STREQ(invalid(*page), "not a counter page");
  page->magic = interface::kCounterMagic;
  EXPECT_STREQ(invalid(*page), "counter page of another version");
  page->version = interface::kCounterVersion;
  EXPECT_EQ(invalid(*page), nullptr);
}

// Total functions: any bytes get an answer.
TEST(Validators, answer_for_any_bytes) {
  sim::Generator generator(3);
  for (int i = 0; i < 10000; ++i) {
    PageHeader page;
    Lead lead;
    for (std::size_t at = 0; at < sizeof page; at += 8) {
      const std::uint64_t word = generator.next();
      std::memcpy(reinterpret_cast<std::byte*>(&page) + at, &word, sizeof word);
    }
    std::memcpy(&lead, &page, sizeof lead);
    EXPECT_NE(invalid(page, 1), nullptr);
    if (invalid(lead, 1024) == nullptr) {
      EXPECT_LE(cells_of(lead), 18u);
    }
  }
}

}  // namespace
}  // namespace hamlyn::test
