"""What the repository covers: tools by category and source.

An evolved tool's category is the first part of its domain. A real one has none: its words decide by the lists of
`tools_repo/categories.yaml`, and where they are too few or undecided, those of all tools of its server; what no list
fits is `other`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from pipeline.assets import asset
from pipeline.records import ConfigError, ToolSpec
from pipeline.tools.repository import Repository, home
from pipeline.tools.similarity import tool_words, words

OTHER = "other"
_FEWEST_HITS = 3
_MOST = 5
"""A word counts so often at most: one that every tool of a server has tells no more than one that many have."""

Categories = Mapping[str, frozenset[str]]
"""Words by category, in order of preference."""


@dataclass(frozen=True)
class CoverageRow:
    """One cell: how much of one category comes from one source."""

    category: str
    source: str
    tools: int
    distinct: int
    """After near-duplicates were put together."""
    homes: int
    """Servers or worlds."""


def read_categories(path: Path | None = None) -> dict[str, frozenset[str]]:
    """The shipped lists, or those of a file of the same form. Raises ConfigError."""
    path = path or asset("tools_repo/categories.yaml")
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"The categories {path} cannot be read: {error}.") from error
    if not isinstance(data, dict) or not all(isinstance(text, str) for text in data.values()):
        raise ConfigError(f"The categories {path} are no mapping of names to words.")
    return {str(name): frozenset(text.split()) for name, text in data.items()}


def categories_of(tools: Iterable[ToolSpec], categories: Categories | None = None) -> dict[str, str]:
    """Category by tool id."""
    categories = categories if categories is not None else read_categories()
    homes: dict[tuple[str, str], list[ToolSpec]] = defaultdict(list)
    for tool in tools:
        homes[home(tool)].append(tool)
    found: dict[str, str] = {}
    for (server, domain), group in homes.items():
        if domain:
            found.update((tool.id, domain.partition("/")[0]) for tool in group)
            continue
        counts = [Counter(tool_words(tool)) for tool in group]
        whole = Counter(word for count in counts for word in count) + Counter(words(server) * len(group))
        common = _guess(whole, categories) or OTHER
        found.update(
            (tool.id, _guess(count, categories) or common) for tool, count in zip(group, counts, strict=True)
        )
    return found


def _guess(counted: Counter[str], categories: Categories) -> str:
    """The one category with most hits; "" when there are few, or two have as many."""
    scores = sorted(
        ((sum(min(counted[word], _MOST) for word in known), name) for name, known in categories.items())
    )
    (second, _), (best, name) = scores[-2:]
    return name if best >= _FEWEST_HITS and best > second else ""


def coverage(repository: Repository, categories: Categories | None = None) -> list[CoverageRow]:
    """One row per category and source, the largest first; categories of the lists without any tool have zeros."""
    categories = categories if categories is not None else read_categories()
    category = categories_of(repository, categories)
    distinct: Counter[tuple[str, str]] = Counter(
        (category[tool.id], str(tool.provenance.source)) for tool in repository.representatives
    )
    tools: Counter[tuple[str, str]] = Counter()
    homes: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for tool in repository:
        key = (category[tool.id], str(tool.provenance.source))
        tools[key] += 1
        homes[key].add(home(tool))
    names = list(dict.fromkeys([*categories, *category.values()]))
    keys = [(name, source) for name in names for source in ("mcp", "evolved")]
    rows = [
        CoverageRow(*key, tools=tools[key], distinct=distinct[key], homes=len(homes[key])) for key in keys
    ]
    return sorted(rows, key=lambda row: (-row.tools, row.category, row.source))
