// The simulated host itself: processes with the whole library, and managers in virtual time.
#include <atomic>

#include "hamlyn/core/slot.h"
#include "hamlyn/protocols/datagram.h"
#include "hamlyn/protocols/receiver.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// A receiver of one's own.
class Counter final : public Receiver {
 public:
  explicit Counter(Manager& manager)
      : Receiver(manager), area_(manager.interface(), 64), slot_(area_, manager.queue(), {.places = 4}) {
    attach(slot_);
  }
  ~Counter() override { retire(); }
  Ticket ticket() const { return slot_.ticket(); }
  std::uint64_t sum = 0;

 private:
  void process_arrival(const Notification& arrival) override { sum += arrival.word; }
  MessageArea area_;
  Slot slot_;
};

TEST(Host, gives_what_arrives_to_receivers_of_ones_own) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    Counter counter(manager);
    manager.interface().publish("sum", counter.ticket());
    while (counter.sum != 55) all.expect(manager.wait(1s) == Status::ok, "it waits in vain");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    const Ticket ticket = manager.interface().lookup("sum", 1s);
    Terminus terminus(manager.interface());
    for (std::uint64_t word = 1; word <= 10; ++word) {
      while (terminus.send_fast(ticket, {}, word) != Status::ok)
        static_cast<void>(terminus.wait_for_place(ticket, 1s));
    }
    all.host.pause(1'000'000);  // it does not leave before all has been read
  });
  hosted.run();
}

TEST(Host, lets_a_wait_take_as_long_as_it_should_and_nobody_runs_meanwhile) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    const std::uint64_t before = all.host.time();
    all.expect(manager.wait(10s) == Status::timed_out, "something came");
    const std::uint64_t took = all.host.time() - before;
    all.expect(took >= 10'000'000'000u && took < 10'001'000'000u, "it took another time");
  });
  hosted.run();
  EXPECT_LT(hosted.host.turns(), 200u) << "somebody ticks";
}

TEST(Host, lets_an_interface_answer_whose_program_computes) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    DatagramReceiver receiver(manager, 64);
    manager.publish("box", receiver.make_seed());
    all.host.pause(50'000'000);
    Datagram datagram;
    all.expect(receiver.receive(datagram, 0s) == Status::ok, "it has not landed");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    DatagramSender sender(manager, manager.lookup("box"));
    all.expect(sender.deliver(bytes_of("now"), 20ms) == Status::ok, "nobody answers");
  });
  hosted.run();
}

TEST(Host, keeps_names_for_who_has_registered_them) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    Counter counter(manager);
    all.host.pause(1'000'000);
    manager.interface().publish("sum", counter.ticket());
    all.host.pause(3'000'000);
    Registrant who;
    all.expect(
        manager.interface().lookup("again", {.timeout = 0ms}, &who) == counter.ticket() && who.interface == 2,
        "a name is not of the process that has registered it");
    all.expect(manager.interface().lookup("sum") == counter.ticket(), "another has withdrawn a name");
    all.host.pause(3'000'000);
    all.expect(
        code_of([&] { static_cast<void>(manager.interface().lookup("again")); }) == ErrorCode::name_unknown,
        "a name outlives its process");
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    const Ticket ticket = manager.interface().lookup("sum", std::chrono::milliseconds::max());
    all.expect(code_of([&] { manager.interface().withdraw("sum"); }) == ErrorCode::name_unknown,
               "what another has registered can be withdrawn");
    manager.interface().publish("again", ticket);
    all.host.pause(4'000'000);
  });
  hosted.run();
}

TEST(Host, says_so_when_everybody_waits_for_nothing) {
  Hosted hosted;
  hosted.add([](Hosted&) {
    Manager manager;
    DatagramReceiver receiver(manager, 64);
    Datagram datagram;
    static_cast<void>(receiver.receive(datagram));
  });
  hosted.host.run();
  EXPECT_EQ(hosted.host.problem(), "everybody waits, and nothing is under way");
}

TEST(Host, tells_everybody_of_a_death) {
  Hosted hosted;
  hosted.add([](Hosted& all) {
    Manager manager;
    DatagramReceiver receiver(manager, 64);
    manager.publish("box", receiver.make_seed());
    Datagram datagram;
    const Status status = receiver.receive(datagram);
    all.expect(status == Status::ok, "it went before it was killed");
    EXPECT_EQ(receiver.receive(datagram), Status::cancelled) << "the dead wait for nothing";
    EXPECT_FALSE(all.alive());
  });
  hosted.add([](Hosted& all) {
    Manager manager;
    DatagramSender sender(manager, manager.lookup("box"));
    all.expect(sender.deliver(bytes_of("one"), 1s) == Status::ok, "it does not land");
    all.host.after(0, [&] { all.host.kill(all.host.inhabitant(1)); });
    all.host.pause(1'000'000);
    const Status status = sender.deliver(bytes_of("two"), 1s);
    EXPECT_EQ(status, Status::link_ended) << name(status);
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
