#!/usr/bin/env python3
"""What is installed is built as distributions harden programs that read bytes of strangers.

  hardening.py FILE...    programs, shared libraries and archives of a build

Position independent; relocations read-only and bound at the start; no executable stack; the stack protector and the
checked functions of the C library in use. On x86 the members of archives have CET's marks. (What is linked of them has
those only where the C library's start files have, too.)
"""
import pathlib
import re
import subprocess
import sys

import tree


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True).stdout


def problems_of_archive(path):
    text = readelf("-h", "-n", path)
    if "X86-64" not in text:
        return []
    members = [part for part in text.split("\nFile: ")[1:] if "Type:" in part]
    return [f"{member.splitlines()[0]}: has no marks of CET" for member in members if "IBT, SHSTK" not in member]


def problems_of(path):
    if path.endswith(".a"):
        return problems_of_archive(path)
    headers, dynamic = readelf("-h", "-l", path), readelf("-d", path)
    symbols = readelf("--dyn-syms", path)
    checks = {
        "is not position independent": re.search(r"Type:\s+DYN\b", headers),
        "has no RELRO segment": "GNU_RELRO" in headers,
        "binds functions late (no BIND_NOW)": re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b|\(BIND_NOW\)", dynamic),
        "has an executable stack": re.search(r"GNU_STACK\s.*\bRW\s", headers),
        "has no stack protector": "__stack_chk_fail" in symbols,
        "calls no checked function (_FORTIFY_SOURCE)": re.search(r"\b__\w+_chk\b", symbols),
    }
    return [f"{pathlib.Path(path).name}: {what}" for what, holds in checks.items() if not holds]


tree.finish([problem for path in sys.argv[1:] for problem in problems_of(path)], "hardening")
