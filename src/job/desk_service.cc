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
bool equal(const Secret& one, const Secret& other) noexcept {
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
  if (!equal(secret, secret_)) throw std::runtime_error("the job's secret is another one");
  if (ranks_.contains(call.client())) throw std::runtime_error("that interface is in the job already");
  check(desk_.join(rank, go_on));
  ranks_.emplace(call.client(), rank);
}

void DeskService::leave(Call& call) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t rank = rank_of(call);
  desk_.leave(rank);
  ranks_.erase(call.client());
  meets_[rank].reset();
  watches_[rank].reset();
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

Secret DeskService::enlist(Call& call, const std::string& host, std::uint32_t size,
                           const std::vector<std::string>& hosts) {
  const std::lock_guard lock(mutex_);
  if (size != desk_.size() || hosts != hosts_)
    throw std::runtime_error("its command has other ranks or other hosts");
  if (std::ranges::find(hosts_, host) == hosts_.end()) throw std::runtime_error("the job has no such host");
  const auto [at, first] = enlisted_.try_emplace(host);
  if (!first) throw std::runtime_error("that host is in the job already");
  at->second.interface = call.client();
  return secret_;
}

void DeskService::orders(Call& call, Answer<Order> answer) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, host] : enlisted_) {
    if (host.interface != call.client()) continue;
    host.waits = std::move(answer);
    return give(host);
  }
  throw std::runtime_error("that interface is no host of the job");
}

void DeskService::give(Host& host) {
  if (!host.waits || host.orders.empty()) return;
  std::optional<Answer<Order>> waits = std::exchange(host.waits, std::nullopt);
  static_cast<void>(waits->give(host.orders.front()));
  host.orders.pop_front();
}

void DeskService::report(Call& call, std::uint32_t rank, std::uint32_t status) {
  {
    const std::lock_guard lock(mutex_);
    const bool known = std::ranges::any_of(
        enlisted_, [&](const auto& each) { return each.second.interface == call.client(); });
    if (!known || rank >= desk_.size()) throw std::runtime_error("that interface is no host of the job");
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
  const std::lock_guard lock(mutex_);
  for (auto& [name, host] : enlisted_) {
    host.orders.push_back(what);
    give(host);
  }
}

bool DeskService::lost(const std::string& host, bool late) {
  constexpr std::size_t kLooks = 5;  // between two orders it is away for a moment
  const std::lock_guard lock(mutex_);
  const auto found = enlisted_.find(host);
  if (found == enlisted_.end()) return late;
  Host& one = found->second;
  if (one.waits) {
    one.without = 0;
    return one.waits->cancelled();
  }
  return ++one.without > kLooks;
}

std::vector<RankEnd> DeskService::take_reports() {
  const std::lock_guard lock(mutex_);
  return std::exchange(reports_, {});
}

}  // namespace hamlyn::internal_::job
