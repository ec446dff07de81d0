#include "rpc/blast/address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

#include "base/file_descriptor.h"
#include "base/throw_system.h"
#include "hamlyn/values/error.h"

namespace hamlyn::internal_::rpc::blast {

namespace {

[[noreturn]] void throw_no_address(std::string_view text) {
  throw Error(ErrorCode::invalid_argument,
              "no address as 10.0.0.1:4711 or [fe80::1]:4711: " + std::string(text));
}

}  // namespace

Address address_of(std::string_view text) {
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == text.npos) throw_no_address(text);
  const std::string_view host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  std::string_view rest = end == text.npos ? std::string_view{} : text.substr(end + (bracketed ? 1 : 0));
  if (!rest.empty()) {
    rest.remove_prefix(1);
    if (rest.empty() || rest.size() > 5 || rest.find_first_not_of("0123456789") != rest.npos)
      throw_no_address(text);
  }
  if (host.empty()) throw_no_address(text);
  return {std::string(host), std::string(rest)};
}

std::vector<std::byte> words_of(const Address& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const char* const port = address.port.empty() ? nullptr : address.port.c_str();
  if (getaddrinfo(address.host.c_str(), port, &hints, &found) != 0) throw_no_address(address.host);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  const auto* const begin = reinterpret_cast<const std::byte*>(found->ai_addr);
  return {begin, begin + found->ai_addrlen};
}

std::string text_of(std::span<const std::byte> words) {
  sockaddr_storage address{};
  std::memcpy(&address, words.data(), std::min(words.size(), sizeof address));
  char host[NI_MAXHOST], port[NI_MAXSERV];
  const auto* const as = reinterpret_cast<const sockaddr*>(&address);
  if (getnameinfo(as, static_cast<socklen_t>(words.size()), host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "unknown";
  return (address.ss_family == AF_INET6 ? '[' + std::string(host) + ']' : std::string(host)) + ':' + port;
}

std::string way_to(std::span<const std::byte> words) {
  sockaddr_storage address{};
  std::memcpy(&address, words.data(), std::min(words.size(), sizeof address));
  const base::FileDescriptor socket(::socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  socklen_t length = static_cast<socklen_t>(words.size());
  if (!socket || ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0)
    base::throw_system("the way to a server of calls");
  length = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    base::throw_system("the way to a server of calls");
  const std::string text = text_of(std::as_bytes(std::span{&address, 1}).first(length));
  return address_of(text).host;
}

}  // namespace hamlyn::internal_::rpc::blast
