"""Files of a dataset: shuffled without holding it in memory, cut by size, and in place all at once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.records import RunError
from pipeline.store.files import sync_file, told_when_full

ORDER = "_order"
"""A column of 63-bit numbers by which rows are shuffled; it is not written."""
_ROW_GROUP = 1000
_BUCKET_ROWS = 2048
_REPEATED = ("tools", "sources")
"""Long texts that many rows share; in the buckets each stands once."""


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder to fill, which becomes `out` when all went well, and vanishes otherwise.

    Raises RunError when `out` exists or the disk is full.
    """
    out = Path(out)
    if out.exists():
        raise RunError(
            f"{out} exists already, and an export never writes into a folder that is there.",
            way_out="Choose another --out, or remove that folder first.",
        )
    with told_when_full(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
        try:
            yield building
            building.chmod(0o755)
            for path in building.rglob("*"):
                sync_file(path)
            try:
                if not out.exists():
                    building.rename(out)
            except OSError as error:
                if not out.exists():
                    raise
                raise _made_meanwhile(out) from error
            if building.exists():
                raise _made_meanwhile(out)
            sync_file(out.parent)
        finally:
            shutil.rmtree(building, ignore_errors=True)


def _made_meanwhile(out: Path) -> RunError:
    return RunError(f"{out} was made by someone else meanwhile.", way_out="Choose another --out.")


class SplitFiles:
    """The files of one split. Rows arrive in any order and are written in the order of their ORDER column.

    They are first dealt into buckets by the upper part of that number, each bucket small enough to be sorted in
    memory: an external sort in one pass, whose result depends on the rows alone. Meanwhile the rows lie on the disk
    uncompressed (some kB each, their tools aside).
    """

    def __init__(self, folder: Path, split: str, schema: pa.Schema, expected: int, shard_bytes: int) -> None:
        self._folder = folder
        self._split = split
        self._schema = schema
        self._buckets = max(1, -(-expected // _BUCKET_ROWS))
        self._shard_bytes = shard_bytes
        self._sinks: dict[int, pa.ipc.RecordBatchStreamWriter] = {}
        self.rows = 0
        self.files: list[Path] = []

    def add(self, data: pa.Table) -> None:
        """Takes rows with the split's columns and ORDER."""
        self.rows += data.num_rows
        for name in _REPEATED:
            if name in data.column_names:
                place = data.column_names.index(name)
                data = data.set_column(place, name, data.column(name).dictionary_encode())
        order = data.column(ORDER).to_numpy()
        owners = (order >> 31) * self._buckets >> 32
        if self._buckets > 1:
            ranks = np.argsort(owners, kind="stable")
            data, owners = data.take(pa.array(ranks)), owners[ranks]
        buckets, starts = np.unique(owners, return_index=True)
        for bucket, start, end in zip(buckets, starts, [*starts[1:], len(owners)], strict=True):
            part = data.slice(start, end - start)
            self._sink(int(bucket), part.schema).write_table(part)

    def _sink(self, bucket: int, schema: pa.Schema) -> pa.ipc.RecordBatchStreamWriter:
        if bucket not in self._sinks:
            self._sinks[bucket] = pa.ipc.new_stream(str(self._bucket_path(bucket)), schema)
        return self._sinks[bucket]

    def _bucket_path(self, bucket: int) -> Path:
        return self._folder / f".{self._split}-{bucket:05d}.arrow"

    def finish(self) -> None:
        """Writes the files of the split and removes the buckets."""
        parts: list[Path] = []
        writer: pq.ParquetWriter | None = None
        file: IO[bytes] | None = None
        try:
            for data in self._sorted_buckets():
                if writer is None:
                    parts.append(self._folder / f".{self._split}-{len(parts):05d}.parquet")
                    file = parts[-1].open("wb")
                    # Without Arrow's own schema in the file, a dictionary of texts reads back as plain text.
                    options = {"compression": "zstd", "compression_level": 3, "store_schema": False}
                    writer = pq.ParquetWriter(file, data.schema, **options)
                writer.write_table(data, row_group_size=_ROW_GROUP)
                assert file is not None
                if self._is_full(file):
                    writer.close()
                    file.close()
                    writer = None
        finally:
            if writer is not None and file is not None:
                writer.close()
                file.close()
        for number, path in enumerate(parts):
            self.files.append(path.rename(path.with_name(self._name(number, len(parts)))))

    def _is_full(self, file: IO[bytes]) -> bool:
        return file.tell() >= self._shard_bytes

    def _name(self, number: int, count: int) -> str:
        return f"{self._split}-{number:05d}-of-{count:05d}.parquet"

    def _sorted_buckets(self) -> Iterator[pa.Table]:
        for bucket in range(self._buckets):
            if bucket not in self._sinks:
                continue
            self._sinks.pop(bucket).close()
            path = self._bucket_path(bucket)
            with pa.memory_map(str(path)) as source:
                data = pa.ipc.open_stream(source).read_all().unify_dictionaries()
            path.unlink()
            yield data.sort_by(ORDER).drop_columns([ORDER])


class SplitLines(SplitFiles):
    """The same for JSON lines: one text column, `line`, becomes the lines of the files."""

    def finish(self) -> None:
        parts: list[Path] = []
        file: IO[bytes] | None = None
        try:
            for data in self._sorted_buckets():
                if file is None:
                    parts.append(self._folder / f".{self._split}-{len(parts):05d}.jsonl")
                    file = parts[-1].open("wb")
                for line in data.column("line"):
                    file.write(line.as_buffer())
                if self._is_full(file):
                    file.close()
                    file = None
        finally:
            if file is not None:
                file.close()
        for number, path in enumerate(parts):
            self.files.append(path.rename(path.with_name(self._name(number, len(parts)))))

    def _name(self, number: int, count: int) -> str:
        return f"{self._split}-{number:05d}-of-{count:05d}.jsonl"
