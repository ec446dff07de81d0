// Words of one daemon to another about its processes, and such as none may say.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "test/unit/far_world.h"

namespace hamlyn {
namespace {

using test::ask;
using test::FarWorld;
using test::RequestKind;
using test::Time;
using test::TwoDaemons;

TEST(FarNode, WhatIsNoPlaceOfANode) {
  const auto end = [](const char* ip, std::uint16_t port, const char* engine = "net") {
    node::FarEnd out;
    std::memcpy(out.engine, engine, std::strlen(engine));
    sockaddr_in6 v6{};
    sockaddr_in v4{};
    if (::inet_pton(AF_INET6, ip, &v6.sin6_addr) == 1) {
      v6.sin6_family = AF_INET6;
      v6.sin6_port = htons(port);
      const auto bytes = std::as_bytes(std::span{&v6, 1});
      out.address.assign(bytes.begin(), bytes.end());
    } else {
      ::inet_pton(AF_INET, ip, &v4.sin_addr);
      v4.sin_family = AF_INET;
      v4.sin_port = htons(port);
      const auto bytes = std::as_bytes(std::span{&v4, 1});
      out.address.assign(bytes.begin(), bytes.end());
    }
    return out;
  };
  const auto at = [](const char* ip) {
    node::Address out;
    ::inet_pton(AF_INET6, ip, out.ip.data());
    return out;
  };
  EXPECT_EQ(node::wrong_place(end("10.0.0.7", 1024), at("::ffff:10.0.0.7")), nullptr);
  EXPECT_EQ(node::wrong_place(end("::ffff:10.0.0.7", 1024), at("::ffff:10.0.0.7")), nullptr);
  EXPECT_EQ(node::wrong_place(end("fd00::7", 9000), at("fd00::7")), nullptr);
  EXPECT_EQ(node::wrong_place(end("127.0.0.1", 9000), at("::ffff:127.0.0.1")), nullptr)
      << "a pair on loopback";
  EXPECT_NE(node::wrong_place(end("127.0.0.1", 9000), at("::ffff:10.0.0.7")), nullptr);
  EXPECT_NE(node::wrong_place(end("::1", 9000), at("fd00::7")), nullptr);
  EXPECT_NE(node::wrong_place(end("0.0.0.0", 9000), at("::ffff:10.0.0.7")), nullptr);
  EXPECT_NE(node::wrong_place(end("10.0.0.8", 9000), at("::ffff:10.0.0.7")), nullptr);
  EXPECT_NE(node::wrong_place(end("10.0.0.7", 1023), at("::ffff:10.0.0.7")), nullptr);
  EXPECT_NE(node::wrong_place(end("224.0.0.1", 9000), at("::ffff:224.0.0.1")), nullptr);
  EXPECT_NE(node::wrong_place(end("ff02::1", 9000), at("ff02::1")), nullptr);
  for (std::size_t size = 1; size < sizeof(sockaddr_in6); ++size) {
    auto cut = end("fd00::7", 9000, "tcp");
    cut.address.resize(size);
    EXPECT_NE(node::wrong_place(cut, at("fd00::7")), nullptr) << size;
  }
  EXPECT_NE(node::wrong_place(end("10.0.0.8", 9000, "tcp;ofi_rxm"), at("::ffff:10.0.0.7")), nullptr);
  EXPECT_EQ(node::wrong_place(end("10.0.0.8", 1, "efa"), at("::ffff:10.0.0.7")), nullptr)
      << "no connection of TCP";
}

TEST(FarNode, RefusesWhatAnotherDaemonMayNotSay) {
  TwoDaemons t;
  const auto link = t.far.link(t.two).first.link;
  node::FarEnd end;
  std::memcpy(end.engine, "net", 3);
  end.address.resize(4);
  // An introduction for somebody who is not its own.
  t.far.at(2).node.node_said(1, node::encode(node::FarIntroduce{1, t.two, t.two, 5, {}, end}), Time{0});
  // The end of a link between others.
  t.far.at(2).node.node_said(3, node::encode(node::FarEnded{link, t.one, t.two, LinkReason::ended}), Time{0});
  t.far.at(2).node.node_said(1, node::encode(node::FarEnded{link, t.one + 1, t.two, LinkReason::ended}),
                             Time{0});
  // Answers that nobody waits for.
  t.far.at(2).node.node_said(1, node::encode(node::FarIntroduced{77, end}), Time{0});
  t.far.at(2).node.node_said(1, node::encode(node::FarRefused{77, 1, "no"}), Time{0});
  t.far.at(2).node.node_said(1, node::encode(node::FarCancel{77}), Time{0});
  t.far.settle();
  EXPECT_TRUE(t.far.at(2).quiet(2));
  EXPECT_TRUE(t.far.at(1).quiet(1));
}

TEST(FarNode, EveryMessageIsWholeOrRefused) {
  node::FarEnd end{1, 2, 3, "net", std::vector<std::byte>(64)};
  Ticket ticket;
  ticket.bound = 8;
  const std::vector<std::vector<std::byte>> messages{
      node::encode(node::FarIntroduce{1, 2, 3, 4, {}, end}),
      node::encode(node::FarIntroduced{1, end}),
      node::encode(node::FarRefused{1, 2, "why"}),
      node::encode(node::FarEnded{1, 2, 3, LinkReason::cut}),
      node::encode(node::FarLookup{1, 2, 3, true, "name"}),
      node::encode(node::FarFound{1, 2, 3, 4, 5, ticket}),
      node::encode(node::FarCancel{1}),
  };
  const auto malformed = [](std::span<const std::byte> message) {
    FarWorld far{2};
    far.at(1).node.node_said(2, message, Time{0});
    far.at(1).attach(1);
    far.at(1).say(1, ask(RequestKind::list, 1));
    far.at(1).take<node::AttachedReply>(1);
    return far.at(1).take<node::NodeReply>(1).malformed;
  };
  for (const auto& message : messages) {
    for (std::size_t size = 0; size < message.size(); ++size)
      EXPECT_EQ(malformed(std::span{message}.first(size)), 1u) << size;
    auto longer = message;
    longer.push_back({});
    EXPECT_EQ(malformed(longer), 1u);
  }
}

}  // namespace
}  // namespace hamlyn
