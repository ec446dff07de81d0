// One message to several receivers of counted messages: a letter for each, one behind the other. Each has an
// account of its own, and how it stands with each is told by itself.
#include <memory>
#include <vector>

#include "test/chaos/entries.h"
#include "test/chaos/roles.h"

namespace hamlyn::chaos {
namespace {

class ToMany {
 public:
  ToMany(Stage& stage, Interface& interface) : stage_(stage), interface_(interface), multicast_(interface) {}

  int run() {
    while (!stage_.leaving()) {
      stage_.rest();
      if (find() && !send_some()) shut();
      stage_.breathe();
    }
    shut();
    return 0;
  }

 private:
  struct Member {
    std::uint32_t seat;
    Ticket ticket;
    std::unique_ptr<Book> book;
    bool ended = false;
    bool stale = false;
  };

  // Whoever of the partners can be found now, with an account for each.
  bool find() {
    const std::uint64_t entry = stage_.chance(kEntries);  // one of all: they all land at the same offset
    for (const std::uint32_t seat : stage_.partners()) {
      try {
        const Ticket ticket = interface_.lookup(entry_name(seat, entry), kStep);
        auto book = std::make_unique<Book>(stage_.ledger(), stage_.seat(), seat, ticket.interface);
        if (!book->full()) members_.push_back({seat, ticket, std::move(book)});
      } catch (const Error& error) {
        ++stage_.ledger().errors[static_cast<std::size_t>(error.code())];
      }
    }
    return !members_.empty();
  }

  // False: find them anew.
  bool send_some() {
    while (!stage_.resting()) {
      for (const Member& member : members_) {
        if (member.ended || member.stale || member.book->full()) return false;
      }
      send_one();
      stage_.breathe();
    }
    return false;
  }

  void send_one() {
    const std::vector<Ticket> tickets = write();
    const Status status = multicast_.send(tickets, message_, {.offset = tickets[0].entry * kLongestLetter});
    if (status != Status::ok) stage_.fault(std::string("a multicast is not taken: ") + name(status));
    while (multicast_.wait(kStep) == Status::timed_out) {
      if (stage_.leaving()) break;
    }
    for (std::size_t i = 0; i < members_.size(); ++i) note(members_[i], multicast_.status(i));
    multicast_.stop();
  }

  std::vector<Ticket> write() {
    std::vector<Ticket> tickets;
    message_.clear();
    for (const Member& member : members_) {
      const std::size_t length = stage_.some_length(kLongestLetter / members_.size());
      message_.resize(message_.size() + length);
      write_letter(std::span(message_).last(length), member.book->letter(length));
      member.book->about_to_send();
      tickets.push_back(member.ticket);
    }
    return tickets;
  }

  static void note(Member& member, Status status) {
    if (status == Status::ok) return member.book->go_on(Said::delivered);
    if (status == Status::refused) {
      member.stale = true;  // maybe: its ticket is looked up anew
      return member.book->go_on(Said::refused);
    }
    member.ended = true;
  }

  void shut() {
    for (Member& member : members_) {
      if (member.ended) member.book->close(Closed::by_end);
    }
    members_.clear();
  }

  Stage& stage_;
  Interface& interface_;
  Multicast multicast_;
  std::vector<Member> members_;
  std::vector<std::byte> message_;
};

}  // namespace

int send_to_many(Stage& stage) {
  Interface interface(stage.interface_options());
  stage.enter(interface);
  return ToMany(stage, interface).run();
}

}  // namespace hamlyn::chaos
