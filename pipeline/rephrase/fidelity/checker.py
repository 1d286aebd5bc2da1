"""The checker made of rules: every CPU layer, one report."""

from __future__ import annotations

import asyncio

from pipeline.records import FidelityReport, Finding
from pipeline.rephrase.fidelity.analysis import analyze
from pipeline.rephrase.fidelity.figures import compare_figures
from pipeline.rephrase.fidelity.names import compare_names
from pipeline.rephrase.fidelity.polarity import compare_negation


def check(
    source: str, rewrite: str, *, style: str = "", kind: str = "knowledge", language: str = ""
) -> FidelityReport:
    """Compares `rewrite` with `source`, both ways.

    The score is 1 without findings and falls with each; `coverage` is the share of the source's numbers, dates and
    names that the rewriting keeps.
    """
    ours, theirs = analyze(source, language), analyze(rewrite, language)
    figures = compare_figures(ours, theirs)
    called = compare_names(ours, theirs)
    findings: list[Finding] = [*figures.findings, *called.findings, *compare_negation(ours, theirs)]
    facts = figures.facts + called.facts
    failed = [finding for finding in findings if finding.severity == "fail"]
    return FidelityReport(
        verdict="unfaithful" if failed else "faithful",
        score=round(0.5 ** len(failed) * 0.9 ** (len(findings) - len(failed)), 6),
        findings=tuple(findings),
        coverage=(figures.kept + called.kept) / facts if facts else 1.0,
        checker="rules",
    )


class RuleChecker:
    """Plays the role `Checker` with rules alone."""

    name = "rules"

    async def check(self, source: str, rewrite: str, *, style: str, kind: str) -> FidelityReport:
        await asyncio.sleep(0)
        return check(source, rewrite, style=style, kind=kind)
