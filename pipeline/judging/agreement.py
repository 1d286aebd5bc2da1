"""Human labels beside the verdicts: a stratified sample out, the labels in, agreement and kappa per kind of check."""

from __future__ import annotations

import csv
import io
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from pipeline.judging.intervals import Share, kappa
from pipeline.records import InputError, Value

COLUMNS = ("trajectory", "check", "kind", "criterion", "evidence", "transcript", "label", "comment")
LABELS = ("pass", "fail", "unscored")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A verdict that a person is asked about."""

    trajectory: str
    check: str
    kind: str
    value: str
    reason: str = ""
    evidence: str = ""


def sample(verdicts: Iterable[Labelled], count: int, seed: int) -> list[Labelled]:
    """About `count` verdicts, spread evenly over kind and value, so that rare failures are among them."""
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
    return chosen


def to_csv(chosen: Sequence[Labelled], criteria: dict[str, str], transcripts: dict[str, str]) -> str:
    """The sheet for people. The judge's own value is not in it, so that nobody is led.

    `criteria`: `trajectory/check` to its wording; `transcripts`: trajectory to its text.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    for row in _sheet(chosen, criteria, transcripts):
        writer.writerow({**row, "transcript": _safe(row["transcript"])})
    return out.getvalue()


def to_html(chosen: Sequence[Labelled], criteria: dict[str, str], transcripts: dict[str, str]) -> str:
    """The same sheet as a page that needs no server: a choice per verdict, and a button that saves the labels as CSV."""
    rows = []
    for number, row in enumerate(_sheet(chosen, criteria, transcripts)):
        choices = "".join(
            f'<label><input type="radio" name="l{number}" value="{label}"> {label}</label> '
            for label in LABELS
        )
        rows.append(
            f'<section data-trajectory="{escape(row["trajectory"])}" data-check="{escape(row["check"])}">'
            f"<h2>{number + 1}. {escape(row['criterion'])}</h2><p>{escape(row['kind'])}; events {escape(row['evidence'])}</p>"
            f"<details open><summary>{escape(row['trajectory'])}</summary><pre>{escape(row['transcript'])}</pre></details>"
            f'<p>{choices}<input class="comment" placeholder="comment"></p></section>'
        )
    return _PAGE.replace("ROWS", "\n".join(rows))


_PAGE = """<!doctype html>
<meta charset="utf-8"><title>Verdicts to label</title>
<style>body{font:15px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}
pre{white-space:pre-wrap;max-height:24rem;overflow:auto;background:#f4f4f4;padding:.5rem}
label{margin-right:1rem}button{position:sticky;bottom:1rem;padding:.5rem 1rem}</style>
<h1>Verdicts to label</h1>
<p>Does the trajectory meet the criterion? Save the labels, then: <code>tracemill judge import RUN labels.csv</code></p>
ROWS
<button onclick="save()">Save labels.csv</button>
<script>
function save() {
  const quote = text => '"' + text.replaceAll('"', '""') + '"';
  const lines = [...document.querySelectorAll('section')].map(one => {
    const label = one.querySelector('input:checked');
    const cells = [one.dataset.trajectory, one.dataset.check, label ? label.value : '', one.querySelector('.comment').value];
    return cells.map(quote).join(',');
  });
  const link = document.createElement('a');
  const text = ['trajectory,check,label,comment', ...lines].join('\\r\\n');
  link.href = URL.createObjectURL(new Blob([text], {type: 'text/csv'}));
  link.download = 'labels.csv';
  link.click();
}
</script>
"""


def _sheet(
    chosen: Sequence[Labelled], criteria: dict[str, str], transcripts: dict[str, str]
) -> list[dict[str, str]]:
    return [
        {
            "trajectory": one.trajectory,
            "check": one.check,
            "kind": one.kind,
            "criterion": criteria.get(f"{one.trajectory}/{one.check}", one.check),
            "evidence": one.evidence,
            "transcript": transcripts.get(one.trajectory, ""),
            "label": "",
            "comment": "",
        }
        for one in chosen
    ]


def _safe(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t" else text


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
