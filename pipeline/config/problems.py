"""What is wrong with a configuration, in plain words, and where each wrong value came from."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

Location = tuple[Any, ...]
Origins = Mapping[tuple[str, ...], str]
"""Key, as a path, to the variable or flag that gave its value."""

_SHOWN = 5
_WORDS = {
    "missing": "is missing",
    "greater_than_equal": "has to be at least {ge:g}",
    "greater_than": "has to be more than {gt:g}",
    "less_than_equal": "may be at most {le:g}",
    "less_than": "has to be less than {lt:g}",
    "literal_error": "has to be one of {expected}",
    "finite_number": "has to be a number with an end",
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "has to be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "has to be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "has to be true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "has to be a list"),
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type"), "has to be a mapping with keys of its own"
    ),
    "string_type": "has to be a text",
    "path_type": "has to be a path",
}


def told(error: ValidationError, model: type[BaseModel], where: str, origins: Origins) -> str:
    """One sentence a problem, the source of the value before it: the file `where`, a variable or a flag."""
    by_source: dict[str, list[str]] = {}
    for one in error.errors()[:_SHOWN]:
        source = _source(one["loc"], origins)
        by_source.setdefault(source or where, []).append(_told(one, model))
    more = len(error.errors()) - _SHOWN
    parts = [f"{source}: {'; '.join(problems)}" for source, problems in by_source.items()]
    return ". ".join(parts) + (f", and {more} more" if more > 0 else "") + "."


def _source(location: Location, origins: Origins) -> str:
    path = tuple(str(part) for part in location)
    if not path:  # only a name of a model that leads nowhere has no place of its own
        return next((origin for key, origin in origins.items() if key[0] == "roles"), "")
    return next((origins[path[:size]] for size in range(len(path), 0, -1) if path[:size] in origins), "")


def _told(one: Any, model: type[BaseModel]) -> str:
    location = tuple(
        part for part in one["loc"] if not str(part).startswith("(")
    )  # a form of a value, no key
    key = ".".join(str(part) for part in location if part != "[key]")
    if location[-1:] == ("[key]",) and one["type"] == "literal_error":
        return f"unknown key {key}, which {_WORDS['literal_error'].format(**one['ctx'])}"
    if one["type"] == "extra_forbidden":
        return f"unknown key {key}{_did_you_mean(location, model)}"
    if one["type"] == "value_error":
        return f"{key}: {one['ctx']['error']}".removeprefix(": ").rstrip(".")
    words = _WORDS.get(one["type"])
    said = words.format(**one.get("ctx", {})) if words else one["msg"]
    value = one.get("input")
    return f"{key} {said}" + (f" and is {value}" if isinstance(value, int | float) else "")


def _model_in(annotation: Any) -> Any:
    """The record that a value of an annotation is, also within a union, or what a mapping maps to."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inside = annotation if isinstance(annotation, tuple) else get_args(annotation)
    if get_origin(annotation) is dict:
        return None
    return next((found for one in inside if (found := _model_in(one)) is not None), None)


def _did_you_mean(location: Location, model: Any) -> str:
    for part in location[:-1]:
        field = getattr(_model_in(model), "model_fields", {}).get(str(part))
        model = field.annotation if field else get_args(model)[-1:]
    known = list(getattr(_model_in(model), "model_fields", {}))
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
