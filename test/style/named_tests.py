#!/usr/bin/env python3
"""Each test that the documentation names is there, and each row that docs/protection.md and docs/security.md promise
something in names one.

  named_tests.py             checks the tree
  named_tests.py --self-test checks that this program sees what it is there to see

A name is `Suite.test`, `Suite.*`, or `.test` of the suite that was named last on that page."""
import fnmatch
import re
import sys

import tree

TEST = re.compile(r"\bTEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
NAME = re.compile(r"([A-Z][A-Za-z0-9*]+)?\.(\*|[A-Za-z]\w*\*?)")
FILES = ("md", "txt", "partial")  # a file's name may look like a test's
# Pages of which each row has its tests in the last column, and what that column is called.
PROMISES = {"docs/protection.md": ("shown by", "test"), "docs/security.md": ("shown by",)}
# Rows that say what nothing keeps anybody from.
TRUSTED = ("a process of the same user that may trace the victim", "root, the kernel, the daemon")
# Programs whose whole run is the test.
PROGRAMS = ("hamlyn-chaos",)


def tests_of(texts, targets):
    tests = {pair for text in texts for pair in TEST.findall(text)}
    for target in targets:  # test/fuzz/replay.cc, once for each
        tests |= {("Fuzz" + target.capitalize(), name) for name in ("Corpus", "RandomBytes")}
    return tests


def is_test(suite, name, tests):
    return any(fnmatch.fnmatchcase(a, suite) and fnmatch.fnmatchcase(b, name) for a, b in tests)


def wrong_names(page, text, tests):
    suites, last = {suite for suite, _ in tests}, None
    for at, line in enumerate(text.splitlines(), 1):
        for word in re.findall(r"`([^`]+)`", line):
            name = NAME.fullmatch(word)
            if word in suites:
                last = word
            if not name or name.group(2) in FILES:
                continue
            if name.group(1):
                last = name.group(1)
            if last and not is_test(last, name.group(2), tests):
                yield f"{page}:{at}: there is no test {last}.{name.group(2)}: name the one that there is"


def shows(cell, tests, files):
    """Whether one of the names in it is a test, a suite, a program or a file of tests."""
    words = re.findall(r"`([^`]+)`", cell)
    return any(word in {suite for suite, _ in tests} or word in PROGRAMS or word in files or
               ((name := NAME.fullmatch(word)) and name.group(2) not in FILES) or
               any(fnmatch.fnmatchcase(suite, word) for suite, _ in tests) for word in words)


def rows_without(page, text, tests, files):
    columns = PROMISES[page]
    inside = False
    for at, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[-1] in columns:
            inside = True
        elif inside and set(line) - set("|- ") and cells[0] not in TRUSTED and not shows(cells[-1], tests, files):
            yield f"{page}:{at}: no test shows this row: name one"


def problems(pages, tests, files):
    for page, text in pages.items():
        yield from wrong_names(page, text, tests)
        if page in PROMISES:
            yield from rows_without(page, text, tests, files)


def self_test():
    tests = tests_of(["TEST_P(Good, one) TEST_F(Good, two)"], ["ring"])
    head = "| who | may | shown by |\n| --- | --- | --- |\n"

    def found(page, text):
        return list(problems({page: text}, tests, {"a.pml"}))

    good = ["`Good.one`, `.two`", "`Good.*`", "`Good`", "`FuzzRing`, `.Corpus`", "`a.pml`", "`Go*.t*`"]
    bad = ["`Good.three`", "`Good.one`, `.three`", "`Bad.*`", "`FuzzRing.NothingElse`", "", "text", "`Bad`"]
    wrong = [f"refused, though right: {cell}" for cell in good if found("docs/protection.md", head + f"| x | y | {cell} |")]
    wrong += [f"not seen: {cell}" for cell in bad if not found("docs/protection.md", head + f"| x | y | {cell} |")]
    wrong += ["a row that nothing shows"] * bool(found("docs/protection.md", head + f"| {TRUSTED[1]} | y | |"))
    tree.finish(wrong, "named tests' self test")


def main():
    sources = [path.read_text() for path in tree.cpp_files(tree.ROOT, ("test",))]
    cmake = (tree.ROOT / "test/fuzz/CMakeLists.txt").read_text()
    tests = tests_of(sources, re.findall(r"^ *hamlyn_fuzz_target\((\w+) ", cmake, re.M))
    there = list(tree.files(tree.ROOT / "test"))
    files = {path.name for path in there if path.suffix == ".pml"} | {path.stem for path in there if path.stem.endswith("_test")}
    pages = {str(path.relative_to(tree.ROOT)): path.read_text() for path in sorted((tree.ROOT / "docs").rglob("*.md"))}
    tree.finish(list(problems(pages, tests, files)), "named tests")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    main()
