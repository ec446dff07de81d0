#pragma once
// Parameters of the LogP model out of a layer's signature, by the method of Culler, Liu, Martin and Yoshikawa
// (LogP performance assessment of fast network interfaces, IEEE Micro, February 1996). Pure: without clocks.
//
// A burst is so many requests with a computation behind each. Its first few cost their sending alone, for no
// reply is there yet. In a long one each request also has a reply to take, and if there is nothing to compute
// it waits for the network: that plateau is the gap. A computation longer than the gap fills the wait, and
// what is left beside it is what sending and receiving cost the processor.
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace hamlyn::tool::perf::logp {

// Requests that a burst sends before it looks for replies: about as many as leave before the first is back.
// Shorter bursts show the sending alone.
inline constexpr std::uint32_t kUnlooked = 32;

// Nanoseconds from one request to the next, on average over a burst of so many.
struct Burst {
  std::uint32_t length = 0;
  double interval = 0;
};

// Bursts with so many nanoseconds of computation behind each request. Lengths grow, from 1.
struct Curve {
  double delay = 0;
  std::vector<Burst> bursts;
};

// All that was measured of a layer. The first curve is without delay; delays grow.
struct Signature {
  double round_trip = 0;  // ns, of a request and its reply
  std::vector<Curve> curves;
};

// All in nanoseconds.
struct Parameters {
  double latency = 0;          // L: what is left of half a round trip
  double send = 0;             // Os
  double receive = 0;          // Or
  double gap = 0;              // g; where the processor is slower than the network: Os + Or
  double half_round_trip = 0;  // RTT/2
};

// A signature that gives no parameters; what() says why.
class NoParameters : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Nanoseconds that each further request of a long burst takes. Throws NoParameters if the curve is still bent
// at its end.
double plateau(const Curve& curve);

// Throws NoParameters: a curve without a plateau, a delay that is too short, overheads that cannot be.
Parameters parameters_of(const Signature& signature);

}  // namespace hamlyn::tool::perf::logp
