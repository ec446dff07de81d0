#pragma once
// The public values, under the names that this layer has for them.
#include "base/namespaces.h"
#include "hamlyn/files/values.h"

namespace hamlyn::internal_::files {

using hamlyn::files::Attributes;
using hamlyn::files::Changes;
using hamlyn::files::Kind;
using hamlyn::files::Moment;
using hamlyn::files::Renaming;
using hamlyn::files::Room;

}  // namespace hamlyn::internal_::files
