// Calls where packets are lost, late and repeated, links are cut, and anybody dies at any time.
#include "test/rpc/calculator.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

void serve(Hosted&, std::chrono::nanoseconds idle = 2s) {
  Interface interface;
  Calculator calculator;
  rpc::Server<Calculator> server(interface, "calculator", calculator);
  while (server.serve_one(idle) == Status::ok) {
  }
}

TEST(HostedRpc, carries_arguments_and_results_of_each_kind) {
  Hosted hosted;
  hosted.add([](Hosted& all) { serve(all, 100ms); });
  hosted.add([](Hosted& all) {
    Interface interface;
    rpc::Client<Calculator> client(interface, "calculator");
    all.expect(client.call<&Calculator::nothing>().status() == Status::ok, "nothing");
    auto difference = client.call<&Calculator::minus>(5, 7);
    all.expect(difference && *difference == -2, "two integers in, one out");
    auto square = client.call<&Calculator::square>(1u << 20);
    all.expect(square && *square == std::uint64_t{1} << 40, "a number of another type");
    auto twice = client.call<&Calculator::twice>("abc");
    all.expect(twice && *twice == "abcabc", "text");
    auto sum = client.call<&Calculator::sum>(std::vector<double>{1, 2, 3.5});
    all.expect(sum && *sum == 6.5, "a span");
    auto words = client.call<&Calculator::words>("to be or not");
    all.expect(words && *words == std::vector<std::string>{"to", "be", "or", "not"}, "a list of text");
    auto middle = client.call<&Calculator::middle>(Point{-1, 0}, Point{-3, 2}, true);
    all.expect(middle && std::get<0>(*middle).x == -2 && std::get<1>(*middle) == Sign::minus, "a tuple");
    auto who = client.call<&Calculator::who>();
    all.expect(who && *who == interface.id(), "who calls");
    auto failed = client.call<&Calculator::fails>(std::string(1000, 'x'));
    all.expect(failed.status() == Status::refused && failed.cause() == rpc::Cause::threw &&
                   failed.fate() == rpc::Fate::done && failed.text() == std::string(200, 'x'),
               "an exception");
  });
  hosted.run();
}

TEST(HostedRpc, carries_frames_of_each_length) {
  Hosted hosted;
  hosted.add([](Hosted& all) { serve(all, 100ms); });
  hosted.add([](Hosted& all) {
    Interface interface;
    rpc::Client<Calculator> client(interface, "calculator");
    for (const std::size_t length : {0u, 1u, 12u, 13u, 36u, 37u, 60u, 64u, 500u, 1500u, 2044u, 2045u, 5000u,
                                     30'000u, 65'532u}) {
      auto sum = client.call<&Calculator::bytes>(std::vector<std::byte>(length, std::byte{3}));
      all.expect(sum && *sum == 3 * length, "an argument of that length");
      auto zeros = client.call<&Calculator::zeros>(static_cast<std::uint32_t>(length));
      all.expect(zeros && zeros->size() == length, "a result of that length");
    }
    auto sum = client.call<&Calculator::bytes>(std::vector<std::byte>(65'533));
    all.expect(sum.status() == Status::too_long && sum.fate() == rpc::Fate::not_done, "too long");
    auto zeros = client.call<&Calculator::zeros>(65'533);
    all.expect(zeros.status() == Status::too_long && zeros.fate() == rpc::Fate::done &&
                   zeros.cause() == rpc::Cause::result_too_long,
               "a result too long");
    all.expect(client.call<&Calculator::minus>(2, 1).status() == Status::ok, "a call after that");
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
