#!/usr/bin/env python3
"""The C interface is what src/c/abi.txt says, to the byte: functions, structures, numbers, exported symbols.

  abi.py C-COMPILER LIBRARY           checks
  abi.py C-COMPILER LIBRARY --write   writes the file anew, after a change that was meant

Something that is only added needs no more than that. When something has changed or gone, programs that were built
before would break: HAMLYN_ABI_VERSION in hamlyn/c.h has to be raised, too.
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

import tree

FOLDER = tree.ROOT / "include/hamlyn"
HEADERS = [FOLDER / "c.h", *sorted(path for path in FOLDER.glob("c/*.h") if path.stem != "rr"), FOLDER / "c/rr.h"]
RECORD = tree.ROOT / "src/c/abi.txt"
STRICT = ("-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror")


def declarations():
    """What the headers say: functions with their types, structures with their members, constants."""
    text = re.sub(r"//[^\n]*", "", "".join(header.read_text() for header in HEADERS))
    text = re.sub(r"^#define HAMLYN_NODISCARD.*", "", text, flags=re.MULTILINE).replace("HAMLYN_NODISCARD ", "")
    functions = {name: re.sub(r"\s+", " ", f"{result} {name}({arguments})")
                 for result, name, arguments in re.findall(r"^([\w ]+\*?) (\w+)\(([^;]*)\);", text, re.MULTILINE)}
    structures = {}
    for name, members in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.DOTALL):
        names = [re.search(r"\(\*(\w+)\)", each) or re.search(r"(\w+)(\[\d+\])?$", each)
                 for each in map(str.strip, members.split(";")) if each]
        structures[name] = [found[1] for found in names]
    constants = re.findall(r"^#define ((?:HAMLYN|RR)_\w+) ", text, re.MULTILINE)
    constants += re.findall(r"\b((?:HAMLYN|RR)_\w+) = ", text)
    return functions, structures, constants


def ignored(compiler):
    """The functions whose status a C program may ignore without a word of the compiler: there should be none."""
    text = "".join(header.read_text() for header in HEADERS)
    named = re.findall(r"^(HAMLYN_NODISCARD )?hamlyn_status (\w+)\(", text, re.MULTILINE)
    problems = [f"{name}: HAMLYN_NODISCARD does not stand before it" for marked, name in named if not marked]
    program = "#include <hamlyn/hamlyn.h>\nvoid f(void) { hamlyn_queue_free(0); }\n"
    made = subprocess.run([compiler, *STRICT, f"-I{tree.ROOT / 'include'}", "-S", "-o", "/dev/null", "-x", "c", "-"],
                          input=program, capture_output=True, text=True)
    return problems + ["a C program ignores a status, and the compiler is silent"] * ("unused-result" not in made.stderr)


def measure(compiler, library, functions, structures, constants):
    """The lines of a C program that was compiled with the header, strictly, and linked with the library."""
    lines = [f'printf("%s = %lld\\n", "{name}", (long long)({name}));' for name in constants]
    for name, members in structures.items():
        lines.append(f'printf("%s: %zu bytes\\n", "{name}", sizeof({name}));')
        lines += [f'printf("%s.%s: %zu bytes at %zu\\n", "{name}", "{member}", '
                  f"sizeof((({name}*)0)->{member}), offsetof({name}, {member}));" for member in members]
    program = ("#include <hamlyn/hamlyn.h>\n#include <hamlyn/c/job.h>\n#include <hamlyn/c/rpc.h>\n#include <hamlyn/c/rr.h>\n#include <hamlyn/c/splitc.h>\n#include <stdio.h>\n"
               "typedef void (*function)(void);\n"
               "static const function functions[] = {" + ", ".join(f"(function){name}" for name in functions) + "};\n"
               "int main(void) {\n  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i)\n"
               "    if (functions[i] == 0) return 1;\n  if (hamlyn_abi_version() != HAMLYN_ABI_VERSION) return 2;\n  "
               + "\n  ".join(lines) + "\n  return 0;\n}\n")
    with tempfile.TemporaryDirectory() as folder:
        source, out = pathlib.Path(folder, "abi.c"), pathlib.Path(folder, "abi")
        source.write_text(program)
        # C's own casts between kinds of functions are all that -Wextra has against this program.
        made = subprocess.run([compiler, *STRICT, "-Wno-cast-function-type", f"-I{tree.ROOT / 'include'}", source, library,
                               f"-Wl,-rpath,{pathlib.Path(library).parent}", "-o", out], capture_output=True, text=True)
        if made.returncode:
            tree.finish([made.stderr], "abi")
        ran = subprocess.run([out], capture_output=True, text=True)
        if ran.returncode:
            tree.finish([f"the program ended with {ran.returncode}"], "abi")
    return ran.stdout.splitlines()


def main(compiler, library, *more):
    functions, structures, constants = declarations()
    found = sorted(functions.values()) + measure(compiler, library, functions, structures, constants)
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in listed.splitlines() if " A " not in line}
    problems = ignored(compiler)
    problems += [f"exported and not declared: {name}" for name in sorted(exported - set(functions))]
    problems += [f"declared and not exported: {name}" for name in sorted(set(functions) - exported)]
    # The page's programs are some. Only compiling says which statuses they ignore.
    text = (tree.ROOT / "docs/c-interface.md").read_text()
    for program in re.findall(r"^```c\n(#include.*?)^```", text, re.MULTILINE | re.DOTALL):
        made = subprocess.run([compiler, *STRICT, f"-I{tree.ROOT / 'include'}", "-S", "-o", "/dev/null", "-x", "c", "-"],
                              input=program, capture_output=True, text=True)
        problems += made.stderr.splitlines()
    if "--write" in more:
        RECORD.write_text("\n".join(found) + "\n")
    problems += difflib.unified_diff(RECORD.read_text().splitlines(), found, "src/c/abi.txt", "what was built", lineterm="", n=0)
    if problems:
        problems.append("meant? then raise HAMLYN_ABI_VERSION, unless things were only added, and see abi.py --write")
    tree.finish(problems, f"abi, {len(functions)} functions, {len(structures)} structures")


main(*sys.argv[1:])
