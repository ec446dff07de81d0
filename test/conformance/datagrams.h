#pragma once
// What the suite needs of datagram ports: two that may name each other, one that they do not, and time.
#include <memory>
#include <vector>

#include "fabric/datagram_port.h"

namespace hamlyn::test {

class DatagramWorld {
 public:
  virtual ~DatagramWorld() = default;
  virtual fabric::DatagramPort& port(int which) = 0;  // 0 to 2
  virtual void pass() = 0;
};

// The one that this program tests.
std::unique_ptr<DatagramWorld> make_datagram_world();

}  // namespace hamlyn::test
