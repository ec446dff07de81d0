#pragma once
// A random program: interfaces that send to each other, links and processes that die, all decided by one
// seed. It keeps books of what must happen, and throws when something else does.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "fabric/sim/sim_link.h"
#include "fabric/sim/sim_net.h"
#include "interface/terminus.h"
#include "test/support/receiving.h"

namespace hamlyn::test {

class Program {
 public:
  explicit Program(std::uint64_t seed);
  ~Program();

  // Runs it to its end; throws std::runtime_error with what is wrong.
  void run();
  std::uint64_t delivered() const noexcept { return delivered_; }
  std::uint64_t lost() const noexcept { return lost_; }
  // Of the whole run, in order: the same seed must give the same number.
  std::uint64_t digest() const noexcept { return digest_; }

 private:
  static constexpr std::size_t kEntries = 12;
  static constexpr std::size_t kRegion = 4096;      // of an entry, in the area
  static constexpr std::size_t kFastPlaces = 1024;  // of 16 bytes, each for one message at a time
  static constexpr std::uint64_t kSteps = 600;

  // A process: its interface, its receive side, its send side.
  struct Process {
    Process(std::uint64_t number, sim::Generator& chance);
    void drop_links();

    Party party;
    interface::Queue* queues[2];
    Area area{kEntries * kRegion};
    Area fast_area{kFastPlaces * 16};
    std::unique_ptr<TestSlot> counted;
    std::unique_ptr<TestSlot> fast;
    std::unique_ptr<interface::Terminus> termini[2];
    std::array<bool, kEntries> entry_used{};  // a message is on its way to it, or not read yet
    std::vector<std::uint32_t> to_arm;        // read, and not armed again yet
    std::map<std::size_t, std::unique_ptr<sim::SimLink>> links;  // by peer
    std::uint64_t ends = 0;                                      // links that ended here
    std::uint64_t ends_told = 0;                                 // notifications of that
    bool alive = true;
  };

  struct Message {
    std::size_t from, to;
    bool fast;
    std::uint32_t entry;
    std::vector<std::byte> data, metadata;
    SendHandle handle;
    interface::Terminus* terminus;
    bool delivered = false;
    bool may_be_lost = false;  // a link between the two has ended since it was sent
    bool over = false;         // its entry is free again
  };

  Process& pick() { return *processes_[chance_.below(processes_.size())]; }
  std::size_t number_of(std::uint64_t interface) const noexcept {
    return static_cast<std::size_t>(interface - 1);
  }

  void step();
  void send_counted(Process& from);
  void send_fast(Process& from);
  bool over(Process& from, std::size_t to);
  void read(Process& process, interface::Queue& queue, std::size_t most);
  void take_message(Process& process, const Notification& n);
  void take_failure(Process& process, const Notification& n);
  void arm(Process& process);
  void keep_links(Process& process, bool at_once);
  void join(std::size_t one, std::size_t other);
  void cut(Process& process, std::size_t peer);
  void kill(Process& process);
  void free_lost_entries(Process& process, std::size_t peer);
  void settle();
  void check_end();
  void note(std::uint64_t what) noexcept { digest_ = (digest_ ^ what) * 0x100000001B3u; }
  Message* message_for(std::size_t to, std::uint32_t entry) noexcept;

  sim::Generator chance_;
  std::unique_ptr<sim::SimNet> net_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Message>> messages_;
  std::uint64_t delivered_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t digest_ = 0xCBF29CE484222325u;
};

}  // namespace hamlyn::test
