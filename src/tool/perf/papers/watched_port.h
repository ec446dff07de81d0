#pragma once
// A way of active messages with a stopwatch between its parts. The machine above it (am/machine.h) takes any
// port: the library's own has none.
#include <memory>
#include <span>

#include "am/machine.h"
#include "tool/perf/papers/watch.h"

namespace hamlyn::tool::perf::papers {

template <class Port>
class WatchedPort : public Port {
 public:
  using Port::Port;

  class Way : public Port::Way {
   public:
    using Port::Way::Way;
    internal_::am::Sent send(std::uint64_t word, std::span<const std::byte> bytes,
                             internal_::am::Record& record) noexcept {
      const During part(AmPart::post);
      return Port::Way::send(word, bytes, record);
    }
    internal_::am::Sent send_bare(std::uint64_t word) noexcept {
      const During part(AmPart::post);
      return Port::Way::send_bare(word);
    }
    void done(const internal_::am::Record& record) noexcept {
      const During part(AmPart::recycle_send);
      Port::Way::done(record);
    }
    void free(std::uint32_t place) noexcept {
      const During part(AmPart::recycle_receive);
      Port::Way::free(place);
    }
  };

  std::unique_ptr<Way> make_way(void* pair, const internal_::am::Limits& limits) {
    return std::make_unique<Way>(*this, pair, limits);
  }
  bool poll(typename Port::Event& next) noexcept {
    const During part(AmPart::look);
    return Port::poll(next);
  }
  template <class M>
  bool hear(M& machine, const typename Port::Event& next, typename M::Delivery& out) noexcept {
    const During part(AmPart::match);
    return Port::hear(machine, next, out);
  }
};

}  // namespace hamlyn::tool::perf::papers
