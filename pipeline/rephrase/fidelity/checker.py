"""The checker made of rules: every CPU layer, one report."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from pipeline.records import FidelityReport, Finding
from pipeline.rephrase.fidelity.alignment import align
from pipeline.rephrase.fidelity.analysis import analyze, language_guess
from pipeline.rephrase.fidelity.content import compare_content, compare_lists, compare_places
from pipeline.rephrase.fidelity.figures import compare_figures
from pipeline.rephrase.fidelity.formulas import compare_answers, compare_formulas, formulas
from pipeline.rephrase.fidelity.names import compare_names
from pipeline.rephrase.fidelity.polarity import compare_negation
from pipeline.rephrase.fidelity.wording import compare_wording
from pipeline.rephrase.styles import STYLES


def check(
    source: str, rewrite: str, *, style: str = "", kind: str = "knowledge", language: str = ""
) -> FidelityReport:
    """Compares `rewrite` with `source`, both ways.

    `style` sets what may be lost (see `styles`); `kind` is the document's, `language` its code, guessed when empty. The
    score is 1 without findings and falls with each; `coverage` is the share of the source's numbers, dates and names
    that the rewriting keeps.
    """
    if STYLES[style].translates if style in STYLES else False:
        ours, theirs = analyze(source, language), analyze(rewrite)
    else:
        language = language or language_guess(f"{source} {rewrite}")
        ours, theirs = analyze(source, language), analyze(rewrite, language)
    groups = align(ours, theirs)
    symbols = formulas(ours), formulas(theirs)
    figures = compare_figures(ours, theirs, (symbols[0].own, symbols[1].own))
    called = compare_names(ours, theirs)
    unsaid, _ = compare_content(ours, theirs)
    findings = [
        *figures.findings,
        *called.findings,
        *compare_formulas(ours, theirs, *symbols),
        *compare_answers(ours, theirs),
        *compare_negation(ours, theirs, groups),
        *compare_wording(ours, theirs, groups),
        *compare_lists(ours, theirs),
        *compare_places(ours, theirs),
        *unsaid,
    ]
    facts = figures.facts + called.facts
    coverage = (figures.kept + called.kept) / facts if facts else 1.0
    return _report(findings, coverage, style)


def _report(findings: Iterable[Finding], coverage: float, style: str) -> FidelityReport:
    """Findings of mere losses are warnings in a style that may leave things out, as long as the coverage holds."""
    least = STYLES[style].least_coverage if style in STYLES else 1.0
    if least < 1.0 and coverage >= least:
        findings = [item.replace(severity="warn") if item.direction == "lost" else item for item in findings]
    findings = tuple(findings)
    failed = sum(finding.severity == "fail" for finding in findings)
    return FidelityReport(
        verdict="unfaithful" if failed else "faithful",
        score=round(0.5**failed * 0.9 ** (len(findings) - failed), 6),
        findings=findings,
        coverage=coverage,
        checker="rules",
    )


class RuleChecker:
    """Plays the role `Checker` with rules alone."""

    name = "rules"

    async def check(self, source: str, rewrite: str, *, style: str, kind: str) -> FidelityReport:
        await asyncio.sleep(0)
        return check(source, rewrite, style=style, kind=kind)
