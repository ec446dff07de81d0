// A server with one thread that waits for everything at one place: whatever its interface brings, through the
// interface's descriptor, and whatever else epoll knows, here a signal that ends it.
//
//   epoll_server          serves; starts itself a second time as the client, which ends it by SIGTERM
//   epoll_server NAME     asks whoever has published NAME
#include <hamlyn/hamlyn.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

struct Question {
  std::uint64_t number;
  pid_t from;
};

class Server {
 public:
  explicit Server(const std::string& name) { manager_.publish(name, questions_.make_seed()); }

  // Takes what has arrived until there is no more: only then may epoll sleep again.
  void take_all() {
    while (manager_.interface().wait_any([this] { return take(); }, 0s) == hamlyn::Status::ok) {
    }
  }
  int descriptor() { return manager_.interface().descriptor(); }
  std::uint64_t answered() const { return answered_; }

 private:
  // False: there was nothing to take. Other receivers of the manager would stand here, too.
  bool take() {
    hamlyn::Datagram question;
    const hamlyn::Status status = questions_.receive(question, 0s);
    if (status == hamlyn::Status::timed_out) return false;
    if (status == hamlyn::Status::ok) answer(question);  // or a client gave up, or died, in the middle
    check(questions_.make_ready());
    return true;
  }
  void answer(const hamlyn::Datagram& datagram) {
    Question question{};
    if (!datagram.reply || datagram.bytes.size() != sizeof question) return;  // nobody of ours
    std::memcpy(&question, datagram.bytes.data(), sizeof question);
    const std::uint64_t square = question.number * question.number;
    // Given to the link, and not waited for: a client that is not ready gets nothing, and holds nobody up.
    hamlyn::DatagramSender to{manager_, *datagram.reply};
    if (to.send(std::as_bytes(std::span{&square, 1})) == hamlyn::Status::ok) ++answered_;
  }

  hamlyn::Manager manager_;
  hamlyn::DatagramReceiver questions_{manager_, sizeof(Question)};
  std::uint64_t answered_ = 0;
};

int serve() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, nullptr);  // before any thread starts: all of them inherit it
  const int signals = signalfd(-1, &stop, SFD_CLOEXEC);

  const std::string name = "epoll_server." + std::to_string(getpid());
  Server server{name};
  SecondProcess client{name};

  const int all = epoll_create1(EPOLL_CLOEXEC);
  for (const int descriptor : {server.descriptor(), signals}) {
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = descriptor}};
    epoll_ctl(all, EPOLL_CTL_ADD, descriptor, &wanted);
  }
  for (bool stopped = false; !stopped;) {
    server.take_all();
    epoll_event event;
    const int events = epoll_wait(all, &event, 1, 30000);
    require(events != 0, "nobody asks any more");
    stopped = events == 1 && event.data.fd == signals;
  }
  std::printf("%llu questions answered\n", static_cast<unsigned long long>(server.answered()));
  close(all);
  close(signals);
  return client.wait() && server.answered() == 100 ? 0 : 1;
}

int ask(const char* name) {
  hamlyn::Manager manager;
  hamlyn::DatagramReceiver answers{manager, sizeof(std::uint64_t)};
  hamlyn::DatagramSender server{manager, manager.lookup(name)};
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Question question{i, getpid()};
    hamlyn::Status status;
    do {
      status = server.deliver(std::as_bytes(std::span{&question, 1}), {.reply = &answers}, 30s);
    } while (status == hamlyn::Status::not_ready);  // it takes one at a time
    check(status);
    hamlyn::Datagram answer;
    check(answers.receive(answer, 30s));
    std::uint64_t square = 0;
    std::memcpy(&square, answer.bytes.data(), std::min(sizeof square, answer.bytes.size()));
    require(square == i * i, "another number came back");
    check(answers.make_ready());
  }
  kill(getppid(), SIGTERM);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? ask(words[1]) : serve());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epoll_server: %s\n", error.what());
    return 1;
  }
}
