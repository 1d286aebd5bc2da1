"""Counting tokens: with a model's own tokenizer, or by a stated estimate."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from pipeline.records import ConfigError

Counter = Callable[[str], int]

_WIDE = re.compile(r"[\u0e00-\u0eff\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


def estimate(text: str) -> int:
    """About the number of tokens: one per 4 bytes of ASCII, per 2 other letters, per ideograph or syllable.

    Within 20 % of common byte-pair tokenizers on prose; formulas and code cost more in truth.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    wide = len(_WIDE.findall(text))
    plain = len(text.encode("ascii", "ignore"))
    return (plain + 3) // 4 + wide + (len(text) - plain - wide + 1) // 2


@cache
def counter(tokenizer: str) -> Counter:
    """A counter for the `tokenizer.json` at this path, or the estimate for an empty path.

    Raises ConfigError when the file or the library `tokenizers` is missing.
    """
    if not tokenizer:
        return estimate
    if not Path(tokenizer).is_file():
        raise ConfigError(
            f"The tokenizer {tokenizer} is no file.", way_out="Set rephrase.tokenizer to a tokenizer.json."
        )
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ConfigError(
            "rephrase.tokenizer needs the library `tokenizers`.", way_out="pip install 'tracemill[rephrase]'"
        ) from error
    loaded = Tokenizer.from_file(tokenizer)

    def count(text: str) -> int:
        return len(loaded.encode(text, add_special_tokens=False).ids)

    return count
