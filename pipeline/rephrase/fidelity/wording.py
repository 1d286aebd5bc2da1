"""Quantifiers, modality, conditions and directions of comparison, compared group by group."""

from __future__ import annotations

from collections import Counter

from pipeline.records import Finding
from pipeline.rephrase.fidelity.alignment import Group
from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.comparisons import compare_directions
from pipeline.rephrase.fidelity.conditions import compare_conditions
from pipeline.rephrase.fidelity.cues import cues, weighed
from pipeline.rephrase.fidelity.modality import compare_modality
from pipeline.rephrase.fidelity.quantifiers import compare_quantifiers, shifted


def compare_wording(source: Analysis, rewrite: Analysis, groups: list[Group]) -> list[Finding]:
    """Findings of the kinds quantifier, modality, condition and comparison.

    A finding is a failure where the words around it stand on the other side too, and a warning where the other side
    says it in other words.
    """
    ours, theirs = cues(source), cues(rewrite)
    totals = (
        Counter(cue.name for side in ours for cue in side),
        Counter(cue.name for side in theirs for cue in side),
    )
    found: list[Finding] = []
    for group in groups:
        a = [cue for index in group.source for cue in ours[index]]
        b = [cue for index in group.rewrite for cue in theirs[index]]
        found.extend(compare_quantifiers(source, rewrite, group, a, b, totals))
        found.extend(
            weighed(source, rewrite, group, finding)
            for finding in compare_modality(source, rewrite, group, a, b)
        )
        found.extend(compare_directions(source, rewrite, group, a, b, totals))
        found.extend(compare_conditions(source, rewrite, group, a, b))
    if not any(item.kind == "quantifier" and item.severity == "fail" for item in found):
        found.extend(shifted(ours, theirs, totals))
    return found
