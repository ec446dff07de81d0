#pragma once
// A wire between hosts, in virtual time, that does to frames whatever a network may: it
// loses, repeats, delays and reorders them, takes none for a while, and lets go of them late. What it does is
// decided by one seed.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "fabric/ofi/wire.h"
#include "fabric/sim/generator.h"

namespace hamlyn::simulation {

class RoughPort;

class RoughNet {
 public:
  struct Weather {
    std::uint64_t least_delay = 1'000;  // nanoseconds
    std::uint64_t most_delay = 100'000;
    std::uint64_t lost_one_in = 0;  // 0: none
    std::uint64_t repeated_one_in = 0;
    std::uint64_t not_now_one_in = 0;  // times that the wire takes no frame
    std::size_t frame = ofi::kFrameLimit;
    // The hosts at the two ends of each way have different byte orders: what one of them would have done to
    // the numbers of a packet is done on the way.
    bool orders_differ = false;
  };

  RoughNet(std::uint64_t seed, const Weather& weather) : weather_(weather), chance_(seed) {}

  std::unique_ptr<RoughPort> make_port();
  std::uint64_t now() const noexcept { return now_; }
  void pass(std::uint64_t time) noexcept { now_ += time; }
  sim::Generator& chance() noexcept { return chance_; }
  Weather& weather() noexcept { return weather_; }
  // Nothing gets from one to the other from now on, until it is mended.
  void cut(std::uint64_t from, std::uint64_t to) { cuts_[{from, to}] = true; }
  void mend(std::uint64_t from, std::uint64_t to) { cuts_.erase({from, to}); }
  void mend_all() { cuts_.clear(); }
  // Puts bytes before a port as they are.
  void inject(std::uint64_t to, std::vector<std::byte> bytes);
  std::uint64_t lost = 0, repeated = 0;
  // Mishap of a frame from one to another; may be empty.
  enum class Mishap : std::uint8_t { lost, repeated, overtaken };
  std::function<void(Mishap, std::uint64_t from, std::uint64_t to)> on_mishap;

 private:
  friend class RoughPort;
  void meet(Mishap mishap, std::uint64_t from, std::uint64_t to);
  void carry(std::uint64_t from, std::uint64_t to, std::vector<std::byte> bytes);

  Weather weather_;
  sim::Generator chance_;
  std::uint64_t now_ = 1;
  std::vector<RoughPort*> ports_;  // by address; null when gone
  std::map<std::pair<std::uint64_t, std::uint64_t>, bool> cuts_;
};

class RoughPort final : public ofi::Wire {
 public:
  RoughPort(RoughNet& net, std::uint64_t address) : net_(net), address_(address) {}
  ~RoughPort() override { net_.ports_[address_] = nullptr; }

  std::uint64_t address() const noexcept { return address_; }
  std::uint64_t overruns = 0;  // frames that came and found no buffer
  std::vector<std::byte> last_sent;
  // Buffers of either kind that are in use.
  std::size_t frames_out() const noexcept { return frames_.size() - free_frames_.size(); }
  std::size_t arrivals_out() const noexcept { return arrivals_.size() - free_arrivals_.size(); }
  bool quiet() const noexcept { return under_way_.empty() && inbox_.empty(); }
  // When poll() next finds something.
  std::uint64_t next_time() const noexcept;

  std::uint64_t now() noexcept override { return net_.now(); }
  void expect(std::uint32_t links) override;
  ofi::Frame* take_frame() noexcept override;
  bool frame_free() const noexcept override { return !free_frames_.empty(); }
  void give_back(ofi::Frame& frame) noexcept override { free_frames_.push_back(&frame); }
  void give_back(ofi::Arrival& arrival) noexcept override;
  bool send(ofi::Destination to, ofi::Frame& frame) noexcept override;
  bool send_short(ofi::Destination to, std::span<const std::byte> frame) noexcept override;
  bool poll(ofi::Sink& sink) noexcept override;
  // An address is the port's, in 8 bytes.
  std::vector<std::byte> whole_address() const;
  ofi::Destination insert(std::span<const std::byte> address) noexcept override;
  void forget(ofi::Destination) noexcept override {}

 private:
  friend class RoughNet;
  struct Coming {
    std::uint64_t time;
    std::uint64_t number;
    std::vector<std::byte> bytes;
    bool operator>(const Coming& other) const noexcept {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  // Bytes that came stand in memory that ends where they end.
  struct Came : ofi::Arrival {
    std::vector<std::byte> memory;
  };
  struct Sending {
    std::uint64_t until;
    ofi::Destination to;
    ofi::Frame* frame;
  };

  RoughNet& net_;
  std::uint64_t address_;
  std::deque<std::unique_ptr<std::byte[]>> memory_;  // of the frames that were ever taken: few of many
  std::deque<ofi::Frame> frames_;
  std::deque<Came> arrivals_;
  std::vector<ofi::Frame*> free_frames_;
  std::vector<Came*> free_arrivals_;
  std::vector<Sending> under_way_;
  std::priority_queue<Coming, std::vector<Coming>, std::greater<>> inbox_;
  std::map<std::uint64_t, std::uint64_t> last_coming_;  // when, by who sent it
  std::uint64_t next_number_ = 0;
};

}  // namespace hamlyn::simulation
