"""Proof that trainers read a row as it was meant: rendered in chat templates, read back, and compared.

Each template is a Jinja file of a family that trainers use; assistant turns stand in `{% generation %}` blocks, as
trainers' own mask code expects. A second, independent piece of code per family reads the rendered text: it finds the
messages by the family's control tokens alone, knows nothing of the row, and its findings must equal the row. The
spans of the blocks must be exactly the assistant turns, so that a loss mask made from them trains what it should.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser

from pipeline.records import ConfigError
from pipeline.store.export.conversation import Conversation, Turn, Unfit

_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
"""Non-characters of Unicode that mark the spans while rendering; a text that contains them is refused."""


class Read(NamedTuple):
    """A message as found in rendered text. `calls` are (name, arguments) pairs."""

    role: str
    content: str
    calls: tuple[tuple[str, Any], ...] = ()
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """Rendered text, and the [start, end) span of each assistant turn in it."""

    text: str
    spans: tuple[tuple[int, int], ...]


class _Generation(jinja2.ext.Extension):
    """`{% generation %} … {% endgeneration %}`: marks what the model is to produce."""

    tags = {"generation"}

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        begin, end = (
            jinja2.nodes.Output([jinja2.nodes.TemplateData(mark)], lineno=line) for mark in (_OPEN, _CLOSE)
        )
        return [begin, *body, end]


class _Once(dict[str, Any]):
    """An object whose JSON text is made once, since several templates and thousands of rows show the same."""

    text: str

    @classmethod
    def of(cls, value: dict[str, Any]) -> _Once:
        once = cls(value)
        once.text = json.dumps(value, ensure_ascii=False)
        return once


def _to_json(value: Any) -> str:
    return value.text if isinstance(value, _Once) else json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=64)
def _tools(text: str) -> tuple[_Once, ...]:
    return tuple(_Once.of(tool) for tool in json.loads(text))


@lru_cache(maxsize=8)
def _template(name: str) -> jinja2.Template:
    folder = Path(__file__).parent / "templates"
    if name not in _READERS:
        raise ConfigError(
            f"publish.verify names {name!r}, which is no chat template.",
            way_out=f"Known templates: {', '.join(TEMPLATES)}.",
        )
    environment = jinja2.Environment(
        extensions=[_Generation], undefined=jinja2.StrictUndefined, autoescape=False
    )
    environment.filters["tojson"] = _to_json
    return environment.from_string((folder / f"{name}.jinja").read_text(encoding="utf-8"))


def template_messages(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Messages as templates take them: arguments as objects."""
    return [
        {
            "role": turn.role,
            "content": turn.content,
            "reasoning_content": turn.reasoning,
            "name": turn.name,
            "tool_call_id": turn.call_id,
            "tool_calls": [
                {"id": call.id, "type": "function", "function": _function(call.name, call.arguments)}
                for call in turn.calls
            ],
        }
        for turn in turns
    ]


def _function(name: str, arguments: str) -> dict[str, Any]:
    return {"name": name, "arguments": _Once.of(json.loads(arguments))}


def render(name: str, row: Conversation, messages: list[dict[str, Any]] | None = None) -> Rendered:
    """The row in the template `name`. Raises ConfigError for an unknown template."""
    marked = _template(name).render(
        messages=messages if messages is not None else template_messages(row.turns), tools=_tools(row.tools)
    )
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    length = 0
    for part in re.split(f"({_OPEN}[^{_CLOSE}]*{_CLOSE})", marked):
        if part.startswith(_OPEN):
            part = part[1:-1]
            spans.append((length, length + len(part)))
        pieces.append(part)
        length += len(part)
    return Rendered("".join(pieces), tuple(spans))


def verify(row: Conversation, templates: Sequence[str]) -> None:
    """Raises Unfit, naming template and turn, unless the row reads back equal from every template."""
    for turn in row.turns:
        if any(mark in text for mark in (_OPEN, _CLOSE) for text in (turn.content, turn.reasoning)):
            raise Unfit("holds a character that is none", f"event {turn.event}")
    messages = template_messages(row.turns)
    expected = [_expected(turn, message) for turn, message in zip(row.turns, messages, strict=True)]
    unthinking = [read._replace(reasoning="") for read in expected] if _reasons(row) else expected
    for name in templates:
        rendered = render(name, row, messages)
        try:
            _compare(name, row, rendered, expected if name in _REASONING else unthinking)
        except (ValueError, KeyError, TypeError) as error:
            raise Unfit("cannot be read back from a chat template", f"{name}: {error}") from error


def _reasons(row: Conversation) -> bool:
    return any(turn.reasoning for turn in row.turns)


def _compare(name: str, row: Conversation, rendered: Rendered, expected: list[Read]) -> None:
    found = _READERS[name](rendered.text)
    if _system_agrees(found, row):
        found[0] = expected[0]
    if len(found) != len(expected):
        raise Unfit(
            "reads back otherwise from a chat template", f"{name}: {len(found)} messages for {len(expected)}"
        )
    for turn, wanted, got in zip(row.turns, expected, found, strict=True):
        if got != wanted:
            raise Unfit("reads back otherwise from a chat template", f"{name}, event {turn.event}")
    reader = _SPAN_READERS[name]
    spoken = [reader(rendered.text[start:end]) for start, end in rendered.spans]
    if spoken != [read for read in expected if read.role == "assistant"]:
        raise Unfit("the mask's spans are not the agent's turns", name)


def _expected(turn: Turn, message: dict[str, Any]) -> Read:
    calls = tuple((call["function"]["name"], call["function"]["arguments"]) for call in message["tool_calls"])
    return Read(turn.role, turn.content, calls, turn.reasoning)


def _system_agrees(found: list[Read], row: Conversation) -> bool:
    """The system message also carries the tools: each stands there on a line of its own, in order, and the prompt."""
    if not found or found[0].role != "system" or row.turns[0].content not in found[0].content:
        return False
    lines = iter(found[0].content.split("\n"))
    return all(tool.text in lines for tool in _tools(row.tools))


# -- readers: from rendered text to messages, by control tokens alone ---------------------------------------------


_loads = lru_cache(maxsize=256)(json.loads)
"""Spans are read a second time, and templates of one family hold the same text."""


def _calls_in_tags(body: str) -> tuple[str, tuple[tuple[str, Any], ...]]:
    text, *tagged = body.split("<tool_call>\n")
    calls = []
    for part in tagged:
        inside, closing, rest = part.partition("\n</tool_call>")
        if not closing or rest.strip():
            raise ValueError("a call is not closed")
        call = _loads(inside)
        calls.append((call["name"], call["arguments"]))
    return (text.removesuffix("\n") if calls else text), tuple(calls)


def _assistant_hermes(body: str) -> Read:
    content, calls = _calls_in_tags(body.removesuffix("<|im_end|>"))
    return Read("assistant", content, calls)


def _assistant_reasoning(body: str) -> Read:
    if not body.startswith("<think>\n"):
        raise ValueError("no thinking block")
    thought, closing, rest = body.removeprefix("<think>\n").partition("\n</think>\n\n")
    if not closing:
        raise ValueError("the thinking block is not closed")
    content, calls = _calls_in_tags(rest.removesuffix("<|im_end|>"))
    return Read("assistant", content, calls, thought)


def _assistant_llama3(body: str) -> Read:
    content, *tagged = body.removesuffix("<|eot_id|>").removesuffix("<|eom_id|>").split("<|python_tag|>")
    calls = [_loads(part) for part in tagged]
    return Read("assistant", content, tuple((call["name"], call["parameters"]) for call in calls))


def _chatml(text: str) -> list[tuple[str, str]]:
    parts = []
    for part in text.split("<|im_start|>")[1:]:
        body, closing, rest = part.partition("<|im_end|>")
        if not closing or rest.strip():
            raise ValueError("a message is not closed")
        role, _, content = body.partition("\n")
        parts.append((role, content))
    return parts


def _read_hermes(text: str) -> list[Read]:
    found: list[Read] = []
    for role, body in _chatml(text):
        if role == "assistant":
            found.append(_assistant_hermes(body))
        elif role == "user" and body.startswith("<tool_response>\n"):
            for part in body.removeprefix("<tool_response>\n").split("\n<tool_response>\n"):
                if not part.endswith("\n</tool_response>"):
                    raise ValueError("a tool response is not closed")
                found.append(Read("tool", part.removesuffix("\n</tool_response>")))
        else:
            found.append(Read(role, body))
    return found


def _read_reasoning(text: str) -> list[Read]:
    return [
        _assistant_reasoning(body) if role == "assistant" else Read(role, body)
        for role, body in _chatml(text)
    ]


def _read_llama3(text: str) -> list[Read]:
    found: list[Read] = []
    for part in text.removeprefix("<|begin_of_text|>").split("<|start_header_id|>")[1:]:
        role, _, body = part.partition("<|end_header_id|>\n\n")
        if role == "assistant":
            found.append(_assistant_llama3(body))
            continue
        content, closing, rest = body.partition("<|eot_id|>")
        if not closing or rest:
            raise ValueError("a message is not closed")
        found.append(Read({"ipython": "tool"}.get(role, role), content))
    return found


_READERS: dict[str, Callable[[str], list[Read]]] = {
    "hermes": _read_hermes,
    "llama3": _read_llama3,
    "reasoning": _read_reasoning,
}
TEMPLATES = tuple(_READERS)
"""Names of the chat templates; each is a file in `templates/`."""
_SPAN_READERS: dict[str, Callable[[str], Read]] = {
    "hermes": _assistant_hermes,
    "llama3": _assistant_llama3,
    "reasoning": _assistant_reasoning,
}
_REASONING = {"reasoning"}
"""Templates that show what the agent thought."""
