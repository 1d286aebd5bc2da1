"""How alike tools are: shingles and MinHash for near-duplicates, weighted words for neighbors and maps.

Near-duplicates after Broder, "On the resemblance and containment of documents" (1997), through the library
datasketch; candidates are confirmed by the exact Jaccard similarity, so a hash collision never joins two tools.
Neighbors by the cosine of hashed tf-idf vectors. Nothing needs a network or a model.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xxhash
from datasketch import MinHash, MinHashLSH
from scipy import sparse

from pipeline.records import ToolSpec
from pipeline.tools.keywords import subschemas

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WIDTH = 1 << 18
_SHINGLE = 3
_MOST_WORDS = 2000


def words(text: str) -> list[str]:
    """Lower-case words; `getUserName` and `get_user_name` are three."""
    return [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text))]


def shingles(tool: ToolSpec) -> frozenset[str]:
    """What a near-duplicate shares: three-word runs of the description, and of each argument its name with type,
    and three-word runs of its description. Names of tools do not count, unless nothing else is there."""
    found = set(_runs(words(tool.description[:20_000])))
    for path, item in subschemas(tool.input_schema):
        if not path:
            continue
        name = path.rpartition("/")[2]
        found.add(f"{name}:{item.get('type')}")
        if isinstance(item.get("description"), str):
            found.update(f"{name}:{run}" for run in _runs(words(item["description"][:2_000])))
    return frozenset(found) or frozenset(_runs(words(tool.name)))


def _runs(parts: Sequence[str]) -> Iterator[str]:
    if 0 < len(parts) < _SHINGLE:
        yield " ".join(parts)
    for start in range(len(parts) - _SHINGLE + 1):
        yield " ".join(parts[start : start + _SHINGLE])


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    union = len(left | right)
    return len(left & right) / union if union else 1.0


def clusters(sets: Sequence[frozenset[str]], threshold: float, permutations: int = 64) -> list[int]:
    """For each set the index of its cluster's first member; earlier sets are preferred as first members.

    Each set joins the most similar earlier first member whose Jaccard similarity reaches the threshold, else it
    becomes one itself. Only first members are indexed, so many copies of one tool cost no more than one lookup each.
    """
    firsts: list[int] = []
    index = MinHashLSH(threshold=threshold, num_perm=permutations, weights=(0.2, 0.8))
    seen: dict[frozenset[str], int] = {}
    hashes = MinHash.generator(
        ([item.encode("utf-8", "replace") for item in one] for one in sets),
        num_perm=permutations,
        hashfunc=xxhash.xxh32_intdigest,
    )
    for number, (one, minhash) in enumerate(zip(sets, hashes, strict=True)):
        if one in seen:
            firsts.append(seen[one])
            continue
        likely = [(jaccard(one, sets[other]), -other) for other in index.query(minhash)]
        similarity, first = max(likely, default=(0.0, 0))
        firsts.append(-first if similarity >= threshold else number)
        if firsts[-1] == number:
            index.insert(number, minhash)
        seen[one] = firsts[-1]
    return firsts


@dataclass
class Vectors:
    """Rows of tf-idf, one per tool, of length one; words are hashed into a fixed width."""

    matrix: sparse.csr_matrix
    weights: np.ndarray[Any, np.dtype[np.float32]] = field(repr=False)

    @staticmethod
    def of(tools: Sequence[ToolSpec]) -> Vectors:
        """Sublinear counts times smoothed inverse document frequency."""
        counts = _counts(tools)
        documents = np.bincount(counts.indices, minlength=_WIDTH)
        weights = (np.log((1 + len(tools)) / (1 + documents)) + 1).astype(np.float32)
        return Vectors(_weighted(counts, weights), weights)

    def nearest(self, tool: ToolSpec) -> Iterator[tuple[int, float]]:
        """Rows by falling cosine with a tool, which need not be among them; rows without a common word left out."""
        query = _weighted(_counts([tool]), self.weights)
        scores = np.asarray((self.matrix @ query.T).todense()).ravel()
        for row in np.argsort(-scores, kind="stable"):
            if scores[row] <= 0:
                return
            yield int(row), float(scores[row])


def _counts(tools: Sequence[ToolSpec]) -> sparse.csr_matrix:
    rows, columns, values = [], [], []
    for row, tool in enumerate(tools):
        counted = Counter(zlib.crc32(word.encode("utf-8", "replace")) % _WIDTH for word in tool_words(tool))
        rows += [row] * len(counted)
        columns += list(counted)
        values += [float(count) for count in counted.values()]
    shape = (len(tools), _WIDTH)
    return sparse.csr_matrix((np.asarray(values, dtype=np.float32), (rows, columns)), shape=shape)


def tool_words(tool: ToolSpec) -> list[str]:
    """The words that say what a tool is about: its name counts thrice, argument names once."""
    arguments = " ".join(tool.input_schema.get("properties", {}))
    return words(tool.name) * 3 + words(tool.title) + words(tool.description)[:_MOST_WORDS] + words(arguments)


def _weighted(counts: sparse.csr_matrix, weights: np.ndarray[Any, np.dtype[np.float32]]) -> sparse.csr_matrix:
    result = counts.copy()
    result.data = (1 + np.log(result.data)) * weights[result.indices]
    length = np.sqrt(np.asarray(result.multiply(result).sum(axis=1)).ravel())
    length[length == 0] = 1
    scaled: sparse.csr_matrix = (sparse.diags(1 / length) @ result).tocsr()
    return scaled
