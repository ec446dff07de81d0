// What strangers have made is given back where nobody waits for it.
#include "base/disposal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <semaphore>
#include <set>
#include <thread>
#include <vector>

#include "base/foreign.h"

namespace hamlyn::internal_::base {
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

// What lies in their queues may take long to free.
TEST(Foreign, EndsSocketsByAFewThreadsAtATime) {
  Foreign foreign;
  std::counting_semaphore<> started{0};
  std::counting_semaphore<> gate{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < Foreign::kMaxEnding; ++i) {
    threads.emplace_back([&] {
      foreign.ending().add(static_cast<int>(::gettid()));
      started.release();
      gate.acquire();
    });
    started.acquire();
  }
  auto [ours, theirs] = socket_pair();
  const std::byte word{1};
  ASSERT_EQ(send_message(theirs.get(), std::span(&word, 1)), SocketState::ok);
  foreign.drop(std::move(ours));
  foreign.close_pending();
  EXPECT_EQ(foreign.pending_closes(), 1u) << "as many threads end already as may at a time";
  gate.release();
  while (foreign.pending_closes() != 0) foreign.close_pending();
  gate.release(Foreign::kMaxEnding - 1);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hamlyn::internal_::base
