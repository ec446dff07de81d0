// The interface thread looks again whenever something has changed, and by no clock. Whatever it looks at may
// change behind its look and before it sleeps; each test has that happen inside the look.
#include <functional>

#include "hamlyn/core/message_area.h"
#include "hamlyn/core/slot.h"
#include "hamlyn/core/terminus.h"
#include "library/wait/waiting.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kAsleep = 20 * kMillisecond;  // then the interface thread sleeps
constexpr std::uint64_t kMeanwhile = kMillisecond;    // of a look

// Finds no room at first.
class Looks final : public library::Waiting::PendingWork {
 public:
  Looks(Interface& interface, std::function<void()> meanwhile)
      : interface_(interface), meanwhile_(std::move(meanwhile)) {
    interface_.waiting().set_pending_work(this);
  }
  ~Looks() { interface_.waiting().set_pending_work(nullptr); }
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;
  Left try_again() noexcept override {
    if (++looks_ != 1) return {};
    meanwhile_();
    return {.for_room = true, .at = {}};
  }
  Status before_wait() noexcept override { return Status::ok; }
  unsigned looks() const noexcept { return looks_; }

 private:
  Interface& interface_;
  const std::function<void()> meanwhile_;
  unsigned looks_ = 0;
};

// Says how often the interface thread looks when that happens during its first look. `sends`: the other
// process sends something then.
unsigned looks_when(const std::function<void(Hosted&, Interface&)>& what, bool sends) {
  unsigned looks = 0;
  Hosted hosted;
  hosted.add([&](Hosted& all) {
    Interface interface;
    NotificationQueue queue(interface);
    MessageArea area(interface, 64);
    Slot slot(area, queue, {});
    interface.publish("slot", slot.ticket());
    Looks helped(interface, [&] { what(all, interface); });
    all.host.pause(kAsleep);
    interface.waiting().want_help();
    all.host.pause(kAsleep);
    looks = helped.looks();
  });
  hosted.add([&](Hosted& all) {
    Interface interface;
    Terminus terminus(interface);
    const Ticket ticket = interface.lookup("slot", 1s);
    all.expect(terminus.connect(ticket, 1s) == Status::ok, "there is no link");
    all.host.pause(kAsleep + kMeanwhile / 2 - all.host.time());
    if (sends) all.expect(terminus.send_fast(ticket, {}) == Status::ok, "nothing was sent");
    all.host.pause(2 * kAsleep);
  });
  hosted.run();
  return looks;
}

TEST(HostedHelp, is_tried_again_when_something_comes) {
  EXPECT_EQ(looks_when([](Hosted&, Interface&) {}, true), 2u);
}

TEST(HostedHelp, is_not_tried_again_when_nothing_happens) {
  EXPECT_EQ(looks_when([](Hosted&, Interface&) {}, false), 1u);
}

TEST(HostedHelp, is_tried_again_when_another_thread_has_taken_what_came) {
  const auto take = [](Hosted& all, Interface& interface) {
    all.host.pause(kMeanwhile);
    all.expect(interface.run(), "nothing has come");
  };
  EXPECT_EQ(looks_when(take, true), 2u);
}

TEST(HostedHelp, is_tried_again_when_another_thread_has_changed_something) {
  const auto change = [](Hosted&, Interface& interface) { interface.waiting().changed(); };
  EXPECT_EQ(looks_when(change, false), 2u);
}

}  // namespace
}  // namespace hamlyn::test
