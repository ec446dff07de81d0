// The protocols by their C functions, between processes of a simulated host: what they do, what they refuse,
// and what the others are told if one of the processes dies, at any time.
#include <poll.h>

#include <vector>

#include "test/simulation/hosted_c.h"

namespace hamlyn::test {
namespace {

// --- datagrams

TEST(HostedC, datagrams_land_once_are_answered_and_refused_by_name) {
  Hosted hosted;
  add_c(hosted, [](CProcess& me) {
    CDatagramReceiver box;
    me.ok(hamlyn_datagram_receiver_make(me.manager, 4096, box.out()), "no receiver");
    me.is(hamlyn_manager_free(me.manager), HAMLYN_INVALID_ARGUMENT, "a manager that is in use goes");
    hamlyn_seed seed{};
    me.ok(hamlyn_datagram_make_seed(box, &seed), "no seed");
    me.publish("box", seed);
    hamlyn_datagram datagram{};
    me.ok(hamlyn_datagram_receive(box, kSecond, &datagram), "nothing comes");
    me.all.expect(me.text(datagram.data, datagram.length) == "question" && datagram.offset == 16,
                  "something else came");
    me.all.expect(datagram.sender == 2 && datagram.has_reply == 1, "nobody to reply to");
    CDatagramSender reply;
    me.ok(hamlyn_datagram_sender_make(me.manager, &datagram.reply, reply.out()), "no reply");
    me.ok(hamlyn_datagram_deliver(reply, "answer", 6, nullptr, kSecond), "the answer does not land");
    me.all.host.pause(kMilli);
    me.ok(hamlyn_datagram_make_ready(box), "it cannot be ready");
    me.ok(hamlyn_datagram_receive(box, kSecond, &datagram), "nothing more comes");
    box.reset();
    me.all.host.pause(10 * kMilli);
  });
  add_c(hosted, [](CProcess& me) {
    hamlyn_seed seed{};
    me.ok(hamlyn_manager_lookup(me.manager, "box", kSecond, &seed), "no such name");
    CDatagramSender sender;
    CDatagramReceiver answers;
    me.ok(hamlyn_datagram_sender_make(me.manager, &seed, sender.out()), "no sender");
    me.ok(hamlyn_datagram_receiver_make(me.manager, 64, answers.out()), "no receiver");
    hamlyn_datagram_options options{sizeof options, 16, answers};
    me.ok(hamlyn_datagram_deliver(sender, "question", 8, &options, kSecond), "it does not land");
    hamlyn_datagram answer{};
    me.ok(hamlyn_datagram_receive(answers, kSecond, &answer), "no answer");
    me.all.expect(me.text(answer.data, answer.length) == "answer", "another answer");
    const auto deliver = [&](std::size_t length, const hamlyn_datagram_options* how) {
      return hamlyn_datagram_deliver(sender, std::vector<char>(length).data(), length, how, kSecond);
    };
    me.is(deliver(9, nullptr), HAMLYN_NOT_READY, "it was ready");
    options = {sizeof options, 4094, nullptr};
    me.is(deliver(3, &options), HAMLYN_OUT_OF_BOUNDS, "it fits");
    me.all.host.pause(2 * kMilli);
    me.ok(deliver(4096, nullptr), "it is not ready again");
    me.all.host.pause(kMilli);
    me.is(deliver(8, nullptr), HAMLYN_REFUSED, "it has not gone");
  });
  hosted.run();
}

void exchange_c_datagrams(Hosted& hosted) {
  add_c(hosted, [](CProcess& me) {
    CDatagramReceiver box;
    hamlyn_seed seed{};
    me.ok(hamlyn_datagram_receiver_make(me.manager, 4096, box.out()), "no receiver");
    me.ok(hamlyn_datagram_make_seed(box, &seed), "no seed");
    me.publish("box", seed);
    for (int i = 0; i < 5; ++i) {
      hamlyn_datagram datagram{};
      const hamlyn_status status = hamlyn_datagram_receive(box, 2 * kMilli, &datagram);
      if (me.all.alive(2)) me.ok(status, "nothing comes");
      if (status == HAMLYN_OK) me.all.expect(datagram.length == 3000, "another datagram");
      static_cast<void>(hamlyn_datagram_make_ready(box));
    }
    me.all.host.pause(kMilli);
  });
  add_c(hosted, [](CProcess& me) {
    hamlyn_seed seed{};
    if (!me.look_up("box", 1, seed)) return;
    CDatagramSender sender;
    me.ok(hamlyn_datagram_sender_make(me.manager, &seed, sender.out()), "no sender");
    const std::vector<char> data(3000);
    for (int i = 0; i < 5; ++i) {
      hamlyn_status status = HAMLYN_NOT_READY;
      while (status == HAMLYN_NOT_READY)
        status = hamlyn_datagram_deliver(sender, data.data(), data.size(), nullptr, kSecond);
      if (!me.went_well(status, 1, "it does not land")) return;
    }
  });
}
TEST(HostedC, datagrams_tell_of_the_death_of_the_sender_at_any_time) {
  with_a_death_at_any_time(2, exchange_c_datagrams);
}
TEST(HostedC, datagrams_tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, exchange_c_datagrams);
}

// --- streams

struct Door {
  int open = 0;
  std::uint64_t came = 0;
};

TEST(HostedC, streams_are_opened_once_refused_and_closed_from_either_side) {
  Hosted hosted;
  std::uint64_t taken = 0;
  add_c(hosted, [&taken](CProcess& me) {
    Door door;
    hamlyn_stream_receiver_options options{};
    options.size = sizeof options;
    options.context = &door;
    options.admit = [](void* context, std::uint64_t sender) {
      auto& it = *static_cast<Door*>(context);
      it.came = sender;
      return it.open;
    };
    CStreamReceiver receiver;
    me.ok(hamlyn_stream_receiver_make(me.manager, &options, receiver.out()), "no receiver");
    hamlyn_seed seed{};
    me.ok(hamlyn_stream_make_seed(receiver, &seed), "no seed");
    me.publish("first", seed);
    hamlyn_record record{};
    me.is(hamlyn_stream_receive(receiver, 3 * kMilli, &record), HAMLYN_TIMED_OUT, "somebody was let in");
    me.all.expect(door.came == 2, "nobody asked");
    door.open = 1;
    for (std::size_t i = 1; i <= 3; ++i) {
      me.ok(hamlyn_stream_receive(receiver, kSecond, &record), "no record");
      me.all.expect(record.length == i && record.number == i, "another record");
      taken = i;
      me.ok(hamlyn_stream_release(receiver, &record), "it cannot be released");
    }
    me.is(hamlyn_stream_make_seed(receiver, &seed), HAMLYN_INVALID_ARGUMENT, "two senders at once");
    std::size_t count = 0, sum = 0;
    hamlyn_status status = HAMLYN_OK;
    for (char some[3000]; status == HAMLYN_OK; sum += count)
      status = hamlyn_stream_read(receiver, some, sizeof some, kSecond, &count);
    me.is(status, HAMLYN_CLOSED, "it is not closed");
    me.all.expect(sum == 200'000, "bytes are lost");
    me.ok(hamlyn_stream_make_seed(receiver, &seed), "it cannot be offered again");
    me.publish("second", seed);
    me.ok(hamlyn_stream_receive(receiver, kSecond, &record), "no record of the second");
    me.ok(hamlyn_stream_receiver_close(receiver, kSecond), "it cannot be closed from here");
    me.ok(hamlyn_stream_make_seed(receiver, &seed), "it cannot be offered again");
    me.publish("third", seed);
    me.is(hamlyn_stream_receive(receiver, kSecond, &record), HAMLYN_ABANDONED, "it was not given up");
  });
  add_c(hosted, [&taken](CProcess& me) {
    hamlyn_seed seed{};
    CStreamSender first, second, third, none;
    me.ok(hamlyn_manager_lookup(me.manager, "first", kSecond, &seed), "no such name");
    const auto make = [&](CStreamSender& sender) {
      return hamlyn_stream_sender_make(me.manager, &seed, nullptr, sender.out());
    };
    me.is(make(none), HAMLYN_PEER_REFUSED, "it is let in");
    me.all.host.pause(5 * kMilli);
    me.ok(make(first), "it is not let in");
    me.is(make(none), HAMLYN_SEED_USED, "a seed serves twice");
    for (std::size_t i = 1; i <= 3; ++i)
      me.ok(hamlyn_stream_send(first, "xxx", i, kSecond), "it is not sent");
    me.ok(hamlyn_stream_flush(first, kSecond), "it is not flushed");
    me.all.host.pause(3 * kMilli);
    me.all.expect(taken == 3, "what was flushed stays behind");
    const std::vector<char> bytes(200'000);
    me.ok(hamlyn_stream_write(first, bytes.data(), bytes.size()), "they are not written");
    me.ok(hamlyn_stream_end(first), "it has ended");
    me.ok(hamlyn_stream_sender_close(first, kSecond), "it is not closed");
    me.is(hamlyn_stream_send(first, "x", 1, kSecond), HAMLYN_CLOSED, "it is open");
    me.ok(hamlyn_manager_lookup(me.manager, "second", kSecond, &seed), "no such name");
    me.ok(make(second), "the second is not let in");
    hamlyn_status status = HAMLYN_OK;
    while (status == HAMLYN_OK) status = hamlyn_stream_send(second, bytes.data(), 200, kSecond);
    me.is(status, HAMLYN_CLOSED, "it is not told");
    me.is(hamlyn_stream_end(second), HAMLYN_CLOSED, "it has forgotten");
    me.ok(hamlyn_manager_lookup(me.manager, "third", kSecond, &seed), "no such name");
    me.ok(make(third), "the third is not let in");
    me.ok(hamlyn_stream_send(third, "never read", 10, kSecond), "it is not sent");
    third.reset();
    static_cast<void>(
        hamlyn_manager_wait(me.manager, kMilli));  // who leaves at once has no time for a last word
  });
  hosted.run();
}

void send_c_stream(Hosted& hosted) {
  add_c(hosted, [](CProcess& me) {
    CStreamReceiver receiver;
    hamlyn_seed seed{};
    me.ok(hamlyn_stream_receiver_make(me.manager, nullptr, receiver.out()), "no receiver");
    me.ok(hamlyn_stream_make_seed(receiver, &seed), "no seed");
    me.publish("s", seed);
    std::uint64_t records = 0;
    hamlyn_status status = HAMLYN_OK;
    while (status == HAMLYN_OK) {
      hamlyn_record record{};
      // Nobody need ever come, if who would has died.
      const bool waits = records == 0 && !me.all.alive(2);
      status = hamlyn_stream_receive(receiver, waits ? 2 * kMilli : kSecond, &record);
      if (status != HAMLYN_OK) break;
      me.all.expect(record.number == ++records && record.length == 300, "another record");
      me.ok(hamlyn_stream_release(receiver, &record), "it cannot be released");
    }
    if (me.all.alive(2)) me.is(status, HAMLYN_CLOSED, "it is not closed");
    if (me.all.alive(2)) me.all.expect(records == 20, "records are lost");
    std::uint64_t sender = 0;
    me.ok(hamlyn_stream_sender_of(receiver, &sender), "nobody knows");
    if (sender != 0 && status != HAMLYN_CLOSED) me.is(status, HAMLYN_LINK_ENDED, "the death is not told");
  });
  add_c(hosted, [](CProcess& me) {
    hamlyn_seed seed{};
    if (!me.look_up("s", 1, seed)) return;
    CStreamSender sender;
    const hamlyn_stream_sender_options options{sizeof options, 2048, kSecond, 0};
    if (!me.went_well(hamlyn_stream_sender_make(me.manager, &seed, &options, sender.out()), 1, "not opened"))
      return;
    const std::vector<char> data(300);
    for (int i = 0; i < 20; ++i) {
      const hamlyn_status status = hamlyn_stream_send(sender, data.data(), data.size(), kSecond);
      if (!me.went_well(status, 1, "it is not sent")) return;
      if (i % 5 == 0 && !me.went_well(hamlyn_stream_flush(sender, kSecond), 1, "it is not flushed")) return;
      me.all.host.pause(5000);
    }
    me.went_well(hamlyn_stream_sender_close(sender, kSecond), 1, "it is not closed");
  });
}
TEST(HostedC, streams_tell_of_the_death_of_the_sender_at_any_time) {
  with_a_death_at_any_time(2, send_c_stream);
}
TEST(HostedC, streams_tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, send_c_stream);
}

// --- tagged remote writes

TEST(HostedC, tagged_writes_wait_for_places_and_are_refused_when_the_receiver_has_gone) {
  Hosted hosted;
  add_c(hosted, [](CProcess& me) {
    const hamlyn_tagged_receiver_options options{sizeof options, 4, 16, 3};
    CTaggedReceiver board;
    hamlyn_seed seed{};
    me.ok(hamlyn_tagged_receiver_make(me.manager, 4096, &options, board.out()), "no receiver");
    me.ok(hamlyn_tagged_make_seed(board, &seed), "no seed");
    me.publish("t", seed);
    me.all.host.pause(3 * kMilli);
    hamlyn_tagged tagged{};
    me.ok(hamlyn_get_specific_tag(board, 3, kSecond, &tagged), "no tag 3");
    void* data = nullptr;
    std::size_t length = 0;
    me.ok(hamlyn_tagged_bytes(board, &data, &length), "no bytes");
    for (const std::uint64_t tag : {1u, 2u, 4u, 5u, 6u, 7u, 8u}) {
      me.ok(hamlyn_get_tag(board, kSecond, &tagged), "no tag");
      me.all.expect(tagged.tag == tag && tagged.offset == 8 * tag && tagged.sender == 2, "another tag");
      me.all.expect(me.text(static_cast<char*>(data) + tagged.offset, tagged.length) == "abc", "other bytes");
    }
    board.reset();
    me.all.host.pause(9 * kMilli);
  });
  add_c(hosted, [](CProcess& me) {
    hamlyn_seed seed{};
    CTaggedSender sender;
    me.ok(hamlyn_manager_lookup(me.manager, "t", kSecond, &seed), "no such name");
    me.ok(hamlyn_tagged_sender_make(me.manager, &seed, kSecond, sender.out()), "no sender");
    const auto send = [&](std::uint64_t offset, std::uint64_t tag, std::int64_t timeout) {
      return hamlyn_tagged_send(sender, "abc", 3, offset, tag, timeout);
    };
    for (std::uint64_t tag = 1; tag <= 4; ++tag) me.ok(send(8 * tag, tag, 0), "there was no place");
    me.is(send(0, 5, 0), HAMLYN_NO_PLACE, "there is a fifth place");
    for (std::uint64_t tag = 5; tag <= 8; ++tag) me.ok(send(8 * tag, tag, kSecond), "no place comes free");
    me.is(send(4094, 9, kSecond), HAMLYN_OUT_OF_BOUNDS, "it fits");
    me.all.host.pause(5 * kMilli);
    me.is(send(0, 10, kSecond), HAMLYN_REFUSED, "it has not gone");
  });
  hosted.run();
}

void write_c_tags(Hosted& hosted) {
  add_c(hosted, [](CProcess& me) {
    const hamlyn_tagged_receiver_options options{sizeof options, 4, 0, 0};
    CTaggedReceiver board;
    hamlyn_seed seed{};
    me.ok(hamlyn_tagged_receiver_make(me.manager, 4096, &options, board.out()), "no receiver");
    me.ok(hamlyn_tagged_make_seed(board, &seed), "no seed");
    me.publish("t", seed);
    for (std::uint64_t next = 1; next <= 30; ++next) {
      hamlyn_tagged tagged{};
      const hamlyn_status status = hamlyn_get_tag(board, 3 * kMilli, &tagged);
      if (me.all.alive(2)) me.ok(status, "no tag");
      if (status != HAMLYN_OK) return;
      me.all.expect(tagged.tag == next, "another tag");
    }
  });
  add_c(hosted, [](CProcess& me) {
    hamlyn_seed seed{};
    if (!me.look_up("t", 1, seed)) return;
    CTaggedSender sender;
    if (!me.went_well(hamlyn_tagged_sender_make(me.manager, &seed, kSecond, sender.out()), 1, "no sender"))
      return;
    for (std::uint64_t tag = 1; tag <= 30; ++tag) {
      const hamlyn_status status = hamlyn_tagged_send(sender, "abc", 3, 0, tag, kSecond);
      if (!me.went_well(status, 1, "it is not sent")) return;
    }
    me.all.host.pause(kMilli);
  });
}
TEST(HostedC, tagged_writes_tell_of_the_death_of_the_sender_at_any_time) {
  with_a_death_at_any_time(2, write_c_tags);
}
TEST(HostedC, tagged_writes_tell_of_the_death_of_the_receiver_at_any_time) {
  with_a_death_at_any_time(1, write_c_tags);
}

// --- descriptors

bool readable(int descriptor) {
  pollfd one{descriptor, POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

TEST(HostedC, descriptors_are_readable_when_something_has_come) {
  Hosted hosted;
  add_c(hosted, [](CProcess& me) {
    CDatagramReceiver box;
    CTaggedReceiver board;
    hamlyn_seed seed{};
    int of_manager = -1, of_board = -1;
    me.ok(hamlyn_datagram_receiver_make(me.manager, 64, box.out()), "no receiver");
    me.ok(hamlyn_tagged_receiver_make(me.manager, 64, nullptr, board.out()), "no receiver");
    me.ok(hamlyn_manager_descriptor(me.manager, &of_manager), "no descriptor");
    me.ok(hamlyn_tagged_descriptor(board, &of_board), "no descriptor");
    // As before any sleep: everything is taken first.
    hamlyn_datagram datagram{};
    hamlyn_tagged tagged{};
    int given = 0;
    me.is(hamlyn_datagram_receive(box, 0, &datagram), HAMLYN_TIMED_OUT, "something came");
    me.ok(hamlyn_manager_poll(me.manager, &given), "it cannot be polled");
    me.is(hamlyn_get_tag(board, 0, &tagged), HAMLYN_TIMED_OUT, "something came");
    me.all.expect(given == 0 && !readable(of_manager) && !readable(of_board), "something came");
    me.ok(hamlyn_datagram_make_seed(box, &seed), "no seed");
    me.publish("box", seed);
    me.ok(hamlyn_tagged_make_seed(board, &seed), "no seed");
    me.publish("board", seed);
    const auto comes = [&](int descriptor) {
      for (int i = 0; i < 1000 && !readable(descriptor); ++i) me.all.host.pause(kMilli / 100);
      return readable(descriptor);
    };
    me.all.expect(comes(of_manager), "nothing says that a datagram has come");
    me.ok(hamlyn_datagram_receive(box, 0, &datagram), "no datagram");
    me.all.expect(comes(of_board), "nothing says that a tag has come");
    me.ok(hamlyn_get_tag(board, 0, &tagged), "no tag");
  });
  add_c(hosted, [](CProcess& me) {
    hamlyn_seed seed{};
    CDatagramSender sender;
    CTaggedSender writer;
    me.ok(hamlyn_manager_lookup(me.manager, "box", kSecond, &seed), "no such name");
    me.ok(hamlyn_datagram_sender_make(me.manager, &seed, sender.out()), "no sender");
    me.all.host.pause(kMilli);
    me.ok(hamlyn_datagram_deliver(sender, "x", 1, nullptr, kSecond), "it does not land");
    me.ok(hamlyn_manager_lookup(me.manager, "board", kSecond, &seed), "no such name");
    me.ok(hamlyn_tagged_sender_make(me.manager, &seed, kSecond, writer.out()), "no sender");
    me.ok(hamlyn_tagged_send(writer, "x", 1, 0, 7, kSecond), "it is not sent");
    me.all.host.pause(2 * kMilli);
  });
  hosted.run();
}

}  // namespace
}  // namespace hamlyn::test
