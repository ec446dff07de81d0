#include "test/hostile/parts.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "test/hostile/world.h"

namespace hamlyn::test {

namespace {

using namespace std::chrono_literals;

constexpr std::byte kGuard{0xA5};
// Areas have a page of guard before, between and behind the slots.
enum Place : std::size_t { kNeighbour = 1, kOpen = 3, kParanoid = 5, kOneShot = 7, kPlaces = 9 };
constexpr std::size_t kNeighbourMessages = kSlotBytes / 16;

struct Message {
  std::uint64_t number;
  std::uint64_t inverse;
};

std::uint64_t count_files(const std::filesystem::path& folder) {
  std::uint64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

std::uint64_t control_descriptors() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "hamlyn-control") return count_files(task.path() / "fd");
  }
  return 0;
}

std::uint64_t link_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:") != std::string::npos) ++count;
  }
  return count;
}

class Victim {
 public:
  Victim(Line& line, const Interface::Options& options, bool rearm)
      : line_(line), rearm_(rearm), interface_(options) {
    std::fill(area_.bytes().begin(), area_.bytes().end(), kGuard);
    for (const std::size_t place : {kNeighbour, kOpen, kParanoid, kOneShot})
      std::fill_n(area_.bytes().data() + place * kSlotBytes, kSlotBytes, std::byte{0});
    for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
      static_cast<void>(paranoid_.arm(entry, kLimits));
      static_cast<void>(one_shot_.arm(entry, kLimits));
    }
    line_.put(neighbour_.ticket());
  }

  int run() {
    for (unsigned turn = 0; !line_.gone(); ++turn) {
      Notification arrival;
      // In turns it waits in receive, and sleeps elsewhere while the interface thread does its work.
      if ((turn / 64) % 2 == 0) {
        if (queue_.receive(arrival, 5ms) == Status::ok) take(arrival);
      } else {
        pollfd readable{line_.descriptor(), POLLIN, 0};
        ::poll(&readable, 1, 2);
      }
      for (int i = 0; i < 1000; ++i) {
        const auto next = queue_.poll();
        if (!next) break;
        take(*next);
      }
      answer();
      send();
      if (const auto order = line_.take<Order>(0ms)) obey(*order);
    }
    return 0;
  }

 private:
  static Slot::Options at(std::size_t place, Mode mode) {
    const bool remote = place == kOpen || place == kParanoid;
    return {.base = place * kSlotBytes,
            .bound = kSlotBytes,
            .mode = mode,
            .entries = kEntries,
            .fetches = remote,
            .gets = remote ? kMostGet : 0};
  }

  void take(const Notification& arrival) {
    if (arrival.offset > kSlotBytes || arrival.length > kSlotBytes - arrival.offset) ++report_.wrong;
    switch (arrival.kind) {
      case Notification::Kind::message:
        if (arrival.slot == neighbour_.number()) {
          take_from_neighbour(arrival);
        } else if (arrival.fast) {
          ++report_.fast;
        } else {
          ++report_.counted;
          check(arrival);
          rearm(arrival);
        }
        break;
      case Notification::Kind::failed:
        ++report_.failed;
        rearm(arrival);
        break;
      case Notification::Kind::protocol_error:
      case Notification::Kind::resource_exhausted:
        report_.errors[static_cast<std::size_t>(arrival.cause)] += arrival.word;
        break;
      case Notification::Kind::link_ended:
        ++report_.ended;
        break;
      case Notification::Kind::attachment:
      case Notification::Kind::remote_done:
      case Notification::Kind::remote_failed:
      case Notification::Kind::put:
      case Notification::Kind::put_held:
      case Notification::Kind::got:
      case Notification::Kind::fetched:
      case Notification::Kind::sent:
      case Notification::Kind::send_failed:
      case Notification::Kind::halted:
        break;
    }
  }

  void take_from_neighbour(const Notification& arrival) {
    Message message{};
    if (arrival.length == sizeof message)
      std::memcpy(&message, neighbour_.bytes(arrival).data(), sizeof message);
    if (message.number != arrival.word || message.inverse != ~arrival.word) ++report_.wrong;
    due_.push_back(arrival.word);
  }

  // Long messages of honest senders are of one byte all over.
  void check(const Notification& arrival) {
    if (arrival.slot != open_.number() || arrival.length != kHonestBytes) return;
    const auto bytes = open_.bytes(arrival);
    if (std::count(bytes.begin(), bytes.end(), bytes[0]) != static_cast<std::ptrdiff_t>(bytes.size()))
      ++report_.wrong;
  }

  void rearm(const Notification& arrival) {
    if (!rearm_) return;
    for (Slot* slot : {&open_, &paranoid_, &one_shot_}) {
      if (slot->number() == arrival.slot) static_cast<void>(slot->arm(arrival.entry));
    }
  }

  void answer() {
    while (!due_.empty() && echo_.version != 0) {
      const Status status = terminus_.send_fast(echo_, {}, due_.front());
      if (status == Status::connecting || status == Status::no_place || status == Status::queue_full) return;
      if (status != Status::ok) ++report_.wrong;
      due_.erase(due_.begin());
    }
  }

  void send() {
    if (target_.version == 0) return;
    const Status last = sending_.sequence == 0 ? Status::ok : terminus_.status(sending_);
    if (last == Status::pending) return;
    if (sending_.sequence != 0) ++(last == Status::ok ? report_.sent : report_.unsent);
    sending_ = {};
    if (last != Status::ok) {
      target_ = Ticket{.version = 0};
      return;
    }
    static_cast<void>(terminus_.send(target_, outgoing_, {}, &sending_));
  }

  void obey(const Order& order) {
    switch (order.kind) {
      case Order::Kind::report:
        look_around();
        line_.put(report_);
        break;
      case Order::Kind::tickets:
        line_.put(tickets());
        break;
      case Order::Kind::echo_to:
        echo_ = order.ticket;
        break;
      case Order::Kind::send_to:
        target_ = order.ticket;
        break;
      case Order::Kind::map:
        map(order.ticket);
        break;
    }
  }

  // Reads a slot of the rogue's in place, whatever it does to it meanwhile.
  void map(const Ticket& ticket) {
    try {
      const MappedSlot slot(interface_, ticket, 100ms);
      for (int i = 0; i < 16; ++i) {
        std::uint64_t sum = 0;
        for (const std::byte byte : slot.bytes()) sum += static_cast<std::uint64_t>(byte);
        if (slot.current() && sum != 0) ++report_.mapped;
      }
    } catch (const Error&) {  // the rogue says anything, or nothing
    }
  }

  void look_around() {
    report_.damage = report_.touched = 0;
    for (std::size_t place = 0; place < kPlaces; ++place) {
      const auto page = area_.bytes(place * kSlotBytes, kSlotBytes);
      const std::byte expected = place % 2 == 0 ? kGuard : std::byte{0};
      const auto same = static_cast<std::size_t>(std::count(page.begin(), page.end(), expected));
      if (place != kNeighbour) (place % 2 == 0 ? report_.damage : report_.touched) += kSlotBytes - same;
    }
    report_.fds = count_files("/proc/self/fd");
    report_.control_fds = control_descriptors();
    report_.mappings = link_mappings();
  }

  Tickets tickets() {
    Tickets all;
    all.fast = open_.ticket();
    for (std::uint32_t entry = 0; entry < kEntries; ++entry) {
      all.counted[entry] = open_.ticket(entry);
      try {
        all.paranoid[entry] = paranoid_.ticket(entry);
        all.one_shot[entry] = one_shot_.ticket(entry);
      } catch (const Error&) {  // not armed now
      }
    }
    return all;
  }

  Line& line_;
  const bool rearm_;
  Interface interface_;
  MessageArea area_{interface_, kPlaces* kSlotBytes};
  NotificationQueue queue_{interface_};
  Slot neighbour_{area_, queue_, at(kNeighbour, Mode::guarded)};
  Slot open_{area_, queue_, at(kOpen, Mode::guarded)};
  Slot paranoid_{area_, queue_, at(kParanoid, Mode::paranoid)};
  Slot one_shot_{area_, queue_, at(kOneShot, Mode::paranoid_one_shot)};
  std::vector<std::byte> outgoing_ = std::vector<std::byte>(65536, std::byte{0x77});
  Terminus terminus_{interface_};
  Ticket echo_{.version = 0};
  Ticket target_{.version = 0};
  SendHandle sending_;
  std::vector<std::uint64_t> due_;
  Report report_;
};

}  // namespace

int be_victim(Line& line, const Interface::Options& options, bool rearm) {
  return Victim(line, options, rearm).run();
}

int be_neighbour(Line& line, const std::string& node, const Ticket& victim) {
  Interface interface({.node = node, .start_node = false});
  MessageArea area(interface, 4096);
  NotificationQueue queue(interface);
  Slot slot(area, queue, {});
  Terminus terminus(interface);
  line.put(slot.ticket());
  if (terminus.connect(victim, kPatience) != Status::ok) return 1;
  for (std::uint64_t round = 0; !line.gone(); ++round) {
    const Message message{round, ~round};
    const std::size_t offset = round % kNeighbourMessages * sizeof message;
    while (true) {
      const Status status = terminus.send_fast(victim, std::as_bytes(std::span(&message, 1)), round, offset);
      if (status == Status::ok) break;
      if (status != Status::no_place && status != Status::queue_full) return 2;
      if (terminus.wait_for_place(victim, kPatience) != Status::ok) return 3;
    }
    Notification echo;
    do {  // what it is told of its node changes nothing
      if (queue.receive(echo, kPatience) != Status::ok) return 4;
    } while (echo.kind == Notification::Kind::attachment);
    if (echo.kind != Notification::Kind::message || echo.word != round) return 5;
    if (const auto order = line.take<Order>(1ms)) line.put(round);
  }
  return 0;
}

}  // namespace hamlyn::test
