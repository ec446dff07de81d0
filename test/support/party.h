#pragma once
// One interface in a test is what it is in a simulation.
#include "test/simulation/books/party.h"

namespace hamlyn::test {

using simulation::Party;

}  // namespace hamlyn::test
