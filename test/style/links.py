#!/usr/bin/env python3
"""Each link of a page leads to a file, and to a heading of it; each file that a page names is there; the index names all pages.

  links.py             checks the tree
  links.py --self-test checks that this program sees what it is there to see
"""
import re
import sys

import tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# A path of the tree, in a row of `code`.
NAMED = re.compile(r"`((?:src|test|docs|include|examples|scripts|bench|cmake|etc)/[\w./-]+|hamlyn/[\w/]+\.h|[\w-]+\.md)`")
MADE = ("docs/reference/",)  # where the installed pages are
INDEX = "docs/index.md"


def prose(text):
    """A page without its programs."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)


def links(text):
    """What a page's links lead to, code apart."""
    return LINK.findall(re.sub(r"`[^`\n]*`", "x", prose(text)))


def anchors(text):
    """The names by which links lead to a page's headings."""
    headings = re.findall(r"^#+ (.*)", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).lower()).replace(" ", "-") for heading in headings}


def wrong(page, text, files):
    """`files`: texts of the tree's, by their paths."""
    folder = page.rpartition("/")[0]

    def resolve(path):
        parts = folder.split("/") if folder else []
        for part in path.rstrip("/").split("/"):
            parts = parts[:-1] if part == ".." else parts + [part] * (part != ".")
        return "/".join(parts)

    folders = {"/".join(path.split("/")[:depth]) for path in files for depth in range(1, path.count("/") + 1)}
    for link in links(text):
        if re.match(r"https?:", link):
            continue
        path, _, anchor = link.partition("#")
        target = resolve(path) if path else page
        if target not in files and target not in folders:
            yield f"{page}: leads to {link}, which is not there"
        elif anchor and anchor not in anchors(files[target]):
            yield f"{page}: leads to {link}, and there is no such heading"
    for name in NAMED.findall(text):
        places = (name, "include/" + name, resolve(name), "docs/" + name)
        placeholder = re.search(r"/[A-Z]+$", name)
        if not any(place in files or place.rstrip("/") in folders for place in places) and not name.startswith(MADE) and not placeholder:
            yield f"{page}: names {name}, which is not there"


def lost(pages, pictures=()):
    """What a reader who begins with the README does not find."""
    yield from (f"{picture}: no page shows it" for picture in pictures
                if not any(f"]({picture.removeprefix('docs/')})" in text for page, text in pages.items() if page.startswith("docs/")))
    if f"]({INDEX})" not in pages["README.md"]:
        yield f"README.md: does not lead to {INDEX}"
    for page in pages:
        if page.startswith("docs/") and page != INDEX and f"]({page.removeprefix('docs/')})" not in pages[INDEX]:
            yield f"{INDEX}: does not name {page}: give it one sentence in one of the groups"


def self_test():
    files = {"README.md": "", "docs/a.md": "# A b: `c`\n", "docs/b.md": "", "src/x/y.h": "", "include/hamlyn/z.h": ""}
    good = ["[a](a.md)", "[a](../README.md)", "[a](a.md#a-b-c)", "[src](../src/x)", "`src/x/y.h`", "`hamlyn/z.h`", "[w](https://x.y/z)", "`b.md`",
            "```\n[no](link)\n```", "`[no](link)`"]
    bad = ["[a](c.md)", "[a](README.md)", "[a](a.md#b)", "`src/x/z.h`", "`hamlyn/y.h`", "`c.md`", "[a](#nowhere)"]
    found = [f"refused, though right: {text}" for text in good if list(wrong("docs/b.md", text, files))]
    found += [f"not seen: {text}" for text in bad if not list(wrong("docs/b.md", text, files))]
    index = {"README.md": f"[all]({INDEX})", INDEX: "[a](a.md) [b](x/b.md)", "docs/a.md": "", "docs/x/b.md": ""}
    found += [f"refused, though named: {problem}" for problem in lost(index)]
    found += [f"not seen: {what}" for what, change in (("a page that is not named", {"docs/c.md": ""}), ("no way to the index", {"README.md": ""}))
              if len(list(lost({**index, **change}))) != 1]
    found += ["not seen: a picture that no page shows"] * (len(list(lost({**index, "docs/a.md": "![a](p/a.svg)"}, ["docs/p/a.svg", "docs/p/b.svg"]))) != 1)
    tree.finish(found, "links' self test")


def main():
    files = {str(path.relative_to(tree.ROOT)): path for path in tree.files()}
    pages = {name: path.read_text() for name, path in files.items() if path.suffix == ".md"}
    found = list(lost(pages, [name for name in files if name.startswith("docs/") and name.endswith(".svg")]))
    found += [problem for page, text in pages.items() for problem in wrong(page, text, {**files, **pages})]
    tree.finish(found, f"links, {len(pages)} pages")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    main()
