#pragma once
// What stands behind the handles of segments.
#include "c/handles.h"
#include "hamlyn/c_segment.h"
#include "hamlyn/segment.h"

struct hamlyn_segment : hamlyn::c::Handle<hamlyn::Segment> {
  using Handle::Handle;
};
struct hamlyn_import : hamlyn::c::Handle<hamlyn::Import> {
  using Handle::Handle;
};
