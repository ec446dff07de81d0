// A stream of prices, from one process to another.
//
//   stream          receives; starts itself a second time as the sender
//   stream NAME     sends to whoever has published NAME
#include <hamlyn/hamlyn.h>

#include <cstdio>
#include <string>

#include "check.h"
#include "spawn_self.h"

namespace {

int receive() {
  const std::string name = "stream." + std::to_string(getpid());
  SecondProcess sender{name};
  hamlyn::Manager manager;
  hamlyn::StreamReceiver prices{manager};
  manager.publish(name, prices.make_seed());
  std::size_t records = 0, bytes = 0;
  for (const hamlyn::Record& record : prices) {  // in place; released with the next turn of the loop
    ++records;
    bytes += record.bytes().size();
  }
  std::printf("%zu records, %zu bytes, and the sender has closed\n", records, bytes);
  return sender.wait() ? 0 : 1;
}

int send(const char* name) {
  hamlyn::Manager manager;
  hamlyn::StreamSender prices{manager, manager.lookup(name)};
  const std::string long_one(300000, '*');
  for (int i = 0; i < 100000; ++i) {
    // Short records are put together; long ones go as they are, into a longer buffer if need be.
    check(i % 1000 == 0 ? prices.send(long_one) : prices.send("ACME 12.5"));
  }
  check(prices.close());  // the receiver has everything
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? send(words[1]) : receive());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stream: %s\n", error.what());
    return 1;
  }
}
