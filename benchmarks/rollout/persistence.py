"""Facts that calls wrote, looked for in the results of later calls."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from pipeline.records import Json, Snapshot, World
from pipeline.stages.context import Context
from pipeline.stages.stored import stored
from pipeline.store import RunFolder
from pipeline.worlds.mixed import parts_of
from pipeline.worlds.sql import SqlWorld
from tests.worlds.hosts import CASES


def persistence(folder: RunFolder) -> None:
    """Facts that calls wrote, looked for in the results of later calls of the same episode, and at its end in those of
    every read-only tool that the changed rows give arguments for.

    A fact is a cell of a row that a call changed, as the engine noted it then. A later result speaks of it when it holds
    the row's key and a column of that name which no other table of the world has. Answers that an injected fault made stale
    are left out: they are old on purpose, and the event says so. Nothing is as written, too, where a tool's own SQL puts
    a word in its place (`coalesce(cleared, 'still open')`), and shows that word.
    """
    written = met = kept = episodes = 0
    for one in stored(Context.open(folder.path)):
        assert one.world is not None
        if len(parts_of(one.world)) > 1:
            continue  # names of columns say too little where several worlds speak
        episodes += 1
        facts: Facts = {}
        columns, words = _columns(one.world), _words_for_nothing(one.world)
        before: Snapshot | None = None
        for event in one.trajectory.events:
            if event.role != "tool":
                continue
            after, fresh = one.states.get(event.after), Facts()
            if event.before != event.after and after is not None:
                fresh = _changed(one.world, before, after)
                written += sum(map(len, fresh.values()))
                for place in _back(before, after):
                    facts.pop(place, None)
                before = after
            older = {place: cells for place, cells in facts.items() if place not in fresh}
            if event.ok and not (event.fault and event.fault.kind == "stale"):  # old by the task's own plan
                seen = [_compared(row, older, columns, words) for row in _objects(_read(event.content))]
                met, kept = met + sum(n for n, _ in seen), kept + sum(n for _, n in seen)
            for place, cells in fresh.items():
                facts.setdefault(place, {}).update(cells)
        if before is not None:
            seen = [_compared(row, facts, columns, words) for row in _looked_up(one.world, before, facts)]
            met, kept = met + sum(n for n, _ in seen), kept + sum(n for _, n in seen)
    share = f"{kept / met:.2%}" if met else "none"
    print(
        f"persistence sql: {episodes} episodes, {written} facts written; met again in later results {met} times, as written "
        f"{kept} times: {share} (100 %)"
    )


_INSTEAD = re.compile(r"(?:coalesce|ifnull)\(\s*(?:\w+\.)?(\w+)\s*,\s*'([^']*)'\s*\)", re.IGNORECASE)
Facts = dict[tuple[str, Json], dict[str, Json]]
"""Table and key to the cells that were written last."""


def _compared(
    row: dict[str, Json],
    facts: Facts,
    columns: Sequence[tuple[str, str, set[str]]],
    words: set[tuple[str, Json]],
) -> tuple[int, int]:
    """How many facts an object of a result speaks of, and of how many as they were written."""
    met = kept = 0
    for table, key, names in columns:
        wanted = facts.get((table, row[key]), {}) if isinstance(row.get(key), str | int) else {}
        for name in names & row.keys() & wanted.keys():
            met += 1
            instead = wanted[name] is None and (name, row[name]) in words
            kept += instead or _alike(row[name], wanted[name])
    return met, kept


def _looked_up(world: World, state: Snapshot, facts: Facts) -> Iterator[dict[str, Json]]:
    """What read-only tools say about changed rows in a copy of the world that got the state through its stored form."""
    live = SqlWorld(world)
    live.restore(Snapshot.model_validate_json(state.model_dump_json()))
    tables = live.runtime.image.tables
    for table, key in facts:
        row = live.ask(
            f"select * from {table} where {tables[table].columns[tables[table].key[0]]} = :key", {"key": key}
        )
        for tool in world.tools if row else ():
            words = world.words.tools.get(tool.name)
            if not tool.annotations.read_only or words is None:
                continue
            sources = {name: about.source.partition(".") for name, about in words.arguments.items()}
            wanted = tool.input_schema.get("required", ())
            filled = {
                name: row[0][sources[name][2]]
                for name in wanted
                if name in sources and sources[name][0] == table and sources[name][2] in row[0]
            }
            filled |= {name: row[0][name] for name in wanted if name in row[0] and name not in filled}
            if len(filled) == len(wanted):
                answer = live.call(tool.name, filled)
                yield from _objects(answer.value) if answer.ok else ()
    live.close()


def _words_for_nothing(world: World) -> set[tuple[str, Json]]:
    """Columns, and the words that tools of a world show in place of NULL in them."""
    programs = " ".join(step.sql for tool in world.tools if tool.program for step in tool.program.steps)
    return set(_INSTEAD.findall(programs))


def _columns(world: World) -> list[tuple[str, str, set[str]]]:
    """Tables with a key of one column, that column, and the columns whose names only this table has."""
    live = SqlWorld(world)
    tables = live.runtime.image.tables
    often = Counter(name for table in tables.values() for name in table.columns)
    live.close()
    return [
        (name, table.columns[table.key[0]], {c for c in table.columns if often[c] == 1})
        for name, table in tables.items()
        if len(table.key) == 1
    ]


def _back(before: Snapshot | None, after: Snapshot) -> set[tuple[str, Json]]:
    """Table and key of rows that are as in the seed again: a snapshot no longer names them."""
    there = {(table, key) for table, key, _ in after.rows}
    return {(table, key) for table, key, _ in (before.rows if before else ())} - there


def _changed(world: World, before: Snapshot | None, after: Snapshot) -> Facts:
    """Cells that differ between two states, by table and key."""
    live = SqlWorld(world)
    tables = live.runtime.image.tables
    live.close()
    old = {(table, key): row for table, key, row in (before.rows if before else ())}
    found = Facts()
    for table, key, row in after.rows:
        shape = tables.get(table)
        if row is None or shape is None or len(shape.key) != 1 or old.get((table, key)) == row:
            continue
        was = old.get((table, key))
        place = (table, row[shape.key[0]])
        found[place] = {
            name: row[i] for i, name in enumerate(shape.columns) if was is None or was[i] != row[i]
        }
    return found


def _read(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None  # cut for its length


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _alike(shown: Json, kept: Json) -> bool:
    """SQLite keeps JSON as text and truth as a number; results show what the schema says."""
    if isinstance(shown, dict | list):
        return isinstance(kept, str) and json.loads(kept) == shown
    return bool(shown == kept)


async def other_hosts(docker: bool) -> None:
    """The same on the hosts of the conformance suite: a write, reads after it, and reads after a restart from a snapshot."""
    for case in CASES:
        if case.name == "sql" or (case.name == "container" and not docker):
            continue
        met = kept = 0
        async with case.opener() as open_one:
            for write in (case.write, case.write, case.write):
                host = await open_one()
                await host.call(*write)
                for again in range(2):
                    for _ in range(3):
                        shown = await host.call(*case.read)
                        met += 1
                        kept += shown.ok and case.shown(shown.value)
                    if not again:
                        state = host.snapshot()
                        await host.close()
                        host = await open_one()
                        await host.restore(state)
                await host.close()
        print(
            f"persistence {case.name}: {kept} of {met} reads showed what was written, half of them after a restore"
        )
