#include "bench/targets.h"

#include <algorithm>

namespace hamlyn::tool::perf {

const std::vector<Target>& all_targets() {
  using enum Target::Relation;
  static const std::vector<Target> targets = {
      {"shm.fast.16.oneway", at_most, 1.35, "limit.cacheline.oneway", 1.15},
      {"shm.fast.16.oneway", at_most, 0.5, "peer.ucx_posix.tag.8.oneway", {}},
      {"shm.fast.16.oneway", below, 1, "peer.oshmem.put.8.oneway", {}},
      {"shm.message.1024.oneway", below, 1, "peer.ucx_posix.tag.1024.oneway", {}},
      {"shm.message.1024.oneway", below, 1, "peer.openmpi.send.1024.oneway", {}},
      {"shm.message.4096.oneway", below, 1, "peer.ucx_posix.tag.4096.oneway", {}},
      {"shm.message.4096.oneway", below, 1, "peer.openmpi.send.4096.oneway", {}},
      {"shm.fast.16.rate", at_least, 7, "peer.ucx_posix.tag.8.rate", 12},
      {"shm.message.65536.bandwidth", at_least, 1, "peer.ucx_posix.tag.65536.bandwidth", {}},
      {"shm.message.1048576.bandwidth", at_least, 1, "peer.ucx_posix.tag.1048576.bandwidth", {}},
      {"shm.message.touched.65536.bandwidth", at_least, 0.6, "limit.place.touched.65536.bandwidth", {}},
      {"shm.message.touched.65536.bandwidth", above, 1, "peer.openmpi.touched.65536.bandwidth", {}},
      {"shm.area.touched.65536.bandwidth", at_least, 0.7, "limit.place.touched.65536.bandwidth", {}},
      {"shm.area.touched.1048576.bandwidth", at_least, 0.65, "limit.place.touched.1048576.bandwidth", {}},
      {"shm.mapped.write.65536.bandwidth", at_least, 0.95, "peer.ucx_posix.put.65536.bandwidth", {}},
      {"shm.mapped.write.1048576.bandwidth", at_least, 0.95, "peer.ucx_posix.put.1048576.bandwidth", {}},
      {"shm.mapped.write.8.oneway", at_most, 1.1, "limit.cacheline.oneway", {}},
      {"shm.fetchadd.mapped.8.roundtrip", at_most, 1.15, "limit.fetchadd.8.roundtrip", {}},
      {"shm.area.65536.bandwidth", at_least, 1, "peer.ucx_cma.tag.65536.bandwidth", 1.5},
      {"shm.area.1048576.bandwidth", at_least, 1, "peer.ucx_cma.tag.1048576.bandwidth", {}},
      {"shm.group2.16.cost", below, 1, "shm.single2.16.cost", {}},
      {"shm.group8.16.cost", below, 1, "shm.single8.16.cost", {}},
      {"shm.group32.16.cost", below, 1, "shm.single32.16.cost", {}},
      {"shm.urgent.16.oneway", at_most, 1, "limit.urgent.16.oneway", {}},
      {"shm.links64.16.oneway", at_most, 1.35, "shm.links1.16.oneway", {}},
      {"shm.links256.16.oneway", at_most, 1.35, "shm.links1.16.oneway", {}},
      {"shm.links1000.16.oneway", at_most, 1.35, "shm.links1.16.oneway", {}},
      {"shm.beset.16.oneway", at_most, 1.1, "shm.beside.16.oneway", {}},
      {"node.lookup.beset.8", at_most, 2, "node.lookup.alone", {}},
      {"node.lookup.beset.128", at_most, 2, "node.lookup.alone", {}},
      {"shm.refusal.key.16.cost", at_most, 1, "limit.refusal.16.cost", {}},
      {"shm.refusal.generation.16.cost", at_most, 1, "limit.refusal.16.cost", {}},
      {"shm.refusal.replay.16.cost", at_most, 1, "limit.refusal.16.cost", {}},
      {"shm.refusal.bounds.16.cost", at_most, 1, "limit.refusal.16.cost", {}},
      {"shm.refusal.truncated.16.cost", at_most, 1, "limit.refusal.16.cost", {}},
      {"shm.refusal.guessed.16.cost", at_most, 1, "limit.refusal.16.cost", {}},
      {"shm.links1000.cold.16.oneway", at_most, 1, "limit.links1000.cold.16.oneway", {}},
      {"shm.segment.write.mapped.40.oneway", at_most, 1.15, "limit.cacheline.oneway", {}},
      {"shm.segment.write.40.oneway", at_most, 1.5, "limit.cacheline.oneway", {}},
      {"shm.segment.read.40.roundtrip", at_most, 3, "limit.cacheline.oneway", {}},
      {"shm.segment.read.mapped.40.roundtrip", at_most, 1.15, "limit.read.40.roundtrip", {}},
      {"shm.segment.cas.mapped.8.roundtrip", at_most, 1.15, "limit.fetchadd.8.roundtrip", {}},
      {"shm.segment.cas.8.roundtrip", at_most, 3, "limit.cacheline.oneway", {}},
      {"shm.segment.write.mapped.4096.bandwidth", at_least, 0.95, "peer.ucx_posix.put.4096.bandwidth", {}},
      {"shm.segment.write.4096.bandwidth", at_least, 1, "peer.ucx_posix.tag.4096.bandwidth", {}},
      {"shm.segment.notify.40.oneway", at_most, 1, "limit.segment.notify.40.oneway", {}},
      {"ofi.segment.write.40.oneway", at_most, 1.15, "ofi.fast.16.oneway", {}},
      {"ofi.segment.read.40.roundtrip", at_most, 1.15, "ofi.get.16.roundtrip", {}},
      {"ofi.segment.cas.8.roundtrip", at_most, 1.15, "ofi.fetchadd.8.roundtrip", {}},
      {"ofi.segment.flush.40.roundtrip", at_most, 1.3, "ofi.segment.cas.8.roundtrip", {}},
      {"ofi.segment.write_flushed.40.roundtrip", at_most, 1.3, "ofi.segment.cas.8.roundtrip", {}},
      {"ofi.segment.write_signal.40.oneway", at_most, 1.3, "ofi.segment.cas.8.roundtrip", {}},
      {"ofi.segment.write.16.peers.4.rate", at_least, 0.6, "ofi.segment.write.16.peers.1.rate", {}},
      {"ofi.names.import.uncached", at_most, 1, "limit.names.import.uncached", {}},
      {"shm.tagged.16.oneway", at_most, 1.1, "shm.fast.16.oneway", {}},
      {"shm.tagged.16.oneway", at_most, 1.5, "limit.cacheline.oneway", {}},
      {"shm.loan.65536.oneway", at_most, 1.2, "shm.tagged.16.oneway", {}},
      {"shm.loan.touched.65536.bandwidth", at_least, 0.9, "limit.place.touched.65536.bandwidth", {}},
      {"shm.loan.touched.1048576.bandwidth", at_least, 0.9, "limit.place.touched.1048576.bandwidth", {}},
      {"shm.datagram.64.oneway", below, 1, "peer.ucx_posix.tag.64.oneway", {}},
      {"shm.datagram.64.oneway", below, 1, "peer.openmpi.send.64.oneway", {}},
      {"shm.datagram.1024.oneway", below, 1, "peer.ucx_posix.tag.1024.oneway", {}},
      {"shm.datagram.1024.oneway", below, 1, "peer.openmpi.send.1024.oneway", {}},
      {"shm.stream.64.oneway", at_most, 1.5, "shm.fast.16.oneway", {}},
      {"shm.stream.64.bandwidth", at_least, 3, "peer.ucx_posix.tag.64.bandwidth", {}},
      {"shm.stream.4096.bandwidth", at_least, 1, "peer.ucx_posix.tag.4096.bandwidth", {}},
      {"shm.stream.65536.bandwidth", at_least, 1, "peer.ucx_posix.tag.65536.bandwidth", {}},
      {"shm.stream.1048576.bandwidth", at_least, 1, "peer.ucx_posix.tag.1048576.bandwidth", {}},
      {"shm.send.1048576.bandwidth", at_least, 1.2, "limit.socket.1048576.bandwidth", {}},
      {"shm.send.1048576.bandwidth", at_least, 1.2, "limit.pipe.1048576.bandwidth", {}},
      {"shm.wake.16.oneway", at_most, 1.2, "limit.wake.oneway", {}},
      {"shm.wake.descriptor.16.oneway", at_most, 3, "limit.wake.oneway", {}},
      {"shm.death.oneway", at_most, 1, "limit.death.oneway", {}},
      {"shm.fetchadd.8.roundtrip", at_most, 2.9, "limit.cacheline.oneway", {}},
      {"shm.get.16.roundtrip", at_most, 2.9, "limit.cacheline.oneway", {}},
      {"shm.get.passive.16.roundtrip", at_most, 1.3, "limit.wake.computing.oneway", {}},
      {"shm.get.passive.65536.roundtrip", at_most, 1.3, "limit.wake.computing.oneway", {}},
      {"shm.segment.wait.8.oneway", at_most, 1.1, "shm.wake.16.oneway", {}},
      {"shm.segment.wait.mapped.8.oneway", at_most, 1.1, "shm.wake.16.oneway", {}},
      {"shm.fast.16.room2.oneway", at_most, 1.05, "shm.fast.16.oneway", {}},
      {"shm.fast.16.room32.oneway", at_most, 1.05, "shm.fast.16.oneway", {}},
      {"shm.segment.read.4096.roundtrip", at_most, 2.2, "shm.message.4096.oneway", {}},
      {"shm.fast.40.oneway", at_most, 1.05, "shm.fast.16.oneway", {}},
      {"shm.fast.40.rate", at_least, 0.8, "shm.fast.16.rate", {}},
      {"shm.put.row.8.rate", at_least, 0.9, "shm.fast.row.16.rate", {}},
      {"shm.get.65536.bandwidth", at_least, 0.7, "shm.segment.write.65536.bandwidth", {}},
      {"rpc.null.roundtrip", at_most, 2.5, "shm.fast.16.oneway", {}},
      {"rpc.null.roundtrip", at_most, 3, "limit.cacheline.oneway", {}},
      {"rpc.minus.roundtrip", at_most, 1.05, "rpc.null.roundtrip", {}},
      {"rpc.local.roundtrip", at_most, 1.6, "rpc.null.roundtrip", {}},
      {"rpc.65536.reference.bandwidth", at_least, 0.9, "shm.loan.touched.65536.bandwidth", {}},
      {"rpc.minus.rate", at_least, 0.3, "shm.fast.16.rate", {}},
      {"rpc.null.roundtrip", at_most, 0.02, "peer.grpc.rpc.null.roundtrip", {}},
      {"rpc.null.roundtrip", at_most, 0.02, "peer.capnp.rpc.null.roundtrip", {}},
      {"rpc.minus.rate", at_least, 100, "peer.grpc.rpc.null.rate", {}},
      {"rpc.minus.rate", at_least, 100, "peer.capnp.rpc.null.rate", {}},
      {"rpc.null.blocked.roundtrip", at_most, 2.2, "limit.wake.long.oneway", {}},
      {"rpc.null.blocked.roundtrip", at_most, 0.8, "peer.grpc.rpc.null.blocked.roundtrip", {}},
      {"rpc.null.blocked.roundtrip", at_most, 0.8, "peer.capnp.rpc.null.blocked.roundtrip", {}},
      {"ofi.rpc.null.roundtrip", at_most, 2.3, "ofi.fast.16.oneway", {}},
      {"blast.rpc.1048576.bandwidth", at_least, 0.8, "blast.bare.1048576.bandwidth", {}},
      {"blast.rpc.lossy.1048576.bandwidth", at_least, 0.77, "blast.rpc.1048576.bandwidth", {}},
      {"shm.vi.send.16.oneway", at_most, 1.25, "shm.fast.16.oneway", {}},
      {"shm.vi.send.16.oneway", at_most, 1.5, "limit.cacheline.oneway", {}},
      {"shm.vi.send.16.rate", at_least, 0.5, "shm.fast.16.rate", {}},
      {"shm.vi.write.16.oneway", at_most, 1.25, "shm.fast.16.oneway", {}},
      {"shm.vi.touched.65536.bandwidth", at_least, 0.95, "shm.message.touched.65536.bandwidth", {}},
      {"shm.vi.write.65536.bandwidth", at_least, 0.95, "shm.segment.write.65536.bandwidth", {}},
      {"shm.vi.beside999.16.oneway", at_most, 1.1, "shm.vi.send.16.oneway", {}},
      {"shm.vi.wait.16.oneway", at_most, 1.05, "shm.wake.16.oneway", {}},
      {"vi.cqdone.empty.1.cost", at_most, 1.2, "queue.poll.empty.cost", {}},
      {"vi.cqdone.empty.1000.cost", at_most, 1.05, "vi.cqdone.empty.1.cost", {}},
      {"ofi.vi.send.16.oneway", at_most, 1.1, "ofi.fast.16.oneway", {}},
      {"shm.am.short.16.oneway", at_most, 1.25, "shm.fast.16.oneway", {}},
      {"shm.am.short.16.oneway", at_most, 1.6, "limit.cacheline.oneway", {}, 1.2},
      {"shm.am.short.16.oneway", at_most, 0.7, "peer.ucx_posix.am.16.oneway", {}, 0.5},
      {"shm.am.vi.short.16.oneway", at_most, 1.15, "shm.vi.send.16.oneway", {}},
      {"shm.am.vi3.short.16.oneway", at_most, 1.05, "shm.am.vi.short.16.oneway", {}},
      {"shm.am.args16.oneway", at_most, 1.25, "shm.fast.64.oneway", {}},
      {"shm.am.args16.oneway", at_most, 1, "peer.ucx_posix.am.64.oneway", {}, 0.8},
      {"shm.am.short.8.rate", at_least, 0.25, "shm.fast.16.rate", {}},
      {"shm.am.short.128.rate", at_least, 0.7, "shm.fast.16.rate", {}},
      {"shm.am.short.8.rate", at_least, 1.2, "peer.ucx_posix.am.16.rate", {}, 2},
      {"shm.am.short.128.rate", at_least, 2, "peer.ucx_posix.am.16.rate", {}, 6},
      {"shm.am.medium.4096.oneway", at_most, 1, "peer.ucx_posix.am.touched.4096.oneway", {}, 0.95},
      {"shm.am.medium.touched.4096.bandwidth", at_least, 1, "peer.ucx_posix.am.touched.4096.bandwidth", {}},
      {"shm.am.long.touched.65536.bandwidth", at_least, 0.9, "shm.message.touched.65536.bandwidth", {}},
      {"shm.am.or.cost", at_most, 0.6, "shm.am.vi.or.cost", {}},
      {"shm.am.os.cost", at_most, 1, "shm.am.vi.os.cost", {}},
      {"shm.splitc.read.8.roundtrip", at_most, 1.1, "shm.segment.read.40.roundtrip", {}},
      {"shm.splitc.write.8.roundtrip", at_most, 1.1, "shm.segment.write_flushed.40.roundtrip", {}},
      {"shm.splitc.read.mapped.8.roundtrip", at_most, 1.5, "limit.read.40.roundtrip", {}},
      {"shm.splitc.write.mapped.8.cost", at_most, 1.5, "shm.splitc.bare_write.mapped.8.cost", {}},
      {"shm.splitc.store.8.rate", at_least, 0.7, "shm.fast.16.rate", {}},
      {"shm.splitc.get.8.rate", at_least, 0.3, "shm.fast.16.rate", {}},
      {"shm.splitc.allstoresync.mapped.2.roundtrip", at_most, 6, "limit.cacheline.oneway", {}},
      {"shm.splitc.barrier.mapped.2.roundtrip", at_most, 3, "limit.cacheline.oneway", {}},
      {"ofi.am.short.16.oneway", at_most, 1.1, "ofi.fast.16.oneway", {}},
      {"ofi.splitc.read.8.roundtrip", at_most, 1.1, "ofi.segment.read.40.roundtrip", {}},
      {"ofi.first.16.oneway", at_most, 1, "limit.first.16.oneway", {}},
      {"ofi.fast.16.oneway", at_most, 1.15, "peer.fi_net.64.oneway", {}},
      {"ofi.fast.16.oneway", at_most, 1.15, "peer.ucx_tcp.tag.8.oneway", {}},
      {"ofi.fast.blocked.16.oneway", at_most, 1.15, "peer.fi_net.blocked.64.oneway", {}},
      {"ofi.fast.16.rate", at_least, 2, "peer.ucx_tcp.tag.8.rate", {}},
      {"ofi.message.65536.bandwidth", at_least, 1, "peer.ucx_tcp.tag.65536.bandwidth", {}},
      {"ofi.message.65536.bandwidth", at_least, 0.85, "peer.fi_net.65536.bandwidth", {}},
      {"ofi.message.1048576.bandwidth", at_least, 1, "peer.ucx_tcp.tag.1048576.bandwidth", {}},
      {"ofi.message.1048576.bandwidth", at_least, 0.85, "peer.fi_net.1048576.bandwidth", {}},
      {"ofi.get.16.roundtrip", at_most, 2.2, "ofi.fast.16.oneway", {}},
      {"ofi.get.65536.bandwidth", at_least, 0.9, "ofi.message.65536.bandwidth", {}},
      {"ofi.fetchadd.8.roundtrip", at_most, 2.2, "ofi.fast.16.oneway", {}},
  };
  return targets;
}

const char* symbol(Target::Relation relation) {
  switch (relation) {
    case Target::Relation::at_most:
      return "<=";
    case Target::Relation::below:
      return "<";
    case Target::Relation::at_least:
      return ">=";
    case Target::Relation::above:
      return ">";
  }
  return "?";
}

bool holds(Target::Relation relation, double ratio, double factor) {
  switch (relation) {
    case Target::Relation::at_most:
      return ratio <= factor;
    case Target::Relation::below:
      return ratio < factor;
    case Target::Relation::at_least:
      return ratio >= factor;
    case Target::Relation::above:
      return ratio > factor;
  }
  return false;
}

std::optional<double> TargetResult::worst() const {
  const bool less =
      target.relation == Target::Relation::at_most || target.relation == Target::Relation::below;
  std::optional<double> found;
  for (const std::optional<double>& ratio : ratios) {
    if (ratio && (!found || (*ratio > *found) == less)) found = ratio;
  }
  return found;
}

bool TargetResult::met() const {
  const auto misses = [this](Distance at) {
    return ratio_at(at) && !holds(target.relation, *ratio_at(at), target.factor_at(at));
  };
  return worst() && std::ranges::none_of(kDistances, misses);
}

std::vector<TargetResult> compare(const std::vector<Target>& targets, const std::vector<Figure>& figures) {
  std::vector<TargetResult> results;
  for (const Target& target : targets) {
    const Figure* figure = find(figures, target.figure);
    if (figure == nullptr) continue;
    TargetResult result{target};
    const Figure* against = find(figures, target.against);
    for (std::size_t i = 0; against != nullptr && i < result.ratios.size(); ++i) {
      if (figure->medians[i] && against->medians[i])
        result.ratios[i] = *figure->medians[i] / *against->medians[i];
    }
    results.push_back(result);
  }
  return results;
}

}  // namespace hamlyn::tool::perf
