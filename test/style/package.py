#!/usr/bin/env python3
"""The Debian package has what it should, and a program can be built against it and run, in an empty root.

  package.py PACKAGE C-COMPILER    of a package that is there
  package.py BUILD C-COMPILER      of one that is made of a build
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tree

# Below the prefix; the library's folder depends on the prefix.
HOLDS = (
    r"bin/hamlyn", r"bin/hamlynd", r"include/hamlyn/hamlyn\.h", r"include/hamlyn/c\.h", r"include/hamlyn/protocols/stream\.h",
    r"lib/.*libhamlyn\.so", r"lib/.*libhamlyn\.so\.0", r"lib/.*libhamlyn_protocols\.a", r"lib/.*libhamlyn_c\.a",
    r"lib/.*pkgconfig/hamlyn\.pc", r"lib/.*pkgconfig/hamlyn-c\.pc", r"include/vipl\.h", r"include/am\.h", r"lib/.*libam\.so\.2", r"lib/.*pkgconfig/am\.pc", r"lib/.*libvipl\.so\.1", r"lib/.*pkgconfig/vipl\.pc", r"lib/.*cmake/hamlyn/hamlyn-config\.cmake",
    r"lib/systemd/system/hamlynd\.service", r"lib/sysusers\.d/hamlyn\.conf",
    r"share/man/man1/hamlyn\.1", r"share/man/man1/hamlyn-send\.1", r"share/man/man3/hamlyn\.3", r"share/man/man8/hamlynd\.8",
    r"share/doc/hamlyn/LICENSE", r"share/doc/hamlyn/docs/c-interface\.md", r"share/doc/hamlyn/docs/reference/index\.md",
    r"share/doc/hamlyn/docs/reference/stream\.md", r"share/doc/hamlyn/examples/hello_c\.c",
)
# Test ground: programs and libraries of the build tree alone.
LACKS = (r"bin/hamlyn-(?!mount$).*", r"bin/hamlyn[a-z]+-.*", r"lib/.*(simulation|fabric_sim|books|perf).*")
NEEDS = ("libc6", "libstdc++6", "libfmt", "libspdlog", "libsodium", "libtomlplusplus", "libxxhash")
SCRIPTS = ("postinst", "prerm", "postrm")


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **more)
    if done.returncode:
        tree.finish([f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}"], "package")
    return done.stdout


def look(package, scratch):
    """What is wrong with what the package says of itself and holds."""
    fields = dict(re.findall(r"^(\S+): (.*)$", run("dpkg-deb", "-f", package), re.MULTILINE))
    needed = {need.split()[0] for need in fields.get("Depends", "").split(", ")}
    problems = [f"does not depend on {need}" for need in NEEDS if not any(each.startswith(need) for each in needed)]
    if "libfabric1" not in fields.get("Recommends", "").split(", "):
        problems.append("does not bring libfabric1, without which nothing goes to other hosts")
    version = re.search(r"VERSION ([\d.]+)", (tree.ROOT / "CMakeLists.txt").read_text().split("project(")[1])[1]
    for field, value in {"Package": "hamlyn", "Version": version,
                         "Architecture": run("dpkg", "--print-architecture").strip()}.items():
        if fields.get(field) != value:
            problems.append(f"{field} is {fields.get(field)}, not {value}")
    for line in run("dpkg-deb", "-c", package).splitlines():
        mode, owner = line.split()[:2]
        if owner != "root/root" or (mode[0] != "l" and (mode[5] == "w" or mode[8] == "w" or "s" in mode.lower())):
            problems.append(f"a file with an owner or mode that it should not have: {line}")
    control = scratch / "control"
    run("dpkg-deb", "-e", package, control)
    for script in SCRIPTS:
        if not os.access(control / script, os.X_OK):
            problems.append(f"no {script} that could be run")
        else:
            run("sh", "-n", control / script)
    if "ldconfig" not in (control / "triggers").read_text():
        problems.append("ldconfig is not told of the library")
    return problems


def main(given, compiler):
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        package = pathlib.Path(given)
        if package.is_dir():
            run("cpack", "-G", "DEB", "--config", package / "CPackConfig.cmake", "-B", scratch)
            package = next(scratch.glob("hamlyn_*.deb"))
        problems = look(package, scratch)

        root = scratch / "root"
        run("dpkg-deb", "-x", package, root)
        pc = next(root.rglob("hamlyn-c.pc"), None)
        unit = next(root.rglob("hamlynd.service"), None)
        if pc is None or unit is None:
            tree.finish([*problems, "no hamlyn-c.pc, or no hamlynd.service"], "package")
        prefix = unit.parents[3]
        inside = [str(path.relative_to(prefix)) for path in prefix.rglob("*")]
        problems += [f"does not hold {name}" for name in HOLDS if not any(re.fullmatch(name, path) for path in inside)]
        problems += [f"holds {path}, which is test ground" for path in inside if any(re.fullmatch(name, path) for name in LACKS)]
        if "\nStartLimitIntervalSec=0\n" not in unit.read_text():
            problems.append("the service is given up where the network comes later than it")
        started = re.search(r"^ExecStart=(\S+)", unit.read_text(), re.MULTILINE)[1]
        if not os.access(root / started.lstrip("/"), os.X_OK):
            problems.append(f"the service starts {started}, which the package does not hold")
        library = next(root.rglob("libhamlyn.so.0"), None)
        for binary in [prefix / "bin/hamlyn", prefix / "bin/hamlynd", library]:
            dynamic = run("readelf", "-d", binary)
            if "RUNPATH" in dynamic or "RPATH" in dynamic:
                problems.append(f"{binary.name} looks for libraries where it was built")
        if problems:
            tree.finish(problems, "package")

        # As a user would: the example out of the package, against the package, with its daemon.
        flags = run("pkg-config", "--cflags", "--libs", "hamlyn-c", env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}).split()
        run(compiler, "-std=c11", prefix / "share/doc/hamlyn/examples/hello_c.c", "-o", scratch / "hello_c", *flags)
        run(sys.executable, "-B", tree.ROOT / "test/examples/run.py", prefix / "bin/hamlynd", scratch / "hello_c",
            env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)})
    tree.finish([], "package")


main(*sys.argv[1:])
