// The names and sentences behind the enums of the public headers, and what makes a ticket well formed.
#include "hamlyn/values/error.h"
#include "hamlyn/values/notification.h"
#include "hamlyn/values/status.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn {

const char* name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::node_unreachable:
      return "node_unreachable";
    case ErrorCode::node_not_trusted:
      return "node_not_trusted";
    case ErrorCode::version_mismatch:
      return "version_mismatch";
    case ErrorCode::quota_interfaces:
      return "quota_interfaces";
    case ErrorCode::quota_links:
      return "quota_links";
    case ErrorCode::quota_bytes:
      return "quota_bytes";
    case ErrorCode::quota_names:
      return "quota_names";
    case ErrorCode::name_taken:
      return "name_taken";
    case ErrorCode::name_unknown:
      return "name_unknown";
    case ErrorCode::name_invalid:
      return "name_invalid";
    case ErrorCode::not_permitted:
      return "not_permitted";
    case ErrorCode::timed_out:
      return "timed_out";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::system:
      return "system";
    case ErrorCode::forked:
      return "forked";
    case ErrorCode::disk_full:
      return "disk_full";
    case ErrorCode::seed_invalid:
      return "seed_invalid";
    case ErrorCode::seed_wrong_kind:
      return "seed_wrong_kind";
    case ErrorCode::seed_used:
      return "seed_used";
    case ErrorCode::seed_stale:
      return "seed_stale";
    case ErrorCode::seed_forged:
      return "seed_forged";
    case ErrorCode::peer_refused:
      return "peer_refused";
    case ErrorCode::peer_died:
      return "peer_died";
    case ErrorCode::node_full:
      return "node_full";
  }
  return "unknown";
}

const char* advice(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::node_unreachable:
      return "Start hamlynd, or let the library start one (start_node); check the path of the socket.";
    case ErrorCode::node_not_trusted:
      return "Something else listens there, or the folder is another user's: look who, and remove it.";
    case ErrorCode::version_mismatch:
      return "Use the same version of Hamlyn on both sides.";
    case ErrorCode::quota_interfaces:
      return "End what you do not need (hamlyn node), or have the node's configuration raised.";
    case ErrorCode::quota_links:
      return "End links that you do not need, or have the node's configuration raised.";
    case ErrorCode::quota_bytes:
      return "Make areas shorter or fewer, or have the node's configuration raised.";
    case ErrorCode::quota_names:
      return "Withdraw names, or have the node's configuration raised.";
    case ErrorCode::name_taken:
      return "Choose another name; hamlyn node shows who is attached.";
    case ErrorCode::name_unknown:
      return "Wait for it with a time-out, or ask its owner for rights.";
    case ErrorCode::name_invalid:
      return "1 to 64 characters of A-Z a-z 0-9 . _ -";
    case ErrorCode::not_permitted:
      return "Ask the owner of the name, or of the node, for rights.";
    case ErrorCode::timed_out:
      return "Try again, or give more time.";
    case ErrorCode::cancelled:
      return "Somebody called cancel: go on, or end.";
    case ErrorCode::invalid_argument:
      return "The text says what cannot be.";
    case ErrorCode::out_of_memory:
      return "The text says what has run out, and which limit to raise.";
    case ErrorCode::system:
      return "The text says which system call failed, and why.";
    case ErrorCode::forked:
      return "Make a new Interface, or Manager, in the child.";
    case ErrorCode::disk_full:
      return "Make space, or choose another disk.";
    case ErrorCode::seed_invalid:
      return "Check what was received: its length, and who sent it.";
    case ErrorCode::seed_wrong_kind:
      return "Make the sender that the seed is for (Seed::kind).";
    case ErrorCode::seed_used:
      return "Ask the receiver for another seed.";
    case ErrorCode::seed_stale:
      return "Ask for a new seed: that receiver has gone.";
    case ErrorCode::seed_forged:
      return "Ask the receiver for its latest seed.";
    case ErrorCode::peer_refused:
      return "The text says what is in the way at the other side: talk to whoever runs it.";
    case ErrorCode::peer_died:
      return "Wait for it to come again, and ask for a new seed. Of another host: hamlyn node says whether "
             "its node is there.";
    case ErrorCode::node_full:
      return "Try again later, or have [total] in the node's configuration raised.";
  }
  return "Unknown error.";
}

const char* name(Status status) noexcept {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::pending:
      return "pending";
    case Status::queue_full:
      return "queue_full";
    case Status::no_place:
      return "no_place";
    case Status::connecting:
      return "connecting";
    case Status::timed_out:
      return "timed_out";
    case Status::cancelled:
      return "cancelled";
    case Status::link_ended:
      return "link_ended";
    case Status::refused:
      return "refused";
    case Status::too_long:
      return "too_long";
    case Status::out_of_bounds:
      return "out_of_bounds";
    case Status::invalid:
      return "invalid";
    case Status::share_too_small:
      return "share_too_small";
    case Status::not_durable:
      return "not_durable";
    case Status::forked:
      return "forked";
    case Status::not_ready:
      return "not_ready";
    case Status::closed:
      return "closed";
    case Status::abandoned:
      return "abandoned";
    case Status::broken:
      return "broken";
    case Status::no_buffer:
      return "no_buffer";
    case Status::misaligned:
      return "misaligned";
    case Status::stale:
      return "stale";
  }
  return "unknown";
}

const char* advice(Status status) noexcept {
  switch (status) {
    case Status::ok:
      return "It is done.";
    case Status::pending:
      return "It is under way: ask again with the handle, or wait for it.";
    case Status::queue_full:
      return "Run the interface (poll), then try again; or make a terminus with more entries.";
    case Status::no_place:
      return "Poll, then try again; or give the receiver's slot more places.";
    case Status::connecting:
      return "Poll, then try again; or call connect and wait.";
    case Status::timed_out:
      return "Try again, or wait longer. What was given away before may still arrive.";
    case Status::cancelled:
      return "It was cancelled: a wait changed nothing, a message did not arrive whole.";
    case Status::link_ended:
      return "Look its name up again: the other side has gone, or its link was closed. Interface::why says "
             "why.";
    case Status::refused:
      return "See what is in the way: of a link Interface::why says it, of a packet its refusal.";
    case Status::too_long:
      return "Send it as a message with a metadata entry, in several messages, or with shorter metadata.";
    case Status::out_of_bounds:
      return "Keep the offset and the length inside the ticket's bounds.";
    case Status::invalid:
      return "Check where the ticket or the handle came from.";
    case Status::share_too_small:
      return "Split it into fewer or shorter parts, or have the group's owner give each member less buffer.";
    case Status::not_durable:
      return "The receiver's file cannot be written: its area is to be made anew, on a disk that works.";
    case Status::forked:
      return "Make a new Interface in the forked process.";
    case Status::not_ready:
      return "Send it again when the receiver has taken the message before.";
    case Status::closed:
      return "The stream has come to its good end: ask for a new seed to go on.";
    case Status::abandoned:
      return "The other side gave the stream up: ask for a new seed, and send again what matters.";
    case Status::broken:
      return "The other side is faulty, or hostile: do not trust what came from it.";
    case Status::no_buffer:
      return "Wait until one comes back, take one back by force, or make a pool with more.";
    case Status::misaligned:
      return "Send whole elements, to a multiple of their size from the slot's base.";
    case Status::stale:
      return "It was taken back, or made anew: get a new ticket, or import it again.";
  }
  return "Unknown status.";
}

const char* name(Refusal cause) noexcept {
  switch (cause) {
    case Refusal::none:
      return "none";
    case Refusal::malformed:
      return "malformed";
    case Refusal::bad_slot:
      return "bad_slot";
    case Refusal::stale_generation:
      return "stale_generation";
    case Refusal::bad_key:
      return "bad_key";
    case Refusal::mode_forbids:
      return "mode_forbids";
    case Refusal::out_of_bounds:
      return "out_of_bounds";
    case Refusal::bad_entry:
      return "bad_entry";
    case Refusal::entry_not_armed:
      return "entry_not_armed";
    case Refusal::entry_busy:
      return "entry_busy";
    case Refusal::stale_message:
      return "stale_message";
    case Refusal::metadata_too_long:
      return "metadata_too_long";
    case Refusal::no_place:
      return "no_place";
    case Refusal::over_budget:
      return "over_budget";
    case Refusal::misaligned:
      return "misaligned";
    case Refusal::unasked_reply:
      return "unasked_reply";
    case Refusal::bad_share:
      return "bad_share";
    case Refusal::bad_area:
      return "bad_area";
    case Refusal::too_long:
      return "too_long";
    case Refusal::not_durable:
      return "not_durable";
    case Refusal::not_pinned:
      return "not_pinned";
    case Refusal::inhibited:
      return "inhibited";
    case Refusal::hold_full:
      return "hold_full";
    case Refusal::not_permitted:
      return "not_permitted";
    case Refusal::count:
      break;
  }
  return "unknown";
}

const char* name(Failure failure) noexcept {
  switch (failure) {
    case Failure::none:
      return "none";
    case Failure::link_ended:
      return "link_ended";
    case Failure::timed_out:
      return "timed_out";
    case Failure::abandoned:
      return "abandoned";
    case Failure::miscounted:
      return "miscounted";
  }
  return "unknown";
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
