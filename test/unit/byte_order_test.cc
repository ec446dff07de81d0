// What travels between hosts is the same bytes whatever the order of a machine's own, and numbers come to
// lie in the order of the machine where they land (paper 4, section 7.2.5; docs/wire.md). A program without
// GoogleTest, of few sources: it is compiled for a big-endian machine, too, and run there by qemu-user.
#include <cstdio>
#include <string>

#include "base/byte_order.h"
#include "fabric/ofi/frame.h"
#include "fabric/ofi/packets.h"
#include "interface/deposit.h"
#include "interface/packets/element.h"
#include "interface/terminus.h"
#include "node/mind/bytes.h"
#include "protocols/datagram_wire.h"
#include "protocols/loan_wire.h"
#include "protocols/stream_wire.h"
#include "test/simulation/books/owned_slot.h"

namespace hamlyn::test {
namespace {

using interface::Operation;
using interface::Packet;
using interface::Payload;
using node::ByteReader;
using node::ByteWriter;
using simulation::Area;
using simulation::OwnedSlot;
using simulation::Party;
using Bytes = std::vector<std::byte>;

int failures = 0;

void check(bool holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  std::printf("%s:%d: not so: %s\n", __FILE__, line, what);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

Bytes hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += text[at] == ' ' ? 1u : 2u) {
    if (text[at] != ' ') bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(at, 2), nullptr, 16)));
  }
  return bytes;
}

// A link that keeps the packets that it is given, as they would stand in frames.
class Recorder final : public interface::Link {
 public:
  explicit Recorder(std::uint64_t other) {
    peer = other;
    by_gate = true;
  }
  using Link::put;
  Status put(const Packet& packet, const std::byte* data, const std::byte* metadata,
             Priority) noexcept override {
    Bytes& bytes = sent.emplace_back(ofi::bytes_of(packet.lead));
    ofi::write_packet(packet, data, metadata, bytes.data());
    return Status::ok;
  }
  Status put_reply(const Packet& packet, const std::byte* data) noexcept override {
    return put(packet, data, nullptr, Priority::normal);
  }
  unsigned arrive(interface::Core&, unsigned) noexcept override { return 0; }
  bool something_arrived() const noexcept override { return false; }
  std::uint64_t arrived_at_most() const noexcept override { return 0; }
  bool has_room(Priority) noexcept override { return true; }
  bool has_reply_room() noexcept override { return true; }
  using Link::payload_limit;
  std::size_t payload_limit() const noexcept override { return 1024; }
  std::size_t urgent_payload_limit() const noexcept override { return 320; }
  std::size_t payload_limit_ever() const noexcept override { return 1024; }
  std::uint64_t put_count() const noexcept override { return sent.size(); }
  std::uint64_t taken_count() noexcept override { return sent.size(); }

  std::vector<Bytes> sent;
};

struct Host {
  Host(std::uint64_t number, std::uint64_t other) : party(number), link(other) { party.core.add_link(link); }
  ~Host() { party.core.end_link(link); }

  // As OfiLink hands a packet over.
  Refusal comes(Bytes bytes) {
    Packet packet;
    Payload payload;
    CHECK(ofi::read_packet(bytes.data(), bytes.size(), packet, payload) == bytes.size());
    CHECK(interface::invalid_element(packet.lead) == nullptr);
    return element_fits(packet) ? party.core.deposit(link, packet, payload) : Refusal::misaligned;
  }

  Party party;
  Recorder link;
};

// The first 48 bytes of a packet, number by number.
ByteWriter packet_bytes(std::uint32_t element, std::uint16_t length, Operation operation,
                        std::uint8_t metadata, const Ticket& ticket, std::uint64_t offset,
                        std::uint32_t delta, std::uint64_t word) {
  return ByteWriter{}
      .number(element)
      .number(length)
      .number(static_cast<std::uint8_t>(operation))
      .number(metadata)
      .number(ticket.slot)
      .number(ticket.generation)
      .number(ticket.key)
      .number(offset)
      .number(ticket.entry)
      .number(delta)
      .number(word);
}
template <class Number>
Number number_at(const Bytes& bytes, std::size_t at) {
  ByteReader reader{std::span(bytes).subspan(at)};
  return reader.number<Number>();
}
template <class Number>
Number in_memory(const std::byte* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

void headers_are_the_same_bytes_everywhere() {
  ofi::FrameHeader header;
  header.lane = ofi::Lane::urgent;
  header.flags = ofi::FrameHeader::kEnd;
  header.reason = header.behind = 5;  // by the lane, one stands where the other would
  header.length = 0x01020304;
  header.link = 0x1112131415161718;
  header.from = 0x2122232425262728;
  header.to = 0x3132333435363738;
  header.sequence = 0x4142434445464748;
  header.acknowledged = 0x5152535455565758;
  header.window = 0x6162;
  header.handed = {0x7172, 0x8182, 0x9192};
  const Bytes golden =
      hex("484F4649 07010105 04030201 00000000 1817161514131211 2827262524232221 3837363534333231"
          "4847464544434241 5857565554535251 6261 7271 8281 9291");
  Bytes bytes(ofi::kFrameHeader);
  encode(header, bytes.data());
  CHECK(bytes == golden);
  ofi::FrameHeader read;
  bytes[8] = std::byte{64};
  bytes[9] = bytes[10] = bytes[11] = std::byte{0};
  bytes[5] = std::byte{3};
  std::fill_n(bytes.begin() + 40, 8, std::byte{0});
  CHECK(ofi::decode(bytes, read) == nullptr);
  CHECK(read.flags == header.flags && read.reason == header.reason);
  CHECK(read.link == header.link && read.from == header.from && read.to == header.to);
  CHECK(read.acknowledged == header.acknowledged && read.window == header.window);
  CHECK(read.handed == header.handed);

  Packet packet{};
  set_lead(packet, Operation::write, 3, 2, 0);
  Ticket ticket;
  ticket.slot = 0x21222324;
  ticket.generation = 0x31323334;
  ticket.key = 0x4142434445464748;
  set_slot(packet, ticket);
  packet.offset = 0x5152535455565758;
  set_entry(packet, 0x61626364, 0x71727374);
  packet.word = 0x8182838485868788;
  CHECK(packet.slot == ticket.slot && packet.generation == ticket.generation && packet.delta == 0x71727374);
  const Bytes data = hex("A1A2A3"), metadata = hex("B1B2");
  Bytes written(ofi::bytes_of(packet.lead));
  ofi::write_packet(packet, data.data(), metadata.data(), written.data());
  const Bytes expected =
      hex("00000000 0300 01 02 24232221 34333231 4847464544434241 5857565554535251 64636261 74737271"
          "8887868584838281 B1B2 A1A2A3 000000");
  CHECK(written == expected);

  CHECK(ByteWriter{}.number(std::uint16_t{0x0102}).number(std::uint64_t{0x1112131415161718}).take() ==
        hex("0201 1817161514131211"));
}

void elements_are_turned_over_whole() {
  const auto turned = [](const char* text, std::size_t element) {
    Bytes bytes = hex(text);
    base::swap_elements(bytes.data(), bytes.size(), element);
    return bytes;
  };
  CHECK(turned("0102030405060708", 2) == hex("0201040306050807"));
  CHECK(turned("0102030405060708", 4) == hex("0403020108070605"));
  CHECK(turned("0102030405060708", 8) == hex("0807060504030201"));
  CHECK(turned("01020304050607", 4) == hex("04030201050607"));
  for (const std::size_t none : {0u, 1u, 3u, 16u}) CHECK(turned("01020304", none) == hex("01020304"));
}

void numbers_leave_little_endian_and_bytes_as_they_are() {
  Host host(1, 2);
  interface::Terminus terminus(host.party.core, 4);
  Ticket ticket;
  ticket.interface = 2;
  ticket.slot = 7;
  ticket.generation = 9;
  ticket.key = 0x0102030405060708;
  ticket.bound = 4096;
  ticket.entry = 3;
  ticket.incarnation = 5;
  const std::uint32_t numbers[] = {0x01020304, 0x05060708, 0x090A0B0C, 0x0D0E0F10, 0x11121314};
  const auto data = std::as_bytes(std::span(numbers));
  CHECK(terminus.send(ticket, data, {.offset = 8, .element = 4}, nullptr) == Status::ok);
  const Bytes& first = host.link.sent.at(0);
  CHECK(first.size() == 72 && number_at<std::uint32_t>(first, 0) == 4);
  CHECK(Bytes(first.begin() + 48, first.begin() + 68) == hex("04030201 08070605 0C0B0A09 100F0E0D 14131211"));
  CHECK(number_at<std::uint64_t>(first, 24) == 8 && number_at<std::uint32_t>(first, 44) == 5);
  CHECK(terminus.send(ticket, data, {}, nullptr) == Status::ok);
  CHECK(Bytes(host.link.sent.at(1).begin() + 48, host.link.sent.at(1).begin() + 68) ==
        Bytes(data.begin(), data.end()));
  // Short enough to stand in the packet.
  CHECK(terminus.send(ticket, data.first(8), {.element = 8}, nullptr) == Status::ok);
  CHECK(number_at<std::uint64_t>(host.link.sent.at(2), 48) == in_memory<std::uint64_t>(data.data()));
  // Cut in packets of 1024 bytes: of each, all numbers.
  std::vector<std::uint64_t> many(300);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 0x0102030405060708 * (i + 1);
  const std::size_t before = host.link.sent.size();
  CHECK(terminus.send(ticket, std::as_bytes(std::span(many)), {.element = 8}, nullptr) == Status::ok);
  std::size_t at = 0;
  for (std::size_t i = before; i < host.link.sent.size(); ++i) {
    const Bytes& bytes = host.link.sent[i];
    const auto length = number_at<std::uint16_t>(bytes, 4);
    CHECK(number_at<std::uint32_t>(bytes, 0) == 8 && length % 8 == 0);
    for (std::size_t j = 0; j < length; j += 8)
      CHECK(number_at<std::uint64_t>(bytes, 48 + j) == many.at(at++));
  }
  CHECK(at == many.size());
}

void numbers_land_in_the_order_of_the_machine() {
  Host host(2, 1);
  Area area(4096);
  interface::Queue* const queue = host.party.core.make_queue(64);
  OwnedSlot slot(host.party, area, queue, {.entries = 2, .places = 8, .fetches = true});
  const Ticket counted = slot.ticket(0), fast = slot.ticket();
  const std::uint64_t word = interface::message_word(77, counted.incarnation);
  CHECK(host.comes(packet_bytes(4, 20, Operation::write, 3, counted, 64, 0, word)
                       .bytes(hex("B1B2B3 04030201 08070605 0C0B0A09 100F0E0D 14131211 00"))
                       .take()) == Refusal::none);
  for (std::uint32_t i = 0; i < 5; ++i)
    CHECK(in_memory<std::uint32_t>(area.data() + 64 + 4 * i) == 0x01020304 + i * 0x04040404);
  const auto n = take(host.party, queue);
  CHECK(n && n->length == 20 && n->offset == 64 && n->message_id == 77);
  CHECK(Bytes(slot.metadata(0).begin(), slot.metadata(0).end()) == hex("B1B2B3"));
  CHECK(host.comes(packet_bytes(0, 4, Operation::write, 0, slot.ticket(1), 0, 0,
                                interface::message_word(78, slot.ticket(1).incarnation))
                       .bytes(hex("01020304 00000000"))
                       .take()) == Refusal::none);
  CHECK(Bytes(area.data(), area.data() + 4) == hex("01020304"));
  take(host.party, queue);

  // Fast mode: places are asked for and granted, and the word is a number.
  CHECK(host.comes(packet_bytes(0, 0, Operation::open, 0, fast, 0, 0, 5).take()) == Refusal::none);
  host.party.core.run();
  const Bytes& grant = host.link.sent.at(0);
  CHECK(number_at<std::uint8_t>(grant, 6) == 3 && number_at<std::uint64_t>(grant, 40) == 5);
  CHECK(number_at<std::uint32_t>(grant, 36) == 8);
  const auto place = number_at<std::uint32_t>(grant, 32);
  CHECK(host.comes(packet_bytes(0, 8, Operation::write, 0, fast, 16, place, 0x0102030405060708)
                       .bytes(hex("A1A2A3A4A5A6A7A8"))
                       .take()) == Refusal::none);
  const auto f = take(host.party, queue);
  CHECK(f && f->fast && f->word == 0x0102030405060708 && f->offset == 16 && f->length == 8);
  CHECK(Bytes(area.data() + 16, area.data() + 24) == hex("A1A2A3A4A5A6A7A8"));

  // What is checked is checked here, too.
  const auto refused = [&](std::uint32_t element, std::uint16_t length, const Ticket& ticket,
                           std::uint64_t offset) {
    const Bytes data(length == 0 ? 0 : (length + 7u) / 8 * 8);
    return host.comes(
        packet_bytes(element, length, Operation::write, 0, ticket, offset, place, 0).bytes(data).take());
  };
  Ticket wrong = fast;
  ++wrong.key;
  CHECK(refused(0, 8, wrong, 0) == Refusal::bad_key);
  wrong = fast;
  ++wrong.generation;
  CHECK(refused(0, 8, wrong, 0) == Refusal::stale_generation);
  wrong = fast;
  wrong.slot = 0x01000000;
  CHECK(refused(0, 8, wrong, 0) == Refusal::bad_slot);
  CHECK(refused(0, 8, fast, 4089) == Refusal::out_of_bounds);
  CHECK(refused(4, 6, fast, 0) == Refusal::misaligned);
  CHECK(refused(8, 8, fast, 4) == Refusal::misaligned);
  CHECK(area.intact());
}

void operands_are_numbers() {
  Host host(2, 1);
  Area area(4096);
  auto* const words = new (area.data()) std::uint64_t[2]{1000, 0};
  OwnedSlot slot(host.party, area, host.party.core.make_queue(8), {.entries = 1, .fetches = true});
  Ticket ticket = slot.ticket();
  CHECK(host.comes(packet_bytes(0, 16, Operation::fetch, 0, ticket, 0, interface::fetch_delta(1, 8, true), 3)
                       .number(std::uint64_t{5})
                       .number(std::uint64_t{0})
                       .take()) == Refusal::none);
  CHECK(words[0] == 1005);
  const Bytes& answer = host.link.sent.at(0);
  CHECK(answer.size() == 56 && number_at<std::uint8_t>(answer, 6) == 10);
  CHECK(number_at<std::uint64_t>(answer, 40) == 3 && number_at<std::uint64_t>(answer, 48) == 1000);
  auto* const short_words = new (area.data() + 16) std::uint32_t[2]{70, 80};
  CHECK(
      host.comes(packet_bytes(0, 16, Operation::fetch, 0, ticket, 16, interface::fetch_delta(10, 4, true), 4)
                     .number(std::uint64_t{71})
                     .number(std::uint64_t{70})
                     .take()) == Refusal::none);
  CHECK(short_words[0] == 71 && short_words[1] == 80);
  CHECK(number_at<std::uint64_t>(host.link.sent.at(1), 48) == 70);
}

void a_get_brings_numbers() {
  Host asker(1, 2), owner(2, 1);
  Area from(4096), into(4096);
  OwnedSlot slot(owner.party, from, owner.party.core.make_queue(8), {.entries = 1, .gets = 4096});
  OwnedSlot landing(asker.party, into, asker.party.core.make_queue(8), {.entries = 1});
  const auto number = [](std::size_t i) { return static_cast<std::uint16_t>(0x0102 + 257 * i); };
  for (std::size_t i = 0; i < 300; ++i) {
    const std::uint16_t each = number(i);
    std::memcpy(from.data() + 2 * i, &each, sizeof each);
  }
  interface::Terminus terminus(asker.party.core, 4);
  RemoteHandle handle;
  CHECK(terminus.requests().get(slot.ticket(), {landing.index(), 128, 600}, {.element = 2}, nullptr,
                                &handle) == Status::pending);
  CHECK(owner.comes(asker.link.sent.at(0)) == Refusal::none);
  CHECK(owner.link.sent.size() == 1);
  std::size_t at = 0;
  for (const Bytes& piece : owner.link.sent) {
    CHECK(number_at<std::uint32_t>(piece, 0) == 2);
    for (std::size_t i = 0; i < number_at<std::uint16_t>(piece, 4); i += 2)
      CHECK(number_at<std::uint16_t>(piece, 48 + i) == number(at++));
    CHECK(asker.comes(piece) == Refusal::none);
  }
  CHECK(at == 300 && terminus.requests().outcome(handle).status == Status::ok);
  for (std::size_t i = 0; i < 300; ++i)
    CHECK(in_memory<std::uint16_t>(into.data() + 128 + 2 * i) == number(i));
}

// A structure of a protocol: its numbers are 1, 2, 3, ... in the order in which they stand.
template <class Structure>
void structure_is_the_same_bytes_everywhere() {
  Structure structure;
  std::uint64_t next = 0;
  Bytes wanted;
  protocols::each_number(structure, [&](auto& number) {
    number = static_cast<std::remove_reference_t<decltype(number)>>(++next * 0x0101 + 0x0203);
    for (std::size_t i = 0; i < sizeof number; ++i)
      wanted.push_back(static_cast<std::byte>(std::uint64_t{number} >> 8 * i));
  });
  CHECK(wanted.size() == sizeof structure);
  const Structure sent = protocols::in_wire_order(structure);
  CHECK(std::memcmp(&sent, wanted.data(), sizeof sent) == 0);
  const auto came = protocols::copy_of<Structure>(wanted);
  CHECK(came && std::memcmp(&*came, &structure, sizeof structure) == 0);
  wanted.pop_back();
  CHECK(!protocols::copy_of<Structure>(wanted));
}

void structures_of_protocols_are_the_same_bytes_everywhere() {
  structure_is_the_same_bytes_everywhere<protocols::StreamOpen>();
  structure_is_the_same_bytes_everywhere<protocols::StreamRing>();
  structure_is_the_same_bytes_everywhere<protocols::DatagramReply>();
  structure_is_the_same_bytes_everywhere<protocols::LoanOpen>();
  structure_is_the_same_bytes_everywhere<protocols::LoanAnswer>();
  structure_is_the_same_bytes_everywhere<protocols::LoanRefused>();
  // As docs/wire.md has them.
  const auto open = hex("4853544f 01000000");
  CHECK(number_at<std::uint32_t>(open, 0) == protocols::StreamOpen::kMagic);
  const auto reply =
      protocols::reply_of(hex("01000000 07000000 0807060504030201 0000000000000000 0002000000000000"
                              "02000000 01000000 05000000 01000000"),
                          9);
  CHECK(reply && reply->ticket.slot == 7 && reply->ticket.key == 0x0102030405060708 &&
        reply->ticket.bound == 512 && reply->ticket.incarnation == 5 && reply->ticket.interface == 9);
}

}  // namespace
}  // namespace hamlyn::test

int main() {
  using namespace hamlyn::test;
  headers_are_the_same_bytes_everywhere();
  elements_are_turned_over_whole();
  numbers_leave_little_endian_and_bytes_as_they_are();
  numbers_land_in_the_order_of_the_machine();
  operands_are_numbers();
  a_get_brings_numbers();
  structures_of_protocols_are_the_same_bytes_everywhere();
  std::printf("%s-endian: %d failures\n", hamlyn::base::kLittleEndian ? "little" : "big", failures);
  return failures == 0 ? 0 : 1;
}
