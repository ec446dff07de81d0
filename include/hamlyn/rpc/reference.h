#pragma once
// Arguments by reference: parts of a client's memory, which the server reads or writes while it does the call
// (paper 4, section 5.2.2; docs/calls.md).
//
//   std::uint64_t sum(hamlyn::rpc::Call& call, hamlyn::rpc::Readable data);              // a procedure
//
//   hamlyn::rpc::Lendable memory{interface, 1 << 20};                                    // a client
//   client.call<&Sums::sum>(memory.readable(0, 4096));
//
// The server reaches that part and no other, in the way that it was lent, and only while it is lent: until
// the call's expression ends, as it is written above.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "hamlyn/core/interface.h"
#include "hamlyn/rpc/call.h"
#include "hamlyn/rpc/layout.h"
#include "hamlyn/values/status.h"

namespace hamlyn {

namespace rpc {

class Lendable;

}  // namespace rpc

namespace internal_::rpc {

// A part of a client's memory, as it travels. Whose it is says who calls.
struct LentPart {
  // In the place of an offset: the slot is of this part alone, and is not to be mapped.
  static constexpr std::uint64_t kOwnSlot = ~std::uint64_t{0};
  bool shown() const noexcept { return offset != kOwnSlot; }

  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint64_t key = 0;
  std::uint64_t length = 0;
  std::uint64_t offset = kOwnSlot;  // in a slot of all that its client shows
};
// A slot of a client's, for one part.
class Lending {
 public:
  Lending(Lending&&) noexcept;
  Lending& operator=(Lending&&) noexcept;
  ~Lending();

 protected:
  friend class hamlyn::rpc::Lendable;
  struct Inside;
  explicit Lending(std::unique_ptr<Inside> inside) noexcept;
  std::unique_ptr<Inside> inside_;
};

}  // namespace internal_::rpc

namespace rpc {

// Parameter of a handler: a part of the caller's memory that it may read. A value, good until the handler
// returns. Threads: any. Owner: nobody.
class Readable {
 public:
  // Bytes of it, as the caller says: however many, and perhaps more than it has. Bound them before memory is
  // made for them.
  std::size_t size() const noexcept { return part_.length; }
  // Copies what stands at `offset`, as much as `into` holds. The caller may change it meanwhile. Waits for
  // no longer than that, and than the call has time. ok; out_of_bounds; refused: it is not lent any more, or
  // never was; timed_out, cancelled, link_ended, no_buffer, forked.
  Status read(const Call& call, std::size_t offset, std::span<std::byte> into,
              std::chrono::nanoseconds timeout) const noexcept;
  // Returns all of it where it stands, without a copy, if the caller shows its memory (LendableOptions) and
  // is on this host; otherwise nothing, and `read` brings it. The caller may change it between two looks:
  // copy what must not. Good as long as this is there. Memory that was not seen before is mapped, for which
  // the caller's process answers: waits for that no longer than `timeout`, and than the call has time.
  std::span<const std::byte> view(const Call& call, std::chrono::nanoseconds timeout) noexcept;

 private:
  friend struct internal_::rpc::Layout<Readable>;
  friend class Lendable;
  internal_::rpc::LentPart part_;
  std::shared_ptr<const void> mapped_;  // what a view lies in
};

// Parameter of a handler: a part of the caller's memory that it may write. A value, good until the handler
// returns. Threads: any. Owner: nobody.
class Writable {
 public:
  // Bytes of it, as the caller says: however many, and perhaps more than it has. Bound them before memory is
  // made for them.
  std::size_t size() const noexcept { return part_.length; }
  // Writes at `offset`. ok: it stands there. As Readable::read.
  Status write(const Call& call, std::size_t offset, std::span<const std::byte> from,
               std::chrono::nanoseconds timeout) const noexcept;

 private:
  friend struct internal_::rpc::Layout<Writable>;
  friend class Lendable;
  internal_::rpc::LentPart part_;
};

// Argument of a call for a parameter that is a `Readable` or a `Writable`. The part is lent as long as this
// is there: of a call that was started, until its result has come. Threads: one at a time. Owner: who made
// it; its Lendable is there for longer.
template <class Part>
class [[nodiscard]] Lent : public internal_::rpc::Lending {
 public:
  // For Lendable.
  Lent(internal_::rpc::Lending lending, const Part& part) noexcept
      : Lending(std::move(lending)), part_(part) {}
  operator const Part&() const noexcept { return part_; }

 private:
  Part part_;
};

struct LendableOptions {
  // Shows all of it, read-only, to the servers on this host that are given a readable part, for as long as it
  // is there: they read where it stands (Readable::view). For memory in which nothing else is kept, and of
  // which no part is to be written.
  bool shown = false;
};

// Memory of a client's, parts of which it lends to those that it calls. Threads: any. Owner: who made it; the
// interface is there for longer.
class Lendable {
 public:
  using Options = LendableOptions;

  // Throws Error: invalid_argument, out_of_memory, quota_bytes, forked.
  Lendable(Interface& interface, std::size_t bytes, const Options& options);
  Lendable(Interface& interface, std::size_t bytes) : Lendable(interface, bytes, Options{}) {}
  ~Lendable();
  Lendable(const Lendable&) = delete;
  Lendable& operator=(const Lendable&) = delete;

  // All of it.
  std::span<std::byte> bytes() noexcept;
  // Lends a part to be read, or, `writable`, to be written. Throws Error: invalid_argument (none of it,
  // beyond the end, or `writable` of memory that is shown), out_of_memory, forked.
  Lent<Readable> readable(std::size_t offset, std::size_t length);
  Lent<Writable> writable(std::size_t offset, std::size_t length);

 private:
  struct Inside;
  internal_::rpc::Lending lend(std::size_t offset, std::size_t length, bool to_write,
                               internal_::rpc::LentPart& part);
  std::unique_ptr<Inside> inside_;
};

}  // namespace rpc

namespace internal_::rpc {

template <class Part>
struct LayoutOfPart {
  static constexpr bool kTravels = true, kOwns = false, kInPlace = false;
  static constexpr std::size_t kAlign = 8, kSize = 32, kLeast = 32;

 protected:
  static void put_part(Writer& to, const LentPart& part) noexcept {
    to.align(kAlign);
    to.number(part.slot);
    to.number(part.generation);
    to.number(part.key);
    to.number(part.length);
    to.number(part.offset);
  }
  static LentPart part_of(Reader& from) noexcept {
    from.align(kAlign);
    LentPart out;
    out.slot = from.number<std::uint32_t>();
    out.generation = from.number<std::uint32_t>();
    out.key = from.number<std::uint64_t>();
    out.length = from.number<std::uint64_t>();
    out.offset = from.number<std::uint64_t>();
    return out;
  }
};
template <>
struct Layout<hamlyn::rpc::Readable> : LayoutOfPart<hamlyn::rpc::Readable> {
  static void put(Writer& to, const hamlyn::rpc::Readable& value) noexcept { put_part(to, value.part_); }
  static void get(Reader& from, hamlyn::rpc::Readable& out) noexcept { out.part_ = part_of(from); }
  static void spell(std::string& to) { to += "readable"; }
};
template <>
struct Layout<hamlyn::rpc::Writable> : LayoutOfPart<hamlyn::rpc::Writable> {
  static void put(Writer& to, const hamlyn::rpc::Writable& value) noexcept { put_part(to, value.part_); }
  static void get(Reader& from, hamlyn::rpc::Writable& out) noexcept { out.part_ = part_of(from); }
  static void spell(std::string& to) { to += "writable"; }
};

}  // namespace internal_::rpc

}  // namespace hamlyn
