#!/usr/bin/env python3
"""docs/error-list.md names every status, error code, refusal, failure and reason that there is, and nothing else; its sentences are
those that the library says."""
import re

import tree

HEADERS = {"Status": "status.h", "ErrorCode": "error.h", "Refusal": "notification.h", "Failure": "notification.h", "LinkReason": "link_reason.h", "NotMapped": "not_mapped.h"}


def declared(enum):
    text = (tree.ROOT / "include/hamlyn/values" / HEADERS[enum]).read_text()
    body = re.search(r"enum class %s\b[^{]*{(.*?)\n};" % enum, text, re.S).group(1)
    body = re.sub(r"//[^\n]*", "", body)
    return [name for name in re.findall(r"(\w+)\s*(?:=\s*\d+)?\s*,", body) if name != "count"]


def listed(enum, text):
    section = text.split(f"\n## {enum}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.M)


def problems():
    text = (tree.ROOT / "docs/error-list.md").read_text()
    for enum in HEADERS:
        if declared(enum) != listed(enum, text):
            yield f"docs/error-list.md: {enum} is {declared(enum)}, listed is {listed(enum, text)}"
    names = (tree.ROOT / "src/base/names.cc").read_text()
    rows = re.findall(r'\{(\w+)::(\w+),\s+"(\w+)"(?:,\s+((?:"[^"]*"\s*)+))?\}', names)
    for enum in HEADERS.keys() - {"LinkReason", "NotMapped"}:
        named = [row[1] for row in rows if row[0] == enum and row[1] == row[2]]
        if named != declared(enum):
            yield f"src/base/names.cc: {enum} is {declared(enum)}, named is {named}"
    for enum, value, _, said in rows:
        advice = "".join(re.findall(r'"([^"]*)"', said))
        if enum == "Status" and f"| `{value}` | {advice} |" not in text:
            yield f"docs/error-list.md: the advice for {value} is another: {advice}"
        plain = text.replace("`", "").replace(f"| {value} |", f"| `{value}` |")
        if enum == "ErrorCode" and not re.search(r"^\| `%s` \| .* \| %s \|$" % (value, re.escape(advice)), plain, re.M):
            yield f"docs/error-list.md: the advice for {value} is another: {advice}"
    reasons = (tree.ROOT / "src/base/link_reasons.cc").read_text()
    for reason, sentences in re.findall(r'Row\{(\w+),(.*?)\}\},\n', reasons, re.S):
        words = re.findall(r'"((?:[^"\\]|\\.)*)"', sentences)[1:]
        rows = [f"| `{reason}`{told} | {text} | {advice} |" for told, text, advice in zip(("", ", told"), words[::2], words[1::2])]
        yield from (f"docs/error-list.md: no such row: {row}" for row in rows if row not in text)
    not_mapped = (tree.ROOT / "src/base/not_mapped.cc").read_text()
    causes = re.findall(r'Cause\{NotMapped::(\w+),\s+"\1",\s+((?:"[^"]*"\s*)+)\}', not_mapped)
    if not causes:
        yield "src/base/not_mapped.cc: no cause was found"
    for why, said in causes:
        what = "".join(re.findall(r'"([^"]*)"', said))
        if f"| `{why}` | {what} |" not in text:
            yield f"docs/error-list.md: the sentence for {why} is another: {what}"


tree.finish(list(problems()), "error list")
