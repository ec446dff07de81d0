#!/usr/bin/env python3
"""docs/error-list.md names every status, error code, refusal and failure that there is, and nothing else."""
import re

import tree

HEADERS = {"Status": "status.h", "ErrorCode": "error.h", "Refusal": "notification.h", "Failure": "notification.h"}


def declared(enum):
    text = (tree.ROOT / "include/hamlyn" / HEADERS[enum]).read_text()
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


tree.finish(list(problems()), "error list")
