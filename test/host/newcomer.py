#!/usr/bin/env python3
"""Does what docs/cluster.md says under "In five minutes", to the letter, on two hosts that are as bare as a package leaves
them: network namespaces, each with an /etc and a /run of its own.

  newcomer.py FOLDER_OF_PROGRAMS
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/cluster.md"
ADDRESSES = {"anna": "10.77.1.1", "bert": "10.77.1.2"}
PATIENCE = 30

# What a package brings, but the programs: the user, and the folder that the unit's RuntimeDirectory makes.
HOST = """
mount -t tmpfs none /run && mkdir -m 755 /run/etc /run/work /run/hamlyn && cp "$0/hamlynd" /run/
mount -t overlay none -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/work /etc
rm -rf /etc/hamlyn
grep -q ^hamlyn: /etc/passwd || echo hamlyn:x:64999:64999::/run/hamlyn:/usr/sbin/nologin >>/etc/passwd
chown hamlyn /run/hamlyn
ip link set lo up
echo ready
exec sleep 120
"""
SERVICE = "exec setpriv --pdeathsig KILL --reuid hamlyn --regid $(id -g hamlyn) --clear-groups /run/hamlynd --service"


def skip(why):
    print(f"SKIPPED: nobody follows docs/cluster.md: {why}", file=sys.stderr)
    sys.exit(77)


def blocks():
    """The page's shell commands for anna, then what anna and bert have in their configurations."""
    section = PAGE.read_text().split("## In five minutes", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"```(\w*)\n(.*?)```", section, re.S)
    if [kind for kind, _ in found[:3]] != ["", "toml", "toml"]:
        sys.exit(f"{PAGE} has other blocks than this test knows")
    return [text for _, text in found[:3]]


class Host:
    def __init__(self, programs):
        words = ["unshare", "--net", "--mount", "sh", "-ec", HOST, programs]
        self.holder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.others = []
        if self.holder.stdout.readline() != "ready\n":
            skip("namespaces, or an overlay in one, cannot be made here")

    def words(self, command, *more):
        return ["nsenter", f"--target={self.holder.pid}", "--net", "--mount", "sh", "-ec", command, *more]

    def run(self, command, **more):
        return subprocess.run(self.words(command), check=True, text=True, timeout=PATIENCE, **more)

    def begin(self, command, *more):
        self.others.append(subprocess.Popen(self.words(command, *more)))
        return self.others[-1]

    def write(self, path, text):
        self.run(f"cat >{path}", input=text)

    def end(self):
        for process in [*self.others, self.holder]:
            process.kill()
            process.wait()


def main(programs):
    if os.geteuid() != 0:
        skip("network namespaces need root")
    commands, of_anna, of_bert = blocks()
    hosts = {}
    try:
        for name in ADDRESSES:
            hosts[name] = Host(programs)
        follow(programs, hosts["anna"], hosts["bert"], commands, of_anna, of_bert)
    finally:
        for host in hosts.values():
            host.end()


def follow(programs, anna, bert, commands, of_anna, of_bert):
    anna.run(f"ip link add eth0 type veth peer name eth0 netns {bert.holder.pid}")
    for name, host in ("anna", anna), ("bert", bert):
        host.run(f"ip address add {ADDRESSES[name]}/24 dev eth0; ip link set eth0 up")
        host.write("/etc/hosts", "".join(f"{address} {each}\n" for each, address in ADDRESSES.items()))

    anna.run("umask 022; " + commands)
    mode = anna.run("stat -c '%a %U' /etc/hamlyn/secret", stdout=subprocess.PIPE).stdout
    if mode != "600 hamlyn\n":
        sys.exit(f"the secret is of mode and user {mode}")
    secret = anna.run("base64 /etc/hamlyn/secret", stdout=subprocess.PIPE).stdout
    bert.run("mkdir -p /etc/hamlyn")
    bert.write("/etc/hamlyn/base64", secret)
    bert.run("umask 077; base64 -d /etc/hamlyn/base64 >/etc/hamlyn/secret; chown hamlyn /etc/hamlyn/secret")
    for host, config in (anna, of_anna), (bert, of_bert):
        host.write("/etc/hamlyn/hamlynd.toml", config)
        host.begin(SERVICE)

    deadline = time.monotonic() + PATIENCE
    for host in anna, bert:
        while "alive" not in (shown := host.run(f"{programs}/hamlyn node || true", stdout=subprocess.PIPE).stdout):
            if time.monotonic() > deadline:
                sys.exit(f"the nodes do not find each other:\n{shown}")
            time.sleep(0.05)
    print(shown, end="")

    with tempfile.TemporaryDirectory() as folder:
        original, copy = pathlib.Path(folder, "original.tar"), pathlib.Path(folder, "copy.tar")
        original.write_bytes(os.urandom(3000000))
        receiver = bert.begin(f"exec {programs}/hamlyn receive backup {copy}")
        anna.run(f"{programs}/hamlyn send backup {original}")
        if receiver.wait(PATIENCE) != 0 or copy.read_bytes() != original.read_bytes():
            sys.exit("what was sent has not come")


main(*sys.argv[1:])
