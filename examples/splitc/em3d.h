#pragma once
// EM3D (Parallel Programming in Split-C, 1993, section 3): electric and magnetic fields on a bipartite graph.
// Each step an E node takes the weighted values of its H neighbours away from its own, and then each H node
// those of its E neighbours. A part of the neighbours is on other ranks: five versions bring their values in
// five ways, each with fewer waits than the one before.
//
//   simple   reads each neighbour's value where it is wanted
//   bundle   has a local copy ("ghost") of each remote neighbour, and reads each of them once a step
//   split    gets all ghosts at once, and waits once
//   store    each owner stores its values into the ghosts: nobody asks
//   bulk     gathers what one rank wants, and stores it as one array
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "trial.h"

namespace em3d {

using namespace trial;
using trial::sync;

inline constexpr std::size_t kDegree = 6;
inline constexpr unsigned kRemoteInTen = 3;  // neighbours of ten that may be on another rank
inline constexpr int kSteps = 4;

struct Edge {
  std::uint64_t from = 0;  // node of the other kind, of all ranks
  double weight = 0;
};

// Neighbours of node `node` of a kind, of `each` nodes on each rank: the same on all ranks.
inline std::array<Edge, kDegree> edges_of(unsigned kind, std::uint64_t node, std::size_t each) {
  std::mt19937_64 random(node * 2 + kind);
  std::array<Edge, kDegree> out;
  for (Edge& edge : out) {
    std::uint64_t owner = node / each;
    if (random() % 10 < kRemoteInTen) owner = (owner + 1 + random() % ranks()) % ranks();
    edge = {owner * each + random() % each, 1.0 / static_cast<double>(8 + random() % 8)};
  }
  return out;
}
inline double first_value(unsigned kind, std::uint64_t node) {
  return static_cast<double>((node * 7 + kind * 3) % 101);
}

// Fields as one rank alone computes them.
class Alone {
 public:
  explicit Alone(std::size_t each) : each_(each) {
    for (unsigned kind = 0; kind != 2; ++kind)
      for (std::uint64_t node = 0; node != each * ranks(); ++node) {
        values_[kind].push_back(first_value(kind, node));
        edges_[kind].push_back(edges_of(kind, node, each));
      }
  }
  void step() {
    for (unsigned kind = 0; kind != 2; ++kind)
      for (std::size_t node = 0; node != values_[kind].size(); ++node)
        for (const Edge& edge : edges_[kind][node])
          values_[kind][node] -= edge.weight * values_[1 - kind][edge.from];
  }
  std::span<const double> mine(unsigned kind) const {
    return std::span(values_[kind]).subspan(rank() * each_, each_);
  }

 private:
  const std::size_t each_;
  std::array<std::vector<double>, 2> values_;
  std::array<std::vector<std::array<Edge, kDegree>>, 2> edges_;
};

// A rank's part. Values of both kinds lie at the same place everywhere, and so do ghosts: behind one another,
// those from rank 0 first.
class Field {
 public:
  explicit Field(std::size_t each) : each_(each), values_{values(each), values(each)} {
    for (unsigned kind = 0; kind != 2; ++kind) wire(kind);
    for (unsigned kind = 0; kind != 2; ++kind) offer(kind);
  }

  void reset() {
    for (unsigned kind = 0; kind != 2; ++kind)
      for (std::size_t i = 0; i != each_; ++i)
        values_[kind]->mine()[i] = first_value(kind, rank() * each_ + i);
    barrier();
  }
  std::span<const double> mine(unsigned kind) const { return values_[kind]->mine(); }

  // One step for each version: nodes of `kind` change, by neighbours of the other.
  void simple(unsigned kind) {
    for (std::size_t i = 0; i != each_; ++i)
      for (const Edge& edge : edges_[kind][i])
        values_[kind]->mine()[i] -= edge.weight * *place_of(1 - kind, edge.from);
    barrier();
  }
  void bundle(unsigned kind) {
    for (std::size_t g = 0; g != wanted_[kind].size(); ++g)
      ghosts(kind)[g] = *place_of(1 - kind, wanted_[kind][g]);
    compute(kind);
    barrier();
  }
  void split(unsigned kind) {
    for (std::size_t g = 0; g != wanted_[kind].size(); ++g)
      get(ghosts(kind)[g], place_of(1 - kind, wanted_[kind][g]));
    sync();
    compute(kind);
    barrier();
  }
  void stores(unsigned kind) {
    for (Rank to = 0; to != ranks(); ++to)
      for (std::size_t k = 0; k != offered_[kind][to].size(); ++k)
        store(ghosts_[kind]->at(to, begins_[kind][to] + k), values_[1 - kind]->mine()[offered_[kind][to][k]]);
    all_store_sync();
    compute(kind);
  }
  void bulk(unsigned kind) {
    for (Rank turn = 1; turn <= ranks(); ++turn) {
      const Rank to = (rank() + turn) % ranks();
      if (offered_[kind][to].empty()) continue;
      packed_.clear();
      for (const std::uint32_t node : offered_[kind][to]) packed_.push_back(values_[1 - kind]->mine()[node]);
      bulk_store(ghosts_[kind]->at(to, begins_[kind][to]), packed_);
    }
    all_store_sync();
    compute(kind);
  }

 private:
  using Values = std::unique_ptr<everywhere<double>>;
  static Values values(std::size_t count) { return std::make_unique<everywhere<double>>(count); }
  global_ptr<double> place_of(unsigned kind, std::uint64_t node) const {
    return values_[kind]->at(static_cast<Rank>(node / each_), node % each_);
  }
  std::span<double> ghosts(unsigned kind) { return ghosts_[kind]->mine(); }

  void compute(unsigned kind) {
    const auto own = values_[kind]->mine(), other = values_[1 - kind]->mine();
    const auto far = ghosts(kind);
    for (std::size_t i = 0; i != each_; ++i)
      for (std::size_t e = 0; e != kDegree; ++e) {
        const std::uint32_t where = where_[kind][i][e];
        own[i] -= edges_[kind][i][e].weight * (where < each_ ? other[where] : far[where - each_]);
      }
  }

  // Finds the neighbours of this rank's nodes, and makes a ghost for each one of another rank.
  void wire(unsigned kind) {
    std::map<std::uint64_t, std::uint32_t> far;
    for (std::size_t i = 0; i != each_; ++i) {
      edges_[kind].push_back(edges_of(kind, rank() * each_ + i, each_));
      for (const Edge& edge : edges_[kind].back())
        if (edge.from / each_ != rank()) far.emplace(edge.from, 0);
    }
    for (auto& [node, ghost] : far) {
      ghost = static_cast<std::uint32_t>(wanted_[kind].size());
      wanted_[kind].push_back(node);
    }
    for (const auto& edges : edges_[kind]) {
      auto& where = where_[kind].emplace_back();
      for (std::size_t e = 0; e != kDegree; ++e) {
        const std::uint64_t from = edges[e].from;
        where[e] = static_cast<std::uint32_t>(from / each_ == rank() ? from % each_ : each_ + far.at(from));
      }
    }
    const auto most = reduce_all(std::uint64_t{wanted_[kind].size()}, maximum{});
    ghosts_[kind] = values(std::max<std::uint64_t>(most, 1));
  }

  // Tells each owner which of its nodes this rank wants, and where the ghosts begin.
  void offer(unsigned kind) {
    everywhere<std::uint64_t> counts(ranks()), begins(ranks());
    std::vector<std::uint64_t> first(ranks()), count(ranks());
    for (std::size_t g = wanted_[kind].size(); g-- != 0;) {
      const auto owner = static_cast<Rank>(wanted_[kind][g] / each_);
      first[owner] = g;
      ++count[owner];
    }
    const auto most = reduce_all(*std::max_element(count.begin(), count.end()), maximum{});
    everywhere<std::uint32_t> nodes(std::max<std::uint64_t>(most, 1) * ranks());
    for (Rank owner = 0; owner != ranks(); ++owner) {
      store(counts.at(owner, rank()), count[owner]);
      store(begins.at(owner, rank()), first[owner]);
      for (std::size_t k = 0; k != count[owner]; ++k)
        store(nodes.at(owner, rank() * most + k),
              static_cast<std::uint32_t>(wanted_[kind][first[owner] + k] % each_));
    }
    all_store_sync();
    for (Rank to = 0; to != ranks(); ++to) {
      begins_[kind].push_back(begins.mine()[to]);
      const auto all = nodes.mine().subspan(to * most, counts.mine()[to]);
      offered_[kind].emplace_back(all.begin(), all.end());
    }
    barrier();
  }

  const std::size_t each_;
  std::array<Values, 2> values_, ghosts_;
  std::array<std::vector<std::array<Edge, kDegree>>, 2> edges_;
  std::array<std::vector<std::array<std::uint32_t, kDegree>>, 2> where_;  // own nodes first, then ghosts
  std::array<std::vector<std::uint64_t>, 2> wanted_;                      // by ghost
  std::array<std::vector<std::vector<std::uint32_t>>, 2> offered_;        // by rank: own nodes that it wants
  std::array<std::vector<std::uint64_t>, 2> begins_;  // and where its ghosts of this rank begin
  std::vector<double> packed_;
};

// Runs all five, each from the first values on, and compares with what one rank computes alone.
inline void run(int count, char** words) {
  const std::size_t each = number(count, words, 500);
  require(each != 0, "each rank has some nodes");
  Alone alone(each);
  const double start = seconds();
  for (int i = 0; i != kSteps; ++i) alone.step();
  const double one = broadcast(seconds() - start);
  Field field(each);
  const auto version = [&](const char* name, void (Field::*step)(unsigned)) {
    field.reset();
    const double all = time_of([&] {
      for (int i = 0; i != kSteps; ++i)
        for (unsigned kind = 0; kind != 2; ++kind) (field.*step)(kind);
    });
    double wrong = 0;
    for (unsigned kind = 0; kind != 2; ++kind)
      for (std::size_t i = 0; i != each; ++i)
        wrong = std::max(wrong, std::abs(field.mine(kind)[i] - alone.mine(kind)[i]));
    require(reduce_all(wrong, maximum{}) == 0, "a field is another than one rank computes");
    tell(std::string("em3d ") + name, all, one);
  };
  version("simple", &Field::simple);
  version("bundle", &Field::bundle);
  version("split", &Field::split);
  version("store", &Field::stores);
  version("bulk", &Field::bulk);
}

}  // namespace em3d
