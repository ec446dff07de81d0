"""The files of the source tree, for the style tests."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPP_FOLDERS = ("include", "src", "test", "examples", "bench")


def files(root=ROOT):
    """All files below `root` that belong to the tree: not those of version control and of builds, nor what a fuzzer wrote."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", "build", "corpus", "__pycache__"))
        for name in sorted(names):
            yield pathlib.Path(folder, name)


def cpp_files(root=ROOT, folders=CPP_FOLDERS):
    for folder in folders:
        yield from (path for path in files(root / folder) if path.suffix in (".h", ".cc", ".c"))


def finish(problems, what):
    """Prints the problems and ends the program with 1 if there are any."""
    for problem in problems:
        print(problem)
    print(f"{what}: {len(problems)} problem(s)")
    sys.exit(1 if problems else 0)
