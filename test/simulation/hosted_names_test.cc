// The names of a cluster, whole: daemons' minds that agree over a bad network, the clerks that they start,
// which read each other's registries over links that lose and repeat, and processes that register names and
// look for them. Daemons and clerks die and come again, stop, and are parted.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <deque>
#include <map>

#include "test/simulation/site.h"

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

enum class Trouble { none, clerks_die, daemons_die, partitions };

// What a name stood for, and from when to when: at the earliest and at the latest.
struct Spell {
  Ticket ticket;
  std::uint64_t asked = 0, there = kNever;
  std::uint64_t leaves = kNever, gone = kNever;
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
  for (NodeId id = 1; id <= kNodes; ++id)
    sites_.push_back(std::make_unique<Site>(hosted, cluster, id, [this, id] { node_died(id); }));
}

void Names::run() {
  hosted.host.after(0, [this] { tick(); });
  hosted.add([this](Hosted&) { direct(); });
  for (NodeId id = 1; id <= kNodes; ++id) {
    hosted.add([this, id](Hosted&) { register_names(id); });
    for (const std::uint64_t each : {Site::kSeeker, Site::kStranger})
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
  const auto reply = at(node).ask(Site::kPublisher, request);
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
  const auto reply =
      at(node).ask(Site::kPublisher, test::ask(RequestKind::withdraw, 0, name_of(node, number)));
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
  const bool permitted = connection != Site::kStranger || for_all(number);
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
