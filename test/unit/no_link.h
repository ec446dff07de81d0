#pragma once
// A link of no fabric: what is put there has left, and nothing arrives but what a test deposits itself.
#include <vector>

#include "interface/link.h"

namespace hamlyn::test {

class NoLink final : public interface::Link {
 public:
  explicit NoLink(std::uint64_t to) { peer = to; }
  using Link::put;
  Status put(const interface::Packet&, const std::byte*, const std::byte*, Priority) noexcept override {
    return Status::ok;
  }
  Status put_reply(const interface::Packet& packet, const std::byte*) noexcept override {
    replies.push_back(packet);
    return Status::ok;
  }
  unsigned arrive(interface::Core&, unsigned) noexcept override { return 0; }
  bool something_arrived() const noexcept override { return false; }
  std::uint64_t arrived_at_most() const noexcept override { return 0; }
  bool has_room(Priority) noexcept override { return true; }
  bool has_reply_room() noexcept override { return true; }
  std::size_t payload_limit() const noexcept override { return 64; }
  std::size_t urgent_payload_limit() const noexcept override { return 64; }
  std::size_t payload_limit_ever() const noexcept override { return 64; }
  std::uint64_t put_count() const noexcept override { return 0; }
  std::uint64_t taken_count() noexcept override { return 0; }
  bool made() const noexcept override { return is_made; }

  bool is_made = true;
  std::vector<interface::Packet> replies;
};

}  // namespace hamlyn::test
