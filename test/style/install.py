#!/usr/bin/env python3
"""An installation has what it should, and both ways to build against it work, for C++ and for C.

  install.py BUILD COMPILER C-COMPILER
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import links
import tree

sys.path.insert(0, str(tree.ROOT / "cmake"))
import headers  # noqa: E402

# Calls into the library, and needs no node daemon.
PROGRAM = """
#include <hamlyn/hamlyn.h>
#include <cstring>
int main(int count, char**) {
  if (count > 1) {
    hamlyn::Manager needs_all_of_the_library;
    hamlyn::StreamReceiver stream{needs_all_of_the_library};
    hamlyn_interface_run(nullptr);
  }
  const hamlyn::Ticket ticket;
  return hamlyn::invalid(ticket) != nullptr && std::strcmp(hamlyn::name(hamlyn::Status::no_place), "no_place") == 0 ? 0 : 1;
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(hamlyn 0.1 REQUIRED)
add_executable(consumer consumer.cc)
target_link_libraries(consumer hamlyn::hamlyn)
"""
C_PROGRAM = """
#include <hamlyn/hamlyn.h>
#include <string.h>
int main(void) {
  hamlyn_manager* none = 0;
  if (hamlyn_abi_version() != HAMLYN_ABI_VERSION || hamlyn_manager_wait(none, 0) != HAMLYN_INVALID_ARGUMENT) return 1;
  return strcmp(hamlyn_status_name(HAMLYN_NO_PLACE), "no_place");
}
"""
C_CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(hamlyn 0.1 REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer hamlyn::c)
"""
COMMANDS = ("hamlyn", "hamlynd")


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **more)
    if done.returncode:
        tree.finish([f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}"], "install")
    return done.stdout


def broken_links(folder):
    """Links of installed pages that lead to nothing there."""
    led = [(page, link.split("#")[0]) for page in folder.rglob("*.md") for link in links.links(page.read_text())]
    return [f"{page.relative_to(folder)}: the link {link} leads to nothing that is installed" for page, link in led
            if "://" not in link and not (page.parent / link).exists()]


def main(build, compiler, c_compiler):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        # Moved after it was installed: nothing in it may know where it was put first.
        run("cmake", "--install", build, "--prefix", root / "first")
        prefix = (root / "first").rename(root / "second")
        names = {str(path.relative_to(prefix)) for path in tree.files(prefix)}
        problems = [f"not installed: bin/{name}" for name in COMMANDS if f"bin/{name}" not in names]
        problems += [f"not installed: {path.relative_to(tree.ROOT)}" for path in (tree.ROOT / "include").rglob("*.h")
                     if str(path.relative_to(tree.ROOT)) not in names]
        problems += [f"not installed: {path.name}" for path in (tree.ROOT / "docs/man").iterdir()
                     if f"share/man/man{path.suffix[1]}/{path.name}" not in names]
        problems += [f"not installed: the reference's page of {header}.h" for page, header in headers.HEADERS.items()
                     if page != "hamlyn" and f"share/doc/hamlyn/docs/reference/{page}.md" not in names]
        problems += [f"not installed: {last}" for last in ("hamlynd.service", "libhamlyn.so.0", "libhamlyn_protocols.a")
                     if not any(name.endswith(last) for name in names)]
        problems += broken_links(prefix / "share/doc/hamlyn")
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

        (root / "c").mkdir()
        (root / "c/consumer.c").write_text(C_PROGRAM)
        (root / "c/CMakeLists.txt").write_text(C_CMAKE)
        run("cmake", "-S", root / "c", "-B", root / "c/build", "-G", "Ninja", f"-DCMAKE_C_COMPILER={c_compiler}",
            f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", root / "c/build")
        run(root / "c/build/consumer")

        pc = next(prefix.rglob("hamlyn.pc")).parent
        for package, command in {"hamlyn": (compiler, "-std=c++20", root / "consumer.cc"),
                                 "hamlyn-c": (c_compiler, "-std=c99", "-pedantic", "-Werror", root / "c/consumer.c")}.items():
            flags = run("pkg-config", "--cflags", "--libs", package, env={**os.environ, "PKG_CONFIG_PATH": str(pc)}).split()
            run(*command, "-o", root / package, *flags)
            run(root / package, env={**os.environ, "LD_LIBRARY_PATH": str(pc.parent)})
    tree.finish([], "install")


main(*sys.argv[1:])
