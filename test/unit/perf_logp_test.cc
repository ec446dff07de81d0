// LogP parameters of machines whose parameters are known: simulated ones, without noise and with it.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <random>

#include "tool/perf/logp/survey.h"

namespace hamlyn::tool::perf::logp {
namespace {

struct Model {
  double latency, send, receive, gap;
  std::uint32_t under_way;  // at most
};

// Two processors and a network of the LogP model. Each message enters it `gap` behind the one before.
class LogPMachine : public Machine {
 public:
  explicit LogPMachine(const Model& model, double noise = 0, std::uint32_t seed = 1)
      : model_(model), noise_(noise), random_(seed) {}

  double round_trip() override { return noisy(2 * (model_.latency + model_.send + model_.receive)); }
  double computation(double delay) override { return delay; }
  double burst(std::uint32_t length, double delay) override {
    now_ = sent_until_ = answered_until_ = other_free_ = 0;
    replies_.clear();
    for (std::uint32_t i = 0; i != length; ++i) {
      while (replies_.size() == model_.under_way) take(std::max(now_, replies_.front()));
      send();
      now_ += delay;
      if (i >= kUnlooked && !replies_.empty() && replies_.front() <= now_) take(now_);
    }
    return noisy(now_);
  }

 private:
  void take(double from) {
    now_ = from + model_.receive;
    replies_.pop_front();
  }
  void send() {
    now_ += model_.send;
    sent_until_ = std::max(now_, sent_until_ + model_.gap);
    const double there = std::max(sent_until_ + model_.latency, other_free_);
    other_free_ = there + model_.receive + model_.send;
    answered_until_ = std::max(other_free_, answered_until_ + model_.gap);
    replies_.push_back(answered_until_ + model_.latency);
  }
  double noisy(double value) {
    return value * std::uniform_real_distribution<>(1 - noise_, 1 + noise_)(random_);
  }

  Model model_;
  double noise_;
  std::mt19937 random_;
  double now_ = 0, sent_until_ = 0, answered_until_ = 0, other_free_ = 0;
  std::deque<double> replies_;  // moments at which they are here
};

const std::vector<Model> kModels{
    {29'600, 3100, 2900, 30'000, 8},                          // paper 2, table 2
    {45'000, 2700, 5300, 48'000, 8}, {300, 12, 30, 60, 128},  // the network is slower than a processor
    {300, 12, 30, 20, 128},                                   // a processor is slower than the network
    {100, 40, 25, 0.1, 64},          {50, 5, 45, 50, 16},     // both are as fast
    {500, 20, 30, 5000, 32},                                  // a gap of several round trips
};

void expect_found(const Model& model, const Parameters& found, double by) {
  const double gap = std::max(model.gap, model.send + model.receive);
  EXPECT_NEAR(found.send, model.send, by * model.send);
  EXPECT_NEAR(found.receive, model.receive, by * model.receive);
  EXPECT_NEAR(found.gap, gap, by * gap);
  EXPECT_NEAR(found.latency, model.latency, by * model.latency);
  EXPECT_NEAR(found.half_round_trip, model.latency + model.send + model.receive, by * model.latency);
}

TEST(PerfLogP, ParametersOfAMachineAreFoundAgain) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.gap);
    LogPMachine machine(model);
    expect_found(model, parameters_of(survey(machine, plan_for(model.under_way, 1))), 0.02);
  }
}

TEST(PerfLogP, FewRequestsUnderWayAreAGap) {
  for (const std::uint32_t under_way : {1u, 2u, 4u}) {
    const Model model{300, 12, 30, 20, under_way};
    LogPMachine machine(model);
    const Parameters found = parameters_of(survey(machine, plan_for(under_way, 1)));
    EXPECT_NEAR(found.gap, 684.0 / under_way, 7);  // a round trip for so many
    EXPECT_NEAR(found.send, 12, 0.24);
    EXPECT_NEAR(found.receive, 30, 0.6);
  }
}

TEST(PerfLogP, MediansOfANoisyMachineAreFoundAgain) {
  for (std::uint32_t seed = 1; seed != 3; ++seed) {
    for (const Model& model : kModels) {
      // Noise of so long a gap is more than what is to be found beside it.
      if (model.gap > 20 * (model.send + model.receive)) continue;
      SCOPED_TRACE(model.gap);
      LogPMachine machine(model, 0.05, seed);
      const Signature noisy = survey(machine, plan_for(model.under_way, 201));
      expect_found(model, parameters_of(noisy), 0.1);
    }
  }
}

Signature of(std::vector<Curve> curves) { return {.round_trip = 1000, .curves = std::move(curves)}; }
std::string why_not(const Signature& signature) {
  try {
    parameters_of(signature);
  } catch (const NoParameters& none) {
    return none.what();
  }
  return "";
}
Curve flat(double delay, double interval) {
  Curve curve{.delay = delay, .bursts = {}};
  for (std::uint32_t length = 1; length <= 64; length *= 2) curve.bursts.push_back({length, interval});
  return curve;
}

TEST(PerfLogP, ACurveWithoutAPlateauGivesNothing) {
  Curve rising = flat(0, 10);
  for (Burst& burst : rising.bursts) burst.interval = 10.0 * burst.length;
  EXPECT_EQ(
      why_not(of({rising, flat(1000, 1050)})),
      "no plateau: with 0 ns of computation, requests of bursts of 8 and of 64 are 80.0 and 640.0 ns apart");
  Curve knee = flat(0, 10);
  knee.bursts.back().interval = 20;
  EXPECT_NE(why_not(of({knee, flat(1000, 1050)})).find("no plateau"), std::string::npos);
  Curve late = flat(1000, 1050);
  late.bursts.back().interval = 2000;
  EXPECT_NE(why_not(of({flat(0, 10), late})).find("no plateau: with 1000 ns"), std::string::npos);
}

TEST(PerfLogP, ASignatureThatCannotBeGivesNothing) {
  EXPECT_EQ(why_not(of({})), "a signature needs a curve with a delay");
  EXPECT_EQ(why_not(of({flat(0, 10)})), "a signature needs a curve with a delay");
  EXPECT_EQ(why_not(of({flat(0, 3000), flat(1000, 3000)})),
            "the longest computation, 1000 ns, does not fill the gap, 3000 ns");
  EXPECT_NE(why_not(of({flat(0, 10), flat(1000, 1005)})).find("disturbed"), std::string::npos);
  Curve few = flat(0, 10);
  few.bursts.resize(3);
  EXPECT_EQ(why_not(of({few, flat(1000, 1050)})), "a curve needs bursts of four lengths and more");
  EXPECT_EQ(why_not(of({flat(0, 10), flat(1000, 1050)})), "");
}

}  // namespace
}  // namespace hamlyn::tool::perf::logp
