"""The rewriter, played by a model: one chunk in another style, seeing the document around it."""

from __future__ import annotations

import re
from dataclasses import replace

from pipeline.models.players.seat import Seat
from pipeline.models.prompts import Prompts, shipped
from pipeline.records import Document, ModelError, Outcome, RewriteAnswer, RewriteRequest

_HEADING = re.compile(r"^(?:#{1,6}\s.*|\S[^\n]*\n[=-]{3,})$", re.MULTILINE)
_CHARACTERS_A_TOKEN = 4
_AROUND = 1500
_TAIL = 1200


class ModelRewriter:
    """Styles are the prompts `style/NAME`: a new file there is a new style."""

    def __init__(
        self,
        seat: Seat,
        *,
        temperature: float | None = None,
        context_tokens: int = 6000,
        prompts: Prompts | None = None,
    ) -> None:
        self._seat = seat
        self._temperature = temperature
        self._context = context_tokens * _CHARACTERS_A_TOKEN
        self._prompts = prompts or shipped()
        self._prompt = self._prompts.get("rewriter/chunk")
        self.name = f"model:{seat.model}"

    def offers(self, document: Document) -> None:
        """Any style that has a prompt."""

    async def rewrite(self, request: RewriteRequest) -> RewriteAnswer:
        """The chunk said again; `truncated` when the answer was cut off. Another attempt is another sample.

        Raises ModelError when no answer can be had, ConfigError for a style without a prompt.
        """
        style = self._prompts.get(f"style/{request.style}")
        (manner,) = style.render()
        whole, outline, before, after = self._surroundings(request)
        messages = self._prompt.render(
            manner=manner.content,
            title=request.document.title,
            whole=whole,
            outline=outline,
            before=before,
            after=after,
            written=request.written[-_TAIL:],
            chunk=request.chunk.text,
        )
        version = f"{self._prompt.version}+{style.version}"
        seat = replace(self._seat, sample=self._seat.sample + request.attempt, seed=request.seed)
        answer = await seat.try_(messages, version, temperature=self._temperature)
        if answer.outcome not in (Outcome.OK, Outcome.TRUNCATED):
            said = answer.error or answer.refusal
            raise ModelError(f"The rewriter {seat.model} gave no usable answer ({answer.outcome}): {said}")
        truncated = answer.outcome is Outcome.TRUNCATED
        return RewriteAnswer(answer.content.strip(), truncated=truncated, prompt=version, usage=answer.usage)

    def _surroundings(self, request: RewriteRequest) -> tuple[str, str, str, str]:
        """The whole document where it fits; else its headings and what stands before and after the chunk."""
        text, chunk = request.document.text, request.chunk
        if len(text) <= self._context:
            return text, "", "", ""
        outline = "\n".join(_HEADING.findall(text))[:_AROUND]
        before = text[max(0, chunk.start - _AROUND) : chunk.start]
        return "", outline, before, text[chunk.end : chunk.end + _AROUND]
