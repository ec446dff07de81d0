#pragma once
// The control thread: it keeps the links (introductions, growth, ends, stalls) and talks to the node. Its
// sockets and pidfds live in a descriptor table of its own, so that a forked child inherits none of them, and
// an exec is noticed at the other side at once (design, section 7).
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/file_descriptor.h"
#include "base/foreign.h"
#include "base/namespaces.h"
#include "fabric/ofi/ofi_link.h"
#include "hamlyn/core/interface.h"
#include "library/control/control_pace.h"
#include "library/control/link_keeper.h"
#include "library/control/stall_watch.h"
#include "library/host_services.h"
#include "library/wait/wake_event.h"
#include "node/client/client.h"
#include "node/client/consent.h"

namespace hamlyn::internal_::library {

class Engine;

class Control final : public HostServices {
 public:
  // Starts the thread and attaches to the node. Throws Error.
  Control(Engine& engine, const Interface::Options& options);
  ~Control() override;

  std::uint64_t interface_id() const noexcept override { return interface_id_; }

  Attachment attachment() const override;

  // Each waits for the node's answer.
  void publish(std::string_view name, const Ticket& ticket, Rights rights) override;
  void withdraw(std::string_view name) override;
  Ticket lookup(std::string_view name, const LookupOptions& options, Registrant* who) override;
  void cancel() noexcept override;
  std::shared_ptr<NameRequest> begin_lookup(std::string_view name) override;
  bool lookup_done(const NameRequest& request) const noexcept override;
  Ticket end_lookup(const std::shared_ptr<NameRequest>& request) override;
  void give_up_lookup(const std::shared_ptr<NameRequest>& request) noexcept override;

  void have_done(const std::function<void()>& call) override;
  shm::Mapping make_area(std::size_t bytes, std::uint32_t& number) override;
  void drop_area(std::uint32_t number) noexcept override;
  void take_area_bytes(std::uint64_t bytes) override;
  void give_back_area_bytes(std::uint64_t bytes) noexcept override;

  std::byte* make_mapped_area(std::byte* at, std::size_t bytes, shm::Writers writers,
                              interface::MappedWords** words) override;
  void renew_mapped_area(std::byte* data) override;
  void drop_mapped_area(std::byte* data, bool stays) noexcept override;
  std::shared_ptr<MappingRequest> begin_import(const Ticket& ticket) override;
  bool import_done(const MappingRequest& import) const noexcept override;
  ImportAnswer end_import(const std::shared_ptr<MappingRequest>& import) override;
  void give_up_import(const std::shared_ptr<MappingRequest>& import) noexcept override;

  void want_link(std::uint64_t peer) noexcept override;
  void attention() noexcept override;

 private:
  struct Request : NameRequest {
    node::RequestKind kind{};
    Rights rights;
    Registrant registrant;
    std::uint64_t bytes = 0;
    LookupOptions lookup;
    std::uint64_t number = 0;  // 0: not sent yet
    bool late = false;         // its time has passed
    bool begun = false;        // nobody waits for it alone
  };
  using Keepers = std::list<std::unique_ptr<LinkKeeper>>;

  void main(std::exception_ptr& failure);
  void leave_descriptor_table(int counters);
  void loop();
  int wait_for_events(std::span<epoll_event> events);
  void serve_link(std::uint64_t about, std::vector<std::uint64_t>& served);
  void look_at_served(const std::vector<std::uint64_t>& served);
  int pause_until_next_look() const noexcept;

  void do_delegated_calls();
  void serve_imports();
  void answer_imports(LinkKeeper& keeper);
  bool answer_import(LinkKeeper& keeper, const LinkMessage& request);
  void finish_import(std::uint64_t number, ImportAnswer answer);
  void fail_imports(std::uint64_t peer, WhyNoLink why);
  void have_all_look() noexcept;
  void finish(MappingRequest& import, ErrorCode error);  // under requests_mutex_
  void show_areas(LinkKeeper& keeper, std::uint64_t wanted);
  std::string asked_node() const;
  std::string why_in_vain(const Request& request) const;
  void serve_requests();
  void send_request(Request& request);
  void ask(std::shared_ptr<Request> request, std::chrono::milliseconds timeout);
  void read_node();
  void answer(node::Event& event);
  void refuse_requests(const Error& error);
  void find_node_again();
  void attach_again();
  void leave_node() noexcept;
  void not_attached(const Error& why);
  void attached_again() noexcept;
  void watch_signals();

  void introduce_wanted();
  void introduce(std::uint64_t peer);
  bool lets(const node::Event& event) const noexcept;
  void note_asked_anew(std::uint64_t peer) noexcept;
  void await_daemon(std::uint64_t peer) noexcept;
  void introduced(node::Event event);
  void join_oneself();
  LinkKeeper& keep(node::Event introduction, base::ForeignSocket socket, base::FileDescriptor own_end = {});
  void look_at_links();
  void look_at(const std::vector<LinkKeeper*>& keepers);
  void read_link(LinkKeeper& keeper);
  void go_on(LinkKeeper& keeper, LinkKeeper::End how);
  void hand_out_more();
  void count_handed_out() noexcept;
  void peer_died(LinkKeeper& keeper);
  void join(LinkKeeper& keeper);
  void refuse(std::uint64_t peer, WhyNoLink why, bool asked);
  void end(LinkKeeper& keeper, LinkKeeper::End how, WhyNoLink why);
  void grow(LinkKeeper& keeper);
  void grow(LinkKeeper& keeper, bool granted);
  void answer_growth(std::uint64_t link, bool granted);
  void grow_uncounted();
  void look_for_stalls();
  void rest() noexcept;
  void end_rest() noexcept;
  void look_for_unmade();
  void report_refusals();

  // Links to other hosts (control_far.cc).
  enum class FarState : std::uint8_t { none, opening, open };
  struct FarKeeper {
    std::uint64_t peer;
    std::uint64_t number;
    std::unique_ptr<ofi::OfiLink> link;
    std::uint64_t reported = 0;
    StallClock stall{std::chrono::steady_clock::now()};
    WhyNoLink why{};  // as the node has said, if it has
  };
  void open_far(const std::string& text);
  void look_at_far();
  void say_far_address();
  void introduced_far(const node::Event& event);
  void end_far(FarKeeper& keeper, bool gone, WhyNoLink why);
  void say_far_end(std::uint64_t number, WhyNoLink why);
  void far_leaves(const node::Event& event);
  void cut_far(std::uint64_t number, std::uint64_t peer);
  FarKeeper* far_keeper_of(std::uint64_t peer) noexcept;

  void report_refusals(const interface::Link& link, std::uint64_t number, std::uint64_t& reported);
  LinkKeeper* keeper_of(std::uint64_t peer) noexcept;
  void watch(int fd, std::uint32_t events, std::uint64_t about);
  void unwatch(const LinkKeeper& keeper) noexcept;
  void listen(const LinkKeeper& keeper, bool on) noexcept;
  void watch_unsent() noexcept;

  Engine& engine_;
  const Interface::Options options_;
  const std::uint32_t own_uid_ = ::geteuid();
  ControlPace pace_{own_uid_};
  std::uint64_t interface_id_ = 0;
  WakeEvent wake_event_;             // something in wanted_, requests_, or of a link, wants to be looked at
  std::atomic<bool> called_{false};  // attention sets it before it rings, loop clears it before it looks
  std::atomic<bool> stop_{false};    // by the destructor, to loop

  std::vector<std::uint64_t> wanted_;  // links that messages wait for; under the run lock

  mutable std::mutex requests_mutex_;
  std::condition_variable request_done_;
  std::list<std::shared_ptr<Request>> requests_;
  struct DelegatedCall {
    const std::function<void()>* work;
    DelegatedCall* next;
    bool done = false;
    std::exception_ptr failure;
  };
  DelegatedCall* delegated_ =
      nullptr;                   // in a list of their own: destructors have some done, and may need no memory
  std::mutex area_bytes_mutex_;  // one change at a time
  std::uint64_t area_bytes_ = 0;  // as the node has granted
  std::list<std::shared_ptr<MappingRequest>> imports_;
  Attachment attachment_;
  bool unsent_ = false;    // the node's socket is watched for room, too
  bool attached_ = false;  // or failed: the constructor may go on

  // The control thread's own.
  base::FileDescriptor epoll_;
  base::FileDescriptor signals_;   // those that wait for the process
  base::FileDescriptor counters_;  // the page that `hamlyn node` reads
  base::Foreign foreign_;
  std::size_t most_links_ = 0;
  std::optional<node::Client> client_;
  std::string node_socket_;
  std::chrono::steady_clock::time_point next_attach_{}, lost_at_{};
  Attachment last_try_;      // while there is no daemon
  node::Standing standing_;  // while there is no daemon
  AreaBudget area_budget_;   // before those who hold of it
  HandedOut handed_out_;     // likewise
  Keepers keepers_;
  std::unordered_map<std::uint64_t, LinkKeeper*> by_tag_;  // the same, as events name them
  std::list<FarKeeper> far_keepers_;
  FarState far_state_ = FarState::none;
  std::string far_engine_, far_why_;  // what the node asks for, and why it cannot be had
  struct OwnArea {
    base::FileDescriptor memfd;
    LeftBehind::Piece piece = 0;
  };
  std::array<OwnArea, interface::kAreaLimit> areas_;  // our send buffer areas
  MappedAreas mapped_areas_;
  std::map<std::uint64_t, std::uint64_t> introductions_;  // request number to peer
  std::map<std::uint64_t, std::uint64_t> growths_;        // request number to the link's number
  std::uint64_t next_request_ = 1;
  std::uint64_t next_serial_ = 0;  // of keepers; never again, other than their addresses
  StallWatch stall_watch_;
  std::thread thread_;
};

}  // namespace hamlyn::internal_::library
