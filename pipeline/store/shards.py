"""Parquet files: rows in, rows out, equal bytes for equal rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.records import RunError, canonical_json
from pipeline.store.files import told_when_full
from pipeline.store.tables import Row, Table

ROW_GROUP = 8192
_BATCH = 1024


def to_arrow(table: Table, rows: Sequence[Row]) -> pa.Table:
    """`rows` as an Arrow table of exactly the declared schema; a repeated key is kept once, the first.

    Objects and lists in JSON columns become canonical JSON text; a text there is taken as JSON text already.
    Raises ValueError for a column that the table does not have or a value that is not of its type.
    """
    known = set(table.schema.names)
    for row in rows:
        if not known.issuperset(row):
            raise ValueError(f"table {table.name} has no column {sorted(set(row) - known)}")
    if table.key:
        unique: dict[tuple[object, ...], Row] = {}
        for row in rows:
            unique.setdefault(tuple(row.get(column) for column in table.key), row)
        rows = list(unique.values())
    if any(isinstance(row.get(column), _OPEN) for row in rows for column in table.json_columns):
        rows = [_as_text(row, table.json_columns) for row in rows]
    try:
        return pa.Table.from_pylist(rows, schema=table.schema)
    except UnicodeEncodeError:
        # Half a surrogate pair, which a model may well answer in a JSON escape, is no text that UTF-8 can hold.
        return pa.Table.from_pylist([_encodable(row) for row in rows], schema=table.schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"a row of table {table.name} does not fit its columns: {error}") from error


_OPEN = (dict, list, tuple)


def _as_text(row: Row, columns: frozenset[str]) -> Row:
    texts = {name: canonical_json(row[name]) for name in columns if isinstance(row.get(name), _OPEN)}
    return {**row, **texts}


def _encodable(row: Row) -> Row:
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }


def write_parquet(path: Path, data: pa.Table) -> str:
    """Writes and syncs `path`; returns a hash of its bytes. Fixed options: equal tables give equal bytes.

    Raises RunError when the disk is full.
    """
    with told_when_full(path), path.open("wb") as file:
        pq.write_table(
            data,
            file,
            version="2.6",
            compression="zstd",
            compression_level=3,
            row_group_size=ROW_GROUP,
            write_page_index=False,
        )
        file.flush()
        os.fsync(file.fileno())
    return digest(path)


def digest(path: Path) -> str:
    """A hash of the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def read_table(path: Path, columns: Sequence[str], filters: Any = None) -> pa.Table:
    """Columns of a Parquet file, optionally filtered as pyarrow does. Raises RunError when it is damaged."""
    with _told_when_damaged(path):
        return pq.read_table(path, columns=list(columns), filters=filters)


def read_rows(path: Path, columns: Iterable[str] | None = None) -> Iterator[Row]:
    """The rows of a Parquet file in order, a batch at a time. Raises RunError when it is damaged."""
    with _told_when_damaged(path):
        with pq.ParquetFile(path) as file:
            names = None if columns is None else list(columns)
            for batch in file.iter_batches(batch_size=_BATCH, columns=names):
                yield from batch.to_pylist()


@contextmanager
def _told_when_damaged(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        raise RunError(
            f"The shard {path} is damaged ({error}).",
            way_out=f"Delete the folder {path.parent} and run `tracemill resume`: that unit is made again.",
        ) from error
