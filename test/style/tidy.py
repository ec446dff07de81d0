#!/usr/bin/env python3
"""clang-tidy finds nothing in the layers that everything rests on.

  tidy.py BUILD    BUILD holds compile_commands.json

The layers below the tool, because the whole tree would take minutes; HAMLYN_TIDY=all in the environment takes it.
Most of the time goes into the standard headers, so the files of a layer are looked at many at a time, as one.
What was found clean is remembered in the build folder by the text of all it was made from.
"""
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import tree

LAYERS = ("src/base", "src/interface", "src/fabric", "src/node", "src/library", "src/protocols", "src/segment", "src/daemon", "src/c/")
TOGETHER = 32


def chosen(path):
    inside = path.relative_to(tree.ROOT) if path.is_relative_to(tree.ROOT) else None
    if inside is None or inside.parts[0] == "build":
        return False
    return os.environ.get("HAMLYN_TIDY") == "all" or str(inside).startswith(LAYERS)


def sources(command):
    """The files that a command compiles: itself, or those that CMake compiles together."""
    path = pathlib.Path(command["file"])
    if path.parent.name != "Unity":
        return [path]
    return [pathlib.Path(each) for each in re.findall(r'^#include "(.*)"', path.read_text(), re.MULTILINE)]


def options(command):
    """What decides what a file means: macros, folders of headers, language and processor. Not warnings and optimisation."""
    words = command["command"].split()
    kept = [words[0]]
    for word, following in zip(words, words[1:] + [""]):
        if word.startswith(("-D", "-U", "-I", "-std=", "-m")):
            kept.append(word)
        elif word == "-isystem":
            kept += [word, following]
    return tuple(kept)


def groups(commands):
    """Lists of files that are compiled alike."""
    alike = collections.defaultdict(set)
    for command in commands:
        for path in filter(chosen, sources(command)):
            layer = path.relative_to(tree.ROOT).parts[:2]
            alike[(layer, options(command), command["directory"])].add(path)
    for (_, words, directory), paths in sorted(alike.items()):
        paths = sorted(paths)
        for at in range(0, len(paths), TOGETHER):
            yield words, directory, paths[at:at + TOGETHER]


def main(build):
    program = shutil.which("clang-tidy-14")
    if not program:
        tree.finish(["clang-tidy-14 is missing: apt-get install clang-tidy-14"], "tidy")
    commands = json.loads((build / "compile_commands.json").read_text())

    # One state for all headers: a change in any of them makes every file new.
    state = hashlib.sha256((tree.ROOT / ".clang-tidy").read_bytes())
    for header in tree.cpp_files():
        if header.suffix == ".h":
            state.update(header.read_bytes())
    memory = build / "tidy"
    memory.mkdir(exist_ok=True)

    def look(group):
        words, directory, paths = group
        key = hashlib.sha256(state.digest())
        for path in paths:
            key.update(str(path).encode() + path.read_bytes())
        name = key.hexdigest()
        if (memory / name).exists():
            return []
        # The warnings are the compiler's affair, and clang does not know all that gcc has.
        folder = memory / f"{name}.together"
        folder.mkdir(exist_ok=True)
        together = folder / "together.cc"
        together.write_text("".join(f'#include "{path}"  // NOLINT(bugprone-suspicious-include)\n' for path in paths))
        command = " ".join([*words, "-c", str(together)])
        (folder / "compile_commands.json").write_text(
            json.dumps([{"directory": directory, "command": command, "file": str(together)}]))
        run = subprocess.run([program, "-p", str(folder), "--quiet", "--extra-arg=-w", str(together),
                              f"--config-file={tree.ROOT / '.clang-tidy'}"], capture_output=True, text=True)
        if run.returncode == 0:
            (memory / name).touch()
            return []
        return [run.stdout.strip() or run.stderr.strip()]

    work = list(groups(commands))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [problem for problems in pool.map(look, work) for problem in problems]
    tree.finish(found, f"tidy, {sum(len(paths) for _, _, paths in work)} files")


main(pathlib.Path(sys.argv[1]))
