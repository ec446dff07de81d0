#pragma once
// The wire that carries frames: the endpoint (endpoint.h), or the tests' wire, which loses, repeats and
// reorders. A wire owns all buffers; nothing is allocated while frames travel.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/chain.h"
#include "fabric/ofi/limits.h"

namespace hamlyn::ofi {

class OfiLink;

// Where a frame goes, as the wire names it.
using Destination = std::uint64_t;
inline constexpr Destination kNowhere = ~Destination{0};

// The wire's own record of a frame that it has, and of which kind that was.
struct WireContext {
  alignas(std::uint64_t) std::array<std::byte, 64> own{};
  bool comes;
};

// One frame to be sent, kept until the other side has acknowledged it and the wire has let go of it.
struct Frame : WireContext {
  Frame() : WireContext{.own = {}, .comes = false} {}

  std::byte* bytes = nullptr;
  std::uint32_t length = 0;
  bool under_way = false;   // the wire has it
  OfiLink* link = nullptr;  // null: nobody waits for it any more
  std::uint64_t sequence = 0;
  std::uint64_t puts_before = 0;  // packets that its link had put before those in here
  Frame* next_free = nullptr;
};

// One frame that has come, until it is given back.
struct Arrival : WireContext {
  Arrival() : WireContext{.own = {}, .comes = true} {}

  std::byte* bytes = nullptr;
  std::uint32_t length = 0;
  std::uint32_t read = 0;  // of it, so many bytes have been handed over
  std::uint64_t sequence = 0;
  std::uint8_t behind = 0;  // as its header says
  base::ChainLinks<Arrival> in_lane;
};

// Hears of what the wire does.
class Sink {
 public:
  virtual void arrived(Arrival& arrival) noexcept = 0;  // to be given back
  virtual void let_go(Frame& frame) noexcept = 0;       // sent, or not: it is not under way any more

 protected:
  ~Sink() = default;
};

class Wire {
 public:
  virtual ~Wire() = default;

  virtual std::uint64_t now() noexcept = 0;
  // There will be so many links: room for their frames.
  virtual void expect(std::uint32_t links) = 0;

  virtual Frame* take_frame() noexcept = 0;  // null: all are in use
  virtual bool frame_free() const noexcept = 0;
  virtual void give_back(Frame& frame) noexcept = 0;
  virtual void give_back(Arrival& arrival) noexcept = 0;

  // The name by which frames are sent to an address; kNowhere: it is none.
  virtual Destination insert(std::span<const std::byte> address) noexcept = 0;
  // Nothing will be sent there any more.
  virtual void forget(Destination to) noexcept = 0;
  // Sends a frame, which is under way then. False: not now, try again later.
  virtual bool send(Destination to, Frame& frame) noexcept = 0;
  // Sends a frame without packets, which is copied, and whose loss does not matter.
  virtual bool send_short(Destination to, std::span<const std::byte> frame) noexcept = 0;
  // Tells the sink what has happened. True if anything has.
  virtual bool poll(Sink& sink) noexcept = 0;
};

}  // namespace hamlyn::ofi
