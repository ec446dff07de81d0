#pragma once
// The cable between a host and the bridge, for who has cut into it: hears every packet that comes to the
// host, and puts packets on it that bear whatever source they like.
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace hamlyn::test {

class Cable {
 public:
  explicit Cable(int host);

  // Whole frames of UDP over IPv4 to that port of the host, which have come since the last call.
  std::vector<std::string> heard(unsigned short port);
  // Puts a frame on the cable, as if it came from where it says.
  void put(std::string frame) const;

  // Where in such a frame the data of UDP begins.
  static std::size_t data_of(const std::string& frame);

 private:
  base::FileDescriptor socket_;
};

}  // namespace hamlyn::test
