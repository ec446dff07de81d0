// Tickets, shares, seeds and what carries them between the two ends of a protocol, as anybody may have passed
// them on: looked at by their checks, divided, and used to send by.
//
// Besides not crashing: a share is divided into parts that lie in it and count as much as it did; of a group
// no two shares are equal and all are one whole; a seed is taken for one kind at most; what a peer says of
// its loans leads nowhere outside of its area; and whatever leaves by a ticket is a packet that its
// receiver's own check lets through as far as its form goes, inside of the bounds of that ticket.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "fabric/shm/shm_link.h"
#include "hamlyn/values/error.h"
#include "hamlyn/values/share.h"
#include "interface/core.h"
#include "interface/terminus.h"
#include "protocols/datagram_wire.h"
#include "protocols/loan_wire.h"
#include "protocols/seeds.h"
#include "protocols/stream_wire.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

Goal goals[] = {{"shares that were divided", 300},
                {"seeds that were good", 50},
                {"loans that were good", 10},
                {"packets that left", 300}};
Goal &divided = goals[0], &seeds = goals[1], &loans = goals[2], &left = goals[3];

constexpr std::uint64_t kPeer = 77;
constexpr std::size_t kMtu = 8192;
constexpr std::uint64_t kMostPicked = std::uint64_t{1} << 32;

// One that a receiver may have made, but for a field or two.
Ticket some_ticket(Input& input) {
  Ticket out;
  out.interface = input.pick(4) != 0 ? kPeer : input.pick(3);
  out.slot = static_cast<std::uint32_t>(input.pick(4));
  out.generation = static_cast<std::uint32_t>(input.pick(3));
  out.key = input.pick(4);
  const std::uint64_t kind = input.pick(3);
  out.entry = kind == 0   ? Ticket::kFast
              : kind == 1 ? Ticket::kRemote
                          : static_cast<std::uint32_t>(input.pick(5));
  out.incarnation = out.fast() ? 0 : static_cast<std::uint32_t>(input.pick(3));
  out.base = input.pick(2) == 0 ? 0 : input.number();
  out.bound = input.pick(2) == 0 ? input.pick(70000) : input.number();
  if (input.pick(3) == 0) out.purpose = static_cast<std::uint32_t>(input.pick(9));
  if (input.pick(8) == 0) input.spoil(out);
  return out;
}

bool inside(const Ticket& part, const Ticket& whole) {
  return part.base >= whole.base && part.base - whole.base <= whole.bound &&
         part.bound <= whole.bound - (part.base - whole.base);
}

void divide(Input& input) {
  Share rest{some_ticket(input), 0, 1};
  rest.count = static_cast<std::uint32_t>(input.number());
  if (input.pick(4) != 0) rest.ticket.entry = 1;
  if (input.pick(8) == 0) rest.version = static_cast<std::uint32_t>(input.pick(3));
  const Share whole = rest;
  std::uint64_t count = 0;
  for (std::uint64_t i = input.pick(12); i > 0; --i) {
    Share piece;
    const Share before = rest;
    const bool fits = input.pick(2) == 0 && rest.ticket.bound < kMostPicked;
    const std::uint64_t bytes = fits ? input.pick(rest.ticket.bound + 1) : input.number();
    const bool beyond = invalid(rest) == nullptr && bytes > rest.ticket.bound;
    const Status status = rest.split(bytes, piece);
    ASSERT_EQ(status == Status::out_of_bounds, beyond);
    if (status != Status::ok) {
      ASSERT_EQ(rest, before);
      continue;
    }
    ++divided.times;
    count += piece.count;
    ASSERT_TRUE(inside(piece.ticket, whole.ticket) && inside(rest.ticket, whole.ticket));
    ASSERT_EQ(piece.ticket.base + piece.ticket.bound, rest.ticket.base);
    ASSERT_GE(piece.count, packets_at_most(piece.ticket.bound));
    ASSERT_GE(rest.count, packets_at_most(rest.ticket.bound));
  }
  ASSERT_EQ(count + rest.count, whole.count);
}

void group(Input& input) {
  const Ticket ticket = some_ticket(input);
  if (invalid(ticket) != nullptr) return;
  const auto members = static_cast<std::uint32_t>(input.pick(4) == 0 ? input.number() : input.pick(40));
  GroupShares shares{ticket, members};
  std::set<std::uint32_t> counts;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(members, 64) + 1; ++i) {
    Share share;
    Limits part{};
    if (input.pick(2) == 0) {
      part.base = input.number();
      part.bound = input.number();
    }
    if (shares.next(share, part) != Status::ok) continue;
    ASSERT_TRUE(inside(share.ticket, ticket));
    ASSERT_GE(share.count, packets_at_most(share.ticket.bound));
    ASSERT_TRUE(counts.insert(share.count).second || members < 3) << "two are equal";
    sum += share.count;
  }
  ASSERT_LE(sum, GroupShares::kWhole);
  if (members != 0 && shares.left() == 0 && members <= GroupShares::kMostMembers) {
    ASSERT_EQ(sum, GroupShares::kWhole);
  }
}

void grow(Input& input) {
  const Seed seed{some_ticket(input)};
  int kinds = 0;
  for (std::uint32_t kind = 0; kind <= Ticket::kPurposes; ++kind) {
    try {
      protocols::check_seed(seed, static_cast<SeedKind>(kind));
      ++kinds;
    } catch (const Error& error) {
      ASSERT_TRUE(error.code() == ErrorCode::seed_invalid || error.code() == ErrorCode::seed_wrong_kind);
    }
  }
  ASSERT_EQ(kinds, invalid(seed) == nullptr ? 1 : 0);
  seeds.times += kinds == 1 ? 1 : 0;
}

template <class Message>
Message message(Input& input) {
  Message out{};
  for (std::uint64_t i = input.pick(4); i > 0; --i) input.spoil(out);
  return out;
}

void carry(Input& input) {
  protocols::DatagramReply reply{some_ticket(input)};
  if (input.pick(4) == 0) input.spoil(reply);
  const std::span<const std::byte> bytes = std::as_bytes(std::span{&reply, 1});
  const auto answer = protocols::reply_of(bytes.first(input.pick(8) == 0 ? input.pick(49) : 48), kPeer);
  if (answer) {
    ASSERT_EQ(answer->ticket.interface, kPeer);
    ASSERT_EQ(answer->kind(), SeedKind::datagram);
  }
  auto open = message<protocols::StreamOpen>(input);
  open.answers = some_ticket(input);
  if (protocols::good(open, kPeer)) {
    ASSERT_EQ(open.answers.interface, kPeer);
  }
  auto ring = message<protocols::StreamRing>(input);
  ring.parcels = 1u << input.pick(16);
  ring.bytes = input.number();
  ring.most = input.number();
  if (protocols::good(ring)) {
    ASSERT_LE(ring.bytes, protocols::kMostRing);
    ASSERT_LE(ring.parcels, protocols::kMostParcels);
  }
}

void lend(Input& input) {
  auto open = message<protocols::LoanOpen>(input);
  open.desk = some_ticket(input);
  open.area = some_ticket(input);
  if (input.pick(4) != 0) {
    open.desk.entry = Ticket::kFast;
    open.desk.incarnation = 0;
    open.desk.base = open.area.base = 0;
  }
  for (protocols::LoanCut& cut : open.cuts) {
    if (input.pick(2) == 0) continue;
    cut.bytes = input.pick(4) == 0 ? input.number() : input.pick(10000);
    cut.count = input.pick(8) == 0 ? input.number() : input.pick(300);
  }
  if (!protocols::good(open, kPeer)) return;
  ++loans.times;
  const std::uint64_t bytes = protocols::loan_area_bytes(open.cuts);
  std::vector<protocols::LoanPlace> places;
  std::uint64_t end = protocols::kFirstLoan;
  protocols::place_loans(open.cuts, [&](const protocols::LoanPlace& place) {
    EXPECT_GE(place.offset, end);
    end = place.offset + place.length;
    EXPECT_LE(end, bytes);
    places.push_back(place);
  });
  ASSERT_LE(places.size(), protocols::kLoanBuffers);
  const std::uint64_t word = input.number(), index = input.number();
  const protocols::LoanMessage loan = protocols::loan_of(word);
  ASSERT_EQ(protocols::word_of(loan), word);
  if (protocols::good(loan, index, places)) {
    ASSERT_LE(places[index].offset + loan.length, bytes);
  }
}

struct Alone final : interface::Surroundings {
  std::uint64_t random_key() override { return 5; }
  void want_link(std::uint64_t) noexcept override {}
  void attention() noexcept override {}
  void signal(interface::Queue&) noexcept override {}
};

// A process that sends by tickets which it was given, and the peer that looks at what comes.
class Sender {
 public:
  explicit Sender(Input& input) : input_(input), data_(20000) {
    theirs_ = shm::ShmLink::prepare_page(kPeer, kMtu);
    shm::ForeignMemory seen = shm::map_foreign_memory(theirs_.memfd, sizeof(shm::Page));
    shm::Mapping mine = shm::ShmLink::prepare_page(1, kMtu).mapping;
    page_ = static_cast<const shm::Page*>(mine.data());
    link_ = std::make_unique<shm::ShmLink>(surroundings_, 1, kPeer, kMtu, std::move(mine),
                                           std::move(seen.mapping));
    core_.add_link(*link_);
    reader_.reset(page_->cells, shm::kHomeCells, 1, shm::first_cell(page_->header.interface));
  }
  ~Sender() { core_.end_link(*link_); }

  void send() {
    for (std::uint64_t i = 1 + input_.pick(8); i > 0 && !input_.empty(); --i) {
      const Ticket ticket = some_ticket(input_);
      tickets_.push_back(ticket);
      post(ticket);
      core_.run();
      take();
    }
  }

 private:
  void post(const Ticket& ticket) {
    const std::uint64_t length = input_.pick(3) == 0 ? input_.pick(data_.size() + 1) : input_.pick(60);
    const std::span<const std::byte> data = std::span(data_).first(length);
    const std::uint64_t offset = input_.pick(2) == 0 ? 0 : input_.number();
    const auto element = static_cast<std::uint32_t>(input_.pick(8) == 0 ? input_.pick(10) : 0);
    SendHandle handle;
    RemoteHandle request;
    switch (input_.pick(6)) {
      case 0: {
        SendOptions options;
        options.offset = offset;
        options.element = element;
        options.acknowledged = input_.pick(2) == 0;
        static_cast<void>(terminus_.send(ticket, data, options, &handle));
        return;
      }
      case 1: {
        SendOptions options;
        options.offset = offset;
        const auto count = static_cast<std::uint32_t>(input_.number());
        static_cast<void>(terminus_.send(Share{ticket, count, 1}, data, options, &handle));
        return;
      }
      case 2:
        static_cast<void>(terminus_.send_fast(ticket, data, 7, offset));
        return;
      case 3: {
        Strides strides;
        strides.chunk = static_cast<std::uint32_t>(input_.pick(100));
        strides.x_chunks = static_cast<std::uint32_t>(input_.pick(9));
        strides.y_chunks = static_cast<std::uint32_t>(input_.pick(9));
        strides.x_stride = input_.number();
        strides.y_stride = input_.number();
        PutOptions options;
        options.offset = offset;
        options.notify = input_.pick(2) == 0;
        if (input_.pick(3) == 0) options.strides = &strides;
        static_cast<void>(terminus_.put(ticket, data, options, &handle));
        return;
      }
      case 4: {
        RemoteOptions options;
        options.offset = offset;
        static_cast<void>(
            terminus_.requests().fetch(ticket, {.operand = input_.number()}, options, nullptr, &request));
        return;
      }
      default:
        static_cast<void>(terminus_.ready(ticket));
        static_cast<void>(terminus_.place_free(ticket));
        return;
    }
  }

  // As the peer: each packet is well formed, and of one of the tickets.
  void take() {
    interface::Words words;
    while (reader_.look(words)) {
      const interface::Packet packet = interface::packet_of(words);
      ASSERT_EQ(interface::invalid(packet.lead, kMtu), nullptr);
      const std::uint32_t cells = interface::cells_of(packet.lead);
      ASSERT_LT(cells, shm::kHomeCells);
      if (packet.lead.operation == interface::Operation::write) {
        ASSERT_TRUE(allowed(packet)) << packet.offset << '+' << packet.lead.length;
      }
      reader_.skip(cells);
      ++left.times;
    }
    static_cast<shm::Page*>(theirs_.mapping.data())->credits.taken = reader_.tell_taken();
  }
  bool allowed(const interface::Packet& packet) const {
    for (const Ticket& ticket : tickets_) {
      if (packet.slot != ticket.slot || packet.generation != ticket.generation || packet.key != ticket.key)
        continue;
      const std::uint64_t from = packet.offset - ticket.base;
      if (packet.offset >= ticket.base && from <= ticket.bound && packet.lead.length <= ticket.bound - from)
        return true;
    }
    return false;
  }

  Input& input_;
  std::vector<std::byte> data_;
  std::vector<Ticket> tickets_;
  Alone surroundings_;
  std::unique_ptr<interface::CounterPage> counters_ = std::make_unique<interface::CounterPage>();
  interface::Core core_ {
    surroundings_, *counters_
  };
  shm::OwnedMemory theirs_;
  const shm::Page* page_ = nullptr;
  std::unique_ptr<shm::ShmLink> link_;
  interface::Terminus terminus_ {
    core_, 8
  };
  shm::RingReader<> reader_;
};

}  // namespace

const RandomRuns random_runs{.runs = 600, .bytes = 400, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  while (!input.empty()) {
    switch (input.pick(6)) {
      case 0:
        divide(input);
        break;
      case 1:
        group(input);
        break;
      case 2:
        grow(input);
        break;
      case 3:
        carry(input);
        break;
      case 4:
        lend(input);
        break;
      default:
        Sender{input}.send();
        break;
    }
  }
}

}  // namespace hamlyn::fuzz
