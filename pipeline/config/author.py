"""The model as author: of domains, worlds and tasks. Used when `roles.author` names a model."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from pipeline.config.section import Section


class TreeConfig(Section):
    """The tree of domains: category, application domain, subdomain. One world is made for each subdomain."""

    categories: tuple[str, ...] = ()
    """The top of the tree; empty: the model names `breadth[0]` categories."""
    breadth: tuple[int, int, int] = (8, 4, 3)
    """Categories, domains in each category, subdomains in each domain."""
    near_duplicate: float = Field(default=0.5, gt=0, le=1)
    """Share of common words from which two places are one."""

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if any(not 1 <= count <= 200 for count in self.breadth):
            raise ValueError("breadth holds three numbers from 1 to 200")
        return self

    @property
    def leaves(self) -> int:
        """Subdomains of the whole tree."""
        top = len(self.categories) or self.breadth[0]
        return top * self.breadth[1] * self.breadth[2]


class AuthorSection(Section):
    """How a model makes domains, worlds and tasks."""

    tree: TreeConfig = TreeConfig()
    worlds: int | None = Field(default=None, ge=0)
    """How many worlds to ask for; not given: as many as `evolve.tools` needs."""
    tools: tuple[int, int] = (6, 12)
    """The least and the most tools of one world."""
    rows: int = Field(default=8, ge=2, le=60)
    """Seed rows asked for in each table."""
    repairs: int = Field(default=3, ge=0, le=10)
    """How often each stage is shown what went wrong with its answer when it was executed."""
    sketch: bool = False
    """For weak models: the author only sketches a world, and what follows from the sketch is derived: tables, keys,
    the arguments of tools, their refusals for rows that are not there, and examples."""
    words: bool = True
    """Whether the model also writes how people talk about each tool; else plain wordings are made from its names."""
    languages: tuple[str, ...] = ("en",)
    """Languages (ISO 639-1) of what is written for people: summaries, descriptions, tasks; worlds take them in turn."""
    probes: bool = True
    """Whether a model in the role `policy` also tries each proposed task, once with the first message alone and once
    with all facts at once."""
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int = Field(default=2500, ge=64)
    """Tokens of one answer."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        least, most = self.tools
        if not 1 <= least <= most <= 40:
            raise ValueError("tools holds the least and the most, from 1 to 40")
        if not self.languages:
            raise ValueError("languages names at least one language")
        return self
