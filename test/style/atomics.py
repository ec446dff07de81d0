#!/usr/bin/env python3
"""Each atomic has its partner and its check. A row of docs/memory-model.md names both, and each atomic that is declared
has one. Each order that is asked for is of such a word, or names its partner where it stands and is in a function that
such a row names. And each row names words and checks that there are.

  atomics.py             checks the tree
  atomics.py --self-test checks that this program sees what it is there to see

An operation that names no order is sequentially consistent: of it, its word's row speaks. Relaxed ones order nothing:
the same. Of a name in a row it is only known that something is called so, not that it is the same thing."""
import re
import sys

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
HEAD = re.compile(r"(~?\w+)\((?:[^;{}()]|\([^;{}()]*\))*\)\s*(?:const\s*)?(?:noexcept\s*)?(?:override\s*)?(?::[^{;]*)?\{")
NO_FUNCTIONS = ("if", "for", "while", "switch", "catch", "sizeof", "__attribute__")
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


def function_at(lines, at):
    """The function whose head was the last before the end of that line."""
    text = "\n".join(line.partition("//")[0] for line in lines[:at + 1])
    heads = [name for name in HEAD.findall(text) if name not in NO_FUNCTIONS]
    return heads[-1] if heads else None


def wrong_uses(inside, lines, words_of_rows, names_in_rows):
    for at, line in enumerate(lines):
        code = line.partition("//")[0]
        declared = DECLARED.search(code)
        for name in re.findall(r"(\w+)\s*[{;]", declared.group(1)) if declared else ():
            if name not in words_of_rows:
                yield f"{inside}:{at + 1}: {name}: give it a row in {PAGE}: who writes and reads it, and what checks that"
        orders = ORDERED.search(code)
        refers = REFERENCE.search(code) and not declared and "memory_order_relaxed" not in " ".join(lines[at:at + 2])
        words = {name for found in WORD_OF_USE.findall(" ".join(lines[max(0, at - 1):at + 1])) for name in found if name}
        if not (orders or refers) or not words.isdisjoint(words_of_rows):
            continue
        if not PARTNER.search(comment_at(lines, at)):
            yield f"{inside}:{at + 1}: say here what it pairs with, or give its word a row in {PAGE}: {code.strip()}"
        if function_at(lines, at) not in names_in_rows:
            yield (f"{inside}:{at + 1}: no row of {PAGE} names {function_at(lines, at)}: name it in that of its word, "
                   f"with what checks it: {code.strip()}")


def text_of(*folders):
    files = (path for folder in folders for path in tree.files(tree.ROOT / folder))
    return "\n".join(f"{path.relative_to(tree.ROOT)}\n{path.read_text(errors='replace')}" for path in files)


class Checks:
    """What is called a check below test/."""

    def __init__(self, text):
        self.text = text
        self.tests = re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)", text)

    def __contains__(self, name):
        """Whether a test, a suite, a scenario (or all that begin so) or a file is called so."""
        suite = re.fullmatch(r"(\w+)\.(\*|[A-Za-z]\w*)", name)
        if suite and suite.group(2) not in ("pml", "py"):
            return any(suite.group(1) == each and suite.group(2) in ("*", test) for each, test in self.tests)
        if name.startswith("Fuzz"):  # named by test/fuzz/CMakeLists.txt, of the file
            return f"test/fuzz/{name[4:].lower()}.cc\n" in self.text
        if name.startswith("."):
            return any(name[1:] == test for _, test in self.tests)
        if name.endswith("*"):
            return re.search(rf'"{name[:-1]}\w+"', self.text) is not None
        return self.has_word(name)

    def has_word(self, name):
        at = self.text.find(name)
        while at >= 0:
            if not re.match(r"[\w.]", self.text[at - 1:at]) and not re.match(r"\w", self.text[at + len(name):at + len(name) + 1]):
                return True
            at = self.text.find(name, at + 1)
        return False


def problems():
    page = list(rows((tree.ROOT / PAGE).read_text()))
    if not page:
        yield f"{PAGE}: has no table any more"
    source = set(re.findall(r"\w+", re.sub(r"//[^\n]*", "", text_of("src", "include"))))
    tests = Checks(text_of("test"))
    for at, cells in page:
        for name in sorted(set(re.findall(r"\w+", " ".join(quoted(" ".join(cells[:3]))))) - source):
            yield f"{PAGE}:{at}: nothing in src or include is called {name}: name what is there now"
        checks = [name for name in quoted(cells[4]) if name in tests]
        for name in quoted(cells[4]):
            if name not in checks and name not in source:
                yield f"{PAGE}:{at}: no test is called {name}: name the check that there is, or say none and why"
        if cells[4].startswith("none"):
            print(f"{PAGE}:{at}: no check of {cells[0]}: {cells[4]}")
        elif not checks and not cells[4].startswith("the same"):
            yield f"{PAGE}:{at}: names no check: name one, or say none and why"
    words, names = named_in(page)
    for path in tree.cpp_files(tree.ROOT):
        inside = str(path.relative_to(tree.ROOT))
        if inside.startswith(("src/", "include/")) and not inside.startswith(LEFT_OUT):
            yield from wrong_uses(inside, path.read_text().splitlines(), words, names)


def named_in(page):
    """The words that have a row, and all that is named in one as such, or as who writes and reads it."""
    words = {re.findall(r"\w+", name)[-1] for _, cells in page for name in quoted(cells[0])}
    return words, {name for _, cells in page for name in re.findall(r"~?\w+", " ".join(quoted(" ".join(cells[:3]))))}


def self_test():
    row = "| `ready_` | `set` | `get`, `Ring::look` | rel, acq | `ring.pml` |"
    words, names = named_in(list(rows(row)))

    def found(text):
        return list(wrong_uses("a.cc", text.splitlines(), words, names))

    good = ["  std::atomic<bool> ready_{false};",
            "void f() {\n  ready_.store(true, std::memory_order_release);",
            "void look() {\n  Memory::load_acquire(at[0]);  // pairs with `put`",
            "void look() noexcept {\n  if (x) {\n    // Pairs with `put`.\n    Memory::fence();"]
    bad = ["  std::atomic<bool> other_{false};  // set to get",
           "void look() {\n  Memory::load_acquire(at[0]);",
           "void other() {\n  Memory::load_acquire(at[0]);  // pairs with `put`",
           "void look() {\n}\nvoid other() const {\n  // Pairs with `put`.\n  Memory::fence();"]
    wrong = [f"refused, though right: {text}" for text in good if found(text)]
    tree.finish(wrong + [f"not seen: {text}" for text in bad if not found(text)], "atomics' self test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    tree.finish(list(problems()), "atomics")
