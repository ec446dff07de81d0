#!/usr/bin/env python3
"""The headers say something of each public name, and the reference that is made of them has each one.

  reference.py             checks the tree
  reference.py --self-test checks that this program sees what it is there to see
"""
import re
import sys

import tree

sys.path.insert(0, str(tree.ROOT / "cmake"))
import headers  # noqa: E402
import reference  # noqa: E402

# Found in another way than the pages find them, lest both lose the same ones.
INNER = re.compile(r"^namespace (?!hamlyn(?:::splitc)? \{|rpc \{|vi \{|files \{)([\w:]+) \{$.*?^\}  // namespace \1$", re.MULTILINE | re.DOTALL)  # of the header alone
DECLARED = re.compile(r"^(?:class|struct|enum class|enum|typedef struct) (\w+)[^;\n]*\{|^#define (\w+)|^\w[\w ]*\*? (?!operator)(\w+)\([^;{]*\);", re.MULTILINE)
# In a page: what it speaks of, and what its programs use. (The last two are for CMake.)
MEMBER = re.compile(r"`([A-Z]\w+(?:::\w+)+|hamlyn_\w+)")
USED = re.compile(r"\bhamlyn::(?:rpc::|splitc::|vi::|files::)?((?!hamlyn\b|c\b|rpc\b|splitc\b|vi\b|files\b)\w+(?:::\w+)*)|\b((?:hamlyn|HAMLYN)_\w+)(?=[ (;,)])")
PROGRAM = re.compile(r"^ *```c(?:pp)?\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
# A function that answers a status, and a comment that says which: by its name, or that of a call that does.
ANSWERS = re.compile(r"(?:template <.*?> )?(?:static )?(?:Status|Outcome) \w+\(")
STATUSES = reference.enumerators(reference.read_all(), "status", "Status")
SAYS = re.compile(rf"\b(?:{'|'.join(STATUSES)})\b|\b[Aa]s (?:`|[A-Z])|[Tt]he same")


def unsaid(name, intro, items):
    """What a header leaves out."""
    yield from (f"include/hamlyn/{headers.HEADERS.get(name, name)}.h: no comment says anything of {item.full}" for item in headers.lacking(intro, items))
    every = [each for top in items for each in top.walk()]
    yield from (f"include/hamlyn/{headers.HEADERS.get(name, name)}.h: {item.full} throws Error: say which" for item in every
                if re.search(r"[Tt]hrows\s+Error(\.|$)", item.comment))
    yield from (f"include/hamlyn/{headers.HEADERS.get(name, name)}.h: nothing says what {item.full} answers" for item in every
                if ANSWERS.match(item.text) and not SAYS.search(reference.one_line(item.comment)))
    for item in (each for each in every if each.kind == "class"):
        there = reference.labels(item.comment, intro)
        yield from (f"include/hamlyn/{headers.HEADERS.get(name, name)}.h: neither of {item.full} nor at the top is there a `{label}:`" for label in ("Threads", "Owner")
                    if label not in there)


def lost(name, text, items, pages):
    """What is declared, and not to be found."""
    full = {item.full for top in items for item in top.walk()}
    text = INNER.sub("", text)
    wanted = {found for each in DECLARED.findall(re.sub(r"//[^\n]*", "", text)) for found in each if found}
    yield from (f"cmake/headers.py does not see {missing} of {name}.h" for missing in sorted(wanted - full))
    for item in (each for top in items for each in top.walk()):
        if f"- [`{item.full}`]({name}.md)" not in pages["index.md"]:
            yield f"index.md does not name {item.full}"
        if not re.search(rf"{re.escape(item.name)}(?!\w)", pages[f"{name}.md"]):
            yield f"{name}.md does not name {item.full}"


def unknown(page, text, names, source):
    """Members that a page speaks of, and that there are not, of classes that there are. Some are of the source's own."""
    classes = {name.partition("::")[0] for name in names if "::" in name}
    for first, second in USED.findall(" ".join(PROGRAM.findall(text))):
        if not {first or second, f"hamlyn::{first}"} & names:
            yield f"{page}: a program of it uses {first or second}, which there is not"
    for said in MEMBER.findall(text):
        if (said.startswith("hamlyn_") or said.partition("::")[0] in classes) and said not in names and said not in source:
            yield f"{page}: there is no {said}"


def problems(texts, docs, read, pages, source=""):
    """`texts`: of the headers, `docs`: of the pages that people write, `source`: behind the headers."""
    for name, (intro, items) in read.items():
        yield from unsaid(name, intro, items)
        yield from lost(name, texts[name], items, pages)
    every = [item for _, items in read.values() for top in items for item in top.walk()]
    # What a class has from another, or is another's name of, it has as its own.
    bases = {item.full: found[1] for item in every if (found := re.search(r"(?:: public |^using \w+ = (?:hamlyn::)?)(\w+)", item.text))}
    names = {item.full for item in every}
    names |= {f"{derived}::{item.name}" for derived, base in bases.items() for item in every if item.full == f"{base}::{item.name}"}
    for page, text in docs.items():
        yield from unknown(page, text, names, source)


def check():
    read = reference.read_all()
    texts = {name: (headers.FOLDER / f"{headers.HEADERS[name]}.h").read_text() for name in read}
    docs = {str(path.relative_to(tree.ROOT)): path.read_text() for path in (*tree.ROOT.glob("*.md"), *sorted((tree.ROOT / "docs").glob("*.md")))}
    found = list(problems(texts, docs, read, reference.pages(read), "".join(path.read_text() for path in tree.cpp_files(folders=("src",)))))
    found += [f"docs/reference.md: does not name {path.name}" for path in sorted((tree.ROOT / "examples").glob("*.c*"))
              if f"(../examples/{path.name})" not in docs["docs/reference.md"]]
    if reference.front(read) != docs["docs/reference.md"]:
        found.append("docs/reference.md: its tables are not what the headers say: cmake/reference.py --front")
    tree.finish(found, f"reference, {len(read)} headers")


GOOD = """\
// What it is of.
//
// Threads: any.
// Owner: who made it.

namespace hamlyn {

namespace other {
class Elsewhere;
}  // namespace other

class Thing : public Base {
 public:
  Thing() = default;
  explicit Thing(int size) : size_(size) {}  // of so many
  // Does it: ok. `undo` undoes it.
  Status run(int times = 1) noexcept { return do_it({times}); }
  Status undo() noexcept;

  struct Options {
    int count = 0;  // how many
  };

 private:
  int size_ = 0;
};

// Which.
enum class Kind : int { one, two };

// How many there are.
inline constexpr int kMost = 2;

}  // namespace hamlyn
"""
BAD = {
    "Threads:": "Thread:", "Owner:": "Of:", "  // of so many": "", "`undo` undoes": "It undoes", "  // how many": "", "// Which.": "",
    "// How many there are.": "", "undoes it.": "undoes it. Throws Error.",
    " it: ok.": " it.",
}


def self_test():
    class Header:
        stem = "thing"

    def found(text, doc=""):
        Header.read_text = lambda: text
        read = {"thing": headers.read(Header)}
        pages = {"index.md": reference.index(read), "thing.md": reference.page("thing", *read["thing"], {"Status": ["ok"], "ErrorCode": [], "comments": {}})}
        return list(problems({"thing": text}, {"a.md": doc}, read, pages))

    wrong = [f"refused, though right: {problem}" for problem in found(GOOD, "`Thing::run`, `Thing::Options::count`, `Kind::one`, `std::x`\n```cpp\nhamlyn::Thing a;\n```\n")]
    wrong += [f"not seen: {old} is gone" for old, new in BAD.items() if not found(GOOD.replace(old, new))]
    wrong += [f"not seen: there is no {name}" for name in ("Thing::walk", "hamlyn_walk") if not found(GOOD, f"`{name}`")]
    wrong += [f"not seen: a program with {name}" for name in ("hamlyn::Things a;", "hamlyn::Thing::walk();", "hamlyn_walk(1);")
              if not found(GOOD, f"```cpp\n{name}\n```\n")]
    wrong += ["declarations that the pages have lost"] * (not found(GOOD.replace("}  // namespace other\n", "")))
    tree.finish(wrong, "reference's self test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    check()
