"""The repository of tools: identity, versions, duplicates, neighbors, and storage.

Tools are kept by content id. Equal content from another place is an exact duplicate; tools whose shingles agree to
the configured share are near-duplicates of their cluster's representative. **The rule for representatives**: a tool
that executes before one that does not; then one with a known license; then the one that documents more of itself
(characters of its description and its arguments' descriptions); then the smaller id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.tools import RepositoryConfig
from pipeline.records import InputError, ToolSpec, content_id
from pipeline.store import Row, tool_row
from pipeline.tools.keywords import subschemas
from pipeline.tools.similarity import Vectors, clusters, shingles


@dataclass(frozen=True)
class Cluster:
    """Tools that say the same; `members` holds the representative first."""

    representative: ToolSpec
    members: tuple[ToolSpec, ...]


class Repository:
    """A set of tools. Adding a tool that is there changes nothing; what is computed is computed once, when asked."""

    def __init__(self, tools: Iterable[ToolSpec] = (), config: RepositoryConfig | None = None) -> None:
        self._config = config or RepositoryConfig()
        self._tools: dict[str, ToolSpec] = {}
        self.add(tools)

    def add(self, tools: Iterable[ToolSpec]) -> int:
        """The number of tools that were new."""
        before = len(self._tools)
        for tool in tools:
            self._tools.setdefault(tool.id, tool)
        for computed in ("_ranked", "_firsts", "_vectors", "_cluster_of", "clusters"):
            self.__dict__.pop(computed, None)
        return len(self._tools) - before

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._tools.values())

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self._tools

    def __getitem__(self, tool_id: str) -> ToolSpec:
        """Raises KeyError."""
        return self._tools[tool_id]

    @property
    def representatives(self) -> list[ToolSpec]:
        """One tool per cluster, best first."""
        return [cluster.representative for cluster in self.clusters]

    @cached_property
    def clusters(self) -> list[Cluster]:
        """All tools in clusters of near-duplicates, those of one tool included, best representative first."""
        members: dict[int, list[ToolSpec]] = defaultdict(list)
        for tool, first in zip(self._ranked, self._firsts, strict=True):
            members[first].append(tool)
        return [Cluster(group[0], tuple(group)) for group in members.values()]

    def exact_duplicates(self) -> list[tuple[ToolSpec, ...]]:
        """Tools of equal content from different places, in groups of two and more, best first."""
        groups: dict[str, list[ToolSpec]] = defaultdict(list)
        for tool in self._ranked:
            groups[content_key(tool)].append(tool)
        return [tuple(group) for group in groups.values() if len(group) > 1]

    def duplicate_share(self) -> float:
        """Share of tools that are a near-duplicate of a representative other than themselves."""
        return 1 - len(self.clusters) / len(self) if len(self) else 0.0

    def versions(self, tool: ToolSpec) -> list[ToolSpec]:
        """What the same server or world has offered under this tool's original name, in order of version and arrival."""
        same = [other for other in self if lineage(other) == lineage(tool)]
        return sorted(same, key=lambda other: _version_key(other.provenance.version))

    def similar(self, tool: ToolSpec, n: int, beside: Collection[ToolSpec] = ()) -> list[ToolSpec]:
        """The `n` tools most like `tool` that are not it: distractors for a toolset with `tool` and `beside` in it.

        Left out are near-duplicates of any of these (they would be right), tools that share a name with them, and
        everything from their own servers and worlds (which may do the job in another way).
        """
        present = [tool, *beside]
        taken_clusters = {self._cluster_of[one.id] for one in present if one.id in self._cluster_of}
        names = {one.name.lower() for one in present}
        homes = {home(one) for one in present}
        contents = {content_key(one) for one in present}
        found: list[ToolSpec] = []
        for row, _ in self._vectors.nearest(tool):
            other = self._ranked[row]
            first = self._firsts[row]
            if first in taken_clusters or other.name.lower() in names or home(other) in homes:
                continue
            if content_key(other) in contents:
                continue
            found.append(other)
            taken_clusters.add(first)
            names.add(other.name.lower())
            if len(found) == n:
                break
        return found

    def rows(self) -> list[Row]:
        """Rows of `tools` for a shard, in order of arrival."""
        return [tool_row(tool) for tool in self]

    def save(self, path: Path) -> None:
        """One Parquet file: id, cluster and the record as JSON. Written beside and renamed, so never half there."""
        cluster = {tool.id: group.representative.id for group in self.clusters for tool in group.members}
        ids = list(self._tools)
        columns = {
            "id": pa.array(ids, pa.string()),
            "representative": pa.array([cluster[one] for one in ids], pa.string()),
            "record": pa.array([tool.to_json() for tool in self], pa.string()),
        }
        temporary = path.with_name(f".{path.name}.part")
        pq.write_table(pa.table(columns), temporary, compression="zstd")
        temporary.replace(path)

    @staticmethod
    def load(path: Path, config: RepositoryConfig | None = None) -> Repository:
        """A saved repository, or any Parquet file with a column `record`. Raises InputError."""
        try:
            records = pq.read_table(path, columns=["record"]).column("record").to_pylist()
            return Repository((ToolSpec.model_validate_json(record) for record in records), config)
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise InputError(f"The tool repository {path} cannot be read: {error}.") from error

    @cached_property
    def _ranked(self) -> list[ToolSpec]:
        return sorted(self._tools.values(), key=rank)

    @cached_property
    def _firsts(self) -> list[int]:
        sets = [shingles(tool) for tool in self._ranked]
        return clusters(sets, self._config.near_duplicate, self._config.permutations)

    @cached_property
    def _vectors(self) -> Vectors:
        return Vectors.of(self._ranked)

    @cached_property
    def _cluster_of(self) -> dict[str, int]:
        return {tool.id: first for tool, first in zip(self._ranked, self._firsts, strict=True)}


def rank(tool: ToolSpec) -> tuple[bool, bool, int, str]:
    """The rule for representatives: smaller is better."""
    texts = [tool.description]
    texts += [
        item["description"]
        for _, item in subschemas(tool.input_schema)
        if isinstance(item.get("description"), str)
    ]
    return (tool.program is None, not tool.provenance.license, -sum(map(len, texts)), tool.id)


def content_key(tool: ToolSpec) -> str:
    """Equal for tools that offer the same, wherever they come from."""
    kept = {"name", "title", "description", "input_schema", "output_schema", "errors"}
    return content_id("content", tool.model_dump(mode="json", include=kept))


def home(tool: ToolSpec) -> tuple[str, str]:
    """The server or the world that a tool belongs to."""
    origin = tool.provenance
    return (origin.package or origin.server, origin.domain)


def lineage(tool: ToolSpec) -> tuple[str, str, str]:
    """Equal for the versions of one tool: its home and its original name."""
    original = tool.original.get("name") if tool.original else None
    return (*home(tool), str(original or tool.name))


def _version_key(version: str) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in version.replace("-", ".").split(".")
    ]
