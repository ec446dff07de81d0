#pragma once
// Writes anything into all the memory that a rogue shares with a victim, in one of several ways. Each writes
// for a while and returns.
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "test/support/rogue.h"

namespace hamlyn::test {

// Tickets that the rogue has got.
struct ScribbleTargets {
  Ticket fast;
  std::vector<Ticket> entries;
};

class Scribbler {
 public:
  using Way = void (Scribbler::*)();

  Scribbler(RogueLink& link, const ScribbleTargets& targets, std::mt19937_64& random)
      : link_(link),
        targets_(targets),
        random_(random),
        words_(reinterpret_cast<std::uint64_t*>(&link.mine())) {}

  void everything();
  void everywhere_at_random();
  // The reader finds a packet, of which nothing else makes sense.
  void turns_with_anything_behind();
  // Leads that the link takes, over fields that are right but for one.
  void packets_with_one_wrong_field();
  // Whole ones, that change again at once, while they are being read.
  void packets_that_change();
  void credits();
  // Credits and cells' turns that go back: that nothing was taken, or less than before.
  void credits_backwards();
  void watch_and_bell();
  void single_bits();
  // The link goes on in a longer ring, where anything may stand.
  void grown_ring();
  // Packets whose data stand in an area that changes while it is copied, or somewhere else.
  void shown_area();
  // A slot that the victim maps, and the word that says whether it is still used.
  void mapped_slot();

  // Those that need nothing of the victim.
  static const std::array<Way, 11> kWays;

  // How often the victim has taken what a way is about.
  std::uint64_t reached() const noexcept { return reached_; }

 private:
  static constexpr std::size_t kWords = shm::kPage / 8;
  static constexpr std::size_t kAreaBytes = std::size_t{256} * 1024;

  bool answer(const library::LinkMessage& request);
  // Cells that were taken before the longer ring.
  static constexpr std::uint64_t grown_at() { return 1; }
  static void copy(const interface::Packet& packet, std::uint64_t* to);
  void store(std::size_t word, std::uint64_t value);
  std::size_t index_of(const interface::Packet* cell) const;
  // The one that the victim will look for, or near to it.
  std::uint32_t turn();
  const Ticket& some_ticket();
  interface::Packet some_packet();
  void publish(interface::Packet* to, interface::Packet packet);

  RogueLink& link_;
  const ScribbleTargets& targets_;
  std::mt19937_64& random_;
  std::uint64_t* const words_;
  shm::OwnedMemory area_;
  shm::OwnedMemory generation_;
  std::uint64_t reached_ = 0;
};

}  // namespace hamlyn::test
