#pragma once
// A datagram port whose letters lie on a table.
#include <cstring>
#include <map>
#include <vector>

#include "fabric/datagram_port.h"
#include "rpc/blast/blast_wire.h"

namespace hamlyn::test {

namespace wire = internal_::rpc::blast;

class LetterPort final : public fabric::DatagramPort {
 public:
  struct Letter {
    Peer to;
    std::vector<std::byte> bytes;

    wire::PacketKind kind() const { return wire::head_of(bytes)->kind; }
    template <class Structure>
    Structure as() const {
      return wire::structure_of<Structure>(bytes).value();
    }
  };

  std::size_t limit() const noexcept override { return 140; }
  std::span<const std::byte> address() const noexcept override { return address_; }
  // An address is the number of its port.
  Peer insert(std::span<const std::byte> address) override {
    if (address.size() != sizeof(Peer)) return kNobody;
    Peer peer;
    std::memcpy(&peer, address.data(), sizeof peer);
    ++named[peer];
    return peer;
  }
  void forget(Peer peer) noexcept override { named.erase(peer); }
  void take_strangers() noexcept override { strangers = true; }
  Status send(Peer to, std::span<const std::byte> data) noexcept override {
    if (full) return Status::queue_full;
    sent.push_back({to, {data.begin(), data.end()}});
    return Status::ok;
  }
  std::optional<Arrival> receive(std::span<std::byte>) noexcept override { return std::nullopt; }
  std::uint64_t refused() const noexcept override { return 0; }

  std::vector<Letter> take() { return std::exchange(sent, {}); }

  std::vector<Letter> sent;
  std::map<Peer, int> named;
  bool strangers = false, full = false;

 private:
  std::vector<std::byte> address_{sizeof(Peer)};
};

template <class Structure>
std::vector<std::byte> packet_of(const Structure& structure, std::span<const std::byte> behind = {}) {
  const Structure in_order = protocols::in_wire_order(structure);
  const auto bytes = std::as_bytes(std::span{&in_order, 1});
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  out.insert(out.end(), behind.begin(), behind.end());
  return out;
}

}  // namespace hamlyn::test
