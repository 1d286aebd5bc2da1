"""Finding copies among documents while they stream by: exact ones by hash, near ones by MinHash bands.

Broder, "On the resemblance and containment of documents" (1997); banding after Leskovec, Rajaraman, Ullman, "Mining of
Massive Datasets", chapter 3. Memory is bounded: the oldest documents are forgotten.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash
from datasketch import MinHash

from pipeline.records import Document

_BANDS, _ROWS, _SHINGLE = 16, 4, 5
_REMEMBERED = 50_000
_LONGEST = 20_000
"""Words of a document that are looked at; two books that share their first 20,000 words are copies here."""
Hashes = npt.NDArray[np.uint64]

_BASE = np.uint64(0x9E3779B97F4A7C15)
_WORD = re.compile(r"[\u3040-\u9fff]|\w+")


@dataclass(frozen=True, slots=True)
class Copy:
    source: str
    exact: bool


@dataclass(frozen=True, slots=True)
class _Known:
    source: str
    signature: Any
    keys: tuple[int, ...]


class Copies:
    """Remembers the documents it has seen. `threshold` is a Jaccard similarity of word 5-grams; 1 finds exact copies."""

    def __init__(self, threshold: float, remembered: int = _REMEMBERED) -> None:
        self._threshold = threshold
        self._remembered = remembered
        self._exact: OrderedDict[bytes, str] = OrderedDict()
        self._bands: dict[int, _Known] = {}
        self._order: deque[_Known] = deque()
        self._blank = MinHash(num_perm=_BANDS * _ROWS, hashfunc=int)

    def of(self, document: Document) -> Copy | None:
        """The earlier document that this one copies; a new document is remembered."""
        hashes = _hashes(_WORD.findall(document.text[: _LONGEST * 12].lower())[:_LONGEST])
        digest = hashlib.blake2b(
            f"{len(document.text)} ".encode() + hashes.tobytes(), digest_size=12
        ).digest()
        if digest in self._exact:
            return Copy(self._exact[digest], exact=True)
        if self._threshold < 1 and (near := self._near(document.source, hashes)) is not None:
            return Copy(near, exact=False)
        self._exact[digest] = document.source
        if len(self._exact) > self._remembered:
            self._exact.popitem(last=False)
        return None

    def _near(self, source: str, hashes: Hashes) -> str | None:
        sketch = self._blank.copy()
        sketch.update_batch(_shingles(hashes))
        values = sketch.hashvalues.astype(np.uint32)
        keys = tuple(
            xxhash.xxh64_intdigest(values[band * _ROWS : (band + 1) * _ROWS].tobytes(), seed=band)
            for band in range(_BANDS)
        )
        for known in {id(found): found for key in keys if (found := self._bands.get(key))}.values():
            if (known.signature == values).mean() >= self._threshold:
                return known.source
        self._remember(_Known(source, values, keys))
        return None

    def _remember(self, known: _Known) -> None:
        for key in known.keys:
            self._bands[key] = known
        self._order.append(known)
        if len(self._order) > self._remembered:
            oldest = self._order.popleft()
            for key in oldest.keys:
                if self._bands.get(key) is oldest:
                    del self._bands[key]


def _hashes(words: list[str]) -> Hashes:
    """64-bit hashes of the words; a word that comes often is hashed once."""
    known = {word: xxhash.xxh64_intdigest(word.encode()) for word in set(words)}
    return np.array([known[word] for word in words], dtype=np.uint64)


def _shingles(hashes: Hashes) -> list[int]:
    """32-bit hashes of the word n-grams, as polynomials of the words' hashes."""
    count = max(1, len(hashes) - _SHINGLE + 1)
    rolled = np.zeros(count, dtype=np.uint64)
    for offset in range(min(_SHINGLE, len(hashes))):
        rolled = rolled * _BASE + hashes[offset : offset + count]
    shingles: list[int] = (rolled >> np.uint64(32)).tolist()
    return shingles
