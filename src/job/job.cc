#include "hamlyn/job/job.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "hamlyn/rpc.h"
#include "hamlyn/values/error.h"
#include "job/desk_service.h"
#include "library/wait/deadline.h"

namespace hamlyn {
namespace {

using internal_::job::Desk;
using internal_::job::DeskService;
using internal_::job::Kind;
using internal_::job::Met;
using internal_::job::Outcome;
namespace library = internal_::library;

[[noreturn]] void throw_senseless(const char* variable, std::string_view value) {
  throw Error(ErrorCode::invalid_argument,
              std::string(variable) + " is '" + std::string(value) + "': 'hamlyn run' sets it");
}

std::string_view variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

std::uint32_t number(const char* name, std::uint32_t low, std::uint32_t high) {
  const std::string_view text = variable(name);
  std::uint32_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < low || out > high)
    throw_senseless(name, text);
  return out;
}

std::array<std::byte, 16> secret() {
  constexpr const char* kName = "HAMLYN_JOB_SECRET";
  const std::string_view text = variable(kName);
  std::array<std::byte, 16> out{};
  if (text.size() != 2 * out.size()) throw_senseless(kName, "of another length");
  for (std::size_t i = 0; i != out.size(); ++i) {
    std::uint8_t byte = 0;
    const char* const at = text.data() + 2 * i;
    if (std::from_chars(at, at + 2, byte, 16).ptr != at + 2) throw_senseless(kName, "no hexadecimal number");
    out[i] = std::byte{byte};
  }
  return out;
}

// A wait that begins now.
library::Patience patience_for(std::chrono::nanoseconds timeout) {
  library::Patience out(timeout);
  static_cast<void>(out.deadline());
  return out;
}

ErrorCode code_of(Status status) noexcept {
  switch (status) {
    case Status::refused:
      return ErrorCode::not_permitted;
    case Status::timed_out:
      return ErrorCode::timed_out;
    case Status::cancelled:
      return ErrorCode::cancelled;
    case Status::forked:
      return ErrorCode::forked;
    case Status::no_buffer:
      return ErrorCode::out_of_memory;
    case Status::link_ended:
    case Status::stale:
      return ErrorCode::peer_died;
    default:
      return ErrorCode::peer_refused;
  }
}

}  // namespace

JobPlace place_in_job() {
  JobPlace out;
  out.job = variable("HAMLYN_JOB");
  if (out.job.empty()) return out;
  if (out.job.size() > internal_::job::kMostName) throw_senseless("HAMLYN_JOB", out.job);
  out.size = number("HAMLYN_SIZE", 1, internal_::job::kMostRanks);
  out.rank = number("HAMLYN_RANK", 0, out.size - 1);
  out.size_here = number("HAMLYN_LOCAL_SIZE", 1, out.size);
  out.here = number("HAMLYN_LOCAL_RANK", 0, out.size_here - 1);
  out.secret = secret();
  out.trusted_network = variable("HAMLYN_TRUSTED_NETWORK") == "1";
  return out;
}

struct Job::Inside {
  Inside(Interface& interface, const JobPlace& place, const JobOptions& options)
      : client(interface, internal_::job::desk_name(place.job), internal_::job::desk_calls(options.timeout)) {
  }

  // Waits for a meeting, which began before or begins now.
  Status meet(Kind kind, std::span<const std::byte> mine, std::chrono::nanoseconds timeout,
              std::vector<std::byte>& all, std::string& why);
  template <class Pending, class Start>
  Status begin(std::optional<Pending>& pending, std::chrono::nanoseconds timeout, Start start);
  Status take_answer(std::chrono::nanoseconds timeout, std::string& why);
  Status fetch(const library::Patience& patience);

  rpc::Client<DeskService> client;
  std::optional<rpc::Pending<Met>> meeting;  // that goes on
  Kind kind = Kind::barrier;                 // of that one
  std::size_t length = 0;                    // and what this rank gave
  // One that all have come to, and whose bytes have not all been brought.
  struct Fetch {
    std::uint64_t round = 0, bytes = 0;
    std::vector<std::byte> all;
    std::optional<rpc::Pending<std::vector<std::byte>>> piece;
  };
  std::optional<Fetch> fetching;
  std::optional<rpc::Pending<std::vector<RankEnd>>> news;
  std::vector<RankEnd> ends;  // that were not taken yet, the first one last
  std::uint64_t known = 0;    // all that came
};

Job::Job(Interface& interface, const JobOptions& options) : Job(interface, place_in_job(), options) {}

Job::Job(Interface& interface, const JobPlace& place, const JobOptions& options) : place_(place) {
  if (place.job.empty()) return;
  inside_ = std::make_unique<Inside>(interface, place, options);
  auto joined = inside_->client.within(options.timeout)
                    .call<&DeskService::join>(place.rank, place.secret, options.go_on);
  if (!joined)
    throw Error(code_of(joined.status()),
                "job '" + place.job + "': " +
                    (joined.text().empty() ? std::string(hamlyn::name(joined.status()))
                                           : std::string(joined.text())));
}

Job::~Job() {
  if (inside_ == nullptr) return;
  inside_->meeting.reset();
  inside_->fetching.reset();
  inside_->news.reset();
  // A desk that has gone needs to be told nothing.
  static_cast<void>(inside_->client.within(std::chrono::seconds{1}).call<&DeskService::leave>());
}

// Begins a call that `start` starts, unless one is under way.
template <class Pending, class Start>
Status Job::Inside::begin(std::optional<Pending>& pending, std::chrono::nanoseconds timeout, Start start) {
  if (pending) return Status::ok;
  const auto begun = [&] {
    pending.emplace(start());
    if (pending->status() == Status::queue_full) pending.reset();  // no room on the way now
    return pending.has_value();
  };
  return client.interface().wait_any(begun, timeout);
}

Status Job::Inside::meet(Kind of, std::span<const std::byte> mine, std::chrono::nanoseconds timeout,
                         std::vector<std::byte>& all, std::string& why) {
  const library::Patience patience = patience_for(timeout);
  if (!meeting && !fetching) {
    const auto start = [&] { return client.start<&DeskService::meet>(of, mine); };
    if (const Status status = begin(meeting, timeout, start); status != Status::ok) return status;
    kind = of;
    length = mine.size();
  } else if (of != kind || mine.size() != length) {
    why = "this rank is in another meeting, which has timed out and goes on";
    return Status::refused;
  }
  if (!fetching)
    if (const Status status = take_answer(patience.left(), why); status != Status::ok) return status;
  const Status status = fetch(patience);
  if (internal_::rpc::goes_on(status)) return status;
  all = std::move(fetching->all);
  fetching.reset();
  return status;
}

// Waits until the meeting is over.
Status Job::Inside::take_answer(std::chrono::nanoseconds timeout, std::string& why) {
  rpc::Result<Met> result = meeting->wait(timeout);
  if (meeting->status() == Status::pending) return result.status();
  meeting.reset();
  if (!result) {
    why = result.text();
    return result.status();
  }
  auto& [outcome, round, bytes, words, first] = *result;
  why = std::move(words);
  if (outcome != internal_::job::Outcome::met)
    return outcome == internal_::job::Outcome::ended ? Status::link_ended : Status::refused;
  fetching = Fetch{round, bytes, std::move(first), std::nullopt};
  return Status::ok;
}

// Brings what did not fit into the answer.
Status Job::Inside::fetch(const library::Patience& patience) {
  auto& [round, bytes, all, piece] = *fetching;
  while (all.size() < bytes) {
    const auto start = [&, at = std::uint64_t{all.size()}, of = round] {
      return client.start<&DeskService::gathered>(of, at);
    };
    if (const Status status = begin(piece, patience.left(), start); status != Status::ok) return status;
    auto result = piece->wait(patience.left());
    if (piece->status() == Status::pending) return result.status();
    piece.reset();
    if (!result) return result.status();
    if (result->empty()) return Status::broken;
    all.insert(all.end(), result->begin(), result->end());
  }
  return all.size() == bytes ? Status::ok : Status::broken;
}

Status Job::barrier(std::chrono::nanoseconds timeout) {
  if (inside_ == nullptr) return Status::ok;
  std::vector<std::byte> nothing;
  return inside_->meet(Kind::barrier, {}, timeout, nothing, why_);
}

Status Job::all_gather(std::span<const std::byte> mine, std::vector<std::byte>& all,
                       std::chrono::nanoseconds timeout) {
  if (mine.size() > kMostBytes) return Status::too_long;
  if (inside_ == nullptr) {
    all.assign(mine.begin(), mine.end());
    return Status::ok;
  }
  const Status status = inside_->meet(Kind::values, mine, timeout, all, why_);
  if (status != Status::ok) return status;
  return all.size() == mine.size() * size() ? Status::ok : Status::broken;
}

Status Job::all_gather(std::span<const std::byte> mine,
                       std::vector<std::optional<std::vector<std::byte>>>& all,
                       std::chrono::nanoseconds timeout) {
  if (mine.size() > kMostBytes) return Status::too_long;
  all.clear();
  if (inside_ == nullptr) {
    all.emplace_back(std::in_place, mine.begin(), mine.end());
    return Status::ok;
  }
  std::vector<std::byte> bytes;
  const Status status = inside_->meet(Kind::bytes, mine, timeout, bytes, why_);
  if (status != Status::ok) return status;
  std::span<const std::byte> rest = bytes;
  for (std::uint32_t rank = 0; rank != size(); ++rank) {
    std::uint32_t length = 0;
    if (rest.size() < sizeof length) return Status::broken;
    std::memcpy(&length, rest.data(), sizeof length);
    rest = rest.subspan(sizeof length);
    if (length == Desk::kNoBytes) {
      all.emplace_back();
      continue;
    }
    if (length > rest.size()) return Status::broken;
    all.emplace_back(std::in_place, rest.begin(), rest.begin() + length);
    rest = rest.subspan(length);
  }
  return rest.empty() ? Status::ok : Status::broken;
}

Status Job::ended(RankEnd& out, std::chrono::nanoseconds timeout) {
  if (inside_ == nullptr) return Status::timed_out;
  if (inside_->ends.empty()) {
    const library::Patience patience = patience_for(timeout);
    const auto start = [&] { return inside_->client.start<&DeskService::watch>(inside_->known); };
    if (const Status status = inside_->begin(inside_->news, timeout, start); status != Status::ok)
      return status;
    auto result = inside_->news->wait(patience.left());
    if (inside_->news->status() == Status::pending) return result.status();
    inside_->news.reset();
    if (!result) return result.status();
    if (result->empty()) return Status::broken;
    inside_->ends.assign(result->rbegin(), result->rend());
    inside_->known += result->size();
  }
  out = inside_->ends.back();
  inside_->ends.pop_back();
  return Status::ok;
}

}  // namespace hamlyn
