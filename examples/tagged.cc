// Tagged remote write: a board of numbers that several writers keep up to date. Each owns a place of the
// board; the tag says how often it has written there.
//
//   tagged          shows the board; starts itself a second time as the writer
//   tagged NAME     writes to the board that was published as NAME
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kPlaces = 8;
constexpr std::uint64_t kTurns = 1000;

int show() {
  const std::string name = "tagged." + std::to_string(getpid());
  SecondProcess writer{name};
  hamlyn::Manager manager;
  hamlyn::TaggedReceiver board{manager, kPlaces * sizeof(std::uint64_t)};
  manager.publish(name, board.make_seed());
  // Whatever comes meanwhile is put aside for whoever asks for it.
  hamlyn::Tagged last;
  check(board.get_specific_tag(kTurns, last, 30s));
  std::uint64_t sum = 0, value = 0;
  for (std::uint64_t place = 0; place < kPlaces; ++place) {
    std::memcpy(&value, board.bytes().data() + place * sizeof value, sizeof value);
    sum += value;
  }
  std::uint64_t tags = 1;
  while (board.get_tag()) ++tags;
  std::printf("%llu writes, the board's sum is %llu\n", static_cast<unsigned long long>(tags),
              static_cast<unsigned long long>(sum));
  return writer.wait() && tags == kTurns ? 0 : 1;
}

int write(const char* name) {
  hamlyn::Manager manager;
  hamlyn::TaggedSender board{manager, manager.lookup(name)};
  for (std::uint64_t turn = 1; turn <= kTurns; ++turn) {
    const auto bytes = std::as_bytes(std::span{&turn, 1});
    check(board.send(bytes, turn % kPlaces * sizeof turn, turn, 30s));
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? write(words[1]) : show());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tagged: %s\n", error.what());
    return 1;
  }
}
