// Why there is no link, or no longer one: each end hears what has happened to it, and what the other side
// says of itself. (What daemons of several nodes say: node_far_test.cc; what a hostile peer may say:
// link_words_test.cc.)
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "interface/counters.h"
#include "library/engine.h"
#include "library/host_services.h"
#include "test/process/library.h"
#include "test/support/forbid.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// The thread that keeps the links has a descriptor table of its own.
void use_up_descriptors(Interface& interface) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 128;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  interface.engine().control().have_done([] {
    while (::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
    }
  });
}

[[maybe_unused]] void take_memory_away(Interface&) {  // sanitizers need address space without end
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
}

std::uint32_t counted(Interface& interface, LinkReason reason) {
  return interface.engine().counters().no_link[static_cast<std::size_t>(reason)];
}

bool end_of_link(NotificationQueue& queue, Notification& out) {
  while (queue.receive(out, kPatience) == Status::ok) {
    if (out.kind == Notification::Kind::link_ended) return true;
  }
  return false;
}

struct Expected {
  Status status;
  WhyNoLink asker;      // as who has asked hears it
  LinkReason receiver;  // as the asked process counts it
};

class LinkReasons : public Library {
 protected:
  // A process attaches and then does `confine`; another one wants a link with it.
  void asked_for(const Interface::Options& options, const std::function<void(Interface&)>& confine,
                 const Expected& expected) {
    Actor receiver([&](Line& line) {
      ReceivingEnd to(options, 4096);
      line.put(to.slot.ticket());
      line.take<char>();
      confine(to.interface);
      line.put('.');
      line.take<char>();
      // The asker may hear of it first.
      static_cast<void>(eventually([&] { return counted(to.interface, expected.receiver) != 0; }));
      line.put(counted(to.interface, expected.receiver));
      Notification n;
      EXPECT_EQ(to.queue.receive(n, kPatience), Status::ok);
      EXPECT_EQ(n.kind, Notification::Kind::resource_exhausted);
      EXPECT_EQ(n.why(), (WhyNoLink{expected.receiver, false})) << text(n.why());
      return line.take<char>() && !HasFailure() ? 0 : 1;
    });
    Actor asker([&](Line& line) {
      Interface interface(other_options());
      Terminus terminus(interface);
      const auto ticket = line.take<Ticket>();
      EXPECT_EQ(terminus.connect(*ticket, kPatience), expected.status);
      const WhyNoLink why = interface.why(ticket->interface);
      EXPECT_EQ(why, expected.asker) << text(why);
      return HasFailure() ? 1 : 0;
    });
    const auto ticket = receiver.line().take<Ticket>();
    ASSERT_TRUE(ticket);
    receiver.line().put('.');
    ASSERT_TRUE(receiver.line().take<char>());
    asker.line().put(*ticket);
    EXPECT_EQ(asker.wait(), 0);
    receiver.line().put('.');
    EXPECT_GE(receiver.line().take<std::uint32_t>(), 1u) << "once for each time that it was asked";
    receiver.line().put('.');
    EXPECT_EQ(receiver.wait(), 0);
  }

  // The other way: what is wrong is wrong with the process that asks.
  void asks(const std::function<void(Interface&)>& confine, LinkReason reason) {
    Actor receiver([&](Line& line) {
      ReceivingEnd to(options(), 4096);
      line.put(to.slot.ticket());
      EXPECT_TRUE(eventually([&] { return to.interface.why(*line.take<std::uint64_t>()).told; }));
      return HasFailure() ? 1 : 0;
    });
    Actor asker([&](Line& line) {
      Interface interface(other_options());
      Terminus terminus(interface);
      const auto ticket = line.take<Ticket>();
      confine(interface);
      EXPECT_EQ(terminus.connect(*ticket, kPatience), Status::refused);
      const WhyNoLink why = interface.why(ticket->interface);
      EXPECT_EQ(why, (WhyNoLink{reason, false})) << text(why);
      line.put(interface.id());
      line.take<char>();
      return HasFailure() ? 1 : 0;
    });
    asker.line().put(*receiver.line().take<Ticket>());
    const auto id = asker.line().take<std::uint64_t>();
    ASSERT_TRUE(id);
    for (int i = 0; i < 1000 && receiver.running(); ++i) receiver.line().put(*id);
    EXPECT_EQ(receiver.wait(), 0);
    asker.line().put('.');
    EXPECT_EQ(asker.wait(), 0);
  }
};

TEST_F(LinkReasons, of_a_receiver_without_descriptors_is_told_to_who_asks) {
  asked_for(options(), use_up_descriptors,
            {Status::refused, {LinkReason::no_descriptors, true}, LinkReason::no_descriptors});
}

// Some numbers in use are above the limit then; the daemon's socket has one of them.
TEST_F(LinkReasons, of_a_receiver_whose_limit_is_below_its_descriptors_are_told_and_its_daemon_stays) {
  const auto set_limit = [](rlim_t to) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           (limit.rlim_cur = to, ::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  };
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  Actor receiver([&](Line& line) {
    ReceivingEnd to(options(), 4096);
    line.put(to.slot.ticket());
    while (const auto limit = line.take<rlim_t>()) {
      EXPECT_TRUE(set_limit(*limit));
      line.put('.');
    }
    EXPECT_GE(counted(to.interface, LinkReason::no_descriptors), 2u) << "an asker may ask twice";
    EXPECT_TRUE(to.interface.attachment().attached);
    return HasFailure() ? 1 : 0;
  });
  const auto ticket = receiver.line().take<Ticket>();
  ASSERT_TRUE(ticket);
  for (const rlim_t limit : {rlim_t{8}, rlim_t{8}, before.rlim_cur}) {
    receiver.line().put(limit);
    ASSERT_TRUE(receiver.line().take<char>());
    in_child([&] {
      Interface interface(other_options());
      Terminus terminus(interface);
      const bool low = limit == 8;
      EXPECT_EQ(terminus.connect(*ticket, kPatience), low ? Status::refused : Status::ok);
      EXPECT_EQ(interface.why(ticket->interface),
                low ? (WhyNoLink{LinkReason::no_descriptors, true}) : WhyNoLink{});
    });
  }
  receiver.line().put(char{0});  // of another size: nothing more comes
  EXPECT_EQ(receiver.wait(), 0);
}

TEST_F(LinkReasons, of_a_receiver_that_may_not_make_memory_is_told_to_who_asks) {
  asked_for(options(), [](Interface&) { forbid(SYS_memfd_create, EPERM); },
            {Status::refused, {LinkReason::call_forbidden, true}, LinkReason::call_forbidden});
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need address space without end
TEST_F(LinkReasons, of_a_receiver_without_memory_is_told_to_who_asks) {
  asked_for(options(), take_memory_away,
            {Status::refused, {LinkReason::no_memory, true}, LinkReason::no_memory});
}
#endif

TEST_F(LinkReasons, of_a_receiver_with_all_its_links_is_told_to_who_asks) {
  Interface::Options one_link = options();
  one_link.links = 1;
  Actor first([&](Line& line) {
    Interface interface(other_options());
    Terminus terminus(interface);
    const auto ticket = line.take<Ticket>();
    if (terminus.connect(*ticket, kPatience) != Status::ok) return 1;
    line.put('.');
    return line.take<char>() ? 0 : 2;
  });
  Actor receiver([&](Line& line) {
    ReceivingEnd to(one_link, 4096);
    line.put(to.slot.ticket());
    line.take<char>();
    return counted(to.interface, LinkReason::too_many_links) == 0 ? 1 : 0;
  });
  const auto ticket = receiver.line().take<Ticket>();
  first.line().put(*ticket);
  ASSERT_TRUE(first.line().take<char>());
  in_child([&] {
    Interface interface(other_options());
    Terminus terminus(interface);
    EXPECT_EQ(terminus.connect(*ticket, kPatience), Status::refused);
    EXPECT_EQ(interface.why(ticket->interface), (WhyNoLink{LinkReason::too_many_links, true}));
    // Who sets something up reads it in the error.
    Ticket segment = *ticket;
    segment.purpose = static_cast<std::uint32_t>(SeedKind::segment);
    try {
      Import import(interface, segment);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::peer_refused);
      EXPECT_NE(std::string(error.what()).find("the other side says that it has as many links as it takes"),
                std::string::npos)
          << error.what();
    }
  });
  receiver.line().put('.');
  EXPECT_EQ(receiver.wait(), 0);
  first.line().put('.');
  EXPECT_EQ(first.wait(), 0);
}

TEST_F(LinkReasons, of_who_asks_without_descriptors_is_its_own_and_told_to_the_other) {
  asks(use_up_descriptors, LinkReason::no_descriptors);
}

TEST_F(LinkReasons, of_who_asks_and_may_not_make_memory_is_its_own_and_told_to_the_other) {
  asks([](Interface&) { forbid(SYS_memfd_create, ENOSYS); }, LinkReason::call_forbidden);
}

TEST_F(LinkReasons, of_who_asks_with_all_its_links_is_its_own) {
  in_child([&] {
    ReceivingEnd one(options(), 4096), other(options(), 4096);
    Interface::Options with_one_link = other_options();
    with_one_link.links = 1;
    Interface from(with_one_link);
    Terminus terminus(from);
    ASSERT_EQ(terminus.connect(one.slot.ticket(), kPatience), Status::ok);
    EXPECT_EQ(from.why(one.interface.id()), WhyNoLink{}) << "there is a link";
    EXPECT_EQ(terminus.connect(other.slot.ticket(), kPatience), Status::refused);
    EXPECT_EQ(from.why(other.interface.id()), (WhyNoLink{LinkReason::too_many_links, false}));
    EXPECT_TRUE(eventually([&] { return other.interface.why(from.id()).told; }));
  });
}

TEST_F(LinkReasons, of_a_number_that_nobody_has_is_that_nobody_is_there) {
  in_child([&] {
    ReceivingEnd to(options(), 4096);
    Terminus terminus(to.interface);
    Ticket nobody = to.slot.ticket(0);
    nobody.interface += 1000;
    SendHandle handle;
    ASSERT_EQ(terminus.send(nobody, {}, {}, &handle), Status::pending);
    EXPECT_EQ(terminus.wait(handle, kPatience), Status::link_ended);
    EXPECT_EQ(terminus.connect(nobody, kPatience), Status::link_ended);
    EXPECT_EQ(terminus.flush(nobody, kPatience).status, Status::link_ended);
    EXPECT_EQ(to.interface.why(nobody.interface), (WhyNoLink{LinkReason::no_process, false}));
  });
}

TEST_F(LinkReasons, of_a_user_with_all_its_links_names_its_quota) {
  std::ofstream(folder_.file("node.toml")) << "[quotas]\nlinks = 2\n";
  const Daemon daemon{folder_.file("small"), {"--config", folder_.file("node.toml")}};
  in_child([&] {
    const Interface::Options at{.node = folder_.file("small"), .start_node = false};
    ReceivingEnd one(at, 4096), other(at, 4096);
    Interface from(at);
    Terminus terminus(from);
    ASSERT_EQ(terminus.connect(one.slot.ticket(), kPatience), Status::ok);
    EXPECT_EQ(terminus.connect(other.slot.ticket(), kPatience), Status::refused);
    EXPECT_EQ(from.why(other.interface.id()), (WhyNoLink{LinkReason::quota, false}));
  });
}

TEST_F(LinkReasons, of_a_daemon_that_has_gone_are_known_while_one_waits) {
  in_child([&] {
    ReceivingEnd to(options(), 4096);
    Interface from(other_options());
    Terminus terminus(from);
    daemon_.kill();
    EXPECT_TRUE(eventually([&] {
      EXPECT_NE(terminus.connect(to.slot.ticket(), 5ms), Status::ok);
      return from.why(to.interface.id()) == WhyNoLink{LinkReason::no_daemon, false};
    }));
  });
}

// Two processes with a link; the first ends it in some way, the second hears how.
class LinkEnds : public Library {
 protected:
  void ends(const std::function<int(Line&, Interface&)>& end, int exit, WhyNoLink expected) {
    Actor from = sender([&](Line& line, Interface& interface, Terminus& terminus, const Ticket& ticket) {
      if (!send_word(terminus, ticket, 1)) return 1;
      line.take<char>();
      return end(line, interface);
    });
    in_child([&] {
      ReceivingEnd to(options(), 4096);
      from.line().put(to.slot.ticket());
      Notification n;
      ASSERT_EQ(to.queue.receive(n, kPatience), Status::ok);
      from.line().put('.');
      ASSERT_TRUE(end_of_link(to.queue, n));
      EXPECT_EQ(n.why(), expected) << text(n.why());
      EXPECT_EQ(to.interface.why(n.peer), expected);
      EXPECT_EQ(counted(to.interface, expected.reason), 1u);
    });
    EXPECT_EQ(from.wait(), exit);
  }
};

TEST_F(LinkEnds, of_a_process_that_leaves_are_told_by_it) {
  ends([](Line&, Interface&) { return 0; }, 0, {LinkReason::left, true});
}

TEST_F(LinkEnds, of_a_process_that_is_killed_are_found) {
  ends([](Line&, Interface&) { return ::raise(SIGKILL); }, 128 + SIGKILL, {LinkReason::died, false});
}

TEST_F(LinkEnds, of_one_that_stalls_are_found_by_one_side_and_told_to_the_other) {
  Interface::Options impatient = other_options();
  impatient.stall = 300ms;
  Actor receiver([&](Line& line) {
    ReceivingEnd to(options(), 4096);
    line.put(to.slot.ticket());
    Notification n;
    EXPECT_EQ(to.queue.receive(n, kPatience), Status::ok);
    line.put('.');
    EXPECT_TRUE(end_of_link(to.queue, n));
    EXPECT_EQ(n.why(), (WhyNoLink{LinkReason::stalled, true})) << text(n.why());
    return HasFailure() ? 1 : 0;
  });
  const auto ticket = receiver.line().take<Ticket>();
  Actor from([&](Line& line) {
    Interface interface(impatient);
    Terminus terminus(interface);
    if (terminus.connect(*ticket, kPatience) != Status::ok || !send_word(terminus, *ticket, 1)) return 1;
    line.take<char>();
    if (!send_word(terminus, *ticket, 2)) return 2;
    const auto over = [&] { return interface.why(ticket->interface).reason != LinkReason::none; };
    if (!eventually(over)) return 3;
    const WhyNoLink stalled{LinkReason::stalled, false};
    if (interface.why(ticket->interface) != stalled) return 4;
    // The end stands while the next link is asked for, which does not fail by it.
    if (terminus.connect(*ticket, 5ms) != Status::timed_out) return 5;
    return interface.why(ticket->interface) == stalled ? 0 : 6;
  });
  ASSERT_TRUE(receiver.line().take<char>());
  receiver.signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return receiver.stopped(); }));
  from.line().put('.');
  EXPECT_EQ(from.wait(), 0);
  receiver.signal(SIGCONT);
  EXPECT_EQ(receiver.wait(), 0);
}

TEST_F(LinkEnds, by_the_rule_on_refused_packets_are_told_to_both) {
  std::ofstream(folder_.file("node.toml")) << "[errors]\ncut_after = 20\n";
  const Daemon daemon{folder_.file("strict"), {"--config", folder_.file("node.toml")}};
  in_child([&] {
    const Interface::Options at{.node = folder_.file("strict"), .start_node = false};
    ReceivingEnd to(at, 4096);
    Interface from(at);
    Terminus terminus(from);
    Ticket wrong = to.slot.ticket(0);
    wrong.key ^= 1;
    ASSERT_EQ(terminus.connect(wrong, kPatience), Status::ok);
    for (int i = 0; i < 40; ++i) EXPECT_LE(terminus.send(wrong, {}), Status::pending);
    Notification n;
    ASSERT_TRUE(end_of_link(to.queue, n));
    EXPECT_EQ(n.why().reason, LinkReason::cut)
        << "the daemon says it, or the other side, which heard it first";
    EXPECT_TRUE(eventually([&] { return from.why(to.interface.id()).reason == LinkReason::cut; }));
    EXPECT_EQ(terminus.connect(wrong, kPatience), Status::refused);
    EXPECT_EQ(from.why(to.interface.id()), (WhyNoLink{LinkReason::shunned, false}));
  });
}

TEST_F(LinkEnds, of_strangers_push_out_nothing_of_whom_this_process_asked_for) {
  interface::LinkEnds ends;
  ends.remember(7, {LinkReason::no_descriptors, true}, true);
  for (std::uint64_t stranger = 100; stranger < 10000; ++stranger)
    ends.remember(stranger, {LinkReason::died, false}, false);
  EXPECT_EQ(ends.of(7), (WhyNoLink{LinkReason::no_descriptors, true}));
  EXPECT_EQ(ends.of(9999).reason, LinkReason::died);
  EXPECT_EQ(ends.of(100).reason, LinkReason::none) << "so many are not kept";
  ends.asked_anew(7);
  EXPECT_EQ(ends.of(7), WhyNoLink{});
  EXPECT_EQ(ends.last(7), (WhyNoLink{LinkReason::no_descriptors, true}));
  ends.remember(7, {LinkReason::stalled, false}, true);
  EXPECT_EQ(ends.of(7).reason, LinkReason::stalled);
  ends.forget(7);
  EXPECT_EQ(ends.of(7), WhyNoLink{});
  EXPECT_EQ(ends.last(7), WhyNoLink{});
}

}  // namespace
}  // namespace hamlyn::test
