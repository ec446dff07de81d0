#pragma once
// What a run of chaos prints, for people and for programs.
#include <string>
#include <vector>

#include "test/chaos/conductor.h"

namespace hamlyn::chaos {

std::string heading();
std::string row(const Look& look);
std::string summary(const Conductor& conductor);
std::string json(const Plan& plan, const Conductor& conductor, const std::vector<Look>& looks);
// How to see the same again.
std::string command_line(const Plan& plan);

}  // namespace hamlyn::chaos
