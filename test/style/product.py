#!/usr/bin/env python3
"""A build without tests, which is a newcomer's and the package's, compiles the product and nothing else.

  product.py COMPILER C-COMPILER
"""
import re
import subprocess
import sys
import tempfile

import tree

# What tests, benchmarks and users have beside it; of src/, what tests alone link.
BESIDE = re.compile(r"(?:^| |=)(\S*(?:test|bench|examples|src/simulation|src/fabric/sim)/\S+\.(?:cc|c)\b)")


def main(compiler, c_compiler):
    with tempfile.TemporaryDirectory() as folder:
        for words in (["cmake", "--preset", "release", "-B", folder, "-DHAMLYN_TESTS=OFF", f"-DCMAKE_CXX_COMPILER={compiler}",
                       f"-DCMAKE_C_COMPILER={c_compiler}"], ["ninja", "-C", folder, "-t", "commands", "all"]):
            done = subprocess.run(words, cwd=tree.ROOT, capture_output=True, text=True)
            if done.returncode:
                tree.finish([f"{' '.join(words)}:\n{done.stdout}{done.stderr}"], "product")
        sources = re.findall(r" -c (\S+)$", done.stdout, re.MULTILINE)
        found = [f"compiles {source}" for source in sources if BESIDE.search(source.removeprefix(folder))]
        if not any(source.endswith("hamlynd.cc") for source in sources):
            found.append("does not compile the daemon: this program sees nothing")
        tree.finish(found, f"product, {len(sources)} files")


main(*sys.argv[1:])
