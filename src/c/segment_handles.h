#pragma once
// Objects behind the handles of segments.
#include "c/handles.h"
#include "hamlyn/c/segment.h"
#include "hamlyn/segment/segment.h"
#include "hamlyn/segment/sure_swap.h"

struct hamlyn_segment : hamlyn::c::Handle<hamlyn::Segment> {
  using Handle::Handle;
};
struct hamlyn_import : hamlyn::c::Handle<hamlyn::Import> {
  using Handle::Handle;
};
struct hamlyn_sure_swap {
  hamlyn_sure_swap(std::size_t offset, std::uint32_t members, std::uint32_t who) : it(offset, members, who) {}

  hamlyn::c::Unused uses;
  hamlyn::SureSwap it;
};
