// Shared memory within one process: each side has its own mapping of its own memfd, and a second, read-only
// one of the other's, exactly as two processes would.
#include <stdexcept>

#include "fabric/shm/shm_link.h"
#include "test/conformance/fabric.h"

namespace hamlyn::test {

namespace {

shm::Mapping shown(const shm::OwnedMemory& memory) {
  shm::ForeignMemory foreign = shm::map_foreign_memory(memory.memfd, memory.mapping.size());
  if (foreign.refusal != nullptr) throw std::runtime_error(foreign.refusal);
  return std::move(foreign.mapping);
}

class ShmFabric final : public Fabric {
 public:
  explicit ShmFabric(std::size_t mtu) : mtu_(mtu) {}

  void join(Party& one, Party& other) override {
    if (&one == &other) return join_oneself(one);
    shm::OwnedMemory first = shm::ShmLink::prepare_page(one.id, mtu_);
    shm::OwnedMemory second = shm::ShmLink::prepare_page(other.id, mtu_);
    shm::Mapping first_shown = shown(first), second_shown = shown(second);
    add(one, other, std::move(first.mapping), std::move(second_shown));
    add(other, one, std::move(second.mapping), std::move(first_shown));
  }

  // The page that the link shows is the one that it maps.
  void join_oneself(Party& one) {
    shm::OwnedMemory page = shm::ShmLink::prepare_page(one.id, mtu_);
    shm::Mapping page_shown = shown(page);
    add(one, one, std::move(page.mapping), std::move(page_shown));
  }

  // A link that wants to grow gets a ring, which the peer maps before it is used.
  void pass() override {
    ends_.each([&](std::uint64_t owner, std::uint64_t peer, shm::ShmLink& end) {
      if (!end.wants_growth()) return;
      end.growth_asked();
      shm::ShmLink* other = ends_.find(peer, owner);
      if (other == nullptr) return;
      shm::OwnedMemory ring = shm::make_sealed_memory(end.next_size() * interface::kCell);
      if (!other->continue_in(shown(ring))) throw std::runtime_error("grown before the former ring was left");
      end.continue_out(std::move(ring.mapping));
    });
    ends_.show_areas([&](const interface::SendArea& area) {
      for (const shm::OwnedMemory& memory : memories_) {
        if (memory.mapping.data() != area.data) continue;
        return static_cast<const std::byte*>(mappings_.emplace_back(shown(memory)).data());
      }
      throw std::runtime_error("an area in no memory of ours");
    });
  }
  std::byte* area_memory(std::size_t bytes) override {
    memories_.push_back(shm::make_sealed_memory(bytes));
    return static_cast<std::byte*>(memories_.back().mapping.data());
  }
  void withdraw(Party& owner, std::uint32_t area) override { ends_.withdraw(owner, area); }
  // What whoever keeps the links says now and then.
  void settle() override {
    ends_.each([](std::uint64_t, std::uint64_t, shm::ShmLink& end) { end.tell_taken(); });
  }
  void kill(Party& victim, Party& survivor) override { kill_of(ends_, victim, survivor); }
  void end(Party& at, Party& peer, WhyNoLink why) override { end_of(ends_, at, peer, why); }

 private:
  void add(Party& owner, Party& peer, shm::Mapping mine, shm::Mapping theirs) {
    const shm::ShmLink::PageCheck page = shm::ShmLink::check_page(theirs, peer.id);
    if (page.refusal != nullptr) throw std::runtime_error(page.refusal);
    ends_.add(owner, peer,
              std::make_unique<shm::ShmLink>(owner, owner.id, peer.id, page.mtu, std::move(mine),
                                             std::move(theirs)));
  }

  std::size_t mtu_;
  Ends<shm::ShmLink> ends_;
  std::vector<shm::OwnedMemory> memories_;
  std::vector<shm::Mapping> mappings_;
};

}  // namespace

std::unique_ptr<Fabric> make_shm_fabric(std::size_t mtu) { return std::make_unique<ShmFabric>(mtu); }

}  // namespace hamlyn::test
