#include "simulation/trace.h"

#include <string>

namespace hamlyn::simulation {

void Trace::note(std::uint64_t time, std::uint64_t process, std::string_view text,
                 std::initializer_list<std::uint64_t> values) {
  mix(time);
  mix(process);
  for (const char each : text) mix(static_cast<unsigned char>(each));
  for (const std::uint64_t value : values) mix(value);
  if (reader_) tell(time, process, text, values);
}

void Trace::tell(std::uint64_t time, std::uint64_t process, std::string_view text,
                 std::initializer_list<std::uint64_t> values) const {
  std::string line = std::to_string(time);
  line.resize(line.size() < 8 ? 8 : line.size() + 1, ' ');
  if (process != 0) line += "process " + std::to_string(process) + ' ';
  auto value = values.begin();
  for (const char each : text) {
    if (each == '%' && value != values.end()) {
      line += std::to_string(*value++);
    } else {
      line += each;
    }
  }
  reader_(line);
}

}  // namespace hamlyn::simulation
