#pragma once
// Seeds as the protocols' ends use them.
#include "base/namespaces.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/seed.h"

namespace hamlyn::internal_::protocols {

Seed make_seed(Ticket ticket, SeedKind kind) noexcept;
// Throws Error: seed_invalid, seed_wrong_kind.
void check_seed(const Seed& seed, SeedKind kind);
// The receiving interface has refused it. Throws Error: seed_stale, seed_used, seed_forged.
[[noreturn]] void throw_refused_seed(Refusal cause);
// Throws Error: inside process_arrival nobody waits until `what` is open.
[[noreturn]] void throw_nested(const char* what);

}  // namespace hamlyn::internal_::protocols
