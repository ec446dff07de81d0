#pragma once
// A frame with a trace behind its arguments.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include "base/namespaces.h"
#include "hamlyn/rpc/call.h"

namespace hamlyn::internal_::rpc {

using hamlyn::rpc::Trace;

class TracedFrame {
 public:
  // `trace`: null, or all zeros: none.
  TracedFrame(std::span<const std::byte> frame, const Trace* trace) noexcept : frame_(frame) {
    if (trace == nullptr || *trace == Trace{}) return;
    traced_ = true;
    const std::size_t bytes = frame.size() + trace->size();
    std::byte* to = here_.data();
    if (bytes > here_.size()) {
      more_.reset(new (std::nothrow) std::byte[bytes]);
      to = more_.get();
      if (to == nullptr) return;
    }
    frame_ = {to, bytes};
    std::ranges::copy(*trace, std::ranges::copy(frame, to).out);
  }
  TracedFrame(const TracedFrame&) = delete;
  TracedFrame& operator=(const TracedFrame&) = delete;

  bool traced() const noexcept { return traced_; }
  std::span<const std::byte> bytes() const noexcept { return frame_; }
  // False: there was no memory.
  bool good() const noexcept { return !traced_ || frame_.data() == here_.data() || more_ != nullptr; }

 private:
  std::array<std::byte, 512> here_;
  std::unique_ptr<std::byte[]> more_;
  std::span<const std::byte> frame_;
  bool traced_ = false;
};

}  // namespace hamlyn::internal_::rpc
