#pragma once
// The weaker contract that a fabric may give beside links: datagrams that are lost, repeated and reordered,
// for the protocols of Thekkath's thesis that assume no more (paper 4, chapter 5: RAPID). What arrives is
// what was sent, whole, and from whom it says; nothing else is promised. One thread at a time.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hamlyn/values/status.h"

namespace hamlyn::fabric {

class DatagramPort {
 public:
  // A port that was named here, by its own number. From any other nothing is taken, unless strangers are.
  using Peer = std::uint64_t;
  static constexpr Peer kNobody = ~Peer{0};

  struct Arrival {
    Peer from;  // kNobody: a stranger
    std::size_t length;
  };

  virtual ~DatagramPort() = default;

  // The most bytes that one datagram carries.
  virtual std::size_t limit() const noexcept = 0;
  // The words by which another port names this one.
  virtual std::span<const std::byte> address() const noexcept = 0;
  // Names a port by its address, once; kNobody: that is no address. May throw std::bad_alloc.
  virtual Peer insert(std::span<const std::byte> address) = 0;
  // Takes that name back; its number may be another's later.
  virtual void forget(Peer peer) noexcept = 0;
  // Takes from now on what ports that were not named have sent.
  virtual void take_strangers() noexcept = 0;
  // Copies `data`, and sends it some time. ok: it may arrive; queue_full: too many are waiting to leave (they
  // do while `receive` is called); too_long; invalid: no such peer.
  virtual Status send(Peer to, std::span<const std::byte> data) noexcept = 0;
  // Copies the next datagram that has come into `into`, of limit() bytes at least. Nothing: there is none
  // now.
  virtual std::optional<Arrival> receive(std::span<std::byte> into) noexcept = 0;
  // Before sleep: readable when something may have come, provided that may_sleep() has just said true. -1:
  // there is none, in a time that is not the kernel's.
  virtual int descriptor() const noexcept { return -1; }
  virtual bool may_sleep() noexcept { return true; }
  // Counts what has come and was no datagram of a peer: torn, forged, or from a port that was not named.
  virtual std::uint64_t refused() const noexcept = 0;
};

}  // namespace hamlyn::fabric
