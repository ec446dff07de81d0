#pragma once
// Datagrams through libfabric: its `udp` provider, which is the kernel's UDP. Opened by whoever needs it; a
// process without one pays nothing for it.
//
// What that provider lets through is not what the contract says, so each datagram has a header of 8 bytes in
// front (docs/wire.md): one that is longer than the buffer it lands in is cut without a word, and anybody may
// send anything to the port.
#include <cstdint>
#include <memory>
#include <string>

#include "fabric/datagram_port.h"

namespace hamlyn::ofi {

class Datagrams final : public fabric::DatagramPort {
 public:
  // `address`: the local one to be reached at; `service`: the port's number, or empty for any. Throws Error.
  explicit Datagrams(const std::string& address, const std::string& service = {});
  ~Datagrams() override;
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;

  std::size_t limit() const noexcept override;
  std::span<const std::byte> address() const noexcept override;
  Peer insert(std::span<const std::byte> address) override;
  void forget(Peer peer) noexcept override;
  void take_strangers() noexcept override;
  Status send(Peer to, std::span<const std::byte> data) noexcept override;
  std::optional<Arrival> receive(std::span<std::byte> into) noexcept override;
  int descriptor() const noexcept override;
  bool may_sleep() noexcept override;
  std::uint64_t refused() const noexcept override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hamlyn::ofi
