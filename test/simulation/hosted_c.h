#pragma once
// The C interface between processes of a simulated host.
#include <string>
#include <string_view>
#include <utility>

#include "hamlyn/hamlyn.h"
#include "test/simulation/hosted.h"

namespace hamlyn::test {

inline constexpr std::int64_t kMilli = 1'000'000, kSecond = 1000 * kMilli;

// A handle, which is given back even by a process that dies.
template <class Made, hamlyn_status (*kFree)(Made*)>
class Handle {
 public:
  Handle() = default;
  ~Handle() { reset(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  void reset() {
    const hamlyn_status status = kFree(std::exchange(it_, nullptr));
    EXPECT_EQ(status, HAMLYN_OK) << hamlyn_last_error();
  }
  Made** out() noexcept { return &it_; }
  operator Made*() noexcept { return it_; }

 private:
  Made* it_ = nullptr;
};
using CManager = Handle<hamlyn_manager, hamlyn_manager_free>;
using CArea = Handle<hamlyn_area, hamlyn_area_free>;
using CSendArea = Handle<hamlyn_send_area, hamlyn_send_area_free>;
using CQueue = Handle<hamlyn_queue, hamlyn_queue_free>;
using CSlot = Handle<hamlyn_slot, hamlyn_slot_free>;
using CTerminus = Handle<hamlyn_terminus, hamlyn_terminus_free>;
using CMappedSlot = Handle<hamlyn_mapped_slot, hamlyn_mapped_slot_free>;
using CDatagramReceiver = Handle<hamlyn_datagram_receiver, hamlyn_datagram_receiver_free>;
using CDatagramSender = Handle<hamlyn_datagram_sender, hamlyn_datagram_sender_free>;
using CStreamReceiver = Handle<hamlyn_stream_receiver, hamlyn_stream_receiver_free>;
using CStreamSender = Handle<hamlyn_stream_sender, hamlyn_stream_sender_free>;
using CTaggedReceiver = Handle<hamlyn_tagged_receiver, hamlyn_tagged_receiver_free>;
using CTaggedSender = Handle<hamlyn_tagged_sender, hamlyn_tagged_sender_free>;
using CSegment = Handle<hamlyn_segment, hamlyn_segment_free>;
using CImport = Handle<hamlyn_import, hamlyn_import_free>;

// One simulated process that programs in C: what its calls must answer, and its manager.
class CProcess {
 public:
  explicit CProcess(Hosted& the_all) : all(the_all) {
    ok(hamlyn_manager_make(nullptr, manager.out()), "no manager");
    ok(hamlyn_manager_interface(manager, &interface), "no interface");
  }

  // What the dead are told is nobody's concern.
  void is(hamlyn_status status, hamlyn_status wanted, const char* what) {
    if (status != wanted && all.alive()) fail(status, what);
  }
  void ok(hamlyn_status status, const char* what) { is(status, HAMLYN_OK, what); }
  // Whether it went well; that it did not has a death as its cause, which is told and not waited for.
  bool went_well(hamlyn_status status, std::uint64_t peer, const char* what) {
    if (status == HAMLYN_OK) return true;
    if (all.alive() && (all.alive(peer) || status == HAMLYN_TIMED_OUT)) fail(status, what);
    return false;
  }
  void publish(const char* name, const hamlyn_seed& seed) {
    ok(hamlyn_manager_publish(manager, name, &seed, 0), "it cannot be published");
  }
  // Of a name that was waited for.
  bool found(hamlyn_status status, std::uint64_t owner) {
    if (status != HAMLYN_OK && all.alive() && all.alive(owner)) fail(status, "no such name");
    return status == HAMLYN_OK;
  }
  // Waits for it. False: whoever would publish it has died, or this process has.
  bool look_up(const char* name, std::uint64_t owner, hamlyn_seed& seed) {
    return found(hamlyn_manager_lookup(manager, name, 2 * kMilli, &seed), owner);
  }
  // The same of a plain ticket.
  bool look_up(const char* name, std::uint64_t owner, hamlyn_ticket& ticket) {
    return found(hamlyn_lookup(interface, name, 2 * kMilli, &ticket), owner);
  }
  void fail(hamlyn_status status, const char* what) {
    const char* const why = status < HAMLYN_NODE_UNREACHABLE ? "" : hamlyn_last_error();
    all.host.fail(std::string(what) + ": " + hamlyn_status_name(status) + " " + why);
  }
  static std::string_view text(const void* data, std::size_t length) {
    return {static_cast<const char*>(data), length};
  }

  Hosted& all;
  CManager manager;
  hamlyn_interface* interface = nullptr;
};

// A process of the host that programs so.
template <class Main>
void add_c(Hosted& hosted, Main main) {
  hosted.add([main](Hosted& all) {
    CProcess process(all);
    main(process);
  });
}

}  // namespace hamlyn::test
