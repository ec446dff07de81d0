#pragma once
// Clerks under an account of their own. A process is forked before the daemon reads any secret. It keeps the
// right to change users, starts clerks for the daemon and ends them. The daemon itself gives that right up.
#include <sys/types.h>

#include <memory>
#include <string>

#include "base/file_descriptor.h"
#include "daemon/clerk_process.h"

namespace hamlyn::daemon {

// Whose clerks are.
struct ClerkAccount {
  uid_t uid = 0;
  gid_t gid = 0;
};

class ClerkStarter final : public ClerkMachine {
 public:
  // Null: clerks run as the daemon's user, and `why` says for what reason. To be called before there are
  // threads, once. `user`: a name or a number.
  static std::unique_ptr<ClerkStarter> make(const std::string& user, std::string& why);
  ~ClerkStarter();
  ClerkStarter(const ClerkStarter&) = delete;
  ClerkStarter& operator=(const ClerkStarter&) = delete;

  pid_t start(base::FileDescriptor socket, const std::string& node) override;
  void end(pid_t process) noexcept override;
  std::span<std::byte> map(int memory, std::size_t bytes) noexcept override;
  void unmap(std::span<std::byte> mapping) noexcept override;
  std::int64_t now_ns() noexcept override;

 private:
  ClerkStarter(base::FileDescriptor socket, pid_t process);
  pid_t ask(bool start, pid_t process, int socket, const std::string& node) noexcept;

  base::FileDescriptor socket_;
  pid_t process_;
};

// Has this process change users no more, unless it is root's. Its other rights stay.
void give_up_changing_users() noexcept;

}  // namespace hamlyn::daemon
