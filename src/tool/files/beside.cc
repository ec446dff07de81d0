#include "tool/files/beside.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "tool/failure.h"
#include "tool/files/options.h"

namespace hamlyn::tool {

void become(const std::vector<std::string>& words, const std::string& lack) {
  std::vector<char*> all;
  for (const std::string& each : words) all.push_back(const_cast<char*>(each.c_str()));
  all.push_back(nullptr);
  std::error_code none;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  if (!own.empty()) execv((own / words[0]).c_str(), all.data());
  execvp(words[0].c_str(), all.data());
  if (errno == ENOENT) throw Failure(words[0] + " is not there", "not_installed", lack);
  throw system_failure("cannot start " + words[0], errno);
}

void run_mount(const MountOptions& options) {
  std::vector<std::string> words = {"hamlyn-mount"};
  words.insert(words.end(), options.words.begin(), options.words.end());
  become(words, "install it: a build makes it where libfuse3 is (Debian: libfuse3-dev, and fuse3 to use it)");
}

void run_unmount(const UnmountOptions& options) {
  become({"fusermount3", "-u", options.directory}, "install it (Debian: fuse3)");
}

}  // namespace hamlyn::tool
