#include "test/support/two_nodes.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "base/file_descriptor.h"
#include "fabric/ofi/engine.h"
#include "fabric/ofi/libfabric.h"
#include "node/client/list.h"

namespace hamlyn::test {

int free_port() {
  const base::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw std::runtime_error("no port");
  return ntohs(address.sin_port);
}

// libfabric takes half a second to load, once in a process: here, for all that are forked off.
TwoNodes::TwoNodes(const std::string& first_cluster, const std::string& second_cluster, bool service)
    : clusters_{first_cluster, second_cluster}, service_(service), folder_(service ? 0755 : 0700) {
  const ofi::EngineChoice choice = ofi::choose_engine("127.0.0.1");
  if (choice.info != nullptr) ofi::libfabric().freeinfo(choice.info);
  const int first = free_port();
  start(1, first, 0);
  start(2, free_port(), first);
  EXPECT_TRUE(eventually([&] { return sees_other(1) && sees_other(2); })) << "two nodes do not meet";
}

Interface::Options TwoNodes::at(int node) const {
  Interface::Options options;
  options.node = socket(node);
  options.start_node = false;
  options.timeout = kPatience;
  options.dead = std::chrono::seconds(20);
  return options;
}

void TwoNodes::start(int node, int port, int join) {
  std::string text = "[cluster]\nid = " + std::to_string(node) + "\ndead_after = 30000\n";
  text += "listen = \"127.0.0.1:" + std::to_string(port) + "\"\n";
  if (join != 0) text += "join = [\"127.0.0.1:" + std::to_string(join) + "\"]\n";
  if (service_) {
    const std::string secret = folder_.file("secret");
    write_file(secret, std::string(64, 's'));
    std::filesystem::permissions(secret, std::filesystem::perms::owner_read);
    text += "secret = \"" + secret + "\"\n";
  }
  text += clusters_[node - 1];
  const std::string config = folder_.file(std::to_string(node) + ".toml");
  write_file(config, text);
  std::vector<std::string> options{"--config", config};
  if (service_) options.push_back("--service");
  daemons_.push_back(std::make_unique<Daemon>(socket(node), options));
}

bool TwoNodes::sees_other(int node) const {
  const auto nodes = node::list(test::at(socket(node))).nodes;
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const auto& one) { return one.state == node::ClusterMember::State::alive; });
}

}  // namespace hamlyn::test
