#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "bench/peers.h"
#include "bench/ucx_output.h"
#include "tool/perf/free_port.h"
#include "tool/perf/program.h"

namespace hamlyn::tool::perf {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string test_name(const UcxTest& test) {
  if (test.measure != "oneway") return test.kind == "tag" ? "tag_bw" : "ucp_" + test.kind + "_bw";
  return test.kind == "tag" ? "tag_lat" : "ucp_" + test.kind + "_lat";
}

// As many as take a few tenths of a second.
std::size_t iterations(const UcxTest& test) {
  if (test.measure == "rate") return 1000000;
  if (test.measure == "oneway") return 60000;
  return std::size_t{1500000000} / test.bytes;
}

void wait_for_server(Program& server, std::uint16_t port) {
  const auto deadline = std::chrono::steady_clock::now() + seconds{10};
  while (!somebody_listens(port)) {
    if (!server.process().running())
      throw std::runtime_error("ucx_perftest ended: " + server.output(seconds{1}));
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("ucx_perftest does not listen");
    std::this_thread::sleep_for(milliseconds{2});
  }
}

std::vector<double> run(const UcxTest& test, Cores cores) {
  const Environment environment{
      {"UCX_TLS", test.transport == "cma" ? "posix,cma,self" : test.transport + ",self"},
      {"UCX_LOG_LEVEL", "error"}};
  const std::uint16_t port = free_port();
  const auto words = [&](int core) {
    return std::vector<std::string>{"ucx_perftest", "-p", std::to_string(port), "-c", std::to_string(core)};
  };
  Program server{words(cores.second), environment};
  wait_for_server(server, port);
  std::vector<std::string> client_words = words(cores.first);
  const std::size_t count = iterations(test);
  const std::vector<std::string> more{"localhost",
                                      "-t",
                                      test_name(test),
                                      "-s",
                                      std::to_string(test.bytes),
                                      "-n",
                                      std::to_string(count),
                                      "-w",
                                      std::to_string(count / 20),
                                      "-f",
                                      "-v"};
  client_words.insert(client_words.end(), more.begin(), more.end());
  Program client{client_words, environment};
  const UcxResult result = parse_ucx(client.output(seconds{20}));
  if (test.measure == "rate") return {result.messages_per_second};
  // Not the printed megabytes: those are of 2^20 bytes.
  if (test.measure == "bandwidth")
    return {result.messages_per_second * static_cast<double>(test.bytes) * 1e-9};
  return {result.latency_us * 1000};
}

constexpr std::size_t kTouched = 4096, kUnderWay = 16;

std::vector<double> run_touched(const std::string& measure, Cores cores) {
  Program probe{{peer_program("peer_ucx_am"), std::to_string(cores.first), std::to_string(cores.second),
                 measure, std::to_string(kTouched), std::to_string(kUnderWay)},
                {{"UCX_TLS", "posix,self"}, {"UCX_LOG_LEVEL", "error"}}};
  const std::string text = probe.output(seconds{20});
  const std::size_t at = text.find("result ");
  if (at == std::string::npos) throw std::runtime_error("peer_ucx_am gave no result: " + text);
  return {std::strtod(text.c_str() + at + 7, nullptr)};
}

}  // namespace

bool ucx_am_installed() { return access(peer_program("peer_ucx_am").c_str(), X_OK) == 0; }

Meter ucx_am_touched(const std::string& measure) {
  return {.name = "peer.ucx_posix.am.touched." + std::to_string(kTouched) + "." + measure,
          .round = [measure](Cores cores, int) { return run_touched(measure, cores); }};
}

bool ucx_installed() { return !find_program("ucx_perftest").empty(); }

Meter ucx_meter(const UcxTest& test) {
  return {.name = "peer.ucx_" + test.transport + "." + test.kind + "." + std::to_string(test.bytes) + "." +
                  test.measure,
          .round = [test](Cores cores, int) { return run(test, cores); }};
}

}  // namespace hamlyn::tool::perf
