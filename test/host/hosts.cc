#include "test/host/hosts.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace hamlyn::test {
namespace {

// A process that does nothing in a network of its own.
pid_t hold_network() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  const base::FileDescriptor ready{ends[0]};
  base::FileDescriptor told{ends[1]};
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::unshare(CLONE_NEWNET) != 0 || ::write(told.get(), "r", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  told.reset();
  char word = 0;
  if (::read(ready.get(), &word, 1) != 1) throw std::runtime_error("a network namespace cannot be made");
  return child;
}

}  // namespace

std::string Hosts::missing() {
  if (::geteuid() != 0) return "network namespaces need root";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWNET) == 0 ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  if (status != 0) return "network namespaces cannot be made here";
  Command look{{"ip", "-Version"}, {}};
  if (look.wait().status != 0) return "there is no ip command (iproute2)";
  return {};
}

Hosts::Hosts(int count) {
  // The test itself moves into the namespace of the bridge.
  if (::unshare(CLONE_NEWNET) != 0) throw std::runtime_error("unshare");
  std::string lines = "link add name bridge type bridge\nlink set bridge up\n";
  for (int host = 1; host <= count; ++host) {
    holders_.push_back(hold_network());
    const std::string number = std::to_string(host);
    lines += "link add name port" + number + " type veth peer name eth0 netns " +
             std::to_string(network(host)) + "\nlink set port" + number + " master bridge up\n";
  }
  ip(0, lines);
  for (int host = 1; host <= count; ++host)
    ip(host, "link set lo up\nlink set eth0 up\naddress add " + address(host) + "/24 dev eth0\n");
}

Hosts::~Hosts() {
  for (const pid_t holder : holders_) ::kill(holder, SIGKILL);
  for (const pid_t holder : holders_) ::waitpid(holder, nullptr, 0);
}

void Hosts::ip(int host, const std::string& lines) const {
  Command::Options options;
  options.input = lines;
  if (host != 0) options.network_of = network(host);
  Command command{{"ip", "-batch", "-"}, options};
  const Finished finished = command.wait();
  if (finished.status != 0) throw std::runtime_error("ip: " + finished.err);
}

void Hosts::cut(int host) { ip(0, "link set port" + std::to_string(host) + " down\n"); }
void Hosts::join(int host) { ip(0, "link set port" + std::to_string(host) + " up\n"); }
void Hosts::lose(int from, int to) { ip(from, "route add blackhole " + address(to) + "/32\n"); }
void Hosts::deliver(int from, int to) { ip(from, "route del blackhole " + address(to) + "/32\n"); }

void Hosts::send(int from, int to, unsigned short port, const std::string& bytes) const {
  const pid_t child = ::fork();
  if (child == 0) {
    const base::FileDescriptor there{
        ::open(("/proc/" + std::to_string(network(from)) + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC)};
    if (::setns(there.get(), CLONE_NEWNET) != 0) ::_exit(1);
    const base::FileDescriptor socket{::socket(AF_INET, SOCK_DGRAM, 0)};
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    ::inet_pton(AF_INET, address(to).c_str(), &at.sin_addr);
    const auto sent = ::sendto(socket.get(), bytes.data(), bytes.size(), 0,
                               reinterpret_cast<const sockaddr*>(&at), sizeof at);
    ::_exit(sent == static_cast<ssize_t>(bytes.size()) ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("a packet could not be sent");
}

}  // namespace hamlyn::test
