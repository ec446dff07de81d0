// What anybody may send to the ports by which processes of two hosts reach each other: frames, their packets,
// and datagrams of compare-and-swap; right but for a few fields or bits, out of order, sent again, or noise.
//
// Besides not crashing: what is decoded says what was sent; each frame is fresh once, and no more of them
// stand than were granted; what is acknowledged was sent; packets lie in their frame; a swap is done once, in
// its memory, and each datagram is answered by one at most; an operation ends once.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "fabric/ofi/frame.h"
#include "fabric/ofi/link_protocol.h"
#include "fabric/ofi/packets.h"
#include "segment/lossy_swap.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

using namespace hamlyn::ofi;
using namespace hamlyn::internal_::segment;

Goal goals[] = {{"frames that were fresh", 500},
                {"frames that were refused", 500},
                {"packets that were read", 200},
                {"swaps that were done", 100},
                {"swaps that were answered", 50}};
Goal &fresh = goals[0], &refused = goals[1], &packets = goals[2], &swaps = goals[3], &answered = goals[4];

// One end of a link whose other end lies.
class Liar {
 public:
  explicit Liar(Input& input) : input_(input), protocol_(kIdentity, limits_, pick(2) == 0, now_) {}

  void lie() {
    while (!input_.empty()) {
      switch (pick(6)) {
        case 0:
          speak();
          break;
        case 1:
          hand_over();
          break;
        case 2:
          pass();
          break;
        default:
          hear();
      }
      ASSERT_LE(protocol_.acknowledged(), protocol_.sent()) << "of what was never sent";
      ASSERT_LE(protocol_.kept(), kMostWindow);
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        ASSERT_LE(standing_[lane], share_of(static_cast<Lane>(lane), kMostWindow)) << "not granted";
    }
  }

 private:
  static constexpr LinkIdentity kIdentity{.number = 5, .own_incarnation = 6, .peer_incarnation = 7};

  std::uint64_t pick(std::uint64_t below) { return input_.pick(below); }

  void speak() {
    const auto lane = static_cast<Lane>(pick(kLanes));
    if (!protocol_.may_speak() || protocol_.room(lane) == 0) return;
    const FrameHeader header =
        protocol_.stamp(lane, protocol_.next_sequence(lane), kFrameHeader + kPacketHeader, now_);
    ASSERT_EQ(header.acknowledged, protocol_.received());
  }
  void hand_over() {
    const std::size_t lane = pick(kLanes);
    if (standing_[lane] == 0) return;
    --standing_[lane];
    protocol_.handed_over(static_cast<Lane>(lane), now_);
    if (pick(4) == 0) protocol_.set_window(static_cast<std::uint32_t>(pick(70)), now_);
  }
  void pass() {
    now_ += pick(2) == 0 ? pick(200) * kMillisecond / 10 : kMillisecond * pick(2000);
    if (protocol_.heartbeat_due(now_) || protocol_.owes_acknowledgement(now_))
      protocol_.stamp(Lane::none, 0, kFrameHeader, now_);
    if (protocol_.resend_due(now_)) protocol_.resent(now_);
    if (protocol_.end(now_) == LinkProtocol::End::none) {
      ASSERT_GT(protocol_.next_time(), now_) << "it would be looked at without end";
    }
  }

  void hear() {
    FrameHeader header;
    const std::size_t body = pick(3) == 0 ? 0 : kPacketHeader;
    header.lane = body == 0 ? Lane::none : static_cast<Lane>(pick(kLanes));
    header.length = static_cast<std::uint32_t>(kFrameHeader + body);
    header.link = kIdentity.number;
    header.from = kIdentity.peer_incarnation;
    header.to = kIdentity.own_incarnation;
    if (body != 0) header.sequence = 1 + protocol_.received() + (pick(2) == 0 ? 0 : pick(40));
    if (body == 0 && pick(16) == 0) {
      header.flags = FrameHeader::kEnd;
      header.sequence = protocol_.received() + pick(3);
    }
    header.acknowledged = pick(8) == 0 ? input_.number() : protocol_.sent() - pick(2) * protocol_.kept();
    header.window = static_cast<std::uint16_t>(pick(2) == 0 ? 32 : input_.number());
    header.patience = static_cast<std::uint32_t>(pick(2) == 0 ? 1000 : input_.number());
    for (std::uint16_t& each : header.handed) each = static_cast<std::uint16_t>(pick(64));
    std::vector<std::byte> frame(header.length);
    encode(header, frame.data());
    for (std::uint64_t i = pick(4) == 0 ? pick(4) : 0; i != 0; --i) input_.spoil(std::span{frame});
    if (pick(16) == 0) frame.resize(pick(2 * kFrameHeader));
    FrameHeader read;
    if (decode(frame, read) != nullptr) {
      ++refused.times;
      return;
    }
    std::array<std::byte, kFrameHeader> again;
    encode(read, again.data());
    ASSERT_TRUE(std::equal(again.begin(), again.end(), frame.begin())) << "it was read as something else";
    switch (protocol_.take(read, now_)) {
      case LinkProtocol::Verdict::fresh:
        ASSERT_NE(read.lane, Lane::none);
        ASSERT_TRUE(taken_.insert(read.sequence).second) << "it has come before";
        ++standing_[index_of(read.lane)];
        ++fresh.times;
        break;
      case LinkProtocol::Verdict::repeated:
        ASSERT_TRUE(taken_.contains(read.sequence)) << "it has not come, and is lost";
        break;
      case LinkProtocol::Verdict::empty:
        break;
      default:
        ++refused.times;
    }
  }

  Input& input_;
  const Limits limits_{};
  std::uint64_t now_ = 1000 * kMillisecond;
  LinkProtocol protocol_;
  std::set<std::uint64_t> taken_;
  std::array<std::uint32_t, kLanes> standing_{};
};

// What stands in a frame, one packet behind the other, as far as it can be read.
void unpack(Input& input) {
  std::vector<std::byte> frame;
  for (std::uint64_t i = 1 + input.pick(6); i != 0; --i) {
    interface::Packet packet {};
    packet.lead.operation = static_cast<interface::Operation>(input.pick(32));
    packet.lead.metadata_length = static_cast<std::uint8_t>(input.pick(2) == 0 ? 0 : input.pick(256));
    packet.lead.length = static_cast<std::uint16_t>(input.pick(4) == 0 ? input.number() : input.pick(70));
    const std::vector<std::byte> data(packet.lead.length, input.byte()), metadata(256, std::byte{2});
    const std::size_t at = frame.size();
    frame.resize(at + bytes_of(packet.lead));
    write_packet(packet, data.data(), metadata.data(), frame.data() + at);
  }
  for (std::uint64_t i = input.pick(4); i != 0; --i) input.spoil(std::span{frame});
  if (input.pick(4) == 0) frame.resize(input.pick(frame.size() + 1));
  std::vector<std::byte> exact(frame);  // its end is the end of its memory
  for (std::size_t at = 0; at != exact.size();) {
    interface::Packet packet;
    interface::Payload payload;
    const std::size_t bytes = read_packet(exact.data() + at, exact.size() - at, packet, payload);
    if (bytes == 0) return;
    ASSERT_LE(bytes, exact.size() - at);
    const std::byte* const end = exact.data() + at + bytes;
    ASSERT_LE(payload.metadata + packet.lead.metadata_length, end);
    if (packet.lead.length > interface::kInlineData) {
      ASSERT_EQ(payload.first_length, packet.lead.length);
      ASSERT_LE(payload.first + payload.first_length, end);
    }
    at += bytes;
    ++packets.times;
  }
}

// A port to which the input sends.
class Port final : public fabric::DatagramPort {
 public:
  std::size_t limit() const noexcept override { return 128; }
  std::span<const std::byte> address() const noexcept override { return {}; }
  Peer insert(std::span<const std::byte>) override { return 0; }
  void forget(Peer) noexcept override {}
  void take_strangers() noexcept override {}
  Status send(Peer, std::span<const std::byte> data) noexcept override {
    const auto packet = swap_packet(data);
    EXPECT_TRUE(packet) << "its own datagram is none";
    if (packet) sent.push_back(*packet);
    return Status::ok;
  }
  std::optional<Arrival> receive(std::span<std::byte> into) noexcept override {
    if (!waits) return std::nullopt;
    const auto [from, bytes] = *std::exchange(waits, std::nullopt);
    std::copy(bytes.begin(), bytes.end(), into.begin());
    return Arrival{from, bytes.size()};
  }
  std::uint64_t refused() const noexcept override { return 0; }

  std::optional<std::pair<Peer, std::vector<std::byte>>> waits;
  std::vector<SwapPacket> sent;
};

// One whose owner is the target of swaps or asks for them, while anybody sends to it.
class Swaps {
 public:
  explicit Swaps(Input& input) : input_(input) { words_.fill(kGuard); }

  void serve() {
    const std::span<std::byte> inside = std::as_writable_bytes(std::span{words_}).subspan(64, 64);
    std::memset(inside.data(), 0, inside.size());
    SwapTarget target(port_, inside, 3, [this] { return ++drawn_; });
    std::set<std::pair<std::uint64_t, std::uint64_t>> done;  // operations, by session and number
    while (!input_.empty()) {
      port_.sent.clear();
      if (input_.pick(40) == 0) target.forget(input_.pick(4));
      const std::uint64_t before = target.done();
      const SwapPacket packet = arrive();
      target.run();
      ASSERT_LE(port_.sent.size(), 1u) << "answers to one datagram";
      if (!port_.sent.empty() && port_.sent.front().session != 0) session_ = port_.sent.front().session;
      if (target.done() == before) continue;
      ASSERT_TRUE(done.insert({packet.session, packet.number}).second) << "it was done before";
      ++swaps.times;
    }
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (i < 8 || i >= 16) {
        ASSERT_EQ(words_[i], kGuard) << "it lies outside of the memory";
      }
    }
  }

  void ask() {
    SwapRequester requester(port_, 0, {}, [this] { return ++drawn_; });
    std::map<std::uint64_t, Status> over;
    std::uint64_t now = 0, number = 0;
    while (!input_.empty()) {
      port_.sent.clear();
      if (input_.pick(3) == 0) static_cast<void>(requester.begin(8 * input_.pick(20), 0, 1, now, number));
      if (input_.pick(16) == 0) requester.give_up(number - input_.pick(3));
      if (!port_.sent.empty()) said_ = port_.sent.back();
      port_.sent.clear();
      arrive();
      requester.run(now += input_.pick(200) * kMillisecond / 10);
      ASSERT_LE(port_.sent.size(), kSwapWindow + 1);
      if (!port_.sent.empty()) said_ = port_.sent.back();
      for (std::uint64_t each = number; each != 0 && number - each < kSwapWindow; --each) {
        const Status status = requester.answer(each).status;
        if (status == Status::pending) continue;
        ASSERT_EQ(over.try_emplace(each, status).first->second, status) << "it had ended otherwise";
        answered.times += status == Status::ok ? 1 : 0;
      }
    }
  }

 private:
  static constexpr std::uint64_t kGuard = 0xC3C3C3C3C3C3C3C3;

  // A datagram that fits what was said last, or does not; as it is read by whoever gets it.
  SwapPacket arrive() {
    SwapPacket packet;
    packet.kind = static_cast<SwapKind>(1 + input_.pick(7));
    packet.session = session_ - (input_.pick(8) == 0 ? input_.pick(3) : 0);
    packet.number = 1 + input_.pick(24);
    packet.floor = 1 + (input_.pick(2) == 0 ? 0 : input_.pick(packet.number));
    packet.offset = input_.pick(4) == 0 ? input_.number() : 8 * input_.pick(8);
    packet.desired = input_.pick(3);
    if (packet.kind == SwapKind::hello) packet.incarnation = 1 + input_.pick(3);
    if (input_.pick(2) == 0) answer(packet);
    fit(packet);
    SwapBytes bytes = bytes_of(packet);
    if (input_.pick(8) == 0) input_.spoil(std::span{bytes});
    std::vector<std::byte> whole(bytes.begin(), bytes.end());
    if (input_.pick(32) == 0) whole.resize(input_.pick(129));
    const auto read = swap_packet(whole);
    if (read) {
      EXPECT_EQ(bytes_of(*read), bytes) << "it was read as something else";
    }
    port_.waits.emplace(input_.pick(4) == 0 ? input_.pick(5) : 0, std::move(whole));
    return read.value_or(SwapPacket{});
  }
  // To what a requester has said last.
  void answer(SwapPacket& packet) {
    if (said_.kind != SwapKind::hello && said_.kind != SwapKind::confirm && said_.kind != SwapKind::swap)
      return;
    packet.kind = said_.kind == SwapKind::hello     ? SwapKind::welcome
                  : said_.kind == SwapKind::confirm ? SwapKind::confirmed
                                                    : SwapKind::swapped;
    packet.incarnation = said_.incarnation;
    packet.number = said_.number;
    if (said_.session != 0) packet.session = said_.session;
    if (packet.session == 0) packet.session = 9;
  }
  // Fields that its kind does not have are 0.
  void fit(SwapPacket& packet) {
    const bool swap = packet.kind == SwapKind::swap, swapped = packet.kind == SwapKind::swapped;
    if (packet.kind == SwapKind::hello) packet.session = 0;
    if (packet.kind != SwapKind::hello && packet.kind != SwapKind::welcome) packet.incarnation = 0;
    if (!swap && !swapped) packet.number = 0;
    if (!swap) packet.floor = packet.offset = packet.desired = 0;
    if (swapped) packet.result = static_cast<SwapResult>(input_.pick(4));
    if (packet.kind == SwapKind::refused) packet.result = SwapResult::no_session;
  }

  Input& input_;
  Port port_;
  SwapPacket said_{.kind = SwapKind::refused};
  std::array<std::uint64_t, 24> words_{};
  std::uint64_t session_ = 0;
  std::uint64_t drawn_ = 100;
};

}  // namespace

const RandomRuns random_runs{.runs = 300, .bytes = 2000, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  switch (input.pick(4)) {
    case 0:
      return Liar{input}.lie();
    case 1:
      while (!input.empty()) unpack(input);
      return;
    case 2:
      return Swaps{input}.serve();
    default:
      return Swaps{input}.ask();
  }
}

}  // namespace hamlyn::fuzz
