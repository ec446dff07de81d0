#!/usr/bin/env python3
"""Runs an example as a newcomer would, where no other node daemon of this user is.

  run.py HAMLYND PROGRAM [GIVES_UP PEER]

GIVES_UP is a client of those examples that have a door, which gives a message up; PEER has those that never look.
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

WORDS = "Good morning"
# Where the services among them take datagrams from anybody, of whom one may give up in the middle.
DOORS = {"guide": "greeter", "echo": "echo.{}", "epoll_server": "epoll_server.{}", "market_data": "market.{}"}

SUBSCRIBERS = 4  # of the market
STRANGERS = 12  # who never look: a publisher that waits for each would take two minutes

programs = []


def run(words, **start):
    """Started in a group of its own, with all that it starts."""
    programs.append(subprocess.Popen(words, process_group=0, **start))
    return programs[-1]


def end_all():
    """Nothing of them stays, whatever happens here."""
    for program in programs:
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def too_long(*_):
    sys.exit("takes too long")


def listens(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        return one.connect_ex(str(path)) == 0


def watch_a_cluster(daemon, program, folder, start):
    """Two nodes on loopback; the second comes and goes while the program watches the first."""

    def node(number, port, join=""):
        config = folder / f"{number}.toml"
        listen = f'listen = "127.0.0.1:{port}"\ndead_after = 30000'
        config.write_text(f"[cluster]\nid = {number}\n{listen}\n{join}\n")
        words = [daemon, "--socket", folder / f"{number}.sock", "--config", config, "--idle-exit", "0"]
        return run(words, **start)

    def watch(number, daemon):
        path = folder / f"{number}.sock"
        while not listens(path) and daemon.poll() is None:
            time.sleep(0.01)
        return run([program, path], **start)

    with socket.socket(type=socket.SOCK_DGRAM) as one, socket.socket(type=socket.SOCK_DGRAM) as other:
        for each in one, other:
            each.bind(("127.0.0.1", 0))
        ports = one.getsockname()[1], other.getsockname()[1]
    first = node(1, ports[0])
    try:
        watcher = watch(1, first)
        printed = watcher.stdout.readline()
        second = node(2, ports[1], f'join = "127.0.0.1:{ports[0]}"')
        printed += watcher.stdout.readline()
        other = watch(2, second)  # a node tells those that it has met that it goes
        for line in other.stdout:
            if line.startswith("node 1: "):
                break
        other.kill()
        other.communicate()
        second.terminate()
        printed += watcher.communicate(timeout=60)[0]
        second.communicate(timeout=60)
    finally:
        first.terminate()
        first.communicate(timeout=60)
    print(printed, end="")
    if printed != "node 1: self\nnode 2: came\nnode 2: left\n" or watcher.returncode != 0:
        sys.exit("printed something else")


def start_daemon(peer, start):
    """By a program that stays: nobody is held back who is just starting one."""
    program = run([peer, "holds", "nobody"], **start)
    while program.poll() is None and len(os.listdir(f"/proc/{program.pid}/task")) < 3:
        time.sleep(0.01)


def hold_back_children(program, count):
    """Stops the processes that it starts, before they have come far."""
    children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children")
    held = set()
    while len(held) < count and program.poll() is None:
        for child in children.read_text().split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if f"market.{program.pid}." in pathlib.Path(f"/proc/{child}/cmdline").read_text():  # and no daemon
                    os.kill(int(child), signal.SIGSTOP)
                    held.add(int(child))
    return held


def knock_first(program, peer, start):
    """Strangers that never look are at the market's door before its subscribers are."""
    held = hold_back_children(program, SUBSCRIBERS)
    strangers = run([peer, "never_looks", DOORS["market_data"].format(program.pid), str(STRANGERS)], **start)
    said = strangers.stdout.readline()
    if said != "knocked\n":
        sys.exit(f"a stranger was not heard at the door: {said}")
    for child in held:
        os.kill(child, signal.SIGCONT)
    return strangers


JOBS = ("job_ring",)  # examples that are ranks of a job


def main(daemon, program, gives_up=None, peer=None):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HAMLYN_DAEMON": daemon, "XDG_RUNTIME_DIR": folder}
        start = {"env": environment, "stdout": subprocess.PIPE, "text": True}
        if pathlib.Path(program).name == "membership":
            watch_a_cluster(daemon, program, pathlib.Path(folder), start)
            return
        name = pathlib.Path(program).name
        if name == "market_data":
            start_daemon(peer, start)
        ranks = [pathlib.Path(daemon).with_name("hamlyn"), "run", "-n", "3"] if name in JOBS else []
        first = run([*ranks, program], **start)
        strangers = knock_first(first, peer, start) if name == "market_data" else None
        other = run([gives_up, DOORS[name].format(first.pid)], **start) if name in DOORS else None
        if name == "guide" and (other.communicate(timeout=60)[0] != "ok\n" or first.stdout.readline() != "\n"):
            sys.exit("a client that has given up ends the service")
        if name in ("readme", "guide"):  # the other examples start their second process themselves
            second = run([program, WORDS], **start)
            if second.wait(60) != 0:
                sys.exit("the sender failed")
        line = ""
        endless = name == "guide"
        if endless:
            line = first.stdout.readline()
            first.terminate()
        printed = line + first.communicate(timeout=60)[0]
        if other is not None:
            other.kill()  # it may have come too late
            other.communicate()
        if strangers is not None:
            strangers.kill()
            strangers.communicate()
        print(printed, end="")
        if first.returncode != 0 and not endless:
            sys.exit(f"ended with {first.returncode}")
        expected = {
            "readme": WORDS,
            "guide": WORDS,
            "hello": "Hello from another process",
            "fast": "20000 times to and fro",
            "group": "200000 bytes from 3 messages, told of once",
            "modes": "refused: bad_key\nclient 0: please",
            "errors": "",
            "bulk": "3145728 bytes",
            "durable": "In the file: prepare to commit",
            "stream": "100000 records, %d bytes, and the sender has closed\n" % (99900 * 9 + 100 * 300000),
            "datagram": "ONE\nTWO\nTHREE\n",
            "hello_c": "ONE\nTWO\nTHREE\n",
            "market_data": "4 subscribers know that the market is open\n"
                           "3 subscribers have the last of 2000 books, 1 died on the way\n"
                           "3 subscribers know that it is closed\n",
            "tagged": "1000 writes, the board's sum is 7972\n",
            "multicast": "3 have got it, 0 have not: ok",
            "areas": "Gathered: 500010 bytes",
            "priorities": "answered while the bulk was under way",
            "posted": "20 messages, 19000 bytes, in 8 buffers",
            "sends": "64 messages of 200000 bytes, 8 at a time",
            "termini": "3 termini have sent 8 messages each",
            "remote": "1000 jobs, each done once",
            "job_ring": "the token was given 3 times\n" * 3,
            "rpc_bank": "three tellers have gone, and the bank has 30000 cents",
            "vi_files": "A file came by RDMA write",
            "vi_pingpong": "1000 times to and fro",
            "am_pingpong": "1000 rounds",
            "am_table": "1000 in all",
            "shmem": "4 processes, guarded heaps: all is as it should be",
            "barrier": "50 rounds of 3 members",
            "echo": "three clients heard what they had said",
            "epoll_server": "100 questions answered",
            "load_board": "serverless",
            "lock_manager": "a client has come",
            "work_queue": "a worker was refused: out_of_bounds",
        }
        if not printed.startswith(expected[name]):
            sys.exit("printed something else")


signal.signal(signal.SIGALRM, too_long)
signal.alarm(80)  # before CTest ends this process, and nothing else
try:
    main(*sys.argv[1:])
finally:
    end_all()
