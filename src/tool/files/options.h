#pragma once
// Options of `hamlyn serve` and `hamlyn files`.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace hamlyn::tool {

struct ServeOptions {
  std::string node;
  std::string directory;
  std::string name;
  std::string state;  // folder; empty: the usual one
  bool squash_root = false;
  bool trusted_network = false;
  std::uint64_t data = 0;     // bytes of data that clerks find; 0: as the library has it
  std::uint32_t threads = 0;  // that serve; 0: as many as processors, from 2 to 8
  bool json = false;
};

struct FilesOptions {
  std::string node;
  std::string name;
  std::string action;              // ls, cat, put, ...
  std::vector<std::string> paths;  // of it
  bool all = false;                // ls: with attributes
  std::chrono::milliseconds timeout{5000};
  bool json = false;
};

struct MountOptions {
  std::vector<std::string> words;  // of hamlyn-mount
};

struct UnmountOptions {
  std::string directory;
};

void run_serve(const ServeOptions& options);
void run_files(const FilesOptions& options);
[[noreturn]] void run_mount(const MountOptions& options);
[[noreturn]] void run_unmount(const UnmountOptions& options);

}  // namespace hamlyn::tool
