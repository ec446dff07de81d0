// What strangers have made is given back where nobody waits for it.
#include "base/disposal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <semaphore>
#include <set>
#include <thread>
#include <vector>

#include "base/foreign.h"

namespace hamlyn::base {
namespace {

constexpr std::uint64_t kLarge = Disposal::kSmall + 1;

TEST(Disposal, FreesWhatIsLargeOnOneThreadOfItsOwnAndTheRestAtOnce) {
  constexpr int kItems = 100;
  std::counting_semaphore<> gate{0};
  std::counting_semaphore<> freed{0};
  std::atomic<int> small{0};
  std::mutex mutex;
  std::set<std::thread::id> threads;
  Disposal disposal([&](const Disposal::Item& item) {
    if (item.size <= Disposal::kSmall) return void(++small);
    gate.acquire();
    {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    freed.release();
  });
  char memory = 0;
  for (int i = 0; i < kItems; ++i) {
    disposal.unmap(&memory, kLarge);
    disposal.unmap(&memory, Disposal::kSmall);
  }
  EXPECT_EQ(small, kItems) << "though the thread has freed nothing yet";
  EXPECT_EQ(disposal.handed(), static_cast<std::uint64_t>(kItems));
  gate.release(kItems);
  for (int i = 0; i < kItems; ++i) freed.acquire();
  const std::lock_guard lock(mutex);
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

FileDescriptor memory_of(off_t bytes, int seals, off_t allocated = 0) {
  FileDescriptor out{::memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  EXPECT_TRUE(allocated == 0 || ::fallocate(out.get(), FALLOC_FL_KEEP_SIZE, 0, allocated) == 0);
  EXPECT_EQ(::ftruncate(out.get(), bytes), 0);
  EXPECT_EQ(::fcntl(out.get(), F_ADD_SEALS, seals), 0);
  return out;
}

// Nor what may still grow, nor what is large behind its end. What is refused stays in the socket.
TEST(Foreign, TakesNoMemoryThatIsLargerThanItsMessageMayHave) {
  constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;
  constexpr off_t kMost = 65536;
  struct Case {
    off_t bytes;
    int seals;
    off_t allocated;
    bool taken;
  };
  for (const auto& [bytes, seals, allocated, taken] :
       {Case{kMost, kSize, 0, true}, Case{kMost + 1, kSize, 0, false}, Case{off_t{1} << 40, kSize, 0, false},
        Case{kMost, F_SEAL_SHRINK, 0, false}, Case{kMost, F_SEAL_GROW, 0, false}, Case{kMost, 0, 0, false},
        Case{4096, kSize, off_t{4} << 20, false}}) {
    const FileDescriptor memory = memory_of(bytes, seals, allocated);
    auto [ours, theirs] = socket_pair();
    const std::byte word{1};
    const int fd = memory.get();
    ASSERT_EQ(send_message(theirs.get(), std::span(&word, 1), std::span(&fd, 1)), SocketState::ok);
    Foreign foreign;
    std::byte buffer{};
    const auto most = [](std::span<const std::byte>) { return std::uint64_t{kMost}; };
    const Received got = foreign.receive(ours.get(), std::span(&buffer, 1), 1, most);
    EXPECT_EQ(got.state, taken ? SocketState::ok : SocketState::malformed) << bytes << " " << seals;
    const ssize_t left = ::recv(ours.get(), &buffer, 1, MSG_PEEK | MSG_DONTWAIT);
    EXPECT_EQ(left, taken ? -1 : 1) << bytes << " " << seals;
  }
}

std::ptrdiff_t threads_here() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// What lies in their queues takes long to free.
TEST(Foreign, EndsSocketsByAFewThreadsAtATime) {
  constexpr std::size_t kBytes = 24 << 20;
  std::vector<FileDescriptor> sockets;
  for (std::size_t i = 0; i < Foreign::kMaxEnding + 3; ++i) {
    const FileDescriptor memory = memory_of(kBytes, F_SEAL_SHRINK | F_SEAL_GROW);
    ASSERT_EQ(::fallocate(memory.get(), 0, 0, kBytes), 0);
    auto [ours, theirs] = socket_pair();
    const std::byte word{1};
    const int fd = memory.get();
    ASSERT_EQ(send_message(theirs.get(), std::span(&word, 1), std::span(&fd, 1)), SocketState::ok);
    sockets.push_back(std::move(ours));
  }
  Foreign foreign;
  const std::ptrdiff_t before = threads_here();
  cpu_set_t one;  // of one processor they get little while this thread goes on
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  ::sched_setaffinity(0, sizeof one, &one);
  for (FileDescriptor& socket : sockets) {
    foreign.drop(std::move(socket));
    foreign.bury();
    EXPECT_LE(threads_here() - before, static_cast<std::ptrdiff_t>(Foreign::kMaxEnding));
  }
  ::sched_setaffinity(0, sizeof all, &all);
  while (foreign.unburied() != 0) foreign.bury();
}

}  // namespace
}  // namespace hamlyn::base
