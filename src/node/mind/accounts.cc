#include "node/mind/accounts.h"

#include <limits>

namespace hamlyn::node {
namespace {

constexpr std::uint64_t kMaxStrangers = 64;   // of one user
constexpr std::uint64_t kStrangersOfAll = 4;  // in all, this part of the interfaces that there may be

struct Words {
  ErrorCode code;
  const char* has;  // before the number, and after it
  const char* of;
  const char* remedy;
  const char* key;
};

Words words(Resource what) {
  switch (what) {
    case Resource::strangers:
    case Resource::interfaces:
      return {ErrorCode::quota_interfaces, "attached ", " interfaces", "end some", "interfaces"};
    case Resource::links:
    case Resource::shunned:
      return {ErrorCode::quota_links, "", " ends of links", "end some", "links"};
    case Resource::introductions:
      return {ErrorCode::quota_links, "asked for ", " links that are not there yet", "cancel some", "links"};
    case Resource::bytes:
      return {ErrorCode::quota_bytes, "", " bytes in links and areas", "end some", "bytes"};
    case Resource::names:
      return {ErrorCode::quota_names, "registered ", " names", "withdraw some", "names"};
    case Resource::lookups:
      return {ErrorCode::quota_names, "looked for ", " names that nobody has", "cancel some", "names"};
    case Resource::claims:
      return {ErrorCode::quota_names, "claimed ", " names that are kept for others", "cancel some", "names"};
    case Resource::count:
      break;
  }
  return {ErrorCode::system, "", "", "", ""};
}

}  // namespace

Quotas times(const Quotas& quotas, std::uint64_t factor) {
  const auto times = [factor](std::uint64_t amount) {
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    return amount > most / factor ? most : amount * factor;
  };
  return {times(quotas.interfaces), times(quotas.links), times(quotas.bytes), times(quotas.names)};
}

Accounts::Amounts Accounts::limits(const Quotas& quotas, std::uint64_t strangers) {
  return {strangers,    quotas.interfaces, quotas.links, quotas.bytes, quotas.names,
          quotas.names, quotas.names,      quotas.links, quotas.links};
}

Accounts::Accounts(const Quotas& each, const Quotas& all, std::uint32_t own, std::string where)
    : each_(limits(each, kMaxStrangers)),
      all_(limits(all, all.interfaces / kStrangersOfAll)),
      own_(own),
      where_(std::move(where)) {}

std::uint64_t Accounts::held(std::uint32_t uid, Resource what) const {
  const auto found = users_.find(uid);
  return found == users_.end() ? 0 : found->second.held[static_cast<std::size_t>(what)];
}

bool Accounts::within_quota(std::uint32_t uid, Resource what, std::uint64_t more) const {
  const std::uint64_t most = each_[static_cast<std::size_t>(what)];
  const std::uint64_t has = held(uid, what);
  return has <= most && more <= most - has;
}

bool Accounts::within_all(std::uint32_t uid, Resource what, std::uint64_t more) const {
  const std::uint64_t all = all_[static_cast<std::size_t>(what)];
  const bool own = uid == 0 || uid == own_;
  const std::uint64_t most = own ? all : all - all / kKept;
  const std::uint64_t sum = in_all(what);
  if (sum > most || more > most - sum) return false;
  return own || held(uid, what) + more <= most - sum;
}

void Accounts::check(std::uint32_t uid, Resource what, std::uint64_t more) const {
  const Words say = words(what);
  if (!within_quota(uid, what, more)) {
    throw Refused{say.code, "user " + std::to_string(uid) + " has " + say.has +
                                std::to_string(held(uid, what)) + say.of + where_ + ", asks for " +
                                std::to_string(more) + " more, and may have " +
                                std::to_string(each_[static_cast<std::size_t>(what)]) + ": " + say.remedy +
                                ", or raise quotas." + say.key + (where_.empty() ? "" : " there")};
  }
  if (within_all(uid, what, more)) return;
  if (what == Resource::interfaces && descriptors_ != 0) {
    throw Refused{ErrorCode::node_full,
                  "all users together have attached " + std::to_string(in_all(what)) +
                      " interfaces, and the node daemon may have " + std::to_string(descriptors_) +
                      " descriptors: end some, or end it and raise its starter's ulimit -n"};
  }
  throw Refused{ErrorCode::node_full, "all users together have " + std::string(say.has) +
                                          std::to_string(in_all(what)) + say.of + where_ +
                                          ", and what is left is for others: " + say.remedy +
                                          ", try again later, or have total." + say.key + " raised" +
                                          (where_.empty() ? "" : " there")};
}

void Accounts::add(std::uint32_t uid, Resource what, std::uint64_t more) {
  users_[uid].held[static_cast<std::size_t>(what)] += more;
  sum_[static_cast<std::size_t>(what)] += more;
}

void Accounts::give(std::uint32_t uid, Resource what, std::uint64_t less) {
  const auto found = users_.find(uid);
  if (found == users_.end()) return;  // it gives nothing
  found->second.held[static_cast<std::size_t>(what)] -= less;
  sum_[static_cast<std::size_t>(what)] -= less;
  if (found->second.held == Amounts{}) users_.erase(found);
}

void Accounts::check_foreign(std::uint32_t owner, std::uint32_t opener) const {
  const auto user = users_.find(owner);
  const auto mine = foreign_.find({owner, opener});
  const std::uint64_t half = each_[static_cast<std::size_t>(Resource::links)] / 2;
  const std::uint64_t foreign = user == users_.end() ? 0 : user->second.foreign;
  const std::string whose = "the links that user " + std::to_string(owner) + " may have";
  if (foreign >= half) throw Refused{ErrorCode::quota_links, "other users have opened half of " + whose};
  if (mine != foreign_.end() && mine->second >= half - foreign) {
    throw Refused{ErrorCode::quota_links, "user " + std::to_string(opener) + " has opened " +
                                              std::to_string(mine->second) + " of " + whose +
                                              "; what is left is for others: end some"};
  }
}

void Accounts::add_foreign(std::uint32_t owner, std::uint32_t opener) {
  ++users_[owner].foreign;
  ++foreign_[{owner, opener}];
}

void Accounts::give_foreign(std::uint32_t owner, std::uint32_t opener) {
  --users_.at(owner).foreign;
  const auto found = foreign_.find({owner, opener});
  if (--found->second == 0) foreign_.erase(found);
}

}  // namespace hamlyn::node
