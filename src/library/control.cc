#include "library/control.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/descriptor_table.h"
#include "base/throw_system.h"
#include "library/control_loop.h"
#include "library/engine.h"
#include "library/own_thread.h"

namespace hamlyn::library {

namespace {

thread_local bool is_control_thread = false;

// Each link has two descriptors in the control thread's table, for which the process's limit holds. The rest
// is for areas, and for what is under way.
std::size_t links_within_limit(std::size_t wanted) noexcept {
  constexpr rlim_t kOthers = 128;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const rlim_t rest = limit.rlim_cur - std::min(limit.rlim_cur, std::min(kOthers, limit.rlim_cur / 2));
  return std::min<std::size_t>(wanted, rest / 2);
}

}  // namespace

Control::Control(Engine& engine, const Interface::Options& options)
    : engine_(engine), options_(options), mapped_areas_(engine, handed_out_) {
  knock_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!knock_) base::throw_system("eventfd");
  wanted_.reserve(options.links);
  std::exception_ptr failure;
  thread_ = start_own_thread("hamlyn-control", [this, &failure] { main(failure); });
  {
    std::unique_lock lock(requests_mutex_);
    request_done_.wait(lock, [this] { return attached_; });
  }
  if (failure) {
    thread_.join();
    std::rethrow_exception(failure);
  }
}

Control::~Control() {
  stop_.store(true);
  knocked_.store(false);
  attention();
  if (thread_.joinable()) thread_.join();
}

bool Control::runs_here() noexcept { return is_control_thread; }

void Control::main(std::exception_ptr& failure) {
  is_control_thread = true;
  ofi::Exchange::leave_sending_to_others();
  bool attached = false;
  try {
    leave_descriptor_table();
    most_links_ = links_within_limit(options_.links);
    epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) base::throw_system("epoll_create1");
    node::ClientOptions client;
    client.socket = options_.node;
    client.start_node = options_.start_node;
    client.timeout = options_.timeout;
    client_ = node::Client::attach(client, engine_.counter_memory_.memfd.get());
    interface_id_ = client_->interface_id();
    engine_.counters_.interface = interface_id_;
    handed_out_.open();
    watch(handed_out_.descriptor(), EPOLLIN, kHandedOut);
    node_socket_ = client_->socket();
    watch(knock_.get(), EPOLLIN, kKnock);
    watch(client_->descriptor(), EPOLLIN, kNode);
    attached = true;
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(requests_mutex_);
    attached_ = true;
  }
  request_done_.notify_all();
  if (attached) loop();
  while (!keepers_.empty()) end(*keepers_.front(), LinkKeeper::End::none);
  while (!far_keepers_.empty()) end_far(far_keepers_.front(), false);
  // Here, also after a failure: in the table of whoever destroys this, the same numbers are other
  // descriptors.
  if (client_) {
    client_->say_farewell();
    leave_node();
  }
  handed_out_ = {};
  foreign_.bury();
  epoll_.reset();
}

// A table of our own with nothing in it but the knocker and the counter page. The application's descriptors
// must not stay open here when it closes them; the standard three lead nowhere.
void Control::leave_descriptor_table() {
  if (!base::keep_only(
          {static_cast<unsigned>(knock_.get()), static_cast<unsigned>(engine_.counter_memory_.memfd.get())}))
    base::throw_system("close_range");
  if (!base::fill_standard_descriptors()) base::throw_system("open of /dev/null");
}

void Control::watch(int fd, std::uint32_t events, std::uint64_t about) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = about;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) base::throw_system("epoll_ctl");
}

// What the daemon had no room for leaves when it has.
void Control::watch_unsent() noexcept {
  const bool unsent = client_ && client_->unsent();
  if (!client_ || std::exchange(unsent_, unsent) == unsent) return;
  epoll_event event{};
  event.events = unsent ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = kNode;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, client_->descriptor(), &event);
}

// Closing is not enough: the daemon has the same pidfd open, which would stay in the set under our number,
// about a keeper that is no more.
void Control::unwatch(const LinkKeeper& keeper) noexcept {
  for (const int fd : {keeper.socket(), keeper.pidfd()}) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

// While a link is not listened to, only its end is heard.
void Control::listen(const LinkKeeper& keeper, bool on) noexcept {
  epoll_event event{};
  event.events = on ? EPOLLIN | EPOLLRDHUP : 0;
  event.data.u64 = tag(keeper);
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, keeper.socket(), &event);
}

void Control::loop() {
  while (!stop_.load()) {
    epoll_event events[32];
    const int count = epoll_wait(epoll_.get(), events, std::size(events), pause_until_next_look());
    end_rest();
    bool links_changed = false;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t about = events[i].data.u64;
      if (about == kKnock) {
        std::uint64_t value;
        [[maybe_unused]] const ssize_t got = read(knock_.get(), &value, sizeof value);
        knocked_.store(false);
        do_errands();
        serve_imports();
        serve_requests();
        introduce_wanted();
        look_at_links();
      } else if (about == kNode) {
        read_node();
      } else if (about == kHandedOut) {
        hand_out_more();
        links_changed = true;
      } else {
        // An earlier event of this round may have ended the link.
        const auto found = std::find_if(keepers_.begin(), keepers_.end(), [&](const auto& keeper) {
          return tag(*keeper) == (about & ~kPidfd);
        });
        if (found == keepers_.end()) continue;
        // While an import waits for its answer nothing is read, so such an event is the end.
        if ((about & kPidfd) != 0 || (*found)->import_waits()) {
          end(**found, LinkKeeper::End::peer_gone);
        } else {
          read_link(**found);
        }
        links_changed = true;
      }
    }
    if (!client_) find_node_again();
    watch_unsent();
    if (links_changed) look_at_links();
    look_for_stalls();
    count_handed_out();
    foreign_.bury();
  }
}

int Control::pause_until_next_look() const noexcept {
  if (foreign_.unburied() != 0) return kBuryAgain;
  if (!client_) return static_cast<int>(kAttachPause.count());
  const auto pause = stall_watch_.pause();
  return !pause || (keepers_.empty() && far_keepers_.empty()) ? -1 : static_cast<int>(pause->count());
}

void Control::attention() noexcept {
  if (knocked_.exchange(true)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(knock_.get(), &one, sizeof one);
}

}  // namespace hamlyn::library
