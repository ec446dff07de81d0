// The desk, called by hosts and ranks that are none, and by what is no call of it.
#include "job/desk_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "hamlyn/job.h"
#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;
using namespace internal_::job;

constexpr std::uint64_t kCheck = 77;
const Secret kSecret{std::byte{4}, std::byte{2}};

// Serves an object until its end.
template <class Type>
class Served {
 public:
  Served(Interface& interface, Type& object)
      : server_(interface, desk_name("tested"), object, kDeskServer),
        serving_([this] { static_cast<void>(server_.run()); }) {}
  ~Served() {
    server_.stop();
    serving_.join();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

 private:
  rpc::Server<Type> server_;
  std::thread serving_;
};

class DeskServed : public OnNodes {
 protected:
  // A desk of the hosts `ant`, which has it, and `bee`, with two ranks each; and a process that calls it.
  void with_desk(const std::function<void(DeskService& desk, Interface& other)>& work) {
    with_two([&](Interface& one, Interface& other) {
      DeskService desk(
          {.size = 4, .secret = kSecret, .hosts = {"ant", "bee"}, .check = kCheck, .token = "00ff"});
      desk.on_report([] {});
      const Served served(one, desk);
      work(desk, other);
    });
  }
  struct Caller : rpc::Client<DeskService> {
    explicit Caller(Interface& interface) : Client(interface, desk_name("tested"), kDeskCalls) {}
    rpc::Result<Secret> enlist(const std::string& host, const std::string& token = "00ff",
                               std::uint32_t size = 4, std::uint64_t check = kCheck) {
      return call<&DeskService::enlist>(host, token, size, check);
    }
  };
  template <class Result>
  static void expect_refused(const Result& result, std::string_view words) {
    EXPECT_EQ(result.status(), Status::refused);
    EXPECT_EQ(result.text(), words);
  }
};

TEST_F(DeskServed, takes_a_host_that_shows_the_token) {
  with_desk([&](DeskService& desk, Interface& other) {
    Caller caller(other);
    for (const char* const wrong : {"", "00fe", "00f", "00fff"})
      expect_refused(caller.enlist("bee", wrong),
                     "the job starts its hosts itself, and has not started this one");
    EXPECT_FALSE(desk.complete());
    auto secret = caller.enlist("bee");
    ASSERT_TRUE(secret);
    EXPECT_EQ(*secret, kSecret);
    EXPECT_TRUE(desk.complete());
  });
}

TEST_F(DeskServed, takes_each_host_once_and_no_other) {
  with_desk([&](DeskService&, Interface& other) {
    Caller caller(other);
    expect_refused(caller.enlist("ant"), "the job waits for no such host");
    expect_refused(caller.enlist("cat"), "the job waits for no such host");
    expect_refused(caller.enlist("bee", "00ff", 5), "its command has other ranks or other hosts");
    expect_refused(caller.enlist("bee", "00ff", 4, kCheck + 1), "its command has other ranks or other hosts");
    ASSERT_TRUE(caller.enlist("bee"));
    expect_refused(caller.enlist("bee"), "that host is in the job already");
    Interface third(other_options());
    expect_refused(Caller(third).enlist("bee"), "that host is in the job already");
  });
}

TEST_F(DeskServed, takes_reports_of_a_host_of_its_own_ranks) {
  with_desk([&](DeskService& desk, Interface& other) {
    Caller caller(other);
    expect_refused(caller.call<&DeskService::report>(2, 1), "that interface is no host of the job");
    ASSERT_TRUE(caller.enlist("bee"));
    for (const std::uint32_t rank : {0u, 1u, 4u, 0xffff'ffffu})
      expect_refused(caller.call<&DeskService::report>(rank, 1), "that host has no such rank");
    Interface third(other_options());
    expect_refused(Caller(third).call<&DeskService::report>(2, 1), "that interface is no host of the job");
    EXPECT_TRUE(desk.take_reports().empty());
    for (const std::uint32_t status : {7u, 8u})
      EXPECT_TRUE(caller.call<&DeskService::report>(2, status)) << "the first one counts";
    const std::vector<RankEnd> reports = desk.take_reports();
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].rank, 2u);
    EXPECT_EQ(reports[0].status, 7u);
  });
}

TEST_F(DeskServed, begins_nothing_for_arguments_of_a_wrong_size) {
  with_desk([&](DeskService& desk, Interface& other) {
    constexpr auto kListing = internal_::rpc::listing<DeskService>();
    internal_::rpc::ClientCore bare(other, desk_name("tested"), internal_::rpc::wanted(kListing), kDeskCalls);
    const std::vector<std::byte> bytes(8000, std::byte{0xff});
    const std::size_t procedures = internal_::rpc::names_of(kListing).size();
    for (std::size_t procedure = 0; procedure != procedures; ++procedure)
      for (const std::size_t size : std::initializer_list<std::size_t>{1, 3, 7, 11, 23, 8000}) {
        SCOPED_TRACE(testing::Message() << procedure << " with " << size << " bytes");
        internal_::rpc::Terms terms;
        auto ending = bare.start(procedure, std::span(bytes).first(size), terms, true, nullptr);
        ASSERT_EQ(ending.status, Status::pending);
        internal_::rpc::Landing landing;
        ending = bare.finish(ending.call, kPatience, landing);
        EXPECT_EQ(ending.status, Status::refused);
        EXPECT_EQ(ending.cause, rpc::Cause::bad_arguments);
        EXPECT_EQ(ending.fate, rpc::Fate::not_done);
      }
    Caller caller(other);
    ASSERT_TRUE(caller.call<&DeskService::join>(1, kSecret, false));
    const std::vector<std::byte> much(Job::kMostBytes + 1);
    expect_refused(caller.call<&DeskService::meet>(Kind::values, much), "there is no such meeting");
    EXPECT_TRUE(caller.enlist("bee"));
    EXPECT_TRUE(desk.take_reports().empty());
  });
}

TEST_F(DeskServed, knows_of_a_host_that_has_gone_whatever_is_ordered) {
  constexpr DeskService::Time kNow{};
  with_desk([&](DeskService& desk, Interface&) {
    EXPECT_FALSE(desk.lost(1, kNow, false)) << "it has not come";
    {
      Interface third(other_options());
      Caller caller(third);
      ASSERT_TRUE(caller.enlist("bee"));
      const auto orders = caller.start<&DeskService::orders>();
      ASSERT_EQ(orders.status(), Status::pending);
      ASSERT_TRUE(caller.call<&DeskService::report>(2, 1)) << "the server has heard both";
      EXPECT_FALSE(desk.lost(1, kNow, false));
    }
    EXPECT_TRUE(eventually([&] { return desk.lost(1, kNow, false); }));
    desk.order({SIGTERM, 3});
    EXPECT_TRUE(desk.lost(1, kNow, false));
  });
}

// A desk that lets nobody in, and says nothing.
class MuteDesk {
 public:
  void join(rpc::Answer<void> answer, std::uint32_t, const Secret&, bool) {
    answers_.push_back(std::move(answer));
    ++asked;
  }
  std::atomic<int> asked{0};

 private:
  std::vector<rpc::Answer<void>> answers_;
};
HAMLYN_RPC(MuteDesk, join)

class MuteDeskServed : public OnNodes {
 protected:
  static ErrorCode join(Interface& interface, std::chrono::milliseconds timeout) {
    try {
      const Job job(interface, {.job = "tested", .size = 4}, {.timeout = timeout});
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode{};
  }
};

TEST_F(MuteDeskServed, is_waited_for_as_long_as_the_rank_says) {
  with_two([](Interface& one, Interface& other) {
    MuteDesk desk;
    const Served served(one, desk);
    EXPECT_EQ(join(other, 500ms), ErrorCode::timed_out);
  });
}

TEST_F(MuteDeskServed, is_waited_for_until_another_thread_cancels_it) {
  with_two([](Interface& one, Interface& other) {
    MuteDesk desk;
    const Served served(one, desk);
    std::atomic<bool> over{false};
    std::thread canceller([&] {
      if (!eventually([&] { return desk.asked != 0; })) return;
      static_cast<void>(eventually([&] {  // the rank may not wait yet
        other.cancel();
        return over.load();
      }));
    });
    EXPECT_EQ(join(other, kPatience), ErrorCode::cancelled);
    over = true;
    canceller.join();
  });
}

}  // namespace
}  // namespace hamlyn::test
