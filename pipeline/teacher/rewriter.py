"""The teacher as rewriter: rule-based restructuring that keeps the facts, free and deterministic.

It reads no meaning: it moves clauses, changes voice and wording, asks and answers, makes notes. English only; other
languages get the forms that leave sentences alone. It cannot translate and says so.
"""

from __future__ import annotations

import asyncio
import random
import re

from pipeline.records import ModelError, RewriteAnswer, RewriteRequest, Usage
from pipeline.rephrase.blocks import Block, blocks
from pipeline.rephrase.chunking import sentence_spans
from pipeline.rephrase.tokens import estimate
from pipeline.teacher.questions import question
from pipeline.teacher.rewording import lower, reword

SPEAKERS = {"dialogue": ("**Student:**", "**Teacher:**"), "question_answer": ("**Q:**", "**A:**")}


class TeacherRewriter:
    """Plays the role `Rewriter` by rules."""

    name = "teacher"
    styles = frozenset(
        (
            "encyclopedic question_answer dialogue lecture notes historical cause_and_effect news_report letter "
            "for_an_expert learning_note"
        ).split()
    )
    """Styles it can write; `story_problem`, `for_a_child`, `translation` and `commented_code` need a model."""

    async def rewrite(self, request: RewriteRequest) -> RewriteAnswer:
        """The chunk said again. Raises ModelError for a style that rules cannot write."""
        await asyncio.sleep(0)
        if request.style not in self.styles:
            raise ModelError(
                f"The teacher cannot write the style {request.style}.",
                way_out="Let a model play the rewriter.",
            )
        rng = random.Random(
            f"{request.seed} {request.document.id} {request.chunk.index} {request.style} {request.attempt}"
        )
        text = "\n\n".join(
            part for block in blocks(request.chunk.text) if (part := _block(request, block, rng))
        )
        usage = Usage(tokens_in=request.chunk.tokens, tokens_out=estimate(text))
        return RewriteAnswer(text, prompt=f"teacher/{request.style}", usage=usage)


def _block(request: RewriteRequest, block: Block, rng: random.Random) -> str:
    text = request.chunk.text[block.start : block.end].strip()
    if block.kind in ("heading", "code", "table", "math", "quote"):
        return text
    sentences = [text[a:b].strip() for a, b in sentence_spans(text, request.document.language)]
    sentences = [sentence for sentence in sentences if sentence]
    english = request.document.language == "en"
    if block.kind == "item":
        mark, _, body = text.partition(" ")
        return f"{mark} {reword(body, rng)}" if english and len(sentences) == 1 else text
    if request.style in ("notes", "learning_note", "worked_steps"):
        groups = [[_said(sentence, rng, english) for sentence in group] for group in _grouped(sentences)]
        return "\n".join(f"- {' '.join(group)}" for group in groups)
    if request.style in SPEAKERS and english:
        return _asked(sentences, request.style, rng)
    return " ".join(_said(sentence, rng, english, request.style) for sentence in sentences)


OPENERS = {
    "lecture": ("Note that", "Keep in mind that", "Let us record that", "Observe that"),
    "letter": (
        "You should know that",
        "I can tell you that",
        "As you may remember,",
        "It is worth knowing that",
    ),
    "for_an_expert": ("In brief,", "As is known,"),
    "historical": ("It is recorded that", "As the sources tell,"),
    "news_report": ("It is reported that", "According to the text,"),
}
"""How some sentences of a style begin; they add no fact."""


def _said(sentence: str, rng: random.Random, english: bool, style: str = "") -> str:
    if not english or "$$" in sentence:
        return sentence
    changed = reword(sentence, rng)
    opens = style in OPENERS and rng.random() < 0.4 and not _HANGS.match(changed) and changed[0].isalpha()
    return f"{rng.choice(OPENERS[style])} {lower(changed)}" if opens else changed


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


def _asked(sentences: list[str], style: str, rng: random.Random) -> str:
    """Questions that the sentences answer, with the speakers of the style."""
    asks, answers = SPEAKERS[style]
    turns = []
    for group in _grouped(sentences):
        asked = question(group[0], rng)
        said = " ".join(_said(sentence, rng, True) for sentence in group)
        turns.append(f"{asks} {asked}\n\n{answers} {said}")
    return "\n\n".join(turns)
