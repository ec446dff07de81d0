#include "daemon/clerk_process.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/memfd.h"
#include "base/socket.h"
#include "base/throw_system.h"

namespace hamlyn::daemon {
namespace {

using segment::ClerkKind;
using segment::ClerkMessage;

constexpr int kTurn = 64;  // messages of the clerk before it is another's turn

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

ClerkProcess::ClerkProcess(ClerkMachine& machine)
    : machine_(machine), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) base::throw_system("epoll_create1");
}

ClerkProcess::~ClerkProcess() {
  node_ = nullptr;  // has gone before
  end();
  drop_memory();
}

void ClerkProcess::serve(node::Node& node, const Options& options) {
  node_ = &node;
  node_socket_ = options.socket;
  service_.emplace(node, static_cast<Environment&>(*this),
                   segment::NameService::Options{options.key, options.generation, options.after});
  node.set_clerk(*service_);
}

bool ClerkProcess::start() {
  try {
    auto [mine, its] = base::socket_pair();
    process_ = machine_.start(std::move(its), node_socket_);
    if (process_ < 0) return false;
    socket_ = std::move(mine);
  } catch (const Error& error) {
    spdlog::warn("the clerk of names cannot be started: {}", error.what());
    return false;
  }
  node_->set_clerk_process(static_cast<std::uint32_t>(process_));
  watch(EPOLL_CTL_ADD);
  spdlog::info("the clerk of names is process {}", process_);
  return true;
}

void ClerkProcess::watch(int operation) {
  epoll_event event{};
  event.events = unsaid_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  ::epoll_ctl(epoll_.get(), operation, socket_.get(), &event);
}

bool ClerkProcess::send(const ClerkMessage& message) {
  const int memory[] = {memory_.get()};
  const bool shows = message.kind == ClerkKind::table && message.buckets != 0;
  // One that has gone is seen to have gone when it is read from.
  return base::send_message(socket_.get(), std::as_bytes(std::span{&message, 1}),
                            std::span{memory}.first(shows ? 1 : 0), MSG_DONTWAIT) == base::SocketState::ok;
}

bool ClerkProcess::say(const ClerkMessage& message) {
  if (!socket_) return false;
  if (message.kind == ClerkKind::read) return unsaid_.empty() && send(message);
  // Only the last table counts, and its memory is the one that is there.
  std::erase_if(unsaid_, [&](const ClerkMessage& each) { return each.kind == message.kind; });
  unsaid_.push_back(message);
  flush();
  return true;
}

void ClerkProcess::flush() {
  if (unsaid_.empty()) return;
  while (!unsaid_.empty() && send(unsaid_.front())) unsaid_.pop_front();
  watch(EPOLL_CTL_MOD);
}

void ClerkProcess::receive_some(node::Time now) {
  if (!socket_) return;
  flush();
  for (int i = 0; i < kTurn && socket_; ++i) {
    ClerkMessage message;
    const auto got =
        base::receive_message(socket_.get(), std::as_writable_bytes(std::span{&message, 1}), MSG_DONTWAIT);
    if (got.state == base::SocketState::again) return;
    if (got.state != base::SocketState::ok || got.bytes != sizeof message) {
      spdlog::warn("the clerk of names has ended; it is started again when it is wanted");
      end();
      return service_->ended(now);
    }
    service_->received(message, now);
  }
}

void ClerkProcess::tick(node::Time now) {
  if (!socket_ || service_->deadline() > now_ns() || service_->tick(now)) return;
  spdlog::warn("the clerk of names does not answer, and is ended");
  end();
  service_->ended(now);
}

node::Time ClerkProcess::deadline(node::Time now) const {
  if (!socket_) return node::Time::max();
  const std::int64_t until = service_->deadline();
  if (until == std::numeric_limits<std::int64_t>::max()) return node::Time::max();
  const std::int64_t left = until - const_cast<ClerkProcess*>(this)->now_ns();
  return now + node::Time{std::max<std::int64_t>(left / 1'000'000 + 1, 0)};
}

// A clerk is of no use without its socket, and answers to nobody: it is not asked to end.
void ClerkProcess::end() {
  if (process_ > 0) {
    machine_.end(process_);
    if (node_ != nullptr) node_->set_clerk_process(0);
  }
  process_ = -1;
  socket_.reset();
  unsaid_.clear();
}

std::span<std::byte> ClerkProcess::make_memory(std::size_t bytes) {
  drop_memory();
  const std::size_t size = whole_pages(bytes);
  memory_ = base::make_memfd("hamlyn-names", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (!memory_ || ::ftruncate(memory_.get(), static_cast<off_t>(size)) != 0) return {};
  // The clerk has the memory mapped writable, but cannot take it away from under the daemon.
  constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fcntl(memory_.get(), F_ADD_SEALS, kSize) != 0) return {};
  mapping_ = machine_.map(memory_.get(), size);
  return mapping_.empty() ? mapping_ : mapping_.first(bytes);
}

void ClerkProcess::drop_memory() {
  if (!mapping_.empty()) machine_.unmap(mapping_);
  mapping_ = {};
  memory_.reset();
}

std::int64_t ClerkProcess::now_ns() { return machine_.now_ns(); }

}  // namespace hamlyn::daemon
