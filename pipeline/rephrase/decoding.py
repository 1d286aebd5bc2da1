"""Bytes to text: encodings are detected, binary files refused, huge files cut at the ends of paragraphs."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from charset_normalizer import from_bytes

from pipeline.records import InputError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 65_536
_CONTROL = re.compile(r"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def decode(data: bytes, name: str) -> str:
    """The text of `data`; line ends are kept as they are.

    UTF-8 first; where single lines break it, those lines are read as Windows-1252 (mixed encodings); else the
    encoding that charset-normalizer finds. Raises InputError for binary data.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError as error:
                raise InputError(f"{name} starts like {encoding} but is not: {error}") from error
    if b"\0" in data[:_SAMPLE]:
        raise InputError(f"{name} is binary.", way_out="Convert it to text, JSON Lines or Parquet.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = _other_encoding(data, name)
    if len(_CONTROL.findall(text, 0, _SAMPLE)) > min(len(text), _SAMPLE) * 0.05:
        raise InputError(f"{name} is binary.", way_out="Convert it to text, JSON Lines or Parquet.")
    return text


def _other_encoding(data: bytes, name: str) -> str:
    lines = data.split(b"\n")
    foreign = [line for line in lines if not line.isascii()]
    broken = [line for line in foreign if not _is_utf8(line)]
    if len(broken) * 2 < len(foreign):
        return "\n".join(line.decode("utf-8" if _is_utf8(line) else "cp1252", "replace") for line in lines)
    best = from_bytes(b"\n".join(foreign)[:_SAMPLE]).best()
    if best is None:
        raise InputError(f"{name} is binary or in an unknown encoding.", way_out="Convert it to UTF-8.")
    return data.decode(best.encoding, "replace")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def pieces(path: Path, limit: int) -> Iterator[str]:
    """The text of a file in pieces of at most about `limit` bytes, cut at a blank line, else a line, else a space."""
    with path.open("rb") as file:
        rest = b""
        while True:
            block = file.read(limit - len(rest))
            data = rest + block
            if len(data) < limit:
                if data or path.stat().st_size == 0:
                    yield decode(data, path.name)
                return
            cut = _cut(data)
            yield decode(data[:cut], path.name)
            rest = data[cut:]


def cuts(text: str, limit: int) -> Iterator[str]:
    """`text` in pieces of at most `limit` characters, cut like a file."""
    begin = 0
    while len(text) - begin > limit:
        marks = (
            (text.rfind(mark, begin + limit // 2, begin + limit), len(mark)) for mark in ("\n\n", "\n", " ")
        )
        end = next((at + size for at, size in marks if at > 0), begin + limit)
        yield text[begin:end]
        begin = end
    yield text[begin:]


def _cut(data: bytes) -> int:
    for mark in (b"\n\n", b"\n", b" "):
        at = data.rfind(mark, len(data) // 2)
        if at > 0:
            return at + len(mark)
    at = len(data)
    while at > len(data) - 4 and data[at - 1] & 0xC0 == 0x80:
        at -= 1
    return at - 1 if data[at - 1] >= 0xC0 else at
