#include "test/simulation/site.h"
#include "library/wait/futex.h"

#include <poll.h>
#include <unistd.h>

#include <array>

#include "segment/clerk.h"

namespace hamlyn::test {

node::Cluster* Site::cluster() const {
  const auto found = world_.hosts.find(id);
  return found == world_.hosts.end() ? nullptr : found->second->cluster.get();
}

void Site::start() {
  ++runs_;
  self_ = &hosted_.host.come_at(id, [this](simulation::Inhabitant& self) { serve(self); });
}

void Site::kill() {
  if (daemon_ == nullptr) return;
  world_.kill(id);
  daemon_ = nullptr;
  settling_ = false;
  ++runs_;
  requests_.clear();
  for (auto& [connection, box] : boxes_) box.word.fetch_add(1);
  hosted_.host.kill(*self_);
  died_();
}

void Site::stop(bool stops) {
  if (daemon_ == nullptr || stopped() == stops) return;
  if (stops) {
    hosted_.host.stop(*self_);
    world_.hosts.at(id)->stopped = true;
  } else {
    hosted_.host.go_on(*self_);
    world_.go_on(id);
  }
}

// What the cluster has to say to the daemon.
template <class What>
void Site::have(What what) {
  if (daemon_ == nullptr) return;
  daemon_->mind.now = world_.now;
  what(daemon_->mind.node, world_.now);
  if (memory_ != nullptr && (memory_->fresh() || !settling_)) memory_->settle([] {}, std::minstd_rand(1));
  give_out();
}

void Site::begin() {
  auto& there = world_.start(id, id == 1, {static_cast<NodeId>(id == 1 ? 2 : 1)});
  there.on_came = [this](NodeId other) {
    have([&](node::Node& mind, node::Time now) { mind.node_came(other, now); });
  };
  there.on_gone = [this](NodeId other, bool silent) {
    have([&](node::Node& mind, node::Time now) { mind.node_gone(other, "gone", silent, now); });
  };
  there.on_message = [this](NodeId other, std::span<const std::byte> message) {
    have([&](node::Node& mind, node::Time now) { mind.node_said(other, message, now); });
  };
  node::ClerkPort::Options options;
  options.key.fill(std::byte{9});
  options.generation = there.incarnation;
  options.after = 1;
  daemon_->clerk.serve(daemon_->mind.node, options);
  daemon_->mind.now = world_.now;
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
    daemon.mind.now = world_.now;
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
  const node::Time now = world_.now;
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
        if (!fresh && runs_ == run && chance().one_in(2))
          hosted_.host.pause(chance().below(3 * kMillisecond));
      },
      std::minstd_rand(static_cast<std::uint32_t>(chance().next())));
  if (runs_ == run) settling_ = false;
}

void Site::give_out() {
  if (settling_) return;  // it is done behind that
  for (auto& [connection, box] : boxes_) {
    while (!daemon_->mind.quiet(connection)) {
      const node::Reply reply = daemon_->mind.reply(connection);
      if (reply.request != box.wanted) continue;
      box.reply = reply;
      box.word.fetch_add(1);
    }
  }
}

std::optional<node::Reply> Site::ask(std::uint64_t connection, node::Request request) {
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
    if (runs_ != run || !hosted_.host.problem().empty()) return std::nullopt;
    if (box.reply) return std::exchange(box.reply, std::nullopt);
    library::futex_sleep({}, box.word, value, std::nullopt);
  }
}

void Site::tell(NodeId node, std::vector<std::byte> message) {
  if (cluster() == nullptr) return;
  asked += node::split_message(message)->first == static_cast<std::uint16_t>(node::FarKind::lookup);
  cluster()->tell(node, std::move(message), world_.now);
}

void Site::random(std::span<std::byte> out) {
  for (std::byte& each : out) each = static_cast<std::byte>(chance().below(256));
}

pid_t Site::start(base::FileDescriptor socket, const std::string&) {
  const auto held = std::make_shared<base::FileDescriptor>(std::move(socket));
  clerk_ = &hosted_.host.come_at(id, [this, held](simulation::Inhabitant& self) {
    hosted_.host.pause(chance().below(20 * kMillisecond));
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
  auto& host = hosted_.host;
  if (host.here().alive) host.kill(host.inhabitant(static_cast<std::uint64_t>(process)));
}

std::int64_t Site::now_ns() noexcept { return static_cast<std::int64_t>(hosted_.host.time()); }

}  // namespace hamlyn::test
