"""The teacher as rewriter: rule-based restructuring that keeps the facts, free and deterministic.

It reads no meaning: it moves clauses, changes voice and wording, asks and answers, makes notes. English only, and only
the forms that rules can give; for the rest it offers no style.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable

from pipeline.records import Document, ModelError, RewriteAnswer, RewriteRequest, Usage
from pipeline.rephrase.blocks import Block, blocks
from pipeline.rephrase.chunking import sentence_spans
from pipeline.rephrase.tokens import estimate
from pipeline.teacher.noting import causal, dated, note
from pipeline.teacher.questions import question
from pipeline.teacher.rewording import lower, reword, wording

SPEAKERS = {"dialogue": ("**Student:**", "**Teacher:**"), "question_answer": ("**Q:**", "**A:**")}
_ANSWER = 5
"""Sentences of an answer after which a listener asks for more."""


class TeacherRewriter:
    """Plays the role `Rewriter` by rules."""

    name = "teacher"

    def offers(self, document: Document) -> frozenset[str]:
        """The styles it can write of a document; the others, and other languages, need a model."""
        if document.language != "en":
            return frozenset()
        prose = [sentence for sentence in _sentences(document.text, "en") if len(sentence) < 400]
        found = {name for name, holds, least in _NEEDS if sum(map(holds, prose)) >= least}
        return frozenset(_FORMS) - {name for name, _, _ in _NEEDS} | found

    async def rewrite(self, request: RewriteRequest) -> RewriteAnswer:
        """The chunk said again. Raises ModelError for a style that rules cannot write."""
        await asyncio.sleep(0)
        if request.style not in _FORMS or request.document.language != "en":
            raise ModelError(
                f"The teacher cannot write the style {request.style} ({request.document.language}).",
                way_out="Let a model play the rewriter.",
            )
        telling = _Telling(request)
        parts = [part for block in blocks(request.chunk.text) if (part := telling.block(block))]
        text = "\n\n".join(parts)
        if request.style == "letter":
            text = _enveloped(text, request)
        usage = Usage(tokens_in=request.chunk.tokens, tokens_out=estimate(text))
        return RewriteAnswer(text, prompt=f"teacher/{request.style}", usage=usage)


class _Telling:
    """One chunk being told in one style."""

    def __init__(self, request: RewriteRequest) -> None:
        self._text, self.style = request.chunk.text, request.style
        seed = (request.seed, request.document.id, request.chunk.index, request.style, request.attempt)
        self.rng = random.Random(" ".join(map(str, seed)))
        self._openers = list(OPENERS.get(request.style, ()))
        self.rng.shuffle(self._openers)
        self.answered = 0
        """Sentences that the answer at hand has so far, in this section."""
        self.asked: set[tuple[str, str]] = set()
        heading = request.chunk.heading
        self.topic = heading if heading and heading in self._text else ""

    def block(self, block: Block) -> str:
        text = self._text[block.start : block.end].strip()
        if block.kind == "heading":
            self.answered = 0
            self.topic = text.lstrip("#").strip()
        if block.kind in ("heading", "code", "table", "math", "quote"):
            return text
        sentences = _sentences(text, "en")
        if block.kind == "item":
            mark, _, body = text.partition(" ")
            return f"{mark} {reword(body, self.rng)}" if len(sentences) == 1 else text
        return _FORMS[self.style](self, sentences)

    def said(self, sentence: str) -> str:
        return sentence if "$$" in sentence else reword(sentence, self.rng)

    def opener(self) -> str:
        """Words to begin a paragraph with; each once in a chunk."""
        return self._openers.pop() if self._openers else ""


def _sentences(text: str, language: str) -> list[str]:
    return [part for a, b in sentence_spans(text, language) if (part := text[a:b].strip())]


OPENERS = {
    "lecture": (
        "Now, remember this:",
        "Here is a point to note:",
        "Notice the following:",
        "Keep this in mind:",
    ),
    "letter": ("You may like to know this:", "This may interest you:", "I wanted to tell you this:"),
}
"""How a paragraph of a style may begin; they add no fact."""

_HANGS = re.compile(r"(?:It|They|He|She|This|These|So|But|Its|His|Her|Their)\b")
_LABEL = re.compile(r"\*\*[^*]+\*\*")


def _grouped(sentences: list[str]) -> list[list[str]]:
    """Sentences that belong together: a label or a pronoun stays with its neighbor."""
    groups: list[list[str]] = []
    for sentence in sentences:
        if groups and (_HANGS.match(sentence) or _LABEL.fullmatch(groups[-1][-1])):
            groups[-1].append(sentence)
        else:
            groups.append([sentence])
    return groups


def _prose(telling: _Telling, sentences: list[str]) -> str:
    return " ".join(map(telling.said, sentences))


def _opened(telling: _Telling, sentences: list[str]) -> str:
    text = _prose(telling, sentences)
    opener = telling.opener() if not _HANGS.match(text) and telling.rng.random() < 0.7 else ""
    return f"{opener} {lower(text)}" if opener else text


def _lecture(telling: _Telling, sentences: list[str]) -> str:
    """Prose in which some sentences are asked for before they are said."""
    said = []
    for sentence in sentences:
        asked = question(sentence) if telling.rng.random() < 0.6 else ""
        said.append(f"{asked} {telling.said(sentence)}".strip())
    opener = "" if "?" in said[0] or _HANGS.match(said[0]) else telling.opener()
    text = " ".join(said)
    return f"{opener} {lower(text)}" if opener else text


def _asked(telling: _Telling, sentences: list[str]) -> str:
    """Questions that the sentences answer; a sentence that gives none goes on with the answer before it, for a while."""
    asks, answers = SPEAKERS[telling.style]
    said: list[str] = []
    for group in _grouped(sentences):
        asked = question(group[0])
        if asked or not 0 < telling.answered < _ANSWER:
            asked = asked or _open(telling, more=telling.answered > 0)
            said.append(f"{asks} {asked}\n\n{answers}")
            telling.answered = 0
        start = "" if not said else " "
        said.append(start + " ".join(map(telling.said, group)))
        telling.answered += len(group)
    return "".join(f"\n\n{part}" if part.startswith("**") else part for part in said).strip()


def _open(telling: _Telling, *, more: bool) -> str:
    """A question for a sentence that answers none in particular; none twice in a chunk, as long as there are others."""
    forms = [form for form in (_MORE if more else _FIRST) if telling.topic or "{" not in form]
    fresh = [form for form in forms if (form, telling.topic) not in telling.asked] or forms
    form = telling.rng.choice(fresh)
    telling.asked.add((form, telling.topic))
    return form.format(topic=telling.topic.rstrip(".:"))


_FIRST = (
    "What should one know about “{topic}”?",
    "What is there to say on “{topic}”?",
    "What is “{topic}” about?",
    "What is known?",
    "What does it say?",
    "What comes first?",
)
_MORE = (
    "What more is there to say on “{topic}”?",
    "What else is known?",
    "How does it go on?",
    "What comes next?",
    "What else?",
)


def _noted(telling: _Telling, sentences: list[str]) -> str:
    lines = []
    for group in _grouped(sentences):
        lines.append("- " + ". ".join(wording(note(one), telling.rng) for one in group))
    return "\n".join(lines)


def _causes(telling: _Telling, sentences: list[str]) -> str:
    said = []
    for sentence in sentences:
        parts = causal(sentence)
        said.append(f"**Cause:** {parts[0]} **Effect:** {parts[1]}" if parts else telling.said(sentence))
    return " ".join(said)


def _dates(telling: _Telling, sentences: list[str]) -> str:
    """Dated sentences as entries of a chronicle, the others as prose."""
    said = []
    for group in _grouped(sentences):
        entry = dated(group[0])
        rest = list(map(telling.said, group[1:] if entry else group))
        said.append(" ".join([f"**{entry[0]}.** {entry[1]}", *rest] if entry else rest))
    return "\n\n".join(said) if any(one.startswith("**") for one in said) else " ".join(said)


_PARTS = (
    (re.compile(r"(?:Let|Write|Call|Put) "), "Define"),
    (re.compile(r"(?:Suppose|Assume) "), "Assume"),
    (re.compile(r"(?:So|Therefore|Hence|Thus|It follows|Consequently)\b"), "Conclude"),
    (re.compile(r"(?:For example|As an example)\b"), "Example"),
    (re.compile(r"(?:Solve|Find|Compute|Show|Prove|Determine|How|What|Which) "), "Problem"),
)


def _learned(telling: _Telling, sentences: list[str]) -> str:
    """A learning note: one point a line, named by what it does."""
    named = any(map(_LABEL.match, sentences))
    lines = []
    for group in _grouped(sentences):
        name = next((name for form, name in _PARTS if form.match(group[0])), "")
        label = f"**{name}.** " if name and not named else ""
        lines.append(f"- {label}{' '.join(map(telling.said, group))}")
    return "\n".join(lines)


def _enveloped(text: str, request: RewriteRequest) -> str:
    """The letter's first and last words, around the document's first and last chunk."""
    if request.chunk.index == 0:
        text = f"Dear reader,\n\n{text}"
    last = request.document.text[request.chunk.end :].strip() == ""
    return f"{text}\n\nWith kind regards" if last else text


_FORMS: dict[str, Callable[[_Telling, list[str]], str]] = {
    "encyclopedic": _prose,
    "question_answer": _asked,
    "dialogue": _asked,
    "lecture": _lecture,
    "letter": _opened,
    "notes": _noted,
    "cause_and_effect": _causes,
    "historical": _dates,
    "learning_note": _learned,
}
WRITES = frozenset(_FORMS)
"""Styles that the teacher writes, of texts that lend themselves to them."""
_NEEDS: tuple[tuple[str, Callable[[str], bool], int], ...] = (
    ("cause_and_effect", lambda sentence: causal(sentence) is not None, 2),
    ("historical", lambda sentence: dated(sentence) is not None, 2),
)
"""Styles that a text must lend itself to: in how many of its sentences, at least."""
