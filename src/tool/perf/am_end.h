#pragma once
// One side of two that have an endpoint each, for figures of active messages.
#include <array>
#include <cstring>
#include <vector>

#include "hamlyn/am.h"
#include "tool/perf/our_party.h"

namespace hamlyn::tool::perf {

inline constexpr am::Tag kAmTag = 7;

inline void good(am::Result result, const char* what) { expect(result == am::Result::ok, what); }

// An endpoint that has the other side's as translation 0.
class AmEnd {
 public:
  explicit AmEnd(Party& party, am::EndpointOptions options = {})
      : bundle_(party.interface()), endpoint(bundle_, options) {
    good(endpoint.set_tag(kAmTag), "no tag");
    // A name is as long as two tickets, at most.
    std::array<Ticket, 2> name;
    static_assert(sizeof(am::Name) <= sizeof name);
    std::memcpy(static_cast<void*>(name.data()), &endpoint.name(), sizeof(am::Name));
    party.hand_over(name);
    const std::vector<Ticket> others = party.take_tickets(name.size());
    am::Name other;
    std::memcpy(static_cast<void*>(&other), others.data(), sizeof other);
    good(endpoint.map(0, other, kAmTag), "no mapping");
  }
  // One more of the same side, at any of its interfaces. The other side knows it when it is greeted.
  AmEnd(Interface& interface, const am::EndpointOptions& options, const AmEnd& first)
      : bundle_(interface), endpoint(bundle_, options) {
    am::Name other;
    am::Tag tag = am::kNoTag;
    good(endpoint.set_tag(kAmTag), "no tag");
    good(first.endpoint.translation(0, other, tag), "no name");
    good(endpoint.map(0, other, tag), "no mapping");
  }
  void poll() { good(bundle_.poll(), "a poll has failed"); }
  // Answers those that meet it, as often as it is polled.
  void be_there() {
    good(endpoint.set_handler(3,
                              [](am::Token& token, const am::Arrival&) { good(token.reply(4), "no reply"); }),
         "no handler");
  }
  // Both have said that they are there.
  void meet() {
    bool here = false;
    be_there();
    good(endpoint.set_handler(4, [&](am::Token&, const am::Arrival&) { here = true; }), "no handler");
    good(endpoint.request(0, 3), "no request");
    while (!here) poll();
  }

 private:
  am::Bundle bundle_;

 public:
  am::Endpoint endpoint;
};

}  // namespace hamlyn::tool::perf
