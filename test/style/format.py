#!/usr/bin/env python3
"""Every C++ file is as clang-format 14 and .clang-format have it."""
import shutil
import subprocess

import tree

# The version is part of the style: others lay out some constructs differently.
program = shutil.which("clang-format-14")
if not program:
    tree.finish(["clang-format-14 is missing: apt-get install clang-format-14"], "format")
run = subprocess.run([program, "--dry-run", "-Werror", *map(str, tree.cpp_files())], capture_output=True, text=True)
first = {}
for line in run.stderr.splitlines():
    if "error:" in line:
        first.setdefault(line.split(":")[0], line)
tree.finish(list(first.values()) or ([run.stderr] if run.returncode else []), "format (clang-format-14 -i puts it right)")
