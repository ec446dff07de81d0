#pragma once
// Options of the command line, command by command.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hamlyn/core/interface.h"

namespace hamlyn::tool {

struct TransferOptions {
  std::string name;
  std::string file = "-";
  std::string node;                                  // the daemon's socket; empty: the usual one
  std::optional<std::chrono::milliseconds> timeout;  // to wait for the partner; none: for ever
  bool quiet = false;
  bool json = false;
};

struct SendOptions : TransferOptions {
  std::string to;  // a user's name or number, or kAnyone; empty: who runs the command
};
inline constexpr const char* kAnyone = "anyone";

struct ReceiveOptions : TransferOptions {
  Rights rights;
  bool keep_partial = false;
};

struct NodeOptions {
  std::string node;
  bool json = false;
};

struct TopOptions {
  std::string node;
  std::optional<std::uint32_t> pid;  // of one process everything; none: all, a line each
  double seconds = 1;                // between two looks
  std::uint64_t count = 0;           // of looks; 0: until interrupted
  bool json = false;
};

struct CallsOptions {
  std::string node;
  std::string name;
  std::string procedure;               // empty: all are listed
  std::vector<std::string> arguments;  // of it, in words
  std::chrono::milliseconds timeout{5000};
  bool json = false;
};

void run_send(const SendOptions& options);
void run_receive(const ReceiveOptions& options);
void run_node(const NodeOptions& options);
void run_top(const TopOptions& options);
void run_calls(const CallsOptions& options);

}  // namespace hamlyn::tool
