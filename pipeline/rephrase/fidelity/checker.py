"""The checkers: rules and the CPU layers above them, and a model where these are not enough."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal

from pipeline.records import Checker, FidelityReport, Finding
from pipeline.rephrase.fidelity import embeddings, parsing
from pipeline.rephrase.fidelity.alignment import align
from pipeline.rephrase.fidelity.analysis import Analysis, analyze, language_guess
from pipeline.rephrase.fidelity.bounds import compare_bounds
from pipeline.rephrase.fidelity.comparisons import converse
from pipeline.rephrase.fidelity.content import compare_content, compare_lists
from pipeline.rephrase.fidelity.denials import compare_denials
from pipeline.rephrase.fidelity.exclusive import compare_members
from pipeline.rephrase.fidelity.figures import compare_figures
from pipeline.rephrase.fidelity.formulas import compare_answers, compare_code, compare_formulas, formulas
from pipeline.rephrase.fidelity.names import compare_names
from pipeline.rephrase.fidelity.places import compare_places
from pipeline.rephrase.fidelity.polarity import compare_negation
from pipeline.rephrase.fidelity.roles import compare_roles
from pipeline.rephrase.fidelity.wording import compare_wording
from pipeline.rephrase.styles import STYLES

SOFT = frozenset(
    {"swap", "lost_sentence", "invented_sentence", "list", "modality", "condition", "quantifier"}
)
"""Kinds of findings that rules may get wrong on a free paraphrase, and that a model may overrule."""
_ALL_LAYERS = ("rules", "parsing", "embeddings")


def check(
    source: str,
    rewrite: str,
    *,
    style: str = "",
    kind: str = "knowledge",
    language: str = "",
    layers: Sequence[str] = ("rules",),
) -> FidelityReport:
    """Compares `rewrite` with `source`, both ways.

    `style` sets what may be lost (see `styles`); `kind` is the document's, `language` its code, guessed when empty. The
    score is 1 without findings and falls with each; `coverage` is the share of the source's numbers, dates and names
    that the rewriting keeps. `layers` beyond `rules` run where their library is installed; the report's `checker` names
    those that ran. A translation is compared by what does not depend on the language.
    """
    translated = style in STYLES and STYLES[style].translates
    if translated:
        ours, theirs = analyze(source, language), analyze(rewrite)
    else:
        language = language or language_guess(f"{source} {rewrite}")
        ours, theirs = analyze(source, language), analyze(rewrite, language)
    symbols = formulas(ours), formulas(theirs)
    figures = compare_figures(ours, theirs, (symbols[0].own, symbols[1].own))
    findings = [
        *figures.findings,
        *compare_formulas(ours, theirs, *symbols),
        *compare_answers(ours, theirs),
        *compare_code(ours, theirs),
    ]
    facts, kept = figures.facts, figures.kept
    ran = "rules"
    if not (translated and ours.language != theirs.language):
        called = compare_names(ours, theirs)
        facts, kept = facts + called.facts, kept + called.kept
        findings += called.findings + _of_words(ours, theirs)
        if "parsing" in layers and parsing.available(ours.language) and parsing.available(theirs.language):
            ran = "rules+parsing"
            findings += _of_parses(ours, theirs, {item.kind for item in findings if item.severity == "fail"})
        if "embeddings" in layers and embeddings.available():
            ran += "+embeddings"
            findings = embeddings.soften(findings, ours, theirs)
    return _report(findings, kept / facts if facts else 1.0, style, ran)


def _of_words(source: Analysis, rewrite: Analysis) -> list[Finding]:
    groups = align(source, rewrite)
    return [
        *compare_negation(source, rewrite, groups),
        *compare_wording(source, rewrite, groups),
        *compare_lists(source, rewrite, groups),
        *compare_places(source, rewrite, groups, converse=converse(source, rewrite, groups)),
        *compare_content(source, rewrite)[0],
        *compare_members(source, rewrite),
        *compare_bounds(source, rewrite),
    ]


def _of_parses(source: Analysis, rewrite: Analysis, known: set[str]) -> list[Finding]:
    """What the parsing layer adds for the kinds of which nothing is known yet."""
    found = [] if "swap" in known else compare_roles(source, rewrite)
    return found if "negation" in known else found + compare_denials(source, rewrite)


def _report(findings: Iterable[Finding], coverage: float, style: str, ran: str) -> FidelityReport:
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
        checker=ran,
    )


class RuleChecker:
    """Plays the role `Checker` on the CPU, without a model."""

    def __init__(self, layers: Sequence[str] = _ALL_LAYERS) -> None:
        self._layers = tuple(layers)
        self.name = "rules"

    async def check(self, source: str, rewrite: str, *, style: str, kind: str) -> FidelityReport:
        await asyncio.sleep(0)
        return check(source, rewrite, style=style, kind=kind, layers=self._layers)


class LayeredChecker:
    """Rules first; a model is asked only where they disagree with themselves, or where the policy wants it always.

    Rules disagree when they only warn, or when all their failures are of kinds that a free paraphrase may cause. A hard
    finding (a number, a name, a formula …) stands whatever the model says.
    """

    def __init__(
        self, rules: Checker, model: Checker, *, ask: Literal["disagreement", "always"] = "disagreement"
    ) -> None:
        self._rules, self._model, self._ask = rules, model, ask
        self.name = f"{rules.name}+{model.name}"

    async def check(self, source: str, rewrite: str, *, style: str, kind: str) -> FidelityReport:
        first = await self._rules.check(source, rewrite, style=style, kind=kind)
        failed = [finding for finding in first.findings if finding.severity == "fail"]
        hard = [finding for finding in failed if finding.kind not in SOFT]
        if hard or (self._ask == "disagreement" and not first.findings):
            return first
        second = await self._model.check(source, rewrite, style=style, kind=kind)
        if second.verdict == "undecided":
            return first.replace(
                verdict="undecided" if not failed else "unfaithful",
                checker=f"{first.checker}+{second.checker}",
            )
        faithful = second.verdict == "faithful"
        own = [item.replace(severity="warn") if faithful else item for item in first.findings]
        return first.replace(
            verdict=second.verdict,
            score=max(first.score, 0.9) if faithful else min(first.score, second.score),
            findings=(*own, *second.findings),
            checker=f"{first.checker}+{second.checker}",
        )
