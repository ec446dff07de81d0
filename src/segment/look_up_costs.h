#pragma once
// Which of two ways to look a name up on another node is the cheaper one: to read its registry, bucket by
// bucket, or to ask its daemon (paper 4, section 7.3.2: there reading won up to seven collisions, here what
// both have cost lately says).
#include <cstdint>

#include "base/namespaces.h"

namespace hamlyn::internal_::segment {

class LookUpCosts {
 public:
  // Whether the next name is to be read; one that is not is asked for. Now and then it is the dearer way, so
  // that its cost is known, too.
  bool read_next() noexcept;
  // How many buckets may be read for a name before asking is cheaper, 1 to 64.
  std::uint32_t most_reads() const noexcept;

  // Counts the cost of a look-up, in nanoseconds; `reads`: so many buckets.
  void was_read(double cost, std::uint32_t reads) noexcept;
  void was_asked(double cost) noexcept;

 private:
  // A mean in which the last eight or so count.
  struct Mean {
    double value = 0;
    bool known = false;
    void add(double sample) noexcept {
      value = known ? value + (sample - value) / 8 : sample;
      known = true;
    }
  };

  Mean read_;   // one bucket
  Mean reads_;  // buckets of one look-up
  Mean asked_;  // one look-up
  std::uint64_t looked_ = 0;
};

}  // namespace hamlyn::internal_::segment
