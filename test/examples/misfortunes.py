#!/usr/bin/env python3
"""What the programs of the documents say in the ordinary errors: each says what it is, and fails.

  misfortunes.py HAMLYND PEER PROGRAM   of the README, the guide or the C interface
  misfortunes.py HAMLYND - PROGRAM...   all of them, where there is no node daemon and none can be started
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

CLIENTS = 12
PATIENCE = 60  # seconds

programs = []
problems = []


class World:
    """A folder of its own for the daemon, and programs that meet there."""

    def __init__(self, daemon, folder):
        self.environment = {**os.environ, "HAMLYN_DAEMON": daemon, "XDG_RUNTIME_DIR": folder}

    def start(self, *words):
        programs.append(subprocess.Popen(words, env=self.environment, text=True, process_group=0,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return programs[-1]


def end_all():
    for program in programs:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)


def expect(what, right, said=""):
    if not right:
        problems.append(f"{what}: {said}")


def fails(what, program):
    """It ends by itself, and not by a signal, fails, and says why."""
    said, why = program.communicate(timeout=PATIENCE)
    expect(what, program.returncode > 0 and len(why) > 10 and "terminate called" not in why,
           f"ended with {program.returncode}, said '{said}', and why: '{why}'")


def succeeds(what, program):
    said, why = program.communicate(timeout=PATIENCE)
    expect(what, program.returncode == 0, f"ended with {program.returncode}: {why}")
    return said


def attached(program):
    """It has the two threads of an interface."""
    while program.poll() is None and len(os.listdir(f"/proc/{program.pid}/task")) < 3:
        time.sleep(0.01)


def of_the_readme(world, peer, program):
    fails("too many words", world.start(program, "Hello", "again"))

    receiver = world.start(program)
    holder = world.start(peer, "holds", "greetings")
    expect("a sender comes", holder.stdout.readline() == "open\n")
    fails("a second receiver", world.start(program))
    fails("a second sender", world.start(program, "Hello"))
    holder.kill()
    fails("the sender is killed before it has sent", receiver)

    receiver = world.start(program)
    world.start(peer, "sender", "greetings").wait(PATIENCE)
    first = receiver.stdout.readline()
    expect("what has come whole is received", first == "before it died\n", first)
    fails("the sender is killed", receiver)

    for arrivals in "1", "2":
        killed = world.start(peer, "receiver", "greetings", arrivals)
        fails(f"the receiver is killed by arrival {arrivals}", world.start(program, "Hello"))
        killed.wait(PATIENCE)

    receiver = world.start(program)
    succeeds("all is well", world.start(program, "Hello"))
    expect("all is well", succeeds("the receiver", receiver) == "Hello\n")


def of_the_guide(world, _, program):
    fails("too many words", world.start(program, "Hello", "again"))

    service = world.start(program)
    clients = [world.start(program, f"client {i}") for i in range(CLIENTS)]
    for client in clients:
        succeeds("one of many clients", client)
    said = sorted(service.stdout.readline() for _ in range(CLIENTS))
    expect("the service has heard all", said == sorted(f"client {i}\n" for i in range(CLIENTS)), said)
    fails("a second service", world.start(program))

    os.kill(service.pid, signal.SIGSTOP)
    client = world.start(program, "Hello")
    attached(client)
    service.kill()
    fails("the service is killed", client)


def of_the_c_interface(world, peer, program):
    receiver = world.start(program)
    holder = world.start(peer, "holds", "prices")
    expect("a sender comes", holder.stdout.readline() == "open\n")
    fails("a second receiver", world.start(program))
    holder.kill()
    fails("the sender is killed before it has sent", receiver)
    receiver = world.start(program)
    world.start(peer, "sender", "prices").wait(PATIENCE)
    said, why = receiver.communicate(timeout=PATIENCE)
    expect("the sender is killed", receiver.returncode == 1 and said == "before it died\n" and why, said + why)


def main(daemon, peer, *names):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as another:
        if peer == "-":
            world = World(f"{folder}/no_daemon", folder)
            for name, program in [(name, world.start(name)) for name in names]:
                fails(f"{pathlib.Path(name).name} without a node daemon", program)
            return
        kinds = {"readme": of_the_readme, "guide": of_the_guide, "c_interface": of_the_c_interface}
        program = names[0]
        name = pathlib.Path(program).name
        # Waits for as long as its look-up does, beside all others.
        alone = World(daemon, another).start(program, "Hello") if name != "c_interface" else None
        kinds[name](World(daemon, folder), peer, program)
        if alone is not None:
            fails("nobody is there", alone)


signal.signal(signal.SIGALRM, lambda *_: sys.exit("takes too long"))
signal.alarm(80)  # before CTest ends this process, and nothing else
try:
    main(*sys.argv[1:])
finally:
    end_all()
if problems:
    sys.exit("\n".join(problems))
