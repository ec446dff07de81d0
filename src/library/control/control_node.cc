// The control thread's talk with the node daemon: what is asked of it, what it says, and how it is found
// again.
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/uncancelled.h"
#include "library/control/control.h"
#include "library/control/control_loop.h"
#include "library/engine.h"

namespace hamlyn::internal_::library {
namespace {

constexpr std::chrono::milliseconds kAttachTry{150};
constexpr std::chrono::seconds kLastAnswer{1};

}  // namespace

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

Ticket Control::lookup(std::string_view name, const LookupOptions& options, Registrant* who) {
  auto request = std::make_shared<Request>();
  request->kind = node::RequestKind::lookup;
  request->name = name;
  request->lookup = options;
  const bool wait = options.timeout.count() > 0;
  ask(request, wait ? options.timeout : options_.timeout);
  if (who != nullptr) *who = request->registrant;
  return request->ticket;
}

void Control::cancel() noexcept {
  if (engine_.lock().forked()) return;
  {
    const std::lock_guard lock(requests_mutex_);
    for (const auto& request : requests_) {
      const bool asked_for =
          request->kind != node::RequestKind::area_bytes;  // nobody waits long for that one
      request->cancelled |= asked_for && !request->begun;
    }
  }
  attention();
}

// Names the daemon that answers for this process, so that two that have attached to different ones can tell.
std::string Control::asked_node() const {
  const std::uint16_t node = node::node_of(interface_id_);
  return "the node daemon at " + node_socket_ +
         (node == 0 ? std::string{} : ", node " + std::to_string(node) + ',');
}

std::string Control::why_in_vain(const Request& request) const {
  const bool lookup = request.kind == node::RequestKind::lookup;
  std::string why = "'" + request.name +
                    (lookup ? "': nobody has registered it in the time given with "
                            : "': no answer in the time given from ");
  why += asked_node();
  if (why.back() == ',') why.pop_back();
  // The daemon adds which nodes of the cluster are missing.
  return request.text.empty() ? why : why + ": " + request.text;
}

// Hands a request to the control thread and waits until it is answered.
void Control::ask(std::shared_ptr<Request> request, std::chrono::milliseconds timeout) {
  // The thread that would answer is the parent's.
  if (engine_.lock().forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  const base::Uncancelled guard;
  std::unique_lock lock(requests_mutex_);
  requests_.push_back(request);
  attention();
  const auto done = [&] { return request->done; };
  const Deadline deadline = deadline_in(timeout);
  const bool in_time =
      deadline ? request_done_.wait_until(lock, *deadline, done) : (request_done_.wait(lock, done), true);
  if (!in_time) {
    request->cancelled = request->late = true;
    attention();
    // The daemon may have answered just before: what it says then is what holds. One that stands still says
    // nothing; of bytes it must be known what it counts.
    if (request->kind == node::RequestKind::area_bytes) {
      request_done_.wait(lock, done);
    } else if (!request_done_.wait_for(lock, kLastAnswer, done)) {
      throw Error(ErrorCode::timed_out, "'" + request->name + "': " + asked_node() +
                                            " does not answer, not even to say that it did nothing");
    }
    if (request->error == ErrorCode::cancelled) throw Error(ErrorCode::timed_out, why_in_vain(*request));
  }
  if (request->error == ErrorCode::cancelled)
    throw Error(ErrorCode::cancelled, "'" + request->name + "': cancelled");
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
      const bool nobody = request.late && !client_;
      request.error = nobody ? ErrorCode::node_unreachable : ErrorCode::cancelled;
      if (nobody) request.text = "'" + request.name + "': this process has no node daemon: " + last_try_.text;
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
      client_->lookup(request.number, request.name, request.lookup.timeout.count() > 0, request.lookup.node,
                      request.lookup.cached);
      break;
  }
}

std::shared_ptr<NameRequest> Control::begin_lookup(std::string_view name) {
  const base::Uncancelled guard;
  auto request = std::make_shared<Request>();
  request->kind = node::RequestKind::lookup;
  request->name = name;
  request->lookup.timeout = std::chrono::milliseconds::max();
  request->begun = true;
  const std::lock_guard lock(requests_mutex_);
  requests_.push_back(request);
  attention();
  return request;
}

bool Control::lookup_done(const NameRequest& request) const noexcept {
  const base::Uncancelled guard;
  const std::lock_guard lock(requests_mutex_);
  return request.done;
}

Ticket Control::end_lookup(const std::shared_ptr<NameRequest>& request) {
  // One that is done is known to nobody else.
  if (request->error) throw Error(*request->error, request->text);
  return request->ticket;
}

void Control::give_up_lookup(const std::shared_ptr<NameRequest>& request) noexcept {
  const base::Uncancelled guard;
  const std::lock_guard lock(requests_mutex_);
  request->cancelled = true;
  attention();
}

// --- the node

void Control::read_node() {
  while (client_ && pace_.may(std::chrono::steady_clock::now())) {
    std::optional<node::Event> event = client_->next();
    if (!event) return;
    if (event->link != 0 && !event->initiator) pace_.spend(event->peer_uid, ControlPace::kIntroduction);
    if (event->kind == node::Event::Kind::lost) {
      standing_ = client_->standing();
      lost_at_ = std::chrono::steady_clock::now();
      last_try_ = {false, ErrorCode::node_unreachable, "the daemon at " + node_socket_ + " has ended"};
      leave_node();
      grow_uncounted();
      next_attach_ = {};
      const std::lock_guard lock(requests_mutex_);
      for (const auto& request : requests_) request->number = 0;  // to be asked again
      for (const auto& [number, peer] : introductions_) await_daemon(peer);
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
      far_leaves(*event);
    } else if (event->kind == node::Event::Kind::cut) {
      cut_far(event->link, event->peer);
      for (const auto& keeper : keepers_) {
        if (keeper->number() != event->link || keeper->peer() != event->peer) continue;
        end(*keeper, LinkKeeper::End::none, {LinkReason::cut, false});
        break;
      }
    } else {
      answer(*event);
    }
  }
}

void Control::answer(node::Event& event) {
  if (const auto asked = introductions_.find(event.request); asked != introductions_.end()) {
    if (event.kind != node::Event::Kind::linked) refuse(asked->second, {event.reason, false}, true);
    introductions_.erase(asked);
    return;
  }
  if (const auto asked = growths_.find(event.request); asked != growths_.end()) {
    const std::uint64_t number = asked->second;
    growths_.erase(asked);
    answer_growth(number, event.kind == node::Event::Kind::granted);
    return;
  }
  std::unique_lock lock(requests_mutex_);
  const auto found = std::find_if(requests_.begin(), requests_.end(), [&](const auto& request) {
    return request->number == event.request && event.request != 0;
  });
  if (found == requests_.end()) return;
  const std::shared_ptr<Request> asked = *found;
  Request& request = *asked;
  if (event.kind == node::Event::Kind::refused) {
    request.error = event.error;
    request.text = event.text;
  } else if (event.kind == node::Event::Kind::cancelled) {
    request.error = ErrorCode::cancelled;
    request.text = event.text;
  }
  request.ticket = event.ticket;
  request.registrant = {event.peer, event.peer_uid, event.peer_gid, event.peer_pid};
  request.done = true;
  requests_.erase(found);
  request_done_.notify_all();
  lock.unlock();
  if (request.begun) have_all_look();
}

void Control::refuse_requests(const Error& error) {
  bool any_begun = false;
  {
    const std::lock_guard lock(requests_mutex_);
    std::erase_if(requests_, [&](const auto& request) {
      if (request->kind == node::RequestKind::area_bytes) return false;  // the next daemon hears of it
      request->error = error.code();
      request->text = error.what();
      any_begun |= request->begun;
      return request->done = true;
    });
    request_done_.notify_all();
  }
  if (any_begun) have_all_look();
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
  std::optional<Error> why;
  try {
    attach_again();
    attached_again();
    return;
  } catch (const Error& error) {
    why = error;
  } catch (const std::exception&) {  // no memory: again later
  }
  if (client_) leave_node();
  try {
    if (why) not_attached(*why);
  } catch (const std::exception&) {  // no memory: it is said the next time
  }
}

// Keeps why there is no daemon, and tells it when that has lasted. A caller that waits for a name has a
// deadline of its own. It is refused at once where no daemon can help: one is there, and cannot be reached or
// does not want us.
void Control::not_attached(const Error& why) {
  const ErrorCode code = why.code();
  last_try_ = {false, code, why.what()};
  bool news = false;
  {
    const std::lock_guard lock(requests_mutex_);
    const bool lately = std::chrono::steady_clock::now() - lost_at_ < kCutOff;
    if (attachment_.attached && lately && code != ErrorCode::version_mismatch) return;
    news = std::exchange(attachment_, last_try_).attached;
  }
  if (news) engine_.set_attached(false);
  if (code == ErrorCode::version_mismatch) return refuse_requests(why);
  if (code == ErrorCode::node_unreachable || code == ErrorCode::timed_out) return;
  refuse_requests(Error(ErrorCode::node_unreachable,
                        std::string("this process is cut off from its node daemon: ") + why.what()));
}

void Control::attached_again() noexcept {
  {
    const std::lock_guard lock(requests_mutex_);
    if (std::exchange(attachment_, {}).attached) return;
  }
  engine_.set_attached(true);
}

Attachment Control::attachment() const {
  const std::lock_guard lock(requests_mutex_);
  return attachment_;
}

void Control::attach_again() {
  node::ClientOptions client;
  client.socket = node_socket_;
  client.start_node = options_.start_node;
  client.timeout = kAttachTry;
  client.consent = options_.consent;
  client_ = node::Client::attach(client, counters_.get(), &standing_);
  if (client_->interface_id() != interface_id_)
    throw Error(ErrorCode::not_permitted,
                "the node daemon at " + node_socket_ + " does not know this process");
  watch(client_->descriptor(), EPOLLIN, kNode);
  unsent_ = false;
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

}  // namespace hamlyn::internal_::library
