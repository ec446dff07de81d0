// Processes that connect their VIs as they should and lie in what they send by them, on simulated hosts. What
// was asked of a liar comes back, and everybody else is served as ever.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "test/am/hosted_am.h"
#include "test/am/vi_liar.h"
#include "test/rpc/seeds.h"

namespace hamlyn::test {
namespace {

using lies::Kind;
using lies::ViLiar;

class HostedAmLies : public HostedAm {};
INSTANTIATE_TEST_SUITE_P(Ways, HostedAmLies, testing::Values(am::Way::vi, am::Way::vi3), name_of_way);

constexpr am::HandlerNumber kQuiet = 5, kBack = 6, kLongBack = 7, kNone = 200;

// A lie, told by somebody who has been asked for something.
struct Lie {
  const char* name;
  bool ends;  // the connection
  std::function<void(ViLiar&)> tell;
  std::uint16_t credits = ViLiar::kCredits;
};

// A liar's victim, and somebody honest who asks it, too.
class Scene {
 public:
  explicit Scene(std::uint64_t seed) : hosted_(rough_rules(seed), seed) {}

  // `liar(all, scene)` is the whole program of the liar.
  template <class Liar>
  void run(Liar liar, int asks) {
    asks_ = asks;
    hosted_.add([this](Hosted& all) { serve(all); });
    hosted_.add([&, liar](Hosted& all) {
      while (!book_.names.contains(0)) all.host.pause(1000);
      liar(all, *this);
    });
    hosted_.add([this](Hosted& all) { ask(all); });
    hosted_.run();
  }
  const am::Name& victim() { return book_.names[0]; }
  // Has the victim ask somebody.
  void be_asked(const am::Name& liar) { book_.names[1] = liar; }
  // Has the honest one ask the victim.
  void go_on() { goes_on_ = true; }
  bool over() const { return over_; }
  int back() const { return back_; }
  int quiet() const { return quiet_; }
  // How long the victim's handlers waited to reply with long data.
  std::uint64_t held() const { return held_; }

 private:
  void serve(Hosted& all) {
    AmEnd end(all);
    Server server(all, end);
    end.good(end.endpoint.set_handler(kQuiet, [&](Token&, const Arrival&) { ++quiet_; }), "a handler");
    end.good(end.endpoint.set_handler(
                 kBack, [&](Token& token, const Arrival&) { end.good(token.reply(kAnswer), "a reply"); }),
             "a handler");
    end.good(end.endpoint.set_handler(kLongBack,
                                      [&](Token& token, const Arrival&) {
                                        const std::vector<std::byte> data(100);
                                        const std::uint64_t began = all.host.time();
                                        end.good(token.reply_to(0, kAnswer, data), "a reply");
                                        held_ += all.host.time() - began;
                                      }),
             "a handler");
    book_.names[0] = end.endpoint.name();
    end.poll_until([&] { return book_.names.contains(1) || over_; });
    if (book_.names.contains(1)) {
      end.good(end.endpoint.map(0, book_.names[1], 7), "a mapping");
      for (std::int32_t i = 0; i != asks_; ++i)
        end.good(end.endpoint.request(0, kAsk, std::array{i}), "a request");
    }
    const auto came_back = [&] { return back_ = static_cast<int>(end.came_back.size()), back_ == asks_; };
    end.poll_until([&] { return static_cast<void>(came_back()), over_; });
    if (book_.names.contains(1)) end.poll_until(came_back);
  }
  void ask(Hosted& all) {
    AmEnd end(all);
    Client client(all, end);
    while (!goes_on_) all.host.pause(10'000);
    end.good(end.endpoint.map(0, book_.names[0], 7), "a mapping");
    for (std::int32_t i = 0; i != 9; ++i) client.ask(i);
    all.expect(end.poll_until([&] { return client.over == 9; }), "others are served");
    all.expect(end.came_back.empty(), "nothing of theirs comes back");
    over_ = true;
  }

  Hosted hosted_;
  Book book_;
  int asks_ = 0, back_ = 0, quiet_ = 0;
  std::uint64_t held_ = 0;
  bool goes_on_ = false, over_ = false;
};

constexpr int kLong = 60'000;  // looks

void tell(const Lie& lie, am::Way way, std::uint64_t seed) {
  SCOPED_TRACE(lie.name);
  const int asks = std::min<int>(lie.credits, 3);
  Scene scene(seed);
  scene.run(
      [&](Hosted& all, Scene& of) {
        ViLiar liar(all, way);
        liar.hello.credits = lie.credits;
        liar.meet(of.victim());
        liar.tell_tag(7);
        of.be_asked(liar.name());
        const auto& asked = liar.came[static_cast<std::size_t>(Kind::request_short)];
        all.expect(liar.look_until([&] { return asked == asks; }, kLong), "it is asked");
        lie.tell(liar);
        if (lie.ends) {
          all.expect(liar.look_until([&] { return of.back() == asks; }, kLong), lie.name);
        } else {
          const int before = of.quiet();
          liar.say_next({.kind = Kind::request_short, .handler = kQuiet});
          all.expect(liar.look_until([&] { return of.quiet() > before; }, kLong), lie.name);
          all.expect(!liar.parted(), "and nothing is broken");
        }
        of.go_on();
        while (!of.over() && all.alive()) liar.look();
      },
      asks);
}

// --- lies

std::span<const std::byte> zeros(std::size_t count) {
  static const std::array<std::byte, 8192> all{};
  return std::span(all).first(count);
}
template <class Head>
std::vector<std::byte> bytes_of_head(const Head& head) {
  const Head wire = internal_::protocols::in_wire_order(head);
  const auto all = std::as_bytes(std::span(&wire, 1));
  return {all.begin(), all.end()};
}
std::uint16_t ahead(const ViLiar& liar, int by) { return static_cast<std::uint16_t>(liar.number + by); }

std::vector<Lie> of_words() {
  return {
      {"an unknown kind", true, [](ViLiar& to) { to.say_next({.kind = static_cast<Kind>(15)}); }},
      {"an unknown kind as immediate data", true,
       [](ViLiar& to) { to.pack_next({.kind = static_cast<Kind>(15)}); }},
      {"a long request as immediate data", true,
       [](ViLiar& to) { to.pack_next({.kind = Kind::request_long, .handler = kQuiet}, zeros(32)); }},
      {"bye as immediate data", true, [](ViLiar& to) { to.pack_next({.kind = Kind::bye}); }},
      {"credits as immediate data", true, [](ViLiar& to) { to.pack_next({.kind = Kind::acknowledge}); }},
      {"nothing at all", true, [](ViLiar& to) { to.send({}); }},
      {"half a word", true, [](ViLiar& to) { to.send(zeros(4)); }},
      {"31 arguments", true,
       [](ViLiar& to) {
         to.say_next({.kind = Kind::request_short, .count = 31, .handler = kQuiet}, zeros(124));
       }},
      {"more arguments than it has", true,
       [](ViLiar& to) {
         to.say_next({.kind = Kind::request_short, .count = 2, .handler = kQuiet}, zeros(4));
       }},
      {"a medium message shorter than its arguments", true,
       [](ViLiar& to) {
         to.say_next({.kind = Kind::request_medium, .count = 4, .handler = kQuiet}, zeros(4));
       }},
      {"a medium message of 4097 bytes", true,
       [](ViLiar& to) { to.say_next({.kind = Kind::request_medium, .handler = kQuiet}, zeros(4097)); }},
      {"a long message without its head", true,
       [](ViLiar& to) { to.say_next({.kind = Kind::request_long, .handler = kQuiet}, zeros(4)); }},
      {"a get without its head", true, [](ViLiar& to) { to.say_next({.kind = Kind::get}, zeros(4)); }},
      {"half a tag", true, [](ViLiar& to) { to.say_next({.kind = Kind::tag}, zeros(4)); }},
      {"a segment that is too long", true,
       [](ViLiar& to) { to.say_next({.kind = Kind::segment}, zeros(100)); }},
      {"a ring, which VIs have not", true, [](ViLiar& to) { to.say_next({.kind = Kind::grown}, zeros(24)); }},
      {"a wish for a ring, twice", true,
       [](ViLiar& to) {
         to.say_next({.kind = Kind::grow});
         to.say_next({.kind = Kind::grow});
       }},
      {"bye with something to it", true, [](ViLiar& to) { to.say_next({.kind = Kind::bye}, zeros(4)); }},
      {"bye twice", true,
       [](ViLiar& to) {
         to.say_next({.kind = Kind::bye});
         to.say_next({.kind = Kind::bye});
       }},
      {"no such handler", false,
       [](ViLiar& to) {
         to.pack_next({.kind = Kind::request_short, .handler = kNone});
         to.pack_next({.kind = Kind::request_short, .handler = 0});
         to.say_next({.kind = Kind::request_medium, .handler = kNone});
       }},
  };
}

std::vector<Lie> of_order() {
  return {
      {"a reply that nobody asked for", true,
       [](ViLiar& to) { to.say_next({.kind = Kind::reply_short, .handler = kAnswer}); }},
      {"one more reply than there were requests", true,
       [](ViLiar& to) { to.say_next({.kind = Kind::reply_short, .handler = kAnswer, .credited = 4}); }},
      {"the same in a short word", true,
       [](ViLiar& to) { to.pack_next({.kind = Kind::reply_short, .handler = kAnswer, .credited = 4}); }},
      {"a request came back for no reason", true,
       [](ViLiar& to) { to.say_next({.kind = Kind::returned, .credited = 1}, zeros(24)); }},
      {"a message a second time", true,
       [](ViLiar& to) { to.say({.kind = Kind::request_short, .handler = kQuiet, .number = ahead(to, -1)}); }},
      {"a message twice before its turn", true,
       [](ViLiar& to) {
         for (int i = 0; i != 2; ++i)
           to.say({.kind = Kind::request_short, .handler = kQuiet, .number = ahead(to, 2)});
       }},
      {"a message far ahead", true,
       [](ViLiar& to) {
         to.say({.kind = Kind::request_short, .handler = kQuiet, .number = ahead(to, 5000)});
       }},
      {"more requests than there are credits for", true,
       [](ViLiar& to) {
         for (int i = 0; i != 8; ++i) to.say_next({.kind = Kind::request_short, .handler = kBack});
       },
       1},
      {"more is done than was sent", false,
       [](ViLiar& to) {
         to.say({.kind = Kind::acknowledge, .number = to.number, .done = 40'000, .credited = 20'000});
         to.say_next({.kind = Kind::request_short, .handler = kQuiet, .done = 127, .credited = 99});
       }},
      {"credits of the future", false,
       [](ViLiar& to) {
         for (int i = 1; i != 200; ++i) {
           to.say({.kind = Kind::acknowledge, .number = ahead(to, i * 50), .done = 3});
           to.look();
         }
       }},
      {"more messages than there are receives", true,
       [](ViLiar& to) {
         for (int i = 1; i != 60; ++i)
           to.send(zeros(1), lies::packed({.kind = Kind::request_short, .number = ahead(to, i)}), 0);
       }},
      {"a connection that ends behind messages that all wait", true,
       [](ViLiar& to) {
         for (std::size_t lane = 0; lane != to.lanes.size(); ++lane) {
           const auto shape = lies::lane_shape(to.way, lane, ViLiar::kCredits);
           for (std::uint32_t i = 0; i != shape.receives(); ++i) {
             std::array<std::byte, sizeof(std::uint64_t)> word;
             internal_::base::store_little(
                 word.data(), lies::word_of({.kind = Kind::request_short,
                                             .number = ahead(to, static_cast<int>(200 * (lane + 1) + i))}));
             to.send(word, {}, lane);
           }
         }
         for (int i = 0; i != 2000; ++i) to.look();  // they have come
         to.disconnect();
       }},
  };
}

std::vector<Lie> of_memory() {
  return {
      {"an RDMA write that tells", true,
       [](ViLiar& to) {
         const lies::WireTicket& segment = to.heard().segment.slot;
         to.write(segment.key, segment.slot, 64, lies::packed({.kind = Kind::request_short}));
       }},
      {"data behind the segment", true,
       [](ViLiar& to) {
         const lies::WireTicket& segment = to.heard().segment.slot;
         to.write(segment.key + segment.bound - 1, segment.slot, 2);
       }},
      {"data in front of it", true,
       [](ViLiar& to) {
         const lies::WireTicket& segment = to.heard().segment.slot;
         to.write(segment.key - 1, segment.slot, 2);
       }},
      {"data for memory that is no segment", true,
       [](ViLiar& to) {
         const lies::WireTicket& segment = to.heard().segment.slot;
         to.write(segment.key, segment.slot + 1, 2);
       }},
      {"a long message of a place that there is not", false,
       [](ViLiar& to) {
         const std::uint64_t bound = to.heard().segment.slot.bound;
         const std::uint64_t number = to.heard().segment.number;
         for (const auto& [offset, length] : {std::pair{bound, std::uint64_t{1}},
                                              {bound - 1, std::uint64_t{2}},
                                              {std::uint64_t{1}, ~std::uint64_t{0}},
                                              {~std::uint64_t{0}, std::uint64_t{2}}}) {
           const lies::LongHead head{offset, length, number, 0};
           to.say_next({.kind = Kind::request_long, .handler = kQuiet}, bytes_of_head(head));
           const lies::GetHead get{offset, length, 0};
           to.say_next({.kind = Kind::get, .handler = kQuiet}, bytes_of_head(get));
         }
       }},
      {"a segment of one's own that is not there, and a get for it", true,
       [](ViLiar& to) {
         const lies::SegmentNews news{{.key = 4096, .bound = 1 << 20, .slot = 77, .generation = 1}, 5};
         to.say_next({.kind = Kind::segment}, bytes_of_head(news));
         to.say_next({.kind = Kind::get, .handler = kQuiet}, bytes_of_head(lies::GetHead{0, 1000, 0}));
       }},
  };
}

void greet_so(ViLiar& to, const std::function<void(lies::Hello&)>& lie) {
  const lies::Hello before = to.hello;
  lie(to.hello);
  to.greet(to.victim);
  for (int i = 0; i != 500; ++i) to.look();
  to.hello = before;
}
std::vector<Lie> of_greetings() {
  return {
      {"the same hello twice", false, [](ViLiar& to) { greet_so(to, [](lies::Hello&) {}); }},
      {"no session", false, [](ViLiar& to) { greet_so(to, [](lies::Hello& of) { of.session = 0; }); }},
      {"no credits", false, [](ViLiar& to) { greet_so(to, [](lies::Hello& of) { of.credits = 0; }); }},
      {"too many credits", false, [](ViLiar& to) { greet_so(to, [](lies::Hello& of) { of.credits = 33; }); }},
      {"another way", false, [](ViLiar& to) { greet_so(to, [](lies::Hello& of) { of.way = 1; }); }},
      {"no way that there is", false, [](ViLiar& to) { greet_so(to, [](lies::Hello& of) { of.way = 9; }); }},
      {"somebody else", false,
       [](ViLiar& to) {
         greet_so(to, [](lies::Hello& of) {
           of.from = 78;
           of.session = 3;
         });
       }},
      {"another session", true, [](ViLiar& to) { greet_so(to, [](lies::Hello& of) { of.session = 5; }); }},
      {"a refusal", true,
       [](ViLiar& to) {
         const std::uint64_t session = to.heard().session;
         greet_so(to, [session](lies::Hello& of) {
           of.why = static_cast<std::uint16_t>(am::Why::congestion);
           of.session = session;
         });
       }},
  };
}

TEST_P(HostedAmLies, in_words_end_the_pair_and_nothing_else) {
  for (const Lie& lie : of_words())
    for_each_seed(kRoughSeeds / 12, [&](std::uint64_t seed) { tell(lie, GetParam(), seed); });
}
TEST_P(HostedAmLies, about_what_was_sent_and_done_harm_nobody) {
  for (const Lie& lie : of_order())
    for_each_seed(kRoughSeeds / 12, [&](std::uint64_t seed) { tell(lie, GetParam(), seed); });
}
TEST_P(HostedAmLies, about_memory_reach_none) {
  for (const Lie& lie : of_memory())
    for_each_seed(kRoughSeeds / 12, [&](std::uint64_t seed) { tell(lie, GetParam(), seed); });
}

TEST_P(HostedAmLies, in_greetings_are_passed_over_or_end_the_pair) {
  for (const Lie& lie : of_greetings())
    for_each_seed(kRoughSeeds / 12, [&](std::uint64_t seed) { tell(lie, GetParam(), seed); });
}

// --- at each point

void take_an_honest_step(ViLiar& of, std::uint64_t step) {
  const lies::WireTicket& segment = of.heard().segment.slot;
  switch (step % 6) {
    case 0:
      of.pack_next({.kind = Kind::request_short, .handler = kQuiet});
      return;
    case 1:
      of.say_next({.kind = Kind::request_medium, .handler = kQuiet}, zeros(100));
      return;
    case 2: {
      of.write(segment.key, segment.slot, 64);
      const lies::LongHead head{0, 64, of.heard().segment.number, 64};
      of.say_next({.kind = Kind::request_long, .handler = kQuiet}, bytes_of_head(head));
      return;
    }
    case 3:  // it comes back: this side has no segment
      of.say_next({.kind = Kind::get, .handler = kQuiet}, bytes_of_head(lies::GetHead{0, 64, 0}));
      return;
    case 4:
      of.pack_next({.kind = Kind::request_short, .handler = kBack});
      return;
    default:
      for (int i = 0; i != 200; ++i) of.look();
  }
}
void end_somehow(Hosted& all, ViLiar& liar, std::uint64_t how) {
  const lies::WireTicket& segment = liar.heard().segment.slot;
  switch (how % 4) {
    case 0:
      return liar.disconnect();
    case 1:
      liar.write(segment.key + segment.bound, segment.slot, 1);
      return;
    case 2:
      all.host.pause(5 * kMillisecond);  // and hears nothing
      return;
    default:
      return;
  }
}

TEST_P(HostedAmLies, end_at_any_point_and_all_that_was_asked_of_them_comes_back) {
  for_each_seed(2 * kRoughSeeds, [&](std::uint64_t seed) {
    const std::uint64_t steps = seed / 4 % 26;
    Scene scene(seed);
    scene.run(
        [&](Hosted& all, Scene& of) {
          {
            ViLiar liar(all, GetParam());
            liar.hear_of(of.victim());
            of.be_asked(liar.name());
            if (steps > 0) liar.connect(lies::interface_of(of.victim()));
            if (steps > 1) liar.tell_tag(7);
            for (std::uint64_t i = 2; i < steps; ++i) take_an_honest_step(liar, i);
            if (steps > 1) end_somehow(all, liar, seed);
            if (seed % 3 == 0) {
              of.go_on();
              while (!of.over() && all.alive()) liar.look();
            }
          }
          of.go_on();
        },
        3);
  });
}

TEST_P(HostedAmLies, that_post_no_more_receives_end_their_pair) {
  for_each_seed(kRoughSeeds / 4, [&](std::uint64_t seed) {
    constexpr int kAsks = 6;  // one more than it has receives
    Scene scene(seed);
    scene.run(
        [&](Hosted& all, Scene& of) {
          ViLiar liar(all, GetParam(), false);
          liar.meet(of.victim());
          of.be_asked(liar.name());
          liar.look_until([&] { return of.back() == kAsks; }, kLong);
          all.expect(of.back() == kAsks, "what was asked comes back");
          of.go_on();
          while (!of.over() && all.alive()) liar.look();
        },
        kAsks);
  });
}

// --- who waits

void sleep_until_over(Hosted& all, Scene& of) {
  while (!of.over() && all.alive()) all.host.pause(kMillisecond);
}

// The victim's handler waits to hear where its data may land, and not for ever.
TEST_P(HostedAmLies, that_do_not_say_where_data_may_land_end_their_pair) {
  Scene scene(0);
  scene.run(
      [&](Hosted& all, Scene& of) {
        ViLiar liar(all, GetParam());
        liar.meet(of.victim());
        liar.tell_tag(7);
        const lies::SegmentNews news{{.key = 4096, .bound = 1 << 20, .slot = 77, .generation = 1}, 5};
        liar.say_next({.kind = Kind::segment}, bytes_of_head(news));
        liar.say_next({.kind = Kind::get, .handler = kQuiet}, bytes_of_head(lies::GetHead{0, 1000, 0}));
        of.go_on();
        sleep_until_over(all, of);  // and hears nothing
      },
      0);
}

// Nor once more for each endpoint that the same process makes.
TEST_P(HostedAmLies, that_do_so_by_one_endpoint_after_the_other_hold_handlers_for_a_second_alone) {
  constexpr int kEndpoints = 3;
  Scene scene(0);
  scene.run(
      [&](Hosted& all, Scene& of) {
        ViLiar liar(all, GetParam());
        liar.hello.segment = {{.key = 4096, .bound = 1 << 20, .slot = 77, .generation = 1}, 5};
        for (int i = 0; i != kEndpoints; ++i) {
          liar.meet(of.victim());
          liar.tell_tag(7);
          const std::uint64_t before = of.held();
          liar.pack_next({.kind = Kind::request_short, .handler = kLongBack});
          for (int left = 2000; left != 0 && of.held() == before; --left) all.host.pause(kMillisecond);
          all.expect(of.held() > before, "a handler has waited");
          liar.begin_anew();
        }
        of.go_on();
        sleep_until_over(all, of);
      },
      0);
  EXPECT_GE(scene.held(), 900 * kMillisecond);
  EXPECT_LE(scene.held(), 1500 * kMillisecond);
}

TEST(AmVi3Lies, by_the_first_of_three_connections_alone_end_their_pair) {
  HostedAm::way = am::Way::vi3;
  Scene scene(0);
  scene.run(
      [&](Hosted& all, Scene& of) {
        ViLiar liar(all, am::Way::vi3);
        liar.hello.segment = {{.key = 4096, .bound = 1 << 20, .slot = 77, .generation = 1}, 5};
        liar.hear_of(of.victim());
        liar.connect(lies::interface_of(of.victim()), 1);
        std::array<std::byte, 16> tag{};
        internal_::base::store_little(tag.data(), lies::word_of({.kind = Kind::tag}));
        internal_::base::store_little(tag.data() + 8, std::uint64_t{7});
        liar.send(tag, {}, 0);
        liar.number = 1;
        liar.pack_next({.kind = Kind::request_short, .handler = kLongBack});
        of.go_on();
        sleep_until_over(all, of);
      },
      0);
}

}  // namespace
}  // namespace hamlyn::test
