#include "job/desk_service.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hamlyn::internal_::job {

using hamlyn::rpc::Answer;
using hamlyn::rpc::Call;

namespace {

void check(const char* wrong) {
  if (wrong != nullptr) throw std::runtime_error(wrong);
}

// Takes time that does not tell how much of it is right.
bool equal(std::span<const std::byte> one, std::span<const std::byte> other) noexcept {
  if (one.size() != other.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i != one.size(); ++i) differs |= std::to_integer<unsigned>(one[i] ^ other[i]);
  return differs == 0;
}

}  // namespace

std::uint32_t DeskService::rank_of(const Call& call) const {
  const auto found = ranks_.find(call.client());
  if (found == ranks_.end()) throw std::runtime_error("that interface is no rank of the job");
  return found->second;
}

void DeskService::join(Call& call, std::uint32_t rank, const Secret& secret, bool go_on) {
  const std::lock_guard lock(mutex_);
  if (!equal(secret, terms_.secret)) throw std::runtime_error("the job's secret is another one");
  if (ranks_.contains(call.client())) throw std::runtime_error("that interface is in the job already");
  check(desk_.join(rank, go_on));
  forget(rank);
  ranks_.emplace(call.client(), rank);
}

// Another process is that rank from here on, or none.
void DeskService::forget(std::uint32_t rank) {
  std::erase_if(ranks_, [&](const auto& each) { return each.second == rank; });
  meets_[rank].reset();
  watches_[rank].reset();
}

void DeskService::leave(Call& call) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t rank = rank_of(call);
  desk_.leave(rank);
  forget(rank);
}

void DeskService::meet(Call& call, Answer<Met> answer, Kind kind, std::span<const std::byte> block) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t rank = rank_of(call);
  check(desk_.meet(rank, kind, block));
  meets_[rank] = std::move(answer);
  tell_met();
}

void DeskService::tell_met() {
  while (const auto told = desk_.take_told()) {
    std::optional<Answer<Met>> answer = std::exchange(meets_[told->rank], std::nullopt);
    if (!answer) continue;
    const auto first =
        told->outcome == Outcome::met ? desk_.gathered(told->round, 0) : std::span<const std::byte>{};
    // A rank that has gone meanwhile needs none.
    static_cast<void>(answer->give(
        {told->outcome, told->round, told->bytes, std::string(told->words), {first.begin(), first.end()}}));
  }
}

std::vector<std::byte> DeskService::gathered(Call& call, std::uint64_t round, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  static_cast<void>(rank_of(call));
  const auto piece = desk_.gathered(round, offset);
  return {piece.begin(), piece.end()};
}

void DeskService::watch(Call& call, Answer<std::vector<RankEnd>> answer, std::uint64_t known) {
  const std::lock_guard lock(mutex_);
  watches_[rank_of(call)] = Watch{std::move(answer), static_cast<std::size_t>(known)};
  tell_ends();
}

void DeskService::tell_ends() {
  for (std::optional<Watch>& each : watches_) {
    if (!each) continue;
    const auto news = desk_.ends(each->known);
    if (news.empty()) continue;
    static_cast<void>(each->answer.give({news.begin(), news.end()}));
    each.reset();
  }
}

Secret DeskService::enlist(Call& call, const std::string& host, const std::string& token, std::uint32_t size,
                           std::uint64_t check) {
  const std::lock_guard lock(mutex_);
  if (size != terms_.size || check != terms_.check)
    throw std::runtime_error("its command has other ranks or other hosts");
  const auto found = std::ranges::find(terms_.hosts, host);
  const auto at = static_cast<std::size_t>(found - terms_.hosts.begin());
  if (found == terms_.hosts.end() || at == terms_.own)
    throw std::runtime_error("the job waits for no such host");
  if (!equal(std::as_bytes(std::span(token)), std::as_bytes(std::span(terms_.token))))
    throw std::runtime_error("the job starts its hosts itself, and has not started this one");
  Host& one = enlisted_[at];
  if (one.interface) throw std::runtime_error("that host is in the job already");
  one.interface = call.client();
  return terms_.secret;
}

std::size_t DeskService::host_of(const Call& call) const {
  const auto found = std::ranges::find(enlisted_, std::optional(call.client()), &Host::interface);
  if (found == enlisted_.end()) throw std::runtime_error("that interface is no host of the job");
  return static_cast<std::size_t>(found - enlisted_.begin());
}

void DeskService::orders(Call& call, Answer<Order> answer) {
  const std::lock_guard lock(mutex_);
  Host& host = enlisted_[host_of(call)];
  host.waits = std::move(answer);
  give(host);
}

void DeskService::give(Host& host) {
  // One whose caller has gone is left: `lost` sees by it that the host has ended.
  if (!host.waits || host.orders.empty() || host.waits->cancelled()) return;
  std::optional<Answer<Order>> waits = std::exchange(host.waits, std::nullopt);
  static_cast<void>(waits->give(host.orders.front()));
  host.orders.pop_front();
}

void DeskService::report(Call& call, std::uint32_t rank, std::uint32_t status) {
  {
    const std::lock_guard lock(mutex_);
    if (!block_of(terms_.size, terms_.hosts.size(), host_of(call)).has(rank))
      throw std::runtime_error("that host has no such rank");
    const auto again = [&](const RankEnd& each) { return each.rank == rank; };
    if (std::ranges::any_of(reports_, again)) return;
    reports_.push_back({rank, status});
  }
  reported_();
}

void DeskService::ended(std::uint32_t rank, std::uint32_t status) {
  const std::lock_guard lock(mutex_);
  desk_.ended(rank, status);
  tell_met();
  tell_ends();
}

bool DeskService::goes_on(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  return desk_.goes_on(rank);
}

void DeskService::order(const Order& what) {
  constexpr std::size_t kMost = 64;
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at != enlisted_.size(); ++at) {
    if (at == terms_.own) continue;
    Host& host = enlisted_[at];
    if (host.orders.size() == kMost) host.orders.pop_front();
    host.orders.push_back(what);
    give(host);
  }
}

bool DeskService::complete() {
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at != enlisted_.size(); ++at)
    if (at != terms_.own && !enlisted_[at].interface) return false;
  return true;
}

bool DeskService::lost(std::size_t host, Time now, bool late) {
  constexpr std::chrono::seconds kAway{30};  // between two orders, on a busy machine
  const std::lock_guard lock(mutex_);
  Host& one = enlisted_[host];
  if (!one.interface) return late;
  if (one.waits) {
    one.without.reset();
    return one.waits->cancelled();
  }
  if (!one.without) one.without = now;
  return now - *one.without > kAway;
}

std::vector<RankEnd> DeskService::take_reports() {
  const std::lock_guard lock(mutex_);
  return std::exchange(reports_, {});
}

}  // namespace hamlyn::internal_::job
