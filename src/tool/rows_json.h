#pragma once
// The rows of a process's counter page, as `hamlyn node --json` and `hamlyn top --json` both give them.
#include <nlohmann/json.hpp>
#include <vector>

#include "tool/node_view.h"

namespace hamlyn::tool {

nlohmann::ordered_json refusals_json(const Refusals& refusals);

nlohmann::ordered_json rows_json(const std::vector<LinkView>& rows);
nlohmann::ordered_json rows_json(const std::vector<SlotView>& rows);
nlohmann::ordered_json rows_json(const std::vector<QueueView>& rows);
nlohmann::ordered_json rows_json(const std::vector<TerminusView>& rows);
nlohmann::ordered_json rows_json(const std::vector<CallView>& rows);

}  // namespace hamlyn::tool
