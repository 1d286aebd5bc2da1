"""The reference of all views with their columns, made from the tables: `python -m pipeline.store.views > docs/views.md`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pipeline.store.catalog import Catalog
from pipeline.store.tables import TABLES

_HEAD = """# Views and their columns

Made from the tables by `python -m pipeline.store.views`; a test compares both. [queries.md](queries.md) has examples.
Columns of type `json` hold canonical JSON text; `record->>'$.policy'` looks into them. `all_NAME` has the rows as they were
written, where the view NAME shows the latest or sums of them.
"""
_RUNS = "Runs, finished or not. `version` is that of tracemill, `schema` that of the tables."
_TYPES = {"VARCHAR": "text", "BIGINT": "int", "INTEGER": "int", "DOUBLE": "real", "BOOLEAN": "bool"}


def reference() -> str:
    """Every view, what it holds, and its columns with their types, as Markdown."""
    parts = [_HEAD]
    with tempfile.TemporaryDirectory() as empty:
        connection = Catalog(Path(empty)).connect()
        for view in ("runs", *TABLES):
            about, json_columns = (
                (TABLES[view].about, TABLES[view].json_columns) if view in TABLES else (_RUNS, frozenset())
            )
            columns = connection.execute(f'describe "{view}"').fetchall()
            shown = [
                f"`{name}` {'json' if name in json_columns else _TYPES.get(kind, kind.lower())}"
                for name, kind, *_ in columns
            ]
            parts.append(f"## {view}\n\n{about}\n\n{', '.join(shown)}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(reference(), end="")
