#pragma once
// Services that a simulated process's interface has outside of itself: its host, which it asks for links and
// mappings; and the gate by which everything comes in.
#include <array>
#include <list>

#include "interface/gate.h"
#include "library/host_services.h"
#include "simulation/host/host.h"

namespace hamlyn::simulation {

class SimulatedServices final : public library::HostServices, public interface::Gate {
 public:
  SimulatedServices(Host& host, Inhabitant& process, library::Engine& engine);
  ~SimulatedServices() override;

  library::Engine& engine() noexcept { return engine_; }

  std::uint64_t interface_id() const noexcept override { return process_.number; }
  void publish(std::string_view name, const Ticket& ticket, Rights rights) override;
  void withdraw(std::string_view name) override;
  Ticket lookup(std::string_view name, const LookupOptions& options, Registrant* who) override;
  void cancel() noexcept override { move(); }
  std::shared_ptr<library::NameRequest> begin_lookup(std::string_view name) override;
  bool lookup_done(const library::NameRequest& request) const noexcept override { return request.done; }
  Ticket end_lookup(const std::shared_ptr<library::NameRequest>& request) override;
  void give_up_lookup(const std::shared_ptr<library::NameRequest>& request) noexcept override;
  void have_done(const std::function<void()>& call) override { call(); }
  shm::Mapping make_area(std::size_t bytes, std::uint32_t& number) override;
  void drop_area(std::uint32_t number) noexcept override;
  void take_area_bytes(std::uint64_t) override {}
  void give_back_area_bytes(std::uint64_t) noexcept override {}
  std::byte* make_mapped_area(std::byte* at, std::size_t bytes, shm::Writers writers,
                              interface::MappedWords** words) override {
    return areas_.make(at, bytes, writers, words);
  }
  void renew_mapped_area(std::byte* data) override { areas_.renew(data); }
  void drop_mapped_area(std::byte* data, bool stays) noexcept override { areas_.drop(data, stays); }
  std::shared_ptr<library::MappingRequest> begin_import(const Ticket& ticket) override;
  bool import_done(const library::MappingRequest& import) const noexcept override { return import.done; }
  library::ImportAnswer end_import(const std::shared_ptr<library::MappingRequest>& import) override;
  void give_up_import(const std::shared_ptr<library::MappingRequest>& import) noexcept override;
  void want_link(std::uint64_t peer) noexcept override;
  void attention() noexcept override;

  // interface::Gate
  bool arrive(interface::Core& core) noexcept override;

  // By the host.
  void wants_no_more(std::uint64_t peer) noexcept { wanted_.erase(peer); }
  void link_made(std::uint64_t peer);
  void refuse(std::uint64_t peer, LinkReason reason) noexcept;
  void fail_imports(std::uint64_t peer) noexcept;

 private:
  using MappingRequest = std::shared_ptr<library::MappingRequest>;

  // A send buffer area, as those see it to whom it is shown.
  struct Area {
    base::FileDescriptor memfd;
    const std::byte* shown = nullptr;  // null: nobody has seen it

    const std::byte* as_shown(std::vector<shm::Mapping>& all, std::size_t bytes);
  };

  void show_areas(std::uint64_t peer);
  void ask(const MappingRequest& import);
  void answer(const MappingRequest& import);
  void finish(library::MappingRequest& import, ErrorCode error) noexcept;
  // Has those who wait for a name look again.
  void move() noexcept { word_.fetch_add(1); }
  // Finds the names that are looked for, a while from now.
  void look_for_names();
  void find_names();
  // Waits for that, at most until then. False: it is over, or the process is.
  bool wait(library::Setting::Time until) noexcept;

  Host& host_;
  Inhabitant& process_;
  library::Engine& engine_;
  library::HandedOut handed_out_;  // hands nothing out
  library::MappedAreas areas_;
  std::array<Area, interface::kAreaLimit> send_areas_;
  std::set<std::uint64_t> showing_;  // peers that are shown some soon
  std::set<std::uint64_t> wanted_;
  std::list<MappingRequest> imports_;
  std::list<std::shared_ptr<library::NameRequest>> lookups_;  // that are not done
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace hamlyn::simulation
