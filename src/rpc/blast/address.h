#pragma once
// Addresses of datagram ports as people write them: `10.0.0.1:4711`, `[fe80::1]:4711`; without a port any.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::rpc::blast {

struct Address {
  std::string host;
  std::string port;  // empty: any
};

// Throws Error(invalid_argument).
Address address_of(std::string_view text);
// The words by which a port of that address is named. Throws Error(invalid_argument).
std::vector<std::byte> words_of(const Address& address);
std::string text_of(std::span<const std::byte> words);
// The address of this machine from which that one is reached. Throws Error(system).
std::string way_to(std::span<const std::byte> words);

}  // namespace hamlyn::internal_::rpc::blast
