#include "tool/perf/our_party.h"

#include <poll.h>

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "tool/perf/far_nodes.h"

namespace hamlyn::tool::perf {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kGoodbye = ~std::uint64_t{0};

[[noreturn]] void throw_status(const char* doing, Status status) {
  throw std::runtime_error(std::string(doing) + ": " + name(status) + ", " + advice(status));
}

Interface::Options at_place(Place place, int side) {
  Interface::Options options;
  if (place == Place::ofi) options.node = at_far_node(side);
  return options;
}

}  // namespace

std::string new_meeting() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    throw std::runtime_error("getrandom gives nothing");
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "perf-%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

Party::Party(const PartyOptions& options, const std::string& meeting, int side)
    : at_(at_place(options.place, side)),
      interface_(at_),
      area_(interface_, kControlBytes + options.bytes, options.sharing),
      queue_(interface_),
      slot_(area_, queue_,
            {.entries = options.entries,
             .places = options.places,
             .fetches = options.remote,
             .gets = options.remote ? 65536u : 0u}),
      terminus_(interface_),
      entries_(options.entries) {
  interface_.publish(meeting + "-" + std::to_string(side), slot_.ticket());
  other_ = interface_.lookup(meeting + "-" + std::to_string(1 - side), seconds{10});
  const Status status = terminus_.connect(other_, seconds{10});
  if (status != Status::ok) throw_status("connect", status);
}

Interface& Party::another_interface() { return *further_.emplace_back(std::make_unique<Interface>(at_)); }

std::vector<Ticket> Party::entry_tickets() {
  std::vector<Ticket> tickets;
  for (std::uint32_t entry = 0; entry < entries_; ++entry) tickets.push_back(slot_.ticket(entry));
  return tickets;
}

void Party::hand_over(std::span<const Ticket> tickets) {
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const auto data = std::as_bytes(tickets.subspan(i, 1));
    while (true) {
      const Status status = terminus_.send_fast(other_, data, i, i * sizeof(Ticket));
      if (status == Status::ok) break;
      run_or_throw("send_fast", status);
    }
  }
}

std::vector<Ticket> Party::take_tickets(std::size_t count) {
  std::vector<Ticket> tickets(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto arrival = next();
    const auto from = bytes(arrival);
    expect(arrival.word < count && from.size() == sizeof(Ticket), "no ticket where one was expected");
    std::memcpy(&tickets[arrival.word], from.data(), sizeof(Ticket));
  }
  return tickets;
}

void Party::throw_trouble(const Notification& arrival) {
  throw std::runtime_error(std::string("no message but a notification of trouble: ") + name(arrival.cause));
}

void Party::throw_unless_full(const char* doing, Status status) {
  if (status != Status::queue_full && status != Status::no_place && status != Status::connecting) {
    throw_status(doing, status);
  }
}

void Party::run_or_throw(const char* doing, Status status) {
  throw_unless_full(doing, status);
  interface_.run();
}

Notification Party::next_asleep() {
  Notification arrival;
  const Status status = queue_.receive(arrival);
  if (status != Status::ok) throw_status("receive", status);
  if (arrival.kind != Notification::Kind::message) throw_trouble(arrival);
  return arrival;
}

Notification Party::next_on_descriptor() {
  for (;;) {
    if (std::optional<Notification> arrival = queue_.poll()) return *arrival;
    pollfd one{queue_.descriptor(), POLLIN, 0};
    expect(::poll(&one, 1, -1) == 1, "poll(2) has failed");
  }
}

SendHandle Party::send(const Ticket& ticket, std::span<const std::byte> data, std::uint64_t offset) {
  const SendOptions options{.offset = kControlBytes + offset};
  for (;;) {
    SendHandle handle;
    const Status status = terminus_.send(ticket, data, options, &handle);
    if (status == Status::ok || status == Status::pending) return handle;
    run_or_throw("send", status);
  }
}

SendHandle Party::send_from_area(const Ticket& ticket, std::uint64_t offset, std::uint64_t bytes) {
  const SendOptions options{.offset = kControlBytes + offset};
  const Piece piece{0, offset, bytes};
  for (;;) {
    SendHandle handle;
    const Status status = terminus_.send_gathered(ticket, {&piece, 1}, options, &handle);
    if (status == Status::ok || status == Status::pending) return handle;
    run_or_throw("send_gathered", status);
  }
}

void Party::expect_ok(const char* doing, Status status) {
  if (status != Status::ok) throw_status(doing, status);
}

SendHandle Party::send(const Share& share, std::span<const std::byte> data) {
  for (;;) {
    SendHandle handle;
    const Status status = terminus_.send(share, data, {}, &handle);
    if (status == Status::ok || status == Status::pending) return handle;
    run_or_throw("send", status);
  }
}

void Party::wait_until_sent(SendHandle handle) {
  if (handle.sequence == 0 || terminus_.status(handle) == Status::ok) return;
  const Status status = terminus_.wait(handle, seconds{10});
  if (status != Status::ok) throw_status("wait", status);
}

std::uint64_t Party::fetch_add(std::uint64_t offset, std::uint64_t operand) {
  RemoteHandle handle;
  const Status asked = terminus_.fetch(other_, {.op = FetchOp::add, .bytes = 8, .operand = operand},
                                       {.offset = kControlBytes + offset}, &handle);
  if (asked != Status::pending) throw_status("fetch", asked);
  const Outcome outcome = terminus_.wait_outcome(handle, seconds{10});
  if (outcome.status != Status::ok) throw_status("fetch", outcome.status);
  return outcome.value;
}

std::span<const std::byte> Party::get(std::uint64_t offset, std::size_t length) {
  const std::uint64_t at = kControlBytes + offset;
  RemoteHandle handle;
  const Status asked = terminus_.get(other_, slot_, at, length, {.offset = at}, &handle);
  if (asked != Status::pending) throw_status("get", asked);
  const Outcome outcome = terminus_.wait_outcome(handle, seconds{10});
  if (outcome.status != Status::ok) throw_status("get", outcome.status);
  return area_.bytes().subspan(at, length);
}

void Party::arm(std::uint32_t entry) {
  const Status status = slot_.arm(entry);
  if (status != Status::ok) throw_status("arm", status);
}

GroupShares Party::arm_group(std::uint32_t entry, std::uint32_t members) {
  GroupShares shares;
  const Status status = slot_.arm_group(entry, members, shares);
  if (status != Status::ok) throw_status("arm_group", status);
  return shares;
}

void Party::disarm(std::uint32_t entry) {
  const Status status = slot_.disarm(entry);
  if (status != Status::ok) throw_status("disarm", status);
}

void Party::finish() {
  send_fast({}, kGoodbye);
  while (next().word != kGoodbye) {
  }
}

std::vector<double> run_parties(Cores cores, std::size_t results, const PartyOptions& first_options,
                                const PartySide& first, const PartyOptions& second_options,
                                const PartySide& second) {
  const std::string meeting = new_meeting();
  if (first_options.place == Place::ofi) far_node(0);  // here, once for all rounds
  const auto side = [&](Room& room, int number) {
    Party party{number == 0 ? first_options : second_options, meeting, number};
    (number == 0 ? first : second)(party, room);
    party.finish();
  };
  return run_pair(
      cores, {.results = results}, [&](Room& room) { side(room, 0); }, [&](Room& room) { side(room, 1); });
}

}  // namespace hamlyn::tool::perf
