// `hamlyn serve`: serves a directory until it is interrupted.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/standard_output.h"
#include "hamlyn/files.h"
#include "hamlyn/protocols/manager.h"
#include "tool/failure.h"
#include "tool/files/options.h"
#include "tool/stop.h"

namespace hamlyn::tool {
namespace {

std::uint32_t threads_for(const ServeOptions& options) {
  return options.threads != 0 ? options.threads : std::clamp(std::thread::hardware_concurrency(), 2u, 8u);
}

void tell(const ServeOptions& options) {
  if (options.json)
    base::print(nlohmann::ordered_json{{"serving", options.directory}, {"name", options.name}}.dump() + "\n");
  else
    base::print(fmt::format("serving {} as '{}'\n", options.directory, options.name));
  base::flush_output();  // whoever has started it waits for that, perhaps
}

// Other threads serve beside this one, and leave with it.
class Servants {
 public:
  Servants(files::Server& server, std::uint32_t count) : server_(server) {
    try {
      for (std::uint32_t i = 0; i != count; ++i)
        threads_.emplace_back([&server] { static_cast<void>(server.run()); });
    } catch (...) {  // there are no more threads: those that there are leave
      leave();
      throw;
    }
  }
  ~Servants() { leave(); }
  Servants(const Servants&) = delete;
  Servants& operator=(const Servants&) = delete;

 private:
  void leave() {
    server_.stop();
    for (std::thread& each : threads_) each.join();
  }

  files::Server& server_;
  std::vector<std::thread> threads_;
};

}  // namespace

void run_serve(const ServeOptions& options) {
  Stop stop;
  Manager manager({.interface = {.node = options.node, .start_node = options.node.empty()}});
  const Stop::Cancels cancels(stop, manager);
  files::ServerOptions wanted{
      .state = options.state, .squash_root = options.squash_root, .trusted_network = options.trusted_network};
  if (options.data != 0) wanted.data = options.data;
  files::Server server(manager.interface(), options.directory, options.name, wanted);
  tell(options);
  const Servants servants(server, threads_for(options) - 1);
  const Status status = server.run();
  check_stop("serving");
  if (status != Status::ok) throw failure("the server has ended", status);
}

}  // namespace hamlyn::tool
