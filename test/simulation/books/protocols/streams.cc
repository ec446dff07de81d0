// Streams: what is received (received_streams.h) is what was sent (sent_streams.h), in order and whole, up to
// an end that both are told of.
#include "test/simulation/books/protocols/received_streams.h"
#include "test/simulation/books/protocols/sent_streams.h"

namespace hamlyn::simulation {

namespace {

class Streams final : public Book {
 public:
  explicit Streams(Stage& stage) : flows{stage, {}, {}} {}
  std::unique_ptr<Part> come(Manager& manager) override;
  void check() override { flows.check(); }

  Flows flows;
};

class StreamPart final : public Part {
 public:
  StreamPart(Flows& book, Manager& manager)
      : stage_(book.stage),
        receiving_{{book, manager}, {book, manager}},
        sending_{{book, manager}, {book, manager}} {}
  void act() override {
    sim::Generator& chance = stage_.chance();
    if (chance.one_in(2)) {
      receiving_[chance.below(2)].act();
    } else {
      sending_[chance.below(2)].act();
    }
  }
  bool stop_sending() override {
    bool more = false;
    for (Sending& each : sending_) more |= each.finish();
    return more;
  }
  bool take_all() override {
    bool more = false;
    for (Receiving& each : receiving_) more |= each.take_all();
    return more;
  }

 private:
  Stage& stage_;
  Receiving receiving_[2];
  Sending sending_[2];
};

std::unique_ptr<Part> Streams::come(Manager& manager) { return std::make_unique<StreamPart>(flows, manager); }

}  // namespace

std::unique_ptr<Book> make_streams(Stage& stage) { return std::make_unique<Streams>(stage); }

}  // namespace hamlyn::simulation
