// `hamlyn send` to `hamlyn receive`, from a file in memory to one.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tool/perf/our_party.h"
#include "tool/perf/ours.h"
#include "tool/perf/program.h"
#include "tool/perf/transfer_ends.h"
#include "tool/perf/worker.h"

namespace hamlyn::tool::perf {
namespace {

// Becomes `hamlyn`, with that command and those descriptors: this program, or, of `hamlyn-bench`, the one
// beside it.
int become(std::vector<std::string> words, const std::array<int, 3>& descriptors) {
  words.insert(words.begin(), "hamlyn");
  for (int i = 0; i != 3; ++i) {
    if (descriptors[static_cast<std::size_t>(i)] >= 0) dup2(descriptors[static_cast<std::size_t>(i)], i);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(beside("hamlyn").c_str(), arguments.data());
  return 127;
}

std::string read_all(int from) {
  std::string text;
  std::array<char, 1024> part{};
  for (ssize_t got; (got = read(from, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  return text;
}

// From the acceptance of the sender to the end, as the receiver says.
std::vector<double> transfer(Cores cores) {
  const TransferEnds& ends = transfer_ends();
  ends.begin();
  const std::string meeting = new_meeting();
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const base::FileDescriptor report_from(report[0]);
  base::FileDescriptor report_to(report[1]);
  const base::FileDescriptor nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  Worker receiver([&] {
    pin(cores.second);
    return become({"receive", meeting, "--json", "--timeout", "20"},
                  {nowhere.get(), ends.to.get(), report_to.get()});
  });
  Worker sender([&] {
    pin(cores.first);
    return become({"send", meeting, "--timeout", "20"}, {ends.from.get(), nowhere.get(), nowhere.get()});
  });
  report_to.reset();
  const std::string said = read_all(report_from.get());
  const bool sent = sender.wait(), received = receiver.wait();
  if (!sent || !received || !ends.arrived())
    throw std::runtime_error("hamlyn send or receive failed: " + said);
  const auto seconds = nlohmann::json::parse(said).at("seconds").get<double>();
  return {static_cast<double>(kTransferBytes) / seconds / 1e9};
}

}  // namespace

Meter transfer_bandwidth() {
  return {.name = "shm.send." + std::to_string(kTransferPiece) + ".bandwidth",
          .round = [](Cores cores, int) { return transfer(cores); }};
}

}  // namespace hamlyn::tool::perf
