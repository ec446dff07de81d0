#!/usr/bin/env python3
"""The fast path as machine code: what a polled fast-mode send and receive go through when nothing is in their way.

  disassembly.py PROGRAM    a release build with all of the library in it

No system call, no allocation, no fence but one `lock or` on the own stack, nothing else locked; and no word of a packet's
cell, which the peer may be changing at this moment, is loaded twice. What a function of the fast path calls when
something is in its way (ring a doorbell, make room, ask for places) is not looked at.
"""
import re
import subprocess
import sys

import tree

# The functions of the path, from the public call to the ring and back, and the locked instructions in each.
FAST_PATH = {
    "hamlyn::Terminus::send_fast(": 1,  # the sender's fence, before it looks at the watch word
    "hamlyn::Terminus::send_block(": 2,  # likewise, one for what an opening carries and one for more
    "hamlyn::shm::ShmLink::put_normal(": 1,  # likewise, for packets that are not short
    "hamlyn::NotificationQueue::poll(": 0,
    "hamlyn::shm::ShortWay::take_block(": 0,
    "hamlyn::shm::ShortWay::take_run(": 0,
    "hamlyn::internal_::interface::Core::run()": 0,
    "hamlyn::shm::ShmLink::arrive(": 0,
}
FENCE = re.compile(r"^lock or[lq]? +\$0x0,(-?0x[0-9a-f]+)?\(%rsp\)$")
FORBIDDEN = re.compile(r"^(syscall|sysenter|int|mfence|sfence|lfence|cpuid)\b")
MEMORY_EXCHANGE = re.compile(r"^xchg .*\(")  # locks without saying so
LIBRARY_CALL = re.compile(r"^(?:call|jmp) .*<([^>]*)@plt>")
HARMLESS_CALLS = {"memcpy", "memmove"}

CELL = 64
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t(.*?) *$")
JUMP = re.compile(r"^(j\w+) ([0-9a-f]+) ")
LOAD = re.compile(r"^(mov\w*) +(0x[0-9a-f]+)?\((%\w+)\),(%\w+)$")
POINTER = re.compile(r"^mov +0x[0-9a-f]+\(%r\w+\),(%r\w+)$")  # the link knows the next cell by its address
DESTINATION = re.compile(r"^(?!cmp|test|j|push|nop|call)\S+ .*?(%\w+)$")
REACH = 64  # instructions on a way from the address of a cell on: enough to load all of it and to look at it
KEPT_BY_CALLS = {"rbx", "rbp", "r12", "r13", "r14", "r15"}


def functions(program):
    """Each function's instructions by their addresses, by its name."""
    run = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", program], capture_output=True, text=True)
    if run.returncode:
        tree.finish([run.stderr], "disassembly")
    found, current = {}, {}
    for line in run.stdout.splitlines():
        if function := FUNCTION.match(line):
            current = found.setdefault(function.group(1), {})
        elif instruction := INSTRUCTION.match(line):
            text = re.sub(r" +", " ", instruction.group(2).split("#")[0].strip())
            current[int(instruction.group(1), 16)] = text
    return found


def whole(register):
    """The 64-bit register that a name is a part of."""
    name = register.lstrip("%")
    if match := re.match(r"^(r\d+)[dwb]?$", name):
        return match.group(1)
    name = name.removesuffix("l") if name in ("sil", "dil", "bpl", "spl", "al", "bl", "cl", "dl") else name
    short = {"a": "ax", "b": "bx", "c": "cx", "d": "dx"}.get(name, name)
    return "r" + short[-2:]


def loads_from(code, order, start, register):
    """The offsets that are loaded through the address in `register` from `start` on, for each way through the code."""
    ways, seen, todo = set(), {}, [(start, frozenset([register]), (), 0)]
    while todo:
        place, holders, loaded, steps = todo.pop()
        if seen.get((place, holders, loaded), REACH + 1) <= steps:
            continue
        seen[place, holders, loaded] = steps
        if place not in code or not holders or steps == REACH:
            ways.add(loaded)
            continue
        text = code[place]
        following = order.get(place)
        load = LOAD.match(text)
        if load and whole(load.group(3)) in holders:
            loaded = loaded + (int(load.group(2) or "0", 16),)
        if text.startswith("call"):
            holders = holders & KEPT_BY_CALLS
        elif destination := DESTINATION.match(text):
            holders = holders - {whole(destination.group(1))}
        jump = JUMP.match(text)
        if jump:
            todo.append((int(jump.group(2), 16), holders, loaded, steps + 1))
        if not text.startswith(("jmp", "ret")):
            todo.append((following, holders, loaded, steps + 1))
        elif not jump:
            ways.add(loaded)
    return ways


def looks(code):
    """Of each address that is loaded from a structure: what is loaded through it, where that begins like a cell."""
    places = list(code)
    order = dict(zip(places, places[1:]))
    found = []
    for place, text in code.items():
        if pointer := POINTER.match(text):
            ways = loads_from(code, order, order.get(place), whole(pointer.group(1)))
            found += [sorted(way) for way in ways if set(way) >= {0, 8, 16, 24, 32}]
    return found


def problems(program):
    code = functions(program)
    for start, locked in FAST_PATH.items():
        bodies = [code[name] for name in code if name.startswith(start) and "[clone" not in name]
        if not bodies:
            yield f"{start}...) is not in {program}: the fast path has changed, and this test must follow it"
        for instruction in (each for body in bodies for each in body.values()):
            call = LIBRARY_CALL.match(instruction)
            if FORBIDDEN.match(instruction) or MEMORY_EXCHANGE.match(instruction):
                yield f"{start}...): {instruction}"
            elif call and call.group(1) not in HARMLESS_CALLS:
                yield f"{start}...): calls {call.group(1)}"
            elif instruction.startswith("lock"):
                locked -= 1
                if not FENCE.match(instruction):
                    yield f"{start}...): {instruction}"
        if locked != 0:
            yield f"{start}...): {abs(locked)} locked instruction(s) too {'few' if locked > 0 else 'many'}"

    whole_cells = 0
    for name, body in code.items():
        if not name.startswith(("hamlyn::shm::ShmLink::arrive(", "hamlyn::NotificationQueue::poll(")):
            continue
        for look in looks(body):
            if len(look) != len(set(look)):
                yield f"{name}: loads a word of a cell twice: {look}"
            whole_cells += look == list(range(0, CELL, 8))
    if whole_cells < 2:
        yield "not both loads of a whole cell were found: the test no longer sees what it is there to see"


def self_test():
    """A look that loads a word twice, on one of its two ways."""
    code = ["mov 0x1d8(%rbx),%rax", "mov (%rax),%rdx", "mov 0x8(%rax),%rdx", "mov 0x10(%rax),%rdx",
            "mov 0x18(%rax),%rdx", "mov 0x20(%rax),%rdx", "je 8 <x>", "ret", "mov 0x8(%rax),%rax",
            "mov 0x8(%rax),%rdx", "ret"]
    ways = looks(dict(enumerate(code)))
    assert sorted(ways) == [[0, 8, 8, 16, 24, 32], [0, 8, 16, 24, 32]], ways
    assert FENCE.match("lock orl $0x0,(%rsp)") and not FENCE.match("lock orl $0x0,(%rax)")
    assert LIBRARY_CALL.match("call 5a0 <malloc@plt>").group(1) == "malloc"


self_test()
tree.finish(list(problems(sys.argv[1])), "disassembly")
