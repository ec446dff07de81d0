#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "bench/peers.h"
#include "tool/perf/program.h"
#include "tool/perf/volume.h"

namespace hamlyn::tool::perf {
namespace {

constexpr const char* kResult = "result ";

bool runnable(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

// Where several MPIs are installed, the plain name may be another's.
std::string launcher(const std::string& name) {
  const std::string own = find_program(name + ".openmpi");
  return own.empty() ? find_program(name) : own;
}

std::vector<double> run(const std::string& launch, const std::string& program, Cores cores,
                        const std::vector<std::string>& arguments, bool ends_by_itself = true) {
  // The programs pin themselves to the two processors, hence no binding.
  std::vector<std::string> words{launch,
                                 "--allow-run-as-root",
                                 "--oversubscribe",
                                 "-n",
                                 "2",
                                 "--bind-to",
                                 "none",
                                 "--mca",
                                 "mpi_yield_when_idle",
                                 "0",
                                 "--mca",
                                 "pml",
                                 "ob1",
                                 "--mca",
                                 "btl",
                                 "self,vader",
                                 peer_program(program),
                                 std::to_string(cores.first),
                                 std::to_string(cores.second)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Program job{words, {{"OMPI_MCA_btl_base_warn_component_unused", "0"}}};
  const std::string text = job.output(std::chrono::seconds{20}, kResult);
  if (!ends_by_itself) job.process().stop(SIGTERM);
  job.process().wait();
  const std::size_t at = text.starts_with(kResult) ? 0 : text.find(std::string("\n") + kResult);
  if (at == std::string::npos) throw std::runtime_error(program + " gave no result: " + text);
  return {std::strtod(text.c_str() + text.find(' ', at), nullptr)};
}

}  // namespace

bool openmpi_installed() {
  return !launcher("mpirun").empty() && runnable(peer_program("peer_mpi_send")) &&
         runnable(peer_program("peer_mpi_touched"));
}

bool oshmem_installed() {
  return !find_program("oshrun").empty() && runnable(peer_program("peer_oshmem_put"));
}

Meter openmpi_send(std::size_t bytes) {
  return {.name = "peer.openmpi.send." + std::to_string(bytes) + ".oneway",
          .round = [bytes](Cores cores, int) {
            return run(launcher("mpirun"), "peer_mpi_send", cores, {std::to_string(bytes)});
          }};
}

Meter openmpi_touched(std::size_t bytes) {
  return {.name = "peer.openmpi.touched." + std::to_string(bytes) + ".bandwidth",
          .round = [bytes](Cores cores, int) {
            return run(
                launcher("mpirun"), "peer_mpi_touched", cores,
                {std::to_string(bytes), std::to_string(timed_messages(bytes)), std::to_string(kWindow)});
          }};
}

Meter oshmem_put() {
  // Debian 12's OSHMEM crashes when it is finalised, and its launcher takes two seconds over that: it is
  // stopped.
  const auto round = [](Cores cores, int) {
    return run(find_program("oshrun"), "peer_oshmem_put", cores, {}, false);
  };
  return {.name = "peer.oshmem.put.8.oneway", .round = round};
}

}  // namespace hamlyn::tool::perf
