#!/usr/bin/env python3
"""Each order that is asked for names its partner where it stands, or is of a word that docs/memory-model.md has a row of;
each atomic that is declared says who uses it, there or in a row; and each row names words and checks that there are.

An operation that names no order is sequentially consistent: of it, its word's declaration or row speaks. Relaxed ones
order nothing: the same. Of a name in a row it is only known that something is called so, not that it is the same thing."""
import re

import tree

PAGE = "docs/memory-model.md"
LEFT_OUT = ("src/tool/perf/", "src/simulation/",  # what measures, and what runs in one thread
            "src/base/memory.h", "src/base/fence.h")  # the policy itself: its users pair
DECLARED = re.compile(r"std::atomic<[^;{]*>\s+(\w+\s*[{;].*)")
ORDERED = re.compile(r"memory_order_(acquire|release|acq_rel|seq_cst)|atomic_\w+_fence\(|\bfull_fence\(|"
                     r"\b\w*(Memory|Threads)::(load_acquire|store_release|\w*fence)\(")
REFERENCE = re.compile(r"std::atomic_ref<\w+(::\w+)*>(\s+\w+)?\(")
WORD_OF_USE = re.compile(r"(\w+)\.(?:load|store|exchange|fetch_\w+|compare_\w+)\(|"
                         r"::(?:load_acquire|store_release)\([^,()]*?(\w+)[,)]")
PARTNER = re.compile(r"\b(pairs? (\w+ )?(with|as)|partners?)\b", re.I)
FAR = 10  # lines: a comment further above is another thing's


def rows(text):
    for at, line in enumerate(text.split("\n## Each order left out")[0].splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 5 and cells[0] not in ("word", "---"):
            yield at, cells


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def comment_at(lines, at):
    """What is said in the line, and in the nearest comment above it."""
    said = [lines[at].partition("//")[2]]
    for line in reversed(lines[max(0, at - FAR):at]):
        if line.strip().startswith("//"):
            said.append(line.strip(" /"))
        elif len(said) > 1:
            break
    return " ".join(reversed(said[1:])) + " " + said[0]


def wrong_uses(path, inside, named):
    lines = path.read_text().splitlines()
    for at, line in enumerate(lines):
        code = line.partition("//")[0]
        declared = DECLARED.search(code)
        beside = "//" in line or (at and lines[at - 1].strip().startswith("//"))
        for name in re.findall(r"(\w+)\s*[{;]", declared.group(1)) if declared else ():
            if name not in named and not beside:
                yield f"{inside}:{at + 1}: {name}: say beside it who writes and who reads it, or give it a row in {PAGE}"
        orders = ORDERED.search(code)
        refers = REFERENCE.search(code) and not declared and "memory_order_relaxed" not in " ".join(lines[at:at + 2])
        words = {name for found in WORD_OF_USE.findall(" ".join(lines[max(0, at - 1):at + 1])) for name in found if name}
        if (orders or refers) and words.isdisjoint(named) and not PARTNER.search(comment_at(lines, at)):
            yield f"{inside}:{at + 1}: say here what it pairs with, or give its word a row in {PAGE}: {code.strip()}"


def text_of(*folders):
    files = (path for folder in folders for path in tree.files(tree.ROOT / folder))
    return "\n".join(f"{path.relative_to(tree.ROOT)}\n{path.read_text(errors='replace')}" for path in files)


def is_check(name, tests):
    """Whether a test, a suite, a scenario (or all that begin so) or a file below test/ is called so."""
    suite = re.fullmatch(r"(\w+)\.(\*|[A-Za-z]\w*)", name)
    if suite and suite.group(2) not in ("pml", "py"):
        test = r"\w+" if suite.group(2) == "*" else suite.group(2)
        return re.search(rf"\bTEST(?:_[FP])?\(\s*{suite.group(1)},\s*{test}\s*\)", tests) is not None
    if name.startswith("Fuzz"):  # named by test/fuzz/CMakeLists.txt, of the file
        return f"test/fuzz/{name[4:].lower()}.cc\n" in tests
    if name.startswith("."):
        return re.search(rf"\bTEST(?:_[FP])?\(\s*\w+,\s*{name[1:]}\s*\)", tests) is not None
    if name.endswith("*"):
        return re.search(rf'"{name[:-1]}\w+"', tests) is not None
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", tests) is not None


def problems():
    page = list(rows((tree.ROOT / PAGE).read_text()))
    if not page:
        yield f"{PAGE}: has no table any more"
    source = set(re.findall(r"\w+", re.sub(r"//[^\n]*", "", text_of("src", "include"))))
    tests = text_of("test")
    for at, cells in page:
        for name in sorted(set(re.findall(r"\w+", " ".join(quoted(" ".join(cells[:3]))))) - source):
            yield f"{PAGE}:{at}: nothing in src or include is called {name}: name what is there now"
        checks = [name for name in quoted(cells[4]) if is_check(name, tests)]
        for name in quoted(cells[4]):
            if name not in checks and name not in source:
                yield f"{PAGE}:{at}: no test is called {name}: name the check that there is, or say none and why"
        if cells[4].startswith("none"):
            print(f"{PAGE}:{at}: no check of {cells[0]}: {cells[4]}")
        elif not checks and not cells[4].startswith("the same"):
            yield f"{PAGE}:{at}: names no check: name one, or say none and why"
    named = {re.findall(r"\w+", name)[-1] for _, cells in page for name in quoted(cells[0])}
    for path in tree.cpp_files(tree.ROOT):
        inside = str(path.relative_to(tree.ROOT))
        if inside.startswith(("src/", "include/")) and not inside.startswith(LEFT_OUT):
            yield from wrong_uses(path, inside, named)


if __name__ == "__main__":
    tree.finish(list(problems()), "atomics")
