#!/usr/bin/env python3
"""No file of the tree names a path of the machine that somebody wrote it on."""
import re

import tree

# A path below a home, or below a folder that systems leave to their administrators.
MACHINE = re.compile(r"(?<![\w.}])/(home|root|work|Users|mnt|srv|tmp/h)/\w")


def problems():
    for path in tree.files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            yield f"{path.relative_to(tree.ROOT)}: not text"
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE.search(line):
                yield f"{path.relative_to(tree.ROOT)}:{number}: a path of some machine: {line.strip()}"


assert MACHINE.search("see /ho" + "me/me/x") and not MACHINE.search("src/work" + "/x")
tree.finish(list(problems()), "machine paths")
