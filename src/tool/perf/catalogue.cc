#include "tool/perf/catalogue.h"

#include "tool/perf/limits.h"
#include "tool/perf/our_party.h"
#include "tool/perf/our_posted.h"
#include "tool/perf/our_vi.h"
#include "tool/perf/ours.h"

namespace hamlyn::tool::perf {
namespace {

class Collection {
 public:
  void add(Meter meter) { meters_.push_back(std::move(meter)); }
  std::vector<Meter> take() { return std::move(meters_); }

 private:
  std::vector<Meter> meters_;
};

void add_short(Collection& all) {
  all.add(cacheline_limit());
  all.add(mapped_latency());
  all.add(fast_latency(Place::shm));
  all.add(fast_batch_latency(2));
  all.add(fast_batch_latency(32));
  all.add(fast_cell_latency());
  all.add(fast_block_latency());
  all.add(fast_longer_latency());
  all.add(posted_latency(Place::shm));
  all.add(tagged_latency());
  all.add(loan_latency(65536));
  all.add(stream_latency(64));
  all.add(fetch_add_round_trip(Place::shm));
  all.add(get_round_trip(Place::shm));
}

void add_calls(Collection& all) {
  all.add(rpc_null(Place::shm));
  all.add(rpc_minus(Place::shm));
  all.add(rpc_longest(Place::shm));
  all.add(rpc_rate());
  all.add(rpc_reference(65536));
  all.add(rpc_blocked());
  all.add(rpc_local());
}

void add_vis(Collection& all) {
  for (const std::uint32_t bytes : {4u, 16u, 64u, 1024u, 4096u}) all.add(vi_send(Place::shm, bytes));
  all.add(vi_send_unreliable());
  all.add(vi_send_reception());
  all.add(vi_write());
  for (const std::size_t others : {std::size_t{15}, std::size_t{255}, std::size_t{999}})
    all.add(vi_beside(others));
  all.add(vi_wait());
  all.add(vi_read());
  all.add(vi_rate());
  for (const bool touched : {false, true}) {
    for (const std::uint32_t bytes : {4096u, 65536u, 1048576u}) all.add(vi_bandwidth(bytes, touched));
  }
  all.add(vi_write_bandwidth(65536));
  all.add(empty_poll_cost());
  for (const std::size_t vis : {std::size_t{1}, std::size_t{1000}}) all.add(vi_empty_cost(vis));
  for (const bool again : {false, true}) all.add(vi_register_cost(again));
  for (int call = 0; call != static_cast<int>(ViCall::count); ++call)
    all.add(vi_call_cost(static_cast<ViCall>(call)));
}

void add_splitc(Collection& all) {
  for (const bool guarded : {true, false}) {
    all.add(splitc_read(guarded));
    all.add(splitc_store_rate(guarded));
    all.add(splitc_all_store_sync(guarded));
    all.add(splitc_barrier(guarded));
  }
  all.add(splitc_write());
  all.add(splitc_write_cost());
  all.add(bare_write_cost());
  all.add(splitc_get_rate());
  all.add(splitc_get_rate_shuffled());
  all.add(splitc_read_over_vi());
  all.add(splitc_write_over_vi());
  all.add(splitc_store_rate_over_vi());
  all.add(splitc_get_rate_over_vi());
}

void add_active_messages(Collection& all) {
  all.add(am_short(Place::shm));
  all.add(am_longest());
  all.add(am_short_over_vi());
  all.add(am_short_over_vi3());
  all.add(am_medium());
  for (const std::uint32_t credits : {8u, 128u}) all.add(am_rate(credits));
  all.add(am_medium_bandwidth());
  all.add(am_long_bandwidth());
  for (const am::Way way : {am::Way::slots, am::Way::vi}) {
    all.add(am_send_cost(way));
    all.add(am_receive_cost(way));
  }
}

void add_messages(Collection& all) {
  for (const std::size_t bytes :
       {std::size_t{64}, std::size_t{1024}, std::size_t{4096}, std::size_t{65536}}) {
    all.add(message_latency(bytes));
    if (bytes == 64 || bytes == 1024) all.add(datagram_latency(bytes));
  }
}

void add_transfer(Collection& all) {
  all.add(socket_limit());
  all.add(pipe_limit());
  all.add(transfer_bandwidth());
}

void add_mapped(Collection& all) {
  all.add(fetch_add_limit());
  all.add(mapped_fetch_add());
  for (const std::size_t bytes : {std::size_t{65536}, std::size_t{1048576}}) {
    all.add(mapped_bandwidth(bytes));
  }
}

void add_segments(Collection& all) {
  all.add(segment_flush(Place::shm));
  all.add(segment_write_flushed(Place::shm));
  all.add(segment_signal(Place::shm));
  for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_write}) {
    all.add(segment_write(Place::shm, sharing));
    if (sharing != Sharing::guarded) all.add(read_limit());
    all.add(segment_read(Place::shm, sharing));
    all.add(segment_swap(Place::shm, sharing));
    all.add(segment_bandwidth(Place::shm, sharing, 4096));
  }
  all.add(segment_read_page(Place::shm));
  all.add(put_row_rate());
  all.add(segment_bandwidth(Place::shm, Sharing::guarded, 65536));
  all.add(get_bandwidth(Place::shm, 65536));
}

void add_rate(Collection& all) {
  all.add(fast_rate(Place::shm));
  all.add(fast_cell_rate());
  all.add(fast_row_rate());
}

void add_bandwidth(Collection& all) {
  all.add(copy_limit(65536));
  for (const std::size_t bytes : {std::size_t{65536}, std::size_t{1048576}}) {
    all.add(message_bandwidth(bytes, Place::shm));
    all.add(area_bandwidth(bytes));
  }
}

void add_streams(Collection& all) {
  for (const std::size_t bytes :
       {std::size_t{64}, std::size_t{4096}, std::size_t{65536}, std::size_t{1048576}}) {
    all.add(stream_bandwidth(bytes));
  }
}

void add_touched(Collection& all) {
  all.add(touched_bandwidth(4096));
  all.add(place_limit(65536));
  all.add(place_limit(65536, true));
  all.add(touched_bandwidth(65536));
  all.add(posted_touched_bandwidth(65536));
  all.add(touched_loan_bandwidth(65536));
  all.add(touched_area_bandwidth(65536));
  all.add(place_limit(1048576));
  all.add(touched_bandwidth(1048576));
  all.add(touched_loan_bandwidth(1048576));
  all.add(touched_area_bandwidth(1048576));
}

void add_groups(Collection& all) {
  for (const std::uint32_t messages : {2u, 8u, 32u}) {
    all.add(group_cost(messages));
    all.add(single_cost(messages));
  }
}

void add_refusals(Collection& all) {
  for (const Forgery forgery : {Forgery::key, Forgery::generation, Forgery::replay, Forgery::bounds,
                                Forgery::truncated, Forgery::guessed})
    all.add(refusal_cost(forgery));
}

void add_urgent_and_links(Collection& all) {
  all.add(urgent_latency());
  for (const std::size_t links :
       {std::size_t{1}, std::size_t{16}, std::size_t{64}, std::size_t{256}, std::size_t{1000}})
    all.add(links_latency(links));
  all.add(cold_link_latency(1000));
  all.add(beside_latency());
  all.add(beset_latency());
}

void add_wake(Collection& all) {
  all.add(wake_limit());
  all.add(long_wake_limit());
  all.add(computing_wake_limit());
  all.add(wake_latency(Place::shm));
  all.add(descriptor_wake_latency());
  all.add(passive_get_round_trip(16));
  all.add(passive_get_round_trip(65536));
  all.add(segment_notify(Place::shm));
  for (const Sharing sharing : {Sharing::guarded, Sharing::mapped_read_write}) {
    all.add(segment_wait(Place::shm, sharing));
    all.add(segment_signal_wait(Place::shm, sharing));
  }
  all.add(beside_wake());
  all.add(beset_wake());
  all.add(death_latency());
  all.add(idle_switches());
}

// Between two nodes, here on loopback.
void add_blast(Collection& all) {
  all.add(blast_null());
  all.add(blast_minus());
  all.add(blast_longest());
  all.add(blast_bandwidth());
  all.add(blast_lossy_bandwidth());
  all.add(blast_again());
  all.add(blast_bare());
}

void add_far(Collection& all) {
  all.add(first_latency());
  all.add(fast_latency(Place::ofi));
  all.add(posted_latency(Place::ofi));
  all.add(vi_send(Place::ofi, 16));
  all.add(am_short(Place::ofi));
  all.add(rpc_null(Place::ofi));
  all.add(rpc_minus(Place::ofi));
  all.add(rpc_longest(Place::ofi));
  add_blast(all);
  all.add(wake_latency(Place::ofi));
  all.add(fetch_add_round_trip(Place::ofi));
  all.add(get_round_trip(Place::ofi));
  all.add(segment_write(Place::ofi, Sharing::guarded));
  all.add(segment_read(Place::ofi, Sharing::guarded));
  all.add(splitc_read_far());
  all.add(segment_swap(Place::ofi, Sharing::guarded));
  all.add(segment_flush(Place::ofi));
  all.add(segment_write_flushed(Place::ofi));
  all.add(segment_signal(Place::ofi));
  all.add(segment_bandwidth(Place::ofi, Sharing::guarded, 4096));
  all.add(segment_read_page(Place::ofi));
  all.add(get_bandwidth(Place::ofi, 65536));
  all.add(segment_notify(Place::ofi));
  all.add(segment_wait(Place::ofi, Sharing::guarded));
  for (const std::size_t peers : {1u, 2u, 4u}) all.add(peers_rate(Place::ofi, peers));
  all.add(names_export());
  all.add(names_revoke());
  all.add(names_import_cached());
  all.add(names_import_read());
  all.add(names_import_asked());
  all.add(fast_rate(Place::ofi));
  for (const std::size_t bytes : {std::size_t{65536}, std::size_t{1048576}}) {
    all.add(message_bandwidth(bytes, Place::ofi));
  }
}

}  // namespace

std::vector<Meter> catalogue() {
  Collection all;
  add_short(all);
  add_calls(all);
  add_vis(all);
  add_splitc(all);
  add_active_messages(all);
  add_messages(all);
  add_rate(all);
  add_bandwidth(all);
  add_streams(all);
  add_touched(all);
  add_transfer(all);
  add_mapped(all);
  add_segments(all);
  add_groups(all);
  add_refusals(all);
  add_urgent_and_links(all);
  add_wake(all);
  all.add(node_lookup());
  all.add(node_lookup_beset_8());
  all.add(node_lookup_beset_128());
  all.add(node_lookup_beset_everywhere());
  add_far(all);
  return all.take();
}

}  // namespace hamlyn::tool::perf
