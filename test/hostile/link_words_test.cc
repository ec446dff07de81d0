// What a peer says of why it ends a link is one of the reasons that are for a peer to give, and its word
// alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/link_reasons.h"
#include "test/hostile/speaker.h"

namespace hamlyn::test {
namespace {

using library::LinkKeeper;
using library::LinkMessage;
using library::LinkWord;

LinkMessage farewell(std::uint64_t reason) {
  LinkMessage message;
  message.word = LinkWord::farewell;
  message.value = reason;
  return message;
}

// The reason of the last words that lie there; none: there are none.
WhyNoLink said(Speaker& speaker) {
  WhyNoLink out;
  LinkMessage message;
  while (base::receive_message(speaker.socket.get(), std::as_writable_bytes(std::span(&message, 1)),
                               MSG_DONTWAIT)
             .state == base::SocketState::ok) {
    EXPECT_EQ(library::invalid(message), nullptr);
    if (message.word == LinkWord::farewell) out = {base::link_reason(message.value), true};
  }
  return out;
}

constexpr WhyNoLink kBroken{LinkReason::protocol_broken, false};

TEST(LinkWords, a_peer_gives_the_reasons_that_are_for_a_peer_and_no_others) {
  for (const std::uint64_t number : {std::uint64_t{0xFFFF}, std::uint64_t{0x10000} + 9, ~std::uint64_t{}}) {
    Speaker speaker(::geteuid());
    speaker.say(farewell(number), {});
    EXPECT_EQ(speaker.read(), LinkKeeper::End::protocol_broken) << number;
    EXPECT_EQ(speaker.keeper->why(), kBroken);
  }
  std::size_t told = 0;
  for (std::uint64_t number = 0; number < 64; ++number) {
    Speaker speaker(::geteuid());
    speaker.say(farewell(number), {});
    const bool may = base::may_be_told(number);
    told += may ? 1 : 0;
    EXPECT_EQ(speaker.read(), may ? LinkKeeper::End::peer_gone : LinkKeeper::End::protocol_broken) << number;
    EXPECT_EQ(speaker.keeper->why(), may ? WhyNoLink(base::link_reason(number), true) : kBroken) << number;
  }
  EXPECT_EQ(told, 12u) << "a reason more, or fewer, for a peer to give: is it one that only a peer can know?";
}

// An owner of an earlier version says 0. What only this side can know is not for an owner to say.
TEST(LinkWords, an_owner_says_why_it_shows_nothing_as_far_as_an_owner_can) {
  std::size_t said = 0;
  for (std::uint32_t kind = 0; kind != 300; ++kind) {
    const NotMapped why = library::refusal_in({.word = LinkWord::import_refused, .kind = kind});
    const bool own = why != NotMapped::unsaid;
    EXPECT_TRUE(!own || why == static_cast<NotMapped>(kind)) << kind;
    said += own ? 1 : 0;
  }
  EXPECT_EQ(said, 6u);
  for (const NotMapped why : {NotMapped::none, NotMapped::opening, NotMapped::other_host})
    EXPECT_EQ(
        library::refusal_in({.word = LinkWord::import_refused, .kind = static_cast<std::uint32_t>(why)}),
        NotMapped::unsaid);
}

TEST(LinkWords, last_words_come_without_descriptors) {
  Speaker speaker(::geteuid());
  const shm::OwnedMemory memory = shm::make_sealed_memory(4096);
  speaker.say(farewell(static_cast<std::uint64_t>(LinkReason::left)), {memory.memfd.get()});
  EXPECT_EQ(speaker.read(), LinkKeeper::End::protocol_broken);
}

// The kernel tells first that the other side has closed with something unread.
TEST(LinkWords, last_words_are_heard_though_their_speaker_has_read_nothing) {
  Speaker speaker(::geteuid());
  speaker.say(farewell(static_cast<std::uint64_t>(LinkReason::no_descriptors)), {});
  speaker.socket.reset();
  EXPECT_EQ(speaker.read(), LinkKeeper::End::peer_gone);
  EXPECT_EQ(speaker.keeper->why(), (WhyNoLink{LinkReason::no_descriptors, true}));
}

TEST(LinkWords, who_goes_without_a_word_has_ended) {
  Speaker speaker(::geteuid());
  speaker.socket.reset();
  EXPECT_EQ(speaker.read(), LinkKeeper::End::peer_gone);
  EXPECT_EQ(speaker.keeper->why(), (WhyNoLink{LinkReason::died, false}));
}

TEST(LinkWords, a_side_says_what_it_has_found_itself_and_nothing_that_it_was_told) {
  Speaker speaker(::geteuid());
  ASSERT_EQ(speaker.read(), LinkKeeper::End::none);
  for (const LinkReason reason : {LinkReason::stalled, LinkReason::protocol_broken, LinkReason::left}) {
    speaker.keeper->say_farewell({reason, false});
    EXPECT_EQ(said(speaker), (WhyNoLink{reason, true}));
    speaker.keeper->say_farewell({reason, true});
    EXPECT_EQ(said(speaker), WhyNoLink{});
  }
  for (const LinkReason reason : {LinkReason::quota, LinkReason::ended, LinkReason::died, LinkReason::none}) {
    speaker.keeper->say_farewell({reason, false});
    EXPECT_EQ(said(speaker), WhyNoLink{}) << name(reason);
  }
}

}  // namespace
}  // namespace hamlyn::test
