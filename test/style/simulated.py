#!/usr/bin/env python3
"""docs/simulation.md says of each public header what of it runs in the simulation, by which test, and what does not."""
import re

import tree

PAGE = "docs/simulation.md"


def problems():
    section = (tree.ROOT / PAGE).read_text().split("\n## What runs there\n")[1].split("\n##")[0]
    rows = re.findall(r"^\| (`[^|]+) \|([^|]*)\|([^|]*)\|$", section, re.M)
    named = [header for row in rows for header in re.findall(r"`([\w/]+\.h)`", row[0])]
    folder = tree.ROOT / "include/hamlyn"
    there = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.h"))
    for header in sorted({*named, *there}):
        if header not in there or named.count(header) != 1:
            yield f"{PAGE}: {header} has {named.count(header)} rows, and is {'a' if header in there else 'no'} header"
    for headers, runs, _ in rows:
        if not re.search(r"`", runs):
            yield f"{PAGE}: the row of {headers} names no test"


tree.finish(list(problems()), "simulated headers")
