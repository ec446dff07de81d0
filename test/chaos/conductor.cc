#include "test/chaos/conductor.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <string_view>

#include "test/chaos/flatness.h"

namespace hamlyn::chaos {
namespace {

using namespace std::chrono_literals;

constexpr auto kTick = 5ms;
constexpr std::uint32_t kMostPerTick = 50;      // ms
constexpr std::uint32_t kOwnPause = 1000;       // ms: the driver itself was stopped, and maybe everybody
constexpr std::int64_t kRestPatience = 60'000;  // ms of the driver's ticks, for rest, and for leaving
constexpr std::int64_t kFlatPatience = 10'000;
constexpr auto kCalm = 1s;  // before the chaos, and so often at most
constexpr int kCalmTimes = 60;
constexpr std::int64_t kMourning = 2'000;
// What somebody asks of a new daemon may have to wait until the clients of the old one have had their time,
// which is 2 s.
constexpr std::int64_t kDaemonPause = 4'000;

// What survivors may have more than before. A link may stand in a longer ring than before, or not yet have
// ended.
constexpr std::uint64_t kMoreDescriptors = 4;  // of one process
constexpr std::uint64_t kMoreThreads = 1;
#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kMoreKib = std::uint64_t{1} << 20;  // the sanitizer keeps what was freed
#else
constexpr std::uint64_t kMoreKib = 4096;
#endif

}  // namespace

Conductor::Conductor(const Plan& plan)
    : plan_(plan),
      ledger_(make_ledger()),
      chance_(plan.seed),
      host_(plan.daemon, plan.users),
      cast_(make_cast(plan.processes, plan.users)),
      held_(cast_.size()) {
  ::setpriority(PRIO_PROCESS, 0, -10);  // where it may: so that it strikes when it means to
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);   // whatever a player leaves behind is found
}

void Conductor::run(const std::function<void(const Look&)>& tell) {
  for (std::uint32_t seat = 0; seat < cast_.size(); ++seat) start(seat);
  calm();
  first_ = look(0, false);
  tell(first_);
  for (std::uint32_t passed = 0; passed < plan_.seconds && ledger_.faults == 0;) {
    const std::uint32_t time = std::min(plan_.every, plan_.seconds - passed);
    run_for(std::chrono::seconds{time}, true);
    rest();
    passed += time;
    const Look now = settled_look(passed);
    tell(now);
    medians_.push_back(now.median);
  }
  judge_latency();
  leave();
}

// Until something has come of every role: what sends nothing keeps every promise.
void Conductor::calm() {
  std::string silent;
  for (int times = 0; times != kCalmTimes && ledger_.faults == 0; ++times) {
    run_for(kCalm, false);
    rest();
    if ((silent = silent_role()).empty()) return;
  }
  if (ledger_.faults == 0) ledger_.fault("nothing has come of any of the role " + silent);
}

std::string Conductor::silent_role() const {
  std::map<std::string_view, std::uint64_t> came;
  for (std::uint32_t seat = 0; seat < cast_.size(); ++seat) {
    if (!cast_[seat].partners.empty() && cast_[seat].sends) came[cast_[seat].role] += judge_.came(seat);
  }
  for (const auto& [role, letters] : came) {
    if (letters == 0) return std::string(role);
  }
  return {};
}

void Conductor::start(std::uint32_t seat) {
  Seat& its = ledger_.seats[seat];
  its.quiet = false;
  std::strncpy(its.role.data(), cast_[seat].role, its.role.size() - 1);
  const std::uint64_t seed = plan_.seed * 0x9E3779B97F4A7C15u + seat * 1000003u + its.life;
  held_[seat] = {std::make_unique<Player>(ledger_, cast_[seat], seat, host_.socket(), seed)};
  ++done_.starts;
}

// Whoever has ended is counted, and another one takes the seat.
void Conductor::reap() {
  for (std::uint32_t seat = 0; seat < held_.size(); ++seat) {
    if (!held_[seat].player) continue;
    const auto status = held_[seat].player->ended();
    if (!status) continue;
    const bool as_wanted = *status == Player::kSorry || (leaving_ && *status == 0) ||
                           (held_[seat].killed && *status == 128 + SIGKILL);
    if (!as_wanted)
      ledger_.fault(fmt::format("seat {} ({}) ended with status {}", seat, cast_[seat].role, *status));
    ledger_.seats[seat].interface = 0;
    ++ledger_.seats[seat].life;
    judge_.hurt(seat);
    graves_.push_back({std::move(held_[seat].player), kMourning});
    held_[seat] = {};
    if (!leaving_) start(seat);
  }
}

// Not at once: what /proc shows of a process is taken down by its last threads and by whoever waits for it,
// and the kernel has the one spin until the other is done, which may have been preempted in the middle of
// that. At the driver's priority that takes seconds.
void Conductor::bury(std::uint32_t passed) {
  for (Grave& grave : graves_) grave.kept_for -= passed;
  while (!graves_.empty() && graves_.front().kept_for <= 0) graves_.pop_front();
}

// Continues those whose time has come.
void Conductor::carry_on(std::uint32_t passed) {
  for (std::uint32_t seat = 0; seat < held_.size(); ++seat) {
    Held& held = held_[seat];
    if (held.stopped_for == 0) continue;
    judge_.hurt(seat, held.for_long);
    held.stopped_for = std::max<std::int64_t>(0, held.stopped_for - passed);
    if (held.stopped_for == 0) held.player->signal(SIGCONT);
  }
}

// Gives the ms of the driver's own time: those in which it was held up do not count.
std::uint32_t Conductor::tick() {
  pause(kTick);
  const auto now = Clock::now();
  const auto real = std::chrono::duration_cast<std::chrono::milliseconds>(now - ticked_).count();
  ticked_ = now;
  if (real > kOwnPause) judge_.hurt_all(true);
  const auto passed = static_cast<std::uint32_t>(std::clamp<std::int64_t>(real, 1, kMostPerTick));
  reap();
  bury(passed);
  carry_on(passed);
  judge_.look(passed, [&](std::uint32_t seat) { return held_[seat].stopped_for != 0 || held_[seat].killed; });
  until_strike_ -= passed;
  until_daemon_strike_ -= passed;
  if (!host_.running()) throw std::runtime_error("the daemon has ended: " + host_.log());
  return passed;
}

void Conductor::run_for(std::chrono::seconds time, bool chaos) {
  ledger_.chaos = chaos;
  ledger_.phase = Phase::run;
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  for (std::int64_t passed = 0; passed < whole && ledger_.faults == 0;) {
    passed += tick();
    if (!chaos || until_strike_ > 0) continue;
    strike();
    until_strike_ = static_cast<std::int64_t>(5 + chance(100));
  }
}

void Conductor::strike() {
  const auto seat = static_cast<std::uint32_t>(chance(held_.size()));
  const std::uint64_t what = chance(100);
  if (plan_.daemon_faults && what < 3) {
    strike_daemon();
  } else if (what < 60) {
    if (cast_[seat].may_die) kill(seat);
  } else {
    if (cast_[seat].may_stop) stop(seat);
  }
}

void Conductor::strike_daemon() {
  if (until_daemon_strike_ > 0) return;
  until_daemon_strike_ = kDaemonPause;
  judge_.hurt_all(false);
  if (chance(2) == 0) {
    host_.kill_and_restart();
    ++done_.daemon_kills;
  } else {
    if (!host_.upgrade()) ledger_.fault("the daemon does not end in good order");
    ++done_.upgrades;
  }
}

// Mostly for a moment, now and then for longer than a link lasts.
void Conductor::stop(std::uint32_t seat) {
  if (held_[seat].stopped_for != 0 || held_[seat].killed) return;
  const std::uint64_t most =
      chance(30) == 0 ? 2 * static_cast<std::uint64_t>(std::chrono::milliseconds(kStall).count()) : 600;
  held_[seat].stopped_for = static_cast<std::int64_t>(1 + chance(most));
  held_[seat].for_long = held_[seat].stopped_for > std::chrono::milliseconds(kStall).count() / 2;
  judge_.hurt(seat, held_[seat].for_long);
  held_[seat].player->signal(SIGSTOP);
  ++done_.stops;
}

// Also one that is stopped, which it does not notice.
void Conductor::kill(std::uint32_t seat) {
  if (held_[seat].killed) return;
  judge_.hurt(seat);
  held_[seat].player->signal(SIGKILL);
  held_[seat].killed = true;
  held_[seat].stopped_for = 0;
  ++done_.kills;
}

bool Conductor::all_rest() const noexcept {
  for (std::uint32_t seat = 0; seat < held_.size(); ++seat) {
    if (held_[seat].stopped_for != 0 || held_[seat].killed) return false;
    if (cast_[seat].sends && !ledger_.seats[seat].quiet) return false;
  }
  return judge_.all_over();
}

void Conductor::continue_all() {
  for (std::uint32_t seat = 0; seat < held_.size(); ++seat) {
    if (held_[seat].stopped_for == 0) continue;
    judge_.hurt(seat, held_[seat].for_long);
    held_[seat].stopped_for = 0;
    held_[seat].player->signal(SIGCONT);
  }
}

void Conductor::rest() {
  ledger_.phase = Phase::rest;
  continue_all();
  for (std::int64_t left = kRestPatience; !all_rest() && left > 0; left -= kTick.count()) {
    if (ledger_.faults != 0) return;  // of what nobody knows what comes of it
    tick();
  }
  for (std::uint32_t seat = 0; seat < held_.size(); ++seat) {
    if (cast_[seat].sends && !ledger_.seats[seat].quiet)
      ledger_.fault(fmt::format("seat {} ({}) does not come to rest; its last call was answered {}", seat,
                                cast_[seat].role, name(ledger_.seats[seat].last)));
  }
}

Look Conductor::look(std::uint32_t seconds, bool chaos) {
  Look now;
  now.seconds = seconds;
  now.daemon = belongings_of(host_.pid());
  for (std::size_t seat = 0; seat < held_.size(); ++seat) {
    if (!cast_[seat].may_die && held_[seat].player) now.steady += belongings_of(held_[seat].player->pid());
  }
  now.machine_shared_kib = machine_shared_kib();
  const Latency& latency = ledger_.latency[chaos ? 1 : 0];
  now.median = latency.microseconds(0.5);
  now.p99 = latency.microseconds(0.99);
  return now;
}

// What is compared with the first look is looked at until it is flat, or has had its time.
Look Conductor::settled_look(std::uint32_t seconds) {
  const auto steady = static_cast<std::size_t>(
      std::count_if(cast_.begin(), cast_.end(), [](const Part& part) { return !part.may_die; }));
  const auto within = [](const Belongings& before, const Belongings& now, std::size_t processes) {
    return now.descriptors <= before.descriptors + kMoreDescriptors * processes &&
           now.threads <= before.threads + kMoreThreads * processes &&
           now.kib <= before.kib + kMoreKib * processes;
  };
  Look now = look(seconds, true);
  for (std::int64_t left = kFlatPatience; left > 0 && ledger_.faults == 0; left -= kTick.count()) {
    if (within(first_.steady, now.steady, steady) && within(first_.daemon, now.daemon, 1)) break;
    tick();
    now = look(seconds, true);
  }
  compare("the survivors", first_.steady, now.steady, steady);
  compare("the daemon", first_.daemon, now.daemon, 1);
  ledger_.latency[1].clear();
  return now;
}

void Conductor::compare(const char* whose, const Belongings& before, const Belongings& now,
                        std::size_t processes) {
  const auto rule = [&](const char* what, std::uint64_t was, std::uint64_t is, std::uint64_t more) {
    if (is > was + more * processes)
      ledger_.fault(fmt::format("not flat: {} of {}: {} before, {} now, {} more may be", what, whose, was, is,
                                more * processes));
  };
  rule("descriptors", before.descriptors, now.descriptors, kMoreDescriptors);
  rule("threads", before.threads, now.threads, kMoreThreads);
  rule("memory (KiB)", before.kib, now.kib, kMoreKib);
}

void Conductor::judge_latency() {
  const double times = slower(medians_);
  if (times > kMostSlower)
    ledger_.fault(fmt::format("not flat: round trips take {:.1f} times as long as at first", times));
}

// Everybody goes by itself; nothing is left.
void Conductor::leave() {
  leaving_ = true;
  continue_all();
  ledger_.phase = Phase::leave;
  const auto some_left = [&] {
    return std::any_of(held_.begin(), held_.end(), [](const Held& held) { return held.player != nullptr; });
  };
  for (std::int64_t left = kRestPatience; some_left() && left > 0; left -= kTick.count()) tick();
  for (std::uint32_t seat = 0; seat < held_.size(); ++seat) {
    if (held_[seat].player) ledger_.fault(fmt::format("seat {} ({}) does not leave", seat, cast_[seat].role));
    held_[seat].player.reset();
  }
  graves_.clear();
  if (const std::string wrong = host_.end(); !wrong.empty()) ledger_.fault(wrong);
  if (::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD) ledger_.fault("a process is left");
}

}  // namespace hamlyn::chaos
