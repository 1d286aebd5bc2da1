"""`fidelity bench`: how well the CPU layers tell supported claims from unsupported ones, beside the plain floors."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.records import ConfigError, InputError, Record
from pipeline.rephrase.fidelity.lemmas import engine
from pipeline.rephrase.fidelity.support import FIXED_THRESHOLD, Support, support

_RESAMPLES = 1000


class Labelled(Record):
    """One row of a bench file."""

    id: str
    document: str
    claim: str
    faithful: bool


def read_labelled(file: Path) -> list[Labelled]:
    """Rows of a JSON Lines file, plain or gzipped; keys beyond the four are ignored.

    Raises ConfigError when the file is missing, InputError for a row that cannot be read.
    """
    if not file.is_file():
        raise ConfigError(
            f"{file} is no file.", way_out="Give a JSON Lines file with id, document, claim, faithful."
        )
    rows = []
    with file.open("rb") as raw, gzip.open(raw) if file.suffix == ".gz" else raw as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                rows.append(
                    Labelled(
                        id=str(row.get("id", number)),
                        document=row["document"],
                        claim=row["claim"],
                        faithful=bool(row["faithful"]),
                    )
                )
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(
                    f"{file.name} line {number} is no labelled row: {error!r}",
                    way_out="A row is {id, document, claim, faithful}.",
                ) from error
    return rows


def bench(file: Path, *, threshold_from: Path | None = None, seed: int = 0) -> dict[str, Any]:
    """Balanced accuracy with a 95 % bootstrap interval, for a fixed threshold and for one from the unlabelled batch.

    `fixed` uses the threshold of the program, or the best one on the labelled file `threshold_from`. `calibrated` uses
    the median score of the batch, which looks at no label. Floors are calibrated in the same way. All figures are
    shares (0 … 1). Raises InputError when only one label occurs.
    """
    started = time.perf_counter()
    rows = read_labelled(file)
    truth = [row.faithful for row in rows]
    if len(set(truth)) < 2:
        raise InputError(f"{file.name} needs both faithful and unfaithful rows.")
    found = [support(row.document, row.claim) for row in rows]
    scores = [item.score for item in found]
    fixed = FIXED_THRESHOLD if threshold_from is None else best_threshold(*_scored(threshold_from))
    middle = median(scores)
    return {
        "fixed": _measured(scores, truth, fixed, seed) | {"threshold": fixed},
        "calibrated": _measured(scores, truth, middle, seed) | {"threshold": middle},
        "auc": round(auc(scores, truth), 4),
        "floors": {name: round(_floor(found, truth, name), 4) for name in ("lexical", "numbers", "both")},
        "n": len(rows),
        "engine": engine(),
        "seconds": round(time.perf_counter() - started, 2),
    }


def _scored(file: Path) -> tuple[list[float], list[bool]]:
    rows = read_labelled(file)
    return [support(row.document, row.claim).score for row in rows], [row.faithful for row in rows]


def _floor(found: Sequence[Support], truth: Sequence[bool], name: str) -> float:
    """Balanced accuracy of a floor at its batch median; ties at the median go to the side that the floor favors."""
    values = [float(getattr(item, name)) for item in found]
    middle = median(values)
    return max(balanced(values, truth, middle), balanced(values, truth, middle + 1e-9))


def _measured(scores: Sequence[float], truth: Sequence[bool], threshold: float, seed: int) -> dict[str, Any]:
    return {
        "balanced_accuracy": round(balanced(scores, truth, threshold), 4),
        "ci95": [round(bound, 4) for bound in interval(scores, truth, threshold, seed)],
    }


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def balanced(scores: Sequence[float], truth: Sequence[bool], threshold: float) -> float:
    """Mean of the shares of faithful rows at or above the threshold and of unfaithful rows below it."""
    good = [score >= threshold for score, label in zip(scores, truth, strict=True) if label]
    bad = [score < threshold for score, label in zip(scores, truth, strict=True) if not label]
    return (sum(good) / len(good) + sum(bad) / len(bad)) / 2


def interval(
    scores: Sequence[float], truth: Sequence[bool], threshold: float, seed: int
) -> tuple[float, float]:
    """95 % interval of the balanced accuracy, by a bootstrap within each label."""
    rng = random.Random(seed)
    good = [score >= threshold for score, label in zip(scores, truth, strict=True) if label]
    bad = [score < threshold for score, label in zip(scores, truth, strict=True) if not label]
    drawn = sorted(
        (sum(rng.choices(good, k=len(good))) / len(good) + sum(rng.choices(bad, k=len(bad))) / len(bad)) / 2
        for _ in range(_RESAMPLES)
    )
    return drawn[int(0.025 * _RESAMPLES)], drawn[int(0.975 * _RESAMPLES) - 1]


def best_threshold(scores: Sequence[float], truth: Sequence[bool]) -> float:
    """The threshold with the best balanced accuracy on labelled scores; the lowest of equals."""
    return max(sorted(set(scores)), key=lambda threshold: balanced(scores, truth, threshold))


def auc(scores: Sequence[float], truth: Sequence[bool]) -> float:
    """Area under the ROC curve: how often a faithful row outranks an unfaithful one, ties counted half."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    ranks = [0.0] * len(scores)
    at = 0
    while at < len(order):
        stop = at
        while stop < len(order) and scores[order[stop]] == scores[order[at]]:
            stop += 1
        for index in order[at:stop]:
            ranks[index] = (at + 1 + stop) / 2
        at = stop
    good = sum(truth)
    return (sum(rank for rank, label in zip(ranks, truth, strict=True) if label) - good * (good + 1) / 2) / (
        good * (len(truth) - good)
    )
