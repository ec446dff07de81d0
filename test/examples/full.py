#!/usr/bin/env python3
"""All examples at once, with an output that takes nothing: each fails, and says why.

  full.py HAMLYND PROGRAM...
"""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE = 60  # seconds
WHY = "the output could not be written"
QUIET = ("readme",)  # fails without a word: its one receiver is a page's program of a few lines

programs = []
problems = []


def start(words, folder, daemon, **files):
    environment = {**os.environ, "HAMLYN_DAEMON": daemon, "XDG_RUNTIME_DIR": str(folder)}
    programs.append(subprocess.Popen(words, env=environment, text=True, process_group=0, stderr=subprocess.PIPE, **files))
    return programs[-1]


def end_all():
    for program in programs:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)


def judge(name, program):
    why = program.communicate(timeout=PATIENCE)[1]
    if program.returncode <= 0 or (WHY not in why and name not in QUIET):
        problems.append(f"{name}: ended with {program.returncode}, said: '{why}'")


def answers(path):
    """Whether a daemon listens there: its socket has its name for a moment before."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        return probe.connect_ex(str(path)) == 0


def a_cluster_of_one(daemon, folder):
    """The first node of a cluster, for the example that shows its nodes."""
    config = folder / "node.toml"
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        config.write_text(f'[cluster]\nid = 1\nlisten = "127.0.0.1:{one.getsockname()[1]}"\n')
    path = folder / "node.sock"
    node = start([daemon, "--socket", path, "--config", config, "--idle-exit", "0"], folder, daemon)
    while not answers(path) and node.poll() is None:
        time.sleep(0.01)
    return path


def main(daemon, *words):
    with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
        folder = pathlib.Path(folder)
        started = {}
        for word in words:
            name = pathlib.Path(word).name
            more = [a_cluster_of_one(daemon, folder)] if name == "membership" else []
            started[name] = start([word, *more], folder, daemon, stdout=full)
        readme = next(word for word in words if pathlib.Path(word).name == "readme")
        start([readme, "Good morning"], folder, daemon)
        for name, program in started.items():
            judge(name, program)


signal.signal(signal.SIGALRM, lambda *_: sys.exit("takes too long"))
signal.alarm(80)  # before CTest ends this process, and nothing else
try:
    main(*sys.argv[1:])
finally:
    end_all()
if problems:
    sys.exit("\n".join(problems))
