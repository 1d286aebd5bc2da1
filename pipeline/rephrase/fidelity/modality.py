"""Modality: what may, can, must or should be."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.records import Finding
from pipeline.rephrase.fidelity.alignment import Group, tokens_of
from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.cues import Cue, changed, place_of, span_of
from pipeline.rephrase.fidelity.lexicon import NEGATORS
from pipeline.rephrase.fidelity.matching import has


def _denied(analysis: Analysis, cue: Cue) -> bool:
    """Whether a modal word is denied: `must not` forbids as `may not` does."""
    near = [token for token in analysis.by_sentence[cue.sentence] if -25 < token.start - cue.start < 25]
    return any(
        token.lower in NEGATORS[analysis.language] or token.lower in ("ne", "n'", "n’") for token in near
    )


def compare_modality(
    source: Analysis, rewrite: Analysis, group: Group, a: list[Cue], b: list[Cue]
) -> Iterator[Finding]:
    mine = {name: [cue for cue in a if cue.name == name] for name in ("may", "can", "must", "should")}
    yours = {name: [cue for cue in b if cue.name == name] for name in ("may", "can", "must", "should")}
    weak_mine, weak_yours = mine["may"] + mine["can"], yours["may"] + yours["can"]
    if any(_denied(source, cue) for cue in mine["must"] + mine["may"]) or any(
        _denied(rewrite, cue) for cue in yours["must"] + yours["may"] + yours["can"]
    ):
        return
    if (
        mine["must"]
        and not yours["must"]
        and not yours["should"]
        and yours["may"]
        and len(weak_yours) > len(weak_mine)
    ):
        yield changed("modality", mine["must"][0], yours["may"][-1])
    elif mine["must"] and not yours["must"] and len(yours["can"]) > len(mine["can"]):
        yield changed("modality", mine["must"][0], yours["can"][-1])
    if weak_mine and not weak_yours and yours["must"] and not mine["must"]:
        yield changed("modality", weak_mine[0], yours["must"][0])
    elif mine["may"] and not weak_yours and not yours["should"]:
        permits = any(cue.name in ("only", "bound-") for cue in a + b)
        severe = not permits and _followed(
            source, mine["may"][0], {token.stem for token in tokens_of(rewrite, group.rewrite)}
        )
        yield Finding(
            kind="modality",
            direction="lost",
            message=f"{mine['may'][0].text!r} is gone",
            source=span_of(mine["may"][0]),
            rewrite=place_of(rewrite, group.rewrite),
            severity="fail" if severe else "warn",
        )
    if mine["should"] and yours["must"] and not mine["must"] and not yours["should"]:
        yield changed("modality", mine["should"][0], yours["must"][0])


def _followed(analysis: Analysis, cue: Cue, stems: set[str]) -> bool:
    """Whether the verb that a modal word goes with stands on the other side, so that it lost the modal there."""
    if cue.text.lower() in ("could", "likely"):
        return False
    behind = [
        token
        for token in analysis.by_sentence[cue.sentence]
        if token.start >= cue.end and token.kind == "word"
    ]
    if analysis.language == "de":
        verb = next((token.stem for token in reversed(behind) if token.stem), "")
    else:
        verb = behind[0].stem if behind else ""
    return bool(verb) and has(verb, stems)
