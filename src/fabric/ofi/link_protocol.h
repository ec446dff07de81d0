#pragma once
// Makes a link of a wire that may lose, repeat and reorder, and whose other end may go without a word: a
// state machine that is told the time and keeps numbers only. libfabric promises less than it seems to: a
// completed send may be lost with its connection, a dead peer is not told of, and a restarted one is
// connected to again in silence.
//
// Each frame with packets has a sequence number. The receiver takes each once, acknowledges all up to one,
// and says how many of each lane it has handed over, which bounds how many can stand there; the sender keeps
// what is not acknowledged and sends it again. Each says which one is before it in its lane, and is handed
// over behind that one. A side with nothing to send says so now and then; one that
// hears nothing for too long declares the other dead.
#include <algorithm>
#include <array>
#include <cstdint>

#include "fabric/ofi/frame.h"
#include "fabric/ofi/limits.h"
#include "hamlyn/values/link_reason.h"

namespace hamlyn::ofi {

// The identity of one link, as the two nodes have told both ends.
struct LinkIdentity {
  std::uint64_t number = 0;  // random, known to the two ends and their nodes alone
  std::uint64_t own_incarnation = 0;
  std::uint64_t peer_incarnation = 0;
};

// How many frames of a lane may stand at the receiver, of so many in all.
constexpr std::uint32_t share_of(Lane lane, std::uint32_t window) noexcept {
  const std::uint32_t others = window < 16 ? 2 : 4;
  return lane == Lane::normal ? window - 2 * others : others;
}

class LinkProtocol {
 public:
  // How a receiver judges a frame.
  enum class Verdict : std::uint8_t {
    fresh,        // to be handed over
    repeated,     // it has come before: nothing is to be done
    empty,        // it has no packets
    other_link,   // not this link's number
    other_node,   // of another incarnation of either node
    not_granted,  // there was no room for it
    impossible,   // it acknowledges what was never sent
  };
  // Why there is no link any more.
  enum class End : std::uint8_t { none, peer_ended, peer_dead };

  // The initiator speaks first; the other side waits for that (two that connect to each other at once would
  // refuse each other).
  LinkProtocol(const LinkIdentity& identity, const Limits& limits, bool initiator,
               std::uint64_t now) noexcept;

  // --- sending
  bool may_speak() const noexcept { return initiator_ || heard_; }
  // How many more frames of a lane could get a number.
  std::uint32_t room(Lane lane) const noexcept;
  // Whether the other side lags behind: half of what it has room for is under way.
  bool half_full(Lane lane) const noexcept { return 2 * room(lane) <= share_of(lane, window_there_); }
  // A frame waits for room. The frame that tells of room has no packets, so nobody sends it again if it is
  // lost: the other side is asked by the clock by which frames are sent again.
  void want_room(std::uint64_t now) noexcept;
  std::uint64_t next_sequence(Lane lane) noexcept;
  // The header of a frame that leaves now.
  FrameHeader stamp(Lane lane, std::uint64_t sequence, std::size_t length, std::uint64_t now) noexcept;
  std::uint64_t sent() const noexcept { return sent_; }
  std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  // Counts, modulo 2^16, the frames of a lane that were given a number, and those handed over there.
  std::uint16_t sent_in(Lane lane) const noexcept { return sent_in_[index_of(lane)]; }
  std::uint16_t handed_there(Lane lane) const noexcept { return handed_there_[index_of(lane)]; }
  // How many frames are kept until the other side has them.
  std::uint32_t kept() const noexcept { return static_cast<std::uint32_t>(sent_ - acknowledged_); }
  // Moves when the other side takes anything.
  std::uint64_t progress() const noexcept;

  // --- receiving
  Verdict take(const FrameHeader& header, std::uint64_t now) noexcept;
  // Whether all frames before that one in its lane have come, as its header says.
  bool in_turn(std::uint64_t sequence, std::uint8_t behind) const noexcept {
    return behind == 0 || seen(sequence - behind);
  }
  // The packets of one fresh frame have all gone to the interface.
  void handed_over(Lane lane, std::uint64_t now) noexcept;
  // So many frames may stand here that are not handed over.
  void set_window(std::uint32_t window, std::uint64_t now) noexcept;
  std::uint64_t received() const noexcept { return received_; }

  // --- time
  // Something was received that the other side has not been told of long enough, or is to be told at once.
  bool owes_acknowledgement(std::uint64_t now) const noexcept;
  bool heartbeat_due(std::uint64_t now) const noexcept { return may_speak() && now >= speak_at(); }
  // Whether unacknowledged frames are to be sent again, or the first words if nobody has answered them, or
  // the question for room.
  bool resend_due(std::uint64_t now) const noexcept { return now >= resend_at_; }
  bool asks_for_room() const noexcept { return room_wanted_ && acknowledged_ == sent_; }
  void resent(std::uint64_t now) noexcept;
  // When one of these may next be so, or the link be over.
  std::uint64_t next_time() const noexcept;

  End end(std::uint64_t now) const noexcept;
  // The other side's node has gone, or has said that it leaves.
  void expect_end(std::uint64_t now) noexcept { leaving_at_ = std::min(leaving_at_, now); }
  // The other side's node is silent. That says nothing of a process that is heard from here on.
  void doubt() noexcept { doubted_ = true; }
  bool doubted() const noexcept { return doubted_; }
  // Why the other side has ended the link, as it says; `ended`: it has not said, or nothing that is for it to
  // say.
  WhyNoLink last_word() const noexcept;
  // Whether the other side has ever said anything.
  bool heard() const noexcept { return heard_; }

 private:
  bool seen(std::uint64_t sequence) const noexcept;
  void see(std::uint64_t sequence) noexcept;
  // When the next heartbeat is due. One who is late is spoken to more often: it hears nothing, perhaps.
  std::uint64_t speak_at() const noexcept;
  std::uint64_t late_at() const noexcept { return heard_at_ + 2 * Limits::heartbeat(limits_.dead); }
  // When the silence is too long: a heartbeat later than `dead`, which is when the first sign was due; at
  // `dead` where the node is silent, too.
  std::uint64_t silent_at() const noexcept;
  // When the link is over because of that; never if nobody has said so.
  std::uint64_t farewell_at() const noexcept;

  const LinkIdentity identity_;
  const Limits limits_;
  std::uint64_t heartbeat_;  // as often as the other side wants to hear, and we
  const bool initiator_;
  bool heard_ = false;

  // Sender's side.
  std::uint64_t sent_ = 0;                            // the last number given
  std::uint64_t acknowledged_ = 0;                    // all up to this one have come
  std::array<std::uint16_t, kLanes> sent_in_{};       // of each lane, modulo 2^16
  std::array<std::uint64_t, kLanes> last_in_{};       // of each lane, the last number given
  std::array<std::uint8_t, kMostWindow> behind_{};    // of those that are kept, by number
  std::array<std::uint16_t, kLanes> handed_there_{};  // and handed over at the other side
  std::uint32_t window_there_;
  std::uint64_t resend_at_;
  std::uint64_t resend_after_;
  bool room_wanted_ = false;  // and the other side has handed over nothing since
  std::uint64_t spoke_ = 0;
  std::uint64_t progress_at_;  // the other side acknowledged something, or there was nothing to acknowledge

  // Receiver's side.
  std::uint64_t received_ = 0;  // all up to this one have come
  std::uint64_t ahead_ = 0;     // bit i: received_ + 1 + i has come, too
  std::array<std::uint16_t, kLanes> received_in_{};
  std::array<std::uint16_t, kLanes> handed_{};
  std::uint32_t window_;
  std::uint32_t most_window_;  // that the other side was told
  std::uint64_t told_received_ = 0;
  std::uint32_t untold_handed_ = 0;
  std::uint64_t untold_since_ = kNever;
  std::uint64_t heard_at_;
  std::uint64_t leaving_at_ = kNever;
  bool doubted_ = false;
  std::uint64_t peer_end_ = kNever;  // the number of the last frame of a link that the other side has ended
  std::uint8_t peer_reason_ = 0;     // why it has, as it says
};

}  // namespace hamlyn::ofi
