#include "test/memory/explored.h"

#include <algorithm>
#include <string_view>

namespace hamlyn::test {

namespace {

struct Place {
  const char* what;
  const char* function;
  std::uint32_t line;
  std::string name;  // "" if it is none of the production source
};
std::vector<Place> places;
std::string left_out_name;

// "void hamlyn::shm::Bell<Memory>::must_ring(bool) [with ...]" is Bell::must_ring.
std::string short_name(std::string_view function) {
  std::string name;
  int depth = 0;
  for (const char c : function.substr(0, function.find('('))) {
    depth += c == '<' ? 1 : 0;
    if (depth == 0) name += c;
    depth -= c == '>' ? 1 : 0;
  }
  const std::size_t before = name.rfind("::", name.rfind("::") - 1);
  return name.substr(before + 2);
}

}  // namespace

bool OrderedPlace::kept(const char* what, const std::source_location& place) {
  const auto same = [&](const Place& each) {
    return each.line == place.line() && each.what == what && each.function == place.function_name();
  };
  auto found = std::find_if(places.begin(), places.end(), same);
  if (found == places.end()) {
    const bool test = std::string_view(place.file_name()).find("test/memory/") != std::string_view::npos;
    std::string name = test ? "" : short_name(place.function_name()) + ' ' + what;
    places.push_back({what, place.function_name(), place.line(), std::move(name)});
    found = std::prev(places.end());
  }
  return found->name.empty() || found->name != left_out_name;
}

std::vector<std::string> OrderedPlace::passed() {
  std::vector<std::string> names;
  for (const Place& place : places) {
    if (!place.name.empty() && std::ranges::find(names, place.name) == names.end())
      names.push_back(place.name);
  }
  return names;
}

void OrderedPlace::reset(const std::string& left_out) {
  places.clear();
  left_out_name = left_out;
}

}  // namespace hamlyn::test
