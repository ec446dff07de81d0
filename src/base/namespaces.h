#pragma once
// The names by which the source, and tests, call the namespaces of the layers that public headers name
// classes of. In a public header such a namespace stands in `internal_`: a user who says `using namespace
// hamlyn` may call a variable `interface`.
namespace hamlyn {

namespace internal_ {
namespace base {}
namespace interface {}
namespace library {}
namespace protocols {}
namespace segment {}
}  // namespace internal_

namespace base = internal_::base;
namespace interface = internal_::interface;
namespace library = internal_::library;
namespace protocols = internal_::protocols;
namespace segment = internal_::segment;

}  // namespace hamlyn
