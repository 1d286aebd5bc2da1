"""What a text is: its language, its kind, and whether it says anything at all."""

from __future__ import annotations

import re
from typing import Literal

import py3langid

from pipeline.rephrase.blocks import blocks

_SAMPLE = 20_000
_SPOKEN = 6_000
"""Characters in which prose is looked for."""
_HEARD = 800
"""Characters of prose that decide on the language."""
_FORMULA = re.compile(
    r"\$\$.+?\$\$|\\\[.+?\\\]|\\\(.+?\\\)|\$[^$\n]{1,300}\$|\\begin\{(?:align|equation)", re.DOTALL
)
_PLAIN = re.compile(
    r"```.*?```|\$\$.+?\$\$|\$[^$\n]+\$|\\[a-zA-Z]+|https?://\S+|[|#*_>`{}\[\]\\=+<>\d-]", re.DOTALL
)
_WORDS = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(
    r"(?:[^\W_]+[^\w\n.!?。!?]+){4,}[^\W_]+[^\n.!?]*[.!?:]|[\u3040-\u9fff][^\n。!?]{5,}[。!?]"
)
_NOTICE = re.compile(
    r"cookie|privacy policy|terms of (?:use|service)|all rights reserved|subscribe|sign (?:in|up)|log ?in|javascript"
    r"|newsletter|©|copyright|datenschutz|impressum|mentions légales",
    re.IGNORECASE,
)


def language_of(text: str, default: str = "en") -> str:
    """ISO 639-1 code of the prose in `text` (formulas, code and marks left out); `default` for too little prose."""
    prose = " ".join(_PLAIN.sub(" ", text[:_SPOKEN]).split())[:_HEARD]
    if sum(map(len, _WORDS.findall(prose))) < 20:
        return default
    language, _ = py3langid.classify(prose)
    return str(language)


def kind_of(text: str) -> Literal["knowledge", "math", "code", "table"]:
    """`code` or `table` when such blocks fill 40 % of the text, `math` when formulas fill 8 % or come every 250 characters."""
    sample = text[:_SAMPLE]
    sizes = {"code": 0, "table": 0}
    for block in blocks(sample):
        if block.kind in sizes:
            sizes[block.kind] += block.end - block.start
    for kind in ("code", "table"):
        if sizes[kind] > 0.4 * len(sample):
            return kind
    formulas = [found.end() - found.start() for found in _FORMULA.finditer(sample)]
    if len(formulas) >= 3 and (sum(formulas) > 0.08 * len(sample) or len(formulas) * 250 > len(sample)):
        return "math"
    return "knowledge"


def says_something(text: str) -> bool:
    """Whether there is a sentence, formula or code to rewrite, and not only menus and notices."""
    sample = text[:_SAMPLE]
    if len(text) > 2000 and _WORDS.search(sample):
        return True
    if _FORMULA.search(sample) or any(block.kind in ("code", "table") for block in blocks(sample)):
        return True
    sentences = [found[0] for found in _SENTENCE.finditer(sample)]
    return any(not _NOTICE.search(sentence) for sentence in sentences)
