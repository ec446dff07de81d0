// The sequence word: a buffer that is used anew is read no more.
#include "interface/sequence_word.h"
#include "test/memory/explored.h"
#include "test/memory/scenarios.h"

namespace hamlyn::test {

namespace {

using SequenceWord = interface::SequenceWord<Explored>;
using Reports = std::vector<std::vector<std::uint64_t>>;

// The interface copies two messages out of their buffers; the application fills each anew when it is over.
std::string buffers_anew(Model model) {
  struct Shared {
    std::uint64_t sequence = 0, buffer[2] = {1, 2};
  };
  static Shared shared;
  shared = Shared{};
  Explorer explorer(bytes_of(shared), model);
  explorer.guard(shared.buffer, sizeof shared.buffer);
  explorer.add([] {
    for (std::uint64_t over = 1; over <= 2; ++over) {
      Explorer::report(Explored::load_relaxed(shared.buffer[over - 1]));
      SequenceWord::tell(shared.sequence, over);
    }
  });
  explorer.add([] {
    const std::uint64_t over = SequenceWord::told(shared.sequence);
    for (std::uint64_t i = 0; i < over; ++i) Explored::store_relaxed(shared.buffer[i], std::uint64_t{7});
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    return reports[0] != std::vector<std::uint64_t>{1, 2} ? "what came after was sent" : "";
  });
}

}  // namespace

std::vector<Scenario> sequence_scenarios() { return {{"buffers_anew", buffers_anew}}; }

}  // namespace hamlyn::test
