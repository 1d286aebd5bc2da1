"""Which attempts are kept, and which make preference pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.config.judging import SelectionConfig
from pipeline.records import Trajectory, Value, canonical_json
from pipeline.tasks.values import folded


@dataclass(frozen=True)
class Candidate:
    """A judged attempt."""

    trajectory: Trajectory
    value: Value
    reward: float
    reason: str = ""

    @property
    def id(self) -> str:
        return self.trajectory.id

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """What was done and said, one text per event."""
        return tuple(
            folded(event.content) + "".join(f" {c.name} {canonical_json(c.arguments)}" for c in event.calls)
            for event in self.trajectory.events
            if event.role != "system"
        )

    @cached_property
    def features(self) -> frozenset[str]:
        """The agent's calls, and runs of three words of what it said."""
        found: set[str] = set()
        for event in self.trajectory.events:
            if event.role != "assistant":
                continue
            found |= {f"{call.name} {canonical_json(call.arguments)}" for call in event.calls}
            words = folded(event.content).split()
            found |= {" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2)) if words}
        return frozenset(found)

    @cached_property
    def length(self) -> tuple[int, int]:
        """Calls, then characters of the agent."""
        mine = [event for event in self.trajectory.events if event.role == "assistant"]
        return sum(len(event.calls) for event in mine), sum(len(event.content) for event in mine)


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether an attempt is kept, and why."""

    trajectory: str
    task: str
    kept: bool
    reason: str
    pass_rate: float | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A better and a worse attempt at one task. `shared`: how many events they have in common from the start."""

    task: str
    chosen: str
    rejected: str
    shared: int
    reason: str


def similarity(left: Candidate, right: Candidate) -> float:
    """Jaccard similarity of calls and words; 1 for equal ones."""
    both = left.features | right.features
    return len(left.features & right.features) / len(both) if both else 1.0


def select(candidates: Iterable[Candidate], config: SelectionConfig) -> list[Choice]:
    """A choice for every attempt, tasks in the order of their first one. Only what passed is kept; unscored never.

    Nor is an attempt with a planted flaw, which is known whatever the judges said: it measures them.
    """
    choices: list[Choice] = []
    for task, attempts in _by_task(candidates).items():
        passed = [one for one in attempts if one.value is Value.PASS]
        scored = [one for one in attempts if one.value is not Value.UNSCORED]
        rate = len(passed) / len(scored) if scored else None
        kept, why = _kept([one for one in passed if not one.trajectory.planted], config)
        why |= {one.id: "a planted flaw that no judge found" for one in passed if one.trajectory.planted}
        for one in attempts:
            reason = why.get(one.id) or (
                "not scored" if one.value is Value.UNSCORED else f"did not pass: {one.reason}"
            )
            choices.append(Choice(one.id, task, one.id in kept, reason, rate))
    return choices


def _by_task(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = defaultdict(list)
    for one in candidates:
        found[one.trajectory.task].append(one)
    return found


def _kept(passed: Sequence[Candidate], config: SelectionConfig) -> tuple[set[str], dict[str, str]]:
    """Ids that are kept, and the reason for each passed attempt."""
    why: dict[str, str] = {}
    kept: list[Candidate] = []
    most = len(passed) if config.rule == "all" else config.per_task
    rest = _ordered(passed, config)
    while rest:
        one = _next(rest, kept, config)
        rest.remove(one)
        alike = max(kept, key=lambda other: similarity(one, other), default=None)
        if len(kept) == most:
            why[one.id] = f"{most} of this task are kept already ({config.rule})"
        elif alike is not None and similarity(one, alike) > config.max_similarity:
            why[one.id] = f"nearly the same as {alike.id}"
        else:
            kept.append(one)
            why[one.id] = "passed" if config.rule == "all" else f"{config.rule} of those that passed"
    return {one.id for one in kept}, why


def _ordered(passed: Sequence[Candidate], config: SelectionConfig) -> list[Candidate]:
    if config.rule in ("best", "diverse"):
        return sorted(passed, key=lambda one: (-one.reward, one.length, one.trajectory.attempt))
    if config.rule == "shortest":
        return sorted(passed, key=lambda one: (one.length, one.trajectory.attempt))
    return sorted(passed, key=lambda one: one.trajectory.attempt)


def _next(rest: Sequence[Candidate], kept: Sequence[Candidate], config: SelectionConfig) -> Candidate:
    """The first, or for `diverse` the one that is least alike to what is kept (farthest-point choice)."""
    if config.rule != "diverse" or not kept:
        return rest[0]
    return min(rest, key=lambda one: max(similarity(one, other) for other in kept))


def preference_pairs(candidates: Iterable[Candidate], config: SelectionConfig) -> list[Pair]:
    """Up to `pairs_per_task` pairs per task, no attempt twice on the rejected side: first those that part where the agent
    acts, with the longest common beginning; an attempt is chosen again only when no other is left.

    Unscored attempts are on neither side.
    """
    found: list[Pair] = []
    for task, attempts in _by_task(candidates).items():
        good = [one for one in attempts if one.value is Value.PASS]
        bad = [one for one in attempts if one.value is Value.FAIL]
        ranked = sorted(
            ((*_shared(better, worse), better, worse) for better in good for worse in bad),
            key=lambda pair: (
                not pair[1],
                -pair[0],
                pair[2].length,
                pair[2].trajectory.attempt,
                pair[3].trajectory.attempt,
            ),
        )
        used: set[str] = set()
        chosen: set[str] = set()
        for again in (False, True):
            for shared, _, better, worse in ranked:
                if (
                    len(used) < config.pairs_per_task
                    and worse.id not in used
                    and (again or better.id not in chosen)
                ):
                    used.add(worse.id)
                    chosen.add(better.id)
                    found.append(Pair(task, better.id, worse.id, shared, _because(shared, worse)))
    return found


def _shared(left: Candidate, right: Candidate) -> tuple[int, bool]:
    """Events in common from the start, and whether the two part where the agent acts."""
    roles = [
        [event.role for event in one.trajectory.events if event.role != "system"] for one in (left, right)
    ]
    for count, (one, other) in enumerate(zip(left.steps, right.steps, strict=False)):
        if one != other:
            return count, roles[0][count] == roles[1][count] == "assistant"
    return min(len(left.steps), len(right.steps)), False


def _because(shared: int, worse: Candidate) -> str:
    events = "event" if shared == 1 else "events"
    where = f"the same for {shared} {events}, then" if shared else "from the start"
    return f"{where} the rejected one fails: {worse.reason}"
