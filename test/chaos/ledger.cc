#include "test/chaos/ledger.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cstring>

#include "base/file_descriptor.h"
#include "base/throw_system.h"

namespace hamlyn::chaos {

void Ledger::fault(const std::string& text) noexcept {
  const std::uint32_t place = faults.fetch_add(1);
  if (place < fault_texts.size())
    std::strncpy(fault_texts[place].data(), text.c_str(), fault_texts[place].size() - 1);
}

void Ledger::receive(std::uint32_t seat, std::span<const std::byte> bytes, bool in_order) noexcept {
  const auto letter = read_letter(bytes);
  const auto wrong = [&](const char* what) {
    fault(fmt::format("seat {} ({}): {}: account {} serial {} number {} length {} of {}", seat,
                      seats[seat].role.data(), what, letter ? letter->account : 0,
                      letter ? letter->serial : 0, letter ? letter->number : 0, letter ? letter->length : 0,
                      bytes.size()));
  };
  if (!letter) return wrong("a letter is torn");
  if (letter->account >= kAccounts || letter->number >= kLetters) return wrong("nobody sent that");
  Account& account = accounts[letter->account];
  if (account.serial != letter->serial) {
    if (account.serial < letter->serial) return wrong("nobody sent that");
    ++tally.late;
    return;
  }
  if (letter->to != seat || account.to != seat) return wrong("it is for somebody else");
  if (account.said[letter->number] == Said::nothing) return wrong("nobody sent that");
  if (account.times[letter->number].fetch_add(1) != 0) return wrong("it came twice");
  if (in_order && account.next.exchange(letter->number + 1) != letter->number)
    return wrong("it is out of order");
}

void Ledger::receive_up_to(Account& account, std::uint32_t count) noexcept {
  if (count > kLetters || (count != 0 && account.said[count - 1] == Said::nothing))
    return fault(fmt::format("seat {} ({}): {} were done, and not so many asked for", account.to.load(),
                             seats[account.to].role.data(), count));
  if (count < account.next)
    return fault(fmt::format("seat {}: {} of {} were undone", account.to.load(), account.next - count,
                             account.next.load()));
  while (account.next < count) account.times[account.next++] = 1;
}

Ledger& make_ledger() {
  const base::FileDescriptor memory(::memfd_create("chaos-ledger", MFD_CLOEXEC));
  if (!memory || ::ftruncate(memory.get(), sizeof(Ledger)) != 0) base::throw_system("memfd_create");
  void* const at = ::mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED) base::throw_system("mmap");
  return *static_cast<Ledger*>(at);
}

Book::Book(Ledger& ledger, std::uint32_t seat, std::uint32_t to, std::uint64_t interface) : ledger_(ledger) {
  const std::uint32_t life = ledger.seats[to].life;
  const std::uint64_t self = (std::uint64_t{seat} + 1) << 32 | ledger.seats[seat].life;
  for (Account& account : ledger.accounts) {
    std::uint64_t nobody = 0;
    if (account.sender != 0 || !account.sender.compare_exchange_strong(nobody, self)) continue;
    account.to = to;
    account.to_life = life;
    account.serial = ++ledger.serials;
    account.untouched = true;
    account.stalled = false;
    // Whoever is killed from here on has this account marked. Who was before is not there any more.
    if (ledger.seats[to].interface != interface || ledger.seats[to].life != life) {
      account.sender = 0;
      return;
    }
    account.open = true;
    account_ = &account;
    return;
  }
}

Letter Book::letter(std::size_t length) const noexcept {
  return {.serial = account_->serial,
          .account = static_cast<std::uint16_t>(account()),
          .to = static_cast<std::uint16_t>(account_->to),
          .number = next_,
          .length = static_cast<std::uint32_t>(length)};
}

std::uint32_t Book::account() const noexcept {
  return static_cast<std::uint32_t>(account_ - ledger_.accounts.data());
}

void Book::say(std::uint32_t number, Said said) noexcept { account_->said[number] = said; }

void Book::close(Closed how) noexcept {
  if (account_ == nullptr) return;
  account_->closed = how;
  account_ = nullptr;
}

}  // namespace hamlyn::chaos
