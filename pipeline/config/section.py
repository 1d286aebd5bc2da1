"""The base of every section of the configuration."""

from __future__ import annotations

from math import isfinite
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict


class Section(BaseModel):
    """A frozen part of the configuration; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


Key = TypeVar("Key")


def _drawable(weights: dict[Key, float]) -> dict[Key, float]:
    for name, weight in weights.items():
        if not isfinite(weight) or weight < 0:
            raise ValueError(f"the weight of {name} has to be 0 or more and is {weight:g}")
    if not any(weights.values()):
        raise ValueError("one of the weights has to be more than 0")
    return weights


Weights = Annotated[dict[Key, float], AfterValidator(_drawable)]
"""Choices with their weights, which need not add up to one; at least one is above 0."""
