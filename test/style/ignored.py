#!/usr/bin/env python3
"""A compiler warns a program that ignores the answer of a call (docs/rules.md, "Statuses").

  ignored.py COMPILER    compiles ignored.cc, whose lines say which of them are to be warned of
"""
import pathlib
import re
import subprocess
import sys

import tree


def main():
    source = pathlib.Path(__file__).with_name("ignored.cc")
    run = subprocess.run([sys.argv[1], "-std=c++20", "-fsyntax-only", "-Wunused-result", "-I", tree.ROOT / "include",
                          source], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    lines = source.read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("// ignored")}
    warned = {int(number) for number in re.findall(rf"{re.escape(source.name)}:(\d+):\d+: warning", run.stderr)}
    for number in sorted(marked ^ warned):
        print(f"{source.name}:{number}: {'no warning' if number in marked else 'a warning'}: {lines[number - 1].strip()}")
    print(f"answers that are ignored: {len(marked)}, {len(marked ^ warned)} problem(s)")
    sys.exit(marked != warned)


if __name__ == "__main__":
    main()
