// Programs that do things to their own threads, descriptors, signals and modules while they use the library
// (docs/rules.md, "What a program may do to itself").
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hamlyn/c.h"
#include "test/process/managers.h"
#include "test/process/own_files.h"

namespace hamlyn::test {
namespace {

using namespace std::chrono_literals;

// Two interfaces of one process, and a slot of the one.
struct Pair {
  explicit Pair(const Interface::Options& options) : receiver(options), sender(options) {}

  bool send_and_receive(std::uint64_t word) {
    Notification arrival;
    if (terminus.connect(slot.ticket(), kPatience) != Status::ok) return false;
    Status status = Status::no_place;
    while (status == Status::no_place || status == Status::queue_full) {
      if (terminus.wait_for_place(slot.ticket(), kPatience) != Status::ok) return false;
      status = terminus.send_fast(slot.ticket(), {}, word);
    }
    return status == Status::ok && queue.receive(arrival, kPatience) == Status::ok && arrival.word == word;
  }

  Interface receiver, sender;
  MessageArea area{receiver, 4096};
  NotificationQueue queue{receiver};
  Slot slot{area, queue, {.places = 4}};
  Terminus terminus{sender};
};

class Guests : public WithManagers {};

// --- threads that are cancelled

// Runs `work` in a thread with a cancellation pending. True: it came to its end, and the cancellation acted
// then.
bool survives_cancellation(const std::function<void()>& work) {
  struct Task {
    const std::function<void()>& work;
    std::atomic<bool> done{false};
  } task{work};
  const auto main = [](void* given) -> void* {
    auto& mine = *static_cast<Task*>(given);
    pthread_cancel(pthread_self());
    mine.work();
    mine.done = true;
    pthread_testcancel();
    return nullptr;
  };
  pthread_t thread{};
  void* result = nullptr;
  if (pthread_create(&thread, nullptr, main, &task) != 0 || pthread_join(thread, &result) != 0) return false;
  return task.done && result == PTHREAD_CANCELED;
}

TEST_F(Guests, calls_are_no_cancellation_points) {
  in_child([&] {
    std::string wrong = "nothing";
    EXPECT_TRUE(survives_cancellation([&] {
      Pair pair(options());
      if (pair.queue.descriptor() < 0) wrong = "descriptor";
      pair.receiver.publish("here", pair.slot.ticket());
      if (pair.sender.lookup("here", kPatience) != pair.slot.ticket()) wrong = "lookup";
      if (thrown_by([&] { static_cast<void>(pair.sender.lookup("nobody", 1ms)); }) != ErrorCode::timed_out)
        wrong = "time";
      for (std::uint64_t i = 0; i < 3; ++i)
        if (!pair.send_and_receive(i)) wrong = "messages";
      Notification none;
      if (pair.queue.receive(none, 1ms) != Status::timed_out) wrong = "receive";
      if (pair.receiver.wait_attached(false, 1ms) != Status::timed_out) wrong = "wait_attached";
      pair.receiver.withdraw("here");
    })) << wrong;
    EXPECT_TRUE(survives_cancellation([&] {
      Interface interface(options());
      const MessageArea shown(interface, 4096, Sharing::mapped_read_only);
      MessageArea durable(interface, AreaFile{.path = folder_.file("area")}, 4096);
      if (durable.sync(0, 4096, kPatience) != Status::ok) wrong = "sync";
      const SendBufferArea area(interface, 4096);
      (void)durable.huge_bytes();
      interface.cancel();
    })) << wrong;
    EXPECT_TRUE(survives_cancellation([&] {
      Managers both(options(), options());
      DatagramReceiver door(both.receiver, 64);
      DatagramSender knocks(both.sender, door.make_seed());
      TaggedReceiver board(both.receiver, 64);
      TaggedSender writes(both.sender, board.make_seed(), kPatience);
      Datagram datagram;
      Tagged tagged;
      if (knocks.deliver(bytes_of("x"), kPatience) != Status::ok) wrong = "deliver";
      if (door.receive(datagram, kPatience) != Status::ok) wrong = "datagram";
      if (writes.send(bytes_of("x"), 0, 1, kPatience) != Status::ok) wrong = "tagged";
      if (board.get_tag(tagged, kPatience) != Status::ok) wrong = "tag";
      StreamReceiver stream(both.receiver);
      if (both.receiver.descriptor() < 0) wrong = "a manager's descriptor";
    })) << wrong;
    EXPECT_TRUE(survives_cancellation([&] {
      Interface interface(options());
      Segment segment(interface, SegmentOptions{.bytes = 4096});
      if (segment.control_descriptor() < 0 || segment.data_descriptor() < 0) wrong = "descriptors";
      Membership members({.node = folder_.file("node")});
      Membership::Event event;
      if (members.wait(event, 1ms) != Status::timed_out) wrong = "members";
    })) << wrong;
    EXPECT_EQ(wrong, "nothing");
  });
}

TEST_F(Guests, calls_from_c_are_no_cancellation_points) {
  in_child([&] {
    hamlyn_status status[7] = {-1, -1, -1, -1, -1, -1, -1};
    const std::string socket = folder_.file("node");
    EXPECT_TRUE(survives_cancellation([&] {
      hamlyn_interface_options options{};
      options.size = sizeof options;
      options.node = socket.c_str();
      options.flags = HAMLYN_NO_START;
      hamlyn_interface* interface = nullptr;
      hamlyn_queue* queue = nullptr;
      hamlyn_ticket ticket{};
      int descriptor = -1, attached = 0;
      status[0] = hamlyn_interface_make(&options, &interface);
      status[1] = hamlyn_queue_make(interface, 0, &queue);
      status[2] = hamlyn_queue_descriptor(queue, &descriptor);
      status[3] = hamlyn_interface_attached(interface, &attached, nullptr);
      status[4] = hamlyn_queue_free(queue);
      status[5] = hamlyn_lookup(interface, "nobody", 1'000'000, &ticket);
      status[6] = hamlyn_interface_free(interface);
    }));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(status[i], HAMLYN_OK) << i;
    EXPECT_EQ(status[5], HAMLYN_TIMED_OUT);
    EXPECT_EQ(status[6], HAMLYN_OK);
  });
}

// --- descriptors

TEST_F(Guests, a_program_that_closes_all_descriptors_finds_nothing_written_into_its_files) {
  Actor program([&](Line&) {
    auto pair = std::make_unique<Pair>(options());
    auto segment = std::make_unique<Segment>(pair->receiver, SegmentOptions{.bytes = 4096});
    auto members = std::make_unique<Membership>(Membership::Options{.node = folder_.file("node")});
    auto durable =
        std::make_unique<MessageArea>(pair->receiver, AreaFile{.path = folder_.file("area")}, 4096);
    if (pair->queue.descriptor() < 0 || segment->control_descriptor() < 0 || segment->data_descriptor() < 0)
      return 1;
    if (!pair->send_and_receive(0) || pair->queue.poll()) return 2;  // which arms the descriptor
    if (::close_range(3, ~0u, 0) != 0) return 3;
    const OwnFiles files;
    if (!pair->send_and_receive(1) || pair->queue.poll()) return 4;
    pair->receiver.publish("here", pair->slot.ticket());
    if (pair->sender.lookup("here", kPatience) != pair->slot.ticket()) return 5;
    std::memset(durable->bytes().data(), 'x', 4096);
    if (durable->sync(0, 4096, kPatience) != Status::ok) return 6;
    Membership::Event event;
    if (members->wait(event, 1ms) != Status::ok || event.change != Membership::Change::daemon_gone) return 7;
    if (members->wait(event, kPatience) != Status::invalid) return 8;
    if (!files.untouched()) return 9;
    pollfd wait{pair->queue.descriptor(), POLLIN, 0};  // a new one
    if (::poll(&wait, 1, 0) != 1 || pair->queue.poll() || ::poll(&wait, 1, 0) != 0) return 10;
    if (!pair->send_and_receive(2)) return 11;
    durable.reset();
    members.reset();
    segment.reset();
    pair.reset();
    return files.untouched() ? 0 : 12;
  });
  EXPECT_EQ(program.wait(), 0);
}

// A younger one of ours may have the number.
TEST_F(Guests, of_two_queues_with_one_descriptor_the_younger_has_it) {
  Actor program([&](Line&) {
    Pair pair(options());
    auto old = std::make_unique<NotificationQueue>(pair.receiver);
    const int descriptor = old->descriptor();
    if (::close(descriptor) != 0 || pair.queue.descriptor() != descriptor) return 1;
    pollfd wait{descriptor, POLLIN, 0};
    if (old->poll() || ::poll(&wait, 1, 0) != 1) return 2;  // made readable, and not read by the other
    if (pair.queue.poll() || ::poll(&wait, 1, 0) != 0) return 3;
    old.reset();
    if (!pair.send_and_receive(1)) return 4;
    return ::fcntl(descriptor, F_GETFD) >= 0 ? 0 : 5;
  });
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(Guests, an_interface_has_no_descriptor_in_the_table_of_the_process) {
  Actor program([&](Line&) {
    const int before = ::dup(0);
    ::close(before);
    const Pair pair(options());
    const int after = ::dup(0);
    return before == after ? 0 : 1;
  });
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(Guests, limits_and_dumpability_may_be_lowered_later) {
  Actor program([&](Line&) {
    Pair pair(options());
    if (!pair.send_and_receive(0)) return 1;
    const rlimit none{0, 0};
    for (const auto what : {RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_FSIZE, RLIMIT_MEMLOCK})
      if (::setrlimit(what, &none) != 0) return 2;
    if (::prctl(PR_SET_DUMPABLE, 0) != 0) return 3;
    pair.receiver.publish("here", pair.slot.ticket());
    return pair.sender.lookup("here", kPatience) == pair.slot.ticket() && pair.send_and_receive(1) ? 0 : 4;
  });
  EXPECT_EQ(program.wait(), 0);
}

// --- signals, and threads that end

// Whether the process's first thread has ended, and the process lives on.
bool first_thread_ended(pid_t process) {
  const std::string id = std::to_string(process);
  const std::string stat = read_file("/proc/" + id + "/task/" + id + "/stat");
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat.substr(name_end + 2, 1) == "Z";
}

// As pthread_exit, but for the unwinding, which gtest's frames would not like.
[[noreturn]] void end_thread() {
  ::syscall(SYS_exit, 0);
  std::abort();
}

int after_the_first_thread(const Interface::Options& options, void (*handler)(int)) {
  Actor program([&](Line&) {
    static std::optional<Interface> interface;
    interface.emplace(options);
    ::signal(SIGTERM, handler);
    end_thread();
    return 1;
  });
  EXPECT_TRUE(eventually([&] { return first_thread_ended(program.pid()); }));
  program.signal(SIGTERM);
  return program.wait();
}

TEST_F(Guests, a_process_whose_threads_have_all_ended_is_ended_by_signals) {
  EXPECT_EQ(after_the_first_thread(options(), SIG_DFL), 128 + SIGTERM);
  EXPECT_EQ(after_the_first_thread(options(), [](int) { ::_exit(7); }), 7);
}

TEST_F(Guests, signals_that_a_program_has_blocked_stay_for_it) {
  Actor program([&](Line& line) {
    sigset_t term;
    ::sigemptyset(&term);
    ::sigaddset(&term, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &term, nullptr);
    const Interface interface(options());
    line.put('.');
    if (!line.take<char>()) return 1;
    ::sigset_t waiting;
    if (::sigpending(&waiting) != 0 || ::sigismember(&waiting, SIGTERM) != 1) return 2;
    int got = 0;
    return ::sigwait(&term, &got) == 0 && got == SIGTERM ? 0 : 3;
  });
  ASSERT_TRUE(program.line().take<char>());
  program.signal(SIGTERM);
  program.line().put('.');
  EXPECT_EQ(program.wait(), 0);
}

// --- callbacks, modules, the end of the process

TEST_F(Guests, an_exception_out_of_process_arrival_ends_the_process) {
  Actor program([&](Line&) {
    Managers both(options(), options());
    OwnReceiver receiver(both.receiver,
                         [](const Notification&) { throw std::runtime_error("thrown by a callback"); },
                         {.places = 1});
    Terminus terminus(both.sender.interface());
    if (terminus.wait_for_place(receiver.ticket(), kPatience) != Status::ok) return 1;
    if (terminus.send_fast(receiver.ticket(), {}) != Status::ok) return 2;
    (void)both.receiver.wait(kPatience);
    return 3;
  });
  EXPECT_EQ(program.wait(), 128 + SIGABRT);
}

TEST_F(Guests, exit_destroys_what_is_static) {
  Actor program([&](Line&) {
    static std::optional<Pair> pair;
    pair.emplace(options());
    if (pair->queue.descriptor() < 0 || !pair->send_and_receive(1)) return 1;
    std::exit(0);
  });
  EXPECT_EQ(program.wait(), 0);
}

#ifdef HAMLYN_SHARED_LIBRARY
TEST_F(Guests, the_shared_library_stays_when_a_plugin_is_closed) {
  Actor program([&](Line&) {
    void* const library = ::dlopen(HAMLYN_SHARED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 1;
    const auto make =
        reinterpret_cast<decltype(&hamlyn_interface_make)>(::dlsym(library, "hamlyn_interface_make"));
    const auto id = reinterpret_cast<decltype(&hamlyn_interface_id)>(::dlsym(library, "hamlyn_interface_id"));
    const std::string socket = folder_.file("node");
    hamlyn_interface_options options{};
    options.size = sizeof options;
    options.node = socket.c_str();
    options.flags = HAMLYN_NO_START;
    hamlyn_interface* interface = nullptr;
    if (make(&options, &interface) != HAMLYN_OK) return 2;
    std::uint64_t number = 0;
    if (::dlclose(library) != 0) return 3;
    Dl_info where{};
    if (::dladdr(reinterpret_cast<void*>(id), &where) == 0) return 4;
    return id(interface, &number) == HAMLYN_OK && number != 0 ? 0 : 5;
  });
  EXPECT_EQ(program.wait(), 0);
}
#endif

}  // namespace
}  // namespace hamlyn::test
