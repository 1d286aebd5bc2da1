"""Structured answers: read tolerantly, validated strictly, and a model told what was wrong."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import jsonschema_rs

from pipeline.records import Json

_FENCE = re.compile(r"```(?:json|JSON)?\s*\n?(.*?)```", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_MOST_STARTS = 50


class Unreadable(Exception):
    """A text that is no answer of the wanted form; the message is fit to be shown to the model."""


def read_json(text: str) -> Json:
    """The JSON value in an answer: the whole text, a fenced block, or the first value in the prose.

    Accepts trailing commas. Raises Unreadable; nothing is invented, so a value that is cut off stays unreadable.
    """
    stripped = text.strip().removeprefix("\ufeff")
    candidates = [stripped, *(found.strip() for found in _FENCE.findall(stripped))]
    for candidate in candidates:
        for variant in (candidate, _TRAILING_COMMA.sub(r"\1", candidate)):
            try:
                return _loads(variant)
            except ValueError:
                continue
    return _first_value(stripped)


def _loads(text: str) -> Json:
    try:
        return json.loads(text, parse_constant=_no_constant, strict=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")


def _first_value(text: str) -> Json:
    """The first object or filled list in prose; never one that lies inside another that is broken or cut off."""
    decoder = json.JSONDecoder(parse_constant=_no_constant, strict=False)
    starts = [match.start() for match in re.finditer(r"[{\[]", text)][:_MOST_STARTS]
    read_up_to = 0
    for start in starts:
        if start < read_up_to:
            continue
        try:
            value, read_up_to = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
                break
            read_up_to = error.pos
            continue
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) or (isinstance(value, list) and value):
            return value
    raise Unreadable("It holds no complete JSON value.")


def read_answer(text: str, schema: dict[str, Any]) -> Json:
    """The value in `text`, valid under `schema`. Raises Unreadable, naming up to five places that do not fit."""
    value = read_json(text)
    problems = []
    for error in _validator(json.dumps(schema)).iter_errors(value):
        place = "/".join(str(part) for part in error.instance_path) or "the answer"
        problems.append(f"{place}: {error.message[:300]}")
        if len(problems) == 5:
            break
    if problems:
        raise Unreadable("It does not fit the schema. " + "; ".join(problems))
    return value


@lru_cache(maxsize=512)
def _validator(schema: str) -> jsonschema_rs.Validator:
    validator: jsonschema_rs.Validator = jsonschema_rs.validator_for(json.loads(schema))
    return validator
