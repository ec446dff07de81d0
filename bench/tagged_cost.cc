// Cost to the processor of sending a tagged remote write of 16 bytes, and of receiving it (paper 0, section
// 5, has 260 and 120 cycles): both sides are in this process, in one thread and on one processor, so that no
// line travels in between, as none did on the paper's bus when the processor was done with it.
// `scripts/count` runs it, as it is for the cycles, and under callgrind, which counts the instructions of
// `send_one` and `receive_one`. Arguments: the node's socket, how many batches.
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "hamlyn/hamlyn.h"
#include "tool/perf/timing.h"

using namespace hamlyn;

namespace {

constexpr std::size_t kBatch = 16;  // the ring of an idle link takes more

// Functions that callgrind can tell by their names.
extern "C" __attribute__((noinline)) bool send_one(TaggedSender& sender,
                                                   const std::array<std::byte, 16>& data, std::uint64_t tag) {
  return sender.send(data, 0, tag) == Status::ok;
}
extern "C" __attribute__((noinline)) bool receive_one(TaggedReceiver& receiver, std::uint64_t tag) {
  const std::optional<Tagged> tagged = receiver.get_tag();
  return tagged && tagged->tag == tag;
}

double median(std::vector<double>& of) {
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
  return of[of.size() / 2];
}

// Ticks of one turn of `work`, of as many as a batch has.
template <class Work>
double ticks_of(Work work) {
  const std::uint64_t start = hamlyn_ticks();
  for (std::uint64_t i = 0; i != kBatch; ++i) {
    if (!work(i)) {
      std::fputs("a write was not sent, or did not come\n", stderr);
      std::exit(1);
    }
  }
  return static_cast<double>(hamlyn_ticks() - start) / kBatch;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int batches = std::atoi(argv[2]);
  const Manager::Options options{.interface = {.node = argv[1], .start_node = false}};
  Manager sends(options), receives(options);
  TaggedReceiver receiver(receives, 4096);
  TaggedSender sender(sends, receiver.make_seed());
  cpu_set_t here;  // after the threads of both are there: they stay where they like
  CPU_ZERO(&here);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &here);
  sched_setaffinity(0, sizeof here, &here);

  const std::array<std::byte, 16> data{};
  std::vector<double> to_send, to_receive;
  for (int batch = 0; batch != batches; ++batch) {
    to_send.push_back(ticks_of([&](std::uint64_t i) { return send_one(sender, data, i); }));
    to_receive.push_back(ticks_of([&](std::uint64_t i) { return receive_one(receiver, i); }));
    receives.poll();  // gives places back
    sends.poll();     // takes them
  }
  std::printf("%.0f %.0f %zu\n", median(to_send), median(to_receive), to_send.size() * kBatch);
}
