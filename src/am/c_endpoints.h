#pragma once
// Bundles and endpoints behind the handles of am.h. A handle is a number that points at nothing: a place, and
// how often it was used. So one that was freed means nothing, and finding one takes a comparison.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "am.h"
#include "base/namespaces.h"
#include "hamlyn/am/endpoint.h"

namespace hamlyn::internal_::am {

template <class Object, class Handle>
class Handles {
 public:
  static constexpr std::uint32_t kMost = 4096;

  // Null: there are as many as there may be. Under the registry's lock.
  Handle add(std::unique_ptr<Object>& object) noexcept {
    for (std::uint32_t index = 0; index != kMost; ++index) {
      Place& place = places_[index];
      if (place.object != nullptr) continue;
      place.object = std::move(object);
      const std::uintptr_t number = (std::uintptr_t{++place.uses} << 16 | index) << 4 | kMark;
      // Relaxed, as the load in `find`: who uses a handle was given it by who made it.
      place.handle.store(number, std::memory_order_relaxed);
      return reinterpret_cast<Handle>(number);
    }
    return nullptr;
  }
  // Null: no such handle.
  Object* find(Handle handle) const noexcept {
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    const Place& place = places_[number >> 4 & (kMost - 1)];
    if (place.handle.load(std::memory_order_relaxed) != number || number == 0) [[unlikely]]
      return nullptr;
    return place.object.get();
  }
  // Takes it out. Under the registry's lock.
  std::unique_ptr<Object> remove(Handle handle) noexcept {
    if (find(handle) == nullptr) return nullptr;
    Place& place = places_[reinterpret_cast<std::uintptr_t>(handle) >> 4 & (kMost - 1)];
    place.handle.store(0, std::memory_order_relaxed);
    return std::move(place.object);
  }
  // In a forked child: all of it is the parent's.
  void forget() noexcept {
    for (Place& place : places_) {
      place.handle.store(0, std::memory_order_relaxed);
      (void)place.object.release();
    }
  }
  template <class What>
  void each(What what) {
    for (Place& place : places_)
      if (place.object != nullptr)
        what(reinterpret_cast<Handle>(place.handle.load(std::memory_order_relaxed)), *place.object);
  }

 private:
  static constexpr std::uintptr_t kMark = 0xA;  // no handle is a small number

  struct Place {
    std::atomic<std::uintptr_t> handle{0};
    std::uint32_t uses = 0;
    std::unique_ptr<Object> object;
  };
  std::array<Place, kMost> places_;
};

struct CBundle {
  CBundle(Interface& interface, int of_type) : type(of_type), bundle(interface) {}

  const int type;
  hamlyn::am::Bundle bundle;
};

struct CEndpoint : hamlyn::am::Endpoint {
  CEndpoint(CBundle& bundle, eb_t of) : Endpoint(bundle.bundle), in(of) {}

  eb_t in;
  ep_t handle = nullptr;  // written before anybody has it
};

// Made by AM_Init.
struct Process {
  Interface interface;
  int owner = 0;  // the process that made it: a forked child has its parent's copy
};

// All of a process.
struct Registry {
  std::mutex lock;                   // while something is made or freed
  std::uint32_t inits = 0;           // under it
  std::unique_ptr<Process> process;  // under it
  Handles<CBundle, eb_t> bundles;
  Handles<CEndpoint, ep_t> endpoints;
};
Registry& registry() noexcept;

// Makes the process's interface if this is the first. AM_OK, AM_ERR_RESOURCE, AM_ERR_IN_USE.
int init() noexcept;

}  // namespace hamlyn::internal_::am
