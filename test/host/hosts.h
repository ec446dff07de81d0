#pragma once
// Hosts on one machine: network namespaces, each joined by a veth to a bridge in a namespace of the test's
// own. They have no names: each is held by a process that dies with the test, and when that is gone, however
// the test has ended, the kernel takes the rest away.
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "test/support/daemon.h"

namespace hamlyn::test {

class Hosts {
 public:
  // Why there can be none here; empty: there can. To be said loudly by whoever skips then.
  static std::string missing();

  explicit Hosts(int count);
  ~Hosts();
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  int count() const noexcept { return static_cast<int>(holders_.size()); }
  // Host `host`, from 1, has one interface with this address, and loopback.
  static std::string address(int host) { return "10.77.0." + std::to_string(host); }
  // The process that holds its network: for Command::Options::network_of.
  pid_t network(int host) const { return holders_.at(static_cast<std::size_t>(host - 1)); }

  // Pulls out the cable, and puts it in again.
  void cut(int host);
  void join(int host);
  // What `from` sends to `to` is lost there; what `to` sends arrives.
  void lose(int from, int to);
  void deliver(int from, int to);
  // Sends one UDP packet from a host, as any program there could.
  void send(int from, int to, unsigned short port, const std::string& bytes) const;

 private:
  void ip(int host, const std::string& lines) const;  // host 0: the bridge's

  std::vector<pid_t> holders_;
};

}  // namespace hamlyn::test
