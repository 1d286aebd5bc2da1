"""Whether what the agent says is what it knows: every stated value against what it was told and has read.

A value is known from the user, the instructions, the tools' descriptions or a result. Results need more care than
that: within one list the values of a statement must come from the row that the statement names (`seat 2C for 17.00`
is wrong when 17.00 is the price of 3C), and a value read before a change is stale once a later result says another.
"""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.judging.columns import misfiled
from pipeline.judging.derived import MORE, derived, left_over, of_another_year
from pipeline.judging.evidence import Evidence
from pipeline.judging.knowledge import Known, parts
from pipeline.judging.places import meant_in, misplaced, out_of_place, says_twice
from pipeline.judging.rows import meant_rows
from pipeline.judging.statements import Stated, counted, stated, words_of
from pipeline.judging.verdict import verdict
from pipeline.records import Owner, Value, Verdict
from pipeline.tasks.values import folded

CHECK = "says what it knows"


def says_what_it_knows(evidence: Evidence) -> Verdict:
    """The first message with a value from nowhere fails; a trajectory without values passes."""
    known = Known(evidence.standing, evidence.task.persona.language)
    for event in evidence.events:
        if event.role == "assistant":
            if event.content:
                for part in parts(event.content):
                    unknown = strange(known, part, event.content)
                    if unknown:
                        why = f"said {_shown(unknown)} without having been told or read it: {part[:160]}"
                        return verdict(CHECK, "facts", Value.FAIL, Owner.AGENT, (event.index,), why)
                odd = misfiled(known, event.content)
                if odd:
                    why = f"said {_shown(odd)}, which is not what its row has at this place of the list"
                    return verdict(CHECK, "facts", Value.FAIL, Owner.AGENT, (event.index,), why)
            for call in event.calls:
                known.asked(call.raw)
        else:
            known.learn(event)
    return verdict(check=CHECK, kind="facts", value=Value.PASS, owner=Owner.AGENT)


def strange(known: Known, part: str, whole: str) -> frozenset[Stated]:
    """The values of a statement that are not known; empty when all are."""
    everything = stated(part)
    if _as_read(known, everything, part):
        return frozenset()
    more = MORE.search(part)
    if more:
        return (
            frozenset()
            if left_over(known, float(more[1]), whole)
            else frozenset({("number", float(more[1]))})
        )
    meant = meant_in(known, everything, part)
    doubtful = out_of_place(known, everything, part, whole, meant) or of_another_year(known, part)
    if doubtful:
        return doubtful
    values = everything - known.told
    if not values:
        return frozenset()
    unknown = values - known.read - known.standing.values
    if unknown:
        unknown = frozenset(value for value in unknown if not derived(known, value, part, whole))
        if unknown:
            return unknown
    return misplaced(known, values & known.read, whole, meant)


def _as_read(known: Known, values: frozenset[Stated], part: str) -> bool:
    """Whether all values of a statement stand in the one row that was read last, or in the one row of the list read
    last that it names: nothing below finds fault with that. Most statements of most agents are such ones, and this is
    quick."""
    if not known.answers:
        return False
    last = known.answers[-1]
    if not (last.final and known.fresh < len(known.answers) and last.rows and values <= last.values):
        return False
    if len(last.rows) > 1:
        marks = frozenset(value for value in values if value[0] != "number")
        low = folded(part)
        meant = meant_rows(last.result, marks, low, words_of(low))
        if len(meant) != 1 or not values <= meant[0].values:
            return False
    return (
        "more" not in part
        and "other" not in part
        and not (says_twice(part) and any(count > 1 for count in counted(part).values()))
        and not of_another_year(known, part)
    )


def _shown(values: Iterable[Stated]) -> str:
    return ", ".join(
        sorted(
            f"{kind} {value:g}" if isinstance(value, float) else f"{kind} {value}" for kind, value in values
        )
    )
