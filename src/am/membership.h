#pragma once
// How an endpoint shows that its process is of the same job: by a hash, keyed by the job's secret, of who
// greets whom. Whoever hears it learns no secret, and cannot show it to a third.
#include <array>
#include <cstdint>
#include <optional>

#include "base/byte_order.h"
#include "base/namespaces.h"
#include "base/siphash.h"
#include "hamlyn/job/job.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::am {

struct Membership {
  base::SipHash::Key secret{};
  bool trusted_network = false;  // members on other hosts count too
};

// Two endpoints of which one greets the other.
struct Greeting {
  std::uint64_t from_interface = 0, from = 0, to_interface = 0, to = 0, session = 0;
};
constexpr std::uint64_t proof_of(const Membership& member, const Greeting& greeting) noexcept {
  const std::array words{greeting.from_interface, greeting.from, greeting.to_interface, greeting.to,
                         greeting.session};
  return base::SipHash::of(member.secret, words);
}

// Membership of this process's job; none: it is of none, or its environment says nothing sensible of one.
inline std::optional<Membership> own_membership() {
  try {
    const JobPlace place = place_in_job();
    if (place.job.empty()) return std::nullopt;
    return Membership{{base::load_little<std::uint64_t>(place.secret.data()),
                       base::load_little<std::uint64_t>(place.secret.data() + 8)},
                      place.trusted_network};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace hamlyn::internal_::am
