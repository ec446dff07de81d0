#!/usr/bin/env python3
"""What no call carries does not compile, and the compiler says why (docs/calls.md, "What may travel").

  refused.py COMPILER    compiles refused.cc, whose lines say what the compiler says of them
"""
import pathlib
import re
import subprocess
import sys


def main():
    source = pathlib.Path(__file__).with_name("refused.cc")
    include = source.resolve().parents[2] / "include"
    every = ["-ferror-limit=0"] if "clang" in sys.argv[1] else []
    run = subprocess.run([sys.argv[1], "-std=c++20", "-fsyntax-only", *every, "-I", include, source], capture_output=True, text=True)
    wanted = {number: found[1] for number, line in enumerate(source.read_text().splitlines(), 1)
              if (found := re.search(r"\(\);\s+// (.*)$", line))}
    said, line = {}, None
    # gcc names the line before the words, clang behind them: each error is put together with the line that it belongs to.
    for block in re.split(r"\n(?=[^\n]*: (?:error:|In instantiation|In function))", run.stderr):
        for number in re.findall(rf"{re.escape(source.name)}:(\d+):\d+: *(?:required from|note: in instantiation|error)", block):
            line = int(number)
            said.setdefault(line, "")
        if line is not None:
            said[line] += block
    problems = [f"{source.name}:{number}: not refused with: {words}" for number, words in wanted.items() if words not in said.get(number, "")]
    problems += [f"{source.name}:{number}: refused" for number in said if number > min(wanted) and number not in wanted]
    for problem in problems:
        print(problem)
    print(f"what no call carries: {len(wanted)}, {len(problems)} problem(s)")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
