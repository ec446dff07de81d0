#!/usr/bin/env python3
"""The manual pages are well formed, and name each command, option and function that there is.

  manual.py HAMLYN HAMLYND
"""
import re
import shutil
import subprocess
import sys

import tree

PAGES = tree.ROOT / "docs/man"
FOLDER = tree.ROOT / "include/hamlyn"
HEADERS = [FOLDER / "c.h", *sorted(path for path in FOLDER.glob("c/*.h") if path.stem != "rr")]  # rr.h: docs/rr.md
COMMANDS = ("send", "receive", "node", "top", "calls", "serve", "files", "mount", "umount", "run", "doctor", "perf", "logp")


def said(page):
    """What a page says, without the markup of mdoc that stands in the way of a search."""
    return (PAGES / page).read_text().replace("\\-", "-")


def options(*command):
    """The options, long and short, that --help prints."""
    text = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  ((?:-\w,)?--[\w-]+)", text, re.MULTILINE)
    return [option for each in listed for option in each.split(",")]


def missing(page, *command):
    text = said(page)
    named = set(re.findall(r"^\.(?:It |Nm.*)?Fl (?:([\w-]+))|Fl ([\w-]+)", text, re.MULTILINE))
    named = {"-" + (first or second) for first, second in named}
    return [f"docs/man/{page}: does not name {option}" for option in options(*command) if option not in named]


def main(hamlyn, hamlynd):
    pages = sorted(path.name for path in PAGES.iterdir())
    expected = {"hamlyn.1": [hamlyn], "hamlynd.8": [hamlynd],
                **{f"hamlyn-{command}.1": [hamlyn, command] for command in COMMANDS}}
    problems = [f"there is no docs/man/{page}" for page in [*expected, "hamlyn.3"] if page not in pages]
    if not problems:
        for page, command in expected.items():
            problems += missing(page, *command)
        listed = re.findall(r"^  (\w+) {2,}\w", subprocess.run([hamlyn, "--help"], capture_output=True, text=True,
                                                               check=True).stdout.split("Subcommands:")[1], re.MULTILINE)
        problems += [f"hamlyn --help names {command}, which has no page" for command in listed if command not in COMMANDS]
        headers = "".join(header.read_text() for header in HEADERS)
        functions = re.findall(r"\b(hamlyn_\w+)\(", re.sub(r"//[^\n]*", "", headers))
        shown = set(re.findall(r"^\.Fn (hamlyn_\w+)", said("hamlyn.3"), re.MULTILINE))
        problems += [f"docs/man/hamlyn.3: does not name {name}" for name in functions if name not in shown]
        problems += [f"docs/man/hamlyn.3: there is no {name}" for name in sorted(shown - set(functions))]
    for page in pages:
        for reference, section in re.findall(r"^\.Xr ([\w-]+) (\d)", said(page), re.MULTILINE):
            if f"{reference}.{section}" not in pages:
                problems.append(f"docs/man/{page}: refers to {reference}({section})")
    # Where groff is: it is no part of a small Debian system.
    if shutil.which("groff"):
        for page in pages:
            run = subprocess.run(["groff", "-mdoc", "-ww", "-z", "-Tutf8", PAGES / page], capture_output=True, text=True)
            problems += [f"docs/man/{page}: {line}" for line in run.stderr.splitlines()]
    tree.finish(problems, f"manual, {len(pages)} pages")


main(*sys.argv[1:])
