#include "tool/perf/exporter.h"

namespace hamlyn::tool::perf {

std::vector<double> run_sides(Cores cores, std::size_t results, Place place, Sharing sharing,
                              std::size_t bytes, const SegmentWork& first, const SegmentWork& second,
                              std::uint32_t requests) {
  const std::string meeting = new_meeting();
  if (place == Place::ofi) far_node(0);  // here, once for all rounds
  const auto side = [&](Room& room, int number) {
    Exporter made{meeting, number, place, sharing, bytes, requests};
    room.meet();
    (number == 0 ? first : second)(made, room);
    room.meet();  // nobody's segment goes while the other uses it
  };
  return run_pair(
      cores, {.results = results}, [&](Room& room) { side(room, 0); }, [&](Room& room) { side(room, 1); });
}

}  // namespace hamlyn::tool::perf
