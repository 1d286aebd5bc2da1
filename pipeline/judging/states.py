"""State checks on the state a trajectory left, each decided once per state.

Attempts at one task often end in the same state, so a query is remembered by world, state and clock; only when one
is new is the state restored, in a copy of the world that stays open, and all new queries run as one statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.judging.verdict import verdict
from pipeline.records import Owner, Snapshot, StateCheck, TaskError, Value, Verdict, World, WorldError
from pipeline.tasks.rubric import NOTHING_CHANGES
from pipeline.worlds.mixed import parts_of
from pipeline.worlds.sql import RowChange, SqlWorld

Answer = bool | str
"""Whether a query holds; a text says why it cannot be run."""
_REMEMBERED = 50_000
_OPEN = 64
_answers: dict[tuple[str, str, str, tuple[str, ...], str], dict[str, Answer]] = {}
_worlds: dict[str, SqlWorld] = {}


def holding(
    world: World, final: Snapshot, queries: Sequence[str], initial: Sequence[str] = ()
) -> list[Answer]:
    """For each query whether its first value is true in a state; `changes` are those since the initial state."""
    rows = str(final.rows) if world.log_tables else ""
    place = (world.id, final.state, rows, tuple(initial), final.clock)
    known = _answers.get(place)
    if known is None:
        if len(_answers) > _REMEMBERED:
            _answers.clear()
        known = _answers[place] = {}
    missing = [sql for sql in dict.fromkeys(queries) if sql not in known]
    if missing:
        known.update(zip(missing, _run(world, final, missing, initial), strict=True))
    return [known[sql] for sql in queries]


def _run(world: World, final: Snapshot, queries: Sequence[str], initial: Sequence[str]) -> list[Answer]:
    live, since = opened_at(world, final, initial)
    live.list_changes(since)
    if not _plain(queries):
        return _singly(live, queries)
    together = "select " + ", ".join(f"({sql}) as c{number}" for number, sql in enumerate(queries))
    try:
        return [bool(value) for value in live.ask(together, limit=1)[0].values()]
    except WorldError:
        return _singly(live, queries)  # to tell which one it is


def opened_at(
    world: World, state: Snapshot, initial: Sequence[str] = ()
) -> tuple[SqlWorld, Sequence[RowChange]]:
    """The open copy of a world in a state, and what `initial` had changed in it. Raises TaskError when the state does
    not fit the world."""
    live = _live(world)
    since: Sequence[RowChange] = ()
    try:
        if initial:
            since = _since(world, live, tuple(initial))
        if live.ref != state.ref:
            live.restore(state)
    except WorldError as error:
        live.reset()
        raise TaskError(
            f"A state of a trajectory does not fit its world {world.name}: {error.what}",
            way_out="Judge it with the tool repository of the run that made it.",
        ) from error
    return live, since


_begun: dict[tuple[str, tuple[str, ...]], Sequence[RowChange]] = {}


def _since(world: World, live: SqlWorld, initial: tuple[str, ...]) -> Sequence[RowChange]:
    """What the statements of an initial state change."""
    key = world.id, initial
    if key not in _begun:
        if len(_begun) > 20_000:
            _begun.clear()
        live.reset()
        live.apply(initial)
        _begun[key] = live.changes()
    return _begun[key]


def _plain(queries: Iterable[str]) -> bool:
    """Whether all can stand as scalar subqueries of one statement."""
    return all(sql.lstrip()[:6].lower() == "select" and ";" not in sql for sql in queries)


def _singly(live: SqlWorld, queries: Iterable[str]) -> list[Answer]:
    found: list[Answer] = []
    for sql in queries:
        try:
            found.append(live.holds(sql))
        except WorldError as error:
            found.append(error.what)
    return found


def _live(world: World) -> SqlWorld:
    if world.id not in _worlds:
        while len(_worlds) >= _OPEN:
            _worlds.pop(next(iter(_worlds))).close()
        _worlds[world.id] = SqlWorld(world)
    return _worlds[world.id]


def state_verdicts(
    checks: Sequence[StateCheck],
    world: World | None,
    final: Snapshot | None,
    initial: Sequence[str] = (),
) -> list[Verdict]:
    """One verdict per check."""
    if world is None or final is None:
        return [_verdict(check, Value.UNSCORED, Owner.TOOL, "this host keeps no state") for check in checks]
    verdicts: list[Verdict] = []
    for number, part in enumerate(parts_of(world)):
        mine = [check for check in checks if check.world == part.id or (number == 0 and not check.world)]
        state = _state_of(part, final) if number else final
        verdicts.extend(_in_world(mine, part, state, () if number else initial))
    return verdicts


def _state_of(world: World, final: Snapshot) -> Snapshot | None:
    """The state of a further world; None when nothing has changed there."""
    return next((part for part in final.parts if part.world == world.id), None)


def _in_world(
    checks: Sequence[StateCheck], world: World, final: Snapshot | None, initial: Sequence[str]
) -> list[Verdict]:
    """The verdicts on one world. Where it has not changed, that nothing changes is true without a query."""
    if final is None:
        quiet = [check for check in checks if check.sql == NOTHING_CHANGES]
        if len(quiet) == len(checks):
            return [_decided(check, True) for check in quiet]
        final = Snapshot(ref="", state=_live_seed(world), world=world.id, clock=world.clock)
    answers = holding(world, final, [check.sql for check in checks], initial)
    return [_decided(check, answer) for check, answer in zip(checks, answers, strict=True)]


def _live_seed(world: World) -> str:
    """The hash of a world's seed."""
    live = _live(world)
    live.reset()
    return live.state


def _decided(check: StateCheck, answer: Answer) -> Verdict:
    if answer is True:
        return _verdict(check, Value.PASS, Owner.AGENT, "")
    if answer is False:
        return _verdict(check, Value.FAIL, Owner.AGENT, f"not true in the final state: {check.sql}")
    return _verdict(check, Value.UNSCORED, Owner.TOOL, answer)


def _verdict(check: StateCheck, value: Value, owner: Owner, reason: str) -> Verdict:
    return verdict(check.name, "state", value, owner, (), reason, check.mandatory, check.weight)
