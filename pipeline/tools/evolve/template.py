"""Texts and trees with holes: how an archetype becomes a world.

`$name` and `${expression}` are replaced, `<% if … %>…<% endif %>` keeps or drops a piece of text. A mapping with `when`
stays only if that expression is true; a list item that becomes empty text is dropped. Braces belong to the world.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Environment, StrictUndefined, TemplateError

from pipeline.records import ConfigError, Json

_BARE = re.compile(r"\$([a-z][a-z_0-9]*)")
_ENVIRONMENT = Environment(
    variable_start_string="${",
    variable_end_string="}",
    block_start_string="<%",
    block_end_string="%>",
    comment_start_string="<#",
    comment_end_string="#>",
    undefined=StrictUndefined,
    autoescape=False,
)
Context = Mapping[str, Any]
ARTICLES = "a_before_vowels"
"""Where a context keeps the pattern of `a` before a noun that needs `an`; names in SQL never match it."""


@lru_cache(maxsize=50_000)
def _text(template: str) -> Callable[[Context], str] | None:
    if "$" not in template and "<%" not in template:
        return None
    return _ENVIRONMENT.from_string(_BARE.sub(r"${\1}", template)).render


@lru_cache(maxsize=5_000)
def _expression(source: str) -> Callable[..., Any]:
    return _ENVIRONMENT.compile_expression(source, undefined_to_none=False)


def filled(template: str, context: Context) -> str:
    """The text without holes, `a order` made `an order`. Raises ConfigError naming the text and what is wrong with it."""
    try:
        render = _text(template)
        if render is None:
            return template
        articles = context.get(ARTICLES)
        text = render(context)
        return text if articles is None else articles.sub(r"\1n \2", text)
    except TemplateError as error:
        raise ConfigError(
            f"The text {template[:120]!r} of an archetype cannot be filled: {error}."
        ) from error


def holds(source: str | bool, context: Context) -> bool:
    """The truth of a `when`. Raises ConfigError."""
    if isinstance(source, bool):
        return source
    try:
        return bool(_expression(source)(**context))
    except TemplateError as error:
        raise ConfigError(f"The condition {source!r} of an archetype cannot be decided: {error}.") from error


def grown(tree: Json, context: Context) -> Json:
    """A tree without holes and conditions; keys are texts too. Raises ConfigError."""
    if isinstance(tree, str):
        return filled(tree, context)
    if isinstance(tree, dict):
        return {
            filled(key, context): grown(value, context)
            for key, value in tree.items()
            if key != "when" and _stays(value, context)
        }
    if isinstance(tree, list):
        items = (grown(item, context) for item in tree if _stays(item, context))
        return [item for item in items if item != ""]
    return tree


def _stays(item: Json, context: Context) -> bool:
    return not isinstance(item, dict) or holds(item.get("when", True), context)
