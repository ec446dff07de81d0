#pragma once
// VIPL's handles: numbers that say the kind, the NIC's place and how often that was opened, and the object's
// number there. So any handle may be looked at, and points at nothing.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "hamlyn/core/interface.h"
#include "hamlyn/vi/nic.h"
#include "vipl.h"

namespace hamlyn::internal_::vi {

using namespace hamlyn::vi;

inline constexpr std::size_t kAddressBytes = 8;  // of a host
inline constexpr std::uint32_t kMostNics = 256;

enum class Kind : std::uint8_t { nic = 1, vi, queue, request, tag };

struct OpenNic {
  OpenNic(const Interface::Options& options, Rights opened)
      : node(options.node), interface(options), nic(interface, opened) {
    const std::uint64_t host = nic.host();
    std::memcpy(address.data(), &host, sizeof host);
  }
  const std::string node;  // its daemon's socket, if the device named one
  Interface interface;
  Nic nic;
  std::array<VIP_UINT8, kAddressBytes> address;
};

// Any device is the node that this user's processes have; only "hamlyn:PATH" names the socket of another.
inline Interface::Options options_of(std::string_view device) {
  constexpr std::string_view kNamed = "hamlyn:";
  Interface::Options out;
  if (device.starts_with(kNamed)) {
    out.node = device.substr(kNamed.size());
    out.start_node = false;
  }
  return out;
}

// Reads from HAMLYN_VI_OPEN who else than this user may connect. Nothing: it says what it cannot mean.
inline std::optional<Rights> opened_by_environment() noexcept {
  const char* const said = ::secure_getenv("HAMLYN_VI_OPEN");
  if (said == nullptr || *said == 0) return Rights{};
  if (said == std::string_view("group")) return Rights{.group = true};
  if (said == std::string_view("everyone")) return Rights{.group = true, .everyone = true};
  return std::nullopt;
}

struct Place {
  std::atomic<OpenNic*> nic{nullptr};
  std::atomic<std::uint32_t> generation{1};  // 20 bits
};
inline std::array<Place, kMostNics> places;
inline std::mutex opening;

inline constexpr unsigned kKindAt = 60, kPlaceAt = 52, kGenerationAt = 32;
inline constexpr std::uint32_t kGenerations = (1u << (kPlaceAt - kGenerationAt)) - 1;

// A handle's parts, of a NIC that is open.
struct Named {
  OpenNic* open = nullptr;  // null: nothing
  std::uint64_t place = 0;  // bits of the NIC
  std::uint32_t number = 0;

  explicit operator bool() const noexcept { return open != nullptr; }
  Nic& nic() const noexcept { return open->nic; }
  void* handle(Kind kind, std::uint32_t of) const noexcept {
    const std::uint64_t bits = std::uint64_t{static_cast<std::uint8_t>(kind)} << kKindAt | place | of;
    return of == 0 && kind != Kind::nic ? nullptr
                                        : reinterpret_cast<void*>(static_cast<std::uintptr_t>(bits));
  }
};

inline Named find(const void* handle, Kind kind) noexcept {
  const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(handle);
  if (bits >> kKindAt != static_cast<std::uint8_t>(kind)) return {};
  const Place& place = places[bits >> kPlaceAt & (kMostNics - 1)];
  if ((bits >> kGenerationAt & kGenerations) != place.generation.load(std::memory_order_relaxed)) return {};
  constexpr std::uint64_t kNicBits = (std::uint64_t{1} << kKindAt) - (std::uint64_t{1} << kGenerationAt);
  return {place.nic.load(std::memory_order_acquire), bits & kNicBits, static_cast<std::uint32_t>(bits)};
}

// The number of another object of the same NIC; 0: null, if that may be. Nothing: no such handle.
inline std::optional<std::uint32_t> number_of(const void* handle, Kind kind, const Named& nic,
                                              bool null_too) noexcept {
  if (handle == nullptr) return null_too ? std::optional<std::uint32_t>{0} : std::nullopt;
  const Named found = find(handle, kind);
  if (!found || found.open != nic.open) return std::nullopt;
  return found.number;
}

}  // namespace hamlyn::internal_::vi
