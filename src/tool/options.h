#pragma once
// What the command line says, command by command.
#include <chrono>
#include <optional>
#include <string>

#include "hamlyn/interface.h"

namespace hamlyn::tool {

struct TransferOptions {
  std::string name;
  std::string file = "-";
  std::string node;                                  // the daemon's socket; empty: the usual one
  std::optional<std::chrono::milliseconds> timeout;  // to wait for the partner; none: for ever
  bool quiet = false;
  bool json = false;
};

struct ReceiveOptions : TransferOptions {
  Rights rights;
  bool keep_partial = false;
};

struct NodeOptions {
  std::string node;
  bool json = false;
};

void run_send(const TransferOptions& options);
void run_receive(const ReceiveOptions& options);
void run_node(const NodeOptions& options);

}  // namespace hamlyn::tool
