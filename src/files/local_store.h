#pragma once
// A directory of a local file system as a store. Threads: any, each call acts for itself. The process's umask
// is 0, or modes of what is made lack its bits.
#include <string>

#include "base/namespaces.h"
#include "files/local_tree.h"
#include "files/store.h"

namespace hamlyn::internal_::files {

class LocalStore final : public Store {
 public:
  // As LocalTree.
  LocalStore(const std::string& path, const base::SipHash::Key& key);

  Handle root() const override { return tree_.root(); }
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
  Done<std::size_t> put(const Caller& caller, const Handle& file, int flags, std::uint64_t offset,
                        std::span<const std::byte> data) const;
  Done<Found> found(int file) const;
  Done<Found> found_at(const Caller& caller, const Handle& handle, int folder, const std::string& name) const;
  // Notes an open file's place.
  Done<Found> noted(int file, const Handle& folder, std::string_view name) const;
  // Notes what stands there under that name.
  void note_at(int folder, const Handle& handle, const std::string& name) const;
  Fault take_out(const Caller& caller, const Handle& folder, std::string_view name, int flags) const;
  // Opens a file's data with these flags, as whoever may: its owner always may.
  Done<base::FileDescriptor> open_data(const Caller& caller, int file, int flags) const;
  // Opens the folder, and has `make` make `name` there, as the caller.
  template <class Make>
  Done<Found> make_at(const Caller& caller, const Handle& folder, std::string_view name, Make make) const;
  // Opens the folder, and does `act` there, as the caller. `act` answers 0 or sets errno.
  template <class Act>
  Fault act_at(const Caller& caller, const Handle& folder, std::string_view name, Act act) const;

  LocalTree tree_;
};

}  // namespace hamlyn::internal_::files
