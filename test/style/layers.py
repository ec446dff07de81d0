#!/usr/bin/env python3
"""Each #include, and each link between targets of layers, points down only. Public headers show no internal namespace.
No cast leads to a link of a fabric: who needs one asks Link::local().

  layers.py             checks the tree
  layers.py --self-test checks that this program sees what it is there to see
"""
import pathlib
import re
import sys
import tempfile

import tree

# What a layer may include besides its own files. A folder of public headers is a layer, too: it includes no private header, and
# none of a folder above it. The layers that implement it include it.
PUBLIC = ("hamlyn/values", "hamlyn/core", "hamlyn/protocols", "hamlyn/segment", "hamlyn/rpc", "hamlyn/job", "hamlyn/splitc", "hamlyn/vi", "hamlyn/am", "hamlyn/files", "hamlyn/c")
MAY_INCLUDE = {
    "hamlyn/values": set(),
    "hamlyn/core": {"hamlyn/values"},
    "hamlyn/protocols": {"hamlyn/values", "hamlyn/core"},
    "hamlyn/segment": {"hamlyn/values", "hamlyn/core"},
    "hamlyn/rpc": {"hamlyn/values", "hamlyn/core", "hamlyn/protocols"},
    "hamlyn/job": {"hamlyn/values", "hamlyn/core"},
    "hamlyn/splitc": {"hamlyn/values", "hamlyn/core", "hamlyn/job"},
    "hamlyn/vi": {"hamlyn/values", "hamlyn/core"},
    "hamlyn/am": {"hamlyn/values", "hamlyn/core"},
    "hamlyn/files": {"hamlyn/values", "hamlyn/core"},
    "hamlyn/c": set(),
    "hamlyn": set(PUBLIC),  # hamlyn/hamlyn.h, which has all of them
    "base": {"hamlyn/values"},
    "interface": {"hamlyn/values", "base"},
    "fabric": {"hamlyn/values", "base", "interface"},
    "node": {"hamlyn/values", "base"},  # the daemon moves no data: it knows neither interface nor fabric
    "library": {"hamlyn/values", "hamlyn/core", "base", "interface", "fabric", "node"},
    "protocols": {"hamlyn/values", "hamlyn/core", "hamlyn/protocols", "base", "library"},
    "segment": {"hamlyn/values", "hamlyn/core", "hamlyn/segment", "base", "interface", "fabric", "node", "library"},
    "rpc": {"hamlyn/values", "hamlyn/core", "hamlyn/rpc", "base", "fabric", "library", "protocols"},
    "job": {"hamlyn/values", "hamlyn/core", "hamlyn/job", "hamlyn", "hamlyn/rpc", "base", "library", "rpc"},  # hamlyn: hamlyn/rpc.h
    "splitc": {"hamlyn/values", "hamlyn/core", "hamlyn/segment", "hamlyn/job", "hamlyn/splitc", "hamlyn", "base", "library", "segment", "job", "vi"},  # hamlyn: hamlyn/splitc.h
    "vi": {"hamlyn/values", "hamlyn/core", "hamlyn/vi", "include", "base", "library", "protocols"},  # include: vipl.h
    "am": {"hamlyn/values", "hamlyn/core", "hamlyn/job", "hamlyn/vi", "hamlyn/am", "include", "base", "library", "protocols", "job", "vi"},  # include: am.h
    "files": {"hamlyn/values", "hamlyn/core", "hamlyn/segment", "hamlyn/rpc", "hamlyn/files", "hamlyn", "base", "library", "node", "rpc", "segment"},  # hamlyn: hamlyn/rpc.h
    "mount": {"hamlyn/values", "hamlyn/core", "base", "files", "tool"},
    "simulation": {"hamlyn/values", "hamlyn/core", "base", "interface", "fabric", "library"},  # no books: those are tests
    "daemon": {"hamlyn/values", "base", "node", "segment"},
    "c": {*PUBLIC, "hamlyn", "base", "job", "library", "protocols", "rpc", "segment", "splitc"},
    "tool": {*PUBLIC, "hamlyn", "base", "node", "library", "protocols", "segment", "rpc", "job", "splitc", "vi", "am", "files"},
    "examples": {*PUBLIC, "hamlyn", "include"},  # what a user could write
}
# A layout that a process shows to whoever may look, and nothing of the interface's code.
SHOWN = {("tool", "src/interface/counters.h")}
LAYERS = ("base", "interface", "fabric", "node", "library", "protocols", "simulation", "segment", "rpc", "job", "vi", "splitc", "am", "files", "daemon", "c", "tool", "mount")
# Headers of the library that only the library itself includes: the layers above wait by library/wait/waiting.h. Beside it the simulation
# does, which stands in the place of the control thread, and a meter of what a refusal costs.
ENGINE = "src/library/engine.h"
ENGINES_OWN = ("src/library/", "src/simulation/host/", "src/tool/perf/our_refusal.cc")
# The parts of the node layer: what a process needs of it, the daemon's mind without socket or clock, and the daemon with both.
PART = re.compile(r"src/node/(\w+)/")
NODE_PARTS = {"client": {"client"}, "mind": {"client", "mind", "cluster"}, "cluster": {"client", "mind", "cluster"},
              "server": {"client", "mind", "cluster", "server"}}
PROCESS = ("library", "protocols", "rpc", "job", "splitc", "vi", "am", "files", "tool")  # layers of a process, which knows the client's part alone
# Tests and benchmarks look at every layer, but nobody looks at them.
OUTSIDE = ("test", "bench")
# The namespaces that a public header may open, a family's own among them: a user who says `using namespace hamlyn` may use each
# other word.
OPENED = re.compile(r"^\s*(?:inline )?namespace (?!hamlyn\b|internal_\b|rpc \{|vi \{|am \{|files \{)(\w+)[\w:]* \{|^namespace hamlyn::(?!internal_\b|splitc \{)(\w+)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# A cast from Link to a fabric's own link: with one more kind of link it would be undefined.
CAST = re.compile(r"\b(?:static|dynamic|reinterpret)(?:_pointer)?_cast<\s*(?:const\s+)?(?:\w+::)*(?!Link\b)(\w+Link)\b|\b(?:bit|any)_cast<[^>]*?(\w+Link)\s*\*")
LINK = re.compile(r"hamlyn_layer\s*\(\s*(\w+)([^)]*)\)")


def layer(path):
    """The layer of a path that is relative to the root, and its kind of fabric if it has one."""
    parts = path.parts
    if parts[:2] == ("include", "hamlyn"):
        return ("hamlyn/c" if parts[2] == "c.h" else "/".join(parts[1:-1])), None
    if parts[0] == "src" and parts[1] in LAYERS:
        kind = parts[2] if parts[1] == "fabric" and len(parts) > 3 else None
        return parts[1], kind
    return parts[0], None


def resolve(root, included, quote):
    """The file that an #include of ours means, relative to the root; None for somebody else's."""
    for folder in ("include", "src", ""):
        path = pathlib.Path(folder, included)
        if (root / path).is_file() and path.parts[0] in ("include", "src", "examples", *OUTSIDE):
            return path
    if quote == '"':
        raise LookupError(f'"{included}" is no file below include/ or src/: write it from there')
    return None


def check_include(root, path, quote, included):
    """What is wrong with one #include, or None."""
    if path.parts[0] in ("examples", "bench") and (root / path.parent / included).is_file():
        return None  # a program of a user's own has headers beside it
    try:
        target = resolve(root, included, quote)
    except LookupError as error:
        return str(error)
    if target is None:
        return None
    (from_layer, from_kind), (to_layer, to_kind) = layer(path), layer(target)
    if from_layer in OUTSIDE:
        return None
    if target == pathlib.Path(ENGINE) and not str(path).startswith(ENGINES_OWN):
        return f"only the library includes its engine: wait by library/wait/waiting.h ({included})"
    if (from_layer, str(target)) in SHOWN:
        return None
    if to_layer != from_layer and to_layer not in MAY_INCLUDE[from_layer]:
        return f"{from_layer} may not include {to_layer} ({included})"
    to_part, from_part = PART.match(str(target)), PART.match(str(path))
    if to_part and from_part and to_part[1] not in NODE_PARTS[from_part[1]]:
        return f"node/{from_part[1]} may not include node/{to_part[1]} ({included})"
    if to_part and from_layer in PROCESS and to_part[1] != "client":
        return f"{from_layer} may include node/client alone ({included})"
    if from_layer == to_layer and to_kind not in (None, from_kind):
        return f"{from_kind or 'fabric'} may not include another fabric, {to_kind} ({included})"
    return None


def problems(root):
    found = []
    for path in tree.cpp_files(root):
        inside = path.relative_to(root)
        text = path.read_text()
        for match in INCLUDE.finditer(text):
            wrong = check_include(root, inside, *match.groups())
            if wrong:
                line = text.count("\n", 0, match.start(1)) + 1
                found.append(f"{inside}:{line}: {wrong}")
        for match in CAST.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{inside}:{line}: a cast to {match[1] or match[2]}: ask the link for local()")
        if inside.parts[0] == "include":
            found += [f"{inside}: a public header names the namespace {''.join(filter(None, names))}: put it into internal_" for names in OPENED.findall(text)]
    for path in sorted((root / "src").rglob("CMakeLists.txt")):
        for name, rest in LINK.findall(path.read_text()):
            # A kind of fabric is named fabric_<kind>, or as the kind itself.
            from_layer = layer((path.parent / "x.cc").relative_to(root))[0]
            for needed in re.findall(r"\bhamlyn_(\w+)", rest):
                to_layer = next((each for each in LAYERS if needed.startswith(each)), "fabric")
                if to_layer != from_layer and to_layer not in MAY_INCLUDE.get(from_layer, ()):
                    found.append(f"{path.relative_to(root)}: hamlyn_{name} may not need hamlyn_{needed}")
    return found


def self_test():
    good = {
        "include/hamlyn/values/ticket.h": "",
        "include/hamlyn/core/slot.h": '#include "hamlyn/values/ticket.h"\n',
        "src/base/fd.h": "#include <vector>\n",
        "src/interface/slot.h": '#include "base/fd.h"\n#include "hamlyn/values/ticket.h"\n',
        "src/fabric/fabric.h": '#include "interface/slot.h"\n',
        "src/fabric/shm/ring.h": '#include "fabric/fabric.h"\n',
        "src/fabric/sim/sim.h": '#include "fabric/fabric.h"\n',
        "src/simulation/run.h": '#include "fabric/sim/sim.h"\n',
        "src/simulation/host/run.h": '#include "library/engine.h"\n',
        "src/node/mind/node.h": '#include "base/fd.h"\n',
        "src/node/server/server.h": "",
        "src/library/engine.h": '#include "fabric/shm/ring.h"\n#include "hamlyn/core/slot.h"\n',
        "src/interface/counters.h": "",
        "src/library/wait/waiting.h": "",
        "src/library/wait.cc": '#include "library/engine.h"\n',
        "src/protocols/stream.cc": '#include "library/wait/waiting.h"\n',
        "src/c/stream.cc": '#include "protocols/stream.h"\n#include "hamlyn/core/slot.h"\n',
        "src/protocols/stream.h": "",
        "src/tool/main.cc": '#include "library/wait/waiting.h"\n#include "interface/counters.h"\n',
        "test/unit/a.cc": '#include "fabric/sim/sim.h"\n#include "test/simulation/books/book.h"\n',
        "test/simulation/books/book.h": '#include "simulation/run.h"\n',
        "examples/hello.cc": "#include <hamlyn/core/slot.h>\n",
        "src/node/CMakeLists.txt": "hamlyn_layer(node SOURCES a.cc NEEDS hamlyn_base)\n",
        "src/base/to_link.h": "auto& a = static_cast<interface::Link&>(b);\nshm::ShmLink* c = a.local();\n",
    }
    bad = {
        "include/hamlyn/values/mode.h": '#include "hamlyn/core/slot.h"\n',
        "include/hamlyn/core/terminus.h": '#include "base/fd.h"\n',
        "src/base/up.cc": '#include "interface/slot.h"\n',
        "src/interface/up.cc": '#include "fabric/fabric.h"\n',
        "src/base/class.cc": "#include <hamlyn/core/slot.h>\n",
        "src/fabric/up.cc": '#include "fabric/shm/ring.h"\n',
        "src/fabric/shm/side.cc": '  #  include "fabric/sim/sim.h"\n',
        "src/simulation/up.cc": '#include "protocols/stream.h"\n',
        "src/simulation/judges.cc": '#include "test/simulation/books/book.h"\n',
        "src/tool/simulates.cc": '#include "simulation/run.h"\n',
        "src/library/simulated.cc": '#include "simulation/run.h"\n',
        "src/library/above.cc": '#include "protocols/above.h"\n',
        "src/protocols/above.h": '#include "node/mind/node.h"\n',
        "src/protocols/up.cc": '#include "c/above.h"\n',
        "src/protocols/engine.cc": '#include "library/engine.h"\n',
        "src/c/above.h": '#include "node/mind/node.h"\n',
        "src/node/data.cc": '#include "fabric/fabric.h"\n',
        "src/library/up.cc": '#include "test/unit/a.h"\n',
        "src/library/daemon.cc": '#include "node/mind/node.h"\n',
        "src/node/client/up.cc": '#include "node/mind/node.h"\n',
        "src/node/mind/up.cc": '#include "node/server/server.h"\n',
        "src/tool/deep.cc": '#include "interface/slot.h"\n',
        "src/base/relative.cc": '#include "../base/fd.h"\n',
        "examples/inside.c": '#include "library/engine.h"\n',
        "examples/inside.cc": '#include "library/engine.h"\n',
        "src/library/casts.cc": "auto& a = static_cast<shm::ShmLink&>(b);\n",
        "src/library/casts_pointer.cc": "auto* const a = static_cast<const\n shm::ShmLink*>(b);\n",
        "test/unit/casts.cc": "auto* a = dynamic_cast<OfiLink*>(b);\n",
        "bench/casts.cc": "auto* a = std::bit_cast<const sim::SimLink*>(b);\n",
        "src/base/CMakeLists.txt": "hamlyn_layer(base SOURCES a.cc\n NEEDS hamlyn_node)\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)

        def write(files):
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)

        write({**good, "test/unit/a.h": ""})
        wrong = [f"refused, though right: {problem}" for problem in problems(root)]
        write(bad)
        named = {problem.split(":")[0] for problem in problems(root)}
        wrong += [f"not seen: {name}" for name in sorted(set(bad) - named)]
    tree.finish(wrong, "layers' self test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    tree.finish(problems(tree.ROOT), "layers")
