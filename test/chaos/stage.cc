#include "test/chaos/stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>

namespace hamlyn::chaos {

void pause(std::chrono::microseconds time) noexcept {
  const timespec rest{time.count() / 1'000'000, time.count() % 1'000'000 * 1000};
  ::nanosleep(&rest, nullptr);
}

Interface::Options Stage::interface_options() const {
  return {
      .node = node_, .start_node = false, .timeout = std::chrono::seconds{30}, .stall = kStall, .links = 128};
}

void Stage::rest() noexcept {
  std::atomic<bool>& quiet = ledger_.seats[seat_].quiet;
  while (ledger_.phase == Phase::rest) {
    quiet = true;
    pause(std::chrono::milliseconds{5});
  }
  quiet = leaving();
}

void Stage::breathe() noexcept {
  pause(std::chrono::microseconds{chance(8) == 0 ? chance(20'000) : chance(3'000)});
}

std::size_t Stage::some_length(std::size_t most) {
  const std::size_t up_to = std::min<std::size_t>(most, std::size_t{64} << chance(12));
  return std::max<std::size_t>(kShortestLetter, chance(up_to + 1));
}

void Stage::fault(const std::string& text) {
  ledger_.fault(fmt::format("seat {} ({}): {}", seat_, ledger_.seats[seat_].role.data(), text));
}

}  // namespace hamlyn::chaos
