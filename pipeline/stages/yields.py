"""The account of authoring as rows: for each stage how often it was asked, repaired and lost, and what it cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from pipeline.models.players.author import Step
from pipeline.records import canonical_json
from pipeline.store import Row, failure_row


def yield_rows(stage: str, model: str, steps: Sequence[Step], *, subject: str = "") -> list[Row]:
    """Rows of `measures` named `yield`: one for each stage of authoring and model; `subject` tells rows of one unit apart.

    `value` is the share kept, `n` how many were begun; `detail` holds first (kept without a repair), repaired, partial,
    lost, asked (requests), repairs, tokens, cost, and caught (kinds of problems by count).
    """
    groups: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        groups[step.stage].append(step)
    return [
        {
            "stage": stage,
            "name": "yield",
            "part": f"{part} by {model}{f' for {subject}' if subject else ''}",
            "value": sum(one.kept for one in group) / len(group),
            "n": len(group),
            "detail": _detail(part, model, group),
        }
        for part, group in groups.items()
    ]


def _detail(part: str, model: str, group: Sequence[Step]) -> str:
    caught = Counter(kind for step in group for kind in step.caught)
    return canonical_json(
        {
            "part": part,
            "model": model,
            "first": sum(one.kept and not one.repairs for one in group),
            "repaired": sum(one.kept and one.repairs > 0 for one in group),
            "partial": sum(one.partial for one in group),
            "lost": sum(not one.kept for one in group),
            "asked": sum(one.asked for one in group),
            "repairs": sum(one.repairs for one in group),
            "tokens": sum(one.tokens for one in group),
            "cost": sum(one.cost for one in group),
            "caught": dict(sorted(caught.items())),
        }
    )


def lost_rows(stage: str, steps: Sequence[Step]) -> list[Row]:
    """Rows of `failures`: one for each stage that did not settle."""
    return [
        failure_row(
            stage,
            f"{step.stage}: {step.kind}",
            step.message,
            subject=step.subject,
            detail={
                "asked": step.asked,
                "repairs": step.repairs,
                "caught": step.caught,
                "tokens": step.tokens,
            },
        )
        for step in steps
        if not step.kept
    ]
