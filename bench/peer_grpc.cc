// gRPC over a Unix socket, null calls, by its callback interface on both sides.
//
//   peer_grpc CPU CPU roundtrip   prints "result NANOSECONDS": the median of round trips, one under way
//   peer_grpc CPU CPU blocked     the same, 300 us after the one before
//   peer_grpc CPU CPU rate        prints "result NUMBER": calls a second, 64 under way
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <peer_calls.grpc.pb.h>
#include "bench/peer_timing.h"

namespace {

class Service final : public peer::Calls::CallbackService {
  grpc::ServerUnaryReactor* Null(grpc::CallbackServerContext* context, const peer::Nothing*,
                                 peer::Nothing*) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

void serve(const std::string& address, int ready) {
  Service service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || write(ready, "", 1) != 1) _exit(1);
  server->Wait();
}

// One call under way.
struct Call {
  grpc::ClientContext context;
  peer::Nothing argument, result;
};

// Counts calls that have ended.
class Ended {
 public:
  void add(bool ok) {
    if (!ok) _exit(1);
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_one();
  }
  void wait_for(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
};

void start(peer::Calls::Stub& stub, Ended& ended) {
  auto call = std::make_shared<Call>();
  stub.async()->Null(&call->context, &call->argument, &call->result,
                     [call, &ended](const grpc::Status& status) { ended.add(status.ok()); });
}

double round_trips(peer::Calls::Stub& stub, bool pauses) {
  const std::uint64_t warm_up = 500, timed = pauses ? 1000 : 10000;
  std::vector<double> times;
  Ended ended;
  for (std::uint64_t i = 1; i <= warm_up + timed; ++i) {
    for (const double end = seconds_now() + 300e-6; pauses && seconds_now() < end;) {
    }
    const double begun = seconds_now();
    start(stub, ended);
    ended.wait_for(i);
    if (i > warm_up) times.push_back((seconds_now() - begun) * 1e9);
  }
  std::nth_element(times.begin(), times.begin() + timed / 2, times.end());
  return times[timed / 2];
}

double rate(peer::Calls::Stub& stub) {
  constexpr std::uint64_t kUnderWay = 64, kWarmUp = 5000, kTimed = 60000;
  Ended ended;
  double begun = 0;
  for (std::uint64_t i = 0; i != kWarmUp + kTimed; ++i) {
    if (i >= kUnderWay) ended.wait_for(i - kUnderWay + 1);
    if (i == kWarmUp) begun = seconds_now();
    start(stub, ended);
  }
  ended.wait_for(kWarmUp + kTimed);
  return kTimed / (seconds_now() - begun);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string address = "unix:/tmp/peer_grpc." + std::to_string(getpid());
  int ready[2];
  if (pipe(ready) != 0) return 1;
  const pid_t server = fork();
  if (server == 0) {
    pin_to(argv[2]);
    serve(address, ready[1]);
    return 0;
  }
  pin_to(argv[1]);
  char one;
  if (read(ready[0], &one, 1) != 1) return 1;
  {
    const auto stub = peer::Calls::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    print_result(std::strcmp(argv[3], "rate") == 0
                     ? rate(*stub)
                     : round_trips(*stub, std::strcmp(argv[3], "blocked") == 0));
  }
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  unlink(address.c_str() + std::strlen("unix:"));
  return 0;
}
