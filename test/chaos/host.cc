#include "test/chaos/host.h"

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "hamlyn/values/error.h"
#include "node/client/address.h"

namespace hamlyn::chaos {

Host::Host(std::string daemon, bool service) : daemon_(std::move(daemon)), service_(service) {
  start(daemon_);
}

void Host::start(const std::string& program) {
  program_ = program;
  std::vector<std::string> words{program, "--socket", socket(), "--idle-exit", "0"};
  if (service_) words.push_back("--service");
  command_ = std::make_unique<test::Command>(words, test::Command::Options{});
  const bool listens = test::eventually([&] {
    try {
      return !running() || static_cast<bool>(node::connect_to(socket()));
    } catch (const Error&) {
      return false;  // between bind and listen
    }
  });
  if (!listens || !running()) throw std::runtime_error("the daemon does not start: " + command_->err());
}

void Host::kill_and_restart() {
  command_->signal(SIGKILL);
  command_->wait();
  start(program_);
}

bool Host::upgrade() {
  const std::string newer = folder_.file("hamlynd." + std::to_string(++upgrades_));
  std::filesystem::copy_file(daemon_, newer);
  command_->signal(SIGTERM);
  const bool ended = command_->wait().status == 0;
  if (program_ != daemon_) std::filesystem::remove(program_);
  start(newer);
  return ended;
}

std::string Host::end() {
  command_->signal(SIGTERM);
  if (const int status = command_->wait().status; status != 0)
    return "the daemon ended with status " + std::to_string(status);
  return std::filesystem::exists(socket()) ? "the daemon has left its socket" : "";
}

}  // namespace hamlyn::chaos
