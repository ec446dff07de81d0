#pragma once
// One other endpoint, as an endpoint knows it: what is on its way there and back, and the translations that
// stand for it.
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "am/am_wire.h"
#include "am/log.h"
#include "am/ring.h"
#include "base/namespaces.h"
#include "hamlyn/values/send.h"
#include "hamlyn/values/ticket.h"

namespace hamlyn::internal_::am {

// How a message could be given to a way.
enum class Sent : std::uint8_t {
  ok,
  no_room,
  gone,   // the slot or the VI is not there any more: if the link is, the other endpoint has gone
  ended,  // there is no link
};
constexpr bool is_over(Sent sent) noexcept { return sent == Sent::gone || sent == Sent::ended; }

// A message that has come by a way.
struct Come {
  std::uint64_t word = 0;
  std::span<std::byte> bytes;
  std::uint32_t weight = 0;  // room that is free again when it is done, as a part of kWholeRing
  std::uint32_t place = 0;   // where it stands, as the way calls it
};

// A message that is to leave.
struct Leaving {
  Kind kind{};
  HandlerNumber handler = 0;
  bool closes = false;      // a request of the other side's is over with it
  std::uint32_t index = 0;  // of the translation
  Arguments arguments = {};
  std::span<const std::byte> head = {}, data = {};
  std::uint64_t offset = 0, length = 0;  // to say if it comes back
};

// One that found no room. The credit of the request that it answers goes back with it; of kind `acknowledge`
// it is that credit alone, which keeps its turn.
struct Kept {
  Kind kind{};
  bool closes = false;
  HandlerNumber handler = 0;
  std::uint8_t count = 0;
  std::uint32_t index = 0;
  std::uint64_t offset = 0, length = 0;
  std::vector<std::byte> bytes = {};  // as it travels
  // Data of a long message to a whole address space, which leaves in front of it, in pieces.
  struct Data {
    std::uint64_t number = 0;  // of the pair's; 0: there is none
    std::span<const std::byte> bytes = {};
    std::unique_ptr<std::byte[]> own = {};  // where they are, if the message itself keeps them
    std::uint64_t segment = 0;              // number of the one that it is to land in
    std::uint64_t source = 0;               // number of our own that it is in; 0: it is a caller's
    std::size_t left = 0;                   // so many have left
  };
  Data data = {};
};

// Data of a long message that has come in pieces, in front of it.
struct Laid {
  std::uint64_t offset = 0, bytes = 0;
  bool whole = true;  // each byte has found its place
};

template <class Port>
struct Pair {
  enum class State : std::uint8_t { greeting, open, ended };

  std::uint32_t number = 0;
  State state = State::greeting;
  Why why = Why::none;                      // it has ended
  Name name;                                // of the other endpoint
  std::uint64_t peer = 0;                   // its interface
  std::uint64_t link = 0;                   // serial number of its one link; 0: none yet
  std::uint32_t users = 0;                  // translations
  bool said_bye = false;                    // and waits for the other side's
  bool busy = false;                        // a handler looks at what has come by it
  bool restless = false;                    // is in the machine's list
  std::unique_ptr<typename Port::Way> way;  // null: it has ended

  std::uint64_t own_session = 0, session = 0;
  bool hello_owed = true, hello_under_way = false;
  Hello hello;  // as it travels, while it is under way
  SendHandle hello_handle;

  // --- there
  Log<Record> log;
  Log<Asked> asked;
  std::uint32_t promised = 0;  // credits of long requests whose data leaves
  std::uint32_t most = 0;      // requests under way
  std::uint64_t answered = 0;  // replies that were sent, and those that have come back
  std::uint64_t rejected = 0;
  Tag told_tag = kNoTag;
  SegmentNews segment;  // of the other's
  Ticket segment_ticket;
  std::uint64_t put = 0;  // bytes, to that one
  // The news of it may be old. Before a message comes back for it, it is asked for once more.
  enum class Asking : std::uint8_t { no, yes, answered };
  Asking asking = Asking::no;
  std::deque<Kept> kept;
  std::uint64_t last_data = 0;  // number of the last Kept::Data
  bool asked_longer = false;    // a longer ring, of the other's

  // --- and back
  std::uint64_t expected = 0;   // number of the next message
  std::uint64_t done = 0;       // messages
  std::uint64_t heard = 0;      // requests
  std::uint64_t over = 0;       // of them
  std::uint64_t over_told = 0;  // of them
  std::uint32_t owed_room = 0;  // as Come::weight
  // So much is told at once. While there is no longer ring, a long message may need all of the short one.
  std::uint32_t tells_room_at = kWholeRing / 4;
  Tag tag = kNoTag;
  bool tag_fits = false;
  bool heard_grow = false;
  std::optional<Word> ahead;  // the last acknowledgement that came before messages that were sent before it
  std::map<std::uint64_t, Come> early;  // by number: what came before its turn, or before its data
  std::unique_ptr<typename Port::Window> window;
  bool segment_owed = false;
  bool is_member = false;  // may be given the whole address space
  Laid laid;

  std::uint32_t in_flight() const noexcept { return asked.outstanding() + promised; }
};

}  // namespace hamlyn::internal_::am
