// Buffers that are used anew: one whose message is over by the sequence word is read no more, and what was
// read of one whose area is not good any more is of no message.
#include "interface/areas/good_areas.h"
#include "interface/packets/sequence_word.h"
#include "test/memory/explored.h"
#include "test/memory/scenarios.h"

namespace hamlyn::test {

namespace {

using GoodAreas = interface::GoodAreas<Explored>;
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

// An area goes, and its memory is used for something else, while the other side copies out of it.
std::string areas_gone(Model model) {
  constexpr std::uint32_t kNumber = 5;
  struct Shared {
    std::uint64_t good = 1u << kNumber, buffer[2] = {1, 2};
  };
  static Shared shared;
  shared = Shared{};
  Explorer explorer(bytes_of(shared), model);
  explorer.add([] {
    GoodAreas::tell(shared.good, 0);
    for (std::uint64_t& word : shared.buffer) Explored::store_relaxed(word, std::uint64_t{7});
  });
  explorer.add([] {
    std::uint64_t copied[2];
    for (std::size_t i = 0; i < 2; ++i) copied[i] = Explored::load_relaxed(shared.buffer[i]);
    const bool good = GoodAreas::told(shared.good, kNumber);
    for (const std::uint64_t word : copied) Explorer::report(good ? word : 0);
  });
  return explorer.explore([](const Reports& reports) -> std::string {
    return reports[1] != std::vector<std::uint64_t>{1, 2} && reports[1] != std::vector<std::uint64_t>{0, 0}
               ? "what came after was taken for the message"
               : "";
  });
}

}  // namespace

std::vector<Scenario> sequence_scenarios() {
  return {{"buffers_anew", buffers_anew}, {"areas_gone", areas_gone}};
}

}  // namespace hamlyn::test
