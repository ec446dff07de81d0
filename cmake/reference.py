#!/usr/bin/env python3
"""Makes the reference out of the public headers' comments: a page for each header, and an index.

  reference.py FOLDER PAGES   writes them to FOLDER; and to PAGES those of docs/ that lead to a header, as they are installed
  reference.py --front        writes the tables of classes of docs/reference.md anew, after a change of a header
"""
import pathlib
import re
import sys

import headers

FRONT = headers.ROOT / "docs/reference.md"
TABLE = re.compile(r"(?<=<!-- of the headers -->\n).*?(?=<!-- end -->)", re.DOTALL)
LABELS = ("Threads", "Owner", "Fork")
LABEL = re.compile(rf"\b({'|'.join(LABELS)}):\s+(.*?)(?=\n\s*\n|\b(?:{'|'.join(LABELS)}|Who \w+):|\Z)", re.DOTALL)
PAPER = re.compile(r"\bpaper (\d), ((?: ?and |, |sections? |chapters? |tables? |\d[\d.]*\d|\d)+)")


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def prose(text):
    """A comment as Markdown: programs in it stand further in, other pages and headers are linked."""
    out, program = [], False
    for line in text.splitlines():
        if line.strip() and line.startswith("  ") != program:
            program = not program
            out.append("```cpp" if program else "```")
        if not program:
            line = "".join(part if part.startswith("`") else re.sub(r"([<*])", r"\\\1", part) for part in re.split(r"(`[^`]*`)", line))
            line = re.sub(r"\bdocs/([\w-]+\.md)", r"[docs/\1](../\1)", line)
            # hamlyn.h itself has no page: it only includes the others.
            line = re.sub(r"\bhamlyn/(?!hamlyn\.h)([\w/]+)\.h\b", lambda header: f"[{header[0]}]({headers.page_of(header[1])}.md)", line)
        out.append(line[2:] if program else line)
    return "\n".join(out + ["```"] * program)


def cell(text):
    return prose(one_line(text)).replace("|", "\\|")


def labels(*comments):
    """What is said behind the labels, by the first of the comments that has each."""
    found = {}
    for comment in comments:
        for label, words in LABEL.findall(comment):
            found.setdefault(label, one_line(words))
    return found


def named(text, enum):
    """The enumerators that a text names, in the order in which they are declared."""
    return [name for name in enum if re.search(rf"\b{name}\b", text)]


def throws(item, codes):
    said = [words for each in item.items for words in re.findall(r"[Tt]hrows ([^.]*)", one_line(each.comment))]
    text = " ".join(said)
    return ["Error"] * ("Error" in said) + named(text, codes) + ["std::bad_alloc"] * ("bad_alloc" in text)


def answers(item, statuses, comments):
    """The statuses that comments of its calls name, and those of the calls that these answer as. `comments`: of all functions."""
    names = [each.full for each in item.items if each.kind == "function" and re.search(r"\b(Status|Outcome)\b[^(]* \w+\(", each.text)]
    texts = {}
    while names:
        name = names.pop()
        if name not in texts and name in comments:
            texts[name] = comments[name]
            for other in re.findall(r"\bas (?:the waiting )?`?((?:\w+::)?\w+)", comments[name], re.IGNORECASE):
                names += [f"{name.rpartition('::')[0]}::{other}", other]
    return [status for status in named(" ".join(texts.values()), statuses) if status not in ("ok", "forked")]


def comments_of(read):
    """What is said of each function, of all that have one name together."""
    found = {}
    for _, item in every(read):
        if item.kind == "function":
            found[item.full] = found.get(item.full, "") + " " + one_line(item.comment)
    return found


def facts(item, intro, known):
    """What holds for all of a class."""
    said = labels(item.comment, intro)
    rows = {"threads": cell(said.get("Threads", "")), "owner": cell(said.get("Owner", "")), "fork": cell(said.get("Fork", "")),
            "throws": quoted(throws(item, known["ErrorCode"])), "answers": quoted(answers(item, known["Status"], known["comments"]))}
    return table((f"{name}", words) for name, words in rows.items() if words)


def quoted(names):
    return ", ".join(f"`{name}`" for name in names)


def table(rows):
    rows = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return f"| | |\n| --- | --- |\n{rows}\n" if rows else ""


def declared(item):
    """The declaration, of a type with what is in it and needs no words."""
    return "\n".join([item.text, *(f"  {each.text}" for each in item.items if each.kind == "function" and not each.comment)])


def section(item, intro, known, language):
    inner = [each for each in item.items if each.kind not in ("value", "enumerator") and (each.comment or each.kind != "function")]
    return (f"{'###' if item.kind == 'function' and '::' in item.full else '##'} {', '.join(item.heading)}\n\n"
            f"```{language}\n{declared(item)}\n```\n\n{prose(item.comment)}\n\n" + (facts(item, intro, known) if item.kind == "class" else "") +
            table((f"`{each.text.rstrip(';')}`".replace("|", "\\|"), cell(each.comment)) for each in item.items
                  if each.kind in ("value", "enumerator")) + sections(inner, intro, known, language))


def sections(items, intro, known, language):
    """A section for each type, and for all functions in turn that share a comment."""
    out, last = [], None
    for item in items:
        if last and item.comment and item.comment == last.comment and item.kind == last.kind == "function":
            last.text += "\n" + item.text
            last.heading += [item.full] if item.full not in last.heading else []
        else:
            out.append(item)
            last, item.heading = item, [item.full]
    return "".join(section(item, intro, known, language) for item in out)


def page(name, intro, items, known):
    text = (f"# hamlyn/{headers.HEADERS.get(name, name)}.h\n\n[How to find things](index.md)\n\n{prose(intro)}\n\n"
            f"{sections(items, intro, known, 'c' if name in headers.C else 'cpp')}")
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def every(read):
    """Each item of all headers, with its header's name."""
    return [(name, item) for name, (_, items) in read.items() for top in items for item in top.walk()]


def classes(read, link):
    """The tables of docs/reference.md: what may be shared between threads, and whose it is; what is thrown and answered."""
    known, shared, told = what_is_known(read), {}, ""
    for name, item in every(read):
        if item.kind == "class":
            said, where = labels(item.comment, read[name][0]), f"[`{item.full}`]({link.format(headers.HEADERS.get(name, name))})"
            shared.setdefault((said.get("Threads", ""), said.get("Owner", "")), []).append(where)
            thrown, answered = quoted(throws(item, known["ErrorCode"])), quoted(answers(item, known["Status"], known["comments"]))
            told += f"| {where} | {thrown} | {answered} |\n" if thrown or answered else ""
    shared = "".join(f"| {', '.join(names)} | {' | '.join(said)} |\n" for said, names in shared.items())
    return f"| class | threads | owner |\n| --- | --- | --- |\n{shared}\n| class | throws | answers |\n| --- | --- | --- |\n{told}"


def papers(read):
    """Rows of all sections of papers that comments name, with what they stand at."""
    places = {}
    texts = [(intro, f"[hamlyn/{headers.HEADERS.get(name, name)}.h]({name}.md)") for name, (intro, _) in read.items()]
    texts += [(item.comment, f"[`{item.full}`]({name}.md)") for name, item in every(read)]
    for text, link in texts:
        for paper, said in PAPER.findall(one_line(text)):
            for kind, numbers in re.findall(r"([a-z]+?)s? ((?:\d|\.\d|, | ?and )+)", said):
                for number in re.findall(r"[\d.]*\d", numbers):
                    places.setdefault((paper, kind, tuple(map(int, number.split(".")))), {})[link] = None
    return [(f"paper {paper}, {kind} {'.'.join(map(str, number))}", ", ".join(links)) for (paper, kind, number), links in sorted(places.items())]


def index(read):
    """docs/reference.md, as it reads beside the pages, and what else can be looked for."""
    text = re.sub(r"\]\((?!https?:|#)", "](../", FRONT.read_text())
    text = re.sub(r"\]\(\.\./\.\./include/hamlyn/([\w/]+)\.h\)", lambda header: f"]({headers.page_of(header[1])}.md)", text)
    text = text.replace("](../../include/hamlyn)", "](#by-name)")
    names = sorted({(item.full, name) for name, item in every(read)}, key=lambda each: (each[0].lower(), each))
    return (text + "\n## By paper and section\n\n" + table(papers(read)) + "## By name\n\n" +
            "".join(f"- [`{full}`]({name}.md)\n" for full, name in names))


def read_all():
    return {page: headers.read(headers.FOLDER / f"{name}.h") for page, name in sorted(headers.HEADERS.items()) if page != "hamlyn"}


def enumerators(read, name, enum):
    """Of an enum of that header."""
    return [one.name for item in read[name][1] if item.name == enum for one in item.items]


def what_is_known(read):
    """What tables are made with: the names that there are, and what is said where."""
    return {"Status": enumerators(read, "status", "Status"), "ErrorCode": enumerators(read, "error", "ErrorCode"), "comments": comments_of(read)}


def pages(read):
    """The text of each page."""
    known = what_is_known(read)
    made = {"index.md": index(read)}
    return made | {f"{name}.md": page(name, intro, items, known) for name, (intro, items) in read.items()}


def front(read):
    """docs/reference.md as it should be."""
    return TABLE.sub(lambda _: classes(read, "../include/hamlyn/{}.h"), FRONT.read_text())


def installed(text):
    """A page of docs/ where it is installed: there the headers are elsewhere, and their pages are beside it."""
    text = re.sub(r"\]\(\.\./include/hamlyn/([\w/]+)\.h\)", lambda header: f"](reference/{headers.page_of(header[1])}.md)", text)
    return text.replace("](../include/hamlyn)", "](reference/index.md)")


def main(where, docs=None):
    if where == "--front":
        FRONT.write_text(front(read_all()))
        return
    for old in pathlib.Path(docs).glob("*.md"):
        old.unlink()  # it may lead to no header any more
    made = {pathlib.Path(where) / name: text for name, text in pages(read_all()).items()}
    for page in FRONT.parent.glob("*.md"):
        text = page.read_text()
        if installed(text) != text:
            made[pathlib.Path(docs) / page.name] = installed(text)
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
