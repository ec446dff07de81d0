#include "library/control.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/descriptor_table.h"
#include "base/throw_system.h"
#include "library/engine.h"
#include "library/own_thread.h"

namespace hamlyn::library {

namespace {

constexpr std::chrono::milliseconds kStallLook{500};      // how often stalls are looked for
constexpr std::chrono::milliseconds kPageDeadline{5000};  // for the peer's page, from the introduction
constexpr std::chrono::milliseconds kAttachPause{200};    // between two tries to find a daemon again
constexpr std::chrono::milliseconds kAttachTry{150};

// What an epoll event is about: one of these, or twice a link keeper's serial number, and 1 more for its
// pidfd.
constexpr std::uint64_t kKnock = 2;
constexpr std::uint64_t kNode = 4;
constexpr std::uint64_t kPidfd = 1;
constexpr std::uint64_t kFirstSerial = 4;

thread_local bool is_control_thread = false;

std::uint64_t tag(const LinkKeeper& keeper) noexcept { return keeper.serial() * 2; }

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

Control::Control(Engine& engine, const Interface::Options& options) : engine_(engine), options_(options) {
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
  if (!attached) return;
  loop();
  while (!keepers_.empty()) end(*keepers_.front(), LinkKeeper::End::none);
  while (!far_keepers_.empty()) end_far(far_keepers_.front(), false);
  leave_node();
  foreign_.bury();
  epoll_.reset();
}

// A table of our own with nothing in it but the knocker and the counter page. The application's descriptors
// must not stay open here when it closes them; the standard three lead nowhere.
void Control::leave_descriptor_table() {
  if (!base::keep_only(
          {static_cast<unsigned>(knock_.get()), static_cast<unsigned>(engine_.counter_memory_.memfd.get())}))
    base::throw_system("close_range");
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    if (open("/dev/null", O_RDWR) < 0) base::throw_system("open of /dev/null");
  }
}

void Control::watch(int fd, std::uint32_t events, std::uint64_t about) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = about;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) base::throw_system("epoll_ctl");
}

// Closing is not enough: the daemon has the same pidfd open, which would stay in the set under our number,
// about a keeper that is no more.
void Control::unwatch(const LinkKeeper& keeper) noexcept {
  for (const int fd : {keeper.socket(), keeper.pidfd()}) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Control::loop() {
  while (!stop_.load()) {
    epoll_event events[32];
    const int count = epoll_wait(epoll_.get(), events, std::size(events), pause_until_next_look());
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
      } else {
        // An earlier event of this round may have ended the link.
        const auto found = std::find_if(keepers_.begin(), keepers_.end(), [&](const auto& keeper) {
          return tag(*keeper) == (about & ~kPidfd);
        });
        if (found == keepers_.end()) continue;
        if ((about & kPidfd) != 0) {
          end(**found, LinkKeeper::End::peer_gone);
        } else {
          read_link(**found);
        }
        links_changed = true;
      }
    }
    if (!client_) find_node_again();
    if (links_changed) look_at_links();
    look_for_stalls();
    foreign_.bury();
  }
}

int Control::pause_until_next_look() const noexcept {
  if (!client_) return static_cast<int>(kAttachPause.count());
  return keepers_.empty() && far_keepers_.empty() ? -1 : static_cast<int>(kStallLook.count());
}

void Control::attention() noexcept {
  if (knocked_.exchange(true)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(knock_.get(), &one, sizeof one);
}

// --- names

void Control::publish(std::string_view name, const Ticket& ticket, Rights rights) {
  auto request = std::make_shared<Request>();
  request->kind = node::RequestKind::publish;
  request->name = name;
  request->rights = rights;
  request->ticket = ticket;
  ask(request, options_.timeout);
}

void Control::withdraw(std::string_view name) {
  auto request = std::make_shared<Request>();
  request->kind = node::RequestKind::withdraw;
  request->name = name;
  ask(request, options_.timeout);
}

Ticket Control::lookup(std::string_view name, std::chrono::milliseconds timeout, Registrant* who) {
  auto request = std::make_shared<Request>();
  request->kind = node::RequestKind::lookup;
  request->name = name;
  request->wait = timeout.count() > 0;
  ask(request, request->wait ? timeout : options_.timeout);
  if (who != nullptr) *who = request->registrant;
  return request->ticket;
}

void Control::cancel() noexcept {
  if (engine_.lock().forked()) return;
  {
    const std::lock_guard lock(requests_mutex_);
    for (const auto& request : requests_)
      request->cancelled |= request->kind != node::RequestKind::area_bytes;  // nobody waits long for that one
  }
  attention();
}

// Hands a request to the control thread and waits until it is answered.
void Control::ask(std::shared_ptr<Request> request, std::chrono::milliseconds timeout) {
  // The thread that would answer is the parent's.
  if (engine_.lock().forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  std::unique_lock lock(requests_mutex_);
  requests_.push_back(request);
  attention();
  const auto done = [&] { return request->done; };
  const Deadline deadline = deadline_in(timeout);
  const bool in_time =
      deadline ? request_done_.wait_until(lock, *deadline, done) : (request_done_.wait(lock, done), true);
  if (!in_time) {
    request->cancelled = true;
    attention();
    // The daemon may have answered just before: what it says then is what holds.
    request_done_.wait(lock, done);
    if (request->error == ErrorCode::cancelled) {
      throw Error(ErrorCode::timed_out, "'" + request->name + "': no answer in the time given");
    }
  }
  if (request->error) throw Error(*request->error, request->text);
}

void Control::serve_requests() {
  const std::lock_guard lock(requests_mutex_);
  bool answered = false;
  for (auto at = requests_.begin(); at != requests_.end();) {
    Request& request = **at;
    if (request.kind == node::RequestKind::area_bytes && !client_) {
      standing_.area_bytes = request.bytes;  // nobody counts: the next daemon hears of it
      request.done = answered = true;
      at = requests_.erase(at);
      continue;
    }
    if (request.number == 0 && !request.cancelled && client_) send_request(request);
    if (request.cancelled && request.number != 0 && client_) client_->cancel(request.number);
    if (request.cancelled && (request.number == 0 || !client_)) {
      request.error = ErrorCode::cancelled;
      request.text = "'" + request.name + "': cancelled";
      request.done = answered = true;
      at = requests_.erase(at);
    } else {
      ++at;
    }
  }
  if (answered) request_done_.notify_all();
}

void Control::send_request(Request& request) {
  request.number = next_request_++;
  switch (request.kind) {
    case node::RequestKind::publish:
      client_->publish(request.number, request.name, request.rights, request.ticket);
      break;
    case node::RequestKind::withdraw:
      client_->withdraw(request.number, request.name);
      break;
    case node::RequestKind::area_bytes:
      client_->area_bytes(request.number, request.bytes);
      break;
    default:
      client_->lookup(request.number, request.name, request.wait);
      break;
  }
}

// --- the node

void Control::read_node() {
  while (client_) {
    std::optional<node::Event> event = client_->next();
    if (!event) return;
    if (event->kind == node::Event::Kind::lost) {
      standing_ = client_->standing();
      leave_node();
      next_attach_ = {};
      const std::lock_guard lock(requests_mutex_);
      for (const auto& request : requests_) request->number = 0;  // to be asked again
      attention();
      return;
    }
    if (event->kind == node::Event::Kind::introduced || event->kind == node::Event::Kind::no_room) {
      introductions_.erase(event->request);
      introduced(std::move(*event));
    } else if (event->kind == node::Event::Kind::introduced_remote) {
      introductions_.erase(event->request);
      introduced_far(*event);
    } else if (event->kind == node::Event::Kind::open_fabric) {
      open_far(event->text);
    } else if (event->kind == node::Event::Kind::far_gone) {
      far_leaves(event->link, event->peer);
    } else if (event->kind == node::Event::Kind::cut) {
      cut_far(event->link, event->peer);
      for (const auto& keeper : keepers_) {
        if (keeper->number() != event->link || keeper->peer() != event->peer) continue;
        end(*keeper, LinkKeeper::End::none);
        break;
      }
    } else {
      answer(*event);
    }
  }
}

void Control::answer(node::Event& event) {
  if (const auto asked = introductions_.find(event.request); asked != introductions_.end()) {
    if (event.kind != node::Event::Kind::linked) {
      refuse(asked->second);
    }
    introductions_.erase(asked);
    return;
  }
  if (const auto asked = growths_.find(event.request); asked != growths_.end()) {
    const std::uint64_t number = asked->second;
    growths_.erase(asked);
    for (const auto& keeper : keepers_) {
      if (keeper->number() != number || keeper->link() == nullptr) continue;
      if (event.kind != node::Event::Kind::granted || !keeper->offer_ring(keeper->link()->next_size())) {
        engine_.lock_.enter_as_other();
        keeper->link()->growth_refused();
        engine_.lock_.leave();
      }
    }
    return;
  }
  const std::lock_guard lock(requests_mutex_);
  const auto found = std::find_if(requests_.begin(), requests_.end(), [&](const auto& request) {
    return request->number == event.request && event.request != 0;
  });
  if (found == requests_.end()) return;
  Request& request = **found;
  if (event.kind == node::Event::Kind::refused) {
    request.error = event.error;
    request.text = event.text;
  } else if (event.kind == node::Event::Kind::cancelled) {
    request.error = ErrorCode::cancelled;
    request.text = "'" + request.name + "': cancelled";
  }
  request.ticket = event.ticket;
  request.registrant = {event.peer, event.peer_uid, event.peer_gid, event.peer_pid};
  request.done = true;
  requests_.erase(found);
  request_done_.notify_all();
}

void Control::leave_node() noexcept {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, client_->descriptor(), nullptr);
  foreign_.drop(client_->leave());
  client_.reset();
}

// The daemon has gone. Links go on without it; names and numbers are given back by the next one.
void Control::find_node_again() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_attach_) return;
  next_attach_ = now + kAttachPause;
  node::ClientOptions client;
  client.socket = node_socket_;
  client.start_node = options_.start_node;
  client.timeout = kAttachTry;
  try {
    client_ = node::Client::attach(client, engine_.counter_memory_.memfd.get(), &standing_);
  } catch (const Error&) {
    return;  // again later; whoever waits for a name has a deadline of its own
  }
  if (client_->interface_id() != interface_id_) {
    leave_node();  // somebody else's daemon: it does not know us
    return;
  }
  watch(client_->descriptor(), EPOLLIN, kNode);
  for (const auto& keeper : keepers_) keeper->reported = 0;  // it has heard of nothing yet
  for (FarKeeper& keeper : far_keepers_) keeper.reported = 0;
  if (far_state_ == FarState::open) say_far_address();
  for (const auto& [number, peer] : std::exchange(introductions_, {})) {
    const std::uint64_t again = next_request_++;
    introductions_.emplace(again, peer);
    client_->introduce(again, peer);
  }
  serve_requests();
}

// --- links

void Control::want_link(std::uint64_t peer) noexcept {
  if (std::find(wanted_.begin(), wanted_.end(), peer) != wanted_.end()) return;
  if (wanted_.size() == wanted_.capacity()) return;  // asked again at the next try
  wanted_.push_back(peer);
  attention();
}

void Control::introduce_wanted() {
  engine_.lock_.enter_as_other();
  const std::vector<std::uint64_t> wanted(wanted_);
  wanted_.clear();
  std::vector<std::uint64_t> missing;
  for (const std::uint64_t peer : wanted) {
    if (engine_.core_.find_link(peer) == nullptr) missing.push_back(peer);
  }
  engine_.lock_.leave();
  for (const std::uint64_t peer : missing) {
    const bool asked = std::any_of(introductions_.begin(), introductions_.end(),
                                   [&](const auto& introduction) { return introduction.second == peer; });
    if (asked || keeper_of(peer) != nullptr || far_keeper_of(peer) != nullptr) continue;
    introduce(peer);
  }
}

void Control::introduce(std::uint64_t peer) {
  const std::uint64_t number = next_request_++;
  introductions_.emplace(number, peer);
  if (client_) client_->introduce(number, peer);
}

LinkKeeper* Control::keeper_of(std::uint64_t peer) noexcept {
  for (const auto& keeper : keepers_) {
    if (keeper->peer() == peer) return keeper.get();
  }
  return nullptr;
}

void Control::introduced(node::Event event) {
  const std::uint64_t number = event.link;
  const std::uint64_t peer = event.peer;
  const bool no_room = event.kind == node::Event::Kind::no_room;
  base::ForeignSocket socket(foreign_, std::move(event.socket));
  // The node introduces again only when both ends have ended the link before; a former one here is being
  // ended.
  if (LinkKeeper* former = keeper_of(event.peer)) end(*former, LinkKeeper::End::peer_gone);
  if (no_room || keepers_.size() >= most_links_) {
    client_->link_ended(number);
    refuse(peer);
    { const base::ForeignSocket end(std::move(socket)); }
    if (no_room) foreign_.bury();
    return;
  }
  try {
    keepers_.push_back(std::make_unique<LinkKeeper>(
        std::move(event), std::move(socket), kFirstSerial + next_serial_++, interface_id_, options_.mtu));
    LinkKeeper& keeper = *keepers_.back();
    watch(keeper.socket(), EPOLLIN | EPOLLRDHUP, tag(keeper));
    watch(keeper.pidfd(), EPOLLIN, tag(keeper) | kPidfd);
  } catch (const Error&) {
    if (!keepers_.empty() && keepers_.back()->number() == number) {
      unwatch(*keepers_.back());
      keepers_.pop_back();
    }
    client_->link_ended(number);
    refuse(peer);
  }
}

void Control::read_link(LinkKeeper& keeper) {
  LinkKeeper::End how = keeper.read(engine_);
  if (keeper.link() != nullptr) {
    if (keeper.fresh()) {
      join(keeper);
      serve_imports();
    }
    engine_.lock_.enter_as_other();
    const LinkKeeper::End settled = keeper.settle();
    engine_.lock_.leave();
    if (how == LinkKeeper::End::none) how = settled;
    answer_imports(keeper);
  }
  if (how != LinkKeeper::End::none) end(keeper, how);
}

void Control::join(LinkKeeper& keeper) {
  interface::CounterPage& page = engine_.counters_;
  engine_.lock_.enter_as_other();
  shm::ShmLink& link = *keeper.link();
  for (interface::LinkCounters& row : page.link) {
    if (row.peer != 0) continue;
    row = {};
    row.peer = keeper.peer();
    row.peer_uid = keeper.uid();
    row.peer_pid = keeper.pid();
    row.memory_out = link.memory_out();
    row.memory_in = link.memory_in();
    link.counters = &row;
    break;
  }
  engine_.core_.add_link(link);
  // Whoever sleeps does not watch this link yet.
  engine_.wake_everybody();
  engine_.lock_.leave();
}

// There will be no link with `peer`: whoever waits for one, with or without a message, is told.
void Control::refuse(std::uint64_t peer) {
  fail_imports(peer);
  engine_.lock_.enter_as_other();
  engine_.core_.refuse_link(peer);
  engine_.wake_everybody();
  engine_.lock_.leave();
}

void Control::end(LinkKeeper& keeper, LinkKeeper::End how) {
  fail_imports(keeper.peer());
  interface::CounterPage& page = engine_.counters_;
  if (shm::ShmLink* link = keeper.link(); link != nullptr) {
    engine_.lock_.enter_as_other();
    // What arrived whole before the peer went is not lost.
    if (how == LinkKeeper::End::peer_gone) engine_.core_.drain(*link);
    if (how == LinkKeeper::End::protocol_broken) engine_.core_.note_broken(*link);
    engine_.core_.end_link(*link);
    page.packets_in += link->counters->packets_in;
    page.packets_out += link->counters->packets_out;
    *link->counters = {};
    engine_.wake_everybody();
    engine_.lock_.leave();
  } else {
    refuse(keeper.peer());
    engine_.lock_.enter_as_other();
    if (how == LinkKeeper::End::protocol_broken) ++page.links_broken;
    engine_.lock_.leave();
  }
  if (client_) {
    client_->link_ended(keeper.number());
  } else {
    standing_.links.erase(keeper.number());  // the next daemon must not be told of it
  }
  unwatch(keeper);
  std::erase_if(keepers_, [&](const auto& owned) { return owned.get() == &keeper; });
}

// What the data path has marked: links that broke, links that want to grow.
void Control::look_at_links() {
  look_at_far();
  std::vector<LinkKeeper*> broken;
  std::vector<LinkKeeper*> growing;
  std::vector<std::pair<LinkKeeper*, std::uint64_t>> showing;
  engine_.lock_.enter_as_other();
  for (const auto& keeper : keepers_) {
    if (keeper->link() == nullptr) continue;
    if (keeper->link()->broken) {
      broken.push_back(keeper.get());
    } else if (keeper->link()->wants_growth()) {
      keeper->link()->growth_asked();
      growing.push_back(keeper.get());
    }
    const std::uint64_t wanted = keeper->link()->areas_wanted & ~keeper->link()->areas_shown;
    if (wanted != 0) showing.emplace_back(keeper.get(), wanted);
  }
  engine_.lock_.leave();
  for (LinkKeeper* keeper : growing) grow(*keeper);
  for (const auto& [keeper, wanted] : showing) show_areas(*keeper, wanted);
  for (LinkKeeper* keeper : broken) end(*keeper, LinkKeeper::End::protocol_broken);
}

void Control::grow(LinkKeeper& keeper) {
  const std::uint32_t cells = keeper.link()->next_size();
  if (!client_) {  // no daemon to count the bytes: it hears of them when it is back
    if (!keeper.offer_ring(cells)) {
      engine_.lock_.enter_as_other();
      keeper.link()->growth_refused();
      engine_.lock_.leave();
    }
    return;
  }
  const std::uint64_t number = next_request_++;
  growths_.emplace(number, keeper.number());
  client_->link_bytes(number, keeper.number(), sizeof(shm::Page) + cells * interface::kCell);
}

void Control::look_for_stalls() {
  const auto now = std::chrono::steady_clock::now();
  if ((keepers_.empty() && far_keepers_.empty()) || now < next_stall_look_) return;
  next_stall_look_ = now + kStallLook;
  look_for_unmade();
  report_refusals();
  if (options_.stall.count() == 0) return;
  std::vector<LinkKeeper*> stalled;
  engine_.lock_.enter_as_other();
  for (const auto& keeper : keepers_) {
    shm::ShmLink* link = keeper->link();
    if (link == nullptr) continue;
    link->tell_taken();  // who polls without ever sleeping does not say it
    if (!link->work_pending() || link->progress() != keeper->progress) {
      keeper->progress = link->progress();
      keeper->progress_at = now;
    } else if (now - keeper->progress_at >= options_.stall) {
      stalled.push_back(keeper.get());
    }
  }
  std::vector<FarKeeper*> far_stalled;
  for (FarKeeper& keeper : far_keepers_) {
    const std::uint64_t progress = keeper.link->protocol().progress();
    if (!keeper.link->work_pending() || progress != keeper.progress) {
      keeper.progress = progress;
      keeper.progress_at = now;
    } else if (now - keeper.progress_at >= options_.stall) {
      far_stalled.push_back(&keeper);
    }
  }
  engine_.lock_.leave();
  engine_.counters_.links_stalled += stalled.size() + far_stalled.size();
  for (LinkKeeper* keeper : stalled) end(*keeper, LinkKeeper::End::peer_gone);
  for (FarKeeper* keeper : far_stalled) end_far(*keeper, true);
}

// Once per look and link, however many they are. Late packets of what is over are not held against anybody:
// an honest sender cannot know.
void Control::report_refusals() {
  if (!client_) return;
  for (const auto& keeper : keepers_) {
    if (keeper->link() != nullptr) report_refusals(*keeper->link(), keeper->number(), keeper->reported);
  }
  for (FarKeeper& keeper : far_keepers_) report_refusals(*keeper.link, keeper.number, keeper.reported);
}

void Control::report_refusals(const interface::Link& link, std::uint64_t number, std::uint64_t& reported) {
  std::uint64_t refused = 0;
  engine_.lock_.enter_as_other();
  for (std::size_t cause = 0; cause < static_cast<std::size_t>(Refusal::count); ++cause) {
    if (static_cast<Refusal>(cause) != Refusal::stale_message) refused += link.counters->refused[cause];
  }
  engine_.lock_.leave();
  if (refused == reported) return;
  reported = refused;
  client_->report(number, refused);
}

// A peer that was introduced but never shows its page.
void Control::look_for_unmade() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<LinkKeeper*> late;
  for (const auto& keeper : keepers_) {
    if (keeper->link() == nullptr && now - keeper->made >= kPageDeadline) late.push_back(keeper.get());
  }
  for (LinkKeeper* keeper : late) end(*keeper, LinkKeeper::End::protocol_broken);
}

}  // namespace hamlyn::library
