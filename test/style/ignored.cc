// Answers that a program ignores. A compiler warns of each line that says so, and of no other.
#include "hamlyn/c.h"
#include "hamlyn/hamlyn.h"

using namespace hamlyn;
using namespace std::chrono_literals;

void ignore(Terminus& terminus, const Ticket& ticket, NotificationQueue& queue, Interface& interface) {
  Notification notification;
  terminus.connect(ticket, 1s);       // ignored
  terminus.send_fast(ticket, {});     // ignored
  queue.receive(notification, 1s);    // ignored
  queue.poll();                       // ignored
  interface.lookup("name");           // ignored
  interface.wait_attached(true, 1s);  // ignored
  static_cast<void>(terminus.send_fast(ticket, {}));
}

void ignore(StreamSender& sender, StreamReceiver& receiver, DatagramSender& knocks, TaggedReceiver& board,
            LoanReceiver& loans) {
  Record record;
  sender.send("text");           // ignored
  sender.flush();                // ignored
  receiver.make_seed();          // ignored
  receiver.receive(record, 1s);  // ignored
  knocks.send({});               // ignored
  board.get_tag();               // ignored
  loans.make_seed();             // ignored
  static_cast<void>(sender.flush());
}

void ignore(Import& import, std::span<std::byte> bytes) {
  import.write(0, bytes);     // ignored
  import.read(0, bytes, 1s);  // ignored
}

void ignore(hamlyn_queue* queue) {
  hamlyn_queue_free(queue);  // ignored
}
