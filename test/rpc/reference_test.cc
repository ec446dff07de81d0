// Arguments by reference: parts of a client's memory that the server reads and writes during a call.
#include <gtest/gtest.h>

#include <signal.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <thread>

#include "hamlyn/rpc.h"
#include "hamlyn/rpc/reference.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using internal_::rpc::Layout;
using internal_::rpc::Reader;
using internal_::rpc::Writer;

// A part as anybody may say it.
template <class To, class From>
To said(const From& part, std::uint64_t length) {
  alignas(8) std::array<std::byte, 24> bytes;
  Writer to(bytes);
  Layout<From>::put(to, part);
  std::memcpy(bytes.data() + 16, &length, sizeof length);
  To out;
  Reader from(bytes);
  Layout<To>::get(from, out);
  return out;
}

static_assert(internal_::rpc::Travels<rpc::Readable> && !internal_::rpc::Returns<rpc::Readable>);

class Sums {
 public:
  std::uint64_t sum(rpc::Call& call, rpc::Readable data) {
    std::vector<std::uint8_t> bytes(data.size());
    last = data.read(call, 0, std::as_writable_bytes(std::span(bytes)), kPatience);
    kept = data;
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  }
  Status fill(rpc::Call& call, rpc::Writable data, std::uint8_t with) {
    const std::vector<std::byte> bytes(data.size(), std::byte{with});
    return data.write(call, 0, bytes, kPatience);
  }
  // Reaches where nobody has let it.
  std::vector<Status> beyond(rpc::Call& call, rpc::Readable data, rpc::Writable room) {
    std::array<std::byte, 16> bytes{};
    const std::uint64_t longer = data.size() + 64;
    return {data.read(call, data.size() - 8, bytes, kPatience),
            room.write(call, room.size() + 1, bytes, kPatience),
            said<rpc::Readable>(data, longer).read(call, data.size(), bytes, kPatience),
            said<rpc::Writable>(room, longer).write(call, room.size(), bytes, kPatience),
            said<rpc::Writable>(data, data.size()).write(call, 0, bytes, kPatience),
            said<rpc::Readable>(room, room.size()).read(call, 0, bytes, kPatience),
            rpc::Readable{}.read(call, 0, bytes, kPatience),
            said<rpc::Readable>(rpc::Readable{}, 100).read(call, 0, bytes, kPatience)};
  }
  // Answers first: the part is lent until it returns.
  void answers_first(rpc::Call& call, rpc::Answer<void> answer, rpc::Readable data) {
    EXPECT_EQ(answer.give(), Status::ok);
    static_cast<void>(sum(call, data));
  }
  // Reads what an earlier call has lent.
  Status again(rpc::Call& call) {
    std::array<std::byte, 8> bytes{};
    return kept.read(call, 0, bytes, kPatience);
  }
  // Reads when it is let, for no longer than that.
  void for_a_while(rpc::Call& call, rpc::Readable data, rpc::Writable room) {
    if (gate) gate();
    std::array<std::byte, 8> bytes{};
    const Status written = room.write(call, 0, std::vector<std::byte>(100'000), 20ms);
    last = data.read(call, 0, bytes, 20ms);
    if (written != Status::timed_out) last = written;
  }

  std::function<void()> gate;
  Status last = Status::invalid;
  rpc::Readable kept;
};
HAMLYN_RPC(Sums, sum, fill, beyond, answers_first, again, for_a_while)

class RpcReference : public OnNodes {
 protected:
  void with_sums(const std::function<void(Sums&, Interface&, rpc::Client<Sums>&)>& work) {
    with_two([&](Interface& there, Interface& here) {
      Sums sums;
      rpc::Server<Sums> server(there, "sums", sums);
      std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
      {
        rpc::Client<Sums> client(here, "sums");
        work(sums, here, client);
      }
      server.stop();
      serving.join();
    });
  }
};

TEST_F(RpcReference, is_read_and_written_by_the_handler) {
  with_sums([](Sums& sums, Interface& here, rpc::Client<Sums>& client) {
    rpc::Lendable memory(here, 1 << 20);
    std::ranges::fill(memory.bytes(), std::byte{1});
    for (const std::size_t length : {1u, 8u, 4096u, 65'536u, 65'537u, 200'000u, 1u << 20}) {
      EXPECT_EQ(client.call<&Sums::sum>(memory.readable(0, length)).value(), length);
      EXPECT_EQ(sums.last, Status::ok) << length;
    }
    EXPECT_EQ(client.call<&Sums::fill>(memory.writable(64, 100'000), 3).value(), Status::ok);
    EXPECT_EQ(memory.bytes()[63], std::byte{1});
    EXPECT_EQ(memory.bytes()[64 + 100'000], std::byte{1});
    EXPECT_EQ(client.call<&Sums::sum>(memory.readable(64, 100'000)).value(), 300'000u);
    auto lent = memory.readable(100'063, 3);
    auto pending = client.start<&Sums::sum>(lent);
    EXPECT_EQ(pending.wait().value(), 5u);
  });
}

TEST_F(RpcReference, beyond_what_was_lent_is_refused) {
  with_sums([](Sums&, Interface& here, rpc::Client<Sums>& client) {
    rpc::Lendable memory(here, 4096);
    const auto answers =
        client.call<&Sums::beyond>(memory.readable(0, 1024), memory.writable(2048, 1024)).value();
    EXPECT_EQ(answers,
              (std::vector{Status::out_of_bounds, Status::out_of_bounds, Status::refused, Status::refused,
                           Status::refused, Status::refused, Status::out_of_bounds, Status::refused}));
    for (const std::byte each : memory.bytes()) EXPECT_EQ(each, std::byte{0});
  });
}

TEST_F(RpcReference, after_the_call_is_refused) {
  with_sums([this](Sums& sums, Interface& here, rpc::Client<Sums>& client) {
    rpc::Lendable memory(here, 4096);
    EXPECT_EQ(client.call<&Sums::again>().value(), Status::out_of_bounds) << "nothing was lent yet";
    EXPECT_EQ(client.call<&Sums::sum>(memory.readable(0, 64)).value(), 0u);
    EXPECT_EQ(client.call<&Sums::again>().value(), Status::refused);
    const auto lent = memory.readable(0, 64);
    EXPECT_EQ(client.call<&Sums::sum>(lent).value(), 0u);
    EXPECT_EQ(client.call<&Sums::again>().value(), Status::ok) << "it is lent still";
    EXPECT_EQ(client.call<&Sums::answers_first>(memory.readable(0, 64)).status(), Status::ok);
    EXPECT_EQ(sums.last, Status::ok) << "it was lent until its handler had returned";
    EXPECT_EQ(client.call<&Sums::again>().value(), Status::refused);
    Interface stranger(other_options());
    rpc::Client<Sums> other(stranger, "sums");
    EXPECT_EQ(other.call<&Sums::again>().value(), Status::refused) << "another has lent it";
    EXPECT_EQ(other.call<&Sums::sum>(lent).value(), 0u);
    EXPECT_THROW(memory.readable(4096, 1), Error);
    EXPECT_THROW(memory.writable(0, 4097), Error);
    EXPECT_THROW(memory.writable(0, 0), Error);
  });
}

// A handler is held up by its own caller, for as long as it says.
TEST_F(RpcReference, of_a_client_that_has_stopped_is_waited_for_no_longer_than_that) {
  Actor server([&](Line& line) {
    Interface interface(options());
    Sums sums;
    sums.gate = [&] {
      line.put('b');
      line.take<char>();
    };
    rpc::Server<Sums> own(interface, "sums", sums);
    line.put('r');
    while (sums.last == Status::invalid) static_cast<void>(own.serve_one(10ms));
    line.put(sums.last);
    return 0;
  });
  ASSERT_TRUE(server.line().take<char>());
  Actor client([&](Line&) {
    Interface interface(other_options());
    rpc::Client<Sums> own(interface, "sums");
    rpc::Lendable memory(interface, 200'000);
    const auto result = own.call<&Sums::for_a_while>(memory.readable(0, 8), memory.writable(0, 150'000));
    return result.status() == Status::ok ? 0 : 1;
  });
  ASSERT_TRUE(server.line().take<char>());
  client.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return client.stopped(); }));
  server.line().put('g');
  EXPECT_EQ(server.line().take<Status>(), Status::timed_out);
  client.signal(SIGCONT);
  EXPECT_EQ(client.wait(), 0);
  EXPECT_EQ(server.wait(), 0);
}

}  // namespace
}  // namespace hamlyn::test
