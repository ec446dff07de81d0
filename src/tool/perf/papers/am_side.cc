#include "tool/perf/papers/am_side.h"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>

#include "am/machine.h"
#include "am/slots_port.h"
#include "am/vi_port.h"
#include "tool/perf/papers/watched_port.h"

namespace hamlyn::tool::perf::papers {

namespace {

using internal_::am::Try;

constexpr int kMostPauses = 20'000;
constexpr am::HandlerNumber kAsk = 1, kAnswer = 2;
constexpr am::Tag kTag = 7;

void expect(bool as_it_should_be, const char* what) {
  if (!as_it_should_be) throw std::runtime_error(what);
}

template <class Port>
class Side : public AmSide {
 public:
  Side(Interface& interface, am::Way way)
      : port_(interface, way), machine_(port_, {.credits = kBatch, .ring = 65536}) {
    machine_.set_tag(kTag);
    machine_.set_handler(kAsk, true);
    machine_.set_handler(kAnswer, true);
    handlers_[kAsk] = [this](Delivery& request) {
      ++heard_;
      const During part(AmPart::keep_books);
      internal_::am::Leaving leaving{.kind = internal_::am::Kind::reply_short,
                                     .handler = kAnswer,
                                     .arguments = {request.arguments.data(), request.count}};
      expect(machine_.reply(request, leaving) == Try::ok, "no reply");
    };
    handlers_[kAnswer] = [this](Delivery&) { ++heard_; };
  }
  const am::Name& name() const noexcept override { return machine_.name(); }
  void aim(const am::Name& other) override {
    expect(machine_.map(0, other, kTag) == am::Result::ok, "no mapping");
  }
  void ask(std::size_t arguments) override {
    for (;;) {
      const Try tried = try_to_ask(arguments);
      if (tried == Try::ok) return;
      expect(tried == Try::later, "no request");
      poll();
    }
  }
  bool take_batch(std::uint64_t until) override {
    while (heard_ == until - kBatch) poll();
    hamlyn_rest(pauses_);
    watch().begin();
    bool there = heard_ == until - kBatch + 1;
    while (heard_ != until) there &= poll();
    if (!there) pauses_ = std::min(2 * pauses_, kMostPauses);
    return there;
  }
  void leave() override {
    while (!machine_.say_bye([](const am::Name&) { return true; })) poll();
    machine_.say_gone();
  }

 private:
  using Machine = internal_::am::Machine<WatchedPort<Port>>;
  using Delivery = typename Machine::Delivery;

  // False: there was nothing.
  bool poll() {
    Delivery next;
    if (machine_.restless()) {
      machine_.step();
      if (machine_.hear_early(next)) {
        handle(next);
        return true;
      }
    }
    typename WatchedPort<Port>::Event event;
    if (!port_.poll(event)) return false;
    if (port_.hear(machine_, event, next)) handle(next);
    return true;
  }
  Try try_to_ask(std::size_t arguments) {
    static constexpr std::array<std::int32_t, 4> kAll{1, 2, 3, 4};
    const During part(AmPart::keep_books);
    internal_::am::Leaving leaving{.kind = internal_::am::Kind::request_short,
                                   .handler = kAsk,
                                   .arguments = std::span(kAll).first(arguments)};
    return machine_.request(0, leaving);
  }
  void handle(Delivery& next) {
    {
      const During part(AmPart::act);
      handlers_[next.handler](next);
    }
    const During part(AmPart::match);
    machine_.finish(next);
  }

  WatchedPort<Port> port_;
  Machine machine_;
  std::array<std::function<void(Delivery&)>, internal_::am::kHandlers> handlers_;
  std::uint64_t heard_ = 0;
  int pauses_ = 200;  // until all of a batch are there
};

}  // namespace

std::unique_ptr<AmSide> make_am_side(Interface& interface, am::Way way) {
  if (way == am::Way::slots) return std::make_unique<Side<internal_::am::SlotsPort>>(interface, way);
  return std::make_unique<Side<internal_::am::ViPort>>(interface, way);
}

}  // namespace hamlyn::tool::perf::papers
