#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/copy.h"
#include "base/file_descriptor.h"
#include "base/link_reasons.h"
#include "base/memfd.h"
#include "base/socket.h"
#include "base/throw_system.h"
#include "hamlyn/values/error.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {
namespace {

bool open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

base::FileDescriptor null_device() { return base::FileDescriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd)
    if (open(fd)) ++count;
  return count;
}

TEST(Copy, LoadsUpTo16BytesAndNoMore) {
  // Each length from memory of just that length, so that a sanitizer sees a byte too many.
  for (std::size_t length = 0; length <= 16; ++length) {
    std::vector<std::byte> from(length);
    for (std::size_t i = 0; i < length; ++i) from[i] = std::byte(0x81 + 7 * i);
    const base::TwoWords words = base::load_up_to_16(from.data(), length);
    std::byte found[16];
    std::memcpy(found, &words, sizeof found);
    for (std::size_t i = 0; i < 16; ++i)
      EXPECT_EQ(found[i], i < length ? from[i] : std::byte{0}) << length << ", " << i;
  }
}

TEST(FileDescriptor, ClosesOnceAndMoves) {
  base::FileDescriptor one = null_device();
  const int fd = one.get();
  base::FileDescriptor two = std::move(one);
  EXPECT_FALSE(one);  // NOLINT(bugprone-use-after-move): that it is empty is the point
  EXPECT_TRUE(open(fd));
  two = base::FileDescriptor{};
  EXPECT_FALSE(open(fd));
}

TEST(Socket, CarriesBytesAndDescriptors) {
  auto [one, two] = base::socket_pair();
  const std::string text = "hello";
  const auto file = null_device();
  const int fds[] = {file.get(), one.get()};
  ASSERT_EQ(base::send_message(one.get(), std::as_bytes(std::span{text}), fds), base::SocketState::ok);
  std::byte buffer[16];
  const base::Received got = base::receive_message(two.get(), buffer);
  EXPECT_EQ(got.state, base::SocketState::ok);
  EXPECT_EQ(got.bytes, text.size());
  ASSERT_EQ(got.fd_count, 2u);
  EXPECT_TRUE(open(got.fds[1].get()));
  EXPECT_EQ(::fcntl(got.fds[0].get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Socket, SaysWhenThereIsNothingAndWhenThereWillBeNothing) {
  auto [one, two] = base::socket_pair();
  std::byte buffer[16];
  EXPECT_EQ(base::receive_message(two.get(), buffer, MSG_DONTWAIT).state, base::SocketState::again);
  const std::byte word{};
  auto state = base::SocketState::ok;
  while (state == base::SocketState::ok) {
    state = base::send_message(one.get(), std::span{&word, 1}, {}, MSG_DONTWAIT);
  }
  EXPECT_EQ(state, base::SocketState::again);
  one.reset();
  base::Received got;
  do got = base::receive_message(two.get(), buffer, MSG_DONTWAIT);
  while (got.state == base::SocketState::ok);
  EXPECT_EQ(got.state, base::SocketState::closed);
  EXPECT_EQ(base::send_message(two.get(), std::span{&word, 1}), base::SocketState::closed) << "and no signal";
}

TEST(Socket, WhatIsCutShortIsMalformedAndLeaksNothing) {
  auto [one, two] = base::socket_pair();
  const std::string text(17, 'x');
  const int fds[] = {one.get(), one.get(), one.get(), one.get()};
  ASSERT_EQ(base::send_message(one.get(), std::as_bytes(std::span{text}), fds), base::SocketState::ok);
  const std::size_t before = open_descriptors();
  std::byte buffer[16];
  const base::Received got = base::receive_message(two.get(), buffer);
  EXPECT_EQ(got.state, base::SocketState::malformed);
  EXPECT_EQ(got.fd_count, 0u);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Socket, MoreDescriptorsThanWeTakeAreMalformedAndLeakNothing) {
  auto [one, two] = base::socket_pair();
  const int fds[] = {one.get(), one.get(), one.get(), one.get(), one.get()};
  std::byte word{};
  EXPECT_EQ(base::send_message(one.get(), std::span{&word, 1}, fds), base::SocketState::malformed)
      << "we send none";
  iovec part{&word, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)]{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fds);
  std::copy(std::begin(fds), std::end(fds), reinterpret_cast<int*>(CMSG_DATA(header)));
  ASSERT_EQ(::sendmsg(one.get(), &message, 0), 1);
  const std::size_t before = open_descriptors();
  std::byte buffer[16];
  EXPECT_EQ(base::receive_message(two.get(), buffer).state, base::SocketState::malformed);
  EXPECT_EQ(open_descriptors(), before);
}

// Its sender is honest: the table of this process had no room.
TEST(Socket, DescriptorsThatThereIsNoRoomForAreTheReadersLackAndLeakNothing) {
  auto [one, two] = base::socket_pair();
  const std::byte word{};
  const int fds[] = {one.get(), one.get(), one.get(), one.get()};
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto room = static_cast<rlim_t>(::dup(two.get()));
  ::close(static_cast<int>(room));
  for (const std::size_t count : {std::size_t{1}, std::size_t{4}}) {
    ASSERT_EQ(base::send_message(one.get(), std::span{&word, 1}, std::span{fds}.first(count)),
              base::SocketState::ok);
    const rlimit few{room + count - 1, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::byte buffer[16];
    const base::SocketState peeked = base::peek_message(two.get(), buffer).state;
    const base::Received got = base::receive_message(two.get(), buffer);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(peeked, base::SocketState::starved);
    EXPECT_EQ(got.state, base::SocketState::starved);
    EXPECT_EQ(got.fd_count, 0u);
    EXPECT_EQ(static_cast<rlim_t>(base::FileDescriptor(::dup(two.get())).get()), room);
  }
}

// Where the kernel can say so. Its seals are kept free for whoever seals it.
TEST(Memfd, IsNoProgram) {
  const base::FileDescriptor made = base::make_memfd("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_TRUE(made);
  const bool known = base::FileDescriptor(::memfd_create("test", MFD_CLOEXEC | 8)) || errno != EINVAL;
  EXPECT_EQ(::fchmod(made.get(), 0777) != 0, known);
  EXPECT_EQ(::fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
}

TEST(ThrowSystem, NamesTheCallAndWhatErrnoMeans) {
  try {
    errno = ENOENT;
    base::throw_system("open");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::system);
    EXPECT_STREQ(error.what(), "open: No such file or directory (errno 2)");
  }
}

TEST(ThrowSystem, TellsWhatIsUsedUpFromWhatIsWrong) {
  struct Lack {
    int number;
    LinkReason reason;
    const char* limit;
  };
  for (const Lack& lack : {Lack{EMFILE, LinkReason::no_descriptors, "ulimit -n"},
                           Lack{ENFILE, LinkReason::no_descriptors, "fs.file-max"},
                           Lack{ENOMEM, LinkReason::no_memory, "ulimit -v"}}) {
    try {
      errno = lack.number;
      base::throw_system("eventfd");
      ADD_FAILURE() << lack.number;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << lack.number;
      EXPECT_EQ(base::reason_of(error), lack.reason) << lack.number;
      EXPECT_NE(std::string(error.what()).find(lack.limit), std::string::npos) << error.what();
    }
  }
}

TEST(Names, EveryValueHasItsOwn) {
  std::set<std::string> seen;
  std::set<std::string> advices;
  for (int i = 1; i <= static_cast<int>(ErrorCode::node_full); ++i) {
    seen.insert(name(static_cast<ErrorCode>(i)));
    advices.insert(advice(static_cast<ErrorCode>(i)));
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(ErrorCode::node_full));
  EXPECT_EQ(advices.size(), seen.size());
  EXPECT_FALSE(seen.contains("unknown"));
  seen.clear();
  advices.clear();
  for (int i = 0; i <= static_cast<int>(Status::forked); ++i) {
    seen.insert(name(static_cast<Status>(i)));
    advices.insert(advice(static_cast<Status>(i)));
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Status::forked) + 1);
  EXPECT_EQ(advices.size(), seen.size());
  EXPECT_FALSE(seen.contains("unknown"));
  seen.clear();
  for (int i = 0; i < static_cast<int>(Refusal::count); ++i) seen.insert(name(static_cast<Refusal>(i)));
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Refusal::count));
  EXPECT_FALSE(seen.contains("unknown"));
}

TEST(LinkReasons, EachHasANameOfItsOwnAndSentences) {
  std::set<std::string> names, texts;
  std::size_t sentences = 0;
  for (std::uint64_t i = 0; i <= static_cast<std::uint64_t>(LinkReason::ended); ++i) {
    const LinkReason reason = base::link_reason(i);
    EXPECT_EQ(static_cast<std::uint64_t>(reason), i);
    names.insert(name(reason));
    texts.insert(text({reason, false}));
    ++sentences;
    EXPECT_STRNE(advice({reason, false}), "");
    if (!base::may_be_told(i)) {
      EXPECT_STREQ(text({reason, true}), text({reason, false})) << name(reason);
      continue;
    }
    texts.insert(text({reason, true}));
    ++sentences;
    EXPECT_EQ(std::string(text({reason, true})).find("the other side "), 0u) << name(reason);
    EXPECT_STRNE(advice({reason, true}), advice({reason, false}));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(LinkReason::ended) + 1);
  EXPECT_EQ(texts.size(), sentences);
}

TEST(LinkReasons, NumbersThatAreNoneAreNothing) {
  for (const std::uint64_t number : {std::uint64_t{29}, std::uint64_t{0xFFFF}, ~std::uint64_t{}}) {
    EXPECT_EQ(base::link_reason(number), LinkReason::none);
    EXPECT_FALSE(base::may_be_told(number));
    EXPECT_STREQ(name(static_cast<LinkReason>(number)), "unknown");
    EXPECT_STREQ(text({static_cast<LinkReason>(number), true}), text({}));
  }
  // What the node or the kernel says is for nobody else to say.
  for (const LinkReason reason : {LinkReason::none, LinkReason::quota, LinkReason::no_process,
                                  LinkReason::ended, LinkReason::died, LinkReason::node_missing})
    EXPECT_FALSE(base::may_be_told(static_cast<std::uint64_t>(reason))) << name(reason);
}

TEST(LinkReasons, SayWhetherNobodyIsThereOrSomebodyDoesNotWantTo) {
  for (const LinkReason reason : {LinkReason::no_process, LinkReason::died, LinkReason::left,
                                  LinkReason::node_missing, LinkReason::silent, LinkReason::stalled})
    EXPECT_EQ(base::status_of(reason), Status::link_ended) << name(reason);
  for (const LinkReason reason : {LinkReason::quota, LinkReason::not_permitted, LinkReason::no_descriptors,
                                  LinkReason::too_many_links, LinkReason::no_page})
    EXPECT_EQ(base::status_of(reason), Status::refused) << name(reason);
  // What has run out at the other side is no limit of this process.
  EXPECT_EQ(base::error_of({LinkReason::no_descriptors, false}), ErrorCode::out_of_memory);
  EXPECT_EQ(base::error_of({LinkReason::no_descriptors, true}), ErrorCode::peer_refused);
  EXPECT_EQ(base::error_of({LinkReason::left, true}), ErrorCode::peer_died);
  EXPECT_EQ(base::reason_of(ErrorCode::quota_links), LinkReason::quota);
  EXPECT_EQ(base::reason_of(ErrorCode::name_unknown), LinkReason::no_process);
}

TEST(TicketForm, SaysWhatIsWrong) {
  Ticket good;
  good.interface = 1;
  EXPECT_EQ(invalid(good), nullptr);
  const auto with = [&](auto&& change) {
    Ticket out = good;
    change(out);
    return invalid(out) != nullptr;
  };
  EXPECT_TRUE(with([](Ticket& t) { t.version = 0; }));
  EXPECT_TRUE(with([](Ticket& t) { t.purpose = Ticket::kPurposes; }));
  EXPECT_TRUE(with([](Ticket& t) { t.interface = 0; }));
  EXPECT_TRUE(with([](Ticket& t) { t.incarnation = 1; }));
  EXPECT_TRUE(with([](Ticket& t) {
    t.base = ~std::uint64_t{0};
    t.bound = 1;
  }));
  EXPECT_FALSE(with([](Ticket& t) {
    t.base = ~std::uint64_t{0} - 1;
    t.bound = 1;
  }));
}

}  // namespace
}  // namespace hamlyn
