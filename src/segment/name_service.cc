#include "segment/name_service.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace hamlyn::internal_::segment {
namespace {

constexpr std::int64_t kAgain = 250'000'000;         // ns, before what has failed is tried again
constexpr std::int64_t kMostAgain = 32'000'000'000;  // ns, for a clerk that never lasts
constexpr std::int64_t kLasts = 10'000'000'000;      // ns
constexpr std::int64_t kRest = 100'000'000;          // ns, after a registry could not be read
constexpr std::int64_t kSoon = 500'000'000;          // ns, for a read; a quarter of what a look-up has
constexpr std::int64_t kPatience = 2'000'000'000;  // ns, for a clerk: longer than a link takes to be given up
constexpr std::int64_t kLate = 250'000'000;        // ns; a daemon that looks so late was stopped
// Reads under way; beyond, nodes are asked. A clerk has 48 places, a link 16, and looks at headers, too.
constexpr std::size_t kMostUnderWay = 40;
constexpr std::size_t kMostThere = 12;
constexpr std::uint64_t kRenewal = std::uint64_t{1} << 63;  // serials of the node do not come so far

NameRecord record_of(std::string_view name, const node::RegisteredName& what) {
  NameRecord out;
  static_cast<node::RegisteredName&>(out) = what;
  out.name = name;
  return out;
}

}  // namespace

NameService::NameService(node::Node& node, Environment& environment, const Options& options)
    : node_(node),
      environment_(environment),
      options_(options),
      start_rest_(kAgain),
      tables_(options.generation) {}

bool NameService::running() {
  if (running_ || options_.after == 0 || environment_.now_ns() < start_after_) return running_;
  started_ = environment_.now_ns();
  if (!environment_.start()) return rest(), false;
  running_ = true;
  ClerkMessage begin;
  begin.kind = ClerkKind::begin;
  begin.key = options_.key;
  environment_.say(begin);
  return true;
}

// Starting one takes a good part of a second of a processor: it is not done over and over for nothing.
void NameService::rest() {
  const std::int64_t now = environment_.now_ns();
  start_rest_ = now - started_ >= kLasts ? kAgain : std::min(start_rest_ * 2, kMostAgain);
  start_after_ = now + start_rest_;
}

void NameService::ended(node::Time now) {
  running_ = false;
  shown_.reset();
  rest();
  renewals_.clear();
  for (auto& [node, peer] : peers_) {
    peer.reading = 0;
    cache_.forget_node(node);  // nobody looks there for changes any more
  }
  for (const auto& [read, pending] : std::exchange(reads_, {}))
    node_.name_read(read.first, read.second, node::NameSays::unknown, {}, now);
}

bool NameService::tick(node::Time now) {
  const std::int64_t moment = environment_.now_ns();
  std::vector<Read> late;
  // A daemon that was stopped has not read what its clerk has said meanwhile, and may have been stopped
  // together with it: the clerk has a while from now on.
  const bool was_stopped = !reads_.empty() && moment - deadline() > kLate;
  for (auto& [read, pending] : reads_) {
    if (was_stopped) pending.until = std::max(pending.until, moment + kSoon);
    if (moment >= pending.until) return false;
    if (moment - pending.since >= kSoon && !std::exchange(pending.given_up, true)) late.push_back(read);
  }
  for (const Read& read : late) node_.name_read(read.first, read.second, node::NameSays::unknown, {}, now);
  return true;
}

std::int64_t NameService::deadline() const {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const auto& [read, pending] : reads_)
    first = std::min(first, pending.given_up ? pending.until : pending.since + kSoon);
  return first;
}

// Names of this node.

void NameService::changed(std::string_view name) {
  if (!registry_) return;
  const auto what = node_.registered(name);
  if (!what) {
    registry_->remove(name);
  } else if (!registry_->put(record_of(name, *what))) {
    write_all(registry_->shape().buckets * 2);
    show_table();
  }
}

// Makes a table of all names there are. False: there is no memory for it, and no registry any more.
bool NameService::write_all(std::uint32_t buckets) {
  // A reader of the table before learns nothing from it, rather than what is no longer so.
  if (registry_) registry_->close();
  registry_.reset();
  shown_.reset();
  const auto names = node_.names();
  while (valid_buckets(buckets) && most_names(buckets) < names.size()) buckets *= 2;
  if (!valid_buckets(buckets)) return false;
  const auto memory = environment_.make_memory(registry_bytes(buckets));
  if (memory.empty()) return false;
  registry_.emplace(memory, options_.key, RegistryShape{++tables_, buckets});
  for (const std::string& name : names) registry_->put(record_of(name, *node_.registered(name)));
  return true;
}

void NameService::show_table() {
  if (!running_) return;
  ClerkMessage message;
  message.kind = ClerkKind::table;
  if (registry_) {
    message.table = registry_->shape().generation;
    message.buckets = registry_->shape().buckets;
  }
  environment_.say(message);
}

void NameService::registry_wanted(node::NodeId node, std::uint32_t version) {
  if (version != kRegistryVersion || options_.after == 0) return;
  wanted_by_.insert(node);
  if (shown_) return node_.tell_registry(node, *shown_);
  if (!running()) return;
  if (registry_ || write_all(kFewestBuckets)) show_table();
}

void NameService::take_ready(const ClerkMessage& message) {
  if (!registry_ || message.table != registry_->shape().generation) return;  // there is a newer one
  shown_ = FarRegistry{message.registry, registry_->shape().generation, registry_->shape().buckets};
  for (const node::NodeId node : wanted_by_) node_.tell_registry(node, *shown_);
}

// Other nodes' names.

const node::RegisteredName* NameService::cached(std::string_view name, node::NodeId node) {
  return cache_.find(name, node);
}

bool NameService::read(std::uint64_t serial, node::NodeId node, std::string_view name) {
  if (options_.after == 0 || (looked_ < options_.after && ++looked_ < options_.after) || !running())
    return false;
  Peer& peer = peers_[node];
  if (!peer.registry) {
    if (environment_.now_ns() < peer.ask_after) return false;
    peer.ask_after = environment_.now_ns() + kAgain;
    node_.want_registry(node, kRegistryVersion);
    return false;
  }
  return environment_.now_ns() >= peer.read_after && peer.costs.read_next() &&
         ask_to_read(serial, node, name);
}

bool NameService::ask_to_read(std::uint64_t serial, node::NodeId node, std::string_view name) {
  Peer& peer = peers_.at(node);
  if (reads_.size() >= kMostUnderWay || peer.reading >= kMostThere) return false;
  ClerkMessage message;
  message.kind = ClerkKind::read;
  message.node = node;
  message.serial = serial;
  message.table = peer.registry->generation;
  message.buckets = peer.registry->buckets;
  message.registry = peer.registry->ticket;
  message.reads = peer.costs.most_reads();
  put_name(message, name);
  if (!environment_.say(message)) return false;
  const std::int64_t now = environment_.now_ns();
  reads_[{serial, node}] = {now, now + kPatience, false};
  ++peer.reading;
  return true;
}

void NameService::asked(std::uint64_t serial, node::NodeId node) {
  Peer& peer = peers_[node];
  if (peer.sample != 0 && environment_.now_ns() - peer.sampled < kPatience) return;  // one at a time
  peer.sample = serial;
  peer.sampled = environment_.now_ns();
}

void NameService::answered(std::uint64_t serial, node::NodeId node) {
  const auto found = peers_.find(node);
  if (found == peers_.end() || found->second.sample != serial) return;
  found->second.sample = 0;
  found->second.costs.was_asked(static_cast<double>(environment_.now_ns() - found->second.sampled));
}

void NameService::registry_told(node::NodeId node, const node::FarRegistry& registry) {
  if (!valid_buckets(registry.buckets) || registry.ticket.bound < registry_bytes(registry.buckets)) return;
  peers_[node].registry = registry;
}

void NameService::node_gone(node::NodeId node) {
  lose(node);
  peers_.erase(node);
  wanted_by_.erase(node);
}

void NameService::interface_gone(std::uint64_t interface) {
  cache_.forget_interface(interface);
  const auto peer = peers_.find(node::node_of(interface));
  if (peer != peers_.end() && peer->second.registry && peer->second.registry->ticket.interface == interface)
    lose(peer->first);  // that was its clerk
}

void NameService::lose(node::NodeId node) {
  cache_.forget_node(node);
  const auto found = peers_.find(node);
  if (found == peers_.end()) return;
  found->second.registry.reset();
  found->second.ask_after = environment_.now_ns() + kAgain;
}

void NameService::received(const ClerkMessage& message, node::Time now) {
  switch (message.kind) {
    case ClerkKind::ready:
      return take_ready(message);
    case ClerkKind::changed:
      return take_changed(static_cast<node::NodeId>(message.node));
    case ClerkKind::found:
    case ClerkKind::absent:
    case ClerkKind::unknown:
    case ClerkKind::lost:
      return take_read(message, now);
    default:
      return;
  }
}

void NameService::take_read(const ClerkMessage& message, node::Time now) {
  const auto node = static_cast<node::NodeId>(message.node);
  const auto found = reads_.find({message.serial, node});
  if (found == reads_.end()) return;
  const std::int64_t since = found->second.since;
  reads_.erase(found);
  const auto what = what_in(message);
  auto says = node::NameSays::unknown;
  if (message.kind == ClerkKind::lost) lose(node);
  // A clerk may not speak of other nodes' processes.
  if (message.kind == ClerkKind::found && node::node_of(what.interface) == node) says = node::NameSays::found;
  if (message.kind == ClerkKind::absent) says = node::NameSays::absent;
  const auto peer = peers_.find(node);
  if (peer != peers_.end() && peer->second.reading != 0) --peer->second.reading;
  if (peer != peers_.end() && says != node::NameSays::unknown && message.reads != 0)
    peer->second.costs.was_read(static_cast<double>(environment_.now_ns() - since), message.reads);
  if (peer != peers_.end() && says == node::NameSays::unknown)
    peer->second.read_after = environment_.now_ns() + kRest;
  if ((message.serial & kRenewal) != 0) {
    const auto renewal = renewals_.extract(message.serial);
    if (!renewal.empty() && says == node::NameSays::found) cache_.put(renewal.mapped(), node, what);
    return;
  }
  if (says == node::NameSays::found && peer != peers_.end()) cache_.put(name_in(message), node, what);
  node_.name_read(message.serial, node, says, what, now);
}

void NameService::take_changed(node::NodeId node) {
  const auto used = cache_.take_used(node);
  const auto peer = peers_.find(node);
  if (peer == peers_.end() || !peer->second.registry) return;
  for (const std::string& name : used) {
    const std::uint64_t serial = kRenewal | next_renewal_++;
    if (!ask_to_read(serial, node, name)) return;
    renewals_[serial] = name;
  }
}

}  // namespace hamlyn::internal_::segment
