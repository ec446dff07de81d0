// An echo server: datagrams with a ticket to reply to.
//
//   datagram          answers three datagrams; starts itself a second time as the client
//   datagram NAME     asks whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <cctype>
#include <cstdio>
#include <string>
#include <string_view>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr const char* kQuestions[] = {"one", "two", "three"};

int serve() {
  const std::string name = "datagram." + std::to_string(getpid());
  SecondProcess client{name};
  hamlyn::Manager manager;
  hamlyn::DatagramReceiver door{manager, 4096};
  manager.publish(name, door.make_seed());
  for (const char* question : kQuestions) {
    hamlyn::Datagram datagram;
    check(door.receive(datagram, 30s));
    require(datagram.reply.has_value(), "somebody asks who takes no answer");
    std::string text{reinterpret_cast<const char*>(datagram.bytes.data()), datagram.bytes.size()};
    require(text == question, "somebody else has asked");
    check(door.make_ready());  // its bytes are copied: the next one may come
    for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    hamlyn::DatagramSender answer{manager, *datagram.reply};
    // Given to the link, and not waited for: a client that does not look holds up nobody else.
    const hamlyn::Status answered = answer.send(std::as_bytes(std::span{text}));
    if (answered != hamlyn::Status::ok)
      std::fprintf(stderr, "datagram: a client has no answer: %s\n", hamlyn::advice(answered));
  }
  return client.wait() ? 0 : 1;
}

int ask(const char* name) {
  hamlyn::Manager manager;
  hamlyn::DatagramSender server{manager, manager.lookup(name)};
  hamlyn::DatagramReceiver mailbox{manager, 4096};
  for (const std::string_view question : kQuestions) {
    const auto bytes = std::as_bytes(std::span{question});
    hamlyn::Status status;
    do {  // the server may not be ready yet: there is no queue
      status = server.deliver(bytes, {.reply = &mailbox}, 30s);
    } while (status == hamlyn::Status::not_ready);
    check(status);
    hamlyn::Datagram answer;
    check(mailbox.receive(answer, 30s));
    std::printf("%.*s\n", static_cast<int>(answer.bytes.size()),
                reinterpret_cast<const char*>(answer.bytes.data()));
    check(mailbox.make_ready());
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? ask(words[1]) : serve());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "datagram: %s\n", error.what());
    return 1;
  }
}
