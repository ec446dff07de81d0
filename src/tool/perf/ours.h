#pragma once
// Hamlyn's own figures, through the public headers alone but for packets that nothing there would make: over
// the fabric shm where no place is named.
#include <cstddef>
#include <cstdint>

#include "hamlyn/am/values.h"
#include "hamlyn/core/message_area.h"
#include "tool/perf/meter.h"

namespace hamlyn::tool::perf {

enum class Place;

// 16 bytes in fast mode into a guarded slot, the notification polled.
Meter fast_latency(Place place);
Meter fast_batch_latency(std::size_t room);  // the same, polled with room for 2 or 32
Meter fast_cell_latency();                   // 40 bytes: the most that one cell carries
Meter fast_block_latency();                  // 64 bytes
Meter fast_longer_latency();                 // 1504: what a call with 1500 bytes of arguments sends
// Messages into a metadata entry that the receiver arms anew, the notification polled.
Meter message_latency(std::size_t bytes);
// A stream of 16-byte messages in fast mode, counted by the receiver.
Meter fast_rate(Place place);
Meter fast_cell_rate();  // of 40 bytes
Meter fast_row_rate();
// A window of messages, each into an entry that its receiver arms again and hands back. The source is not
// changed.
Meter message_bandwidth(std::size_t bytes, Place place);
// Bandwidth of such messages when every one is filled by its sender and read whole by its receiver.
Meter touched_bandwidth(std::size_t bytes);
// Both from a send buffer area: the receiver copies straight from there.
Meter area_bandwidth(std::size_t bytes);
Meter touched_area_bandwidth(std::size_t bytes);
// Cost for a receiver of each of so many 16-byte messages that have come: with one notification for all, as a
// group, and with one for each.
Meter group_cost(std::uint32_t messages);
Meter single_cost(std::uint32_t messages);
// Cost for a receiver of each of many packets that have come and are to be refused. Wrong with them is a bit
// of the key, a generation that is none, or a message of an incarnation that is over. Or the place is outside
// the slot's bounds, there is less data than they say, or slot, generation and key are guessed.
enum class Forgery { key, generation, replay, bounds, truncated, guessed };
Meter refusal_cost(Forgery forgery);
// Bandwidth of such messages into a mapped slot: stored by the sender, notified through the link.
Meter mapped_bandwidth(std::size_t bytes);
// A word stored into the other side's mapped slot, which looks at it in its own memory.
Meter mapped_latency();
// A locked addition to a word of a mapped slot, to which its owner adds all the time.
Meter mapped_fetch_add();
// 16 bytes in fast mode at the urgent level, while the same link is kept full of bulk at the normal one.
Meter urgent_latency();
// 16 bytes in fast mode from one busy sender among so many that the receiver has links with, and back.
Meter links_latency(std::size_t links);
// There by a link of those that was silent for long; of the way there alone.
Meter cold_link_latency(std::size_t links);
// Latency of 16 bytes beside a second link: one that is idle; one that brings as many forged packets as it
// can.
Meter beside_latency();
Meter beset_latency();
// An honest look-up, alone and while 8 or 128 others of another user ask the daemon without end: from a
// processor of their own, or from all.
Meter node_lookup();
Meter node_lookup_beset_8();
Meter node_lookup_beset_128();
Meter node_lookup_beset_everywhere();
// Latency beside such a link to a receiver that sleeps whenever it finds nothing, and back.
Meter beside_wake();
Meter beset_wake();
// Remote operations, asked for and waited for one at a time: a target that polls, and one that only computes.
Meter fetch_add_round_trip(Place place);
Meter get_round_trip(Place place);
Meter passive_get_round_trip(std::size_t bytes);
// The protocols: a tagged remote write of 16 bytes; a datagram; a record of a stream that is flushed; and a
// stream of records, as far ahead as it lets.
Meter tagged_latency();
Meter datagram_latency(std::size_t bytes);
Meter stream_latency(std::size_t bytes);
Meter stream_bandwidth(std::size_t bytes);
// Loans: told of and given back, nobody touching the data; and filled by the sender and read whole where they
// are by the receiver.
Meter loan_latency(std::size_t bytes);
Meter touched_loan_bandwidth(std::size_t bytes);
// Calls (hamlyn/rpc.h), both sides spinning: without arguments; two integers in and one out; 1500 bytes in
// and one out. Calls a second with 64 under way.
Meter rpc_null(Place place);
Meter rpc_minus(Place place);
Meter rpc_longest(Place place);
Meter rpc_rate();
// Measures an argument by reference that is read where it stands.
Meter rpc_reference(std::size_t bytes);
// Without arguments, 300 us after the one before: both sides have gone to sleep.
Meter rpc_blocked();
// A call by LocalClient, of as many bytes as rpc_minus has.
Meter rpc_local();
// Calls over datagrams: those; with 1 MiB of arguments; the same while one datagram in a hundred is lost, and
// how many were sent again for each of those. As many datagrams alone.
Meter blast_null();
Meter blast_minus();
Meter blast_longest();
Meter blast_bandwidth();
Meter blast_lossy_bandwidth();
Meter blast_again();
Meter blast_bare();
// Split-C between two ranks: a word read and written; stores and gets a second; meetings. The bare write is a
// store without Split-C.
Meter splitc_read(bool guarded);
Meter splitc_read_far();  // between nodes, where heaps are guarded
Meter splitc_write();
Meter splitc_write_cost();
Meter bare_write_cost();
Meter splitc_store_rate(bool guarded);
Meter splitc_get_rate();
Meter splitc_get_rate_shuffled();
Meter splitc_read_over_vi();
Meter splitc_write_over_vi();
Meter splitc_store_rate_over_vi();
Meter splitc_get_rate_over_vi();
Meter splitc_all_store_sync(bool guarded);
Meter splitc_barrier(bool guarded);
// Active messages (hamlyn/am.h), handlers on both sides: requests of 4 and 16 arguments and replies, of 4096
// bytes touched; as many as go with so many credits, of 4 arguments, 4096 and 65536 bytes touched; what one
// of a burst costs who sends, and who handles.
Meter am_short(Place place);
Meter am_longest();
// As am_short, over a VI for each pair, and over three.
Meter am_short_over_vi();
Meter am_short_over_vi3();
Meter am_medium();
Meter am_rate(std::uint32_t credits);
Meter am_medium_bandwidth();
Meter am_long_bandwidth();
Meter am_send_cost(am::Way way);
Meter am_receive_cost(am::Way way);
// Segments: 40 bytes written there, and back; read; a word swapped. Of the mapped kind by stores and loads.
Meter segment_write(Place place, Sharing sharing);
Meter segment_read(Place place, Sharing sharing);
Meter segment_read_page(Place place);  // 4096 bytes, of the guarded kind
Meter put_row_rate();                  // words of 8 bytes, in rows
Meter segment_swap(Place place, Sharing sharing);
// Written and known to have landed; written with a signal, and back.
Meter segment_flush(Place place);
Meter segment_write_flushed(Place place);
Meter segment_signal(Place place);
// Blocks written, and blocks read into a segment, eight under way; and 40 bytes to an exporter that sleeps
// until it is told.
Meter segment_bandwidth(Place place, Sharing sharing, std::size_t bytes);
Meter get_bandwidth(Place place, std::size_t bytes);
Meter segment_notify(Place place);
// Words that somebody waits for asleep: an importer, for a store of the exporter's; an exporter, for a
// signal.
Meter segment_wait(Place place, Sharing sharing);
Meter segment_signal_wait(Place place, Sharing sharing);
// Bursts of 32 writes of 16 bytes to each of so many peers in turn, until all have landed.
Meter peers_rate(Place place, std::size_t peers);
// 16 bytes in fast mode to a peer on another node that there was no link with: the link is made, too.
Meter first_latency();
// Names between two nodes: registered, taken back, looked up out of the cache, by reading, by asking.
Meter names_export();
Meter names_revoke();
Meter names_import_cached();
Meter names_import_read();
Meter names_import_asked();
// `hamlyn send` and `hamlyn receive`, from a file in memory to another one.
Meter transfer_bandwidth();
// From the SIGKILL of a peer until a sleeping process is told.
Meter death_latency();
// How often threads of a process are switched in a second that it is blocked in `receive` for.
Meter idle_switches();
// 16 bytes in fast mode to a receiver that is asleep.
Meter wake_latency(Place place);
Meter descriptor_wake_latency();

}  // namespace hamlyn::tool::perf
