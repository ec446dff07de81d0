#include "test/simulation/books/run.h"

#include <memory>

#include "test/simulation/books/mix.h"

namespace hamlyn::simulation {

namespace {

constexpr int kPatience = 5000;  // turns in which a run must come to rest
constexpr std::size_t kAll = 100000;

void act(World& world, const Mix& mix, Process& process, Step::Kind kind) {
  sim::Generator& chance = world.chance();
  switch (kind) {
    case Step::Kind::nothing:
      return;
    case Step::Kind::start:
      return mix.any_operation(chance).start(process);
    case Step::Kind::run:
      world.run(process);
      return;
    case Step::Kind::read: {
      interface::Queue& queue = *process.queues[chance.below(2)];
      world.read(process, queue, chance.between(1, 20));
      return;
    }
    case Step::Kind::look:
      for (const auto& operation : world.operations()) operation->step(process);
      return;
    case Step::Kind::wait:
      return world.pass(chance.between(1, chance.one_in(2) ? 10 : 200));
    case Step::Kind::links:
      return world.keep_links(process, false);
    case Step::Kind::cut:
      return world.cut_any(process);
    case Step::Kind::stop:
      return world.stop(process);
    case Step::Kind::death:
      return world.kill(process);
    case Step::Kind::restart:
      return world.restart(process);
    case Step::Kind::partition:
      return world.part();
    case Step::Kind::comes:
      return world.come();
  }
}

// One process does one thing, or a fault strikes it.
void step(World& world, const Mix& mix, Step& step) {
  world.begin_step(step.number);
  Process& process = world.any_living();
  step.process = process.number();
  const std::uint64_t dice = world.chance().below(1000);
  if (process.stopped) {
    if (dice >= 200 || world.now() < process.stopped_until) return;
    step.kind = Step::Kind::stop;
    return world.go_on(process);
  }
  step.kind = mix.kind_of(dice, world.chance());
  act(world, mix, process, step.kind);
  if (!process.alive) return;
  for (const auto& operation : world.operations()) operation->check(process);
}

void check(World& world) {
  for (const auto& process : world.processes()) {
    if (process->alive) process->check();
  }
}

// One turn of a process that does all that it can. True if anything moved.
bool turn(World& world, Process& process) {
  if (process.stopped) world.go_on(process);
  world.keep_links(process, true);
  bool moved = world.run(process);
  for (interface::Queue* queue : process.queues) moved |= world.read(process, *queue, kAll);
  for (const auto& operation : world.operations()) operation->step(process);
  for (const auto& operation : world.operations()) {
    moved |= operation->end(process);
    operation->check(process);
  }
  // What waits for its time is not at rest.
  process.core().expire(world.now());
  return moved || process.core().next_deadline() != interface::Deadlines::kNever;
}

// True if anything that is on its way has arrived.
bool let_arrive(World& world) {
  bool moved = world.net().step();
  world.net().settle();
  if (world.topology() != Topology::hosts) {
    world.pass(1000);
    return moved;
  }
  // Nobody may be silent for so long that others give it up.
  for (int i = 0; i != 4; ++i) {
    world.pass(250);
    for (const auto& process : world.processes()) {
      if (process->alive) moved |= world.run(*process);
    }
  }
  return moved || !world.wire_is_quiet();
}

void come_to_rest(World& world) {
  world.be_kind();
  for (int quiet = 0, turns = 0; quiet < 5; ++turns) {
    demand(turns < kPatience, "it never comes to rest");
    bool moved = let_arrive(world);
    for (const auto& process : world.processes()) {
      if (process->alive) moved |= turn(world, *process);
    }
    check(world);
    quiet = moved ? 0 : quiet + 1;
  }
}

void check_rest(World& world) {
  for (const auto& operation : world.operations()) operation->check_rest();
  for (const auto& process : world.processes()) {
    if (process->alive) process->check_rest();
  }
  check_credits_at_rest(world);
  for (const auto& process : world.processes()) {
    if (process->alive) process->leave();
  }
}

}  // namespace

Result run(const Program& program, Trace::Reader reader) {
  Result result;
  result.seed = program.seed;
  auto kept = std::make_unique<World>(program.seed, std::move(reader));
  World& world = *kept;
  const Mix mix(world, world.chance());
  try {
    const std::size_t count = program.only ? program.only->size() : Program::kSteps;
    result.steps.reserve(count);
    for (std::size_t i = 0; i != count; ++i) {
      Step& now = result.steps.emplace_back();
      now.number = program.only ? (*program.only)[i] : static_cast<std::uint32_t>(i);
      step(world, mix, now);
      world.look_at_mishaps();
      check(world);
      if (program.watch) program.watch(world.counts);
    }
    world.begin_step(Program::kSteps);
    come_to_rest(world);
    check_rest(world);
  } catch (const Overwritten& overwritten) {
    result.problem = overwritten.what();
    result.kept = true;
  } catch (const Violation& violation) {
    result.problem = violation.what();
  }
  result.digest = world.digest();
  result.counts = world.counts;
  result.coverage = world.coverage;
  // To free what was written over may end the program before anybody has heard of it.
  if (result.kept) static_cast<void>(kept.release());
  return result;
}

}  // namespace hamlyn::simulation
