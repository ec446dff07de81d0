#pragma once
// Finding the link that has something (design, section 6): a run looks at the few hot links, which brought
// something lately or were sent something, and at a slice of the others. Of a cold link it reads two words of
// the peer's, which stand together with all others' in one table; the slice grows while nothing comes, so
// that a link that was cold for long is found soon, and is small while something does.
//
// No structure is written by several senders, and nothing is asked of them: a peer can spoil its own link's
// look, never another's. A link of which mostly what must be refused comes is *demoted*: it is looked at
// rarely, for a few packets, until it has brought good ones for a while. So a flood of forged packets costs
// others next to nothing, however cheap they are to make (docs/performance.md has the figures).
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/namespaces.h"

namespace hamlyn::internal_::interface {

class Core;
class Gate;
class Link;

// Something has arrived on a link if the one word is what it waits for or the other has moved.
struct ColdLook {
  const std::uint32_t* turn_at;
  const std::uint32_t* announced_at;
  std::uint32_t turn;
  std::uint32_t announced;
};

// Place of a link in the sweep.
struct SweepPlace {
  std::uint32_t index = 0;
  bool hot = false;
  bool brought = false;  // something, since the hot links were last looked through
  bool demoted = false;
  bool on_trial = false;        // something of it was refused lately
  std::uint32_t refused = 0;    // since it was judged last
  std::uint64_t judged_at = 0;  // how many packets had come then, or when its trial began
  std::uint32_t guilt = 0;      // refused packets, less the good ones that came after them
};

class Sweep {
 public:
  static constexpr std::size_t kHot = 8;
  static constexpr std::size_t kLeastSlice = 8;       // cold links per run
  static constexpr std::uint32_t kGrowEvery = 8;      // runs without anything double the slice,
  static constexpr std::uint32_t kMostDoublings = 3;  // so often at most
  static constexpr std::uint32_t kCoolEvery = 1024;   // runs; hot links that brought nothing are cold then
  static constexpr std::size_t kFetchedFrom = 256;    // links; of fewer the caches hold what is looked at
  static constexpr std::uint32_t kDemotedFrom = 256;  // guilt; at none the link is as others again
  static constexpr std::uint32_t kMostGuilt = 512;
  static constexpr std::uint32_t kGoodWeighs = 4;       // refused ones
  static constexpr std::uint32_t kDemotedEvery = 1024;  // runs, for one of the demoted
  static constexpr unsigned kDemotedBudget = 8;         // packets

  const std::vector<Link*>& links() const noexcept { return links_; }
  void add(Link& link);
  void remove(Link& link) noexcept;
  // Links that come in by it are never hot, and their looks find nothing.
  void set_gate(Gate* gate) noexcept;
  // Something is expected of it.
  void warm(Link& link) noexcept;
  // For whoever has nothing else to do, and would sleep: takes from one of the demoted as much as from
  // another link. True if something good was among it.
  bool idle(Core& core) noexcept;
  // A packet of it was refused.
  static void refused(Link& link) noexcept;
  // The link that brought something last; null after any link has come or gone.
  Link* last() const noexcept { return last_; }

  // Hands over what is found. True if anything was.
  bool run(Core& core) noexcept;

 private:
  bool arrive(Core& core, Link& link) noexcept;
  bool look_at(Core& core, Link& link) noexcept;
  bool slice(Core& core) noexcept;
  void fetch(std::size_t ahead) const noexcept;
  std::uint32_t judge(Link& link, unsigned taken) noexcept;
  std::uint32_t look_at_demoted(Core& core, unsigned budget) noexcept;
  void cool(Link& link) noexcept;
  void cool_down() noexcept;

  std::vector<Link*> links_;
  std::vector<ColdLook> cold_;  // of each link, as links_; of a hot one: never
  std::array<Link*, kHot> hot_{};
  std::size_t hot_count_ = 0;
  std::size_t victim_ = 0;  // who must make room among the hot next
  std::size_t next_ = 0;    // where the slice begins
  std::uint32_t quiet_ = 0;
  std::uint32_t runs_ = 0;
  std::vector<Link*> demoted_;
  std::size_t next_demoted_ = 0;
  Link* last_ = nullptr;
  Gate* gate_ = nullptr;
  std::size_t sources_ = 0;  // links, and the gate
};

}  // namespace hamlyn::internal_::interface
