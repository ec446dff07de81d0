#pragma once
// Values of the VI Architecture (docs/vi.md): what a descriptor, an attribute and an answer are. Numbers and
// layouts are those of VIPL 1.0 (vipl.h).
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace hamlyn {

namespace vi {

enum class [[nodiscard]] Result : std::uint8_t;

// Answers of all calls, numbered as VIP_RETURN is.
enum class Result : std::uint8_t {
  success,
  not_done,  // nothing has been completed yet
  invalid_parameter,
  error_resource,
  timeout,
  reject,  // the other side has refused the connection
  invalid_reliability_level,
  invalid_mtu,
  invalid_qos,
  invalid_ptag,
  invalid_rdma_read,
  descriptor_error,  // the descriptor has an error status; null: nothing is posted
  invalid_state,
  error_nameservice,
  no_match,  // nobody waits at that address
  not_reachable,
  not_supported,
};

// The name as written above. Never null.
const char* name(Result result) noexcept;

// Bits of Descriptor::control.
inline constexpr std::uint16_t kRdmaWrite = 1, kRdmaRead = 2, kOperation = 3, kImmediate = 4, kQueueFence = 8;

// Bits of Descriptor::status.
inline constexpr std::uint32_t kDone = 1, kFormatError = 2, kProtectionError = 4, kLengthError = 8,
                               kPartialError = 0x10, kFlushed = 0x20, kTransportError = 0x40,
                               kRdmaProtectionError = 0x80, kRemoteDescriptorError = 0x100, kErrors = 0x1FE;
// Names what the descriptor was, in its status.
inline constexpr std::uint32_t kOfSend = 0, kOfReceive = 0x10000, kOfWrite = 0x20000,
                               kOfRemoteWrite = 0x30000, kOfRead = 0x40000, kHasImmediate = 0x80000;

inline constexpr std::size_t kDescriptorAlignment = 64;  // bytes
inline constexpr std::uint16_t kMostSegments = 252;      // of a descriptor, an address segment among them

// A part of registered memory. Of RDMA, the first segment says where at the other side, and its length counts
// for nothing.
struct Segment {
  std::uint64_t address = 0;  // of the first byte
  std::uint32_t handle = 0;   // of registered memory
  std::uint32_t length = 0;   // bytes
};

// Work for a queue, in registered memory, with its segments behind it.
struct alignas(kDescriptorAlignment) Descriptor {
  std::uint64_t next = 0;  // the application's own, as the next
  std::uint32_t next_handle = 0;
  std::uint16_t segment_count = 0;
  std::uint16_t control = 0;
  std::uint32_t reserved = 0;
  std::uint32_t immediate = 0;  // in, and of a receive out
  std::uint32_t length = 0;     // in: the sum of the data segments; out: bytes that were moved
  std::uint32_t status = 0;     // out
  std::array<Segment, 2> segments{};
};
static_assert(sizeof(Segment) == 16 && sizeof(Descriptor) == 64 && offsetof(Descriptor, segments) == 32);

// Promise that is made of a connection's sends and writes.
enum class Reliability : std::uint16_t {
  unreliable = 1,  // what finds no descriptor, or may not land, is dropped
  delivery = 2,    // in order, once, or the connection breaks; done when it has left
  reception = 4,   // the same; done when it stands in the other side's memory
};

// States of a VI.
enum class State : std::uint8_t { idle, connected, connect_pending, error };

// A protection tag; 0: none.
using Tag = std::uint32_t;
// Handle of registered memory; 0: none. Other processes may be told of it.
using MemoryHandle = std::uint32_t;

// How a VI is. A value.
struct ViAttributes {
  Reliability reliability = Reliability::delivery;  // promise that is made
  std::uint64_t max_transfer = 65536;               // bytes of one send or RDMA operation
  std::uint64_t qos = 0;                            // quality of service: compared, and nothing else
  Tag tag = 0;                                      // of the memory that its descriptors may name
  bool rdma_write = false;                          // the other side may write to memory with this tag
  bool rdma_read = false;                           // and read from it
};

// Use that others may make of registered memory. A value.
struct MemoryAttributes {
  Tag tag = 0;              // of the VIs that may
  bool rdma_write = false;  // the other sides of those VIs may write there
  bool rdma_read = false;   // and read there
};

// Where a connection is asked for: a host, and on it a discriminator of up to 64 bytes.
struct Address {
  static constexpr std::size_t kMost = 64;  // bytes of a discriminator

  std::uint64_t host = 0;                // Nic::host() of the NIC there
  std::uint16_t length = 0;              // of the discriminator
  std::array<std::byte, kMost> bytes{};  // the discriminator

  static Address of(std::uint64_t host, std::span<const std::byte> discriminator) noexcept {
    Address out;
    out.host = host;
    out.length = static_cast<std::uint16_t>(discriminator.size() < kMost ? discriminator.size() : kMost);
    std::memcpy(out.bytes.data(), discriminator.data(), out.length);
    return out;
  }
  std::span<const std::byte> discriminator() const noexcept { return {bytes.data(), length}; }
  // Whether the discriminators are the same, whatever the hosts are.
  bool matches(const Address& other) const noexcept {
    return length == other.length && std::memcmp(bytes.data(), other.bytes.data(), length) == 0;
  }
};

// Names what went wrong without a call that could answer it, numbered as VIP_ERROR_CODE is.
enum class Fault : std::uint8_t {
  post_descriptor,  // a descriptor that is not aligned, or not in registered memory
  connection_lost,
  no_descriptor,  // a message found none: the connection is broken
  overrun,        // a completion queue was full: an entry is lost
  write_protection,
  write_data,
  write_aborted,
  read_protection,
  completion_protection,
  transport,
  catastrophic,
};

// Error that no call could answer. A value.
struct ErrorEvent {
  Fault fault = Fault::catastrophic;  // names it
  std::uint32_t vi = 0;               // number of the VI, or 0
  std::uint32_t queue = 0;            // number of the completion queue, or 0
  Descriptor* descriptor = nullptr;   // of which that is said, or null
  std::uint32_t operation = 0;        // kOfSend and so on
};

// A descriptor that is back, or why there is none.
struct Completed {
  Result result = Result::not_done;  // success, descriptor_error, not_done, or why not
  Descriptor* descriptor = nullptr;  // the application's again
};

// An entry of a completion queue.
struct Completion {
  Result result = Result::not_done;  // success, not_done, or why not
  std::uint32_t vi = 0;              // whose descriptor it is
  bool receive = false;              // of its receive queue
};

// An entry of a completion queue, and the descriptor that it tells of.
struct Taken {
  Result result = Result::not_done;  // success, descriptor_error, not_done, or why not
  std::uint32_t vi = 0;              // whose descriptor it is
  bool receive = false;              // of its receive queue
  Descriptor* descriptor = nullptr;  // the application's again
};

// Limits of a NIC.
inline constexpr std::uint32_t kMostVis = 1024, kMostQueues = 256, kMostQueueEntries = 1u << 16,
                               kMostDescriptors = 256, kMostTags = 1024, kMostRegions = 16384;
// Bytes of one send or RDMA operation.
inline constexpr std::uint64_t kMostTransfer = (std::uint64_t{1} << 30) - 1;

}  // namespace vi

}  // namespace hamlyn
