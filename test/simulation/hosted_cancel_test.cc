// A wait is cancelled wherever it has come to, though it may be about to sleep without an end. In virtual
// time a wait that sleeps through its cancel ends when its own time is over, which is late.
#include <functional>

#include "library/host_services.h"
#include "library/wait/waiting.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// The simulation, with something that happens when a thread reads the clock.
class Clocked final : public library::Setting {
 public:
  explicit Clocked(std::function<void()> read) : inner_(*library::simulation), read_(std::move(read)) {
    library::simulation = this;
  }
  ~Clocked() { library::simulation = &inner_; }
  Clocked(const Clocked&) = delete;
  Clocked& operator=(const Clocked&) = delete;

  Time now() noexcept override {
    read_();
    return inner_.now();
  }
  std::uint64_t random_key() noexcept override { return inner_.random_key(); }
  void sleep(const std::atomic<std::uint32_t>& word, std::uint32_t value,
             std::optional<Time> until) noexcept override {
    inner_.sleep(word, value, until);
  }
  bool wait(std::span<pollfd> descriptors, std::optional<Time> until) noexcept override {
    return inner_.wait(descriptors, until);
  }
  bool sync(int file) noexcept override { return inner_.sync(file); }
  void step_aside() noexcept override { inner_.step_aside(); }
  std::unique_ptr<library::Task> start(std::function<void()> main) override {
    return inner_.start(std::move(main));
  }
  std::unique_ptr<library::HostServices> make_host_services(library::Engine& engine,
                                                            const Interface::Options& options) override {
    return inner_.make_host_services(engine, options);
  }
  std::shared_ptr<void>& own() noexcept override { return inner_.own(); }

 private:
  library::Setting& inner_;
  const std::function<void()> read_;
};

// Behind a look the wait reads the clock, once it has seen that nobody has cancelled it so far.
TEST(HostedCancel, ends_a_wait_that_has_just_seen_none) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Interface interface;
    library::Waiting& waiting = interface.waiting();
    const std::uint64_t began = all.host.time();
    bool looked = false, cancelled = false;
    const auto look = [&] {
      looked = true;
      return Status::pending;
    };
    const Clocked clocked([&] {
      // The first sleep is a short one. The thread that reads the clock first behind a look is the one that
      // has looked.
      if (!std::exchange(looked, false) || cancelled || all.host.time() < began + 2 * kMillisecond) return;
      cancelled = true;
      interface.cancel();
    });
    const Status status =
        waiting.until(look, library::deadline_in(std::chrono::nanoseconds{1s}), waiting.cancels());
    all.expect(status == Status::cancelled, name(status));
    all.expect(cancelled && all.host.time() < began + 100 * kMillisecond, "it has slept through its cancel");
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
