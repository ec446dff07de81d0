#!/usr/bin/env python3
"""clang-tidy finds nothing in the layers that everything rests on.

  tidy.py BUILD    BUILD holds compile_commands.json

The layers below the tool, because the whole tree would take minutes; HAMLYN_TIDY=all in the environment takes it.
What was found clean is remembered in the build folder by the text of all it was made from.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import tree

LAYERS = ("src/base", "src/interface", "src/fabric", "src/library")


def chosen(path):
    inside = path.relative_to(tree.ROOT) if path.is_relative_to(tree.ROOT) else None
    if inside is None or inside.parts[0] == "build":
        return False
    return os.environ.get("HAMLYN_TIDY") == "all" or str(inside).startswith(LAYERS)


def main(build):
    program = shutil.which("clang-tidy-14")
    if not program:
        tree.finish(["clang-tidy-14 is missing: apt-get install clang-tidy-14"], "tidy")
    commands = json.loads((build / "compile_commands.json").read_text())
    paths = sorted({path for path in (pathlib.Path(each["file"]) for each in commands) if chosen(path)})

    # One state for all headers: a change in any of them makes every file new.
    state = hashlib.sha256((tree.ROOT / ".clang-tidy").read_bytes())
    for header in tree.cpp_files():
        if header.suffix == ".h":
            state.update(header.read_bytes())
    memory = build / "tidy"
    memory.mkdir(exist_ok=True)

    def look(path):
        key = hashlib.sha256(state.digest() + str(path).encode() + path.read_bytes()).hexdigest()
        if (memory / key).exists():
            return []
        # The warnings are the compiler's affair, and clang does not know all that gcc has.
        run = subprocess.run([program, "-p", str(build), "--quiet", "--extra-arg=-w", str(path)],
                             capture_output=True, text=True)
        if run.returncode == 0:
            (memory / key).touch()
            return []
        return [run.stdout.strip() or run.stderr.strip()]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [problem for problems in pool.map(look, paths) for problem in problems]
    tree.finish(found, f"tidy, {len(paths)} files")


main(pathlib.Path(sys.argv[1]))
