// Over libfabric, on loopback: the kernel's UDP.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/file_descriptor.h"
#include "fabric/ofi/datagrams.h"
#include "test/conformance/datagrams.h"
#include "test/simulation/books/owned_slot.h"

namespace hamlyn::test {

namespace {

class NetDatagramWorld final : public DatagramWorld {
 public:
  fabric::DatagramPort& port(int which) override { return *ports_[static_cast<std::size_t>(which)]; }
  void pass() override {}

 private:
  static std::unique_ptr<ofi::Datagrams> make() { return std::make_unique<ofi::Datagrams>("127.0.0.1"); }
  std::unique_ptr<ofi::Datagrams> ports_[3] = {make(), make(), make()};
};

// Anybody may send anything to a port of UDP.
TEST(NetDatagrams, of_strangers_or_of_another_length_than_they_say_are_refused) {
  ofi::Datagrams port("127.0.0.1");
  const base::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto to = port.address();
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  socklen_t length = sizeof own;
  ASSERT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length), 0);
  std::vector<std::byte> into(port.limit());
  std::uint64_t refused = 0;
  const auto throw_in = [&](const std::vector<std::byte>& bytes) {
    ASSERT_EQ(::sendto(socket.get(), bytes.data(), bytes.size(), 0,
                       reinterpret_cast<const sockaddr*>(to.data()), static_cast<socklen_t>(to.size())),
              static_cast<ssize_t>(bytes.size()));
  };
  const auto refuses = [&](const std::vector<std::byte>& bytes) {
    throw_in(bytes);
    ++refused;
    for (int i = 0; i < 100'000 && port.refused() != refused; ++i) EXPECT_FALSE(port.receive(into));
    EXPECT_EQ(port.refused(), refused) << bytes.size() << " bytes";
  };
  const auto datagram = [](std::uint32_t says, std::size_t has) {
    std::vector<std::byte> bytes = {std::byte{'H'}, std::byte{'D'}, std::byte{'G'}, std::byte{'M'}};
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(says >> 8 * i));
    bytes.resize(8 + has, std::byte{7});
    return bytes;
  };
  refuses(datagram(100, 100));  // of a port that was not named
  ASSERT_NE(port.insert(std::as_bytes(std::span{&own, 1})), ofi::Datagrams::kNobody);
  for (const std::size_t bytes : {0u, 7u, 8u, 100u, 9000u}) refuses(simulation::pattern(bytes, bytes + 1));
  refuses(datagram(99, 100));
  refuses(datagram(101, 100));
  refuses(datagram(0xFFFFFFFF, 0));
  refuses(datagram(9000, 9000));  // cut without a word where it does not fit
  throw_in(datagram(100, 100));
  std::optional<ofi::Datagrams::Arrival> arrival;
  for (int i = 0; i < 100'000 && !arrival; ++i) arrival = port.receive(into);
  ASSERT_TRUE(arrival);
  EXPECT_EQ(arrival->length, 100u);
}

TEST(NetDatagrams, have_a_port_that_is_asked_for_and_a_descriptor_to_sleep_on) {
  std::string service;
  {
    ofi::Datagrams any("127.0.0.1");
    sockaddr_in address;
    std::memcpy(&address, any.address().data(), sizeof address);
    service = std::to_string(ntohs(address.sin_port));
    EXPECT_THROW(ofi::Datagrams("127.0.0.1", service), Error) << "it is in use";
  }
  ofi::Datagrams one("127.0.0.1", service), other("127.0.0.1");
  const auto to = other.insert(one.address());
  one.insert(other.address());
  std::vector<std::byte> into(one.limit());
  EXPECT_FALSE(one.receive(into));
  ASSERT_TRUE(one.may_sleep());
  pollfd end{one.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 0), 0);
  ASSERT_EQ(other.send(to, into), Status::ok);
  EXPECT_EQ(::poll(&end, 1, 10'000), 1);
  EXPECT_FALSE(one.may_sleep());
  EXPECT_TRUE(one.receive(into));
}

}  // namespace

std::unique_ptr<DatagramWorld> make_datagram_world() { return std::make_unique<NetDatagramWorld>(); }

}  // namespace hamlyn::test
