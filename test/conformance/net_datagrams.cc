// Over libfabric, on loopback: the kernel's UDP.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/file_descriptor.h"
#include "fabric/ofi/datagrams.h"
#include "test/conformance/datagrams.h"

namespace hamlyn::test {

namespace {

class NetDatagramWorld final : public DatagramWorld {
 public:
  fabric::DatagramPort& port(int which) override { return *ports_[static_cast<std::size_t>(which)]; }
  void pass() override {}
  bool throw_in(int which, const std::vector<std::byte>& bytes) override {
    const base::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto address = port(which).address();
    return ::sendto(socket.get(), bytes.data(), bytes.size(), 0,
                    reinterpret_cast<const sockaddr*>(address.data()),
                    static_cast<socklen_t>(address.size())) == static_cast<ssize_t>(bytes.size());
  }

 private:
  static std::unique_ptr<ofi::Datagrams> make() { return std::make_unique<ofi::Datagrams>("127.0.0.1"); }
  std::unique_ptr<ofi::Datagrams> ports_[3] = {make(), make(), make()};
};

}  // namespace

std::unique_ptr<DatagramWorld> make_datagram_world() { return std::make_unique<NetDatagramWorld>(); }

}  // namespace hamlyn::test
