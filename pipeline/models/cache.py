"""Answers kept between runs, and the key under which an answer is kept.

The key is everything that can change the answer: the fields of the request in `KEYED`, and what the configuration says
of the model. `NOT_KEYED` names the rest; a test fails for a field in neither. Which way a structured answer was
asked for on the wire is no part of it, so that a rerun finds what a fallback brought.

The order of keys matters in schemas (it shapes the answer) and is kept; in tools it is made canonical on the wire and
in the key alike (see `wire`), so that tools that went through a file ask the same question.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pipeline.config.models import Resolved
from pipeline.models.wire import wire_messages, wire_tools
from pipeline.records import ChatRequest, ConfigError

KEYED = frozenset(
    {
        "model",
        "messages",
        "tools",
        "tool_choice",
        "output_schema",
        "temperature",
        "top_p",
        "max_tokens",
        "stop",
        "seed",
        "logprobs",
        "sample",
        "prompt",
    }
)
NOT_KEYED = frozenset({"role", "stage", "purpose"})
"""Who asks, and for what: the ledger's columns."""

KEYED_OF_MODEL = frozenset(
    {
        "structured",
        "tools",
        "temperature",
        "top_p",
        "max_tokens",
        "max_tokens_field",
        "logprobs",
        "extra",
    }
)
NOT_KEYED_OF_MODEL = frozenset({"endpoint", "name", "context", "price", "limits"})
"""The endpoint enters by its address and the name as it stands on the wire; the others change no answer."""

_DEFAULTS_BY_MODEL = ("temperature", "top_p", "max_tokens")


def request_key(request: ChatRequest, target: Resolved) -> str:
    """The content address of the answer to `request` at `target`, 32 hexadecimal digits."""
    settings = target.model
    fields: dict[str, Any] = {
        "endpoint": target.endpoint.base_url,
        "model": target.wire_name,
        "messages": wire_messages(request.messages),
        "tools": wire_tools(request.tools),
        "tool_choice": request.tool_choice,
        "output_schema": request.output_schema,
        "stop": request.stop,
        "seed": request.seed,
        "logprobs": request.logprobs or settings.logprobs,
        "sample": request.sample,
        "prompt": request.prompt,
        "structured": settings.structured if request.output_schema else "",
        "tools_mode": settings.tools if request.tools else "",
        "max_tokens_field": settings.max_tokens_field,
        "extra": settings.extra,
    }
    for name in _DEFAULTS_BY_MODEL:
        given = getattr(request, name)
        fields[name] = getattr(settings, name) if given is None else given
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class Journal(Protocol):
    """What a run remembers of the answers it has had, good or not: a resumed run asks no question twice."""

    def answered(self, key: str) -> str | None:
        """The text recorded under `key`."""
        ...

    def record(self, key: str, text: str) -> None:
        """Keep `text` under `key`, durably before returning."""
        ...


@dataclass(frozen=True)
class CacheStats:
    """What a cache holds."""

    path: str
    entries: int
    bytes: int
    """Of the stored answers, compressed."""
    oldest: float | None
    """Unix time of the last use of the entry that has rested longest."""
    models: dict[str, int]
    """Entries by model name."""


class AnswerCache:
    """A SQLite file (WAL) of raw answers by key: one short transaction an answer, safe for several processes.

    `synchronous=NORMAL`: a power cut may lose the last answers, never the file; a killed process loses nothing.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "answers.db"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, model TEXT NOT NULL, "
                "body BLOB NOT NULL, used REAL NOT NULL) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"The cache {self.path} cannot be opened ({error}).",
                way_out="Name another folder in cache.dir, or set cache.enabled to false.",
            ) from error
        self._touched: set[str] = set()

    def get(self, key: str) -> str | None:
        """The raw answer under `key`; an entry that cannot be read counts as absent and is removed."""
        row = self._db.execute("SELECT body FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            text = zlib.decompress(row[0]).decode("utf-8", "surrogatepass")
        except (zlib.error, UnicodeDecodeError):
            self._db.execute("DELETE FROM answers WHERE key = ?", (key,))
            return None
        self._touched.add(key)
        return text

    def put(self, key: str, model: str, text: str) -> None:
        """Keep `text`; the first answer under a key stays."""
        body = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        self._db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)", (key, model, body, time.time()))

    def stats(self) -> CacheStats:
        """Counts and sizes."""
        entries, size, oldest = self._db.execute(
            "SELECT count(*), coalesce(sum(length(body)), 0), min(used) FROM answers"
        ).fetchone()
        models = dict(self._db.execute("SELECT model, count(*) FROM answers GROUP BY model ORDER BY model"))
        return CacheStats(str(self.path), entries, size, oldest, models)

    def prune(self, *, max_bytes: int | None = None, older_than: float | None = None, model: str = "") -> int:
        """Remove entries: all of `model`, those not used for `older_than` seconds, and the longest-rested ones until
        `max_bytes` hold. Returns how many went; the file shrinks."""
        self._note_uses()
        before = self._db.total_changes
        if model:
            self._db.execute("DELETE FROM answers WHERE model = ?", (model,))
        if older_than is not None:
            self._db.execute("DELETE FROM answers WHERE used < ?", (time.time() - older_than,))
        if max_bytes is not None:
            self._db.execute(
                "DELETE FROM answers WHERE key IN (SELECT key FROM (SELECT key, sum(length(body)) OVER "
                "(ORDER BY used DESC, key) AS upto FROM answers) WHERE upto > ?)",
                (max_bytes,),
            )
        gone = self._db.total_changes - before
        self._db.execute("VACUUM")
        return gone

    def _note_uses(self) -> None:
        now = time.time()
        changes = [(now, key) for key in self._touched]
        self._touched.clear()
        if changes:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("UPDATE answers SET used = ? WHERE key = ?", changes)
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Write down which entries were used, and close."""
        self._note_uses()
        self._db.close()
