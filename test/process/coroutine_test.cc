// Tasks that wait for what a manager's protocols bring, many in one thread.
#include "hamlyn/protocols/coroutine.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "test/process/managers.h"

namespace hamlyn::test {
namespace {

class Coroutines : public WithManagers {};

Task echo(Loop& loop, StreamReceiver& from, StreamSender& to, int& ended) {
  Record record;
  while (co_await loop.receive(from, record) == Status::ok) {
    EXPECT_EQ(co_await loop.send(to, record.bytes()), Status::ok);
    EXPECT_EQ(from.release(record), Status::ok);
  }
  EXPECT_EQ(co_await loop.close(to), Status::ok);
  ++ended;
}

Task throws(Loop& loop, DatagramReceiver& from) {
  Datagram datagram;
  EXPECT_EQ(co_await loop.receive(from, datagram), Status::ok);
  throw std::runtime_error(text_of(datagram.bytes));
}

TEST_F(Coroutines, share_a_thread) {
  with_both([](Managers& both) {
    constexpr int kClients = 5, kRecords = 500;
    StreamOptions small{.first = 1024, .most = 8192, .parcels = 4};
    std::vector<std::unique_ptr<StreamReceiver>> heard, echoes;
    std::vector<std::thread> clients;
    DatagramReceiver door{both.receiver, 100};
    std::vector<Seed> seeds;
    for (int i = 0; i < kClients; ++i) {
      heard.push_back(std::make_unique<StreamReceiver>(both.receiver, small));
      echoes.push_back(std::make_unique<StreamReceiver>(both.sender, small));
      seeds.push_back(heard.back()->make_seed());
    }
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back([&, i] {
        StreamSender said{both.sender, seeds[static_cast<std::size_t>(i)], {.timeout = kPatience}};
        StreamReceiver& back = *echoes[static_cast<std::size_t>(i)];
        for (int number = 0; number < kRecords; ++number) {
          const std::string text(static_cast<std::size_t>(number % 100 == 99 ? 3000 : number % 50), 'a');
          EXPECT_EQ(said.send(text), Status::ok);
          Record record;
          EXPECT_EQ(back.receive(record, kPatience), Status::ok);
          EXPECT_EQ(record.text(), text);
          EXPECT_EQ(back.release(record), Status::ok);
        }
        EXPECT_EQ(said.close(kPatience), Status::ok);
        Record record;
        EXPECT_EQ(back.receive(record, kPatience), Status::closed);
      });
    }
    int ended = 0;
    std::vector<std::unique_ptr<StreamSender>> to;
    Loop loop{both.receiver};
    for (std::size_t i = 0; i < kClients; ++i) {
      to.push_back(std::make_unique<StreamSender>(both.receiver, echoes[i]->make_seed()));
      loop.start(echo(loop, *heard[i], *to[i], ended));
    }
    loop.run();
    EXPECT_EQ(ended, kClients);
    for (std::thread& client : clients) client.join();
    // What a task throws comes out of the loop; the others can go on.
    DatagramSender knocks{both.sender, door.make_seed()};
    loop.start(throws(loop, door));
    EXPECT_EQ(knocks.deliver(bytes_of("on purpose"), kPatience), Status::ok);
    EXPECT_THROW(loop.run(), std::runtime_error);
    loop.run();  // nothing is left
  });
}

// Two tasks that throw in the same turn.
TEST_F(Coroutines, throw_one_after_the_other) {
  with_both([](Managers& both) {
    DatagramReceiver one{both.receiver, 100}, other{both.receiver, 100};
    DatagramSender knocks{both.sender, one.make_seed()}, knocks_there{both.sender, other.make_seed()};
    EXPECT_EQ(knocks.deliver(bytes_of("one"), kPatience), Status::ok);
    EXPECT_EQ(knocks_there.deliver(bytes_of("other"), kPatience), Status::ok);
    Loop loop{both.receiver};
    loop.start(throws(loop, one));
    loop.start(throws(loop, other));
    std::vector<std::string> thrown;
    for (int i = 0; i != 2; ++i) {
      try {
        loop.run();
      } catch (const std::runtime_error& error) {
        thrown.emplace_back(error.what());
      }
    }
    EXPECT_EQ(thrown, (std::vector<std::string>{"one", "other"}));
  });
}

Task waits(Loop& loop, DatagramReceiver& from, Status& status) {
  Datagram datagram;
  status = co_await loop.receive(from, datagram);
}

TEST_F(Coroutines, are_cancelled_from_another_thread) {
  with_both([](Managers& both) {
    DatagramReceiver door{both.receiver, 100};
    Loop loop{both.receiver};
    Status told = Status::pending;
    loop.start(waits(loop, door, told));
    std::thread other([&] {
      while (!both.receiver.interface().engine().somebody_waits()) std::this_thread::yield();
      both.receiver.cancel();
    });
    // It sleeps, most likely; or it was just looking.
    const auto thrown = thrown_by([&] { loop.run(); });
    other.join();
    EXPECT_TRUE(thrown == ErrorCode::cancelled || told == Status::cancelled);
  });
}

TEST_F(Coroutines, do_not_wait_inside_process_arrival) {
  with_both([](Managers& both) {
    DatagramReceiver door{both.receiver, 64};
    std::optional<ErrorCode> thrown;
    OwnReceiver runs{both.receiver, [&](const Notification&) {
                       Loop loop{both.receiver};
                       Status told = Status::pending;
                       loop.start(waits(loop, door, told));
                       thrown = thrown_by([&] { loop.run(); });
                     }};
    Terminus terminus{both.sender.interface()};
    EXPECT_EQ(terminus.wait_for_place(runs.ticket(), kPatience), Status::ok);
    EXPECT_EQ(terminus.send_fast(runs.ticket(), {}), Status::ok);
    EXPECT_EQ(both.receiver.wait(kPatience), Status::ok);
    EXPECT_EQ(thrown, ErrorCode::invalid_argument);
  });
}

}  // namespace
}  // namespace hamlyn::test
