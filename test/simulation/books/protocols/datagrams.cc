// Datagrams: each lands once, whole, at a receiver that was ready, or its sender is told why not. Some bring
// a seed to reply to, and are answered. They leave from the buffers of a pool, which are kept for a while:
// nobody else's bytes come there meanwhile, and in the end all are back.
#include <deque>
#include <map>
#include <optional>

#include "hamlyn/core/buffer_pool.h"
#include "hamlyn/protocols/datagram.h"
#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

namespace {

struct Box {
  std::uint64_t owner = 0;
  std::uint64_t bytes = 0;
  bool gone = false;  // with what stood in it
};

struct Letter {
  std::uint64_t sender = 0;
  Box* box = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  Box* reply = nullptr;  // where an answer goes
  bool landed = false;   // its sender was told so
  bool refused = false;  // or that it has not, and never will
  bool unsure = false;   // its sender has given it up, or it has gone
  unsigned received = 0;
};

constexpr std::uint32_t kHeader = 8;  // a datagram begins with its number
constexpr std::size_t kUnit = 64;     // boxes are multiples of it,
constexpr std::size_t kMost = 300;    // of so many at most
const std::vector<BufferClass> kBuffers = {{1024, 4}, {kUnit * kMost, 4}};
constexpr std::size_t kBufferBytes = 4 * (1024 + kUnit * kMost);

class Datagrams final : public Book {
 public:
  explicit Datagrams(Stage& the_stage) : stage(the_stage) {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override;

  std::vector<std::byte> content(std::uint64_t number) const {
    return numbered(number, letters[number].length, 77);
  }
  Letter* find(std::span<const std::byte> bytes, std::uint64_t& number) {
    if (bytes.size() < kHeader) return nullptr;
    std::memcpy(&number, bytes.data(), kHeader);
    return number < letters.size() ? &letters[number] : nullptr;
  }

  Stage& stage;
  Offers offers;
  std::deque<Box> boxes;
  std::deque<Letter> letters;
};

class DatagramPart final : public Part {
 public:
  DatagramPart(Datagrams& book, Manager& manager)
      : book_(book),
        stage_(book.stage),
        manager_(manager),
        area_(manager.interface(), kBufferBytes),
        pool_(area_, kBuffers) {}
  ~DatagramPart() override {
    while (!sent_.empty()) forget_oldest();
    stage_.demand(pool_.free_buffers() == 8, "a buffer of a pool is lost");
    if (box_ != nullptr && !stage_.ending) box_->gone = true;
  }

  void act() override {
    sim::Generator& chance = stage_.chance();
    if (!receiver_) make();
    const std::uint64_t dice = chance.below(100);
    if (dice < 45) {
      send();
    } else if (dice < 90) {
      receive(chance.one_in(2) ? stage_.a_while() : std::chrono::nanoseconds{0});
    } else if (dice < 92) {
      box_->gone = true;
      receiver_.reset();
    } else {
      senders_.clear();
    }
  }
  bool stop_sending() override {
    senders_.clear();
    return false;
  }
  bool take_all() override {
    bool any = false;
    while (receiver_ && receive(std::chrono::nanoseconds{0})) any = true;
    return any;
  }

 private:
  struct Sender {
    Sender(Manager& manager, const Seed& seed, Box& to, Stage& stage)
        : sender(manager, seed), box(to), sends(stage) {}
    DatagramSender sender;
    Box& box;
    Sends sends;
  };

  void make() {
    box_ = &book_.boxes.emplace_back();
    box_->owner = stage_.me();
    box_->bytes = kUnit * stage_.chance().between(1, kMost);
    receiver_ = std::make_unique<DatagramReceiver>(manager_, box_->bytes);
    book_.offers.add({receiver_->make_seed(), stage_.me(), box_});
  }
  bool receive(std::chrono::nanoseconds timeout) {
    Datagram datagram;
    const Status status = receiver_->receive(datagram, timeout);
    if (status == Status::timed_out) return false;
    if (status == Status::ok) {
      taken(datagram);
    } else {
      stage_.demand(status == Status::abandoned || status == Status::link_ended, "a datagram failed", status);
      stage_.demand(
          datagram.sender != 0 && (status == Status::abandoned || stage_.may_have_gone(datagram.sender)),
          "a datagram failed for nothing", status);
    }
    const Status ready = receiver_->make_ready();
    stage_.demand(ready == Status::ok, "a receiver of datagrams is not ready again", ready);
    return stage_.alive();
  }
  void taken(const Datagram& datagram) {
    std::uint64_t number = 0;
    Letter* const letter = book_.find(datagram.bytes, number);
    stage_.demand(letter != nullptr && letter->box == box_, "a datagram came that nobody sent here");
    if (letter == nullptr || !stage_.alive()) return;
    stage_.host.note("takes datagram %", {number});
    ++stage_.counts.completed;
    stage_.demand(++letter->received == 1, "a datagram came twice");
    stage_.demand(!letter->refused, "a datagram came whose sender was told that it would not");
    stage_.demand(datagram.sender == letter->sender && datagram.offset == letter->offset,
                  "a datagram is of another, or elsewhere");
    stage_.demand(same(datagram.bytes, book_.content(number)), "a datagram is not what was sent");
    stage_.demand(datagram.reply.has_value() == (letter->reply != nullptr), "a seed to reply to is lost");
    if (datagram.reply && stage_.chance().one_in(2)) reply(*datagram.reply, *letter->reply);
  }
  void reply(const Seed& seed, Box& to) {
    stage_.demand(seed.ticket.interface == to.owner, "a reply would go to another");
    Sender sender(manager_, seed, to, stage_);
    deliver(sender, stage_.a_while());
  }
  void send() {
    sim::Generator& chance = stage_.chance();
    if (senders_.empty() || chance.one_in(8)) {
      const Offer* const offer = book_.offers.any(stage_);
      if (offer == nullptr) return;
      senders_.push_back(
          std::make_unique<Sender>(manager_, offer->seed, *static_cast<Box*>(offer->about), stage_));
      if (senders_.size() > 3) senders_.erase(senders_.begin());
    }
    Sender& sender = *senders_[chance.below(senders_.size())];
    deliver(sender, std::chrono::nanoseconds{chance.below(1'000'000)});
  }
  void deliver(Sender& to, std::chrono::nanoseconds timeout) {
    sim::Generator& chance = stage_.chance();
    const std::uint64_t number = book_.letters.size();
    Letter& letter = book_.letters.emplace_back();
    letter.sender = stage_.me();
    letter.box = &to.box;
    letter.length = static_cast<std::uint32_t>(chance.between(kHeader, to.box.bytes));
    letter.offset = chance.below(to.box.bytes - letter.length + 1);
    const bool too_far = chance.one_in(30);
    if (too_far) letter.offset = to.box.bytes - letter.length + 1;
    if (receiver_ != nullptr && chance.one_in(3)) letter.reply = box_;
    const DatagramOptions options{letter.offset, letter.reply != nullptr ? receiver_.get() : nullptr};
    ++stage_.counts.operations;
    const std::span<const std::byte> data = write(number);
    if (chance.one_in(3)) {
      // Without an answer; its bytes may be read until it has left.
      letter.unsure = true;
      const Doing doing(stage_, OperationKind::silent_datagram, to.box.owner);
      SendHandle handle;
      Status status = to.sender.send(data, options, &handle);
      while (status == Status::pending && stage_.alive()) {
        stage_.host.pause(2000);
        manager_.poll();
        status = to.sender.status(handle);
      }
      stage_.met(OperationKind::silent_datagram, status);
      const bool far = stage_.host.topology() == Topology::hosts;
      return stage_.host.pause(chance.below(far ? 200'000 : 50'000));  // it is on its way
    }
    letter.unsure = true;  // until it is known
    const Doing doing(stage_, OperationKind::datagram, to.box.owner);
    const Status status = to.sender.deliver(data, options, timeout);
    stage_.met(OperationKind::datagram, status);
    if (!stage_.alive()) return;
    stage_.host.note("sends datagram %: %", {number, static_cast<std::uint64_t>(status)});
    stage_.demand(!too_far || status != Status::ok, "a datagram landed out of bounds");
    letter.landed = status == Status::ok;
    letter.unsure = status == Status::timed_out || status == Status::link_ended;
    letter.refused = !letter.landed && !letter.unsure;
    if (letter.refused) stage_.demand(letter.received == 0, "a datagram came that was refused", status);
    if (!letter.landed) ++stage_.counts.failed;
    if (status == Status::refused)
      stage_.demand(to.box.gone || stage_.may_have_gone(to.box.owner), "a good seed was refused");
    if (status == Status::link_ended)
      stage_.demand(stage_.may_have_gone(to.box.owner), "a link ended for nothing");
    stage_.demand(letter.landed || letter.unsure || status == Status::refused ||
                      status == Status::not_ready || (too_far && status == Status::out_of_bounds) ||
                      status == Status::queue_full,
                  "a datagram was answered as it cannot be", status);
  }

  // A buffer with what that datagram is. It is in use until it is forgotten, which is long after it was sent.
  std::span<const std::byte> write(std::uint64_t number) {
    const std::vector<std::byte> content = book_.content(number);
    Buffer buffer;
    Status status = pool_.take(content.size(), buffer);
    for (; status == Status::no_buffer && !sent_.empty(); status = pool_.take(content.size(), buffer))
      forget_oldest();
    stage_.demand(status == Status::ok, "a pool gives no buffer", status);
    std::ranges::copy(content, buffer.bytes().begin());
    sent_.push_back({std::move(buffer), number});
    return sent_.back().buffer.bytes();
  }
  // Every other one comes back by its address.
  void forget_oldest() {
    auto& [buffer, number] = sent_.front();
    stage_.demand(same(buffer.bytes(), book_.content(number)), "somebody wrote to a buffer that was taken");
    if (number % 2 == 0) {
      std::byte* const at = buffer.release();
      stage_.demand(pool_.give_back(at) == Status::ok && pool_.give_back(at) == Status::invalid,
                    "a buffer comes back twice, or not at all");
    }
    sent_.pop_front();
  }

  struct Sent {
    Buffer buffer;
    std::uint64_t number;
  };

  Datagrams& book_;
  Stage& stage_;
  Manager& manager_;
  MessageArea area_;
  BufferPool pool_;
  std::deque<Sent> sent_;
  std::unique_ptr<DatagramReceiver> receiver_;
  Box* box_ = nullptr;
  std::vector<std::unique_ptr<Sender>> senders_;
};

std::unique_ptr<Part> Datagrams::come(Manager& manager) {
  return std::make_unique<DatagramPart>(*this, manager);
}

void Datagrams::check() {
  for (const Letter& letter : letters) {
    const bool there = !letter.box->gone && stage.host.inhabitant(letter.box->owner).alive;
    if (letter.landed && there)
      stage.host.demand(letter.received == 1, "a datagram was delivered, and nobody got it");
  }
}

}  // namespace

std::unique_ptr<Book> make_datagrams(Stage& stage) { return std::make_unique<Datagrams>(stage); }

}  // namespace hamlyn::simulation
