// A bank: a complete service of calls. Accounts are in one process; tellers in others open them, move money
// between them and ask what is there. Nobody is trusted: the bank checks what it is asked, a teller learns of
// each order whether it was done, once or not at all.
//
//   rpc_bank          the bank; starts itself again as each of three tellers
//   rpc_bank NAME     a teller of the bank that has published NAME
#include <hamlyn/hamlyn.h>
#include <hamlyn/rpc.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

struct Account {
  std::uint64_t number = 0;
  std::int64_t cents = 0;
};

// Does what the bank does for others. Several threads serve: the mutex guards the accounts.
class Bank {
 public:
  // Opens an account of the caller's, whom the node attests.
  std::uint64_t open(hamlyn::rpc::Call& call, std::string_view name, std::int64_t cents) {
    const std::lock_guard guard(mutex_);
    if (cents < 0) throw std::invalid_argument("nobody opens an account with less than nothing");
    const std::uint64_t number = accounts_.size() + 1;
    accounts_[number] = {std::string(name), call.client(), cents};
    return number;
  }
  // Returns what is left. An exception arrives at the caller with its words.
  std::int64_t move(hamlyn::rpc::Call& call, std::uint64_t from, std::uint64_t to, std::int64_t cents) {
    const std::lock_guard guard(mutex_);
    Held& source = accounts_.at(from);
    Held& target = accounts_.at(to);
    if (source.owner != call.client())
      throw std::runtime_error("account " + std::to_string(from) + " is another's");
    if (cents < 0 || cents > source.cents) throw std::runtime_error("so much is not there");
    source.cents -= cents;
    target.cents += cents;
    return source.cents;
  }
  std::optional<Account> find(std::string_view name) const {
    const std::lock_guard guard(mutex_);
    for (const auto& [number, held] : accounts_)
      if (held.name == name) return Account{number, held.cents};
    return std::nullopt;
  }
  std::int64_t all() const {
    const std::lock_guard guard(mutex_);
    std::int64_t out = 0;
    for (const auto& [number, held] : accounts_) out += held.cents;
    return out;
  }

 private:
  struct Held {
    std::string name;
    std::uint64_t owner = 0;
    std::int64_t cents = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Held> accounts_;
};
HAMLYN_RPC(Bank, open, move, find)

// --- the bank

int run_bank() {
  const std::string name = "rpc_bank." + std::to_string(getpid());
  SecondProcess tellers[] = {SecondProcess{name}, SecondProcess{name}, SecondProcess{name}};
  hamlyn::Interface interface;
  Bank bank;
  hamlyn::rpc::Server<Bank> server{interface, name, bank};
  std::vector<std::jthread> serving;
  for (int i = 0; i < 2; ++i) serving.emplace_back([&] { check(server.run()); });
  bool all = true;
  for (SecondProcess& teller : tellers) all &= teller.wait();
  server.stop();
  serving.clear();  // waits for each
  std::printf("three tellers have gone, and the bank has %lld cents\n", static_cast<long long>(bank.all()));
  return all && bank.all() == 3 * 10'000 ? 0 : 1;
}

// --- a teller

int run_teller(const char* name) {
  hamlyn::Interface interface;
  hamlyn::rpc::Client<Bank> bank{interface, name};
  const std::string own = "teller." + std::to_string(getpid());
  const std::uint64_t mine = bank.call<&Bank::open>(own, 10'000).value();
  const std::uint64_t other = bank.call<&Bank::open>(own + ".other", 0).value();

  // Several under way, each with a second at most.
  std::vector<hamlyn::rpc::Pending<std::int64_t>> orders;
  for (int i = 0; i < 10; ++i) orders.push_back(bank.within(1s).start<&Bank::move>(mine, other, 100));
  for (hamlyn::rpc::Pending<std::int64_t>& order : orders) {
    hamlyn::rpc::Result<std::int64_t> result = order.wait(10s);
    hamlyn::rpc::Fate fate = result.fate();
    if (fate == hamlyn::rpc::Fate::unknown) fate = bank.settle(result.call(), 10s);
    require(fate == hamlyn::rpc::Fate::done, "an order was not carried out");
  }
  const auto found = bank.call<&Bank::find>(own).value();
  require(found && found->cents == 9'000, "the sum is another");

  // An order that the bank does not carry out.
  const auto refused = bank.call<&Bank::move>(mine, other, 1'000'000);
  require(refused.cause() == hamlyn::rpc::Cause::threw && refused.text() == "so much is not there",
          "the bank has given more than there was");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? run_teller(words[1]) : run_bank());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rpc_bank: %s\n", error.what());
    return 1;
  }
}
