#!/usr/bin/env python3
"""The time that each layer takes of scripts/test, against its budget.

  budget.py BUILD...       prints the table of these build folders, and checks it
  budget.py --self-test    checks that this program sees what it is there to see

Compiling counts by the folder of the source, in the release build, in processor time (cmake/processor_time.sh). Testing
counts by label, in all builds, as the clock shows it: those of the last time that each test was run, added up.
Where a compiler cache is used, what was compiled says nothing of what it takes: then compiling is shown, and not checked.
A busy machine takes longer by the clock. So a layer is over its budget if it takes more than SLACK times its budget where
all layers together keep theirs, and in proportion where all are slower.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Seconds on two processors of 2.4 GHz. A new family of protocols has 30 and 10. Five of them simulate.
FAMILY = (30, 10)
COMPILE = {"tool": 180, "library": 100, "simulation": 80, "interface": 65, "node": 60, "fabric": 45, "protocols": 40,
           "daemon": 30, "segment": 30, "base": 20, "c": 35}
TESTS = {"process": 280, "simulation": 230, "model": 140, "hostile": 115, "style": 105, "threads": 60, "conformance": 50,
         "examples": 35, "unit": 35, "host": 25, "fuzz": 25, "chaos": 20, "memory": 10}
SLACK = 2.0


def seconds(times):
    """Processor seconds of the children of a shell, by the second line of its `times`."""
    return sum(60 * int(minutes) + float(rest) for minutes, rest in re.findall(r"(\d+)m([\d.]+)s", times.splitlines()[1]))


def compiled(build):
    """Processor seconds of each layer."""
    layers = collections.Counter()
    for path in (build / "src").rglob("*.times"):
        if not path.with_suffix("").exists():
            continue  # of a source that has gone
        layers[path.relative_to(build / "src").parts[0]] += seconds(path.read_text())
    return layers


def cached(cache):
    """Whether a build's CMakeCache.txt names a launcher of the compiler, which is a cache of it."""
    return re.search(r"^CMAKE_CXX_COMPILER_LAUNCHER:\w+=.", cache, re.MULTILINE) is not None


def tested(costs, labels):
    """Seconds of each label by CTest's table of costs. `labels`: of each test that there is."""
    layers = collections.Counter()
    for line in costs.split("---")[0].splitlines():
        name, _, seconds = line.rsplit(" ", 2)
        if name in labels:
            layers[labels[name]] += float(seconds)
    return layers


def over(taken, budgets, default):
    """The layers over their budgets, with what they may take here."""
    allowed = {layer: budgets.get(layer, default) for layer in taken}
    slow = max(1.0, sum(taken.values()) / max(sum(allowed.values()), 1))
    return {layer: allowed[layer] * slow * SLACK for layer in taken if taken[layer] > allowed[layer] * slow * SLACK}


def labels_of(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return {test["name"]: value["value"][0] for test in json.loads(listed.stdout)["tests"]
            for value in test.get("properties", []) if value["name"] == "LABELS"}


def table(title, taken, budgets, default):
    print(f"\n{title:24} {'seconds':>8} {'budget':>8}")
    for layer, seconds in sorted(taken.items(), key=lambda each: -each[1]):
        print(f"{layer:24} {seconds:8.0f} {budgets.get(layer, default):8.0f}")


def main(builds):
    taken, tests, checked = collections.Counter(), collections.Counter(), True
    for build in builds:
        build = pathlib.Path(build)
        if build.name == "release":
            taken += compiled(build)
            checked = not cached((build / "CMakeCache.txt").read_text())
        costs = build / "Testing/Temporary/CTestCostData.txt"
        if costs.exists():
            tests += tested(costs.read_text(), labels_of(build))
    table("compiling", taken, COMPILE, FAMILY[0])
    table("testing", tests, TESTS, FAMILY[1])
    wrong = [(kind, layer, most) for kind, *what in (("compiling", taken, COMPILE, FAMILY[0]), ("testing", tests, TESTS, FAMILY[1]))
             if checked or kind != "compiling" for layer, most in over(*what).items()]
    for kind, layer, most in wrong:
        print(f"{kind} {layer} takes more than {most:.0f} s: make it smaller (test/style/budget.py has the budgets)")
    return bool(wrong)


def self_test():
    assert seconds("0m0.01s 0m0.02s\n1m2.5s 0m0.25s\n") == 62.75
    with tempfile.TemporaryDirectory() as folder:
        for name, times in (("src/rpc/x.dir/a.o", 1), ("src/rpc/x.dir/deep/b.o", 2), ("src/rpc/gone.o", 8), ("test/b.o", 4)):
            path = pathlib.Path(folder, name + ".times")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"0m0s 0m0s\n0m{times}s 0m0s\n")
            if "gone" not in name:
                path.with_suffix("").touch()
        assert compiled(pathlib.Path(folder)) == {"rpc": 3.0}
    assert cached("A:STRING=\nCMAKE_CXX_COMPILER_LAUNCHER:UNINITIALIZED=ccache\n")
    assert not cached("CMAKE_CXX_COMPILER_LAUNCHER:STRING=\nB:STRING=ccache\n")
    assert tested("a 3 1.5\nb 1 2\ngone 1 9\n---\na\n", {"a": "unit", "b": "unit"}) == {"unit": 3.5}
    assert over({"a": 19, "b": 10}, {"a": 10, "b": 10}, 1) == {}, "within the slack"
    assert list(over({"a": 40, "b": 10}, {"a": 10, "b": 40}, 1)) == ["a"]
    assert over({"a": 40, "b": 40}, {"a": 10, "b": 10}, 1) == {}, "a slow machine"
    assert list(over({"a": 40, "b": 40, "rpc": 90}, {"a": 20, "b": 20}, 10)) == ["rpc"], "a new family, on a slow machine"


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        sys.exit(main(sys.argv[1:]))
