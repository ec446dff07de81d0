// Market data: one publisher, several subscribers. Each update is an order book of 64 KiB that is written
// once and read by everybody where it is: a loan. A subscriber that is too slow misses updates, one that dies
// is forgotten, and neither is noticed by the others. That the market opens and closes is said in a few bytes
// which nobody may miss: a multicast, of which the publisher knows who has got it.
//
//   market_data          publishes; starts itself four times as a subscriber
//   market_data NAME.3   subscribes to the market that was published as NAME, as number 3
#include <hamlyn/hamlyn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kUpdates = 2000;
constexpr std::size_t kSubscribers = 4;

// What is published, as it stands in memory. Every level says in which update it was written, so that a
// subscriber can tell that it has not read half of one and half of another.
struct Level {
  std::uint64_t update;
  std::int64_t price;
  std::uint64_t amount;
};
struct Book {
  std::uint64_t update;
  std::array<Level, 2700> levels;
};

// What everybody must hear.
struct News {
  std::uint64_t updates;  // 0: the market opens; otherwise it closes after so many
};

// What a subscriber sends to the publisher: where it wants its books, and the news.
struct Subscription {
  hamlyn::Seed books;
  hamlyn::Seed news;
  char name[16];
};

// --- the publisher

struct Subscriber {
  Subscriber(hamlyn::LoanPool& pool, const Subscription& wish)
      : sender(pool, wish.books, {.most = 16}), news(wish.news.ticket), name(wish.name) {}
  hamlyn::LoanSender sender;
  hamlyn::Ticket news;
  std::string name;
  std::uint64_t missed = 0;
};

void write(std::span<std::byte> bytes, std::uint64_t update) {
  Book& book = *reinterpret_cast<Book*>(bytes.data());
  book.update = update;
  for (std::size_t i = 0; i < book.levels.size(); ++i)
    book.levels[i] = {update, static_cast<std::int64_t>(update + i), 100 + i};
}

// Whoever has sent its wish since the last look is a subscriber from now on.
void welcome(hamlyn::DatagramReceiver& door, hamlyn::LoanPool& pool, std::list<Subscriber>& subscribers,
             std::chrono::nanoseconds patience) {
  hamlyn::Datagram wish;
  const hamlyn::Status status = door.receive(wish, patience);
  if (status == hamlyn::Status::timed_out) return;
  try {
    Subscription subscription;
    // One that gave up, or died, in the middle of its wish has none.
    if (status == hamlyn::Status::ok && wish.bytes.size() == sizeof subscription) {
      std::copy_n(wish.bytes.data(), sizeof subscription, reinterpret_cast<std::byte*>(&subscription));
      subscription.name[sizeof subscription.name - 1] = 0;
      subscribers.emplace_back(pool, subscription);
    }
  } catch (const hamlyn::Error& error) {  // it has gone already, or its seed is no good: its own loss
    std::fprintf(stderr, "market_data: a subscriber: %s\n", error.what());
  }
  door.make_ready();
}

// Returns how many have it in their memory. One that has died since the last look is none of them, and is not
// waited for.
std::size_t tell(hamlyn::Multicast& multicast, const std::list<Subscriber>& subscribers, const News& news) {
  std::vector<hamlyn::Ticket> recipients;
  for (const Subscriber& each : subscribers) recipients.push_back(each.news);
  if (multicast.send(recipients, std::as_bytes(std::span{&news, 1})) != hamlyn::Status::ok) return 0;
  multicast.wait(30s);
  return multicast.count().delivered;
}

int publish() {
  const std::string market = "market." + std::to_string(getpid());
  std::vector<std::unique_ptr<SecondProcess>> processes;
  for (std::size_t i = 0; i < kSubscribers; ++i)
    processes.push_back(std::make_unique<SecondProcess>(market + "." + std::to_string(i)));

  hamlyn::Manager manager;
  hamlyn::DatagramReceiver door{manager, sizeof(Subscription)};
  manager.publish(market, door.make_seed());
  hamlyn::LoanPool books{manager, {{.bytes = sizeof(Book), .count = 64}}};
  std::list<Subscriber> subscribers;
  while (subscribers.size() < kSubscribers) welcome(door, books, subscribers, 30s);
  hamlyn::Multicast multicast{manager.interface(), kSubscribers};
  std::printf("%zu subscribers know that the market is open\n", tell(multicast, subscribers, {0}));

  std::size_t died = 0;
  for (std::uint64_t update = 1; update <= kUpdates; ++update) {
    hamlyn::Loan book;
    if (books.take(sizeof(Book), book, 30s) != hamlyn::Status::ok) return 1;
    write(book.bytes(), update);  // once, however many read it
    for (auto each = subscribers.begin(); each != subscribers.end();) {
      // The last one must reach everybody; before, nobody is waited for.
      const bool last = update == kUpdates;
      const hamlyn::Status status =
          last ? each->sender.send(book, sizeof(Book), 30s) : each->sender.send(book);
      if (each->sender.end() != hamlyn::Status::ok) {
        ++died;
        each = subscribers.erase(each);  // what it had is ours again already
        continue;
      }
      if (status != hamlyn::Status::ok) ++each->missed;
      ++each;
    }
  }
  std::printf("%zu subscribers have the last of %llu books, %zu died on the way\n", subscribers.size(),
              static_cast<unsigned long long>(kUpdates), died);
  for (const Subscriber& each : subscribers)
    std::fprintf(stderr, "%s missed %llu\n", each.name.c_str(), static_cast<unsigned long long>(each.missed));
  std::printf("%zu subscribers know that it is closed\n", tell(multicast, subscribers, {kUpdates}));
  const std::size_t left = subscribers.size();
  subscribers.clear();  // they are told that it is over
  std::size_t well = 0;
  for (auto& process : processes) well += process->wait();
  return well == left && left + died == kSubscribers ? 0 : 1;
}

// --- a subscriber

// Waits for the next of the news.
bool hear(hamlyn::DatagramReceiver& news, News& out) {
  hamlyn::Datagram said;
  if (news.receive(said, 30s) != hamlyn::Status::ok || said.bytes.size() != sizeof out) return false;
  std::copy_n(said.bytes.data(), sizeof out, reinterpret_cast<std::byte*>(&out));
  return news.make_ready() == hamlyn::Status::ok;
}

int subscribe(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  const int number = std::stoi(name.substr(dot + 1));
  hamlyn::Manager manager;
  hamlyn::LoanReceiver books{manager};
  hamlyn::DatagramReceiver news{manager, sizeof(News)};

  Subscription wish{books.make_seed(), news.make_seed(), {}};
  std::snprintf(wish.name, sizeof wish.name, "subscriber %d", number);
  hamlyn::DatagramSender market{manager, manager.lookup(name.substr(0, dot))};
  hamlyn::Status status;
  do {  // others may be at the door
    status = market.deliver(std::as_bytes(std::span{&wish, 1}), {}, 30s);
  } while (status == hamlyn::Status::not_ready);
  if (status != hamlyn::Status::ok) return 1;

  std::uint64_t last = 0;
  News heard{};
  hamlyn::Borrowed borrowed;
  while ((status = books.receive(borrowed, 30s)) == hamlyn::Status::ok) {
    if (borrowed.bytes().size() != sizeof(Book)) return 1;
    // The first one was lent when everybody had heard that the market is open.
    if (last == 0 && (!hear(news, heard) || heard.updates != 0)) return 1;
    const Book& book = *reinterpret_cast<const Book*>(borrowed.bytes().data());
    last = book.update;
    // We trust this publisher to leave a book alone while we have it. (docs/loans.md says what to do with one
    // that we do not.)
    if (!std::ranges::all_of(book.levels, [&](const Level& level) { return level.update == last; })) return 1;
    if (number == 0 && last > 100) kill(getpid(), SIGKILL);                        // one that dies
    if (number == 1) std::this_thread::sleep_for(std::chrono::microseconds{500});  // one that is slow
  }
  const bool closed = status == hamlyn::Status::closed && hear(news, heard);
  return closed && heard.updates == kUpdates && last == kUpdates ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    return count > 1 ? subscribe(words[1]) : publish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "market_data: %s\n", error.what());
    return 1;
  }
}
