#include "tool/node_view.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "hamlyn/rpc/call.h"
#include "hamlyn/values/link_reason.h"

namespace hamlyn::tool {
namespace {

constexpr ssize_t kPageHead = offsetof(interface::CounterPage, pid);  // that says what the rest is

template <class Count>
Refusals refusals(const Count (&counts)[interface::kCounterCauses]) {
  Refusals found;
  for (std::uint8_t cause = 1; cause < static_cast<std::uint8_t>(Refusal::count); ++cause) {
    if (counts[cause] != 0) found.emplace_back(hamlyn::name(static_cast<Refusal>(cause)), counts[cause]);
  }
  return found;
}

// Frames have no cause of their own: what is wrong with them is for the link protocol to know.
Refusals with_frames(Refusals found, const char* which, std::uint64_t count) {
  if (count != 0) found.emplace_back(which, count);
  return found;
}

LinkView link_of(const interface::LinkCounters& row) {
  return {.peer = row.peer,
          .peer_uid = row.peer_uid,
          .peer_pid = row.peer_pid,
          .memory_out = row.memory_out,
          .memory_in = row.memory_in,
          .packets_out = row.packets_out,
          .packets_in = row.packets_in,
          .bytes_out = row.bytes_out,
          .bytes_in = row.bytes_in,
          .doorbells = row.doorbells,
          .full = row.full,
          .refused = with_frames(refusals(row.refused), "bad_frame", row.bad_frames)};
}

Refusals failures(const std::uint32_t (&counts)[interface::kCounterCallCauses]) {
  using interface::CallEnd;
  Refusals found;
  for (std::size_t i = 0; i < interface::kCounterCallCauses; ++i) {
    if (counts[i] == 0) continue;
    const auto end = static_cast<CallEnd>(i);
    const char* const name = end == CallEnd::given_up     ? "given_up"
                             : end == CallEnd::link_ended ? "link_ended"
                             : end == CallEnd::not_sent   ? "not_sent"
                                                          : rpc::name(static_cast<rpc::Cause>(i));
    found.emplace_back(name, counts[i]);
  }
  return found;
}

// The time that all but one in so many stay below.
std::uint64_t all_but_one_in(std::uint64_t many, const interface::CallCounters& row, std::uint64_t timed) {
  std::uint64_t longer = timed;
  for (std::size_t place = 0; place < interface::kCounterTimes; ++place) {
    longer -= row.times[place];
    if (longer <= timed / many) return interface::least_time(place + 1);
  }
  return 0;
}

CallView call_of(std::uint32_t number, const interface::CallCounters& row) {
  CallView out{.row = number, .counts = row};
  out.name = printable(row.name, sizeof row.name);
  out.failed = failures(row.failed);
  for (const std::uint32_t count : row.times) out.timed += count;
  if (out.timed == 0) return out;
  out.median = all_but_one_in(2, row, out.timed);
  out.one_in_100 = all_but_one_in(100, row, out.timed);
  out.one_in_1000 = all_but_one_in(1000, row, out.timed);
  return out;
}

Refusals reasons(const std::uint32_t (&counts)[interface::kCounterReasons]) {
  Refusals found;
  for (std::size_t i = 0; i < interface::kCounterReasons; ++i) {
    if (counts[i] != 0) found.emplace_back(name(static_cast<LinkReason>(i)), counts[i]);
  }
  return found;
}

}  // namespace

Details details_of(const interface::CounterPage& page) {
  Details details{.slots = page.slots,
                  .queues = page.queues,
                  .area_bytes = page.areas_bytes,
                  .links_ended = page.links_ended,
                  .everyone = page.consent == 0,
                  .users_named = page.consent >> 8 & 0xFF,
                  .groups_named = page.consent >> 16 & 0xFF,
                  .wakeups = page.wakeups,
                  .empty_wakeups = page.empty_wakeups,
                  .events_lost = page.events_lost,
                  .packets_in = page.packets_in,
                  .packets_out = page.packets_out,
                  .unread = page.unread,
                  .left_pieces = page.left_pieces,
                  .left_bytes = page.left_bytes,
                  .links_held_up = page.links_held_up,
                  .refused = with_frames(with_frames(refusals(page.refused), "bad_frame", page.bad_frames),
                                         "unknown_frame", page.unknown_frames),
                  .no_link = reasons(page.no_link),
                  .links = {},
                  .slot_rows = {},
                  .queue_rows = {},
                  .terminus_rows = {},
                  .call_rows = {}};
  for (const interface::LinkCounters& row : page.link) {
    if (row.peer == 0) continue;
    details.links.push_back(link_of(row));
    details.packets_in += row.packets_in;
    details.packets_out += row.packets_out;
  }
  std::uint32_t number = 0;
  for (const interface::SlotCounters& row : page.slot) {
    if (row.generation != 0)
      details.slot_rows.push_back({number, row.queue, row, refusals(page.slot_refused[number].by_cause)});
    ++number;
  }
  number = 0;
  for (const interface::QueueCounters& row : page.queue) {
    ++number;
    if (row.places != 0) details.queue_rows.push_back({number, row});
  }
  number = 0;
  for (const interface::TerminusCounters& row : page.terminus) {
    ++number;
    if (row.entries != 0) details.terminus_rows.push_back({number, row});
  }
  number = 0;
  for (const interface::CallCounters& row : page.call) {
    ++number;
    if (row.side != interface::CallSide::none) details.call_rows.push_back(call_of(number, row));
  }
  return details;
}

// By reading and not through a mapping: a page that its owner cuts short is then a short read and not a
// signal.
void read_details(int fd, ProcessView& process) {
  const auto page = std::make_unique<interface::CounterPage>();
  struct stat status {};
  const bool file = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t got = file ? ::pread(fd, page.get(), sizeof *page, 0) : -1;
  // One of another version has another size, too.
  const char* const why = got >= kPageHead ? invalid(*page) : "its counter page has a wrong size";
  if (why != nullptr) {
    process.why_no_details = why;
  } else if (got != static_cast<ssize_t>(sizeof *page) || status.st_size != got) {
    process.why_no_details = "its counter page has a wrong size";
  } else if (page->interface != process.interface) {
    process.why_no_details = "its counter page is that of another interface";
  } else {
    process.details = details_of(*page);
    const std::string program = printable(page->program, sizeof page->program);
    if (!program.empty()) process.program = program;
  }
}

std::string printable(const char* text, std::size_t most) {
  std::string clean(text, ::strnlen(text, most));
  const auto strange = [](char c) { return c < 0x20 || c > 0x7E; };
  std::replace_if(clean.begin(), clean.end(), strange, '?');
  return clean;
}

}  // namespace hamlyn::tool
