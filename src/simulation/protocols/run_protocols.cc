#include "simulation/protocols/run_protocols.h"

#include <algorithm>

#include "library/engine.h"
#include "simulation/protocols/part.h"
#include "simulation/protocols/stage.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint64_t kRun = 20'000'000;  // nanoseconds, until nobody begins anything new

Host::Rules rules_of(std::uint64_t seed) {
  sim::Generator chance(seed);
  Host::Rules rules;
  rules.weather.least_delay = chance.between(100, 2000);
  rules.weather.most_delay = chance.one_in(2) ? rules.weather.least_delay : chance.between(2000, 100'000);
  rules.weather.mtu = 64 * chance.between(2, chance.one_in(3) ? 6 : 128);
  rules.weather.window = chance.between(2, 40);
  rules.weather.reply_window = chance.between(1, 12);
  rules.refuse_one_in = chance.one_in(4) ? 8 : 0;
  return rules;
}

class ProtocolRun {
 public:
  ProtocolRun(std::uint64_t seed, Trace::Reader reader)
      : host_(seed, rules_of(seed), std::move(reader)), stage_(host_) {
    for (const auto make : {make_datagrams, make_streams, make_tagged_writes}) books_.push_back(make(stage_));
    // Memory is lent within a host, whose links keep the order.
    if (host_.in_order()) books_.push_back(make_loans(stage_));
    for (std::uint64_t left = host_.chance().between(2, 4); left != 0; --left) come();
    if (!host_.chance().one_in(4)) {
      for (std::uint64_t left = host_.chance().between(1, 5); left != 0; --left) expect_fault();
    }
    host_.after(kRun, [this] { end(); });
  }

  Result run(std::uint64_t seed) {
    host_.run();
    if (host_.problem().empty()) {
      for (const auto& book : books_) book->check();
    }
    stage_.counts.deaths = host_.deaths;
    stage_.counts.cuts = host_.cuts;
    stage_.counts.stops = host_.stops;
    stage_.counts.refusals = host_.refusals;
    Result result;
    result.seed = seed;
    result.digest = host_.digest();
    result.counts = stage_.counts;
    result.problem = host_.problem();
    return result;
  }

 private:
  void come() {
    host_.come([this](Inhabitant& me) { live(me); });
  }

  // The program of each process.
  void live(Inhabitant& me) {
    Manager manager(Manager::Options{});
    {
      std::vector<std::unique_ptr<Part>> parts;
      for (const auto& book : books_) parts.push_back(book->come(manager));
      while (me.alive && !stage_.ending) {
        parts[host_.chance().below(parts.size())]->act();
        rest(manager);
      }
      come_to_rest(me, manager, parts);
    }
    if (me.alive) check_left(manager);
  }
  void rest(Manager& manager) {
    switch (host_.chance().below(4)) {
      case 0:
        return host_.pause(host_.chance().below(20'000));
      case 1:
        manager.wait(std::chrono::nanoseconds{host_.chance().below(30'000)});
        return;
      case 2:
        manager.poll();
        return;
      default:
        return;
    }
  }
  // While anybody sends, or something is on its way.
  void come_to_rest(const Inhabitant& me, Manager& manager, const std::vector<std::unique_ptr<Part>>& parts) {
    int quiet = 0;
    for (int turns = 0; me.alive && quiet < 5; ++turns) {
      bool more = stage_.senders != 0;
      for (const auto& each : parts) {
        more |= each->stop_sending();
        more |= each->take_all();
      }
      while (manager.poll()) more = true;
      quiet = more ? 0 : quiet + 1;
      host_.pause(200'000);
      stage_.demand(turns < 2000, "something is never over");
      if (!host_.problem().empty()) return;
    }
    // Nobody leaves before all are here, so that nothing ends because of that.
    ++resting_;
    while (me.alive && resting_ < living()) host_.pause(200'000);
  }
  int living() const {
    return static_cast<int>(
        std::ranges::count_if(host_.inhabitants(), [](const auto& each) { return each->alive; }));
  }
  // When all that was made from it has gone, a manager has nothing but what it was made with.
  void check_left(Manager& manager) {
    const interface::CounterPage& counters = manager.interface().engine().core().counters();
    stage_.demand(counters.slots == 0, "a slot is left");
    stage_.demand(counters.queues == 1, "a queue is left");
    stage_.demand(counters.termini == 1, "a terminus is left");
    stage_.demand(counters.areas_bytes == 0, "an area is left");
  }

  void expect_fault() {
    host_.after(host_.chance().below(kRun), [this] { strike(); });
  }
  void strike() {
    sim::Generator& chance = host_.chance();
    Inhabitant& one = any();
    Inhabitant& other = any();
    const std::uint64_t dice = chance.below(100);
    if (dice < 35) {
      if (&one != &other) host_.cut(one, other, chance.one_in(2) ? 0 : chance.between(1, 30));
    } else if (dice < 65) {
      if (living() > 2) host_.kill(one);
    } else if (dice < 85) {
      host_.stop(one);
      host_.after(chance.below(2'000'000), [this, &one] { host_.go_on(one); });
    } else if (host_.inhabitants().size() < 6 && !stage_.ending) {
      come();
    }
  }
  Inhabitant& any() { return host_.inhabitant(1 + host_.chance().below(host_.inhabitants().size())); }
  void end() {
    stage_.ending = true;
    for (const auto& each : host_.inhabitants()) host_.go_on(*each);
  }

  Host host_;
  Stage stage_;
  std::vector<std::unique_ptr<Book>> books_;
  int resting_ = 0;
};

}  // namespace

Result run_protocols(std::uint64_t seed, Trace::Reader reader) {
  return std::make_unique<ProtocolRun>(seed, std::move(reader))->run(seed);
}

}  // namespace hamlyn::simulation
