#include "vi/hosts.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "hamlyn/core/membership.h"

namespace hamlyn::internal_::vi {

namespace {

using Members = std::vector<Membership::Node>;

std::string own_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// A line of the file has a name and the number of a node. Nothing: no such line.
template <class Meant>
std::optional<std::pair<std::string, std::uint64_t>> line_of_file(Meant meant) {
  const char* const file = ::secure_getenv("HAMLYN_VI_HOSTS");
  if (file == nullptr) return std::nullopt;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::pair<std::string, std::uint64_t> out;
    if (words >> out.first >> out.second && out.first.front() != '#' && meant(out)) return out;
  }
  return std::nullopt;
}

// Other nodes of the cluster. A daemon that does not answer knows none.
Members members_of(const Hosts& hosts) {
  if (hosts.own == 0) return {};
  try {
    return Membership({.node = hosts.node}).nodes();
  } catch (const Error&) {
    return {};
  }
}

// Addresses of a name, without ports.
class Resolved {
 public:
  explicit Resolved(const std::string& name, int flags = 0) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) == 0) all_.reset(found);
  }
  bool shares_one_with(const Resolved& other) const {
    for (const addrinfo* one = all_.get(); one != nullptr; one = one->ai_next)
      for (const addrinfo* two = other.all_.get(); two != nullptr; two = two->ai_next)
        if (one->ai_addrlen == two->ai_addrlen &&
            std::memcmp(one->ai_addr, two->ai_addr, one->ai_addrlen) == 0)
          return true;
    return false;
  }
  // The name that the resolver has for the first of them. Empty: none.
  std::string name() const {
    std::array<char, NI_MAXHOST> out{};
    const bool found = all_ != nullptr && ::getnameinfo(all_->ai_addr, all_->ai_addrlen, out.data(),
                                                        out.size(), nullptr, 0, NI_NAMEREQD) == 0;
    return found ? out.data() : "";
  }

 private:
  struct Free {
    void operator()(addrinfo* of) const noexcept { ::freeaddrinfo(of); }
  };
  std::unique_ptr<addrinfo, Free> all_;
};

// Returns the address without its port, of "10.0.0.7:7471" or "[fe80::1]:7471".
Resolved address_of(const Membership::Node& member) {
  std::string text = member.address.substr(0, member.address.rfind(':'));
  std::erase_if(text, [](char each) { return each == '[' || each == ']'; });
  return Resolved(text, AI_NUMERICHOST);
}

// 0: none. Nobody is asked for a name that no member could have.
std::uint64_t member_called(const Members& members, const std::string& name) {
  const auto whole = std::ranges::find(members, name, &Membership::Node::address);
  if (whole != members.end()) return whole->id;
  if (members.empty()) return 0;
  const Resolved wanted(name);
  const auto found = std::ranges::find_if(members, [&](const Membership::Node& each) {
    return !each.address.empty() && address_of(each).shares_one_with(wanted);
  });
  return found != members.end() ? found->id : 0;
}

}  // namespace

std::optional<std::uint64_t> node_called(const Hosts& hosts, const std::string& name) {
  if (const auto line = line_of_file([&](const auto& each) { return each.first == name; }))
    return line->second;
  if (name == "localhost" || name == own_name()) return hosts.own;
  if (name.empty()) return std::nullopt;
  const std::uint64_t member = member_called(members_of(hosts), name);
  return member != 0 ? std::optional(member) : std::nullopt;
}

std::optional<std::string> name_of_node(const Hosts& hosts, std::uint64_t node) {
  if (const auto line = line_of_file([&](const auto& each) { return each.second == node; }))
    return line->first;
  if (node == hosts.own) return own_name();
  const Members members = members_of(hosts);
  const auto member = std::ranges::find(members, node, &Membership::Node::id);
  if (member == members.end() || member->address.empty()) return std::nullopt;
  const std::string name = address_of(*member).name();
  // Several nodes may be on one host.
  const bool leads_back = !name.empty() && node_called(hosts, name) == node;
  return leads_back ? name : member->address;
}

std::vector<std::uint64_t> nodes_within(const Hosts& hosts, std::uint64_t hops) {
  std::vector<std::uint64_t> out{hosts.own};
  if (hops == 0) return out;
  for (const Membership::Node& each : members_of(hosts))
    if (each.state == Membership::State::alive) out.push_back(each.id);
  return out;
}

}  // namespace hamlyn::internal_::vi
