#include "test/host/cable.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <stdexcept>

namespace hamlyn::test {
namespace {

constexpr std::size_t kUdpHeader = 8;
constexpr std::size_t kLeast = ETH_HLEN + 20 + kUdpHeader;

unsigned number_at(const std::string& frame, std::size_t at) {
  return static_cast<unsigned char>(frame[at]) << 8 | static_cast<unsigned char>(frame[at + 1]);
}

}  // namespace

Cable::Cable(int host) : socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL))) {
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_ALL);
  at.sll_ifindex = static_cast<int>(::if_nametoindex(("port" + std::to_string(host)).c_str()));
  if (!socket_ || ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    throw std::runtime_error("a cable cannot be cut into");
}

std::vector<std::string> Cable::heard(unsigned short port) {
  std::vector<std::string> out;
  for (;;) {
    std::array<char, 2048> buffer;
    sockaddr_ll from{};
    socklen_t size = sizeof from;
    const auto got = ::recvfrom(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                                reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 0) return out;
    std::string frame(buffer.data(), static_cast<std::size_t>(got));
    // What leaves the bridge is on its way to the host.
    const bool udp = from.sll_pkttype == PACKET_OUTGOING && frame.size() >= kLeast &&
                     number_at(frame, 12) == ETHERTYPE_IP && frame[ETH_HLEN + 9] == IPPROTO_UDP;
    if (udp && number_at(frame, data_of(frame) - kUdpHeader + 2) == port) out.push_back(std::move(frame));
  }
}

void Cable::put(std::string frame) const {
  // The checksum may have been left to a card that is none, and what was changed has another: 0 is none.
  frame[data_of(frame) - 2] = frame[data_of(frame) - 1] = 0;
  if (::send(socket_.get(), frame.data(), frame.size(), 0) != static_cast<ssize_t>(frame.size()))
    throw std::runtime_error("a frame could not be put on a cable");
}

std::size_t Cable::data_of(const std::string& frame) {
  return ETH_HLEN + 4 * (static_cast<unsigned char>(frame[ETH_HLEN]) & 15u) + kUdpHeader;
}

}  // namespace hamlyn::test
