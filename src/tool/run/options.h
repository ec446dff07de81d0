#pragma once
// Options of `hamlyn run`, and what follows from them before anything is started.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "job/block.h"

namespace hamlyn::tool {

struct RunOptions {
  std::string node = {};
  std::uint32_t ranks = 1;
  std::vector<std::string> hosts = {};  // empty: this one alone
  std::string at = {};                  // this host, as `hosts` has it; empty: by its own name
  std::string via = {};                 // the template that starts the others; empty: they start themselves
  std::string job = {};                 // its name; empty: one is made
  bool label = false;
  bool bind = false;
  bool trusted_network = false;
  bool json = false;
  std::string token = {};                 // lets an agent in; 32 hexadecimal digits
  std::string agent = {};                 // as `agent_of` made it: in the place of all others
  std::vector<std::string> program = {};  // and its arguments
};

// The name of this machine.
std::string own_host();

// Checks what the command line cannot check word by word, and fills in what is left out. Throws Failure
// (kUsage).
void complete(RunOptions& options);

// Where this host stands in the list; as many as there are: nowhere.
std::size_t place_of(const RunOptions& options);
// Whether another host has ranks.
bool has_others(const RunOptions& options);
// A checksum of the list: long ones fit no message.
std::uint64_t check_of(const std::vector<std::string>& hosts);
// Ranks of this host; none if it is not in the list.
internal_::job::Block own_block(const RunOptions& options);

// The words of the template for that host, split at blanks.
std::vector<std::string> words_of(const std::string& via, const std::string& host);
// The word that an agent is started with: digits and letters, of which no shell on the way makes anything
// else. `options_of` is the way back, and throws Failure (kUsage).
std::string agent_of(const RunOptions& options, const std::string& host, const std::string& folder);
RunOptions options_of(const std::string& agent, std::string& folder);

// The processors that rank `here` of `ranks` on this host gets of those allowed: its share, at least one.
std::vector<int> share_of(std::span<const int> processors, std::uint32_t here, std::uint32_t ranks);

}  // namespace hamlyn::tool
