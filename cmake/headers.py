"""The public headers, read as what they declare: each name with its declaration and the comment that it stands under."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "include/hamlyn"


def page_of(header):
    """The name of a header's page, of a path below FOLDER without its ending: the C interface and calls have names of other layers again."""
    folder, _, name = header.rpartition("/")
    return f"{folder}_{name}" if folder in ("c", "rpc", "splitc", "vi", "files") and name != "rr" else name


HEADERS = {page_of(name): name for name in sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.h"))}
C = [page for page, name in HEADERS.items() if name == "c" or name.startswith("c/")]
TYPE = re.compile(r"(?:template <[^>]*> )?(typedef struct|enum class|enum|class|struct) (?:\[\[nodiscard\]\] )?([\w:]+)[^;{(]*\{")
# What has no name of its own to say something of: what cannot be called, what is declared elsewhere, what is for compilers.
SKIPPED = re.compile(r"struct promise_type|static_assert|friend |(class|struct) \w+;|enum class [^{]*;|namespace|extern|.*= delete;|#(?!define)|\}")
POINTER = re.compile(r"\w+ \(\*(\w+)\)\(")  # to a function


class Item:
    """A declaration: kind, name, text without a body, comment, and what is declared inside of it."""

    def __init__(self, kind, name, text, comment, outer=None):
        self.kind, self.name, self.text, self.comment = kind, name, text, comment
        self.full = f"{outer}::{name}" if outer else name
        self.items = []

    def walk(self):
        yield self
        for item in self.items:
            yield from item.walk()


def code(line):
    return re.sub(r"(^|\s+)//.*", "", line)


def said(line):
    return re.sub(r"^.*?// ?", "", line)


def indent(line):
    return len(line) - len(line.lstrip())


def whole(text, ends):
    """Whether a declaration ends here."""
    if text.startswith("#"):
        return not text.endswith("\\")
    level = all(text.count(a) == text.count(b) for a, b in ("()", "{}"))
    return level and text.endswith(ends) or re.match(r"extern|(public|private|protected):$", text)


def pieces(lines, ends=(";", "}")):
    """The comment, the lines and the code of each declaration, and whether it stands right below another."""
    lines, comment, below = list(lines), [], False
    while lines:
        line = lines.pop(0)
        if not line.strip():
            comment, below = [], False
        elif not code(line).strip():
            comment += [] if line.startswith("// --- ") else [said(line)]
        else:
            taken = [line]
            while lines and not whole("\n".join(map(code, taken)).strip(), ends):
                taken.append(lines.pop(0))
            # A comment behind the end of a line, and where it goes on.
            while lines and "//" in taken[-1] and not code(lines[0]).strip() and indent(lines[0]) > indent(line) and lines[0].strip():
                taken.append(lines.pop(0))
            yield comment, taken, re.sub(r"\s+", " ", " ".join(map(code, taken))).strip(), below
            comment, below = [], True


def signature(text):
    """A declaration without what a function does."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == ")" and depth == 0 and not text[at + 1:].startswith("("):
            return text[:at + 1] + re.match(r"( const)?( noexcept)?( override)?( = \w+)?", text[at + 1:])[0] + ";"
    return text


def name_of(text):
    if text.startswith("#"):
        return re.match(r"#define (\w+)", text)[1]
    if text.startswith("using"):
        return re.match(r"using (\w+)", text)[1]
    if callback := re.match(r"typedef [\w *]+\(\*(\w+)\)\(", text):
        return callback[1]
    function = re.match(r"[^(={]*?(operator.+?|~?[\w:]+)\(", text)
    if function and not text.startswith("typedef") and not POINTER.match(text):
        return function[1]
    return (POINTER.match(text) or re.search(r"(\w+)(?:\[\w+\])?(?: = [^;]*|\{[^;]*\})?[;,]?$", text))[1]


def inside(taken):
    """The lines between the braces of a type; of one that stands in one line each member has a line."""
    if "}" in code(taken[0]):
        return [each + "," for each in code(taken[0]).partition("{")[2].partition("}")[0].split(",") if each.strip()]
    opening = next(at for at, line in enumerate(taken) if "{" in code(line))
    return taken[opening + 1:-1]


def scope(lines, outer=None, hidden=False):
    """The items of a scope whose members are public, unless `hidden`."""
    found, previous = [], None
    for comment, taken, text, below in pieces(lines):
        label = re.fullmatch(r"(public|private|protected):", text)
        if label:
            hidden = label[1] == "private"
        if hidden or label or (SKIPPED.match(text) and not (TYPE.match(text) and "promise_type" not in text)):
            continue
        kind = TYPE.match(text)
        if kind:
            item = Item(kind[1], kind[2], kind[0].rstrip(" {"), "\n".join(comment), outer)
            if "enum" in kind[1]:
                for above, at, value, _ in pieces(inside(taken), (",", "}")):
                    trailing = [said(line) for line in at if "//" in line]
                    item.items.append(Item("enumerator", re.match(r"\w+", value)[0], value.rstrip(","), " ".join(above + trailing),
                                           item.full if kind[1] == "enum class" else outer))
            else:
                item.items = scope(inside(taken), item.full, kind[1] == "class")
        else:
            comment += [" ".join(said(line) for line in taken if "//" in line)] if "//" in "".join(taken) and "{\n" not in "\n".join(taken) else []
            text = text if text.startswith(("#", "typedef", "using")) or POINTER.match(text) else signature(text)
            name = name_of(text)
            if "::" in name:  # of a class, behind it
                continue
            item = Item("function" if name + "(" in text and not text.startswith("#") else "value", name, text, "\n".join(comment), outer)
            # Right below a comment that names it, or that is of the same name, it needs none of its own.
            if not comment and below and previous and (previous.name == name or re.search(rf"\b{re.escape(name)}\b", previous.comment)):
                item.comment = previous.comment
        found.append(item)
        previous = item
    return found


def read(path):
    """The header's own comment, and its items."""
    text = path.read_text()
    lines = text.splitlines()
    end = next(at for at, line in enumerate(lines) if not line.startswith(("//", "#pragma")))
    intro = "\n".join(said(line) for line in lines[1:end])
    lines = lines[end:]
    return intro, scope(line for line in lines if not re.match(r"(\}  // )?namespace (hamlyn|hamlyn::splitc|rpc|vi|files)( \{)?$", line))


def explained(item, outer):
    """Whether what is there already says it: of its type, of its name, of the language."""
    name, text = item.name, item.text
    if item.kind == "enumerator" or name in ("size", "reserved") or name.endswith(("Options", "_options")):
        return True  # an enumerator by its enum; the rest by the top of hamlyn/c.h, and by their members
    if item.kind == "function" and (text.endswith("= default;") or "&& other" in text or name.startswith(("operator", "~")) or
                                    name == "interface" or re.fullmatch(r"hamlyn_\w+_free", name)):
        return True
    return bool(outer and re.search(rf"\b{re.escape(name)}\b", outer.comment))


def lacking(intro, items, outer=None):
    """The items that no comment says anything of. The first type of a header is what the header is of."""
    first = bool(intro) and not outer
    for item in items:
        is_type = bool(TYPE.match(item.text + " {"))
        if not item.comment and not (first and is_type) and not explained(item, outer):
            yield item
        first = first and not is_type
        yield from lacking(intro, item.items, item)
