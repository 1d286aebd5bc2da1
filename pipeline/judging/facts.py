"""Whether what the agent says is what it knows: every stated value against what it was told and has read.

A value is known from the user, the instructions, the tools' descriptions or a result. Results need more care than
that: within one list the values of a statement must come from the row that the statement names (`seat 2C for 17.00`
is wrong when 17.00 is the price of 3C), and a value read before a change is stale once a later result says another.
"""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.judging.evidence import Evidence
from pipeline.judging.knowledge import Known, parts
from pipeline.judging.standing import standing_of
from pipeline.judging.statements import Stated
from pipeline.judging.verdict import verdict
from pipeline.records import Owner, Value, Verdict

CHECK = "says what it knows"


def says_what_it_knows(evidence: Evidence) -> Verdict:
    """The first message with a value from nowhere fails; a trajectory without values passes."""
    known = Known(standing_of(evidence.task))
    for event in evidence.events:
        if event.role == "assistant":
            if event.content:
                for part in parts(event.content):
                    strange = known.strange(part, event.content)
                    if strange:
                        return verdict(
                            check=CHECK,
                            kind="facts",
                            value=Value.FAIL,
                            owner=Owner.AGENT,
                            evidence=(event.index,),
                            reason=f"said {_shown(strange)} without having been told or read it: {part[:160]}",
                        )
            for call in event.calls:
                known.asked(call.raw)
        else:
            known.learn(event)
    return verdict(check=CHECK, kind="facts", value=Value.PASS, owner=Owner.AGENT)


def _shown(values: Iterable[Stated]) -> str:
    return ", ".join(
        sorted(
            f"{kind} {value:g}" if isinstance(value, float) else f"{kind} {value}" for kind, value in values
        )
    )
