"""What can be wrong with a rewriter's answer before its facts are looked at."""

from __future__ import annotations

import re
import zlib

from pipeline.records import Chunk, RewriteAnswer
from pipeline.rephrase.nature import language_of
from pipeline.rephrase.styles import Style
from pipeline.rephrase.tokens import Counter

_PREAMBLE = re.compile(
    r"\A\s*(?:(?:sure|certainly|of course|okay|ok|absolutely|here(?:'s| is| are)|below is|voici|hier ist|aquí (?:está|tiene))\b"
    r"[^\n]{0,160}?(?::|[.!])[ \t]*\n+"
    r"|(?:sure|certainly|here(?:'s| is)|voici|hier ist)\b[^\n]{0,120}?\b(?:text|version|rewrit\w+|passage|rephras\w+|document|texte"
    r"|fassung|texto|translation|notes?)\b[^\n:]{0,60}:\s*)",
    re.IGNORECASE,
)
_AFTERWORD = re.compile(
    r"\n+\s*(?:let me know|i hope (?:this|that)|please let me know|note that i (?:have )?|feel free|would you like)[^\n]*\Z",
    re.IGNORECASE,
)
_FENCED = re.compile(r"\A\s*```(?:markdown|md|text|)\s*\n(.*)\n```\s*\Z", re.DOTALL)
_REFERENCE = re.compile(
    r"\[\d{1,3}(?:[,–-]\s*\d{1,3})*\]|\(\w+(?: et al\.?| and \w+)?,? (?:19|20)\d\d\w?\)|https?://\S+|\bdoi:\S+",
    re.IGNORECASE,
)
_OPENINGS = re.compile(
    r"\A\W*(?:in today's (?:world|fast)|in the (?:realm|world|fascinating world) of|have you ever wondered|imagine a world|as an ai"
    r"|welcome to|let's dive|delve into|once upon a time|in conclusion|it is important to note)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?。!?:;…)\]\"”»'’`$|*>}]\s*\Z")
_ITEM = re.compile(r"[ \t]*(?:[-*•–]|\d{1,3}[.)])[ \t]+\S")
_CLOSING = re.compile(r"\n\s*\n[^\n]{1,40}(?:\n{1,2}[^\n]{1,40})?\Z")
_INSTRUCTION = re.compile(
    r"<<<|>>>|== (?:system|user) ==|\brewrite the (?:passage|text|chunk)\b|\bstyle:\s*\w+\s*\n", re.IGNORECASE
)


def clean(text: str) -> str:
    """The answer without the words around it: preamble, afterword, a fence around the whole, outer quotation marks."""
    fenced = _FENCED.match(text)
    text = fenced[1] if fenced else text
    text = _AFTERWORD.sub("", _PREAMBLE.sub("", text)).strip()
    if len(text) > 2 and text[0] == text[-1] == '"' and text.count('"') == 2:
        text = text[1:-1]
    return text.strip()


def fault(
    answer: RewriteAnswer,
    text: str,
    chunk: Chunk,
    style: Style,
    count: Counter,
    languages: tuple[str, str],
    bounds: tuple[float, float],
) -> str:
    """What is wrong with the cleaned answer `text`, in a few words; empty when nothing is.

    `languages` are the source's and the wanted one; `bounds` the shortest and longest ratio of tokens.
    """
    if not text:
        return "empty answer"
    if answer.truncated or not _ends(text, style):
        return "cut off"
    if _INSTRUCTION.search(text) and not _INSTRUCTION.search(chunk.text):
        return "prompt inside"
    if _OPENINGS.match(text) and not _OPENINGS.match(chunk.text):
        return "boilerplate opening"
    ratio = count(text) / max(1, chunk.tokens)
    if chunk.tokens > 20 and ratio < bounds[0]:
        return f"too short ({ratio:.2f} of the source)"
    if chunk.tokens > 20 and ratio > bounds[1]:
        return f"too long ({ratio:.2f} of the source)"
    if loops(text) and not loops(chunk.text):
        return "repeats itself"
    invented = {found[0] for found in _REFERENCE.finditer(text)} - {
        found[0] for found in _REFERENCE.finditer(chunk.text)
    }
    if invented:
        return f"invented reference {sorted(invented)[0]}"
    wanted = languages[1] if style.translates else languages[0]
    if count(text) > 60 and (spoken := language_of(text, wanted)) != wanted:
        return f"in another language ({spoken} for {wanted})"
    return ""


def _ends(text: str, style: Style) -> bool:
    """Whether the text comes to an end: by a mark, as a list whose items have none, or by a letter's last words."""
    if _SENTENCE_END.search(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and _ITEM.match(lines[-1]) and _ITEM.match(lines[-2]):
        return not _SENTENCE_END.search(lines[-2])
    closing = _CLOSING.search(text) if style.name == "letter" else None
    return closing is not None and bool(_SENTENCE_END.search(text[: closing.start()]))


def loops(text: str) -> bool:
    """Whether a text turns in circles: a line or sentence three times, or text that compresses far too well."""
    pieces = [piece.strip().lower() for piece in re.split(r"[.!?。\n]+", text) if len(piece.strip()) > 20]
    bare = [re.sub(r"^\W*\w{1,8}:\W*", "", piece) for piece in pieces]
    if any(bare.count(piece) >= 3 and len(piece) > 25 for piece in set(bare)):
        return True
    data = text.encode()
    return len(data) > 800 and len(zlib.compress(data, 6)) < 0.16 * len(data)


def same_seam(written: str, text: str) -> str:
    """What `text` repeats of the end of `written`: a whole sentence of at least five words, or nothing."""
    tail = {
        _bare(piece) for piece in re.split(r"(?<=[.!?。])\s+|\n+", written[-1500:]) if len(piece.split()) >= 5
    }
    for piece in re.split(r"(?<=[.!?。])\s+|\n+", text[:1500])[:4]:
        if len(piece.split()) >= 5 and _bare(piece) in tail:
            return piece.strip()
    return ""


def _bare(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()
