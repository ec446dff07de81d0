#include "simulation/run.h"

#include <memory>

namespace hamlyn::simulation {

namespace {

constexpr int kSteps = 1200;
constexpr int kPatience = 100000;  // turns in which a run must come to rest
constexpr std::size_t kAll = 100000;

// The process that did something; null if none did.
Process* step(World& world) {
  sim::Generator& chance = world.chance();
  Process& process = world.any();
  const std::uint64_t dice = chance.below(1000);
  if (!process.alive) return nullptr;
  if (process.stopped) {
    if (dice < 200) world.go_on(process);
    return nullptr;
  }
  if (dice < 450) {
    world.operations()[chance.below(world.operations().size())]->start(process);
  } else if (dice < 650) {
    process.core().run();
  } else if (dice < 780) {
    world.read(process, *process.queues[chance.below(2)], chance.between(1, 20));
  } else if (dice < 850) {
    for (const auto& operation : world.operations()) operation->step(process);
  } else if (dice < 930) {
    world.net().pass(chance.between(1, chance.one_in(2) ? 10 : 200));
  } else if (dice < 985) {
    world.keep_links(process, false);
  } else if (dice < 993) {
    world.cut_any(process);
  } else if (dice < 997) {
    world.stop(process);
  } else if (dice < 999) {
    world.kill(process);
  } else {
    world.come();
  }
  return &process;
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
  bool moved = process.core().run();
  for (interface::Queue* queue : process.queues) moved |= world.read(process, *queue, kAll);
  for (const auto& operation : world.operations()) operation->step(process);
  for (const auto& operation : world.operations()) {
    moved |= operation->end(process);
    operation->check(process);
  }
  // What waits for its time is not at rest.
  process.core().expire(world.net().now());
  return moved || process.core().next_deadline() != interface::Deadlines::kNever;
}

void come_to_rest(World& world) {
  for (int quiet = 0, turns = 0; quiet < 5; ++turns) {
    demand(turns < kPatience, "it never comes to rest");
    bool moved = world.net().step();
    world.net().settle();
    world.net().pass(1000);
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

Result run(std::uint64_t seed, Trace::Reader reader) {
  Result result;
  result.seed = seed;
  auto kept = std::make_unique<World>(seed, std::move(reader));
  World& world = *kept;
  try {
    for (int i = 0; i < kSteps; ++i) {
      Process* const process = step(world);
      if (process != nullptr && process->alive) {
        for (const auto& operation : world.operations()) operation->check(*process);
      }
      check(world);
    }
    come_to_rest(world);
    check_rest(world);
  } catch (const Violation& violation) {
    result.problem = violation.what();
  }
  result.digest = world.digest();
  result.counts = world.counts;
  // What a fault has written over is not touched again.
  if (!result.problem.empty()) static_cast<void>(kept.release());
  return result;
}

}  // namespace hamlyn::simulation
