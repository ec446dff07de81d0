#!/usr/bin/env python3
"""Runs a test, unless it has passed with all that it depends on as it is now.

  stamped.py NAME [--reads PATH]... [--tool PROGRAM]... -- COMMAND...

A test that passes leaves a stamp, build/stamps/NAME: a hash of the command, of each file below the paths, and of the versions
of the tools. HAMLYN_TEST_ALL=1 in the environment ignores stamps (scripts/test --all).
"""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def files(path):
    if path.is_file():
        return [path]
    if not path.is_dir():
        sys.exit(f"stamped.py: nothing is at {path}, which the test is said to read")
    return sorted(inside for inside in path.rglob("*") if inside.is_file() and "__pycache__" not in inside.parts)


def version(tool):
    """What a tool says of itself; spin has an option of its own for that."""
    option = "-V" if pathlib.Path(tool).name == "spin" else "--version"
    try:
        return subprocess.run([tool, option], capture_output=True).stdout
    except FileNotFoundError:
        return b"missing"


def state(command, paths, tools):
    out = hashlib.sha256("\0".join(command).encode())
    for path in paths:
        for file in files(path):
            out.update(f"\0{file}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    for tool in tools:
        out.update(f"\0{tool}\0".encode() + version(tool))
    return out.hexdigest()


def main(words):
    cut = words.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--reads", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--tool", action="append", default=[])
    given, command = parser.parse_args(words[:cut]), words[cut + 1:]

    stamp = ROOT / "build/stamps" / given.name
    now = state(command, [pathlib.Path(__file__), *given.reads], given.tool)
    if os.environ.get("HAMLYN_TEST_ALL") != "1" and stamp.is_file() and stamp.read_text() == now:
        print(f"{given.name}: passed before, and nothing that it depends on has changed (HAMLYN_TEST_ALL=1 runs it)")
        return 0
    status = subprocess.run(command).returncode
    if status == 0:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        part = stamp.with_name(f"{stamp.name}.{os.getpid()}")
        part.write_text(now)
        part.replace(stamp)
    return status


sys.exit(main(sys.argv[1:]))
