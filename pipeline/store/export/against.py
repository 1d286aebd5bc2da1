"""Decontamination: what overlaps with benchmark files.

Two kinds of overlap count: n-grams of words with any text of the files, and signatures of tools (a name with its
argument names) with any tool that the files declare. Files are JSON lines, JSON, Parquet or plain text; every string in
them counts as text, and strings that hold JSON are looked into.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from pipeline.records import InputError

_WORD = re.compile(r"\w+")
_TEXT = {".txt", ".md", ".rst", ".tex", ".html"}
_JSON_LINES = {".jsonl", ".ndjson"}


def words(text: str) -> list[str]:
    """The words of a text, in lower case, without punctuation."""
    return _WORD.findall(text.casefold())


def ngrams(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Hash (64 bits) and first word's index of each n-gram. Raises nothing; a shorter text has none."""
    found = words(text)
    for start in range(len(found) - size + 1):
        yield xxhash.xxh64_intdigest(" ".join(found[start : start + size]).encode("utf-8", "replace")), start


def tool_signature(tool: Any) -> str | None:
    """`name(argument, …)` of a tool in OpenAI, MCP or plain form; None for anything else.

    The name is reduced to its letters and digits. A tool without arguments has no signature: too many share it.
    """
    if not isinstance(tool, dict):
        return None
    inner: dict[str, Any] = tool["function"] if isinstance(tool.get("function"), dict) else tool
    schema = next(
        (
            inner[key]
            for key in ("parameters", "input_schema", "inputSchema")
            if isinstance(inner.get(key), dict)
        ),
        None,
    )
    if not isinstance(inner.get("name"), str) or schema is None:
        return None
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return None
    name = re.sub(r"[^a-z0-9]", "", inner["name"].casefold())
    return f"{name}({', '.join(sorted(properties))})"


@dataclass(frozen=True)
class Hit:
    """An overlap of one row. `evidence` is an n-gram in words or the tool signatures."""

    kind: str
    file: str
    evidence: str
    share: float


@dataclass(frozen=True)
class Benchmarks:
    """What was read from the benchmark files: sorted n-gram hashes, the file of each, tool signatures with files."""

    files: tuple[str, ...]
    size: int
    hashes: npt.NDArray[np.uint64]
    owners: npt.NDArray[np.uint16]
    tools: dict[str, int]

    def text_hit(self, texts: Sequence[str], share: float) -> Hit | None:
        """The first overlapping n-gram, when more than `share` of the texts' n-grams overlap."""
        total = 0
        first: tuple[str, int, int] | None = None
        hits = 0
        if not len(self.hashes):
            return None
        for text in texts:
            pairs = list(ngrams(text, self.size))
            if not pairs:
                continue
            total += len(pairs)
            hashes = np.fromiter((pair[0] for pair in pairs), np.uint64, len(pairs))
            places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
            matches = np.flatnonzero(self.hashes[places] == hashes)
            hits += len(matches)
            if len(matches) and first is None:
                first = text, pairs[matches[0]][1], int(self.owners[places[matches[0]]])
        if first is None or hits / total <= share:
            return None
        text, start, owner = first
        return Hit(
            "n-gram",
            self.files[owner],
            " ".join(words(text)[start : start + self.size]),
            round(hits / total, 4),
        )

    def tool_hit(self, tools: Sequence[Any], least: int) -> Hit | None:
        """Common tools, when there are at least `least` (or all of the row's, if it has fewer)."""
        own = {signature for tool in tools if (signature := tool_signature(tool))}
        common = sorted(own & self.tools.keys())
        if not common or len(common) < min(least, len(own)):
            return None
        file = self.files[self.tools[common[0]]]
        return Hit("tools", file, "; ".join(common), round(len(common) / len(own), 4))


def read_benchmarks(paths: Sequence[Path], size: int) -> Benchmarks:
    """Reads benchmark files, or all such files below a folder. Raises InputError for what cannot be read."""
    hashes: list[npt.NDArray[Any]] = []
    owners: list[npt.NDArray[Any]] = []
    tools: dict[str, int] = {}
    names: list[str] = []
    for path in _files(paths):
        number = len(names)
        names.append(path.name)
        found: set[int] = set()
        for value in _values(path):
            for item in _walk(value):
                if isinstance(item, str):
                    found.update(pair[0] for pair in ngrams(item, size))
                elif signature := tool_signature(item):
                    tools.setdefault(signature, number)
        hashes.append(np.fromiter(found, np.uint64, len(found)))
        owners.append(np.full(len(found), number, np.uint16))
    together = np.concatenate(hashes) if hashes else np.empty(0, np.uint64)
    order = np.argsort(together, kind="stable")
    owner = np.concatenate(owners) if owners else np.empty(0, np.uint16)
    return Benchmarks(tuple(names), size, together[order], owner[order], tools)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            known = _TEXT | _JSON_LINES | {".json", ".parquet"}
            inside = sorted(file for file in path.rglob("*") if file.suffix in known)
            if not inside:
                raise InputError(f"The folder {path} holds no benchmark file.", way_out=_KNOWN)
            yield from inside
        elif path.is_file():
            yield path
        else:
            raise InputError(
                f"The benchmark file {path} is not there.", way_out="Check the path after --against."
            )


_KNOWN = "Known are .jsonl, .ndjson, .json, .parquet and plain text (.txt, .md, .rst, .tex, .html)."


def _values(path: Path) -> Iterator[Any]:
    try:
        if path.suffix in _JSON_LINES:
            with path.open(encoding="utf-8") as file:
                yield from (json.loads(line) for line in file if line.strip())
        elif path.suffix == ".json":
            yield json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix == ".parquet":
            with pq.ParquetFile(path) as table:
                for batch in table.iter_batches(batch_size=1024):
                    yield from batch.to_pylist()
        elif path.suffix in _TEXT:
            yield path.read_text(encoding="utf-8")
        else:
            raise InputError(f"{path} is of no kind that can be read as a benchmark.", way_out=_KNOWN)
    except (ValueError, pa.ArrowInvalid) as error:
        raise InputError(f"The benchmark file {path} cannot be read: {error}", way_out=_KNOWN) from error


def _walk(value: Any) -> Iterator[Any]:
    """Every string and object inside a JSON value, also inside strings that hold JSON."""
    if isinstance(value, str):
        yield value
        if value[:1] in ("{", "["):
            try:
                inside = json.loads(value)
            except ValueError:
                return
            yield from _walk(inside)
    elif isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _walk(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item)
