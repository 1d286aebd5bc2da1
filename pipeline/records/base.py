"""What all records share: frozen pydantic models, canonical JSON and content ids."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict of the same."""

R = TypeVar("R", bound="Record")


class Record(BaseModel):
    """Base of everything that is written to disk or sent over a wire."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    def to_json(self) -> str:
        """JSON that reads back as the same record: the order of keys is kept, so are 25 and 25.0."""
        return self.model_dump_json()

    def replace(self: R, **changes: Any) -> R:
        """A validated copy with some fields changed."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**fields, **changes})


def canonical_json(value: Json) -> str:
    """One text for one value: keys sorted, no white space, integral floats written as integers.

    Raises ValueError for NaN and infinities, which JSON does not know.
    """
    return json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _plain(value: Json) -> Json:
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is int:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {key if type(key) is str else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def content_id(prefix: str, value: Json, size: int = 8) -> str:
    """`prefix_` and a hash of the canonical JSON of `value` (`size` bytes, hexadecimal)."""
    digest = hashlib.blake2b(canonical_json(value).encode("utf-8", "surrogatepass"), digest_size=size)
    return f"{prefix}_{digest.hexdigest()}"
