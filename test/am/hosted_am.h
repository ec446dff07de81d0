#pragma once
// Endpoints with the whole library on simulated hosts: one that answers whatever it is asked, and one that
// asks for messages of each kind and length.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "hamlyn/am.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {

using namespace std::chrono_literals;
using am::Arguments;
using am::Arrival;
using am::Result;
using am::Token;

// Whichever way the messages take.
class HostedAm : public testing::TestWithParam<am::Way> {
 protected:
  void SetUp() override { way = GetParam(); }

 public:
  static inline am::Way way = am::Way::slots;  // of endpoints that are made
};
inline std::string name_of_way(const testing::TestParamInfo<am::Way>& of) {
  constexpr std::array kNames{"standard", "slots", "vi", "vi3"};
  return kNames[static_cast<std::size_t>(of.param)];
}
inline am::EndpointOptions by_way(am::EndpointOptions options) {
  options.way = HostedAm::way;
  return options;
}

// An endpoint in one process, whose name the others find.
class AmEnd {
 public:
  explicit AmEnd(Hosted& all, const am::EndpointOptions& options = {})
      : all_(all), endpoint(bundle, by_way(options)) {
    bundle.set_events(true);
    good(endpoint.set_tag(7), "a tag");
    good(endpoint.on_return([this](const am::Returned& returned) { came_back.push_back(returned); }),
         "a handler of what comes back");
  }
  void good(Result result, const char* what) { all_.expect(result == Result::ok, what); }
  // Handles what comes until `ready` says so, and sleeps meanwhile. False: this process has died.
  template <class Ready>
  bool poll_until(Ready ready) {
    while (!ready()) {
      const Result waited = bundle.wait(1ms);
      if (waited != Result::ok && waited != Result::not_sent) return false;
      if (bundle.poll() != Result::ok || !all_.alive()) return false;
    }
    return true;
  }

  Hosted& all_;
  Interface interface;
  am::Bundle bundle{interface};
  am::Endpoint endpoint;
  std::vector<am::Returned> came_back;
};

// Names of endpoints, as a simulation's processes find each other.
struct Book {
  std::map<int, am::Name> names;
};

inline std::byte pattern(std::int32_t number, std::size_t at) {
  return static_cast<std::byte>(static_cast<std::size_t>(number) * 13 + at * 5 + 1);
}
inline std::vector<std::byte> filled(std::int32_t number, std::size_t length) {
  std::vector<std::byte> out(length);
  for (std::size_t at = 0; at != length; ++at) out[at] = pattern(number, at);
  return out;
}
inline bool is_filled(std::span<const std::byte> bytes, std::int32_t number) {
  for (std::size_t at = 0; at != bytes.size(); ++at)
    if (bytes[at] != pattern(number, at)) return false;
  return true;
}

inline constexpr std::size_t kSegment = 100'000;
inline constexpr am::HandlerNumber kAsk = 1, kAnswer = 2, kFetched = 3;

// Answers each request as it came: short, medium, or long.
class Server {
 public:
  // `some_are_lost`: the link ends.
  Server(Hosted& all, AmEnd& end, bool some_are_lost = false)
      : all_(all), end_(end), some_are_lost_(some_are_lost) {
    end.good(end.endpoint.set_segment(segment_), "a segment");
    end.good(end.endpoint.set_handler(
                 kAsk, [this](Token& token, const Arrival& arrival) { answer(token, arrival); }),
             "a handler");
  }
  int asked = 0;

 private:
  void answer(Token& token, const Arrival& arrival) {
    const std::int32_t number = arrival.arguments[0];
    all_.expect(number == asked || (some_are_lost_ && number > asked), "in their order, each once");
    asked = number + 1;
    all_.expect(is_filled(arrival.data, number), "what was sent");
    Result result;
    if (arrival.data.data() == nullptr)
      result = token.reply(kAnswer, arrival.arguments);
    else if (arrival.data.data() >= segment_.data() &&
             arrival.data.data() < segment_.data() + segment_.size())
      result = token.reply_to(0, kAnswer, arrival.data, arrival.arguments);
    else
      result = token.reply(kAnswer, arrival.data, arrival.arguments);
    end_.good(result, "a reply");
  }

  Hosted& all_;
  AmEnd& end_;
  const bool some_are_lost_;
  std::vector<std::byte> segment_ = std::vector<std::byte>(kSegment);
};

// Asks for so many, one behind the other's back. Returns how many were answered or came back.
class Client {
 public:
  Client(Hosted& all, AmEnd& end) : all_(all), end_(end) {
    end.good(end.endpoint.set_segment(segment_), "a segment");
    end.good(end.endpoint.set_handler(kAnswer,
                                      [this](Token&, const Arrival& arrival) {
                                        ++over;
                                        all_.expect(is_filled(arrival.data, arrival.arguments[0]),
                                                    "what was replied");
                                      }),
             "a handler");
    end.good(end.endpoint.set_handler(
                 kFetched, [this](Token&, const Arrival& arrival) { over += arrival.data.size() != 0; }),
             "a handler");
  }
  void ask(std::int32_t number) {
    const std::size_t lengths[] = {0, 1, 63, 64, 100, 4096, 4097, 40'000};
    const std::size_t length = lengths[static_cast<std::size_t>(number) % std::size(lengths)];
    std::vector<std::int32_t> arguments(1 + static_cast<std::size_t>(number) % 16, number);
    const std::vector<std::byte> data = filled(number, length);
    Result result = Result::ok;
    switch (number / 8 % 3) {
      case 0:
        result = end_.endpoint.request(0, kAsk, arguments);
        break;
      case 1:
        result = end_.endpoint.request(0, kAsk, std::span(data).first(std::min<std::size_t>(length, 4096)),
                                       arguments);
        break;
      default:
        // One at a time: it lands where the one before was.
        end_.poll_until([&] { return over + static_cast<int>(end_.came_back.size()) == number; });
        result = end_.endpoint.request_to(0, 0, kAsk, data, arguments);
    }
    end_.good(result, "a request");
  }
  int over = 0;

 private:
  Hosted& all_;
  AmEnd& end_;
  std::vector<std::byte> segment_ = std::vector<std::byte>(kSegment);
};

inline void serve(Hosted& all, Book& book, bool& over, bool some_are_lost = false) {
  AmEnd end(all);
  Server server(all, end, some_are_lost);
  book.names[0] = end.endpoint.name();
  end.poll_until([&] { return over; });
}

}  // namespace hamlyn::test
