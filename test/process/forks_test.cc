// Children that are forked while their parent does something for the first time, or loads libfabric, when
// that and the dynamic linker hold locks of their own. A program of its own, each test in a process of its
// own.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/marked_descriptor.h"
#include "fabric/ofi/endpoint.h"
#include "fabric/ofi/libfabric.h"
#include "library/memory/area_range.h"
#include "library/memory/wiring.h"
#include "test/support/command.h"

namespace hamlyn::test {
namespace {

void open_and_close() { const ofi::Endpoint own({.address = "127.0.0.1", .frames = 4, .buffers = 4}); }

bool loaded() {
  std::ifstream maps("/proc/self/maps");
  return std::string(std::istreambuf_iterator<char>(maps), {}).find("libfabric.so") != std::string::npos;
}

class Children {
 public:
  ~Children() {
    for (const pid_t child : there_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  void fork(const std::function<void()>& work) {
    there_.push_back(::fork());
    if (there_.back() != 0) return;
    work();
    ::_exit(0);
  }
  // How many have not ended yet.
  std::size_t left() {
    std::erase_if(there_, [](pid_t child) {
      int status = -1;
      if (::waitpid(child, &status, WNOHANG) != child) return false;
      EXPECT_EQ(status, 0);
      return true;
    });
    return there_.size();
  }

 private:
  std::vector<pid_t> there_;
};

// For the first time in this process, while others come to be; each of those can do what it does.
void is_done_while_it_forks(const std::function<void()>& parents, const std::function<void()>& childs) {
  Children children;
  std::atomic<bool> done = false;
  std::thread does([&] {
    parents();
    done = true;
  });
  while (!done) {
    if (children.left() < 8) children.fork(childs);
  }
  does.join();
  EXPECT_TRUE(eventually([&] { return children.left() == 0; })) << children.left() << " wait for ever";
}

// A child opens its own if its parent had begun to load libfabric: without that it would only take its time.
TEST(Forks, before_and_while_libfabric_is_loaded_make_children_that_can_load_it) {
  ASSERT_FALSE(loaded()) << "the case is not this one";
  is_done_while_it_forks(open_and_close, [] {
    ofi::NoForks::check();
    { const ofi::NoForks guard; }
    if (loaded()) open_and_close();
  });
}

TEST(Forks, before_there_is_a_first_area_make_children_that_can_have_one) {
  static std::byte memory[64];
  const auto one = [] { const library::AreaRange range(memory, false); };
  is_done_while_it_forks(one, one);
}

TEST(Forks, before_a_descriptor_is_marked_make_children_that_can_mark_one) {
  const auto one = [] { base::MarkedDescriptor().adopt(base::FileDescriptor(::eventfd(0, EFD_CLOEXEC))); };
  is_done_while_it_forks(one, one);
}

TEST(Forks, before_a_page_is_locked_make_children_that_can_lock_one) {
  static std::byte memory[64];
  const auto one = [] { library::Wiring().lock(memory); };
  is_done_while_it_forks(one, one);
}

}  // namespace
}  // namespace hamlyn::test
