#pragma once
// The daemon's clerk of names as a process: started at first need, ended with the daemon, and started again
// when it has died.
#include <sys/types.h>

#include <deque>
#include <optional>
#include <string>

#include "base/file_descriptor.h"
#include "node/mind/clerk_port.h"
#include "segment/name_service.h"

namespace hamlyn::daemon {

// The descriptor of the daemon's connection in a clerk's process.
inline constexpr int kClerksSocket = 3;

// Starts clerks' processes and ends them, has memory that they share with the daemon, and a clock: the
// machine, or a simulation of one.
class ClerkMachine {
 public:
  // Starts a clerk at the other end of `socket`; `node`: where processes attach. Returns its number; -1: it
  // could not be.
  virtual pid_t start(base::FileDescriptor socket, const std::string& node) = 0;
  virtual void end(pid_t process) noexcept = 0;
  // Memory of that descriptor, as the daemon has it and writes it; empty: there is none.
  virtual std::span<std::byte> map(int memory, std::size_t bytes) noexcept = 0;
  virtual void unmap(std::span<std::byte> mapping) noexcept = 0;
  virtual std::int64_t now_ns() noexcept = 0;

 protected:
  ~ClerkMachine() = default;
};
ClerkMachine& this_machine() noexcept;

class ClerkProcess final : public node::ClerkPort, segment::NameService::Environment {
 public:
  explicit ClerkProcess(ClerkMachine& machine = this_machine());
  ~ClerkProcess() override;
  ClerkProcess(const ClerkProcess&) = delete;
  ClerkProcess& operator=(const ClerkProcess&) = delete;

  void serve(node::Node& node, const Options& options) override;
  int descriptor() const noexcept override { return epoll_.get(); }
  void receive_some(node::Time now) override;
  void tick(node::Time now) override;
  node::Time deadline(node::Time now) const override;

 private:
  bool start() override;
  bool say(const segment::ClerkMessage& message) override;
  std::span<std::byte> make_memory(std::size_t bytes) override;
  std::int64_t now_ns() override;

  bool send(const segment::ClerkMessage& message);
  void flush();
  void watch(int operation);
  void end();
  void drop_memory();

  ClerkMachine& machine_;
  base::FileDescriptor epoll_;  // holds the socket, which comes and goes
  base::FileDescriptor socket_;
  pid_t process_ = -1;
  std::deque<segment::ClerkMessage> unsaid_;  // orders that the socket had no room for, but reads
  base::FileDescriptor memory_;
  std::span<std::byte> mapping_;
  std::string node_socket_;
  node::Node* node_ = nullptr;
  std::optional<segment::NameService> service_;
};

}  // namespace hamlyn::daemon
