#include "hamlyn/files/server.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "files/groups.h"
#include "files/local_store.h"
#include "files/service.h"
#include "files/tree_key.h"
#include "hamlyn/rpc.h"
#include "hamlyn/segment/segment.h"
#include "hamlyn/values/error.h"
#include "library/setting.h"
#include "node/client/protocol.h"

namespace hamlyn {

namespace internal_::files {
namespace {

// Groups that were looked up lately: a host may ask another one for them.
class LatelyGroups {
 public:
  std::vector<std::uint32_t> of(std::uint32_t user) {
    const auto now = library::Clock::now();
    {
      const std::lock_guard guard(mutex_);
      const auto known = known_.find(user);
      if (known != known_.end() && now < known->second.until) return known->second.groups;
    }
    std::vector<std::uint32_t> groups = groups_of_user(user);
    const std::lock_guard guard(mutex_);
    if (known_.size() >= kMostUsers) known_.clear();
    known_[user] = {groups, now + kLast};
    return groups;
  }

 private:
  static constexpr std::size_t kMostUsers = 1024;
  static constexpr std::chrono::seconds kLast{10};
  struct Known {
    std::vector<std::uint32_t> groups;
    library::Clock::time_point until;
  };
  std::mutex mutex_;
  std::map<std::uint32_t, Known> known_;
};

// Links between hosts are neither authenticated nor encrypted yet: whoever poses as another host's superuser
// there is everybody.
struct Door {
  std::uint16_t own = 0;  // node of this host
  bool open = false;      // to other hosts

  template <auto kFunction, class... Arguments>
  void before(hamlyn::rpc::Call& call, const Arguments&...) {
    if (!open && node::node_of(call.client()) != own)
      throw std::runtime_error(
          "a server of the superuser's serves its own host alone, unless it is told that "
          "the network is trusted");
  }
};

// Takes from this thread the right to use a file system beyond quotas, which it would use for whomever it
// acts.
bool be_bound_by_quotas() noexcept {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> all{};
  if (syscall(SYS_capget, &header, all.data()) != 0) return false;
  all[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective &= ~CAP_TO_MASK(CAP_SYS_RESOURCE);
  return syscall(SYS_capset, &header, all.data()) == 0;
}

AreaSizes sizes_of(const hamlyn::files::ServerOptions& options) {
  const auto buckets = [](std::size_t entries) { return (entries + NameArea::kWays - 1) / NameArea::kWays; };
  if (options.names == 0 || options.links == 0 || options.data < kBlock)
    throw Error(ErrorCode::invalid_argument,
                "a server wants room for a name, a link, and 64 KiB of data at least");
  return {.names = buckets(options.names),
          .attributes = buckets(options.names),
          .links = buckets(options.links),
          .folders = buckets(options.links),
          .frames = options.data / kBlock};
}

}  // namespace

}  // namespace internal_::files

namespace files {

using namespace internal_::files;

struct Server::Inside {
  Inside(Interface& interface, const std::string& directory, const std::string& name,
         const ServerOptions& options)
      : store(directory, tree_key(options.state.empty() ? state_folder(name) : options.state)),
        header(lay_out(sizes_of(options), base::random_key(), base::random_key())),
        segment(interface, {.bytes = bytes_of(header),
                            .sharing = Sharing::mapped_read_only,
                            .protection = {.mode = 0400},
                            .control = Control::never}),
        areas(segment, header),
        service(
            store, areas, segment.ticket(), [this](std::uint32_t user) { return groups.of(user); },
            options.squash_root),
        door{.own = node::node_of(interface.id()), .open = geteuid() != 0 || options.trusted_network},
        server(interface, name, service, {.clients = options.clerks}, door) {}

  LatelyGroups groups;
  LocalStore store;
  AreasHeader header;
  Segment segment;
  AreaWriter areas;
  Service service;
  Door door;
  rpc::Server<Service, Door> server;
};

Server::Server(Interface& interface, const std::string& directory, std::string_view name,
               const ServerOptions& options)
    : inside_(std::make_unique<Inside>(interface, directory, std::string(name), options)) {}

Server::~Server() = default;

// Files have the mode that their makers ask for: a thread that serves has a mask of its own.
Status Server::run() noexcept {
  if (!be_bound_by_quotas()) return Status::refused;
  static_cast<void>(unshare(CLONE_FS));  // some containers forbid it: then the process has that mask
  umask(0);
  return inside_->server.run();
}

void Server::stop() noexcept { inside_->server.stop(); }

}  // namespace files

}  // namespace hamlyn
