#include "tool/perf/logp/taking.h"

#include <stdexcept>

namespace hamlyn::tool::perf::logp {

std::vector<double> packed(const Signature& signature) {
  std::vector<double> out{signature.round_trip};
  for (const Curve& curve : signature.curves) {
    out.push_back(curve.delay);
    out.push_back(static_cast<double>(curve.bursts.size()));
    for (const Burst& burst : curve.bursts) out.insert(out.end(), {double(burst.length), burst.interval});
  }
  return out;
}

namespace {

class Values {
 public:
  explicit Values(std::span<const double> left) : left_(left) {}
  bool end() const { return left_.empty(); }
  double next() {
    if (left_.empty()) throw std::runtime_error("a measuring process reported half of a signature");
    const double value = left_.front();
    left_ = left_.subspan(1);
    return value;
  }

 private:
  std::span<const double> left_;
};

}  // namespace

Signature unpacked(std::span<const double> values) {
  Values from(values);
  Signature out{.round_trip = from.next(), .curves = {}};
  while (!from.end()) {
    Curve& curve = out.curves.emplace_back(Curve{.delay = from.next(), .bursts = {}});
    for (double count = from.next(); count > 0; --count) {
      const auto length = static_cast<std::uint32_t>(from.next());
      curve.bursts.push_back({length, from.next()});
    }
  }
  return out;
}

}  // namespace hamlyn::tool::perf::logp
