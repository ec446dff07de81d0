#pragma once
// The one endpoint of a process, through libfabric: reliable datagrams, one completion queue for what leaves
// and what comes (each look at one runs the whole engine), buffers posted ahead. All calls under the run
// lock, and from threads that have the process's descriptors; those that say so may come from others.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/ofi/wire.h"

namespace hamlyn::ofi {

class Endpoint final : public Wire {
 public:
  struct Options {
    std::string address = {};  // the local address to be reached at; empty: as the engine chooses
    std::string engine = {};   // empty: the best
    std::uint32_t frames = 128;
    std::uint32_t buffers = 64;
  };

  // Takes up to a second the first time in a process. Throws Error.
  explicit Endpoint(const Options& options);
  ~Endpoint() override;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // The engine's name and the address, which others need to send here.
  const std::string& engine() const noexcept;
  const std::vector<std::byte>& address() const noexcept;

  // Before sleep: readable when there is something to poll for, provided that may_sleep() has just said true.
  int descriptor() const noexcept;
  bool may_sleep() noexcept;

  // Wire
  std::uint64_t now() noexcept override;
  void expect(std::uint32_t links) override;           // from any thread
  Frame* take_frame() noexcept override;               // from any thread
  bool frame_free() const noexcept override;           // from any thread
  void give_back(Frame& frame) noexcept override;      // from any thread
  void give_back(Arrival& arrival) noexcept override;  // from any thread
  Destination insert(std::span<const std::byte> address) noexcept override;
  void forget(Destination to) noexcept override;
  bool send(Destination to, Frame& frame) noexcept override;
  bool send_short(Destination to, std::span<const std::byte> frame) noexcept override;
  bool poll(Sink& sink) noexcept override;

  // Sends that failed, as the engine told of.
  std::uint64_t errors() const noexcept;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hamlyn::ofi
