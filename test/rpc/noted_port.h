#pragma once
// A server's way to the interface that notes all that a machine does.
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "library/no_link.h"
#include "rpc/server_machine.h"

namespace hamlyn::test {

using namespace internal_::rpc;

class NotedPort {
 public:
  struct Place {
    Place(std::uint32_t number, std::size_t stacks, std::size_t frame, std::size_t longest)
        : first(first_frame(stacks, stride_of(frame))),
          memory(first + stacks * stride_of(frame) + longest),
          flags(stacks),
          number_(number),
          longest_(longest) {}
    std::uint32_t number() const noexcept { return number_; }
    std::uint32_t long_number() const noexcept { return longest_ == 0 ? number_ : number_ + 1; }
    Ticket ticket() const { return {.interface = 1, .slot = number_, .key = 1000u + number_}; }
    Ticket long_ticket() const { return {.interface = 1, .slot = number_ + 1, .entry = 0}; }
    std::span<std::byte> frame(const Notification& call) noexcept {
      return std::span(memory).subspan(call.offset, call.length);
    }
    std::span<std::byte> long_bytes(const Notification& call) noexcept {
      return std::span(memory).last(longest_).first(call.length);
    }
    void arm_long() noexcept { ++armed; }
    std::uint64_t flag(std::size_t stack) noexcept { return flags[stack]; }
    void clear_flag(std::size_t stack, std::uint64_t) noexcept { flags[stack] = 0; }

    const std::size_t first;
    std::vector<std::byte> memory;
    std::vector<std::uint64_t> flags;
    int armed = 0;

   private:
    std::uint32_t number_;
    std::size_t longest_;
  };
  struct Sent {
    Ticket ticket;
    std::vector<std::byte> data;
    std::uint64_t word;
    std::uint64_t offset;
  };

  std::unique_ptr<Place> make_place(std::uint64_t, std::size_t stacks, std::size_t frame,
                                    std::size_t longest) {
    auto out = std::make_unique<Place>(next_number, stacks, frame, longest);
    places[next_number] = out.get();
    next_number += 2;
    return out;
  }
  static std::uint32_t index_of(std::uint32_t number) noexcept { return number; }
  std::uint32_t door() const noexcept { return 3; }
  Status send_fast(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t word,
                   std::uint64_t offset, bool) noexcept {
    if (answer == Status::ok) sent.push_back({ticket, {data.begin(), data.end()}, word, offset});
    return answer;
  }
  Status send(const Ticket& ticket, std::span<const std::byte> data, const SendOptions& options,
              SendHandle& handle) noexcept {
    handle.sequence = ++sends;
    sent.push_back({ticket,
                    {data.begin(), data.end()},
                    base::load_little<std::uint64_t>(options.metadata.data()),
                    options.offset});
    return Status::pending;
  }
  Status status(SendHandle) const noexcept { return under_way; }
  void cancel(SendHandle) noexcept { ++cancelled; }
  library::LinkNow link(std::uint64_t peer) noexcept {
    const auto found = links.find(peer);
    return {found == links.end() ? peer : found->second, 1000};
  }
  bool long_call(const Place&, const Notification&, LongCall& out) const noexcept {
    out = long_metadata;
    return long_good;
  }

  Status answer = Status::ok, under_way = Status::pending;
  std::vector<Sent> sent;
  std::map<std::uint32_t, Place*> places;
  std::map<std::uint64_t, std::uint64_t> links;  // serials of those that are no more the first
  std::uint32_t next_number = 10;
  std::uint64_t sends = 0;
  int cancelled = 0;
  LongCall long_metadata;
  bool long_good = true;
};

}  // namespace hamlyn::test
