#include "node/client/greet.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/socket.h"
#include "node/client/address.h"

namespace hamlyn::node {
namespace {

using Clock = std::chrono::steady_clock;

bool may_start(const ClientOptions& options, const std::string& path) {
  return options.start_node && path != kServiceSocket;
}

// A connection to the daemon these options mean; empty if it has to be started, or tried again.
base::FileDescriptor find(const ClientOptions& options, std::string& path) {
  if (const std::string named = named_socket(options.socket, is_privileged()); !named.empty()) {
    std::error_code failed;  // of a program whose working directory is gone
    path = std::filesystem::absolute(named, failed).string();
    if (failed) {
      throw Error(
          ErrorCode::invalid_argument,
          "the socket '" + named + "' is nowhere, seen from the working directory: " + failed.message());
    }
    return connect_to(path);
  }
  path = kServiceSocket;
  try {
    if (auto socket = connect_to(path)) return socket;
  } catch (const Error&) {
    // A service that is not for this user, or not trusted, is none.
  }
  return connect_to_own(own_places(), path);
}

// Says what a program can do about it that no daemon listens there, and that none is started.
std::string nobody_at(const std::string& path, bool named) {
  std::error_code failed;
  if (!std::filesystem::exists(std::filesystem::path(path).parent_path(), failed) && !failed)
    return "no node daemon can listen at " + path + ": its folder is not there";
  const std::string nobody = "no node daemon answers at " + path;
  return named ? nobody + ": 'hamlynd --socket " + path + "' starts one" : nobody + ": start hamlynd";
}

void check(const Welcome& welcome, const std::string& path) {
  if (welcome.magic != kMagic) {
    throw Error(ErrorCode::version_mismatch, "what answers at " + path + " is no node daemon");
  }
  if (version_of(welcome.protocol) != kProtocolVersion || welcome.structures != kStructuresVersion) {
    throw Error(ErrorCode::version_mismatch,
                "this process speaks protocol " + std::to_string(kProtocolVersion) + " with structures " +
                    std::to_string(kStructuresVersion) + ", the node daemon at " + path + " protocol " +
                    std::to_string(version_of(welcome.protocol)) + " with structures " +
                    std::to_string(welcome.structures) + ": restart the older one with the newer version");
  }
  if (welcome.error != 0) {
    throw Error(static_cast<ErrorCode>(welcome.error),
                std::string(welcome.text, ::strnlen(welcome.text, kMaxText)));
  }
}

// The answer to our hello; false if the daemon left before it gave one.
bool exchange(int socket, const Hello& hello, int counters, Deadline deadline, const std::string& path,
              Welcome& welcome) {
  const std::span<const int> fds{&counters, counters >= 0 ? std::size_t{1} : std::size_t{0}};
  const base::SocketState said =
      base::send_message(socket, std::as_bytes(std::span{&hello, 1}), fds, MSG_DONTWAIT);
  // A daemon may turn a process away before it has said anything: then its answer lies there already.
  if (said != base::SocketState::ok && said != base::SocketState::closed) return false;
  for (;;) {
    if (!wait_readable(socket, deadline)) {
      throw Error(ErrorCode::timed_out, "the node daemon at " + path + " does not answer");
    }
    std::array<std::byte, sizeof(Welcome) + 1> buffer{};
    const base::Received got = base::receive_message(socket, buffer, MSG_DONTWAIT);
    if (got.state == base::SocketState::again) continue;
    if (got.state == base::SocketState::closed) return false;
    // The first twelve bytes are the same in every version; what is shorter is somebody else's.
    if (got.state == base::SocketState::malformed || got.bytes < 12)
      welcome.magic = 0;
    else
      std::memcpy(&welcome, buffer.data(), std::min(got.bytes, sizeof welcome));
    return true;
  }
}

}  // namespace

std::string named_socket(const std::string& asked, bool privileged) {
  if (!asked.empty() || privileged) return asked;
  const char* const named = ::secure_getenv("HAMLYN_NODE");
  return named == nullptr ? std::string() : named;
}

bool wait_readable(int socket, Deadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{socket, POLLIN, 0};
    const int turned = ::poll(&wait, 1, left <= 0 ? 0 : static_cast<int>(std::min<long>(left, INT_MAX)));
    if (turned > 0) return true;
    if (turned == 0 && left <= 0) return false;
  }
}

Greeted greet(const ClientOptions& options, const Hello& hello, int counters) {
  const Deadline deadline = Clock::now() + options.timeout;
  // A daemon may leave, idle, just as we arrive: it then closes the connection without an answer, and we
  // start anew.
  for (;;) {
    Greeted out;
    out.socket = find(options, out.path);
    if (out.socket) {
      if (exchange(out.socket.get(), hello, counters, deadline, out.path, out.welcome)) {
        check(out.welcome, out.path);
        return out;
      }
    } else if (may_start(options, out.path)) {
      start_daemon(out.path, options.daemon, deadline);
    } else {
      throw Error(ErrorCode::node_unreachable,
                  nobody_at(out.path, !named_socket(options.socket, is_privileged()).empty()));
    }
    if (Clock::now() >= deadline) {
      throw Error(ErrorCode::timed_out, "the node daemon at " + out.path + " closed every connection");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

}  // namespace hamlyn::node
