#pragma once
// All links of one process that go over one wire: it brings each frame to its link, lets the links send, and
// keeps their clocks. Runs under the run lock; what may not touch the process's descriptors (the thread that
// keeps the links) leaves the sending to the next run.
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fabric/ofi/limits.h"
#include "fabric/ofi/wire.h"
#include "hamlyn/values/link_reason.h"
#include "interface/gate.h"

namespace hamlyn::ofi {

class Exchange final : public interface::Gate, private Sink {
 public:
  Exchange(Wire& wire, const Limits& limits);
  ~Exchange();

  // interface::Gate
  bool arrive(interface::Core& core) noexcept override;

  // Brings the frames that have come to their links, and no further. True if there were any.
  bool pump() noexcept;
  // Sends what is ready and owed. Before sleep, with `all`: also what would wait for company.
  void send_due(bool all) noexcept;
  // Does what the time asks for: heartbeats, frames that are to be sent again, links that are over. A link
  // ends only after a look at the wire that began when its time was up: a process that was held up itself may
  // find its clock before what waits to be read.
  void look_at_clocks(std::uint64_t now) noexcept;
  // When it must be run at the latest; kNever.
  std::uint64_t next_time() const noexcept;
  // Something has come that has not been handed over, or waits to be sent again.
  bool something_to_do() const noexcept;

  Wire& wire() noexcept { return wire_; }
  const Limits& limits() const noexcept { return limits_; }
  // How many frames one link may keep, and how many of its peer's may stand here: those that take nothing
  // must leave the others room.
  std::uint32_t window() const noexcept;
  std::uint64_t now() noexcept { return wire_.now(); }
  // Frames that no link knows: forged, or late.
  std::uint64_t strangers() const noexcept { return strangers_; }

  bool sending_waits() const noexcept { return sending_waits_; }

  // A link that the interface does not know any more: for a while what was put still leaves, then the other
  // side is told of the end and of `why`, and it goes. From any thread.
  void retire(std::unique_ptr<OfiLink> link, WhyNoLink why);
  // Whether some of those are still there.
  bool closing() const noexcept { return !retired_.empty(); }

  // The calling thread must not send by itself.
  static void leave_sending_to_others() noexcept;
  static bool may_send_here() noexcept;

 private:
  friend class OfiLink;

  void add(OfiLink& link);
  void remove(OfiLink& link) noexcept;
  void note_look(std::uint64_t began, bool brought) noexcept;
  void arrived(Arrival& arrival) noexcept override;
  void let_go(Frame& frame) noexcept override;

  Wire& wire_;
  const Limits limits_;
  std::unordered_map<std::uint64_t, OfiLink*> link_of_;  // by number
  std::vector<OfiLink*> links_;
  struct Retired {
    std::unique_ptr<OfiLink> link;
    std::uint64_t until;
  };
  std::vector<Retired> retired_;
  std::uint64_t next_time_ = 0;
  std::uint64_t time_ = 0;        // as it was read last: each reading is a part of what a short message takes
  std::uint64_t sure_ = 0;        // what had come to this host by then has been taken
  std::uint64_t busy_since_ = 0;  // when the first of these looks began
  unsigned busy_looks_ = 0;       // in a row that have brought something
  std::uint64_t bad_frames_ = 0;  // of all links
  std::uint64_t strangers_ = 0;
  bool sending_waits_ = false;  // some link has something that could, or should, leave
  bool running_ = false;        // what is put now leaves at the end of the run
};

}  // namespace hamlyn::ofi
