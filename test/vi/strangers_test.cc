// Programs of strangers, who know VIPL 1.0 and nothing of Hamlyn: they run as they are.
#include "test/vi/vipl_party.h"

namespace hamlyn::test {
namespace {

class ViStrangers : public Vipl {
 protected:
  void run(const std::string& program, const std::string& count) {
    Command::Options options;
    options.environment["HAMLYN_NODE"] = this->options().node;
    const Finished done = Command({program, count}, options).wait();
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.err, "");
  }
};

TEST_F(ViStrangers, pass_a_token_in_a_ring) {
  for (const char* processes : {"2", "5"}) run(HAMLYN_VI_STRANGER_RING, processes);
}

TEST_F(ViStrangers, serve_clients_by_remote_writes) {
  for (const char* clients : {"1", "4"}) run(HAMLYN_VI_STRANGER_CLAN, clients);
}

}  // namespace
}  // namespace hamlyn::test
