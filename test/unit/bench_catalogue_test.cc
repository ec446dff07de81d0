#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "bench/catalogue.h"
#include "bench/derived.h"
#include "bench/targets.h"
#include "test/support/command.h"
#include "tool/perf/catalogue.h"

namespace hamlyn::tool::perf {
namespace {

std::vector<std::string> names(const std::vector<Meter>& meters) {
  std::vector<std::string> all;
  for (const Meter& meter : meters) all.push_back(meter.name);
  return all;
}

// Every peer, as installed: programs that nobody starts here.
class BenchCatalogue : public testing::Test {
 protected:
  BenchCatalogue() {
    for (const char* const name :
         {"ucx_perftest", "mpirun", "oshrun", "peer_mpi_send", "peer_mpi_touched", "peer_oshmem_put",
          "peer_fi_net", "peer_ucx_am", "peer_grpc", "peer_capnp", "peer_tcp_calls"}) {
      test::write_file(folder_.file(name), "");
      chmod(folder_.file(name).c_str(), 0700);
    }
    setenv("PATH", folder_.path().c_str(), 1);
    setenv("HAMLYN_PEER_DIR", folder_.path().c_str(), 1);
  }
  ~BenchCatalogue() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("HAMLYN_PEER_DIR");
  }

  const std::string path_ = getenv("PATH");
  const test::Folder folder_;
};

TEST_F(BenchCatalogue, PeersStandBehindWhatTheyAreComparedWith) {
  const std::vector<std::string> all = names(catalogue_with(true)), ours = names(catalogue());
  EXPECT_EQ(names(catalogue_with(false)), ours);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size())
      << "a figure stands there twice";
  std::vector<std::string> without_peers;
  std::copy_if(all.begin(), all.end(), std::back_inserter(without_peers),
               [](const std::string& name) { return !name.starts_with("peer."); });
  EXPECT_EQ(without_peers, ours);
  const auto short_ones = std::find(all.begin(), all.end(), "shm.get.16.roundtrip");
  const std::vector<std::string> behind{short_ones + 1, short_ones + 6};
  EXPECT_EQ(behind, (std::vector<std::string>{"peer.oshmem.put.8.oneway", "peer.ucx_posix.put.8.oneway",
                                              "peer.ucx_posix.am.8.oneway", "peer.ucx_posix.tag.8.oneway",
                                              "peer.openmpi.send.8.oneway"}));
}

TEST_F(BenchCatalogue, EachTargetIsOfFiguresThatCanBeMeasured) {
  std::vector<Figure> figures;
  for (const std::string& name : names(catalogue_with(true)))
    figures.push_back({name, std::string(unit_of(name)), {1, 1, 1, 1, 1}, false, 1, {1.0, 1.0}});
  add_derived(figures);
  for (const Target& target : all_targets()) {
    EXPECT_NE(find(figures, target.figure), nullptr) << target.figure;
    EXPECT_NE(find(figures, target.against), nullptr) << target.against;
  }
}

}  // namespace
}  // namespace hamlyn::tool::perf
