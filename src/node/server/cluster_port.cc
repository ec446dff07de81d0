#include "node/server/cluster_port.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sodium.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/throw_system.h"
#include "node/server/state_files.h"

namespace hamlyn::node {
namespace {

constexpr int kPacketTurn = 64;         // packets before it is the processes' turn
constexpr int kSocketBuffer = 1 << 20;  // hundreds may greet at once

Address address_of(const sockaddr_storage& from) {
  Address out;
  if (from.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &from, sizeof in);
    out.ip[10] = out.ip[11] = std::byte{0xFF};
    std::memcpy(out.ip.data() + 12, &in.sin_addr, 4);
    out.port = ntohs(in.sin_port);
  } else {
    sockaddr_in6 in{};
    std::memcpy(&in, &from, sizeof in);
    std::memcpy(out.ip.data(), &in.sin6_addr, 16);
    out.port = ntohs(in.sin6_port);
  }
  return out;
}

socklen_t socket_address(const Address& address, int family, sockaddr_storage& out) {
  out = {};
  if (family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, address.ip.data() + 12, 4);
    std::memcpy(&out, &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(address.port);
  std::memcpy(&in.sin6_addr, address.ip.data(), 16);
  std::memcpy(&out, &in, sizeof in);
  return sizeof in;
}

// host, host:port, [v6]:port or v6.
void split(const std::string& text, std::string& host, std::string& port) {
  host = text;
  port = std::to_string(kClusterPort);
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string::npos) return;
    host = text.substr(1, end - 1);
    if (end + 1 < text.size() && text[end + 1] == ':') port = text.substr(end + 2);
  } else if (std::ranges::count(text, ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':') + 1);
  }
}

// getaddrinfo takes larger numbers, too, and of those the lower 16 bits.
bool is_port(const std::string& text) {
  std::uint16_t port = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), port);
  return wrong == std::errc{} && end == text.data() + text.size() && port != 0;
}

// Null: a node may be there. Of an address that is good on one link only, the link is not kept.
const char* why_nobodys(const Address& address) {
  const auto first = std::to_integer<unsigned>(address.ip[0]),
             second = std::to_integer<unsigned>(address.ip[1]);
  if (multicast(address)) return "it is the address of a group";
  if (host_text(address) == "255.255.255.255") return "it is everybody's";
  return first == 0xFE && (second & 0xC0) == 0x80 ? "it is good on one link only" : nullptr;
}

Address resolve(const std::string& text, int family, bool to_listen) {
  std::string host;
  std::string port;
  split(text, host, port);
  if (!is_port(port)) {
    throw Error(ErrorCode::invalid_argument,
                "cluster: \"" + text + "\" has port " + port + ", which is none: 1 to 65535");
  }
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0) | (family == AF_INET6 ? AI_V4MAPPED : 0);
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0 || found == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "cluster: \"" + text + "\" is no address that can be used: " + ::gai_strerror(failed));
  }
  sockaddr_storage storage{};
  std::memcpy(&storage, found->ai_addr, std::min<std::size_t>(found->ai_addrlen, sizeof storage));
  ::freeaddrinfo(found);
  const Address address = address_of(storage);
  if (const char* const why = why_nobodys(address)) {
    throw Error(ErrorCode::invalid_argument, "cluster: no node is reached at \"" + text + "\": " + why);
  }
  return address;
}

bool is_v4(const Address& address) { return to_text(address).front() != '['; }

}  // namespace

ClusterPort::ClusterPort(const ClusterConfig& config, const std::string& socket, Time now)
    : beside_(socket), now_(now) {
  loopback_only_ = config.secret.empty();
  const std::string listen = !config.listen.empty() ? config.listen
                             : loopback_only_       ? "127.0.0.1"
                                                    : "0.0.0.0";
  here_ = resolve(listen, AF_UNSPEC, true);
  family_ = is_v4(here_) ? AF_INET : AF_INET6;
  if (loopback_only_ && !loopback(here_)) {
    throw Error(ErrorCode::not_permitted,
                "cluster.listen: " + listen +
                    " can be reached by strangers: name a file in cluster.secret, or a "
                    "loopback address");
  }
  if (by_rxm(config.engine) && !loopback(here_)) {
    throw Error(ErrorCode::not_permitted,
                "cluster.engine: " + config.engine + " trusts an index from the wire, and at " + listen +
                    " strangers can reach its ports: it is for loopback addresses only");
  }
  ClusterOptions options;
  options.id = config.id;
  for (const std::string& host : config.join) {
    options.join.push_back(resolve(host, family_, false));
    if (loopback_only_ && !loopback(options.join.back())) {
      throw Error(ErrorCode::not_permitted,
                  "cluster.join: " + host + " is another host: name a file in cluster.secret");
    }
  }
  options.secret = loopback_only_ ? own_secret() : load_secret(config.secret);
  names_key_ = keyed_hash(options.secret, std::as_bytes(std::span{std::string_view{"hamlyn names"}}));
  known_key_ = keyed_hash(options.secret, std::as_bytes(std::span{std::string_view{"hamlyn known"}}));
  options.boot = config.boot.value_or(config.join.empty());
  keeps_known_ = options.boot;
  if (keeps_known_) options.known = known_at(socket, known_key_);
  options.dead_after = config.dead_after;
  options.incarnation = next_incarnation(socket);

  socket_.reset(::socket(family_, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_) base::throw_system("socket");
  const int no = 0;
  if (family_ == AF_INET6) ::setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof kSocketBuffer);
  sockaddr_storage storage{};
  const socklen_t size = socket_address(here_, family_, storage);
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&storage), size) != 0)
    base::throw_system(("cluster.listen: bind " + to_text(here_)).c_str());
  cluster_ = std::make_unique<Cluster>(options, *this, now);
  spdlog::info("node {} of a cluster, incarnation {}, at {}{}", options.id, options.incarnation,
               to_text(here_), options.boot ? ", admits newcomers" : "");
}

ClerkPort::Options ClusterPort::clerk_options(std::uint32_t after, const std::string& socket) const {
  return {names_key_, cluster_->incarnation(), after, socket};
}

void ClusterPort::receive_some(Time now) {
  now_ = now;
  for (int i = 0; i < kPacketTurn; ++i) {
    std::array<std::byte, kMostPacket + 1> buffer;  // what is longer is cut, and refused
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const ssize_t got = ::recvfrom(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0) continue;  // an earlier packet's way was reported closed: time will tell
    cluster_->received(address_of(from), std::span{buffer}.first(static_cast<std::size_t>(got)), now);
  }
}

void ClusterPort::tick(Time now) {
  now_ = now;
  if (now >= cluster_->deadline()) cluster_->tick(now);
  node_->look_at_members(now);
  if (std::exchange(changed_, false) && keeps_known_) keep_known();
}

// So that nobody gets the id of one of them while the next daemon has not met it again.
void ClusterPort::keep_known() {
  try {
    hamlyn::node::keep_known(beside_, known_key_, cluster_->living());
    says_unkept_ = true;
  } catch (const Error& error) {
    if (std::exchange(says_unkept_, false))
      spdlog::warn("whom this node knows is not kept for its next start: {}", error.what());
  }
}

// Sends what the network takes now. The rest is lost, like what the network loses later.
void ClusterPort::send(const Address& to, std::span<const std::byte> packet) {
  if (loopback_only_ && !loopback(to)) return;
  if (family_ == AF_INET && !is_v4(to)) return;
  sockaddr_storage storage{};
  const socklen_t size = socket_address(to, family_, storage);
  ::sendto(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&storage), size);
}

void ClusterPort::random(std::span<std::byte> out) { ::randombytes_buf(out.data(), out.size()); }

void ClusterPort::came(NodeId node, std::uint64_t incarnation) {
  spdlog::info("node {} is there, incarnation {}", node, incarnation);
  changed_ = true;
  node_->node_came(node, now_);
  node_->look_at_members(now_);
}

void ClusterPort::gone(NodeId node, const char* why, bool silent) {
  spdlog::info("node {} is gone: {}", node, why);
  changed_ = true;
  node_->node_gone(node, why, silent, now_);
  node_->look_at_members(now_);  // at once: it may be back before the next turn
}

void ClusterPort::message(NodeId node, std::span<const std::byte> message) {
  node_->node_said(node, message, now_);
}

void ClusterPort::say(const std::string& line) { spdlog::warn("{}", line); }

// Where it listens; at every address: the one from which the way to that node starts.
std::string ClusterPort::reached_at(NodeId by) const {
  Address out = here_;
  const auto rows = cluster_->rows();
  const auto row = std::ranges::find(rows, by, [](const Cluster::Row& each) { return each.member.id; });
  if (out.ip == Address{}.ip || host_text(out) == "0.0.0.0") {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    const base::FileDescriptor way{::socket(family_, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (row == rows.end() || !way) return {};
    const socklen_t there = socket_address(row->member.address, family_, storage);
    if (::connect(way.get(), reinterpret_cast<const sockaddr*>(&storage), there) != 0 ||
        ::getsockname(way.get(), reinterpret_cast<sockaddr*>(&storage), &size) != 0)
      return {};
    out = address_of(storage);
  }
  return host_text(out);
}

void ClusterPort::tell(NodeId node, std::vector<std::byte> message) {
  cluster_->tell(node, std::move(message), now_);
}

}  // namespace hamlyn::node
