#!/usr/bin/env python3
"""A layer above the library waits by library/wait/waiting.h, and writes no wait of its own.

  waits.py             checks the tree
  waits.py --self-test checks that this program sees what it is there to see

Found are: sleeps of a thread, condition variables, futexes, and loops around `poll`, `wait`, `receive` or `yield`. Where a
loop waits for something that no interface knows of, a line of ALLOWED says what.
"""
import pathlib
import re
import sys
import tempfile

import tree

LAYERS = ("src/protocols", "src/segment", "src/c", "src/rpc", "src/job", "src/splitc", "src/am", "src/vi")
ALLOWED = {
    ("src/segment/clerk.cc", "loop"): "a process of its own, which sleeps on descriptors, and takes all that has come",
    ("src/segment/descriptors.cc", "loop"): "a thread of its own, which sleeps on descriptors",
    ("src/segment/failure_detector.cc", "futex"): "a thread of its own, which sleeps until its period is over",
    ("src/segment/failure_detector.cc", "sleep"): "that thread",
    ("src/segment/failure_detector.cc", "loop"): "that thread, which looks whether an answer is late while it waits for it",
    ("src/c/rr.cc", "loop"): "asks again when a question was cancelled",
    ("src/segment/import.cc", "loop"): "reads by loads until the caller is content: nobody tells of a store",
    ("src/protocols/loan_receiver.cc", "loop"): "answers who wants to lend, outside of the lock, and waits again",
    ("src/protocols/stream_receiver.cc", "loop"): "fills the caller's buffer; only the first record is waited for",
    ("src/protocols/stream_sender.cc", "loop"): "a cancel leaves a record some time; pieces are waited for in turn",
    ("src/rpc/client.cc", "loop"): "looks for its answer as long as that has paid lately, then waits",
    ("src/rpc/client_ask.cc", "loop"): "asks again whether a call is over, with a wait in between",
    ("src/rpc/server.cc", "loop"): "looks for a call as long as that has paid lately, then waits",
    ("src/rpc/blast/client.cc", "loop"): "datagrams come by no interface: rpc/blast/watch.h",
    ("src/rpc/blast/server.cc", "loop"): "datagrams come by no interface: rpc/blast/watch.h",
    ("src/rpc/blast/watch.cc", "futex"): "one thread watches the port of datagrams, the others sleep beside it",
    ("src/job/job.cc", "loop"): "brings pieces in turn; each is waited for by its call",
    ("src/am/c_spmd.cc", "loop"): "waits on after a cancel, which is meant for other calls, and while messages are left",
    ("src/am/vi_port.h", "loop"): "sends pieces in turn; each is waited for by its interface",
    ("src/splitc/over_vi.cc", "loop"): "waits on while more stands there to be heard than is heard at once",
    ("src/splitc/split_phase.cc", "loop"): "makes room: the oldest request is waited for, by its call",
    ("src/vi/transfers.h", "loop"): "waits for nothing: it puts a VI among those that want room",
}
SLEEP = re.compile(r"\b(?:sleep_for|sleep_until|nanosleep|usleep)\s*\(")
CONDITION = re.compile(r"\bcondition_variable\b")
FUTEX = re.compile(r"\bfutex_(?:sleep|wait)\b")
# A loop without an end, or as long as something says so, whose body waits.
LOOP = re.compile(r"\b(?:for \([^;()]*(?:\([^;()]*\)[^;()]*)*; *;|while *[({]|do *\{)")
WAITS = re.compile(r"(?:\.|->|::|\b)(?:wait(?!ing\b)\w*|until|receive|poll|yield|sched_yield)\s*\(")


def body(text, at):
    """From `at` to the end of the statement that begins there: its condition, and its block or line."""
    depth = 0
    for end in range(at, len(text)):
        if text[end] in "({":
            depth += 1
        elif text[end] in ")}":
            depth -= 1
            if depth == 0 and text[end] == "}":
                return text[at:end]
        elif text[end] == ";" and depth == 0:
            return text[at:end]
    return text[at:]


def waits(text):
    """The kinds of waits in a source, each with where it stands."""
    text = re.sub(r"//[^\n]*", "", text)
    for kind, pattern in (("sleep", SLEEP), ("condition", CONDITION), ("futex", FUTEX)):
        yield from ((kind, match.start()) for match in pattern.finditer(text))
    for match in LOOP.finditer(text):
        loop = body(text, match.start())
        # A loop over what stands in a queue has an end by itself, and waits for nothing.
        if WAITS.search(loop) and not re.search(r"(?:left|most) != 0", loop[:80]):
            yield "loop", match.start()


def problems(root, allowed=ALLOWED):
    found, used = [], set()
    for path in tree.cpp_files(root, LAYERS):
        inside = str(path.relative_to(root))
        text = path.read_text()
        for kind, at in waits(text):
            if (inside, kind) in allowed:
                used.add((inside, kind))
                continue
            line = re.sub(r"//[^\n]*", "", text).count("\n", 0, at) + 1
            found.append(f"{inside}:{line}: a wait written by hand ({kind}): library/wait/waiting.h has the one way to wait")
    found += [f"{path}: there is no such wait any more ({kind}): take it from ALLOWED" for path, kind in sorted(set(allowed) - used)]
    return found


def self_test():
    good = {
        "src/protocols/a.cc": "for (const auto& each : all) each.poll();\nStatus s = waiting.until(call, ready, deadline);\n",
        "src/protocols/b.cc": "// sleep_for(1)\nwhile (at != end) ++at;\nfor (;;) { take(); if (none) return; }\n",
        "src/protocols/c.cc": "for (std::size_t left = most; left != 0 && queue.poll({&next, 1}) != 0; --left) take(next);\n",
        "src/library/d.cc": "std::this_thread::sleep_for(1ms);\n",
    }
    bad = {
        "src/protocols/e.cc": "std::this_thread::sleep_for(1ms);\n",
        "src/segment/f.h": "std::condition_variable changed_;\n",
        "src/protocols/g.cc": "for (;;) {\n  if (take()) return;\n  terminus.wait_for_place(ring, kAgain);\n}\n",
        "src/segment/k.cc": "for (int news = 0;;) queue.receive(next, left);\n",
        "src/c/h.cc": "while (!done) queue.poll();\n",
        "src/segment/i.cc": "library::futex_sleep({}, word, 0, time);\n",
        "src/segment/l.cc": "do {\n  status = interface.wait_any(look, time);\n} while (status == Status::ok);\n",
        "src/protocols/j.cc": "while (status == Status::pending) sched_yield();\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**good, **bad}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        named = {problem.split(":")[0] for problem in problems(root, {})}
        wrong = [f"not seen: {name}" for name in sorted(set(bad) - named)]
        wrong += [f"refused, though right: {name}" for name in sorted(named & set(good))]
    tree.finish(wrong, "waits' self test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    tree.finish(problems(tree.ROOT), "waits")
