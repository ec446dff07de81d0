#pragma once
// Files of a program's at the numbers of descriptors that it has closed behind the library's back.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace hamlyn::test {

// Files of the program's own, at all numbers from 3 on that the library may have had.
class OwnFiles {
 public:
  OwnFiles() {
    for (int& file : files_) {
      file = ::memfd_create("own", MFD_CLOEXEC);
      [[maybe_unused]] const ssize_t put = ::pwrite(file, "mine", 4, 0);
    }
  }
  // Open, as long as they were, and neither read nor written by anybody.
  bool untouched() const {
    for (const int file : files_) {
      char text[5] = {};
      struct stat info {};
      if (::lseek(file, 0, SEEK_CUR) != 0 || ::fstat(file, &info) != 0 || info.st_size != 4) return false;
      if (::pread(file, text, 4, 0) != 4 || std::string(text) != "mine") return false;
    }
    return true;
  }

 private:
  int files_[64];
};

}  // namespace hamlyn::test
