// Calls in C: servers and clients, with each other and with those in C++.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "hamlyn/c/rpc.h"
#include "hamlyn/rpc.h"
#include "hamlyn/values/status.h"
#include "test/rpc/calculator.h"
#include "test/support/actor.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

constexpr int kWrong = 100 + static_cast<int>(ErrorCode::invalid_argument);

struct Pair {
  std::int32_t a, b;
};

void minus(void*, hamlyn_rpc_call* call, const void* arguments, std::size_t length) {
  Pair pair;
  if (length != sizeof pair) {
    EXPECT_EQ(hamlyn_rpc_fail(call, "two numbers are wanted"), HAMLYN_OK);
    return;
  }
  std::memcpy(&pair, arguments, sizeof pair);
  const std::int32_t out = pair.a - pair.b;
  EXPECT_EQ(hamlyn_rpc_answer(call, &out, sizeof out), HAMLYN_OK);
  EXPECT_EQ(hamlyn_rpc_answer(call, &out, sizeof out), HAMLYN_INVALID) << "twice";
}

struct Context {
  std::atomic<hamlyn_rpc_owed*> owed{nullptr};  // set behind `caller`
  hamlyn_rpc_caller caller{};
  std::atomic<bool> given{false}, may_return{false};
};
hamlyn_rpc_owed* owed_by(const Context& context) { return context.owed; }

void later(void* context, hamlyn_rpc_call* call, const void*, std::size_t) {
  auto& own = *static_cast<Context*>(context);
  EXPECT_EQ(hamlyn_rpc_call_caller(call, &own.caller), HAMLYN_OK);
  int cancelled = 1;
  EXPECT_EQ(hamlyn_rpc_call_cancelled(call, &cancelled), HAMLYN_OK);
  EXPECT_EQ(cancelled, 0);
  hamlyn_rpc_owed* another = nullptr;
  if (owed_by(own) == nullptr) {
    EXPECT_EQ(hamlyn_rpc_later(call, &another), HAMLYN_OK);
    own.owed = another;
  } else {
    EXPECT_EQ(hamlyn_rpc_later(call, &another), HAMLYN_QUEUE_FULL);
    EXPECT_EQ(another, nullptr);
  }
}
// An answer that another thread gives while its procedure goes on.
void early(void* context, hamlyn_rpc_call* call, const void* arguments, std::size_t length) {
  auto& own = *static_cast<Context*>(context);
  hamlyn_rpc_owed* owed = nullptr;
  ASSERT_EQ(hamlyn_rpc_later(call, &owed), HAMLYN_OK);
  std::thread([&] {
    EXPECT_EQ(hamlyn_rpc_owed_give(owed, "x", 1), HAMLYN_OK);
    EXPECT_EQ(hamlyn_rpc_owed_free(owed), HAMLYN_OK);
  }).join();
  own.given = true;
  own.given.notify_all();
  own.may_return.wait(false);
  EXPECT_EQ(hamlyn_rpc_call_caller(call, &own.caller), HAMLYN_OK);
  const auto* const bytes = static_cast<const char*>(arguments);
  EXPECT_EQ(std::string(bytes, length), std::string(5000, 'a'));
}
// An exception behind what was asked for: 'l', it is answered later, and kept; 'g', it was given; else
// nothing.
void throws(void* context, hamlyn_rpc_call* call, const void* arguments, std::size_t length) {
  const char how = length == 0 ? ' ' : *static_cast<const char*>(arguments);
  hamlyn_rpc_owed* owed = nullptr;
  if (how != ' ') {
    EXPECT_EQ(hamlyn_rpc_later(call, &owed), HAMLYN_OK);
  }
  if (how == 'g') {
    EXPECT_EQ(hamlyn_rpc_owed_give(owed, "x", 1), HAMLYN_OK);
  }
  static_cast<Context*>(context)->owed = owed;
  if (how == 'i') throw 5;
  throw std::runtime_error("thrown");
}
void nothing(void*, hamlyn_rpc_call*, const void*, std::size_t) {}
void zeros(void*, hamlyn_rpc_call* call, const void* arguments, std::size_t length) {
  std::uint32_t count = 0;
  std::memcpy(&count, arguments, std::min(length, sizeof count));
  const std::vector<std::byte> out(count);
  const hamlyn_status status = hamlyn_rpc_answer(call, out.data(), out.size());
  EXPECT_EQ(status, count > 65536 ? HAMLYN_TOO_LONG : HAMLYN_OK);
}

constexpr hamlyn_rpc_procedure kProcedures[] = {
    {"minus(i32,i32)->i32", minus}, {"later()->text", later},   {"nothing()->nothing", nothing},
    {"raw_zeros(u32)->u8", zeros},  {"early(text)->u8", early}, {"throws(u8)->u8", throws}};
constexpr const char* kSignatures[] = {"later()->text",      "minus(i32,i32)->i32", "nothing()->nothing",
                                       "raw_zeros(u32)->u8", "newer()->nothing",    "early(text)->u8",
                                       "throws(u8)->u8"};

class CRpc : public testing::Test {
 protected:
  void with_interface(const std::function<void(hamlyn_interface*)>& work) {
    Actor child([&](Line&) {
      const std::string node = folder_.file("node");
      hamlyn_interface_options options{};
      options.size = sizeof options;
      options.node = node.c_str();
      options.flags = HAMLYN_NO_START;
      hamlyn_interface* interface = nullptr;
      EXPECT_EQ(hamlyn_interface_make(&options, &interface), HAMLYN_OK) << hamlyn_last_error();
      if (interface != nullptr) work(interface);
      EXPECT_EQ(hamlyn_interface_free(interface), HAMLYN_OK);
      return HasFailure() ? 1 : 0;
    });
    EXPECT_EQ(child.wait(), 0);
  }
  void with_server(const std::function<void(hamlyn_interface*, Context&)>& work) {
    with_interface([&](hamlyn_interface* interface) {
      Context context;
      hamlyn_rpc_server_options options{};
      options.size = sizeof options;
      options.owed = 1;
      hamlyn_rpc_server* server = nullptr;
      ASSERT_EQ(hamlyn_rpc_server_make(interface, "c", kProcedures, std::size(kProcedures), &context,
                                       &options, &server),
                HAMLYN_OK)
          << hamlyn_last_error();
      std::thread serving([&] { EXPECT_EQ(hamlyn_rpc_run(server), HAMLYN_OK); });
      work(interface, context);
      EXPECT_EQ(hamlyn_interface_free(interface), kWrong);
      EXPECT_EQ(hamlyn_rpc_stop(server), HAMLYN_OK);
      serving.join();
      EXPECT_EQ(hamlyn_rpc_server_free(server), HAMLYN_OK);
    });
  }

  Folder folder_;
  Daemon daemon_{folder_.file("node")};
};

hamlyn_rpc_client* client_of(hamlyn_interface* interface, const char* name) {
  hamlyn_rpc_client* client = nullptr;
  EXPECT_EQ(hamlyn_rpc_client_make(interface, name, kSignatures, std::size(kSignatures), nullptr, &client),
            HAMLYN_OK)
      << hamlyn_last_error();
  return client;
}

TEST_F(CRpc, calls_by_number_and_answers_at_once_or_later) {
  with_server([](hamlyn_interface* interface, Context& context) {
    hamlyn_rpc_client* const client = client_of(interface, "c");
    ASSERT_NE(client, nullptr);
    int has = 0;
    EXPECT_EQ(hamlyn_rpc_client_has(client, 1, &has), HAMLYN_OK);
    EXPECT_EQ(has, 1);
    EXPECT_EQ(hamlyn_rpc_client_has(client, 4, &has), HAMLYN_OK);
    EXPECT_EQ(has, 0);
    const Pair pair{5, 3};
    std::int32_t difference = 0;
    hamlyn_rpc_result result;
    EXPECT_EQ(hamlyn_rpc_do(client, 1, &pair, sizeof pair, nullptr, &difference, sizeof difference, &result),
              HAMLYN_OK);
    EXPECT_EQ(difference, 2);
    EXPECT_EQ(result.length, sizeof difference);
    EXPECT_EQ(result.fate, static_cast<std::uint32_t>(HAMLYN_RPC_DONE));

    const std::uint8_t trace[16] = {7, 8};
    hamlyn_rpc_terms terms{};
    terms.size = sizeof terms;
    terms.time = 10'000'000'000;
    terms.trace = trace;
    terms.urgent = 1;
    hamlyn_rpc_id call;
    ASSERT_EQ(hamlyn_rpc_start(client, 0, nullptr, 0, &terms, &call), HAMLYN_OK);
    char text[64];
    EXPECT_EQ(hamlyn_rpc_wait(client, &call, 1000, text, sizeof text, &result), HAMLYN_TIMED_OUT);
    while (owed_by(context) == nullptr) ASSERT_EQ(hamlyn_interface_run(interface), HAMLYN_OK);
    EXPECT_EQ(context.caller.urgent, 1u);
    EXPECT_EQ(std::memcmp(context.caller.trace, trace, sizeof trace), 0);
    EXPECT_GT(context.caller.left, 0);
    EXPECT_EQ(result.fate, static_cast<std::uint32_t>(HAMLYN_RPC_UNKNOWN));
    EXPECT_EQ(hamlyn_rpc_do(client, 0, nullptr, 0, nullptr, nullptr, 0, &result), HAMLYN_REFUSED);
    EXPECT_STREQ(hamlyn_rpc_cause_name(result.cause), "too_many");
    EXPECT_EQ(hamlyn_rpc_do(client, 2, nullptr, 0, nullptr, nullptr, 0, &result), HAMLYN_REFUSED);
    EXPECT_STREQ(hamlyn_rpc_cause_name(result.cause), "unanswered");
    EXPECT_EQ(context.caller.user, ::geteuid());
    EXPECT_EQ(context.caller.urgent, 0u) << "of the second call";
    EXPECT_EQ(context.caller.left, HAMLYN_FOREVER);
    EXPECT_EQ(hamlyn_rpc_owed_give(context.owed, "\4\0\0\0text", 8), HAMLYN_OK);
    EXPECT_EQ(hamlyn_rpc_owed_give(context.owed, nullptr, 0), HAMLYN_INVALID);
    int cancelled = 0;
    EXPECT_EQ(hamlyn_rpc_owed_cancelled(context.owed, &cancelled), HAMLYN_OK);
    EXPECT_EQ(cancelled, 1);
    EXPECT_EQ(hamlyn_rpc_wait(client, &call, HAMLYN_FOREVER, text, 6, &result), HAMLYN_TOO_LONG);
    EXPECT_EQ(result.length, 8u);
    EXPECT_EQ(std::memcmp(text, "\4\0\0\0te", 6), 0);
    EXPECT_EQ(hamlyn_rpc_owed_free(context.owed), HAMLYN_OK);
    EXPECT_EQ(hamlyn_rpc_client_free(client), HAMLYN_OK);
  });
}

TEST_F(CRpc, answer_that_is_given_early_leaves_when_the_procedure_returns) {
  with_server([](hamlyn_interface* interface, Context& context) {
    hamlyn_rpc_client* client = client_of(interface, "c");
    ASSERT_NE(client, nullptr);
    const std::string said(5000, 'a');
    hamlyn_rpc_id call;
    hamlyn_rpc_result result;
    char out = 0;
    ASSERT_EQ(hamlyn_rpc_start(client, 5, said.data(), said.size(), nullptr, &call), HAMLYN_OK);
    context.given.wait(false);
    EXPECT_EQ(hamlyn_rpc_wait(client, &call, 0, &out, 1, &result), HAMLYN_TIMED_OUT);
    context.may_return = true;
    context.may_return.notify_all();
    EXPECT_EQ(hamlyn_rpc_wait(client, &call, HAMLYN_FOREVER, &out, 1, &result), HAMLYN_OK);
    EXPECT_EQ(out, 'x');
    EXPECT_EQ(context.caller.user, ::geteuid());
    EXPECT_EQ(hamlyn_rpc_client_free(client), HAMLYN_OK);
  });
}

TEST_F(CRpc, exception_of_a_procedure_ends_its_call_once) {
  with_server([](hamlyn_interface* interface, Context& context) {
    hamlyn_rpc_client* client = client_of(interface, "c");
    ASSERT_NE(client, nullptr);
    hamlyn_rpc_result result;
    char out = 0;
    const auto call = [&](const char* how) {
      return hamlyn_rpc_do(client, 6, how, std::strlen(how), nullptr, &out, 1, &result);
    };
    // One answer may be owed at a time: each call gives its place back.
    for (int i = 0; i != 3; ++i) {
      for (const char* const how : {"", "l", "i"}) {
        EXPECT_EQ(call(how), HAMLYN_REFUSED) << how;
        EXPECT_EQ(result.cause, static_cast<std::uint32_t>(HAMLYN_RPC_THREW)) << how;
        EXPECT_EQ(result.fate, static_cast<std::uint32_t>(HAMLYN_RPC_DONE)) << how;
        EXPECT_STREQ(result.text, *how == 'i' ? "something that is no std::exception" : "thrown");
        if (*how == 0) continue;
        int cancelled = 0;
        EXPECT_EQ(hamlyn_rpc_owed_cancelled(context.owed, &cancelled), HAMLYN_OK);
        EXPECT_EQ(cancelled, 1) << "it is over";
        EXPECT_EQ(hamlyn_rpc_owed_give(context.owed, "y", 1), HAMLYN_INVALID);
        EXPECT_EQ(hamlyn_rpc_owed_free(context.owed), HAMLYN_OK);
      }
      EXPECT_EQ(call("g"), HAMLYN_OK) << "it was given before";
      EXPECT_EQ(out, 'x');
      EXPECT_EQ(hamlyn_rpc_owed_free(context.owed), HAMLYN_OK);
    }
    EXPECT_EQ(hamlyn_rpc_client_free(client), HAMLYN_OK);
  });
}

TEST_F(CRpc, says_why_a_call_was_not_done) {
  with_server([](hamlyn_interface* interface, Context& context) {
    hamlyn_rpc_client* const client = client_of(interface, "c");
    ASSERT_NE(client, nullptr);
    hamlyn_rpc_result result;
    EXPECT_EQ(hamlyn_rpc_do(client, 1, "x", 1, nullptr, nullptr, 0, &result), HAMLYN_REFUSED);
    EXPECT_EQ(result.cause, static_cast<std::uint32_t>(HAMLYN_RPC_THREW));
    EXPECT_STREQ(result.text, "two numbers are wanted");
    EXPECT_EQ(hamlyn_rpc_do(client, 2, nullptr, 0, nullptr, nullptr, 0, &result), HAMLYN_REFUSED);
    EXPECT_EQ(result.cause, static_cast<std::uint32_t>(HAMLYN_RPC_UNANSWERED));
    EXPECT_EQ(hamlyn_rpc_do(client, 4, nullptr, 0, nullptr, nullptr, 0, &result), HAMLYN_REFUSED);
    EXPECT_EQ(result.cause, static_cast<std::uint32_t>(HAMLYN_RPC_NO_PROCEDURE));
    for (const std::uint32_t count : {0u, 100u, 300u, 60'000u, 70'000u}) {
      std::vector<std::byte> into(70'000);
      const hamlyn_status status =
          hamlyn_rpc_do(client, 3, &count, sizeof count, nullptr, into.data(), into.size(), &result);
      EXPECT_EQ(status, count > 65536 ? HAMLYN_TOO_LONG : HAMLYN_OK) << count;
      EXPECT_EQ(result.length, count > 65536 ? 0 : count);
    }
    // A call that nobody waits for is dropped, and cancelled.
    hamlyn_rpc_id call;
    ASSERT_EQ(hamlyn_rpc_start(client, 0, nullptr, 0, nullptr, &call), HAMLYN_OK);
    while (owed_by(context) == nullptr) ASSERT_EQ(hamlyn_interface_run(interface), HAMLYN_OK);
    EXPECT_EQ(hamlyn_rpc_cancel(client, &call), HAMLYN_OK);
    int cancelled = 0;
    while (cancelled == 0) ASSERT_EQ(hamlyn_rpc_owed_cancelled(context.owed, &cancelled), HAMLYN_OK);
    EXPECT_EQ(hamlyn_rpc_owed_fail(context.owed, "nobody waits"), HAMLYN_OK);
    EXPECT_EQ(hamlyn_rpc_wait(client, &call, HAMLYN_FOREVER, nullptr, 0, &result), HAMLYN_REFUSED);
    EXPECT_STREQ(result.text, "nobody waits");
    ASSERT_EQ(hamlyn_rpc_start(client, 2, nullptr, 0, nullptr, &call), HAMLYN_OK);
    EXPECT_EQ(hamlyn_rpc_drop(client, &call), HAMLYN_OK);
    std::uint32_t fate = 9;
    EXPECT_EQ(hamlyn_rpc_settle(client, &call, HAMLYN_FOREVER, &fate), HAMLYN_OK);
    EXPECT_EQ(fate, static_cast<std::uint32_t>(HAMLYN_RPC_DONE));
    const hamlyn_rpc_id none{~0ull, ~0ull, ~0u, ~0u};
    EXPECT_EQ(hamlyn_rpc_wait(client, &none, 0, nullptr, 0, &result), HAMLYN_LINK_ENDED);
    EXPECT_EQ(hamlyn_rpc_owed_free(context.owed), HAMLYN_OK);
    EXPECT_EQ(hamlyn_rpc_client_free(client), HAMLYN_OK);
  });
}

TEST_F(CRpc, understands_and_is_understood_by_programs_in_another_language) {
  with_server([this](hamlyn_interface*, Context&) {
    Interface other({.node = folder_.file("node"), .start_node = false});
    rpc::Client<Calculator> from_other(other, "c");
    EXPECT_EQ(from_other.call<&Calculator::minus>(5, 3).value(), 2);
    EXPECT_FALSE(from_other.has<&Calculator::square>());
  });
  with_interface([this](hamlyn_interface* interface) {
    Interface other({.node = folder_.file("node"), .start_node = false});
    Calculator calculator;
    rpc::Server<Calculator> server(other, "calculator", calculator);
    std::thread serving([&] { EXPECT_EQ(server.run(), Status::ok); });
    const char* const mine[] = {"minus(i32,i32)->i32"};
    hamlyn_rpc_client* client = nullptr;
    ASSERT_EQ(hamlyn_rpc_client_make(interface, "calculator", mine, 1, nullptr, &client), HAMLYN_OK);
    const Pair pair{7, 9};
    std::int32_t out = 0;
    hamlyn_rpc_result result;
    EXPECT_EQ(hamlyn_rpc_do(client, 0, &pair, sizeof pair, nullptr, &out, sizeof out, &result), HAMLYN_OK);
    EXPECT_EQ(out, -2);
    EXPECT_EQ(hamlyn_rpc_client_free(client), HAMLYN_OK);
    const char* const differs[] = {"minus(i64,i64)->i64"};
    EXPECT_EQ(hamlyn_rpc_client_make(interface, "calculator", differs, 1, nullptr, &client),
              100 + static_cast<int>(ErrorCode::version_mismatch));
    EXPECT_NE(std::strstr(hamlyn_last_error(), "minus(i32,i32)->i32"), nullptr);
    server.stop();
    serving.join();
  });
}

TEST_F(CRpc, refuses_what_cannot_be) {
  with_server([](hamlyn_interface* interface, Context&) {
    hamlyn_rpc_server* server = nullptr;
    hamlyn_rpc_client* client = nullptr;
    const auto make = [&](const hamlyn_rpc_procedure& procedure) {
      return hamlyn_rpc_server_make(interface, "wrong", &procedure, 1, nullptr, nullptr, &server);
    };
    EXPECT_EQ(make({nullptr, minus}), kWrong);
    EXPECT_EQ(make({"minus()->i32", nullptr}), kWrong);
    for (const char* const signature : {"", "minus", "(i32)->i32", "minus(i32)"}) {
      EXPECT_EQ(make({signature, minus}), kWrong) << signature;
      EXPECT_EQ(hamlyn_rpc_client_make(interface, "c", &signature, 1, nullptr, &client), kWrong) << signature;
    }
    const hamlyn_rpc_procedure twice[] = {kProcedures[0], kProcedures[0]};
    EXPECT_EQ(hamlyn_rpc_server_make(interface, "wrong", twice, 2, nullptr, nullptr, &server), kWrong);
    EXPECT_EQ(hamlyn_rpc_server_make(interface, "wrong", nullptr, 2, nullptr, nullptr, &server), kWrong);
    hamlyn_rpc_server_options options{};
    options.size = sizeof options;
    options.waits = 3;
    EXPECT_EQ(hamlyn_rpc_server_make(interface, "wrong", kProcedures, 1, nullptr, &options, &server), kWrong);
    options.waits = 0;
    options.rights = 64;
    EXPECT_EQ(hamlyn_rpc_server_make(interface, "wrong", kProcedures, 1, nullptr, &options, &server), kWrong);
    EXPECT_EQ(hamlyn_rpc_server_make(interface, "no name", kProcedures, 1, nullptr, nullptr, &server),
              100 + static_cast<int>(ErrorCode::name_invalid));
    client = client_of(interface, "c");
    ASSERT_NE(client, nullptr);
    hamlyn_rpc_result result;
    hamlyn_rpc_id call;
    EXPECT_EQ(hamlyn_rpc_do(client, std::size(kSignatures), nullptr, 0, nullptr, nullptr, 0, &result),
              kWrong);
    EXPECT_EQ(hamlyn_rpc_do(client, 2, nullptr, 1, nullptr, nullptr, 0, &result), kWrong);
    EXPECT_EQ(hamlyn_rpc_do(client, 2, nullptr, 0, nullptr, nullptr, 1, &result), kWrong);
    EXPECT_EQ(hamlyn_rpc_do(client, 2, nullptr, 0, nullptr, nullptr, 0, nullptr), kWrong);
    hamlyn_rpc_terms terms{};
    EXPECT_EQ(hamlyn_rpc_start(client, 2, nullptr, 0, &terms, &call), kWrong) << "its size";
    terms.size = sizeof terms;
    terms.urgent = 2;
    EXPECT_EQ(hamlyn_rpc_start(client, 2, nullptr, 0, &terms, &call), kWrong);
    EXPECT_EQ(hamlyn_rpc_answer(nullptr, nullptr, 0), kWrong);
    EXPECT_EQ(hamlyn_rpc_owed_give(nullptr, nullptr, 0), kWrong);
    EXPECT_STREQ(hamlyn_rpc_cause_name(~0u), "unknown");
    EXPECT_EQ(hamlyn_rpc_client_free(client), HAMLYN_OK);
    EXPECT_EQ(hamlyn_rpc_client_free(nullptr), HAMLYN_OK);
  });
}

}  // namespace
}  // namespace hamlyn::test
