#pragma once
// What both ends of a stream say of it to the book: who has offered it, what was sent, what has come, and how
// it has ended.
#include <deque>
#include <optional>

#include "hamlyn/protocols/stream.h"
#include "test/simulation/books/protocols/part.h"
#include "test/simulation/books/protocols/stage.h"

namespace hamlyn::simulation {

// All that may be known of one offer, and of the stream that grew from it.
struct Flow {
  std::uint64_t number = 0;
  std::uint64_t receiver = 0;
  std::uint64_t sender = 0;
  bool bytes = false;                  // it is read as such
  std::vector<std::uint32_t> lengths;  // of records that were sent
  // So much was accepted, and so much may come: records, or bytes.
  std::uint64_t sure = 0;
  std::uint64_t may = 0;
  std::uint64_t flushed = 0;
  std::uint64_t received = 0;
  unsigned tries = 0;         // to grow from it
  bool denied = false;        // the receiver did not want somebody
  bool replaced = false;      // by another offer, before anybody came
  bool closing = false;       // the sender has called close
  bool closed = false;        // and it was ok
  bool given_up = false;      // by its sender, without closing
  bool area_gone = false;     // with what had not been copied out of it
  bool quit = false;          // the receiver wants no more, or goes
  bool stopped = false;       // it has waited for that
  std::optional<Status> end;  // that the receiver was told
};

inline std::vector<std::byte> record_content(const Flow& flow, std::uint64_t number) {
  return pattern(flow.lengths[number], flow.number << 32 | number);
}

// Of a stream of bytes, from its `at`th on.
inline std::vector<std::byte> bytes_content(const Flow& flow, std::uint64_t at, std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::byte& each : made)
    each = static_cast<std::byte>((++at + flow.number) * 0x9E3779B97F4A7C15u >> 56);
  return made;
}

// Whether all has come that had to.
inline bool whole(const Flow& flow) noexcept { return flow.received >= flow.sure; }

// Of all processes.
struct Flows {
  Flow& add() {
    Flow& flow = all.emplace_back();
    flow.number = all.size();
    flow.receiver = stage.me();
    return flow;
  }
  void check() const;

  Stage& stage;
  Offers offers;
  std::deque<Flow> all;
};

inline void Flows::check() const {
  for (const Flow& flow : all) {
    const bool lived = stage.host.inhabitant(flow.receiver).alive;
    if (flow.sender == 0 || !lived || flow.quit || flow.replaced) continue;
    stage.host.demand(flow.end.has_value(), "the receiver of a stream was never told of its end");
    if (flow.closed) stage.host.demand(whole(flow), "a stream was closed, and not all has come");
  }
}

}  // namespace hamlyn::simulation
