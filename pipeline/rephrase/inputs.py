"""Reading documents: text, Markdown, HTML, JSON Lines, Parquet and dataset folders, streamed.

One document is in memory at a time. What cannot or need not be used is not dropped silently: each case becomes a
`Skipped` and is handed to the caller.
"""

from __future__ import annotations

import glob
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pipeline.assets import asset
from pipeline.config.rephrase import RephraseSection
from pipeline.records import ConfigError, Document, InputError
from pipeline.rephrase.copies import Copies
from pipeline.rephrase.decoding import cuts, decode, pieces
from pipeline.rephrase.nature import kind_of, language_of, says_something

log = logging.getLogger(__name__)

Reason = Literal["empty", "binary", "unreadable", "no prose", "copy", "near copy", "already rewritten"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A document that was not taken, and why; `detail` names the earlier document for copies."""

    source: str
    reason: Reason
    detail: str = ""


OnSkip = Callable[[Skipped], None]


def _log(skipped: Skipped) -> None:
    log.warning("%s skipped: %s %s", skipped.source, skipped.reason, skipped.detail)


@dataclass(frozen=True, slots=True)
class _Raw:
    source: str
    text: str
    row: dict[str, Any]


def read_documents(
    paths: Iterable[str | Path], config: RephraseSection, on_skip: OnSkip = _log
) -> Iterator[Document]:
    """The documents below `paths` (files, folders, globs; none: the samples that ship), in a stable order.

    Raises ConfigError when a path or glob names nothing.
    """
    copies = Copies(config.skip_near_duplicates)
    for raw in _raw_documents(paths, config, on_skip):
        if isinstance(raw, Skipped):
            on_skip(raw)
            continue
        for piece in _pieces(raw, config.max_document_bytes):
            if skipped := _unfit(piece):
                on_skip(skipped)
                continue
            document = _document(piece)
            if (copy := copies.of(document)) is not None:
                on_skip(Skipped(piece.source, "copy" if copy.exact else "near copy", copy.source))
                continue
            yield document


def _pieces(raw: _Raw, limit: int) -> Iterator[_Raw]:
    """A row or page as it is, or in several documents where it is larger than `limit`."""
    if len(raw.text) <= limit:
        yield raw
        return
    for number, text in enumerate(cuts(raw.text, limit)):
        yield _Raw(f"{raw.source}.{number}", text, raw.row)


def _unfit(raw: _Raw) -> Skipped | None:
    if not raw.text.strip():
        return Skipped(raw.source, "empty")
    if raw.row.get("rewrite_of") or (raw.row.get("style") and raw.row.get("source_document")):
        return Skipped(raw.source, "already rewritten", str(raw.row.get("style", "")))
    if not says_something(raw.text):
        return Skipped(raw.source, "no prose")
    return None


_TITLE = re.compile(r"\s*(?:#\s+|title:\s*)(.+)")


def _document(raw: _Raw) -> Document:
    title = raw.row.get("title") or ((found := _TITLE.match(raw.text[:400])) and found[1].strip()) or ""
    return Document(
        source=raw.source,
        text=raw.text,
        kind=kind_of(raw.text),
        language=str(raw.row.get("language") or "") or language_of(raw.text),
        title=str(title),
        license=str(raw.row.get("license") or ""),
    )


def _raw_documents(
    paths: Iterable[str | Path], config: RephraseSection, on_skip: OnSkip
) -> Iterator[_Raw | Skipped]:
    for path, name in input_files(list(paths) or [asset("data/documents")]):
        try:
            yield from _FORMATS.get(path.suffix.lower(), _plain)(path, name, config)
        except InputError as error:
            on_skip(Skipped(name, "binary" if "binary" in error.what else "unreadable", str(error)))


def input_files(paths: list[str | Path]) -> Iterator[tuple[Path, str]]:
    """Files in a stable order, each once, with a name that holds no machine path.

    Raises ConfigError when a path or glob names nothing.
    """
    seen: set[Path] = set()
    for given in paths:
        path = Path(given)
        if path.is_file():
            found = [(path, path.name)]
        elif path.is_dir():
            found = sorted(
                (file, file.relative_to(path).as_posix()) for file in path.rglob("*") if _wanted(file)
            )
        else:
            found = [(Path(name), Path(name).name) for name in sorted(glob.glob(str(given), recursive=True))]
            found = [(file, name) for file, name in found if file.is_file()]
        if not found:
            raise ConfigError(
                f"The input {given} names no file.", way_out="Give a file, a folder or a glob that matches."
            )
        for file, name in found:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield file, name


def _wanted(file: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.parts[-2:])
    index = file.name in {"dataset_info.json", "state.json", "dataset_dict.json"} or file.name.startswith(
        "cache-"
    )
    return file.is_file() and not hidden and not index


def _plain(path: Path, name: str, config: RephraseSection) -> Iterator[_Raw]:
    for index, text in enumerate(pieces(path, config.max_document_bytes)):
        yield _Raw(name if index == 0 else f"{name}#{index}", text, {})


def _html(path: Path, name: str, config: RephraseSection) -> Iterator[_Raw]:
    try:
        import trafilatura
    except ImportError as error:
        raise InputError(
            f"{name} is HTML, which needs the library trafilatura.",
            way_out="pip install 'tracemill[rephrase]'",
        ) from error
    text = trafilatura.extract(
        decode(path.read_bytes(), name),
        output_format="markdown",
        include_tables=True,
        include_formatting=True,
    )
    yield _Raw(name, text or "", {})


def _json_lines(path: Path, name: str, config: RephraseSection) -> Iterator[_Raw | Skipped]:
    """One document a line; a line that cannot be read is skipped alone."""
    with path.open("rb") as lines:
        for index, line in enumerate(lines):
            if not line.strip():
                continue
            try:
                row = json.loads(decode(line, f"{name} line {index + 1}"))
            except ValueError as error:
                yield Skipped(f"{name}#{index}", "unreadable", f"line {index + 1} is no JSON: {error}")
                continue
            except InputError as error:
                yield Skipped(f"{name}#{index}", "binary", str(error))
                continue
            yield _row(row, name, index, config)


def _parquet(path: Path, name: str, config: RephraseSection) -> Iterator[_Raw | Skipped]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{name} is no Parquet file: {error}") from error
    with file:
        index = 0
        for batch in file.iter_batches(batch_size=32):
            for row in batch.to_pylist():
                yield _row(row, name, index, config)
                index += 1


def _arrow(path: Path, name: str, config: RephraseSection) -> Iterator[_Raw | Skipped]:
    """One file of a dataset folder, as `datasets` saves it (Arrow stream format)."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped) as stream:
            index = 0
            for batch in stream:
                for row in batch.to_pylist():
                    yield _row(row, name, index, config)
                    index += 1
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{name} is no Arrow stream: {error}") from error


def _row(row: Any, name: str, index: int, config: RephraseSection) -> _Raw | Skipped:
    """The document of a row. Raises InputError when the column is missing: then it is missing everywhere."""
    if isinstance(row, dict) and config.text_field in row and not isinstance(row[config.text_field], str):
        return Skipped(f"{name}#{index}", "empty", f"{config.text_field} is no text")
    if not isinstance(row, dict) or config.text_field not in row:
        raise InputError(
            f"{name} row {index} has no text in the field {config.text_field!r}.",
            way_out="Set rephrase.text_field to the column that holds the text.",
        )
    label = row.get(config.id_field)
    return _Raw(f"{name}#{index if label is None else label}", row[config.text_field], row)


_FORMATS: dict[str, Callable[[Path, str, RephraseSection], Iterator[_Raw | Skipped]]] = {
    ".html": _html,
    ".htm": _html,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
    ".arrow": _arrow,
}
