// Market data: one publisher, several subscribers. Each update is an order book of 64 KiB that is written
// once and read by everybody where it is: a loan. A subscriber that is too slow misses updates, one that dies
// is forgotten, one that knocks and then does not look is given up, and none of them is noticed by the
// others. That the market opens and closes is said in a few bytes which nobody may miss: a multicast, of
// which the publisher knows who has got it.
//
//   market_data          publishes; starts itself four times as a subscriber
//   market_data NAME.3   subscribes to the market that was published as NAME, as number 3
#include <hamlyn/hamlyn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "spawn_self.h"

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kUpdates = 2000;
constexpr std::size_t kSubscribers = 4;
constexpr std::uint32_t kHeld = 16;      // books that one subscriber may have at a time
constexpr std::size_t kNewcomers = 16;   // are let in at a time; others knock again
constexpr auto kNewcomersPatience = 1s;  // what a newcomer has for its first look
using Clock = std::chrono::steady_clock;

// Book that is published, as it stands in memory. Every level says in which update it was written, so that a
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

// News that everybody must hear.
struct News {
  std::uint64_t updates;  // 0: the market opens; otherwise it closes after so many
};

// Wish that a subscriber sends to the publisher: where it wants its books, and the news.
struct Subscription {
  hamlyn::Seed books;
  hamlyn::Seed news;
  char name[16];
};

// --- the publisher

struct Subscriber {
  Subscriber(hamlyn::LoanPool& pool, const Subscription& wish)
      : sender(pool, wish.books, {.most = kHeld}, hamlyn::kBegin),
        knocked(Clock::now()),
        news(wish.news.ticket),
        name(wish.name) {}
  hamlyn::LoanSender sender;  // begun
  Clock::time_point knocked;
  hamlyn::Ticket news;
  std::string name;
  std::uint64_t missed = 0;
  bool has_last = false;  // of the books
};

void write(std::span<std::byte> bytes, std::uint64_t update) {
  Book& book = *reinterpret_cast<Book*>(bytes.data());
  book.update = update;
  for (std::size_t i = 0; i < book.levels.size(); ++i)
    book.levels[i] = {update, static_cast<std::int64_t>(update + i), 100 + i};
}

using Subscribers = std::list<std::unique_ptr<Subscriber>>;

// Lets newcomers in. A way to one opens when its program looks, which may be never: so it is begun, looked at
// by and by, and given up after a while. One that never looks holds up neither the publisher nor the others.
class Door {
 public:
  Door(hamlyn::Manager& manager, hamlyn::LoanPool& pool)
      : pool_(pool), door_(manager, sizeof(Subscription)) {}
  hamlyn::Seed make_seed() const { return door_.make_seed(); }

  // Takes the next wish, if one comes within `patience`, and adds those whose way is open by now.
  void look(Subscribers& subscribers, std::chrono::nanoseconds patience) {
    hamlyn::Datagram wish;
    if (coming_.size() < kNewcomers) take(wish, door_.receive(wish, patience));
    for (auto each = coming_.begin(); each != coming_.end();) {
      const auto newcomer = each++;
      const hamlyn::Status status = (*newcomer)->sender.opened(0s);
      if (status == hamlyn::Status::ok) {
        subscribers.splice(subscribers.end(), coming_, newcomer);
      } else if (status != hamlyn::Status::timed_out ||
                 Clock::now() - (*newcomer)->knocked > kNewcomersPatience) {
        give_up(**newcomer);
        coming_.erase(newcomer);
      }
    }
  }

 private:
  void take(const hamlyn::Datagram& wish, hamlyn::Status status) {
    if (status == hamlyn::Status::timed_out) return;
    Subscription subscription;
    // One that gave up, or died, in the middle of its wish has none.
    if (status == hamlyn::Status::ok && wish.bytes.size() == sizeof subscription) {
      std::copy_n(wish.bytes.data(), sizeof subscription, reinterpret_cast<std::byte*>(&subscription));
      subscription.name[sizeof subscription.name - 1] = 0;
      begin(subscription);
    }
    check(door_.make_ready());
  }

  void begin(const Subscription& subscription) {
    try {
      coming_.push_back(std::make_unique<Subscriber>(pool_, subscription));
    } catch (const hamlyn::Error& error) {  // its seed is no good: its own loss
      std::fprintf(stderr, "market_data: a newcomer: %s\n", error.what());
    }
  }

  static void give_up(Subscriber& newcomer) {
    try {
      newcomer.sender.open(0s);
    } catch (const hamlyn::Error& error) {  // it has gone, does not look, or its seed is used or stale
      std::fprintf(stderr, "market_data: a newcomer: %s\n", error.what());
    }
  }

  hamlyn::LoanPool& pool_;
  hamlyn::DatagramReceiver door_;
  Subscribers coming_;
};

// Returns how many have it in their memory. One that has died since the last look is none of them, and is not
// waited for.
std::size_t tell(hamlyn::Multicast& multicast, const Subscribers& subscribers, const News& news) {
  std::vector<hamlyn::Ticket> recipients;
  for (const auto& each : subscribers) recipients.push_back(each->news);
  check(multicast.send(recipients, std::as_bytes(std::span{&news, 1})));
  // All who look have it at once; who has not by then is not counted.
  const hamlyn::Status status = multicast.wait(5s);
  if (status != hamlyn::Status::timed_out) check(status);
  return multicast.count().delivered;
}

// Lends each subscriber the book, waiting for none. Who has too many books misses this one.
std::size_t publish_one(const hamlyn::Loan& book, Subscribers& subscribers) {
  std::size_t died = 0;
  for (auto each = subscribers.begin(); each != subscribers.end();) {
    Subscriber& subscriber = **each;
    const hamlyn::Status status = subscriber.sender.send(book);
    if (subscriber.sender.end() != hamlyn::Status::ok) {
      ++died;
      each = subscribers.erase(each);  // what it had is ours again already
      continue;
    }
    subscriber.has_last = status == hamlyn::Status::ok;
    subscriber.missed += !subscriber.has_last;
    ++each;
  }
  return died;
}

int publish() {
  const std::string market = "market." + std::to_string(getpid());
  std::vector<std::unique_ptr<SecondProcess>> processes;
  for (std::size_t i = 0; i < kSubscribers; ++i)
    processes.push_back(std::make_unique<SecondProcess>(market + "." + std::to_string(i)));

  hamlyn::Manager manager;
  // More than all subscribers together may have: they never leave the publisher without.
  hamlyn::LoanPool books{manager, {{.bytes = sizeof(Book), .count = kSubscribers * kHeld + 2}}};
  Subscribers subscribers;
  Door door{manager, books};
  manager.publish(market, door.make_seed());
  while (subscribers.size() < kSubscribers) door.look(subscribers, 10ms);
  hamlyn::Multicast multicast{manager.interface(), kSubscribers};
  std::printf("%zu subscribers know that the market is open\n", tell(multicast, subscribers, {0}));

  std::size_t died = 0;
  hamlyn::Loan book;
  for (std::uint64_t update = 1; update <= kUpdates; ++update) {
    check(books.take(sizeof(Book), book));
    write(book.bytes(), update);  // once, however many read it
    died += publish_one(book, subscribers);
  }
  // The last one is to reach everybody. All others have it: to wait for the slow holds up nobody.
  died += std::erase_if(subscribers, [&](const auto& each) {
    if (each->has_last) return false;
    const hamlyn::Status status = each->sender.send(book, sizeof(Book), 30s);
    if (each->sender.end() == hamlyn::Status::ok) check(status);
    return status != hamlyn::Status::ok;
  });
  std::printf("%zu subscribers have the last of %llu books, %zu died on the way\n", subscribers.size(),
              static_cast<unsigned long long>(kUpdates), died);
  for (const auto& each : subscribers)
    std::fprintf(stderr, "%s missed %llu\n", each->name.c_str(),
                 static_cast<unsigned long long>(each->missed));
  std::printf("%zu subscribers know that it is closed\n", tell(multicast, subscribers, {kUpdates}));
  const std::size_t left = subscribers.size();
  subscribers.clear();  // they are told that it is over
  std::size_t well = 0;
  for (auto& process : processes) well += process->wait();
  return well == left && left + died == kSubscribers ? 0 : 1;
}

// --- a subscriber

// Waits for the next of the news.
News hear(hamlyn::DatagramReceiver& news) {
  hamlyn::Datagram said;
  check(news.receive(said, 30s));
  News out{};
  require(said.bytes.size() == sizeof out, "this is no news");
  std::copy_n(said.bytes.data(), sizeof out, reinterpret_cast<std::byte*>(&out));
  check(news.make_ready());
  return out;
}

int subscribe(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  require(dot != std::string::npos && dot + 2 == name.size() && std::isdigit(name.back()) != 0,
          "a subscriber is given the market's name, a dot and a digit");
  const int number = name.back() - '0';
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
  check(status);

  std::uint64_t last = 0;
  hamlyn::Borrowed borrowed;
  while ((status = books.receive(borrowed, 30s)) == hamlyn::Status::ok) {
    require(borrowed.bytes().size() == sizeof(Book), "this is no book");
    // The first one was lent when everybody had heard that the market is open.
    if (last == 0) require(hear(news).updates == 0, "the market closes before it has opened");
    const Book& book = *reinterpret_cast<const Book*>(borrowed.bytes().data());
    last = book.update;
    // We trust this publisher to leave a book alone while we have it. (docs/large-data.md says what to do
    // with one that we do not.)
    require(std::ranges::all_of(book.levels, [&](const Level& level) { return level.update == last; }),
            "half of a book is of another update");
    if (number == 0 && last > 100) kill(getpid(), SIGKILL);                        // one that dies
    if (number == 1) std::this_thread::sleep_for(std::chrono::microseconds{500});  // one that is slow
  }
  if (status != hamlyn::Status::closed) check(status);
  require(hear(news).updates == kUpdates && last == kUpdates, "the last book is missing");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return written(count > 1 ? subscribe(words[1]) : publish());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "market_data: %s\n", error.what());
    return 1;
  }
}
