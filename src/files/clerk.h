#pragma once
// A clerk (paper 3, section 5; paper 4, section 7.4): the part of a file service on its clients' host. What
// it is asked for it finds in the server's areas, without the server. What is missing there, and everything
// that changes a file, it calls the server for.
//
// The clerk judges its callers' rights itself, at each look. It trusts the server, and is trusted by it to
// say for whom it asks: both are of one user, the service's, or of the superuser.
//
// A server that has gone is looked for until the time of the operation is over. A change during which it went
// may have been made or not: `unknown`.
//
// Threads: any. Owner: its maker; the interface outlives it.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"
#include "files/areas.h"
#include "files/rights.h"
#include "files/service.h"
#include "files/store.h"
#include "hamlyn/core/interface.h"
#include "library/wait/deadline.h"

namespace hamlyn::internal_::files {

class Clerk final : public Store {
 public:
  struct Options {
    std::chrono::milliseconds timeout{5000};  // to find the server at first
    std::chrono::milliseconds time{30000};    // of an operation
  };
  // Looks that found it in the areas, and calls of the server.
  struct Counts {
    std::uint64_t found = 0, asked = 0;
  };

  // Throws Error: name_unknown or timed_out (nobody serves it), not_permitted (another user's service),
  // version_mismatch, name_invalid, and as Import.
  Clerk(Interface& interface, std::string_view name, const Options& options);
  ~Clerk() override;

  Counts counts() const noexcept;

  Handle root() const override;
  Done<Attributes> attributes(const Handle& file) override;
  Done<Found> look_up(const Caller& caller, const Handle& folder, std::string_view name) override;
  Done<std::string> read_link(const Handle& link) override;
  Done<bool> list(const Caller& caller, const Handle& folder, std::uint64_t cookie,
                  const std::function<bool(const Name&)>& each) override;
  Done<std::size_t> read(const Caller& caller, const Handle& file, std::uint64_t offset,
                         std::span<std::byte> into) override;
  Done<std::size_t> write(const Caller& caller, const Handle& file, std::uint64_t offset,
                          std::span<const std::byte> data) override;
  Done<std::size_t> append(const Caller& caller, const Handle& file,
                           std::span<const std::byte> data) override;
  Done<Attributes> change(const Caller& caller, const Handle& file, const Changes& changes) override;
  Done<Found> create(const Caller& caller, const Handle& folder, std::string_view name, std::uint32_t mode,
                     bool fresh) override;
  Done<Found> make_directory(const Caller& caller, const Handle& folder, std::string_view name,
                             std::uint32_t mode) override;
  Done<Found> make_symbolic_link(const Caller& caller, const Handle& folder, std::string_view name,
                                 std::string_view target) override;
  Done<Attributes> link(const Caller& caller, const Handle& file, const Handle& folder,
                        std::string_view name) override;
  Fault remove(const Caller& caller, const Handle& folder, std::string_view name) override;
  Fault remove_directory(const Caller& caller, const Handle& folder, std::string_view name) override;
  Fault rename(const Caller& caller, const Handle& from, std::string_view name, const Handle& to,
               std::string_view new_name, Renaming how) override;
  Fault sync(const Handle& file) override;
  Done<Room> room() override;

 private:
  // The link to one server, until that goes.
  struct Session;
  using Look = std::shared_ptr<Session>;
  // Whether a call that has gone with its server is made again: it changes nothing.
  enum class Again : bool { no, yes };

  // The session, or a new one; null: there is no server in time.
  Look session(library::Deadline deadline);
  // Throws Error: why there is none.
  Look open_session(library::Deadline deadline);
  // Drops one that has failed: the next one is another.
  void give_up(const Look& session);
  // Returns what the server answers; a fault of the clerk's own if it does not.
  template <auto kFunction, class Answer, class... Arguments>
  Done<Answer> ask(Again again, const Arguments&... arguments);
  // As `ask`, for answers that have a fault, and a member with what they give.
  template <auto kFunction, class Answer, class Value, class... Arguments>
  Done<Value> ask_for(Again again, Value Answer::*member, const Arguments&... arguments);
  template <auto kFunction, class... Arguments>
  Fault ask_to(Again again, const Arguments&... arguments);
  // Looks into the areas; false: it is missing there.
  template <class Read>
  bool find(Read read);

  bool squashes_root() const;
  // Whether the caller has a right to a file that is of this kind. `by_server`: only the server can tell.
  Fault judge_caller(const Caller& caller, const Handle& file, Kind kind, Right right, bool& by_server);
  Done<std::size_t> read_block(const Caller& caller, const DataKey& key, std::size_t offset,
                               std::span<std::byte> into, bool by_server);
  Done<FolderRecord> record_of(const Caller& caller, const FolderKey& key, bool by_server);
  // Groups that the server's host knows, the user's own first.
  Done<std::vector<std::uint32_t>> groups_of(std::uint32_t user);

  Interface& interface_;
  const std::string name_;
  const Options options_;
  mutable std::mutex mutex_;  // guards the following
  Look session_;
  About about_;           // of the last server that was met
  bool opening_ = false;  // a thread makes one
  struct Groups {
    std::vector<std::uint32_t> all;
    library::Clock::time_point until;
  };
  std::map<std::uint32_t, Groups> groups_;
  std::atomic<std::uint64_t> found_{0}, asked_{0};
};

}  // namespace hamlyn::internal_::files
