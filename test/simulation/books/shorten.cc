#include "test/simulation/books/shorten.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace hamlyn::simulation {

namespace {

class Shortening {
 public:
  Shortening(const Program& program, const Result& failed, Runner run, std::uint64_t most_kept)
      : run_(std::move(run)), program_(program), problem_(failed.problem), most_kept_(most_kept) {
    keep(failed);
  }

  Shortened shorten() {
    // What is rarest comes first: a run without faults, of few processes, needs the fewest steps.
    constexpr std::array kKinds{Step::Kind::restart, Step::Kind::death, Step::Kind::partition,
                                Step::Kind::comes,   Step::Kind::stop,  Step::Kind::cut,
                                Step::Kind::wait,    Step::Kind::look,  Step::Kind::read,
                                Step::Kind::start,   Step::Kind::run,   Step::Kind::links};
    without([](const Step& step) { return step.kind == Step::Kind::nothing; });
    for (const Step::Kind kind : kKinds) without([&](const Step& step) { return step.kind == kind; });
    for (std::uint64_t number = 1; number <= kMostProcesses; ++number)
      without([&](const Step& step) { return step.process == number; });
    for (std::size_t protocol = 1; protocol <= kMostProtocols; ++protocol)
      without([&](const Step& step) { return step.protocol == protocol; });
    for (std::size_t length = steps_.size() / 2; length != 0; length /= 2) {
      while (without_runs(length) && length == 1) {
      }
    }
    return {numbers_of(steps_), !spent(), kept_};
  }

 private:
  static Steps numbers_of(const std::vector<Step>& steps) {
    Steps numbers;
    for (const Step& step : steps) numbers.push_back(step.number);
    return numbers;
  }
  bool spent() const { return runs_ == Shortened::kMostRuns || kept_ >= most_kept_; }

  // Those that were run until it failed.
  void keep(const Result& failed) { steps_ = failed.steps; }

  bool fails(const std::vector<Step>& steps) {
    if (spent()) return false;
    ++runs_;
    program_.only = numbers_of(steps);
    const Result result = run_(program_);
    if (result.kept) ++kept_;
    if (result.problem != problem_) return false;
    keep(result);
    return true;
  }

  template <class Which>
  void without(Which which) {
    std::vector<Step> rest;
    std::remove_copy_if(steps_.begin(), steps_.end(), std::back_inserter(rest), which);
    if (rest.size() != steps_.size()) fails(rest);
  }

  // From the end on: what comes late is often but a consequence. True if any were left out.
  bool without_runs(std::size_t length) {
    bool any = false;
    for (std::size_t end = steps_.size(); end != 0;) {
      const std::size_t begin = end - std::min(length, end);
      std::vector<Step> rest(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(begin));
      rest.insert(rest.end(), steps_.begin() + static_cast<std::ptrdiff_t>(end), steps_.end());
      any |= fails(rest);
      end = std::min(begin, steps_.size());
    }
    return any;
  }

  const Runner run_;
  Program program_;
  const std::string problem_;
  std::vector<Step> steps_;
  std::uint64_t runs_ = 0;
  const std::uint64_t most_kept_;
  std::uint64_t kept_ = 0;
};

}  // namespace

Shortened shorten(const Program& program, const Result& failed, Runner run, std::uint64_t most_kept) {
  return Shortening(program, failed, std::move(run), most_kept).shorten();
}

}  // namespace hamlyn::simulation
