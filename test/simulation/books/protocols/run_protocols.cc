#include "test/simulation/books/protocols/run_protocols.h"

#include <algorithm>

#include "library/engine.h"
#include "protocols/dispatcher.h"
#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

namespace {

// Nanoseconds:
constexpr std::uint64_t kRun = 24'000'000;      // until nobody begins anything new
constexpr std::uint64_t kSilence = 10'000'000;  // after which a peer on another host is dead

// Over several hosts.
void spread(Host::Rules& rules, sim::Generator& chance) {
  constexpr std::uint64_t kMicrosecond = 1000, kMillisecond = 1000 * kMicrosecond;
  const auto one_in = [&](std::uint64_t least) {
    return chance.one_in(3) ? 0 : chance.between(least, 10 * least);
  };
  rules.hosts = chance.between(2, 3);
  rules.wire.least_delay = rules.weather.least_delay;
  rules.wire.most_delay = chance.between(2, 200) * kMicrosecond;
  rules.wire.lost_one_in = one_in(8);
  rules.wire.repeated_one_in = one_in(5);
  rules.wire.not_now_one_in = one_in(3);
  rules.wire.frame = 16384;
  rules.far.frame = rules.wire.frame;
  rules.far.mtu = rules.weather.mtu = std::min(rules.weather.mtu, ofi::kFarMtu);
  rules.far.dead = kSilence;
  rules.far.farewell = 2 * kMillisecond;
  rules.far.resend = kMillisecond;
  rules.far.hello = 100 * kMicrosecond;
  rules.far.acknowledge = 50 * kMicrosecond;
}

Host::Rules rules_of(std::uint64_t seed) {
  sim::Generator chance(seed);
  Host::Rules rules;
  rules.weather.least_delay = chance.between(100, 2000);
  rules.weather.most_delay = chance.one_in(2) ? rules.weather.least_delay : chance.between(2000, 100'000);
  rules.weather.mtu = 64 * chance.between(2, chance.one_in(3) ? 6 : 128);
  rules.weather.window = chance.between(2, 40);
  rules.weather.reply_window = chance.between(1, 12);
  rules.refuse_one_in = chance.one_in(3) ? 6 : 0;
  if (chance.one_in(3)) spread(rules, chance);
  return rules;
}

class ProtocolRun {
 public:
  ProtocolRun(const Program& program, Trace::Reader reader)
      : program_(program), host_(program.seed, rules_of(program.seed), std::move(reader)), stage_(host_) {
    for (const auto make :
         {make_datagrams, make_streams, make_tagged_writes, make_multicasts, make_bulk, make_segments,
          make_sure_swaps, make_records, make_scattered_writes, make_fast_rows})
      books_.push_back(make(stage_));
    host_.on_fault = [this](Fault fault, const Inhabitant& one, const Inhabitant& other) {
      stage_.struck(fault, one.number, other.number);
    };
    // Memory is lent within a host, whose links keep the order.
    if (host_.in_order()) books_.push_back(make_loans(stage_));
    if (host_.topology() != Topology::hosts) books_.push_back(make_mapped_slots(stage_));
    if (host_.chance().one_in(2)) keep_a_few();
    for (std::uint64_t left = host_.chance().between(2, 4); left != 0; --left) come();
    if (!host_.chance().one_in(4)) {
      const std::uint64_t count = host_.chance().between(4, 14);
      for (std::uint32_t i = 0; i != count; ++i) expect_fault(kFaults + i);
    }
    host_.after(kRun, [this] { end(); });
  }

  Result run() {
    host_.run();
    if (host_.problem().empty()) {
      for (const auto& book : books_) book->check();
    }
    Result result;
    result.seed = program_.seed;
    result.digest = host_.digest();
    result.counts = counts();
    result.coverage = stage_.coverage;
    std::ranges::sort(steps_, {}, &Step::number);
    result.steps = std::move(steps_);
    result.problem = host_.problem();
    return result;
  }

 private:
  // The first step is none: what everybody begins with.
  static constexpr std::uint32_t kFaults = Program::kSteps + 1;

  Counts counts() const {
    Counts all = stage_.counts;
    all.deaths = host_.deaths;
    all.cuts = host_.cuts;
    all.stops = host_.stops;
    all.stalls = host_.stalls;
    all.partitions = host_.partitions;
    all.refusals = host_.refusals;
    return all;
  }
  // What hides among everything else shows where it is nearly alone.
  void keep_a_few() {
    for (std::uint64_t few = host_.chance().between(1, 4); books_.size() > few;)
      books_.erase(books_.begin() + static_cast<std::ptrdiff_t>(host_.chance().below(books_.size())));
  }
  void come() {
    host_.come([this](Inhabitant& me) { live(me); });
  }

  // The program of each process.
  void live(Inhabitant& me) {
    auto number = static_cast<std::uint32_t>(me.number) * Program::kTurns;
    stage_.begin_step(me.number, number);
    Manager manager(Manager::Options{});
    {
      std::vector<std::unique_ptr<Part>> parts;
      for (const auto& book : books_) parts.push_back(book->come(manager));
      while (me.alive && !stage_.ending) turn(++number, me, manager, parts);
      stage_.begin_step(me.number, number + 1);
      come_to_rest(me, manager, parts);
    }
    if (me.alive) check_left(manager);
  }
  // One that is left out takes its time all the same.
  void turn(std::uint32_t number, const Inhabitant& me, Manager& manager,
            const std::vector<std::unique_ptr<Part>>& parts) {
    stage_.begin_step(me.number, number);
    if (!program_.has(number)) return host_.pause(1 + stage_.chance().below(20'000));
    const std::size_t which = stage_.chance().below(parts.size());
    steps_.push_back({number, Step::Kind::start, me.number, which + 1});
    parts[which]->act();
    watch();
    rest(manager);
  }
  void watch() {
    if (!program_.watch || !host_.problem().empty()) return;
    try {
      program_.watch(counts());
    } catch (const Violation& violation) {
      host_.fail(violation.what());
    }
  }
  void rest(Manager& manager) {
    sim::Generator& chance = stage_.chance();
    switch (chance.below(4)) {
      case 0:
        return host_.pause(chance.below(20'000));
      case 1:
        static_cast<void>(manager.wait(std::chrono::nanoseconds{chance.below(30'000)}));  // whatever comes
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
  // When all that was made from it has gone, a manager has nothing but what it was made with, and the senders
  // of streams that were given up and may be answered yet.
  void check_left(Manager& manager) {
    const interface::CounterPage& counters = manager.interface().engine().counters();
    const std::size_t leaving = manager.inside().leaving();
    stage_.demand(counters.slots == leaving, "a slot is left");
    stage_.demand(counters.queues == 1, "a queue is left");
    stage_.demand(counters.termini == 1 + leaving, "a terminus is left");
    stage_.demand(leaving != 0 || counters.areas_bytes == 0, "an area is left");
  }

  void expect_fault(std::uint32_t number) {
    stage_.begin_step(kNobody, number);
    if (!program_.has(number)) return;
    host_.after(stage_.chance_of(kNobody).below(kRun), [this, number] { strike(number); });
  }
  void strike(std::uint32_t number) {
    stage_.begin_step(kNobody, number);
    sim::Generator& chance = stage_.chance_of(kNobody);
    Inhabitant& one = any(chance);
    Inhabitant& other = any(chance);
    const std::uint64_t dice = chance.below(100);
    Step& step = steps_.emplace_back();
    step.number = number;
    if (dice < 30) {
      step.kind = Step::Kind::cut;
      if (&one != &other) host_.cut(one, other, chance.one_in(2) ? 0 : chance.between(1, 30));
    } else if (dice < 55) {
      step.kind = Step::Kind::death;
      if (living() > 2) host_.kill(one);
    } else if (dice < 70) {
      step.kind = Step::Kind::stop;
      host_.stop(one);
      host_.after(chance.below(2'000'000), [this, &one] { host_.go_on(one); });
    } else if (dice < 83) {
      step.kind = Step::Kind::stop;
      host_.stall(one);
      host_.after(kSilence + chance.below(kSilence / 2), [this, &one] { host_.go_on(one); });
    } else if (dice < 95 && host_.topology() == Topology::hosts) {
      step.kind = Step::Kind::partition;
      host_.part(one, elsewhere(one), chance.one_in(2),
                 chance.below(chance.one_in(2) ? kSilence / 2 : 2 * kSilence));
    } else if (host_.inhabitants().size() < 6 && !stage_.ending) {
      step.kind = Step::Kind::comes;
      come();
    }
  }
  Inhabitant& any(sim::Generator& chance) {
    return host_.inhabitant(1 + chance.below(host_.inhabitants().size()));
  }
  // Somebody of another host; the first two are apart.
  Inhabitant& elsewhere(const Inhabitant& one) {
    for (const auto& each : host_.inhabitants()) {
      if (each->host != one.host) return *each;
    }
    return host_.inhabitant(2);
  }
  void end() {
    stage_.ending = true;
    host_.be_kind();
    for (const auto& each : host_.inhabitants()) host_.go_on(*each);
  }

  static constexpr std::uint64_t kNobody = 0;

  const Program program_;
  Host host_;
  Stage stage_;
  std::vector<std::unique_ptr<Book>> books_;
  std::vector<Step> steps_;  // that were run
  int resting_ = 0;
};

}  // namespace

Result run_protocols(const Program& program, Trace::Reader reader) {
  return std::make_unique<ProtocolRun>(program, std::move(reader))->run();
}

}  // namespace hamlyn::simulation
