"""Splits that keep what belongs together on one side.

Whole groups are held out: all worlds of one skeleton, and with them all their tasks and attempts. A held-out row whose
user says nearly the same as in a training row is left out, so that near-duplicates too are on one side.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import xxhash
from datasketch import MinHash

TRAIN = "train"
Signature = npt.NDArray[np.uint32]
_HASHES = 64
_BANDS = 16


def order_key(seed: int, text: str) -> int:
    """A 63-bit number that shuffles: equal seeds give equal orders."""
    return int.from_bytes(hashlib.blake2b(f"{seed}\0{text}".encode(), digest_size=8).digest()) >> 1


def assign(groups: Sequence[str], shares: Mapping[str, float], seed: int) -> dict[str, str]:
    """Group name to split, given the group of each row and the share of rows wanted per held-out split.

    Held-out splits take whole groups, drawn in an order that the seed decides: groups that still fit, and where
    none fits, the smallest, as long as most rows stay in training. With fewer than three groups all is training.
    """
    sizes = Counter(groups)
    total = sum(sizes.values())
    free = sorted(sizes, key=lambda group: order_key(seed, group))
    splits = dict.fromkeys(sizes, TRAIN)
    for split, share in shares.items():
        wanted = share * total
        taken = 0
        while share and taken < wanted and len(free) > 2:
            fits = [group for group in free if taken + sizes[group] <= wanted * 1.25]
            if not fits and taken:
                break
            group = fits[0] if fits else min(free, key=lambda name: (sizes[name], order_key(seed, name)))
            if sizes[group] > total / 4:
                break
            free.remove(group)
            splits[group] = split
            taken += sizes[group]
    return splits


@lru_cache(maxsize=1)
def _empty() -> MinHash:
    return MinHash(num_perm=_HASHES, hashfunc=xxhash.xxh32_intdigest)


def signature(text: str) -> Signature:
    """MinHash signature (64 values, uint32) of the word 5-grams of a text, case and spacing aside."""
    words = text.casefold().split()
    grams = {" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4))}
    hashed = _empty().copy()
    hashed.update_batch([gram.encode("utf-8", "surrogatepass") for gram in sorted(grams)])
    return np.asarray(hashed.digest(), dtype=np.uint32)


def near_copies(held: Signature, train: Signature, threshold: float) -> set[int]:
    """Indexes of rows of `held` whose estimated Jaccard similarity to some row of `train` reaches `threshold`.

    Locality-sensitive hashing over 16 bands of 4 values finds the candidates in linear time; only they are compared.
    """
    found: set[int] = set()
    if not len(held) or not len(train):
        return found
    rows = _HASHES // _BANDS
    for band in range(_BANDS):
        part = slice(band * rows, (band + 1) * rows)
        buckets: dict[bytes, list[int]] = {}
        for index, values in enumerate(held[:, part]):
            if index not in found:
                buckets.setdefault(values.tobytes(), []).append(index)
        for number, values in enumerate(train[:, part]):
            for index in buckets.get(values.tobytes(), ()):
                if index not in found and float(np.mean(held[index] == train[number])) >= threshold:
                    found.add(index)
    return found
