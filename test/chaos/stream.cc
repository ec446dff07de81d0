// Streams: everything in its order. A seed grows one sender, so a receiver registers a new one after each.
#include <deque>
#include <optional>

#include "test/chaos/courier.h"
#include "test/chaos/door.h"
#include "test/chaos/roles.h"
#include "test/chaos/sandbox.h"

namespace hamlyn::chaos {
namespace {

class StreamCourier final : public Courier {
 public:
  StreamCourier(Stage& stage, Manager& manager) : Courier(stage, manager.interface()), manager_(manager) {}

 private:
  std::uint64_t open() override {
    const Seed seed{partners_ticket(partner())};
    sender_.emplace(manager_, seed, StreamSender::Options{.timeout = std::chrono::seconds{10}});
    return seed.ticket.interface;
  }
  // Some are closed in good order, some just go.
  void shut() noexcept override {
    if (sender_ && stage().chance(2) == 0) static_cast<void>(sender_->close(kStep));
    sender_.reset();
  }
  std::size_t longest() const noexcept override { return kLongestLetter; }
  bool gathers() const noexcept override { return true; }

  Answer post(std::span<std::byte> letter, std::uint32_t) override {
    const Status status = sender_->send(letter, kStep);
    return status == Status::timed_out ? Answer::not_taken : answer_of(status, Answer::accepted);
  }
  Answer flush() override { return answer_of(sender_->flush(kStep), Answer::accepted); }

  Manager& manager_;
  std::optional<StreamSender> sender_;
};

class Records {
 public:
  Records(Stage& stage, Manager& manager) : stage_(stage), manager_(manager), receiver_(manager) {}

  bool publish() { return change_door(stage_, manager_, receiver_.make_seed()); }

  // False: the stream is over.
  bool take() {
    Record record;
    const Status status = receiver_.receive(record, kStep / 10);
    if (status == Status::timed_out) {
      read_all();
      return true;
    }
    if (status != Status::ok) {
      read_all();  // those that came before the end are good
      if (status != Status::closed && status != Status::abandoned && status != Status::link_ended)
        stage_.fault(std::string("a stream ends as ") + name(status));
      return false;
    }
    held_.push_back(record);
    if (held_.size() > stage_.chance(8)) read_all();
    return true;
  }

 private:
  // They are read late, and given back together.
  void read_all() {
    if (held_.empty()) return;
    for (const Record& record : held_) stage_.ledger().receive(stage_.seat(), record.bytes(), true);
    static_cast<void>(receiver_.release(held_.back()));
    held_.clear();
  }

  Stage& stage_;
  Manager& manager_;
  StreamReceiver receiver_;
  std::deque<Record> held_;
};

}  // namespace

int send_stream(Stage& stage) {
  Manager manager(stage.manager_options());
  stage.enter(manager.interface());
  return StreamCourier(stage, manager).run();
}

int receive_stream(Stage& stage) {
  Manager manager(stage.manager_options());
  Sandbox sandbox(stage, manager.interface());
  Records records(stage, manager);
  stage.enter(manager.interface());
  bool published = records.publish();
  while (published && !stage.leaving()) {
    if (!records.take()) published = records.publish();
    sandbox.rake();
  }
  return 0;
}

}  // namespace hamlyn::chaos
