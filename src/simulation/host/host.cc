#include "simulation/host/host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "library/engine.h"
#include "simulation/host/simulated_services.h"

namespace hamlyn::simulation {

namespace {

constexpr std::uint64_t kLook = 1000;                // nanoseconds that a look at the clock takes
constexpr std::uint64_t kPatience = 400'000;         // turns in which all must come to their ends
constexpr std::uint64_t kTurnsUnseen = 8;            // while others run
constexpr std::uint64_t kLongest = 600'000'000'000;  // and nanoseconds

// The epoch of virtual time: no deadline may be the clock's own beginning.
constexpr std::chrono::hours kEpoch{1000};

std::uint64_t in_virtual_time(std::optional<library::Setting::Time> until) noexcept {
  if (!until) return ~std::uint64_t{0};
  const auto left = (*until - library::Setting::Time(kEpoch)).count();
  return left > 0 ? static_cast<std::uint64_t>(left) : 0;
}

}  // namespace

Host::Host(std::uint64_t seed, const Rules& rules, Trace::Reader reader)
    : rules_(rules),
      trace_(std::move(reader)),
      chance_(seed),
      keys_(chance_.next()),
      net_(chance_.next(), rules.weather),
      wire_(rules.hosts == 1 ? nullptr : std::make_unique<RoughNet>(chance_.next(), rules.wire)),
      topology_(rules.hosts != 1  ? Topology::hosts
                : net_.in_order() ? Topology::in_order
                                  : Topology::overtaking),
      troubled_(rules.wire.lost_one_in != 0) {
  library::simulation = this;
  if (wire_ == nullptr) return;
  net_.pass(wire_->now());  // one time for both
  wire_->on_mishap = [this](RoughNet::Mishap mishap, std::uint64_t from, std::uint64_t to) {
    constexpr Fault kFault[] = {Fault::lost, Fault::repeated, Fault::overtaken};
    struck(kFault[static_cast<std::size_t>(mishap)], inhabitant(port_owners_[from]),
           inhabitant(port_owners_[to]));
  };
}

Host::~Host() { library::simulation = nullptr; }

// --- threads

class Host::Beside final : public library::Task {
 public:
  Beside(Host& host, Thread& thread) noexcept : host_(host), thread_(thread) {}
  ~Beside() override {
    if (!thread_.fiber.over()) {
      host_.running_->joins = &thread_;
      host_.step_aside();
    }
    thread_.awaited = false;
  }

 private:
  Host& host_;
  Thread& thread_;
};

Inhabitant& Host::come_at(std::uint64_t host, std::function<void(Inhabitant&)> main) {
  inhabitants_.push_back(std::make_unique<Inhabitant>(host << kHostShift | (inhabitants_.size() + 1)));
  Inhabitant& process = *inhabitants_.back();
  if (host != 0) {
    process.host = host - 1;
  } else if (wire_ != nullptr) {  // the first two are apart
    process.host = process.number <= 2 ? process.number - 1 : chance_.below(rules_.hosts);
  }
  threads_.push_back(std::make_unique<Thread>(process, true, [this, &process, body = std::move(main)] {
    try {
      body(process);
    } catch (const std::exception& error) {
      if (process.alive) fail(std::string("a process has ended by what it did not catch: ") + error.what());
    }
    process.own.reset();
  }));
  return process;
}

std::unique_ptr<library::Task> Host::start(std::function<void()> main) {
  threads_.push_back(std::make_unique<Thread>(here(), false, std::move(main)));
  return std::make_unique<Beside>(*this, *threads_.back());
}

bool Host::ready(const Thread& thread, bool look) const noexcept {
  if (thread.fiber.over() || thread.process->stopped) return false;
  if (thread.joins != nullptr) return thread.joins->fiber.over();
  const bool told = thread.word == nullptr ? thread.until == kNever : thread.word->load() != thread.value;
  const bool came = thread.arrivals != kNever &&
                    (thread.arrivals != thread.process->arrivals || far_next(*thread.process) <= time());
  if (told || came || thread.until <= time() || (thread.main && !thread.process->alive)) return true;
  // Readable descriptors were made so by another thread here, so they are the same in every run.
  return look && !thread.descriptors.empty() &&
         ::poll(thread.descriptors.data(), thread.descriptors.size(), 0) > 0;
}

void Host::run(Thread& thread) {
  thread.joins = nullptr;
  running_ = &thread;
  thread.fiber.run();
  running_ = nullptr;
}

void Host::step_aside() noexcept { running_->fiber.step_aside(); }

void Host::run() {
  std::vector<Thread*> able;
  while (!threads_.empty()) {
    if (++turns_ > kPatience || time() > kLongest) {
      fail("it never comes to its end");
      if (turns_ > 2 * kPatience) return;  // not even the dead do
    }
    if (!problem_.empty()) {
      for (const auto& each : inhabitants_) end_links(*each);
    }
    do_events();
    if (topology_ == Topology::overtaking) look_at_overtaken();
    able.clear();
    // A look at descriptors costs a call of the kernel, and nobody hears of what comes there at once.
    for (const bool look : {turns_ % kTurnsUnseen == 0, true}) {
      for (const auto& thread : threads_) {
        if (ready(*thread, look)) able.push_back(thread.get());
      }
      if (!able.empty()) break;
    }
    if (!able.empty()) {
      run(*able[chance_.below(able.size())]);
    } else if (!wait_for_something()) {
      fail("everybody waits, and nothing is under way");
      if (turns_ > 2 * kPatience) return;
    }
    std::erase_if(threads_, [](const auto& thread) { return thread->fiber.over() && !thread->awaited; });
  }
}

void Host::pass(std::uint64_t nanoseconds) noexcept {
  net_.pass(nanoseconds);
  if (wire_ != nullptr) wire_->pass(nanoseconds);
}

void Host::look_at_overtaken() {
  for (const auto& process : inhabitants_) {
    for (auto& [peer, end] : process->links) {
      if (end.near != nullptr && end.near->overtaken() != std::exchange(end.overtaken, end.near->overtaken()))
        struck(Fault::overtaken, *process, inhabitant(peer));
    }
  }
}

bool Host::wait_for_something() {
  std::uint64_t next = net_.next_arrival().value_or(kNever);
  if (!events_.empty()) next = std::min(next, events_.top().time);
  for (const auto& thread : threads_) {
    if (thread->process->stopped || thread->joins != nullptr || thread->fiber.over()) continue;
    next = std::min(next, thread->until);
    if (thread->arrivals != kNever) next = std::min(next, far_next(*thread->process));
  }
  if (next == kNever) {
    turns_ += 1000;
    return false;
  }
  pass(next > time() ? next - time() : 1);
  return true;
}

void Host::do_events() {
  while (!events_.empty() && events_.top().time <= time()) {
    const Event event = events_.top();
    events_.pop();
    event.what();
  }
}

void Host::after(std::uint64_t nanoseconds, std::function<void()> what) {
  events_.push({time() + nanoseconds, next_sequence_++, std::move(what)});
}

library::Setting::Time Host::now() noexcept {
  pass(kLook);
  return Time(kEpoch) + std::chrono::nanoseconds{static_cast<std::int64_t>(time())};
}

void Host::sleep(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                 std::optional<Time> until) noexcept {
  Thread& thread = *running_;
  if (word.load() != value) return;
  thread.word = &word;
  thread.value = value;
  thread.arrivals = thread.process->arrivals;
  thread.until = in_virtual_time(until);
  send_before_sleep(*thread.process);
  step_aside();
  ++thread.process->wakes;
  thread.word = nullptr;
  thread.until = kNever;
  // The dead wait for nothing.
  if (thread.main && !thread.process->alive && thread.process->services != nullptr)
    thread.process->services->engine().cancel();
}

void Host::stand_still(std::uint64_t until) noexcept {
  Thread& thread = *running_;
  static const std::atomic<std::uint32_t> kStill{0};
  thread.word = &kStill;
  thread.value = 0;
  thread.arrivals = kNever;
  thread.until = until;
  step_aside();
  thread.word = nullptr;
  thread.until = kNever;
}

void Host::pause(std::uint64_t nanoseconds) { stand_still(time() + nanoseconds); }

bool Host::wait(std::span<pollfd> descriptors, std::optional<Time> until) noexcept {
  Thread& thread = *running_;
  if (thread.main && !thread.process->alive) return false;
  if (::poll(descriptors.data(), descriptors.size(), 0) > 0) return true;
  thread.descriptors = descriptors;
  stand_still(in_virtual_time(until));
  thread.descriptors = {};
  if (thread.main && !thread.process->alive) return false;
  return ::poll(descriptors.data(), descriptors.size(), 0) >= 0;
}

namespace {

std::uint64_t inode_of(int file) noexcept {
  struct stat status {};
  fstat(file, &status);
  return status.st_ino;
}

}  // namespace

bool Host::sync(int file) noexcept {
  struct stat status {};
  if (fstat(file, &status) != 0) return false;
  std::vector<std::byte> content(static_cast<std::size_t>(status.st_size));
  const bool read = pread(file, content.data(), content.size(), 0) == status.st_size;
  const bool fails = rules_.disk.fails_one_in != 0 && chance_.one_in(rules_.disk.fails_one_in);
  stand_still(time() + chance_.between(rules_.disk.least_time, rules_.disk.most_time));
  if (fails || !read) return false;
  on_disk_[status.st_ino] = std::move(content);
  return true;
}

std::span<const std::byte> Host::on_disk(int file) { return on_disk_[inode_of(file)]; }

std::unique_ptr<library::HostServices> Host::make_host_services(library::Engine& engine,
                                                                const Interface::Options&) {
  return std::make_unique<SimulatedServices>(*this, here(), engine);
}

// --- faults

void Host::fail(std::string problem) {
  if (!problem_.empty()) return;
  problem_ = std::move(problem);
  note("fails");
  for (const auto& each : inhabitants_) {
    each->stopped = false;
    each->alive = false;
  }
}

void Host::may_part(Inhabitant& one, Inhabitant& other) {
  one.parted.insert(other.number);
  other.parted.insert(one.number);
}

void Host::struck(Fault fault, const Inhabitant& process) {
  for (const auto& other : inhabitants_) {
    if (other.get() != &process) struck(fault, process, *other);
  }
}

void Host::cut_off(Inhabitant& one, Inhabitant& other) {
  may_part(one, other);
  one.cut_off.insert(other.number);
  other.cut_off.insert(one.number);
}

void Host::kill(Inhabitant& process) {
  if (!process.alive) return;
  trace_.note(time(), process.number, "dies", {});
  struck(Fault::death, process);
  ++deaths;
  process.alive = false;
  process.stopped = false;
  for (const auto& each : inhabitants_) may_part(process, *each);
  end_links(process);
  process.exchange.reset();
  process.port.reset();
}

bool Host::halt(Inhabitant& process, std::string_view how, Fault fault, std::uint64_t& count) {
  if (!process.alive || process.stopped) return false;
  trace_.note(time(), process.number, how, {});
  ++count;
  struck(fault, process);
  process.stopped = true;
  return true;
}

void Host::stop(Inhabitant& process) { halt(process, "stops", Fault::stop, stops); }

// Between hosts its silence is heard; within one, that it takes nothing.
void Host::stall(Inhabitant& process) {
  if (!halt(process, "stops for long", Fault::stall, stalls)) return;
  for (auto& [peer, end] : process.links) {
    end.may_end = true;
    if (LinkEnd* const other = other_end(process, peer, end)) other->may_end = true;
  }
  for (const auto& peer : inhabitants_) {
    after(soon(), [this, &process, one = peer.get()] {
      const auto found = one->links.find(process.number);
      if (process.stopped && found != one->links.end() && found->second.near != nullptr)
        cut(*one, process, 0);
    });
  }
}

void Host::go_on(Inhabitant& process) {
  if (process.stopped) trace_.note(time(), process.number, "goes on", {});
  process.stopped = false;
}

void Host::cut(Inhabitant& one, Inhabitant& other, std::uint64_t after_packets) {
  const auto found = one.links.find(other.number);
  if (found == one.links.end() || !one.alive || !other.alive) return;
  const bool far = found->second.far != nullptr;
  if (far && one.stopped) return;
  trace_.note(time(), one.number, "loses its link to %", {other.number});
  ++cuts;
  struck(Fault::cut, one, other);
  cut_off(one, other);
  if (far) return forget_far(one, other.number, {LinkReason::cut, false});
  if (after_packets == 0) {
    net_.cut(*found->second.near);
  } else {
    found->second.near->cut_after(after_packets);
  }
  after(soon(), [this, &one, &other] { look_at_end(one.number, other.number); });
  after(soon(), [this, &one, &other] { look_at_end(other.number, one.number); });
}

// --- links

void Host::introduce(std::uint64_t from, std::uint64_t to) {
  Inhabitant& one = inhabitant(from);
  if (!one.alive || one.services == nullptr || one.leaves) return;
  if (to == from) return join_oneself(one);
  const std::uint64_t index = to & kIndex;
  const bool known = index >= 1 && index <= inhabitants_.size() && inhabitants_[index - 1]->number == to;
  Inhabitant* const other = known ? &inhabitant(to) : nullptr;
  if (one.links.count(to) != 0) return one.services->wants_no_more(to);
  const bool there = other != nullptr && other->alive && other->services != nullptr && !other->leaves;
  const bool busy = there && (one.stopped || other->stopped || other->links.count(from) != 0);
  // A process of another host that has not found out yet that there is no link is told so by its node.
  if (there && !other->stopped && one.host != other->host && other->links.count(from) != 0)
    forget_far(*other, from, {LinkReason::ended, false});
  if (busy) return after(soon(), [=, this] { introduce(from, to); });
  one.services->wants_no_more(to);
  const bool refused = there && rules_.refuse_one_in != 0 && chance_.one_in(rules_.refuse_one_in);
  if (there && !refused) return join(one, *other);
  if (refused) {
    trace_.note(time(), from, "is refused a link to %", {to});
    ++refusals;
    struck(Fault::link_refused, one, *other);
    may_part(one, *other);
  }
  one.services->refuse(to, refused ? LinkReason::quota : LinkReason::no_process);
}

void Host::join(Inhabitant& one, Inhabitant& other) {
  LinkEnd to_other, to_one;
  to_other.number = to_one.number = chance_.next();
  if (one.host == other.host) {
    std::tie(to_other.near, to_one.near) = net_.join(one.number, other.number);
  } else {
    to_other.far = make_far(one, other, to_other.number, true);
    to_one.far = make_far(other, one, to_one.number, false);
  }
  trace_.note(time(), one.number, "has a link to %", {other.number});
  one.links[other.number] = std::move(to_other);
  other.links[one.number] = std::move(to_one);
  add(one, other.number);
  add(other, one.number);
}

// The node has no part in that, and refuses nothing.
void Host::join_oneself(Inhabitant& one) {
  const std::uint64_t self = one.number;
  one.services->wants_no_more(self);
  if (one.links.count(self) != 0) return;
  if (one.stopped) return after(soon(), [=, this] { introduce(self, self); });
  LinkEnd end;
  end.number = chance_.next();
  end.near = net_.join_oneself(self);
  trace_.note(time(), self, "has a link to itself", {});
  one.links[self] = std::move(end);
  add(one, self);
}

void Host::add(Inhabitant& process, std::uint64_t peer) {
  LinkEnd& end = process.links[peer];
  interface::Link& link = end.link();
  link.by_gate = true;
  link.far = end.near == nullptr;
  link.user = {geteuid(), getegid()};
  if (end.near != nullptr) {
    link.in_order = net_.in_order();
    end.near->arrivals = &process.arrivals;
  }
  library::Engine& engine = process.services->engine();
  engine.lock().enter_as_other();
  engine.core().add_link(link);
  engine.lock().leave();
  engine.look_again();
  process.services->link_made(peer);
}

// Ends a link that was cut, or whose other side has gone, when everything has come that will.
void Host::look_at_end(std::uint64_t number, std::uint64_t peer) {
  Inhabitant& process = inhabitant(number);
  const auto found = process.links.find(peer);
  if (found == process.links.end() || !process.alive) return;
  if (found->second.far != nullptr) return end_far(number, peer);
  Inhabitant& other = inhabitant(peer);
  const bool alone = other.links.count(number) == 0;
  if (!found->second.over() && !alone) {  // so many packets were not put yet
    if (problem_.empty()) after(1'000'000, [=, this] { look_at_end(number, peer); });
    return;
  }
  if (process.stopped) return after(soon(), [=, this] { look_at_end(number, peer); });
  library::Engine& engine = process.services->engine();
  engine.lock().enter_as_other();
  engine.core().drain(found->second.link());
  engine.core().end_link(found->second.link());
  engine.lock().leave();
  process.links.erase(found);
  process.services->fail_imports(peer);
  engine.look_again();
  trace_.note(time(), number, "ends its link to %", {peer});
}

// Ends the links of a process that leaves, or has died: what it had put arrives, and then the others hear of
// it.
void Host::end_links(Inhabitant& process) {
  while (!process.links.empty()) {
    const auto first = process.links.begin();
    const std::uint64_t peer = first->first;
    if (first->second.far != nullptr) {
      leave_far(process, peer);
      continue;
    }
    const bool cut = first->second.over();
    library::Engine& engine = process.services->engine();
    engine.lock().enter_as_other();
    engine.core().end_link(first->second.link());
    engine.lock().leave();
    if (!cut) net_.hang_up(*first->second.near);
    process.links.erase(first);
    process.services->fail_imports(peer);
    engine.look_again();
    after(rules_.weather.most_delay + soon(),
          [this, peer, number = process.number] { look_at_end(peer, number); });
  }
}

}  // namespace hamlyn::simulation
