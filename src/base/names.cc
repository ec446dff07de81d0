// The names and sentences behind the enums of the public headers, and what makes a ticket well formed.
#include <cstddef>

#include "hamlyn/values/error.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {
namespace {

template <class Enum>
struct CodeRow {
  Enum value;
  const char* name;
  const char* advice = nullptr;
};

constexpr CodeRow<ErrorCode> kErrors[] = {
    {ErrorCode::node_unreachable, "node_unreachable",
     "Start hamlynd, or let the library start one (start_node); check the path of the socket."},
    {ErrorCode::node_not_trusted, "node_not_trusted",
     "Something else listens there, or the folder is another user's: look who, and remove it."},
    {ErrorCode::version_mismatch, "version_mismatch", "Use the same version of Hamlyn on both sides."},
    {ErrorCode::quota_interfaces, "quota_interfaces",
     "End what you do not need (hamlyn node), or have the node's configuration raised."},
    {ErrorCode::quota_links, "quota_links",
     "End links that you do not need, or have the node's configuration raised."},
    {ErrorCode::quota_bytes, "quota_bytes",
     "Make areas shorter or fewer, or have the node's configuration raised."},
    {ErrorCode::quota_names, "quota_names", "Withdraw names, or have the node's configuration raised."},
    {ErrorCode::name_taken, "name_taken", "Choose another name; hamlyn node shows who is attached."},
    {ErrorCode::name_unknown, "name_unknown", "Wait for it with a time-out, or ask its owner for rights."},
    {ErrorCode::name_invalid, "name_invalid", "1 to 64 characters of A-Z a-z 0-9 . _ -"},
    {ErrorCode::not_permitted, "not_permitted", "Ask the owner of the name, or of the node, for rights."},
    {ErrorCode::timed_out, "timed_out", "Try again, or give more time."},
    {ErrorCode::cancelled, "cancelled", "Somebody called cancel: go on, or end."},
    {ErrorCode::invalid_argument, "invalid_argument", "The text says what cannot be."},
    {ErrorCode::out_of_memory, "out_of_memory", "The text says what has run out, and which limit to raise."},
    {ErrorCode::system, "system", "The text says which system call failed, and why."},
    {ErrorCode::forked, "forked", "Make a new Interface, or Manager, in the child."},
    {ErrorCode::disk_full, "disk_full", "Make space, or choose another disk."},
    {ErrorCode::seed_invalid, "seed_invalid", "Check what was received: its length, and who sent it."},
    {ErrorCode::seed_wrong_kind, "seed_wrong_kind", "Make the sender that the seed is for (Seed::kind)."},
    {ErrorCode::seed_used, "seed_used", "Ask the receiver for another seed."},
    {ErrorCode::seed_stale, "seed_stale", "Ask for a new seed: that receiver has gone."},
    {ErrorCode::seed_forged, "seed_forged", "Ask the receiver for its latest seed."},
    {ErrorCode::peer_refused, "peer_refused",
     "The text says what is in the way at the other side: talk to whoever runs it."},
    {ErrorCode::peer_died, "peer_died",
     "Wait for it to come again, and ask for a new seed. Of another host: hamlyn node says whether "
     "its node is there."},
    {ErrorCode::node_full, "node_full",
     "Try again later, or have [total] in the node's configuration raised."},
};

constexpr CodeRow<Status> kStatuses[] = {
    {Status::ok, "ok", "It is done."},
    {Status::pending, "pending", "It is under way: ask again with the handle, or wait for it."},
    {Status::queue_full, "queue_full",
     "Run the interface (poll), then try again; or make a terminus with more entries."},
    {Status::no_place, "no_place", "Poll, then try again; or give the receiver's slot more places."},
    {Status::connecting, "connecting", "Poll, then try again; or call connect and wait."},
    {Status::timed_out, "timed_out",
     "Try again, or wait longer. What was given away before may still arrive."},
    {Status::cancelled, "cancelled",
     "It was cancelled: a wait changed nothing, a message did not arrive whole."},
    {Status::link_ended, "link_ended",
     "Look its name up again: the other side has gone, or its link was closed. Interface::why says "
     "why."},
    {Status::refused, "refused",
     "See what is in the way: of a link Interface::why says it, of a packet its refusal."},
    {Status::too_long, "too_long",
     "Send it as a message with a metadata entry, in several messages, or with shorter metadata."},
    {Status::out_of_bounds, "out_of_bounds", "Keep the offset and the length inside the ticket's bounds."},
    {Status::invalid, "invalid", "Check where the ticket or the handle came from."},
    {Status::share_too_small, "share_too_small",
     "Split it into fewer or shorter parts, or have the group's owner give each member less buffer."},
    {Status::not_durable, "not_durable",
     "The receiver's file cannot be written: its area is to be made anew, on a disk that works."},
    {Status::forked, "forked", "Make a new Interface in the forked process."},
    {Status::not_ready, "not_ready", "Send it again when the receiver has taken the message before."},
    {Status::closed, "closed",
     "The other end of the stream, or of the loans, was closed or let go of: ask for a new seed to go on."},
    {Status::abandoned, "abandoned",
     "The other side gave the stream up: ask for a new seed, and send again what matters."},
    {Status::broken, "broken", "The other side is faulty, or hostile: do not trust what came from it."},
    {Status::no_buffer, "no_buffer",
     "Wait until one comes back, take one back by force, or make a pool with more."},
    {Status::misaligned, "misaligned",
     "Send whole elements, to a multiple of their size from the slot's base."},
    {Status::stale, "stale", "It was taken back, or made anew: get a new ticket, or import it again."},
};

constexpr CodeRow<Refusal> kRefusals[] = {
    {Refusal::none, "none"},
    {Refusal::malformed, "malformed"},
    {Refusal::bad_slot, "bad_slot"},
    {Refusal::stale_generation, "stale_generation"},
    {Refusal::bad_key, "bad_key"},
    {Refusal::mode_forbids, "mode_forbids"},
    {Refusal::out_of_bounds, "out_of_bounds"},
    {Refusal::bad_entry, "bad_entry"},
    {Refusal::entry_not_armed, "entry_not_armed"},
    {Refusal::entry_busy, "entry_busy"},
    {Refusal::stale_message, "stale_message"},
    {Refusal::metadata_too_long, "metadata_too_long"},
    {Refusal::no_place, "no_place"},
    {Refusal::over_budget, "over_budget"},
    {Refusal::misaligned, "misaligned"},
    {Refusal::unasked_reply, "unasked_reply"},
    {Refusal::bad_share, "bad_share"},
    {Refusal::bad_area, "bad_area"},
    {Refusal::too_long, "too_long"},
    {Refusal::not_durable, "not_durable"},
    {Refusal::not_pinned, "not_pinned"},
    {Refusal::inhibited, "inhibited"},
    {Refusal::hold_full, "hold_full"},
    {Refusal::not_permitted, "not_permitted"},
    {Refusal::no_buffer, "no_buffer"},
};

constexpr CodeRow<Failure> kFailures[] = {
    {Failure::none, "none"},           {Failure::link_ended, "link_ended"}, {Failure::timed_out, "timed_out"},
    {Failure::abandoned, "abandoned"}, {Failure::miscounted, "miscounted"},
};

// Finds a value's row; null: the value comes from elsewhere, and has none.
template <class Enum, std::size_t count>
constexpr const CodeRow<Enum>* row(const CodeRow<Enum> (&rows)[count], Enum value) noexcept {
  const auto first = static_cast<std::size_t>(rows[0].value), index = static_cast<std::size_t>(value) - first;
  return index < count ? &rows[index] : nullptr;
}

template <class Enum, std::size_t count>
constexpr bool each_in_its_place(const CodeRow<Enum> (&rows)[count]) {
  for (const CodeRow<Enum>& each : rows) {
    if (row(rows, each.value) != &each) return false;
  }
  return true;
}
static_assert(each_in_its_place(kErrors) && each_in_its_place(kStatuses) && each_in_its_place(kRefusals) &&
              each_in_its_place(kFailures));

template <class Enum, std::size_t count>
const char* name_in(const CodeRow<Enum> (&rows)[count], Enum value) noexcept {
  const CodeRow<Enum>* const found = row(rows, value);
  return found != nullptr ? found->name : "unknown";
}

}  // namespace

const char* name(ErrorCode code) noexcept { return name_in(kErrors, code); }
const char* name(Status status) noexcept { return name_in(kStatuses, status); }
const char* name(Refusal cause) noexcept { return name_in(kRefusals, cause); }
const char* name(Failure failure) noexcept { return name_in(kFailures, failure); }

const char* advice(ErrorCode code) noexcept {
  const CodeRow<ErrorCode>* const found = row(kErrors, code);
  return found != nullptr ? found->advice : "Unknown error.";
}
const char* advice(Status status) noexcept {
  const CodeRow<Status>* const found = row(kStatuses, status);
  return found != nullptr ? found->advice : "Unknown status.";
}

const char* invalid(const Ticket& ticket) noexcept {
  if (ticket.version != 1) return "the bytes are no ticket of this version";
  if (ticket.purpose >= Ticket::kPurposes) return "the ticket's purpose is none that there is";
  if (ticket.interface == 0) return "the ticket names no interface";
  if (ticket.fast() && ticket.incarnation != 0) return "a fast-mode ticket has an incarnation";
  if (ticket.base + ticket.bound < ticket.base) return "the ticket's bounds overflow";
  return nullptr;
}

}  // namespace hamlyn
