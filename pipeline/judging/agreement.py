"""Human labels beside the verdicts: a stratified sample, and agreement and kappa per kind of check."""

from __future__ import annotations

import csv
import io
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.judging.intervals import Share, kappa
from pipeline.records import InputError, Value

LABELS = ("pass", "fail", "unscored")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A verdict that a person may be asked about."""

    trajectory: str
    check: str
    kind: str
    value: str


def sample(verdicts: Iterable[Labelled], count: int, seed: int) -> list[Labelled]:
    """About `count` verdicts, spread evenly over kind and value, so that rare failures are among them; in an order
    that tells nothing of the values."""
    strata: dict[tuple[str, str], list[Labelled]] = defaultdict(list)
    for one in verdicts:
        strata[one.kind, one.value].append(one)
    rng = random.Random(f"agreement/{seed}")
    for stratum in strata.values():
        rng.shuffle(stratum)
    chosen: list[Labelled] = []
    while len(chosen) < count and any(strata.values()):
        for key in sorted(strata):
            if strata[key] and len(chosen) < count:
                chosen.append(strata[key].pop())
    rng.shuffle(chosen)
    return chosen


@dataclass
class Agreement:
    """How far people and judges agree, as a whole and per kind of check."""

    pairs: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    """Kind to (human, judge)."""
    disputed: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Trajectory, check, human label, judge's value, where they differ."""
    unlabelled: int = 0

    def to_json(self) -> dict[str, Any]:
        everything = [pair for pairs in self.pairs.values() for pair in pairs]
        return {
            **_figures(everything),
            "by_kind": {kind: _figures(pairs) for kind, pairs in sorted(self.pairs.items())},
            "unlabelled": self.unlabelled,
            "disputed": [
                dict(zip(("trajectory", "check", "human", "judge"), one, strict=True))
                for one in self.disputed
            ],
        }


def _figures(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    share = Share(sum(left == right for left, right in pairs), len(pairs))
    return {"agreement": share.to_json(), "kappa": kappa(pairs), "n": len(pairs)}


def read_labels(text: str, verdicts: Iterable[Labelled]) -> Agreement:
    """Compares a labelled sheet with the verdicts.

    Raises InputError naming the line for a missing column, a label that is none, a verdict that does not exist, and
    one that is labelled twice.
    """
    known = {(one.trajectory, one.check): one for one in verdicts}
    reader = csv.DictReader(io.StringIO(text.lstrip("\ufeff")))
    missing = {"trajectory", "check", "label"} - set(reader.fieldnames or ())
    if missing:
        raise InputError(
            f"The labels lack the columns {', '.join(sorted(missing))}.",
            way_out="Start from the sheet that `tracemill judge export` writes, as CSV with commas.",
        )
    found, seen = Agreement(), set()
    for row in reader:
        key = (row["trajectory"] or "", row["check"] or "")
        label = (row["label"] or "").strip().lower()
        where = f"Line {reader.line_num}"
        if not label:
            found.unlabelled += 1
            continue
        if label not in LABELS:
            raise InputError(f"{where}: {label!r} is no label.", way_out=f"Use {', '.join(LABELS)}.")
        if key not in known:
            raise InputError(f"{where}: there is no verdict {key[1]!r} on {key[0]!r} in this run.")
        if key in seen:
            raise InputError(f"{where}: {key[1]!r} on {key[0]} is labelled twice.")
        seen.add(key)
        judged = str(Value(known[key].value))
        found.pairs[known[key].kind].append((label, judged))
        if label != judged:
            found.disputed.append((*key, label, judged))
    return found
