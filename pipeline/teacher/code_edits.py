"""From a reference solution to the edits an agent would make, and to wrong ones."""

from __future__ import annotations

import ast
import difflib
import io
import random
import shlex
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.records import CodeTask, Json

Changes = Mapping[str, str | None]
MOST_EDITS = 5
"""A file that changes in more places is written anew."""
NEAR = 3
"""Changes with no more unchanged lines between them are one edit."""
SWAPS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "and": "or",
    "or": "and",
}


@dataclass(frozen=True, slots=True)
class Act:
    """A call before it has an id."""

    tool: str
    arguments: Mapping[str, Json]

    @property
    def path(self) -> str:
        return str(self.arguments.get("path", ""))

    @property
    def writes_python(self) -> bool:
        return self.tool in ("write_file", "edit") and self.path.endswith(".py")


def first_acts(task: CodeTask) -> list[Act]:
    """What is worth reading first: a read-me, what will change, and its visible tests; five files at most."""
    changed = [path for path in task.gold if path in task.files and task.files[path].strip()]
    beside = [path for path in task.files if path.endswith(("README.md", "README.rst"))][:1]
    tests = [path for path in task.files if path.startswith("tests/") and path.endswith(".py")][:1]
    return [Act("read_file", {"path": path}) for path in dict.fromkeys([*beside, *changed[:3], *tests])]


def plan_acts(task: CodeTask, changes: Changes) -> list[Act]:
    """Calls that turn the repository into `changes`."""
    acts: list[Act] = []
    for path, text in changes.items():
        before = task.files.get(path)
        if text is None:
            acts.append(Act("bash", {"command": f"rm {shlex.quote(path)}"}))
        elif before is None or not before.strip():
            acts.append(Act("write_file", {"path": path, "content": text}))
        else:
            acts += _edits(path, before, text)
        if text is not None and path in task.executable and before is None:
            acts.append(Act("bash", {"command": f"chmod +x {shlex.quote(path)}"}))
    return acts


def _edits(path: str, before: str, after: str) -> list[Act]:
    """Edits from the top down, neighbors joined; the whole file where it changes too much to follow."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    places: list[list[int]] = []
    for kind, *place in matcher.get_opcodes():
        if kind == "equal":
            continue
        if places and place[0] - places[-1][1] <= NEAR:
            places[-1] = [places[-1][0], place[1], places[-1][2], place[3]]
        else:
            places.append(place)
    acts: list[Act] = []
    now = before
    if len(places) <= MOST_EDITS and matcher.ratio() > 0.35:
        for number, (start, end, new_start, new_end) in enumerate(places):
            low = places[number - 1][1] if number else 0
            high = places[number + 1][0] if number + 1 < len(places) else len(old)
            found = _unique(now, old, (start, end), (low, high))
            if found is None:
                break
            first, last = found
            lines = [*old[first:start], *new[new_start:new_end], *old[end:last]]
            pair = "".join(old[first:last]), "".join(lines)
            acts.append(Act("edit", {"path": path, "old": pair[0], "new": pair[1]}))
            now = now.replace(*pair)
    return acts if acts and now == after else [Act("write_file", {"path": path, "content": after})]


def _unique(
    text: str, lines: Sequence[str], place: tuple[int, int], bounds: tuple[int, int]
) -> tuple[int, int] | None:
    """The smallest run of whole lines around `place`, within `bounds`, that occurs once in `text`."""
    start, end = place
    for more in range(bounds[1] - bounds[0] + 1):
        first, last = max(bounds[0], start - more), min(bounds[1], end + more)
        piece = "".join(lines[first:last])
        if piece.strip() and text.count(piece) == 1:
            return first, last
    return None


def spoiled(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """An edit whose old text is copied inexactly: other quotes, another indent, or a space too many."""
    old = str(arguments["old"])
    if '"' in old:
        wrong = old.replace('"', "'")
    elif "\n    " in old.rstrip("\n"):
        wrong = old.replace("\n    ", "\n  ")
    else:
        wrong = old.replace("\n", " \n", 1) if "\n" in old else old + " "
    return {**arguments, "old": wrong}


def mutated(task: CodeTask, changes: Changes, rng: random.Random) -> dict[str, str | None]:
    """The changes with one operator or number of a new line put wrong; as they are when there is none."""
    spots: list[tuple[str, tokenize.TokenInfo, str]] = []
    for path, text in changes.items():
        if text is not None and path.endswith(".py"):
            known = set(task.files.get(path, "").splitlines())
            spots += [
                (path, token, wrong) for token, wrong in _spots(text) if token.line.rstrip("\n") not in known
            ]
    if not spots:
        return dict(changes)
    path, token, wrong = spots[rng.randrange(len(spots))]
    lines = str(changes[path]).splitlines(keepends=True)
    row, start, end = token.start[0] - 1, token.start[1], token.end[1]
    lines[row] = lines[row][:start] + wrong + lines[row][end:]
    return {**changes, path: "".join(lines)}


def _spots(text: str) -> list[tuple[tokenize.TokenInfo, str]]:
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.OP, tokenize.NAME) and token.string in SWAPS:
                found.append((token, SWAPS[token.string]))
            elif token.type == tokenize.NUMBER and token.string.isdigit():
                found.append((token, str(int(token.string) + 1)))
    except (tokenize.TokenError, SyntaxError):
        return []
    return found


def own_check(task: CodeTask) -> str:
    """A small test of the wanted behavior, as an agent would write one: one test of those that decide, with what it
    needs of its file. Empty when there is none that stands on its own."""
    for test in task.fail_to_pass:
        path, _, name = test.partition("::")
        text = task.tests.get(path, "")
        if "[" in name or "::" in name or "__file__" in text or "subprocess" in text:
            continue
        tree = ast.parse(text)
        kept = [node for node in tree.body if _is_kept(node, name)]
        return ast.unparse(ast.Module(kept, [])) + "\n"
    return ""


def _is_kept(node: ast.stmt, name: str) -> bool:
    return not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_") or node.name == name


def changed_names(before: str, after: str) -> list[str]:
    """Functions and classes (methods with their class) whose source differs."""
    old, new = _definitions(before), _definitions(after)
    changed = [name for name, source in new.items() if old.get(name) != source]
    inner = {name.rpartition(".")[0] for name in changed}
    return [name for name in changed if name not in inner]


def _definitions(text: str) -> dict[str, str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found[node.name] = ast.unparse(node)
            for part in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                    found[f"{node.name}.{part.name}"] = ast.unparse(part)
    return found
