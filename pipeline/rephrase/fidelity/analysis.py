"""A text taken apart for comparison: sentences, tokens with lemmas, and the formulas set aside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import simplemma

from pipeline.rephrase.chunking import sentence_spans
from pipeline.rephrase.fidelity.lexicon import FUNCTION_WORDS, SCAFFOLD, STOP

_FORMULA = re.compile(
    r"\$\$(?P<a>.+?)\$\$|\\\[(?P<b>.+?)\\\]|\\\((?P<c>.+?)\\\)"
    r"|(?P<d>\\begin\{(?P<env>\w+\*?)\}.+?\\end\{(?P=env)\})|(?<![\\$])\$(?P<e>[^$\n]{1,600}?)\$",
    re.DOTALL,
)
_PLAIN_NUMBER = re.compile(r"\s*[-−+]?\d[\d.,]*\s*(?:\\?%)?\s*")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_MARK = re.compile(r"\*{1,3}|^#{1,6}\s|^\s*(?:[-+•]|\d{1,3}[.)])\s|^\s*>|^[ \t|:-]+$|\||^---$", re.MULTILINE)
_LABEL = re.compile(
    rf"(?:^|(?<=[.?!。?!]\s)|(?<=[.?!。?!]))[ \t]*(?:{SCAFFOLD})\s*[::]", re.MULTILINE | re.IGNORECASE
)
_TOKEN = re.compile(
    r"(?P<num>\d{1,3}(?:[ \u00a0\u202f\u2009'’]\d{3})+(?![\d])(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
    r"|(?P<unit>km/h|m/s|°[CF]?|[kcmµμ]?m[²³]|[%‰€$£¥%])"
    r"|(?P<elision>\b(?:[ldjmtsncLDJMTSNC]|[Qq]u|[Ll]orsqu|[Pp]uisqu|[Jj]usqu)['’](?=\w))"
    r"|(?P<han>[\u3400-\u9fff\uf900-\ufaff])"
    r"|(?P<word>[^\W\d_]+(?:[-‐'’][^\W\d_]+)*)"
    r"|(?P<mark>[^\w\s])",
)
_POSSESSIVE = re.compile(r"['’]s?$")
_ENDINGS = {
    "en": re.compile(
        r"(?:ization|isation|ation|ition|tion|ment|ness|ance|ence|ally|ity|ive|ing|ous|al|er|or|ly|y|e)$"
    ),
    "de": re.compile(r"(?:ungen|ung|heit|keit|lich|isch|ig|er|en|e)$"),
    "fr": re.compile(r"(?:ations?|itions?|tions?|ements?|ment|ité|ance|ence|eur|euse|er|ir|e)$"),
    "es": re.compile(r"(?:aciones|ación|iciones|ición|mente|miento|idad|ancia|encia|ar|er|ir|o|a)$"),
}


@dataclass(frozen=True, slots=True)
class Token:
    """One word, figure or mark. `sentence` is an index into `Analysis.sentences`."""

    text: str
    start: int
    end: int
    kind: str
    """num, unit, word, han, mark, elision"""
    lower: str
    lemma: str
    stem: str
    sentence: int


@dataclass(frozen=True, slots=True)
class Formula:
    body: str
    start: int
    end: int
    sentence: int


@dataclass(frozen=True, slots=True)
class Sentence:
    index: int
    start: int
    end: int
    text: str
    question: bool


@dataclass(eq=False)
class Analysis:
    """What the comparing layers look at. Offsets are those of `text`."""

    text: str
    language: str
    sentences: list[Sentence] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)

    def sentence_at(self, offset: int) -> int:
        """Index of the sentence at an offset; 0 between sentences."""
        for sentence in self.sentences:
            if sentence.start <= offset < sentence.end:
                return sentence.index
        return 0

    @cached_property
    def by_sentence(self) -> list[list[Token]]:
        groups: list[list[Token]] = [[] for _ in self.sentences]
        for token in self.tokens:
            groups[token.sentence].append(token)
        return groups

    @cached_property
    def stems(self) -> list[frozenset[str]]:
        """Content stems of each sentence."""
        return [frozenset(token.stem for token in group if token.stem) for group in self.by_sentence]

    @cached_property
    def all_stems(self) -> frozenset[str]:
        return frozenset().union(*self.stems)


def language_guess(text: str) -> str:
    """One of en, de, fr, es, zh, by function words and script; English when nothing speaks for another."""
    if len(re.findall(r"[\u3400-\u9fff]", text)) * 4 > len(text.replace(" ", "")):
        return "zh"
    found = re.findall(r"[^\W\d_]+", re.sub(r"\$[^$]*\$", " ", text.lower()))
    votes = {language: sum(word in words for word in found) for language, words in FUNCTION_WORDS.items()}
    best = max(votes, key=lambda language: votes[language])
    return best if votes[best] else "en"


def analyze(text: str, language: str = "") -> Analysis:
    """Takes `text` apart; `language` is guessed when it is not one that the rules know."""
    if language not in ("en", "de", "fr", "es", "zh"):
        language = language_guess(text)
    masked, formulas = _mask(text)
    result = Analysis(text, language)
    for start, end in _sentence_ranges(masked, language):
        index = len(result.sentences)
        piece = masked[start:end]
        result.sentences.append(Sentence(index, start, end, text[start:end], piece.rstrip()[-1:] in "??"))
        result.tokens.extend(_tokens(masked, start, end, index, language))
        while formulas and formulas[0][0] < end:
            low, high, body = formulas.pop(0)
            result.formulas.append(Formula(body, low, high, index))
    return result


def _mask(text: str) -> tuple[str, list[tuple[int, int, str]]]:
    """`text` with code, marks and formulas replaced by blanks of equal length, and the formulas.

    A formula that is a plain number stays, so that `$6$` and `6` are the same number.
    """
    formulas: list[tuple[int, int, str]] = []

    def formula(found: re.Match[str]) -> str:
        body = found["a"] or found["b"] or found["c"] or found["d"] or found["e"]
        if _PLAIN_NUMBER.fullmatch(body):
            return found[0].replace("$", " ").replace("\\", " ")
        formulas.append((found.start(), found.end(), body))
        tail = body.rstrip()[-1:]
        return " " * (len(found[0]) - 1) + (tail if tail in ".?!" and found["e"] is None else "\ufffc")

    def blank(found: re.Match[str]) -> str:
        return _INK.sub(" ", found[0])

    masked = _FORMULA.sub(formula, _CODE.sub(blank, text))
    return _LABEL.sub(blank, _MARK.sub(blank, masked)), formulas


_INK = re.compile(r"[^\n]")


def _sentence_ranges(masked: str, language: str) -> Iterator[tuple[int, int]]:
    for paragraph in re.finditer(r"(?:[^\n]|\n(?=[^\S\n]*[a-zß-ÿ\ufffc]))+", masked):
        for start, end in sentence_spans(paragraph[0], language):
            piece = paragraph[0][start:end]
            if piece.strip(" \t\ufffc.,;:!?\n") or "\ufffc" in piece:
                yield paragraph.start() + start, paragraph.start() + end


def _tokens(masked: str, start: int, end: int, sentence: int, language: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(masked, start, end):
        kind = str(found.lastgroup)
        text = found[0]
        if kind == "word":
            bare = _POSSESSIVE.sub("", text) or text
            lower = bare.lower()
            lemma, stem = _forms(bare, language)
        elif kind == "han":
            following = masked[found.end() : found.end() + 1]
            lower, lemma = text, text
            stem = text + following if "\u3400" <= following <= "\u9fff" else ""
        else:
            lower, lemma, stem = text.lower(), text, ""
        yield Token(text, found.start(), found.end(), kind, lower, lemma, stem, sentence)


@lru_cache(maxsize=200_000)
def _forms(word: str, language: str) -> tuple[str, str]:
    """Lemma and stem of a word; the stem is empty for words without content."""
    lower = word.lower()
    if lower in STOP[language]:
        return lower, ""
    lemma = simplemma.lemmatize(word, lang=language).lower() if language in _ENDINGS else lower
    if lemma in STOP[language] or len(lower) < 2:
        return lemma, ""
    return lemma, stem_of(lemma, language)


_PLAIN_VOWELS = str.maketrans("äöü", "aou")


def stem_of(lemma: str, language: str) -> str:
    """A short form that related words share: `inspect` and `inspection`, `mûr` and `mûrir`."""
    if language == "de":
        lemma = lemma.translate(_PLAIN_VOWELS)  # `Sturm` and `stürmt`
    ending = _ENDINGS.get(language)
    short = ending.sub("", lemma) if ending and len(lemma) > 5 else lemma
    return (short if len(short) >= 4 else lemma)[:8]
