#pragma once
// Standard output of a program whose exit status says whether all of it was written.
#include <string_view>

#include "base/namespaces.h"

namespace hamlyn::internal_::base {

// Writes `text`, or keeps it to write it later. Throws Error: disk_full, system.
void print(std::string_view text);

// Writes what is kept. For a program that goes on after a part of its output. Throws Error as `print`.
void flush_output();

// Writes what is kept and asks the file system for the errors that only a close tells. For the end of a
// program, before it says that all went well. Throws Error as `print`.
void finish_output();

}  // namespace hamlyn::internal_::base
