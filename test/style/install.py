#!/usr/bin/env python3
"""An installation has what it should, and both ways to build against it work.

  install.py BUILD COMPILER
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import tree

# Calls into the library, and needs no node daemon.
PROGRAM = """
#include <hamlyn/hamlyn.h>
#include <cstring>
int main(int count, char**) {
  if (count > 1) hamlyn::Interface needs_all_of_the_library;
  const hamlyn::Ticket ticket;
  return hamlyn::invalid(ticket) != nullptr && std::strcmp(hamlyn::name(hamlyn::Status::no_place), "no_place") == 0 ? 0 : 1;
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(hamlyn 0.1 REQUIRED)
add_executable(consumer consumer.cc)
target_compile_features(consumer PRIVATE cxx_std_20)
target_link_libraries(consumer hamlyn::hamlyn)
"""
COMMANDS = ("hamlyn", "hamlynd")


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **more)
    if done.returncode:
        tree.finish([f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}"], "install")
    return done.stdout


def main(build, compiler):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        # Moved after it was installed: nothing in it may know where it was put first.
        run("cmake", "--install", build, "--prefix", root / "first")
        prefix = (root / "first").rename(root / "second")
        names = {str(path.relative_to(prefix)) for path in tree.files(prefix)}
        problems = [f"not installed: bin/{name}" for name in COMMANDS if f"bin/{name}" not in names]
        problems += [f"not installed: {path.relative_to(tree.ROOT)}" for path in (tree.ROOT / "include").rglob("*.h")
                     if str(path.relative_to(tree.ROOT)) not in names]
        if not any(name.endswith("hamlynd.service") for name in names):
            problems.append("not installed: hamlynd.service")
        if problems:
            tree.finish(problems, "install")
        for name in COMMANDS:
            run(prefix / "bin" / name, "--help")

        (root / "consumer.cc").write_text(PROGRAM)
        (root / "CMakeLists.txt").write_text(CMAKE)
        run("cmake", "-S", root, "-B", root / "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
            f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", root / "build")
        run(root / "build" / "consumer")

        pc = next(prefix.rglob("hamlyn.pc")).parent
        flags = run("pkg-config", "--cflags", "--libs", "hamlyn", env={**os.environ, "PKG_CONFIG_PATH": str(pc)}).split()
        run(compiler, "-std=c++20", root / "consumer.cc", "-o", root / "by_pkg_config", *flags)
        run(root / "by_pkg_config")
    tree.finish([], "install")


main(*sys.argv[1:])
