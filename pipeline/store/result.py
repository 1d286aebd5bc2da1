"""A result of SQL, printed as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Literal

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table as RichTable

from pipeline.records import InputError, RunError

Format = Literal["table", "csv", "json", "parquet"]
_BATCH = 4096


@contextmanager
def told_of_sql() -> Iterator[None]:
    """Turns an error of DuckDB into a RunError where a shard is damaged, else into an InputError."""
    try:
        yield
    except duckdb.Error as error:
        damaged = isinstance(
            error, duckdb.IOException | duckdb.InvalidInputException | duckdb.SerializationException
        )
        if damaged and ".parquet" in str(error):
            raise RunError(
                f"A shard cannot be read: {error}",
                way_out="Delete its folder and run `tracemill resume` on its run: that unit is made again.",
            ) from error
        if isinstance(error, duckdb.PermissionException):
            raise InputError(
                f"The query reaches outside the runs: {str(error).splitlines()[0]}",
                way_out="Only the views, and files below runs/ and exports/ of the data folder, can be read here.",
            ) from error
        raise InputError(f"The query failed: {error}") from error


class Result:
    """Rows of a query, read in batches when they are asked for."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, sql: str) -> None:
        self._connection = connection
        self._sql = sql
        self._fresh = True
        connection.execute(sql)
        self.columns: list[str] = [column[0] for column in connection.description or ()]

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows as Python tuples."""
        return list(self._batches())

    def dicts(self) -> list[dict[str, Any]]:
        """All rows as column name to value."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def write(self, format: Format, out: BinaryIO) -> None:
        """Writes all rows to a binary stream. JSON is one array of objects; a table is for eyes."""
        match format:
            case "table":
                self._table(out)
            case "csv":
                self._csv(out)
            case "json":
                self._json(out)
            case "parquet":
                self._parquet(out)

    def text(self, format: Literal["table", "csv", "json"]) -> str:
        """What `write` would write, as text."""
        out = io.BytesIO()
        self.write(format, out)
        return out.getvalue().decode()

    def _executed(self) -> duckdb.DuckDBPyConnection:
        """The connection with the rows before it; asked for a second time, the query is executed again."""
        if not self._fresh:
            self._connection.execute(self._sql)
        self._fresh = False
        return self._connection

    def _batches(self) -> Iterator[tuple[Any, ...]]:
        with told_of_sql():
            self._executed()
        while True:
            with told_of_sql():
                rows = self._connection.fetchmany(_BATCH)
            if not rows:
                return
            yield from rows

    def _table(self, out: BinaryIO) -> None:
        table = RichTable(*self.columns, box=None, pad_edge=False, header_style="bold")
        widest = [len(column) for column in self.columns]
        for row in self._batches():
            cells = [_cell(value) for value in row]
            widest = [max(a, min(len(b), 120)) for a, b in zip(widest, cells, strict=True)]
            table.add_row(*cells)
        text = io.StringIO()
        Console(
            file=text, width=sum(widest) + 2 * len(widest) + 2, markup=False, emoji=False, highlight=False
        ).print(table)
        out.write("\n".join(line.rstrip() for line in text.getvalue().splitlines()).encode() + b"\n")

    def _csv(self, out: BinaryIO) -> None:
        text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        for row in self._batches():
            writer.writerow(["" if value is None else _plain_text(value) for value in row])
        text.detach()

    def _json(self, out: BinaryIO) -> None:
        separator = b"[\n"
        for row in self._batches():
            record = dict(zip(self.columns, row, strict=True))
            out.write(separator + json.dumps(record, ensure_ascii=False, default=_json_value).encode())
            separator = b",\n"
        out.write(b"[]\n" if separator == b"[\n" else b"\n]\n")

    def _parquet(self, out: BinaryIO) -> None:
        with told_of_sql(), warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # of a copy of the rows: cheaper than the query once more
            reader = self._executed().to_arrow_reader(_BATCH)
        assert reader is not None
        with told_of_sql(), reader:
            with pq.ParquetWriter(pa.PythonFile(out, mode="w"), reader.schema, compression="zstd") as writer:
                for batch in reader:
                    writer.write_batch(batch)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return _plain_text(value).replace("\n", "⏎")


def _plain_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=_json_value)
    return str(_json_value(value)) if not isinstance(value, str | int | float) else str(value)


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
