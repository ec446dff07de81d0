// Arguments by reference: parts of a client's memory that the server reads and writes during a call.
#include <gtest/gtest.h>

#include <signal.h>

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
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

constexpr std::uint64_t kOwnSlot = ~std::uint64_t{0};

// A part as anybody may say it.
template <class To, class From>
To said(const From& part, std::uint64_t length, std::uint64_t offset = kOwnSlot) {
  alignas(8) std::array<std::byte, 32> bytes;
  Writer to(bytes);
  Layout<From>::put(to, part);
  std::memcpy(bytes.data() + 16, &length, sizeof length);
  std::memcpy(bytes.data() + 24, &offset, sizeof offset);
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
  // Where it stands; nothing: it does not stand here.
  std::optional<std::uint64_t> look(rpc::Call& call, rpc::Readable data) {
    kept = data;
    const std::span<const std::byte> bytes = data.view(call, kPatience);
    if (bytes.empty()) return std::nullopt;
    std::uint64_t out = 0;
    for (const std::byte each : bytes) out += static_cast<std::uint8_t>(each);
    return out;
  }
  // Where nobody has let it look, and what was given to another.
  std::vector<bool> look_beyond(rpc::Call& call, rpc::Readable data, rpc::Readable own_slot) {
    const auto empty = [&](rpc::Readable part) { return part.view(call, kPatience).empty(); };
    const std::uint64_t most = ~std::uint64_t{0};
    return {empty(said<rpc::Readable>(data, 8192, 4096)),
            empty(said<rpc::Readable>(data, 1, 8192)),
            empty(said<rpc::Readable>(data, 4096, most - 8)),
            empty(said<rpc::Readable>(data, most, 64)),
            empty(said<rpc::Readable>(own_slot, 64, 0)),
            empty(said<rpc::Readable>(rpc::Readable{}, 64, 0)),
            empty(kept)};
  }
  Status read_beyond(rpc::Call& call, rpc::Readable data, std::uint64_t offset) {
    std::array<std::byte, 8> bytes{};
    return said<rpc::Readable>(data, 64, offset).read(call, 8, bytes, kPatience);
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
HAMLYN_RPC(Sums, sum, look, look_beyond, read_beyond, fill, beyond, answers_first, again, for_a_while)

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

TEST_F(RpcReference, is_looked_at_where_it_stands) {
  with_sums([](Sums&, Interface& here, rpc::Client<Sums>& client) {
    const bool near = nodes == nullptr;
    rpc::Lendable memory(here, 200'000, {.shown = true});
    for (std::uint8_t turn = 1; turn != 4; ++turn) {
      std::ranges::fill(memory.bytes(), std::byte{turn});
      memory.bytes()[100'064] = std::byte{9};
      const auto expected = std::uint64_t{turn} * 100'000;
      const auto sum = client.call<&Sums::look>(memory.readable(64, 100'000)).value();
      EXPECT_EQ(sum, near ? std::optional(expected) : std::nullopt);
      EXPECT_EQ(client.call<&Sums::look>(memory.readable(100'064, 1)).value(),
                near ? std::optional<std::uint64_t>(9) : std::nullopt);
      EXPECT_EQ(client.call<&Sums::sum>(memory.readable(64, 100'000)).value(), expected) << "a copy";
    }
    EXPECT_THROW(static_cast<void>(memory.writable(0, 64)), Error);
    rpc::Lendable hidden(here, 4096);
    EXPECT_EQ(client.call<&Sums::look>(hidden.readable(0, 64)).value(), std::nullopt);
    EXPECT_THROW(static_cast<void>(memory.readable(200'704, 1)), Error);
    EXPECT_THROW(static_cast<void>(memory.readable(0, 200'705)), Error);
    EXPECT_THROW(static_cast<void>(memory.readable(0, 0)), Error);
  });
}

TEST_F(RpcReference, is_looked_at_nowhere_else) {
  with_sums([this](Sums&, Interface& here, rpc::Client<Sums>& client) {
    rpc::Lendable memory(here, 8192, {.shown = true}), hidden(here, 4096);
    Interface stranger(other_options());
    rpc::Client<Sums> other(stranger, "sums");
    EXPECT_EQ(client.call<&Sums::look>(memory.readable(0, 64)).value().has_value(), nodes == nullptr);
    const auto lent = memory.readable(0, 64);
    EXPECT_EQ(other.call<&Sums::look>(lent).value(), std::nullopt) << "another shows it";
    EXPECT_EQ(other.call<&Sums::read_beyond>(lent, 0).value(), Status::refused);
    EXPECT_EQ(other.call<&Sums::look_beyond>(lent, lent).value(), std::vector<bool>(7, true));
    const auto answers =
        client.call<&Sums::look_beyond>(memory.readable(0, 64), hidden.readable(0, 64)).value();
    for (std::size_t i = 0; i != 6; ++i) EXPECT_TRUE(answers[i]) << i;
    EXPECT_EQ(client.call<&Sums::read_beyond>(memory.readable(0, 64), 8192 - 64).value(), Status::ok);
    EXPECT_NE(client.call<&Sums::read_beyond>(memory.readable(0, 64), 8192 - 8).value(), Status::ok);
    EXPECT_NE(client.call<&Sums::read_beyond>(memory.readable(0, 64), kOwnSlot - 8).value(), Status::ok);
  });
}

// A server keeps so many of a client's memories mapped, and maps the others again.
TEST_F(RpcReference, of_many_memories_is_looked_at_in_each) {
  with_sums([](Sums&, Interface& here, rpc::Client<Sums>& client) {
    std::vector<std::unique_ptr<rpc::Lendable>> all;
    for (int turn = 0; turn != 2; ++turn) {
      for (std::uint8_t i = 1; i != 7; ++i) {
        if (turn == 0)
          all.push_back(std::make_unique<rpc::Lendable>(here, 4096, rpc::LendableOptions{.shown = true}));
        all[i - 1u]->bytes()[7] = std::byte{i};
        const auto sum = client.call<&Sums::look>(all[i - 1u]->readable(0, 64)).value();
        if (nodes == nullptr) {
          EXPECT_EQ(sum, i);
        }
      }
    }
    const auto lent = all.back()->readable(0, 64);
    all.pop_back();
    EXPECT_EQ(client.call<&Sums::look>(lent).value(), std::nullopt) << "it is gone";
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
