// The names of a cluster, whole: daemons' minds that agree over a bad network, the clerks that they start,
// which read each other's registries over links that lose and repeat, and processes that register names and
// look for them. Daemons and clerks die and come again, stop, and are parted.
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>

#include "base/file_descriptor.h"
#include "daemon/clerk_process.h"
#include "segment/clerk.h"
#include "segment/registry.h"
#include "test/simulation/hosted.h"
#include "test/support/cluster_world.h"
#include "test/support/node_world.h"

namespace hamlyn::test {
namespace {

using node::NodeId;
using node::Reply;
using node::ReplyKind;
using node::Request;
using node::RequestKind;

constexpr NodeId kNodes = 3;
constexpr std::uint64_t kSecond = 1000 * kMillisecond;
constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::uint64_t kBusy = 3 * kSecond / 2;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kClusters = 3;
#else
constexpr std::uint64_t kClusters = 6;
#endif
constexpr std::uint64_t kRefreshed = 2 * kSecond;     // so old may be what a look-up finds that says `cached`
constexpr std::uint64_t kMostStop = 3 * kSecond / 2;  // of a clerk, which refreshes nothing meanwhile
constexpr std::uint64_t kNames = 50;                  // of a node: more than its first table takes
constexpr std::uint64_t kFew = 4;                     // that are changed, and looked for, again and again
constexpr std::uint64_t kPublisher = 1, kSeeker = 2, kStranger = 3;  // connections

enum class Trouble { none, clerks_die, daemons_die, partitions };

// What a name stood for, and from when to when: at the earliest and at the latest.
struct Spell {
  Ticket ticket;
  std::uint64_t asked = 0, there = kNever;
  std::uint64_t leaves = kNever, gone = kNever;
};

class Names;

// A registry's memory as the machine has it: what the daemon writes is its own at first, and comes to where
// the clerk has it read word by word, in any order, between which others run; but the number of changes comes
// behind the changes, as it is said to (registry_words.h).
class SlowMemory {
 public:
  SlowMemory(int memory, std::size_t bytes)
      : written_(bytes / kWord),
        seen_(static_cast<std::uint64_t*>(
                  ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0)),
              bytes / kWord) {}
  ~SlowMemory() {
    settle([] {}, std::minstd_rand(1));
    ::munmap(seen_.data(), seen_.size_bytes());
  }
  SlowMemory(const SlowMemory&) = delete;
  SlowMemory& operator=(const SlowMemory&) = delete;

  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(written_)); }
  // Whoever looks finds it whole, at first.
  bool fresh() const { return !settled_; }
  // `between` two words.
  template <class Between, class Chance>
  void settle(Between between, Chance&& chance) {
    settled_ = true;
    constexpr std::size_t kHeader = segment::kRegistryHeader / kWord;
    const std::vector<std::uint64_t> now = written_;
    std::vector<std::size_t> changed;
    for (std::size_t i = kHeader; i != now.size(); ++i) {
      if (now[i] != seen_[i]) changed.push_back(i);
    }
    std::shuffle(changed.begin(), changed.end(), chance);
    for (const std::size_t i : changed) {
      seen_[i] = now[i];
      between();
    }
    std::copy_n(now.begin(), kHeader, seen_.begin());
  }

 private:
  static constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::vector<std::uint64_t> written_;
  const std::span<std::uint64_t> seen_;
  bool settled_ = false;
};

// A node: its daemon, while there is one, and its clerk.
class Site final : public node::OtherNodes, public daemon::ClerkMachine {
 public:
  Site(Names& names, NodeId of) : id(of), names_(names) {}

  void start();
  void kill();  // nothing is said, and nothing ended, in good order
  void stop(bool stops);
  bool runs() const noexcept { return daemon_ != nullptr; }
  bool stopped() const noexcept { return self_ != nullptr && self_->stopped; }
  simulation::Inhabitant* clerk() const noexcept {
    return clerk_ != nullptr && clerk_->alive ? clerk_ : nullptr;
  }
  // By a process of that node, one request of it at a time. Nothing: the daemon has gone meanwhile.
  std::optional<Reply> ask(std::uint64_t connection, Request request);

  const NodeId id;
  std::uint64_t asked = 0;  // of other daemons, names

 private:
  struct Daemon {
    explicit Daemon(Site& site) : clerk(site), mind(options(site), &site) {}
    static node::NodeOptions options(const Site& site) {
      node::NodeOptions out;
      out.first_number = std::uint64_t{site.id} << node::kNodeShift | 1000 * site.runs_ | 100;
      return out;
    }
    daemon::ClerkProcess clerk;
    NodeWorld mind;
  };
  struct Box {
    std::atomic<std::uint32_t> word{0};
    std::optional<Reply> reply;
    std::uint64_t wanted = 0;
  };

  void serve(simulation::Inhabitant& self);
  void begin();
  void settle_memory();
  void give_out();
  library::Deadline deadline() const;
  node::Cluster* cluster() const;
  template <class What>
  void have(What what);

  // node::OtherNodes
  NodeId self() const override { return id; }
  std::uint64_t incarnation() const override { return cluster() == nullptr ? 0 : cluster()->incarnation(); }
  std::uint64_t incarnation_of(NodeId node) const override {
    return cluster() == nullptr ? 0 : cluster()->incarnation_of(node);
  }
  std::vector<NodeId> there() const override {
    return cluster() == nullptr ? std::vector<NodeId>{} : cluster()->alive();
  }
  std::string reached_at(NodeId) const override { return "10.0.0.1"; }
  std::optional<node::Address> place_of(NodeId node) const override {
    return cluster() == nullptr ? std::nullopt : cluster()->place_of(node);
  }
  bool has_room(NodeId node) const override { return cluster() != nullptr && cluster()->has_room(node); }
  void tell(NodeId node, std::vector<std::byte> message) override;
  void random(std::span<std::byte> out) override;
  std::vector<node::MemberReply> members() const override { return {}; }

  // daemon::ClerkMachine
  pid_t start(base::FileDescriptor socket, const std::string& node) override;
  void end(pid_t process) noexcept override;
  std::span<std::byte> map(int memory, std::size_t bytes) noexcept override;
  void unmap(std::span<std::byte> mapping) noexcept override;
  std::int64_t now_ns() noexcept override;

  Names& names_;
  std::map<const std::byte*, std::shared_ptr<SlowMemory>> memories_;  // of daemons that were killed, too
  std::shared_ptr<SlowMemory> memory_;
  bool settling_ = false;
  Daemon* daemon_ = nullptr;
  simulation::Inhabitant* self_ = nullptr;
  simulation::Inhabitant* clerk_ = nullptr;
  std::uint64_t runs_ = 0;
  base::FileDescriptor bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::deque<std::pair<std::uint64_t, Request>> requests_;
  std::map<std::uint64_t, Box> boxes_;
};

// All of it, and what was registered when.
class Names {
 public:
  Names(std::uint64_t seed, Trouble what);

  void run();
  Site& at(NodeId id) { return *sites_.at(id - 1u); }
  std::uint64_t time() const noexcept { return hosted.host.time(); }
  sim::Generator& chance() noexcept { return hosted.host.chance(); }
  void demand(bool as_it_should_be, const char* what) { hosted.host.demand(as_it_should_be, what); }
  void node_died(NodeId id);
  bool failed() const noexcept { return !hosted.host.problem().empty(); }

  const Trouble trouble;
  Hosted hosted;
  ClusterWorld cluster;
  std::uint64_t looks = 0;  // for names of other nodes

 private:
  static simulation::Host::Rules rules(std::uint64_t seed);
  static std::string name_of(NodeId node, std::uint64_t number) {
    return "n" + std::to_string(node) + "." + std::to_string(number);
  }
  static bool for_all(std::uint64_t number) noexcept { return number % 4 != 0; }

  void tick();
  bool calm(std::uint64_t since) const noexcept {
    return last_trouble_ == 0 || last_trouble_ + 4 * kSecond < since;
  }
  bool publish(NodeId node, std::uint64_t number);
  void withdraw(NodeId node, std::uint64_t number);
  void register_names(NodeId node);
  void look(NodeId at, std::uint64_t connection, NodeId owner, std::uint64_t number, std::uint32_t flags,
            NodeId hint, bool last);
  void seek(NodeId at, std::uint64_t connection);
  void direct();
  void one_trouble();
  void wait_until_whole();

  std::vector<std::unique_ptr<Site>> sites_;
  std::map<std::string, std::deque<Spell>> spells_;
  std::uint64_t last_key_ = 0;
  std::uint64_t last_trouble_ = 0;
  enum class Phase { joining, busy, last_names, calm, last_looks, over } phase_ = Phase::joining;
  int done_ = 0;  // publishers, and then seekers
};

// --- a node

node::Cluster* Site::cluster() const {
  const auto found = names_.cluster.hosts.find(id);
  return found == names_.cluster.hosts.end() ? nullptr : found->second->cluster.get();
}

void Site::start() {
  ++runs_;
  self_ = &names_.hosted.host.come_at(id, [this](simulation::Inhabitant& self) { serve(self); });
}

void Site::kill() {
  if (daemon_ == nullptr) return;
  names_.cluster.kill(id);
  daemon_ = nullptr;
  settling_ = false;
  ++runs_;
  requests_.clear();
  for (auto& [connection, box] : boxes_) box.word.fetch_add(1);
  names_.hosted.host.kill(*self_);
  names_.node_died(id);
}

void Site::stop(bool stops) {
  if (daemon_ == nullptr || stopped() == stops) return;
  if (stops) {
    names_.hosted.host.stop(*self_);
    names_.cluster.hosts.at(id)->stopped = true;
  } else {
    names_.hosted.host.go_on(*self_);
    names_.cluster.go_on(id);
  }
}

// What the cluster has to say to the daemon.
template <class What>
void Site::have(What what) {
  if (daemon_ == nullptr) return;
  daemon_->mind.now = names_.cluster.now;
  what(daemon_->mind.node, names_.cluster.now);
  if (memory_ != nullptr && (memory_->fresh() || !settling_)) memory_->settle([] {}, std::minstd_rand(1));
  give_out();
}

void Site::begin() {
  auto& there = names_.cluster.start(id, id == 1, {static_cast<NodeId>(id == 1 ? 2 : 1)});
  there.on_came = [this](NodeId other) {
    have([&](node::Node& mind, node::Time now) { mind.node_came(other, now); });
  };
  there.on_gone = [this](NodeId other) {
    have([&](node::Node& mind, node::Time now) { mind.node_gone(other, "gone", now); });
  };
  there.on_message = [this](NodeId other, std::span<const std::byte> message) {
    have([&](node::Node& mind, node::Time now) { mind.node_said(other, message, now); });
  };
  node::ClerkPort::Options options;
  options.key.fill(std::byte{9});
  options.generation = there.incarnation;
  options.after = 1;
  daemon_->clerk.serve(daemon_->mind.node, options);
  daemon_->mind.now = names_.cluster.now;
  for (const std::uint64_t each : {kPublisher, kSeeker, kStranger}) {
    const std::uint32_t user = each == kStranger ? 2000 : 1000;
    daemon_->mind.attach(each, user, user);
  }
}

// As node::Server::run.
void Site::serve(simulation::Inhabitant& self) {
  Daemon daemon(*this);
  if (!self.alive) return;
  daemon_ = &daemon;
  begin();
  for (;;) {
    std::array<pollfd, 2> waits{{{bell_.get(), POLLIN, 0}, {daemon.clerk.descriptor(), POLLIN, 0}}};
    if (!library::wait_for_descriptors(waits, deadline())) return;
    std::uint64_t rings;
    [[maybe_unused]] const ssize_t rung = ::read(bell_.get(), &rings, sizeof rings);
    daemon.mind.now = names_.cluster.now;
    for (const auto& [connection, request] : std::exchange(requests_, {}))
      daemon.mind.say(connection, request);
    daemon.clerk.receive_some(daemon.mind.now);
    daemon.clerk.tick(daemon.mind.now);
    daemon.mind.node.tick(daemon.mind.now);
    settle_memory();
    if (!self.alive) return;
    give_out();
  }
}

library::Deadline Site::deadline() const {
  const node::Time now = names_.cluster.now;
  node::Time until = daemon_->clerk.deadline(now);
  if (const auto of_mind = daemon_->mind.node.deadline()) until = std::min(until, *of_mind);
  if (until == node::Time::max()) return std::nullopt;
  return library::Clock::now() + std::max(until - now, node::Time{1});
}

// What the daemon has written comes to be seen before anybody is told of it.
void Site::settle_memory() {
  const std::shared_ptr<SlowMemory> memory = memory_;
  if (memory == nullptr) return;
  const std::uint64_t run = runs_;
  settling_ = true;
  memory->settle(
      [&, fresh = memory->fresh()] {
        if (!fresh && runs_ == run && names_.chance().one_in(2))
          names_.hosted.host.pause(names_.chance().below(3 * kMillisecond));
      },
      std::minstd_rand(static_cast<std::uint32_t>(names_.chance().next())));
  if (runs_ == run) settling_ = false;
}

void Site::give_out() {
  if (settling_) return;  // it is done behind that
  for (auto& [connection, box] : boxes_) {
    while (!daemon_->mind.quiet(connection)) {
      const Reply reply = daemon_->mind.reply(connection);
      if (reply.request != box.wanted) continue;
      box.reply = reply;
      box.word.fetch_add(1);
    }
  }
}

std::optional<Reply> Site::ask(std::uint64_t connection, Request request) {
  if (daemon_ == nullptr) return std::nullopt;
  const std::uint64_t run = runs_;
  Box& box = boxes_[connection];
  box.reply.reset();
  request.request = ++box.wanted;
  requests_.emplace_back(connection, request);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof one);
  for (;;) {
    const std::uint32_t value = box.word.load();
    if (runs_ != run || names_.failed()) return std::nullopt;
    if (box.reply) return std::exchange(box.reply, std::nullopt);
    library::futex_sleep({}, box.word, value, std::nullopt);
  }
}

void Site::tell(NodeId node, std::vector<std::byte> message) {
  if (cluster() == nullptr) return;
  asked += node::split_message(message)->first == static_cast<std::uint16_t>(node::FarKind::lookup);
  cluster()->tell(node, std::move(message), names_.cluster.now);
}

void Site::random(std::span<std::byte> out) {
  for (std::byte& each : out) each = static_cast<std::byte>(names_.chance().below(256));
}

pid_t Site::start(base::FileDescriptor socket, const std::string&) {
  const auto held = std::make_shared<base::FileDescriptor>(std::move(socket));
  clerk_ = &names_.hosted.host.come_at(id, [this, held](simulation::Inhabitant& self) {
    names_.hosted.host.pause(names_.chance().below(20 * kMillisecond));
    if (self.alive) segment::serve_as_clerk(std::move(*held), {});
  });
  return static_cast<pid_t>(clerk_->number & 0xFFFFFF);
}

std::span<std::byte> Site::map(int memory, std::size_t bytes) noexcept {
  memory_ = std::make_shared<SlowMemory>(memory, bytes);
  memories_[memory_->bytes().data()] = memory_;
  return memory_->bytes();
}

void Site::unmap(std::span<std::byte> mapping) noexcept {
  if (memory_ != nullptr && memory_->bytes().data() == mapping.data()) memory_.reset();
  memories_.erase(mapping.data());
}

// A daemon that was killed ends nobody: its clerk finds its socket closed.
void Site::end(pid_t process) noexcept {
  auto& host = names_.hosted.host;
  if (host.here().alive) host.kill(host.inhabitant(static_cast<std::uint64_t>(process)));
}

std::int64_t Site::now_ns() noexcept { return static_cast<std::int64_t>(names_.time()); }

// --- processes

simulation::Host::Rules Names::rules(std::uint64_t seed) {
  simulation::Host::Rules rules;
  rules.hosts = kNodes;
  rules.wire = {.least_delay = 1000, .most_delay = 200'000};
  if (seed % 3 != 0) rules.wire.lost_one_in = rules.wire.repeated_one_in = 10;
  rules.far.resend = kMillisecond;
  rules.far.acknowledge = 50'000;
  return rules;
}

Names::Names(std::uint64_t seed, Trouble what)
    : trouble(what),
      hosted(rules(seed), seed),
      cluster(seed, {.loss = 0.03, .repeat = 0.03, .least_delay = 1, .most_delay = 4}) {
  for (NodeId id = 1; id <= kNodes; ++id) sites_.push_back(std::make_unique<Site>(*this, id));
}

void Names::run() {
  hosted.host.after(0, [this] { tick(); });
  hosted.add([this](Hosted&) { direct(); });
  for (NodeId id = 1; id <= kNodes; ++id) {
    hosted.add([this, id](Hosted&) { register_names(id); });
    for (const std::uint64_t each : {kSeeker, kStranger})
      hosted.add([this, id, each](Hosted&) { seek(id, each); });
  }
  hosted.run();
  EXPECT_EQ(cluster.wrong, "");
}

// The network between daemons goes by milliseconds.
void Names::tick() {
  cluster.run(node::Time{1});
  if (phase_ != Phase::over && !failed()) hosted.host.after(kMillisecond, [this] { tick(); });
}

void Names::node_died(NodeId id) {
  for (std::uint64_t number = 0; number < kNames; ++number) {
    for (Spell& spell : spells_[name_of(id, number)]) {
      if (spell.gone != kNever) continue;
      spell.leaves = std::min(spell.leaves, time());
      spell.gone = time() + 100 * kMillisecond;  // until its clerk has found out
    }
  }
}

// False: its daemon is not there, or has gone meanwhile.
bool Names::publish(NodeId node, std::uint64_t number) {
  auto& spells = spells_[name_of(node, number)];
  Request request =
      test::ask(RequestKind::publish, 0, name_of(node, number), for_all(number) ? Request::kEveryone : 0);
  request.ticket.interface = std::uint64_t{node} << node::kNodeShift | 5;
  request.ticket.key = ++last_key_;
  request.ticket.bound = 64 * last_key_;
  if (!at(node).runs()) return false;
  if (!spells.empty()) spells.back().leaves = std::min(spells.back().leaves, time());
  spells.push_back({request.ticket, time()});
  const auto reply = at(node).ask(kPublisher, request);
  if (!reply) return false;
  demand(reply->kind == ReplyKind::published, "a name cannot be registered");
  spells.back().there = time();
  if (spells.size() > 1) spells[spells.size() - 2].gone = std::min(spells[spells.size() - 2].gone, time());
  return true;
}

void Names::withdraw(NodeId node, std::uint64_t number) {
  auto& spells = spells_[name_of(node, number)];
  if (spells.empty() || spells.back().leaves != kNever) return;
  spells.back().leaves = time();
  const auto reply = at(node).ask(kPublisher, test::ask(RequestKind::withdraw, 0, name_of(node, number)));
  if (!reply) return;
  demand(reply->kind == ReplyKind::withdrawn, "a name cannot be withdrawn");
  spells.back().gone = std::min(spells.back().gone, time());
}

void Names::register_names(NodeId node) {
  while (phase_ == Phase::joining && !failed()) hosted.host.pause(kMillisecond);
  while (phase_ == Phase::busy && !failed()) {
    for (std::uint64_t left = chance().below(40); left != 0 && phase_ == Phase::busy && !failed(); --left) {
      const std::uint64_t number = chance().below(chance().one_in(3) ? kNames : kFew);
      if (chance().one_in(3)) {
        withdraw(node, number);
      } else {
        publish(node, number);
      }
      if (chance().one_in(4)) hosted.host.pause(chance().below(5 * kMillisecond));
    }
    hosted.host.pause(chance().below(400 * kMillisecond));
  }
  while (phase_ != Phase::last_names && !failed()) hosted.host.pause(kMillisecond);
  // What stands last is changed within a few moments of each other, and then no more.
  for (std::uint64_t number = 0; number < kNames; ++number)
    demand(publish(node, number), "there is no daemon");
  ++done_;
}

// `last`: nothing changes any more.
void Names::look(NodeId at_node, std::uint64_t connection, NodeId owner, std::uint64_t number,
                 std::uint32_t flags, NodeId hint, bool last) {
  const std::string name = name_of(owner, number);
  Request request = test::ask(RequestKind::lookup, 0, name, flags);
  request.number = hint;
  const std::uint64_t began = time();
  const auto reply = at(at_node).ask(connection, request);
  if (!reply) return demand(!last, "there is no daemon");
  if (at_node != owner) ++looks;
  const bool cached = (flags & Request::kCached) != 0;
  const bool permitted = connection != kStranger || for_all(number);
  const auto& spells = spells_[name];
  if (reply->kind == ReplyKind::found) {
    demand(permitted, "somebody is told what is not for him");
    demand(node::node_of(reply->peer) == owner && reply->uid == 1000, "a name is somebody else's");
    const auto found = std::ranges::find(spells, reply->ticket, &Spell::ticket);
    if (found == spells.end()) return demand(false, "a name stands for what nobody has registered");
    const std::uint64_t stale = !cached ? 0 : kRefreshed + (trouble == Trouble::daemons_die ? kMostStop : 0);
    demand(found->gone == kNever || found->gone + stale >= began, "a name stands for what it did before");
    return demand(!last || found->gone == kNever, "a name stands for what it did before, for ever");
  }
  const ErrorCode why = test::error_of(*reply);
  demand(reply->kind == ReplyKind::refused, "another answer");
  if (!permitted)
    return demand(why == ErrorCode::not_permitted || why == ErrorCode::name_unknown, "another error");
  const bool was_there = std::ranges::any_of(
      spells, [&](const Spell& each) { return each.there <= began && each.leaves >= time(); });
  if (last || calm(began)) demand(!was_there && why == ErrorCode::name_unknown, "a name is not found");
}

void Names::seek(NodeId at_node, std::uint64_t connection) {
  while (phase_ == Phase::joining && !failed()) hosted.host.pause(kMillisecond);
  while (phase_ != Phase::last_looks && !failed()) {
    const auto owner = static_cast<NodeId>(1 + chance().below(kNodes));
    // The same few again and again, and now and then any.
    const std::uint64_t number = chance().below(chance().one_in(4) ? kNames : kFew);
    const std::uint32_t flags = chance().one_in(2) ? Request::kCached : 0;
    const auto hint = static_cast<NodeId>(chance().one_in(2) ? 0 : 1 + chance().below(kNodes + 1));
    if (at(at_node).runs()) look(at_node, connection, owner, number, flags, hint, false);
    hosted.host.pause(chance().below(20 * kMillisecond));
  }
  for (NodeId owner = 1; owner <= kNodes; ++owner) {
    for (std::uint64_t number = 0; number < 10; ++number) {
      look(at_node, connection, owner, number, Request::kCached, 0, true);
      look(at_node, connection, owner, number, 0, 0, true);
    }
  }
  ++done_;
}

// --- what happens

void Names::wait_until_whole() {
  for (int left = 3000; left != 0 && !cluster.whole() && !failed(); --left)
    hosted.host.pause(5 * kMillisecond);
  demand(cluster.whole(), "the nodes do not find each other");
}

void Names::one_trouble() {
  auto& host = hosted.host;
  Site& one = at(static_cast<NodeId>(1 + chance().below(kNodes)));
  Site& other = at(static_cast<NodeId>(1 + (one.id + chance().below(kNodes - 1)) % kNodes));
  simulation::Inhabitant* const clerk = one.clerk();
  if (trouble == Trouble::clerks_die && clerk != nullptr) host.kill(*clerk);
  if (trouble == Trouble::daemons_die) {
    if (chance().one_in(2) && one.runs()) {
      one.kill();
      host.pause(chance().below(2 * kSecond));
      one.start();
    } else if (clerk != nullptr) {
      host.stall(*clerk);
      host.pause(chance().below(kMostStop));
      host.go_on(*clerk);
    }
  }
  if (trouble == Trouble::partitions) {
    const std::uint64_t how_long = chance().below(2 * kSecond);
    if (chance().one_in(3)) {
      one.stop(true);
      host.pause(how_long / 3);
      one.stop(false);
    } else {
      if (clerk != nullptr && other.clerk() != nullptr)
        host.part(*clerk, *other.clerk(), chance().one_in(2), how_long);
      if (chance().one_in(2))
        cluster.cut = [a = one.id, b = other.id](NodeId from, NodeId to) { return from == a && to == b; };
      host.pause(how_long);
      cluster.cut = nullptr;
    }
  }
}

void Names::direct() {
  for (const auto& site : sites_) site->start();
  hosted.host.pause(kMillisecond);
  wait_until_whole();
  phase_ = Phase::busy;
  for (const std::uint64_t until = time() + kBusy; time() < until && !failed();) {
    hosted.host.pause(chance().below(600 * kMillisecond));
    if (trouble == Trouble::none) continue;
    last_trouble_ = kNever - 4 * kSecond;
    one_trouble();
    last_trouble_ = time();
  }
  hosted.host.be_kind();
  hosted.host.pause(10 * kMillisecond);
  wait_until_whole();
  phase_ = Phase::last_names;
  while (done_ < kNodes && !failed()) hosted.host.pause(kMillisecond);
  phase_ = Phase::calm;
  hosted.host.pause(kRefreshed + kSecond / 2);
  done_ = 0;
  phase_ = Phase::last_looks;
  while (done_ < 2 * kNodes && !failed()) hosted.host.pause(kMillisecond);
  phase_ = Phase::over;
  for (const auto& site : sites_) site->kill();
}

TEST(HostedNames, are_found_as_they_are_whatever_becomes_of_daemons_and_clerks) {
  spdlog::set_level(spdlog::level::off);
  std::uint64_t looks = 0, asked = 0;
  for (std::uint64_t seed = 1; seed <= kClusters && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Names names(seed, static_cast<Trouble>(seed % 4));
    names.run();
    looks += names.looks;
    for (NodeId id = 1; id <= kNodes; ++id) asked += names.at(id).asked;
  }
  EXPECT_LT(asked, looks) << "names are not read";
  spdlog::set_level(spdlog::level::info);
}

}  // namespace
}  // namespace hamlyn::test
