// Children that are forked while their parent loads libfabric, when that and the dynamic linker hold locks of
// their own. A program of its own: nobody may have loaded it before.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "fabric/ofi/endpoint.h"
#include "fabric/ofi/libfabric.h"
#include "test/support/command.h"

namespace hamlyn::test {
namespace {

void open_and_close() { const ofi::Endpoint own({.address = "127.0.0.1", .frames = 4, .buffers = 4}); }

bool loaded() {
  std::ifstream maps("/proc/self/maps");
  return std::string(std::istreambuf_iterator<char>(maps), {}).find("libfabric.so") != std::string::npos;
}

// Each can wait for forks, and, if its parent had begun to load libfabric, opens its own: without that it
// would only take its time.
class Children {
 public:
  ~Children() {
    for (const pid_t child : there_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  void fork() {
    there_.push_back(::fork());
    if (there_.back() != 0) return;
    ofi::NoForks::check();
    { const ofi::NoForks guard; }
    if (loaded()) open_and_close();
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

TEST(Forks, before_and_while_libfabric_is_loaded_make_children_that_can_load_it) {
  ASSERT_FALSE(loaded()) << "the case is not this one";
  Children children;
  std::atomic<bool> opened = false;
  std::thread opens([&] {
    open_and_close();
    opened = true;
  });
  while (!opened) {
    if (children.left() < 8) children.fork();
  }
  opens.join();
  EXPECT_TRUE(eventually([&] { return children.left() == 0; })) << children.left() << " wait for ever";
}

}  // namespace
}  // namespace hamlyn::test
