"""Arguments that a tool takes and makes nothing of: whatever is given, result and effect are the same.

Only evidence counts: starting from calls that witnesses show, one argument at a time is changed, and an argument is
ignored when none of the changed calls ends differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from pipeline.records import Call, Failure, Json, ToolSpec, canonical_json
from pipeline.worlds.sql import SqlWorld

Made = tuple[tuple[Call, ...], dict[str, Json]]
"""A call that a witness shows: what came before it, and its arguments."""
_BASES = 40
_TRIES = 150
"""Changed calls for one argument before it counts as ignored."""
_ODD: dict[str, tuple[Json, ...]] = {
    "integer": (0, 1, 2, -1, 7, 1_000_000),
    "number": (0.0, 1.0, 0.5, -1.0, 1e6),
    "boolean": (True, False),
    "string": ("", "x", "2000-01-01", "2099-12-31", "zzzz"),
    "array": ([], ["x"], [1]),
    "object": ({}, {"x": 1}),
}


def ignored_arguments(live: SqlWorld, tool: ToolSpec, shown: Sequence[Sequence[Made]]) -> Iterator[str]:
    """The names of arguments that no changed call proves to matter; `live` is left in the seed state.

    `shown`: the calls of each witness; all witnesses are heard, since an argument may matter in one case only.
    """
    made = [one for turn in zip_longest(*shown) for one in turn if one is not None]
    for name, schema in tool.input_schema.get("properties", {}).items():
        if made and not _matters(live, tool, name, schema, made[:_BASES]):
            yield name
    live.reset()


def _matters(live: SqlWorld, tool: ToolSpec, name: str, schema: Json, made: Sequence[Made]) -> bool:
    ends: dict[int, str] = {}
    for number, value in islice(_changed(tool, name, schema, made), _TRIES):
        before, arguments = made[number]
        if number not in ends:
            ends[number] = _end(live, tool, before, arguments)
        other = {key: given for key, given in arguments.items() if key != name}
        if value is not _ABSENT:
            other[name] = value
        end = _end(live, tool, before, other)
        if end != ends[number] and str(Failure.INVALID_ARGUMENTS) not in (end, ends[number]):
            return True
    return False


_ABSENT = object()


def _changed(
    tool: ToolSpec, name: str, schema: Json, made: Sequence[Made]
) -> Iterator[tuple[int, Json | object]]:
    """(which call, another value for the argument): one value for all calls, then the next."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    kind = kind[0] if isinstance(kind, list) else kind
    seen = [arguments[name] for _, arguments in made if name in arguments]
    values: list[Json | object] = [*schema.get("enum", ()), *seen[:12], *_ODD.get(str(kind), ())]
    if name not in tool.input_schema.get("required", ()):
        values.insert(0, _ABSENT)
    told: set[str] = set()
    for value in values:
        key = "" if value is _ABSENT else canonical_json(value)
        if key in told:
            continue
        told.add(key)
        for number, (_, arguments) in enumerate(made):
            given = canonical_json(arguments[name]) if name in arguments else ""
            if given != key:
                yield number, value


def _end(live: SqlWorld, tool: ToolSpec, before: Sequence[Call], arguments: dict[str, Json]) -> str:
    """Everything a caller or a check could tell this call by."""
    live.reset()
    live.replay(before)
    result = live.call(tool.name, arguments)
    if not result.ok:
        return (result.error or ("",))[0]
    return canonical_json([result.value, [str(change) for change in live.changes()]])
