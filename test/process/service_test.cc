// Clerks, and others that do the worst that they can to them.
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "hamlyn/rpc/local_call.h"
#include "hamlyn/segment/cache_area.h"
#include "test/process/segments.h"
#include "test/rpc/bare_client.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

class Services : public WithSegments {
 protected:
  static constexpr std::uint64_t kHonest = 0x4000000000000000;  // in each word of a request of such a client
  using Request = std::array<std::uint64_t, 8>;

  static Request request(std::uint64_t number) {
    Request out;
    out.fill(kHonest | number);
    return out;
  }
  int serve(Line& line);
  int call(Line& line, std::uint64_t calls);
  [[noreturn]] void harm(std::uint64_t seed);
};

// Takes calls until an honest client says that it was the last. What was taken must not change, for as long
// as it is looked at, and what is of an honest client is as that one made it.
int Services::serve(Line& line) {
  Interface interface(options());
  LocalService service(interface, "desk", {.request = 128, .reply = 128, .clients = 8});
  line.put('r');
  std::uint64_t others = 0;
  for (;;) {
    LocalCall call;
    if (service.take(call, kPatience) != Status::ok) return 2;
    const std::vector<std::byte> first(call.request.begin(), call.request.end());
    for (int i = 0; i < 50; ++i) interface.run();
    if (!same(first, call.request)) return 3;
    Request words{};
    if (!first.empty()) std::memcpy(words.data(), first.data(), std::min(first.size(), sizeof words));
    const bool honest = first.size() == sizeof words && (words[0] & kHonest) != 0;
    if (honest && words != request(words[0] & ~kHonest)) return 4;
    if (!honest) ++others;
    static_cast<void>(service.answer(call, first));
    if (honest && words[0] == kHonest) break;
  }
  line.put(others);
  return line.take<char>() ? 0 : 5;
}

int Services::call(Line& line, std::uint64_t calls) {
  Interface interface(other_options());
  LocalClient client(interface, "desk");
  for (std::uint64_t left = calls; left != 0; --left) {
    Request reply{};
    const Status status = client.call(request(left), reply, kPatience);
    if (status != Status::ok) return 20 + static_cast<int>(status);
    if (reply != request(left)) return 2;
  }
  line.put('d');
  Request reply{};
  while (!line.take<char>(0ms)) interface.run();
  return client.call(request(0), reply, kPatience) == Status::ok ? 0 : 3;
}

// Greets as a client does, and then writes to its stacks and to the door whatever it likes, at once and all
// the time; nor does it take any answer.
void Services::harm(std::uint64_t seed) {
  Bare bare(other_options(), "desk");
  Terminus& terminus = bare.terminus;
  std::mt19937_64 chance(seed);
  std::vector<std::byte> data(200);
  std::array<std::uint16_t, 4> sequence{};
  for (;;) {
    for (std::byte& byte : data) byte = static_cast<std::byte>(chance() & 0x3F);
    const std::uint32_t stack = chance() % 4;
    CallWord word{.sequence = ++sequence[stack]};
    Ticket to = bare.to;
    std::uint64_t offset = bare.first + stack * bare.stride;
    std::size_t bytes = chance() % 129;
    switch (chance() % 32) {
      case 0:
        to.slot += 1 + static_cast<std::uint32_t>(chance() % 8);  // of another client, with this one's key
        break;
      case 1:
        bytes = 129 + chance() % 70;
        break;
      case 2:
        word.procedure = static_cast<std::uint16_t>(chance());
        break;
      case 3:
        offset = chance() % 4096;
        break;
      case 4:
        static_cast<void>(terminus.put(to, std::span(data).first(8), {.offset = chance() % 512}));
        break;
      case 5:
        bare.say(chance());
        break;
      case 6:
        word.sequence = static_cast<std::uint16_t>(chance());
        break;
      default:
        break;
    }
    static_cast<void>(terminus.send_fast(to, std::span(data).first(bytes), word_of(word), offset));
    bare.interface.run();
  }
}

TEST_F(Services, serve_honest_clients_whatever_another_does_to_its_stacks_and_to_the_door) {
  Actor clerk([&](Line& line) { return serve(line); });
  ASSERT_TRUE(clerk.line().take<char>());
  std::vector<Actor> harmful;
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    harmful.emplace_back([&, seed](Line&) -> int { harm(seed); });
  Actor honest([&](Line& line) { return call(line, 300); });
  EXPECT_TRUE(honest.line().take<char>());
  EXPECT_TRUE(clerk.running());
  for (Actor& each : harmful)
    each.signal(SIGSTOP);  // with a call begun, maybe, and answers that nobody takes
  honest.line().put('e');
  const auto others = clerk.line().take<std::uint64_t>();
  EXPECT_GT(others.value_or(0), 0u);
  EXPECT_EQ(honest.wait(), 0);
  clerk.line().put('e');
  EXPECT_EQ(clerk.wait(), 0);
}

// What is said at the door stands before a call, and an edge tells of both.
TEST_F(Services, take_each_call_that_stands_behind_what_is_none_before_they_say_that_there_is_none) {
  constexpr std::uint64_t kCalls = 30;
  Actor clerk([&](Line& line) {
    Interface interface(options());
    LocalService service(interface, "desk", {.request = 128, .reply = 128});
    const base::FileDescriptor poll(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{EPOLLIN | EPOLLET, {}};
    if (::epoll_ctl(poll.get(), EPOLL_CTL_ADD, service.descriptor(), &event) != 0) return 2;
    line.put('r');
    for (std::uint64_t taken = 0; taken <= kCalls;) {
      if (::epoll_wait(poll.get(), &event, 1, std::chrono::milliseconds(kPatience).count()) != 1) return 3;
      for (LocalCall call; service.take(call, 0ns) == Status::ok; ++taken)
        static_cast<void>(service.answer(call, call.request));
    }
    return 0;
  });
  ASSERT_TRUE(clerk.line().take<char>());
  Actor client([&](Line&) {
    Interface interface(options());
    const Ticket door = interface.lookup("desk", kPatience);
    Terminus terminus(interface);
    if (terminus.connect(door, kPatience) != Status::ok) return 2;
    LocalClient caller(interface, "desk");
    for (std::uint64_t left = kCalls + 1; left-- != 0;) {
      for (int i = 0; i < 3; ++i) static_cast<void>(terminus.send_fast(door, {}, ~std::uint64_t{0}));
      Request reply{};
      if (caller.call(request(left), reply, kPatience) != Status::ok) return 3;
    }
    return 0;
  });
  EXPECT_EQ(client.wait(), 0);
  EXPECT_EQ(clerk.wait(), 0);
}

// A thread of the parent's has the mutex at any moment.
TEST_F(Services, have_no_clients_in_a_forked_child) {
  with_two([](Interface& clerk, Interface&) {
    LocalService service(clerk, "desk");
    std::atomic<bool> over{false};
    std::thread asking([&] {
      while (!over) service.clients();
    });
    for (int i = 0; i < 20; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::alarm(std::chrono::seconds(kPatience).count());
        ::_exit(service.clients() == 0 ? 0 : 1);
      }
      int end = -1;
      EXPECT_EQ(::waitpid(child, &end, 0), child);
      EXPECT_EQ(end, 0);
    }
    over = true;
    asking.join();
  });
}

// Bytes go as bytes. The view of them never goes, which is an address of the caller's.
TEST_F(Services, take_bytes_for_what_they_are) {
  with_two([](Interface& clerk, Interface& importer) {
    LocalService service(clerk, "desk");
    std::thread serving([&] {
      for (int left = 6; left != 0; --left) {
        LocalCall call;
        EXPECT_EQ(service.take(call, kPatience), Status::ok);
        EXPECT_EQ(service.answer(call, call.request), Status::ok);
      }
    });
    LocalClient client(importer, "desk");
    std::array<std::uint32_t, 3> values{1, 2, 3};
    const auto bytes = std::as_bytes(std::span{values});
    std::span<const std::byte> reply;
    EXPECT_EQ(client.call(std::as_bytes(std::span{values}), reply, kPatience), Status::ok);
    EXPECT_TRUE(same(reply, bytes));
    EXPECT_EQ(client.call(std::as_writable_bytes(std::span{values}), reply, kPatience), Status::ok);
    EXPECT_TRUE(same(reply, bytes));
    EXPECT_EQ(client.call(std::vector<std::byte>(bytes.begin(), bytes.end()), reply, kPatience), Status::ok);
    EXPECT_TRUE(same(reply, bytes));
    EXPECT_EQ(client.call(std::string_view{"a question"}, reply, kPatience), Status::ok);
    EXPECT_TRUE(same(reply, std::as_bytes(std::span{"a question", 10})));
    std::array<std::uint32_t, 3> back{};
    EXPECT_EQ(client.call(bytes, back, kPatience), Status::ok);
    EXPECT_EQ(back, values);
    back = {};
    EXPECT_EQ(client.call(values, back, kPatience), Status::ok);
    EXPECT_EQ(back, values);
    serving.join();
  });
}

// Each reply is its caller's, and stays until that thread calls again.
TEST_F(Services, take_calls_of_several_threads_through_one_client) {
  with_two([](Interface& clerk, Interface& importer) {
    constexpr std::uint64_t kThreads = 4, kEach = 200;
    LocalService service(clerk, "desk");
    std::atomic<bool> over{false};
    std::thread serving([&] {
      std::vector<LocalCall> taken;
      while (!over) {
        LocalCall call;
        const Status status = service.take(call, taken.empty() ? 1ms : 0ns);
        if (status == Status::ok) taken.push_back(call);
        if (taken.size() < kThreads && status == Status::ok) continue;
        for (; !taken.empty(); taken.pop_back())
          EXPECT_EQ(service.answer(taken.back(), taken.back().request), Status::ok);
      }
    });
    {
      LocalClient client(importer, "desk");
      std::vector<std::thread> calling;
      for (std::uint64_t thread = 0; thread != kThreads; ++thread) {
        calling.emplace_back([&, thread] {
          std::span<const std::byte> before;
          Request expected{};
          for (std::uint64_t i = 0; i != kEach; ++i) {
            if (i != 0) {
              EXPECT_TRUE(same(before, std::as_bytes(std::span{expected})));
            }
            expected = request(thread << 32 | i);
            EXPECT_EQ(client.call(std::as_bytes(std::span{expected}), before, kPatience), Status::ok);
            Request reply{};
            EXPECT_EQ(client.call(expected, reply, kPatience), Status::ok);
            EXPECT_EQ(reply, expected);
          }
        });
      }
      for (std::thread& each : calling) each.join();
    }
    over = true;
    serving.join();
  });
}

// Sixteen are under way, of sixteen threads, before any is answered; one more waits, and is not done.
TEST_F(Services, have_sixteen_calls_of_a_client_under_way) {
  with_two([](Interface& clerk, Interface& importer) {
    constexpr std::size_t kMost = 16;
    LocalService service(clerk, "desk");
    std::atomic<bool> full{false}, asked{false};
    std::thread serving([&] {
      std::array<LocalCall, kMost> taken;
      for (LocalCall& call : taken) EXPECT_EQ(service.take(call, kPatience), Status::ok);
      full = true;
      full.notify_all();
      asked.wait(false);
      LocalCall more;
      EXPECT_EQ(service.take(more, 0ms), Status::timed_out);
      for (const LocalCall& call : taken) EXPECT_EQ(service.answer(call, call.request), Status::ok);
      EXPECT_EQ(service.take(more, kPatience), Status::ok);
      EXPECT_EQ(service.answer(more, {}), Status::ok);
    });
    LocalClient client(importer, "desk");
    std::vector<std::thread> calling;
    for (std::uint64_t thread = 0; thread != kMost; ++thread) {
      calling.emplace_back([&, thread] {
        std::uint64_t reply = 0;
        EXPECT_EQ(client.call(thread, reply, kPatience), Status::ok);
        EXPECT_EQ(reply, thread);
      });
    }
    full.wait(false);
    std::span<const std::byte> reply;
    EXPECT_EQ(client.call("one more", reply, 1ms), Status::not_ready);
    asked = true;
    asked.notify_all();
    for (std::thread& each : calling) each.join();
    EXPECT_EQ(client.call("after that", reply, kPatience), Status::ok);
    EXPECT_TRUE(reply.empty());
    serving.join();
  });
}

// More than there are nanoseconds is no less than none.
TEST_F(Services, let_a_client_in_that_waits_for_as_long_as_can_be) {
  with_two([](Interface& clerk, Interface& importer) {
    LocalService service(clerk, "desk");
    std::thread serving([&] {
      LocalCall call;
      EXPECT_EQ(service.take(call, kPatience), Status::ok);
      EXPECT_EQ(service.answer(call, call.request), Status::ok);
    });
    LocalClient client(importer, "desk", {.timeout = std::chrono::milliseconds::max()});
    std::span<const std::byte> reply;
    const std::vector<std::byte> request = numbers(8);
    EXPECT_EQ(client.call(std::span<const std::byte>(request), reply, kPatience), Status::ok);
    EXPECT_TRUE(same(reply, request));
    serving.join();
  });
}

// By loads and by packets, while another thread of the owner's puts good records there, and bad words.
TEST_F(Services, find_whole_records_or_none_in_an_area_whose_owner_scribbles_over_it) {
  with_each_kind(
      [](Segment& segment, Import& import, Interface&) {
        using Value = std::array<std::uint64_t, 4>;
        using Shape = CacheShape<std::uint64_t, Value>;
        const Shape shape(64, 2);
        std::atomic<bool> over{false};
        std::thread owner([&] {
          std::mt19937_64 chance(5);
          OwnCacheArea<std::uint64_t, Value> own(segment, shape);
          for (std::uint64_t round = 1; !over; ++round) {
            own.put(round % 4, {round, round, round, round});
            if (round % 4 == 0)
              segment.at<std::uint64_t>(64 + chance() % Shape::bytes(2) / 8 * 8) = chance() % 3;
          }
        });
        FarCacheArea<std::uint64_t, Value> far(import, shape);
        Hint hint;
        int found = 0;
        for (int i = 0; i < 500 || found == 0; ++i) {
          const auto key = static_cast<std::uint64_t>(i % 4);
          Value value{};
          const auto begun = std::chrono::steady_clock::now();
          const Status status = far.read(key, value, 20ms, &hint);
          if (status == Status::ok) {
            ++found;
            EXPECT_TRUE(value[0] % 4 == key && value == Value({value[0], value[0], value[0], value[0]}));
          } else {
            EXPECT_TRUE(status == Status::not_ready || status == Status::timed_out) << name(status);
          }
          EXPECT_LT(std::chrono::steady_clock::now() - begun, kPatience);
        }
        over = true;
        owner.join();
      },
      {.control = Control::never});
}

}  // namespace
}  // namespace hamlyn::test
