// What anybody may send to the ports by which processes of two hosts reach each other: frames and their
// packets, right but for a few fields or bits, out of order, sent again, or noise.
//
// Besides not crashing: what is decoded says what was sent; each frame is fresh once, and no more of them
// stand than were granted; what is acknowledged was sent; packets lie in their frame.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "fabric/ofi/frame.h"
#include "fabric/ofi/link_protocol.h"
#include "fabric/ofi/packets.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

using namespace hamlyn::ofi;

Goal goals[] = {
    {"frames that were fresh", 500}, {"frames that were refused", 500}, {"packets that were read", 200}};
Goal &fresh = goals[0], &refused = goals[1], &packets = goals[2];

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

}  // namespace

const RandomRuns random_runs{.runs = 300, .bytes = 2000, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  if (input.pick(2) == 0) return Liar{input}.lie();
  while (!input.empty()) unpack(input);
}

}  // namespace hamlyn::fuzz
