#!/usr/bin/env python3
"""docs/error-list.md names every status, error code, refusal, failure and reason that there is, and nothing else; its sentences are
those that the library says."""
import re

import tree

HEADERS = {"Status": "status.h", "ErrorCode": "error.h", "Refusal": "notification.h", "Failure": "notification.h", "LinkReason": "link_reason.h"}


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
    for status, advice in re.findall(r'case Status::(\w+):\s+return "([^"]+\.)";', names):
        if f"| `{status}` | {advice} |" not in text:
            yield f"docs/error-list.md: the advice for {status} is another: {advice}"
    for code, advice in re.findall(r'case ErrorCode::(\w+):\s+return "([^"]+\.)";', names):
        if not re.search(r"^\| `%s` \| .* \| %s \|$" % (code, re.escape(advice)), text.replace("`", "").replace(f"| {code} |", f"| `{code}` |"), re.M):
            yield f"docs/error-list.md: the advice for {code} is another: {advice}"
    reasons = (tree.ROOT / "src/base/link_reasons.cc").read_text()
    for reason, sentences in re.findall(r'Row\{(\w+),(.*?)\}\},\n', reasons, re.S):
        words = re.findall(r'"((?:[^"\\]|\\.)*)"', sentences)[1:]
        rows = [f"| `{reason}`{told} | {text} | {advice} |" for told, text, advice in zip(("", ", told"), words[::2], words[1::2])]
        yield from (f"docs/error-list.md: no such row: {row}" for row in rows if row not in text)


tree.finish(list(problems()), "error list")
