#!/usr/bin/env python3
"""Comments and pages that a newcomer can read: what falls short is counted, and the count may only go down.

  prose.py             checks the tree against the bounds below
  prose.py --list      names each place that counts
  prose.py --self-test checks that this program sees what it is there to see

The pages of the groups Learn and Do of docs/index.md, and the README, are for someone who writes programs. They are few,
have no such sentence at all, and each but the README has a picture. Of all else two things are counted. A comment block that begins with a pronoun or points at the line above does not say what it is
about: a comment starts with the thing that it describes, or with a verb in the third person. A sentence of more than 25
words in a page is two sentences. No comment has an #include in it: that is a line which has lost its beginning.
"""
import re
import sys

import tree

# May only be lowered, to what a run prints.
MOST_COMMENTS = 0
MOST_OF_TESTS = 400  # such comments below test/
MOST_SENTENCES = 0

COMMENTED = ("include", "src", "examples", "bench")
VAGUE = re.compile(r"(?:It|They|That|Those|Of|The same|Who|Whoever|What|This)\b")
LONGEST = 25  # words of a sentence
MEAN = 18     # words of a user page's sentences on average, at most
# Pages of Learn and Do: eight of the core. A family of its own (files, topics ...) adds one.
MOST_PAGES = 14
# Pages whose readers work on Hamlyn itself, and tables of facts.
NOT_FOR_USERS = ("docs/architecture.md", "docs/wire.md", "docs/memory-model.md", "docs/model.md", "docs/simulation.md",
                 "docs/fuzzing.md", "docs/chaos.md", "docs/performance.md", "docs/notebook/")


def comment_blocks(text):
    """The first lines of blocks of // comments, with their numbers. A comment behind code is a block of its own."""
    before = False
    for number, line in enumerate(text.splitlines(), 1):
        alone = re.match(r"\s*//\s?(.*)", line)
        if alone and not before:
            yield number, alone[1]
        elif not alone and (behind := re.search(r"\S.*?\s//\s(.*)", line)):
            yield number, behind[1]
        before = bool(alone)


def vague(text):
    return [(number, first) for number, first in comment_blocks(text) if VAGUE.match(first)]


def swallowed(text):
    """Lines whose comment has swallowed an #include."""
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if re.search(r"//.*#\s*include\b", line)]


def sentences(page, ends=".!?:;"):
    """The sentences of a page's prose: without programs, tables, headings and what stands indented. `ends`: what they end with."""
    text = re.sub(r"^ *```.*?^ *```", "\n", page, flags=re.MULTILINE | re.DOTALL)
    paragraphs, lines = [], []
    for line in text.splitlines() + [""]:
        starts = re.match(r"\s*(?:[-*]|\d+\.)\s+", line)
        if not line.strip() or re.match(r"[#|]|    ", line) or starts:
            paragraphs.append(" ".join(lines))
            lines = []
        if line.strip() and not re.match(r"[#|]|    ", line):
            lines.append(line[starts.end():] if starts else line.strip())
    for paragraph in paragraphs + [" ".join(lines)]:
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "x", paragraph))
        yield from (each.strip() for each in re.split(rf"(?<=[{ends}])\s+", plain) if each.strip())


def long_sentences(page, ends=".!?:;"):
    return [each for each in sentences(page, ends) if len(each.split()) > LONGEST]


def user_pages(index):
    """The pages of the groups Learn and Do."""
    groups = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n?)*)", index, re.MULTILINE))
    return [f"docs/{page}" for group in ("Learn", "Do") for page in re.findall(r"^\| \[[^\]]*\]\(([^)]+)\)", groups.get(group, ""), re.MULTILINE)]


def too_hard(name, page):
    """What keeps a user page from being read at one go. A colon or semicolon ends no sentence here."""
    yield from (f"{name}: a sentence of {len(each.split())} words, make it two: {each}" for each in long_sentences(page, ".!?"))
    lengths = [len(each.split()) for each in sentences(page, ".!?")]
    if sum(lengths) > MEAN * len(lengths):
        yield f"{name}: sentences have {sum(lengths) / len(lengths):.1f} words on average, more than {MEAN}"


def for_users(read):
    """What is wrong with the pages that someone who writes programs reads. `read`: gives a file's text."""
    pages = user_pages(read("docs/index.md"))
    if not pages:
        yield "docs/index.md: no pages in the groups Learn and Do"
    if len(pages) > MOST_PAGES:
        yield f"docs/index.md: {len(pages)} pages to learn and do from, at most {MOST_PAGES}: put it into one of them"
    yield from (f"{name}: no picture: draw what moves between processes" for name in pages if "](pictures/" not in read(name))
    for name in ["README.md", *pages]:
        yield from too_hard(name, read(name))


def self_test():
    found = []
    comments = [("// It is.\nint a;", 1), ("// Returns a.\n// It is.\nint a;", 0), ("int a;  // who waits", 0), ("int a;  // Who waits", 1),
                ("// Italic.\n", 0), ("// The same of b.\nint b;\n  // Those.\n", 2), ('f("http://It")', 0)]
    found += [f"comments: {text!r}" for text, count in comments if len(vague(text)) != count]
    hidden = [("// a link.#include \"a.h\"", 1), ("#include \"a.h\"  // of b", 0), ("int a;  // # include <a>", 1), ("// includes a", 0)]
    found += [f"includes: {text!r}" for text, count in hidden if len(swallowed(text)) != count]
    long = "word " * LONGEST
    pages = [(f"{long}end.", 1), (f"{long.strip()}.", 0), (f"| {long} end. |", 0), (f"```\n{long} end.\n```", 0), (f"Short. {long}end.", 1),
             (f"- {long}\n- end.", 0), (f"{long.strip()}; end.", 0), (f"- a\n  {long}end.", 1), (f"# {long} end", 0), ("`" + long + "` end.", 0)]
    found += [f"pages: {text!r}" for text, count in pages if len(long_sentences(text)) != count]
    index = "## Learn\n\n| page | |\n| --- | --- |\n| [a](a.md) | x |\n\n## Do\n\n| [b](b.md) | see [c](c.md) |\n\n## Other\n\n| [d](d.md) | |\n"
    shown = "![x](pictures/x.svg)\n\n"
    texts = {"docs/index.md": index, "README.md": "Short.", "docs/a.md": f"{shown}Short.", "docs/b.md": f"{shown}Short."}
    many = "## Do\n" + "".join(f"| [a{i}](a.md) | |\n" for i in range(MOST_PAGES + 1))
    changes = [({}, 0), ({"docs/b.md": f"{shown}{long * 2}end."}, 2), ({"docs/a.md": shown + "word " * (MEAN + 1) + ". Short."}, 0), ({"README.md": f"{'word ' * MEAN}end."}, 1),
               ({"docs/a.md": f"{shown}{'word ' * 15}end: {'word ' * 15}end. " + "Short. " * 5}, 1), ({"docs/a.md": "Short."}, 1),
               ({"docs/index.md": ""}, 1), ({"docs/index.md": many}, 1)]
    found += [f"users' pages: {change}" for change, count in changes if len(list(for_users({**texts, **change}.get))) != count]
    tree.finish(found, "prose's self test")


def main():
    comments, of_tests = ([f"{path.relative_to(tree.ROOT)}:{number}: {first}" for path in tree.cpp_files(folders=folders)
                           for number, first in vague(path.read_text())] for folders in (COMMENTED, ("test",)))
    lines = []
    for path in tree.files():
        name = str(path.relative_to(tree.ROOT))
        if name.endswith(".md") and (name == "README.md" or name.startswith("docs/")) and not name.startswith(NOT_FOR_USERS):
            lines += [f"{name}: {len(each.split())} words: {each}" for each in long_sentences(path.read_text())]
    if sys.argv[1:] == ["--list"]:
        print("\n".join(comments + of_tests + lines))
    print(f"comments that do not begin with what they are about: {len(comments)}, at most {MOST_COMMENTS}; of tests {len(of_tests)}, at most {MOST_OF_TESTS}")
    print(f"sentences of more than {LONGEST} words in users' pages: {len(lines)}, at most {MOST_SENTENCES}")
    over = [what for what, count, most in (("comments", len(comments), MOST_COMMENTS), ("comments of tests", len(of_tests), MOST_OF_TESTS), ("sentences", len(lines), MOST_SENTENCES)) if count > most]
    hard = list(for_users(lambda name: (tree.ROOT / name).read_text()))
    hard += [f"{path.relative_to(tree.ROOT)}:{number}: a comment has an #include in it: {line}"
             for path in tree.cpp_files() for number, line in swallowed(path.read_text())]
    tree.finish(hard + [f"more {what} fall short than did before: prose.py --list names them" for what in over], "prose")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    main()
