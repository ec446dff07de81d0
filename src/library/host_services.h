#pragma once
// Services that an interface needs of its host: its own identity, links, names, and memory that others may
// see.
// The control thread gives them (control.h); in a simulation, the simulation.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "fabric/shm/sealed_memory.h"
#include "hamlyn/core/interface.h"
#include "library/memory/mapped_area.h"

namespace hamlyn::internal_::library {

// A name that is looked for, and what has come of it. Guarded by whoever serves it.
struct NameRequest {
  std::string name;
  Ticket ticket;
  bool cancelled = false;
  bool done = false;
  std::optional<ErrorCode> error;
  std::string text;
};

class HostServices {
 public:
  HostServices() = default;
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;
  virtual ~HostServices() = default;  // ends all links

  virtual std::uint64_t interface_id() const noexcept = 0;

  // How this process stands with its node's daemon. In a simulation nobody is cut off.
  virtual Attachment attachment() const { return {}; }

  // Names. Throw Error.
  virtual void publish(std::string_view name, const Ticket& ticket, Rights rights) = 0;
  virtual void withdraw(std::string_view name) = 0;
  virtual Ticket lookup(std::string_view name, const LookupOptions& options, Registrant* who) = 0;
  virtual void cancel() noexcept = 0;
  // Looks for a name until somebody registers it, without a wait, and has everybody who waits look again when
  // it is done. Throws std::bad_alloc.
  virtual std::shared_ptr<NameRequest> begin_lookup(std::string_view name) = 0;
  virtual bool lookup_done(const NameRequest& request) const noexcept = 0;
  // Returns the ticket of one that is done. Throws Error.
  virtual Ticket end_lookup(const std::shared_ptr<NameRequest>& request) = 0;
  virtual void give_up_lookup(const std::shared_ptr<NameRequest>& request) noexcept = 0;

  // Has whoever keeps the links do something, and waits for it. What it throws is thrown here.
  virtual void have_done(const std::function<void()>& call) = 0;
  // For calls in the control thread: send buffer areas.
  virtual shm::Mapping make_area(std::size_t bytes, std::uint32_t& number) = 0;
  virtual void drop_area(std::uint32_t number) noexcept = 0;

  // For those who make areas that others may be shown: within the user's quota of bytes, or throws Error.
  // Says of what is given back.
  virtual void take_area_bytes(std::uint64_t bytes) = 0;
  virtual void give_back_area_bytes(std::uint64_t bytes) noexcept = 0;

  // For calls in the control thread: message areas that others may map (MappedAreas).
  virtual std::byte* make_mapped_area(std::byte* at, std::size_t bytes, shm::Writers writers,
                                      interface::MappedWords** words) = 0;
  virtual void renew_mapped_area(std::byte* data) = 0;
  virtual void drop_mapped_area(std::byte* data, bool stays) noexcept = 0;
  // Asks for a peer's slot without a wait, and has everybody who waits look again when it is done. Throws
  // std::bad_alloc.
  virtual std::shared_ptr<MappingRequest> begin_import(const Ticket& ticket) = 0;
  virtual bool import_done(const MappingRequest& import) const noexcept = 0;
  // Returns what came of one that is done. Throws Error.
  virtual ImportAnswer end_import(const std::shared_ptr<MappingRequest>& import) = 0;
  virtual void give_up_import(const std::shared_ptr<MappingRequest>& import) noexcept = 0;

  // Under the run lock, from the data path: never waits, never throws.
  virtual void want_link(std::uint64_t peer) noexcept = 0;
  virtual void attention() noexcept = 0;
};

}  // namespace hamlyn::internal_::library
