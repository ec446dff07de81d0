// Cap'n Proto over a Unix socket, null calls: its two-party system on each side, one event loop each.
//
//   peer_capnp CPU CPU roundtrip   prints "result NANOSECONDS": the median of round trips, one under way
//   peer_capnp CPU CPU blocked     the same, 300 us after the one before
//   peer_capnp CPU CPU rate        prints "result NUMBER": calls a second, 64 under way
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include <peer_calls.capnp.h>
#include "bench/peer_timing.h"

namespace {

class Service final : public Calls::Server {
  kj::Promise<void> null(NullContext) override { return kj::READY_NOW; }
};

void serve(int socket) {
  kj::AsyncIoContext io = kj::setupAsyncIo();
  kj::Own<kj::AsyncIoStream> stream = io.lowLevelProvider->wrapSocketFd(socket);
  capnp::TwoPartyClient network(*stream, kj::heap<Service>(), capnp::rpc::twoparty::Side::SERVER);
  network.onDisconnect().wait(io.waitScope);
}

double round_trips(Calls::Client& calls, kj::WaitScope& scope, bool pauses) {
  const std::uint64_t warm_up = 500, timed = pauses ? 1000 : 10000;
  std::vector<double> times;
  for (std::uint64_t i = 1; i <= warm_up + timed; ++i) {
    for (const double end = seconds_now() + 300e-6; pauses && seconds_now() < end;) {
    }
    const double begun = seconds_now();
    calls.nullRequest().send().wait(scope);
    if (i > warm_up) times.push_back((seconds_now() - begun) * 1e9);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(timed / 2), times.end());
  return times[timed / 2];
}

double rate(Calls::Client& calls, kj::WaitScope& scope) {
  constexpr std::uint64_t kUnderWay = 64, kWarmUp = 5000, kTimed = 100000;
  std::deque<kj::Promise<void>> under_way;
  double begun = 0;
  for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
    if (i == kWarmUp) begun = seconds_now();
    under_way.push_back(calls.nullRequest().send().ignoreResult());
    if (under_way.size() < kUnderWay) continue;
    under_way.front().wait(scope);
    under_way.pop_front();
  }
  for (kj::Promise<void>& each : under_way) each.wait(scope);
  return kTimed / (seconds_now() - begun);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  const pid_t server = fork();
  if (server == 0) {
    close(ends[0]);
    pin_to(argv[2]);
    serve(ends[1]);
    return 0;
  }
  close(ends[1]);
  pin_to(argv[1]);
  {
    kj::AsyncIoContext io = kj::setupAsyncIo();
    kj::Own<kj::AsyncIoStream> stream = io.lowLevelProvider->wrapSocketFd(ends[0]);
    capnp::TwoPartyClient network(*stream);
    Calls::Client calls = network.bootstrap().castAs<Calls>();
    print_result(std::strcmp(argv[3], "rate") == 0
                     ? rate(calls, io.waitScope)
                     : round_trips(calls, io.waitScope, std::strcmp(argv[3], "blocked") == 0));
  }
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  return 0;
}
