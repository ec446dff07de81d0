#include "library/control/control.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/descriptor_table.h"
#include "base/throw_system.h"
#include "base/uncancelled.h"
#include "library/control/control_loop.h"
#include "library/engine.h"
#include "library/wait/own_thread.h"

namespace hamlyn::internal_::library {

namespace {

// Gives the control thread a root and a working folder of its own. The socket's path leads there also when
// the program goes into another root (chroot), and the program's working folder is not held. Where a filter
// of system calls forbids it, a change of root may cut the process off, which is told.
void leave_folder() noexcept {
  if (unshare(CLONE_FS) == 0) {
    [[maybe_unused]] const int gone = chdir("/");
  }
}

// Each link has two descriptors in the control thread's table, for which the process's limit holds. The rest
// is for areas, and for what is under way.
std::size_t links_within_limit(std::size_t wanted) noexcept {
  constexpr rlim_t kOthers = 128;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const rlim_t rest = limit.rlim_cur - std::min(limit.rlim_cur, std::min(kOthers, limit.rlim_cur / 2));
  return std::min<std::size_t>(wanted, rest / 2);
}

// As the counter page has it.
std::uint64_t consent_word(const Consent& consent) noexcept {
  return consent.everyone ? 0 : 1 | consent.users.size() << 8 | consent.groups.size() << 16;
}

}  // namespace

Control::Control(Engine& engine, const Interface::Options& options)
    : engine_(engine), options_(options), mapped_areas_(engine, handed_out_) {
  const base::Uncancelled guard;
  wanted_.reserve(options.links);
  std::exception_ptr failure;
  thread_ = start_own_thread("hamlyn-control", [this, &failure] { main(failure); });
  {
    std::unique_lock lock(requests_mutex_);
    request_done_.wait(lock, [this] { return attached_; });
  }
  engine_.counter_memory_.memfd.reset();  // the control thread has it
  if (failure) {
    thread_.join();
    std::rethrow_exception(failure);
  }
}

Control::~Control() {
  const base::Uncancelled guard;
  stop_.store(true);
  called_.store(false);
  attention();
  if (thread_.joinable()) thread_.join();
}

void Control::main(std::exception_ptr& failure) {
  bool attached = false;
  try {
    leave_descriptor_table(engine_.counter_memory_.memfd.get());
    most_links_ = links_within_limit(options_.links);
    node::ClientOptions client;
    client.socket = options_.node;
    client.start_node = options_.start_node;
    client.timeout = options_.timeout;
    client.consent = options_.consent;
    client_ = node::Client::attach(client, counters_.get());  // first, for low numbers of its descriptors
    wake_event_.listen();
    epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) base::throw_system("epoll_create1");
    interface_id_ = client_->interface_id();
    engine_.counters_.interface = interface_id_;
    handed_out_.open();
    watch(handed_out_.descriptor(), EPOLLIN, kHandedOut);
    engine_.counters_.consent = consent_word(options_.consent);
    node_socket_ = client_->socket();
    watch(wake_event_.descriptor(), EPOLLIN, kWake);
    watch(client_->descriptor(), EPOLLIN, kNode);
    watch_signals();
    leave_folder();
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
  constexpr WhyNoLink kLeft{LinkReason::left, false};
  while (!keepers_.empty()) end(*keepers_.front(), LinkKeeper::End::none, kLeft);
  while (!far_keepers_.empty()) end_far(far_keepers_.front(), false, kLeft);
  // Here, also after a failure: in the table of whoever destroys this, the same numbers are other
  // descriptors.
  if (client_) {
    client_->say_farewell();
    leave_node();
  }
  handed_out_ = {};
  foreign_.close_pending();
  wake_event_.close();
  signals_.reset();
  counters_.reset();
  epoll_.reset();
}

// A table of our own with nothing in it but the counter page. The application's descriptors must not stay
// open here when it closes them; the standard three lead nowhere.
void Control::leave_descriptor_table(int counters) {
  if (!leave_descriptors({static_cast<unsigned>(counters)})) base::throw_system("close_range");
  counters_.reset(counters);
  if (!base::fill_standard_descriptors()) base::throw_system("open of /dev/null");
}

// Watches the signals by which people end processes. While the program has threads, those take them. Only
// changes are told, so that a signal which the program keeps waiting costs nothing.
void Control::watch_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2})
    sigaddset(&signals, signal);
  signals_.reset(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) base::throw_system("signalfd");
  watch(signals_.get(), EPOLLIN | EPOLLET, kSignals);
}

void Control::watch(int fd, std::uint32_t events, std::uint64_t about) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = about;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) base::throw_system("epoll_ctl");
}

// Messages that the daemon had no room for leave when it has.
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
    const int count = wait_for_events(events);
    end_rest();
    std::vector<std::uint64_t> served;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t about = events[i].data.u64;
      if (about == kWake) {
        wake_event_.take();
        called_.store(false);
        do_delegated_calls();
        serve_imports();
        serve_requests();
        introduce_wanted();
        look_at_links();
      } else if (about == kSignals) {
        if (only_own_threads_left()) engine_.let_signals_in();
      } else if (about == kNode) {
        read_node();
      } else if (about == kHandedOut) {
        hand_out_more();
        look_at_links();
      } else {
        serve_link(about, served);
      }
    }
    if (!client_) find_node_again();
    watch_unsent();
    if (!served.empty()) look_at_served(served);
    look_for_stalls();
    count_handed_out();
    foreign_.close_pending();
  }
}

// While something of other users is put off, only the process's own threads are heard.
int Control::wait_for_events(std::span<epoll_event> events) {
  const auto put_off = pace_.wait(std::chrono::steady_clock::now());
  if (put_off.count() == 0)
    return epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), pause_until_next_look());
  pollfd wake{wake_event_.descriptor(), POLLIN, 0};
  const timespec time{0, static_cast<long>(put_off.count())};
  if (ppoll(&wake, 1, &time, nullptr) <= 0) return 0;
  events[0].data.u64 = kWake;
  return 1;
}

void Control::serve_link(std::uint64_t about, std::vector<std::uint64_t>& served) {
  // An earlier event of this round may have ended the link.
  const auto found = by_tag_.find(about & ~kPidfd);
  if (found == by_tag_.end()) return;
  LinkKeeper& keeper = *found->second;
  if (!pace_.may(keeper.uid(), std::chrono::steady_clock::now())) return;
  pace_.spend(keeper.uid(), 1);
  served.push_back(found->first);
  // While an import waits for its answer nothing is read, so such an event is the end.
  if ((about & kPidfd) != 0 || keeper.import_waits()) return peer_died(keeper);
  read_link(keeper);
}

int Control::pause_until_next_look() const noexcept {
  if (foreign_.pending_closes() != 0) return kCloseAgain;
  if (!client_) return static_cast<int>(kAttachPause.count());
  const auto pause = stall_watch_.pause();
  return !pause || (keepers_.empty() && far_keepers_.empty()) ? -1 : static_cast<int>(pause->count());
}

void Control::attention() noexcept {
  if (called_.exchange(true)) return;
  wake_event_.ring();
}

}  // namespace hamlyn::internal_::library
