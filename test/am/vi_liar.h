#pragma once
// A process that greets endpoints, connects its VIs as it should, and then sends what it likes.
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "am/door.h"
#include "am/vi_port.h"
#include "hamlyn/am.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {

namespace lies {

using namespace internal_::am;
namespace nic = internal_::vi;

class ViLiar {
 public:
  static constexpr std::uint32_t kCredits = 8;
  static constexpr std::size_t kSends = 64, kStride = 8192;

  // `posts`: receives as an honest side does. Otherwise each VI has the fewest, each of them once.
  ViLiar(Hosted& all, am::Way by, bool posts = true)
      : way(by), all_(all), posts_(posts), memory_(kSends * (sizeof(nic::Descriptor) + kStride) + 64) {
    all.expect(nic_.create_tag(roots_.tag) == nic::Result::success, "a tag");
    all.expect(nic_.create_queue(4096, roots_.sent) == nic::Result::success, "a queue");
    all.expect(nic_.create_queue(4096, roots_.received) == nic::Result::success, "a queue");
    all.expect(nic_.register_memory(memory_, {.tag = roots_.tag}, own_) == nic::Result::success, "memory");
    hello.way = static_cast<std::uint16_t>(by);
    hello.door = on_wire(door_.ticket());
    hello.ring = on_wire(nic_.door());
  }

  // --- greeting

  am::Name name() const { return name_of(door_.ticket(), hello.from); }
  // Says `hello` to that endpoint.
  void greet(const am::Name& to) {
    hello.to = number_of(to);
    const Hello wire = internal_::protocols::in_wire_order(hello);
    door_.say_once(door_of(to), std::as_bytes(std::span(&wire, 1)));
    look();
  }
  // Greets, and has its VIs connected as the other side's hello says.
  void meet(const am::Name& to) {
    hear_of(to);
    if (heard_) connect(interface_of(to));
  }
  // Greets, and hears the other side's hello.
  void hear_of(const am::Name& to) {
    victim = to;
    for (std::uint32_t i = 0; i != lanes_of(way); ++i) {
      LaneShape shape = lane_shape(way, i, kCredits);
      if (!posts_) shape.room = 1, shape.bare = false;
      lanes.push_back(std::make_unique<nic::Lane>(roots_, nullptr, i, size_of(shape)));
    }
    while (all_.alive() && !heard_) {
      greet(to);  // the link may be made by it
      look_until([&] { return heard_.has_value(); }, 300);
    }
  }
  // Is another endpoint of the same process from here on, whom nobody knows.
  void begin_anew() {
    lanes.clear();
    heard_.reset();
    number = 0;
    ++hello.from;
    ++hello.session;
  }
  // `count`: so many of the VIs, the first ones.
  void connect(std::uint64_t peer, std::size_t count = lies::kMostLanes) {
    const Ticket nic_door = ticket_of(heard_->ring, peer, Ticket::kPosted);
    count = std::min(count, lanes.size());
    for (std::uint32_t i = 0; i != count; ++i)
      lanes[i]->connect(address(hello.session, i), address(heard_->session, i), nic_door, 1, false);
    nic_.step();
    const auto asked = std::span(lanes).first(count);
    look_until([&] { return std::ranges::all_of(asked, [](auto& lane) { return lane->is_connected(); }); },
               20'000);
  }

  // --- what is sent

  // By that lane, or by the last: `bytes` as they are, with immediate data or without.
  bool send(std::span<const std::byte> bytes, std::optional<std::uint32_t> immediate = {},
            std::optional<std::size_t> lane = {}) {
    const std::size_t i = posted_++ % kSends;
    std::byte* const at = data(i);
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    nic::Descriptor& send = describe(i);
    send.control = immediate ? nic::kImmediate : std::uint16_t{0};
    send.immediate = immediate.value_or(0);
    send.segment_count = 1;
    send.length = static_cast<std::uint32_t>(bytes.size());
    send.segments[0] = {reinterpret_cast<std::uintptr_t>(at), own_, send.length};
    return post(send, lane.value_or(lanes.size() - 1));
  }
  // An RDMA write of as many bytes, with immediate data or without.
  bool write(std::uint64_t address, std::uint32_t handle, std::uint32_t length,
             std::optional<std::uint32_t> immediate = {}) {
    const std::size_t i = posted_++ % kSends;
    nic::Descriptor& send = describe(i);
    send.control = static_cast<std::uint16_t>(nic::kRdmaWrite | (immediate ? nic::kImmediate : 0));
    send.immediate = immediate.value_or(0);
    send.segment_count = 2;
    send.length = length;
    send.segments[0] = {address, handle, 0};
    send.segments[1] = {reinterpret_cast<std::uintptr_t>(data(i)), own_, length};
    return post(send, lanes.size() - 1);
  }
  // A whole message, by the lane that it belongs to.
  bool say(Word word, std::span<const std::byte> bytes = {}) {
    std::vector<std::byte> all(sizeof(std::uint64_t) + bytes.size());
    internal_::base::store_little(all.data(), word_of(word));
    if (!bytes.empty()) std::memcpy(all.data() + sizeof(std::uint64_t), bytes.data(), bytes.size());
    return send(all, {}, lane_of(way, word.kind));
  }
  // In its turn.
  bool say_next(Word word, std::span<const std::byte> bytes = {}) {
    word.number = number++;
    return say(word, bytes);
  }
  bool pack_next(Word word, std::span<const std::byte> bytes = {}) {
    word.number = number++;
    const std::byte nothing{};
    return send(bytes.empty() ? std::span(&nothing, 1) : bytes, packed(word), 0);
  }
  void tell_tag(am::Tag tag) {
    std::array<std::byte, sizeof tag> bytes;
    internal_::base::store_little(bytes.data(), tag);
    say_next({.kind = Kind::tag}, bytes);
  }
  void disconnect() {
    for (auto& lane : lanes) lane->break_off();
    nic_.step();
  }

  // --- what comes

  // Hears what has come.
  void look() {
    while (std::optional<Notification> next = queue_.poll()) {
      if (next->slot == door_.number() || next->kind == Notification::Kind::link_ended)
        door_.hear(*this, *next);
      nic_.hear(*next);
    }
    nic_.step();
    for (nic::Completion event = Nic::take_event(received()); event.result == nic::Result::success;
         event = Nic::take_event(received())) {
      const nic::Completed done = nic_.take(event.vi, nic::Side::receive);
      for (auto& lane : lanes)
        if (lane->in() == event.vi && done.result == nic::Result::success) hear(*lane, *done.descriptor);
    }
    for (nic::Completion event = Nic::take_event(*nic_.queue(roots_.sent));
         event.result == nic::Result::success; event = Nic::take_event(*nic_.queue(roots_.sent)))
      static_cast<void>(nic_.take(event.vi, nic::Side::send));
    all_.host.pause(1000);
  }
  // For a while.
  template <class Ready>
  bool look_until(Ready ready, int looks = 2000) {
    for (; looks != 0 && all_.alive() && !ready(); --looks) look();
    return ready();
  }
  // Whether the other side has ended a connection.
  bool parted() {
    return std::ranges::any_of(lanes, [](auto& lane) { return lane->over(); });
  }

  void hear_hello(std::uint64_t, std::span<const std::byte> bytes) {
    const auto said = internal_::protocols::copy_of<Hello>(bytes);
    if (said && said->why == 0) heard_ = said;
    if (said && said->why != 0) refused = static_cast<am::Why>(said->why);
  }
  void hear_said(std::uint64_t, bool, Refusal) {}
  void hear_link_ended(std::uint64_t) {}
  const Hello& heard() const { return *heard_; }

  Interface interface;
  Hello hello{.credits = kCredits, .from = 77, .session = 1'000'003};
  const am::Way way;
  am::Name victim;
  std::uint16_t number = 0;                  // of the next message
  std::array<int, 16> came{};                // messages, by kind
  std::optional<am::Why> refused;            // a hello
  std::optional<std::uint32_t> last_packed;  // word of the last short message

 private:
  static nic::Address address(std::uint64_t session, std::uint32_t lane) {
    std::array<std::byte, sizeof session + 2> bytes{};
    internal_::base::store_little(bytes.data(), session);
    bytes[sizeof session] = static_cast<std::byte>(lane);
    return nic::Address::of(0, bytes);
  }
  nic::QueueObject& received() { return *nic_.queue(roots_.received); }
  nic::Descriptor& describe(std::size_t i) {
    const auto at = (reinterpret_cast<std::uintptr_t>(memory_.data()) + 63) / 64 * 64;
    return *new (reinterpret_cast<nic::Descriptor*>(at) + i) nic::Descriptor{};
  }
  std::byte* data(std::size_t i) {
    return memory_.data() + 64 + kSends * sizeof(nic::Descriptor) + i * kStride;
  }
  bool post(nic::Descriptor& send, std::size_t lane) {
    const bool left = nic_.post_send(lanes[lane]->out(), &send, own_) == nic::Result::success;
    look();
    return left;
  }
  void hear(nic::Lane& lane, const nic::Descriptor& receive) {
    const std::uint32_t place = lane.place_of(&receive);
    const std::span<std::byte> bytes = lane.bytes_of(receive, place);
    Kind kind{};
    if ((receive.status & nic::kHasImmediate) != 0)
      kind = static_cast<Kind>(*(last_packed = receive.immediate) & 0xF);
    else if (bytes.size() >= sizeof(std::uint64_t))
      kind = word_of(internal_::base::load_little<std::uint64_t>(bytes.data())).kind;
    ++came[static_cast<std::size_t>(kind)];
    if (posts_) lane.free(place);
  }

  Hosted& all_;
  const bool posts_;
  NotificationQueue queue_{interface, 1 << 12};
  nic::Port port_{interface, queue_};
  std::vector<std::byte> memory_;
  Nic nic_{port_};
  nic::LaneRoots roots_{nic_};
  nic::MemoryHandle own_ = 0;
  Door door_{interface, queue_};
  std::optional<Hello> heard_;
  std::uint64_t posted_ = 0;

 public:
  std::vector<std::unique_ptr<nic::Lane>> lanes;  // go before the NIC
};

}  // namespace lies

}  // namespace hamlyn::test
