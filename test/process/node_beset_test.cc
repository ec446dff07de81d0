// The daemon and those who send what no client would, who do not read, or who are many.
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/socket.h"
#include "node/client/address.h"
#include "node/client/client.h"
#include "node/client/list.h"
#include "test/process/counter_pages.h"
#include "test/support/command.h"
#include "test/support/daemon.h"

namespace hamlyn::test {
namespace {

using node::Event;

// Says hello by hand, and hears the answer.
void greet(int socket) {
  const node::Hello hello;
  node::Welcome welcome;
  EXPECT_EQ(base::send_message(socket, std::as_bytes(std::span{&hello, 1})), base::SocketState::ok);
  base::receive_message(socket, std::as_writable_bytes(std::span{&welcome, 1}));
  EXPECT_EQ(welcome.error, 0u);
}

TEST(NodeBeset, SurvivesWhatNoClientWouldSend) {
  const Folder folder;
  const Daemon daemon{folder.file("s")};
  const node::Client witness = node::Client::attach(at(folder.file("s")));
  const std::string bytes = noise(4096);
  std::uint64_t malformed = 0;
  for (std::size_t size = 1; size < 400; size += 7) {
    const auto socket = node::connect_to(folder.file("s"));
    ASSERT_EQ(base::send_message(socket.get(), std::as_bytes(std::span{bytes}).first(size)),
              base::SocketState::ok);
    std::byte answer{};
    EXPECT_EQ(base::receive_message(socket.get(), std::span{&answer, 1}).state, base::SocketState::closed);
    ++malformed;
  }
  // A hello with a descriptor that is no counter page: a socket (-1), unsealed memory, none at all, too much.
  const base::FileDescriptor unsealed{::memfd_create("counters", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  ASSERT_EQ(::ftruncate(unsealed.get(), 4096), 0);
  const auto none = sealed_memory(0);
  const auto too_much = sealed_memory((1 << 20) + 1);
  for (const int memory : {-1, unsealed.get(), none.get(), too_much.get()}) {
    const auto socket = node::connect_to(folder.file("s"));
    const node::Hello hello;
    const int fd = memory < 0 ? socket.get() : memory;
    ASSERT_EQ(base::send_message(socket.get(), std::as_bytes(std::span{&hello, 1}), std::span{&fd, 1}),
              base::SocketState::ok);
    std::byte answer{};
    EXPECT_EQ(base::receive_message(socket.get(), std::span{&answer, 1}).state, base::SocketState::closed);
    ++malformed;
  }
  { const auto halfway = node::connect_to(folder.file("s")); }
  const node::NodeList list = node::list(at(folder.file("s")));
  EXPECT_EQ(list.malformed, malformed);
  ASSERT_EQ(list.attached.size(), 1u);
  EXPECT_EQ(list.attached[0].interface, witness.interface_id());
}

// The same from those who have attached: cut short at every length, too long, with a descriptor, with a field
// that the kind does not use; and gone with everything asked and nothing read.
TEST(NodeBeset, SurvivesWhatNoAttachedClientWouldSend) {
  const Folder folder;
  const Daemon daemon{folder.file("s")};
  const node::Client witness = node::Client::attach(at(folder.file("s")));
  const auto page = sealed_page("page");
  const int fd = page.get();
  std::uint64_t malformed = 0;
  for (std::uint32_t kind = 0; kind <= 14; ++kind) {
    node::Request request;
    request.kind = node::RequestKind{kind};
    request.request = 1;
    request.number = kind == 8 ? 1 : 0;  // a cancel has none
    request.reserved = kind >= 1 && kind <= 13 ? 1 : 0;
    const node::Request wrong = request;
    request.reserved = 0;
    std::array<std::byte, sizeof request + 1> bytes{};
    std::memcpy(bytes.data(), &request, sizeof request);
    const auto refused = [&](std::span<const std::byte> what, std::span<const int> fds) {
      const auto socket = node::connect_to(folder.file("s"));
      greet(socket.get());
      base::send_message(socket.get(), what, fds);
      std::array<std::byte, sizeof(node::Reply)> answer{};
      EXPECT_EQ(base::receive_message(socket.get(), answer).state, base::SocketState::closed) << kind;
      ++malformed;
    };
    for (const std::size_t size : {std::size_t{1}, std::size_t{4}, sizeof request - 1, sizeof request + 1})
      refused(std::span{bytes}.first(size), {});
    refused(std::span{bytes}.first(sizeof request), std::span{&fd, 1});
    refused(std::as_bytes(std::span{&wrong, 1}), {});
    const auto halfway = node::connect_to(folder.file("s"));
    greet(halfway.get());
    request.number = 0;
    request.kind = node::RequestKind::list;
    for (request.request = 1; request.request < 20; ++request.request)
      base::send_message(halfway.get(), std::as_bytes(std::span{&request, 1}), {}, MSG_DONTWAIT);
  }
  EXPECT_TRUE(eventually([&] { return node::list(at(folder.file("s"))).attached.size() == 1; }));
  const node::NodeList list = node::list(at(folder.file("s")));
  EXPECT_EQ(list.malformed, malformed);
  EXPECT_EQ(list.attached[0].interface, witness.interface_id());
}

TEST(NodeBeset, WhoDoesNotReadIsDropped) {
  const Folder folder;
  const Daemon daemon{folder.file("s")};
  const node::Client witness = node::Client::attach(at(folder.file("s")));
  const auto socket = node::connect_to(folder.file("s"));
  greet(socket.get());
  node::Request request;
  request.kind = node::RequestKind::lookup;
  request.name_length = 1;
  request.name[0] = 'x';
  const bool dropped = eventually([&] {
    auto state = base::SocketState::ok;
    while (state == base::SocketState::ok) {
      ++request.request;
      state = base::send_message(socket.get(), std::as_bytes(std::span{&request, 1}), {}, MSG_DONTWAIT);
    }
    return state == base::SocketState::closed;
  });
  EXPECT_TRUE(dropped);
  const node::NodeList list = node::list(at(folder.file("s")));
  EXPECT_EQ(list.dropped, 1u);
  EXPECT_EQ(list.attached.size(), 1u);
}

TEST(NodeBeset, OfManyThatDoNotReadTheOneWithMostIsDroppedWhileOthersAreServed) {
  const Folder folder;
  const Daemon daemon{folder.file("s")};
  const node::Client witness = node::Client::attach(at(folder.file("s")));
  node::Request list;
  list.kind = node::RequestKind::list;
  std::vector<base::FileDescriptor> crowd;
  node::NodeList seen;
  for (int i = 0; i < 40 && seen.dropped == 0; ++i) {
    crowd.push_back(node::connect_to(folder.file("s")));
    greet(crowd.back().get());
    for (list.request = 1; list.request <= 1000; ++list.request) {
      // Fewer answers than would have each of them dropped for itself.
      if (list.request * static_cast<unsigned>(i + 3) > 1000) break;
      ASSERT_EQ(base::send_message(crowd.back().get(), std::as_bytes(std::span{&list, 1})),
                base::SocketState::ok);
    }
    // The daemon takes them in turns with others' requests: one dropped is seen before the next comes.
    ASSERT_TRUE(eventually([&] {
      int unread = 0;
      return ::ioctl(crowd.back().get(), SIOCOUTQ, &unread) == 0 && unread == 0;
    }));
    seen = node::list(at(folder.file("s")));
  }
  EXPECT_GE(seen.dropped, 1u);
  EXPECT_LE(seen.dropped, 2u);
  EXPECT_EQ(seen.attached.size() + seen.dropped, crowd.size() + 1) << "and the witness";
}

TEST(NodeBeset, ManyIntroductionsToASlowReaderWaitForIt) {
  const Folder folder;
  const Daemon daemon{folder.file("s")};
  node::Client slow = node::Client::attach(at(folder.file("s")));
  std::vector<node::Client> askers;
  for (int i = 0; i < 200; ++i) {
    askers.push_back(node::Client::attach(at(folder.file("s"))));
    ASSERT_TRUE(askers.back().introduce(1, slow.interface_id()));
  }
  // A list is answered after what came before it.
  const node::NodeList list = node::list(at(folder.file("s")));
  EXPECT_LE(list.links, 2 * 32u) << "of two descriptors each 64 may be unread";
  EXPECT_EQ(next_event(askers.front()).kind, Event::Kind::introduced);
  for (std::size_t i = 0; i < askers.size(); ++i) {
    ASSERT_EQ(next_event(slow).kind, Event::Kind::introduced);
  }
  for (std::size_t i = 1; i < askers.size(); ++i) {
    ASSERT_EQ(next_event(askers[i]).kind, Event::Kind::introduced);
  }
}

}  // namespace
}  // namespace hamlyn::test
