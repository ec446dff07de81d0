#include "tool/report.h"

#include <fmt/core.h>

#include "tool/progress.h"

namespace hamlyn::tool {
namespace {

double mean_rate(const Report& report) {
  return report.seconds > 0 ? static_cast<double>(report.bytes) / report.seconds : 0;
}

std::string number_or_null(const std::optional<std::uint32_t>& number) {
  return number ? fmt::format("{}", *number) : "null";
}

}  // namespace

std::string to_text(const Report& report) {
  return fmt::format("{} in {:.3f} s ({}/s), xxh3 {:016x}", format_bytes(static_cast<double>(report.bytes)),
                     report.seconds, format_bytes(mean_rate(report)), report.checksum);
}

// Numbers and hexadecimal digits only: nothing here needs the escapes of a JSON library.
std::string to_json(const Report& report) {
  return fmt::format(R"({{"bytes":{},"seconds":{:.6f},"rate":{:.0f},"checksum":"{:016x}",)"
                     R"("peer":{{"interface":{},"uid":{},"pid":{}}}}})",
                     report.bytes, report.seconds, mean_rate(report), report.checksum, report.peer.interface,
                     number_or_null(report.peer.uid), number_or_null(report.peer.pid));
}

}  // namespace hamlyn::tool
