"""Worlds as SQLite databases (docs/worlds.md)."""

from pipeline.worlds.sql.engine import Runtime, SqlWorld, runtime
from pipeline.worlds.sql.guard import Limits
from pipeline.worlds.sql.host import SqlHost
from pipeline.worlds.sql.image import Image, build_image
from pipeline.worlds.sql.ledger import RowChange
from pipeline.worlds.sql.schema import quoted

__all__ = [
    "Image",
    "Limits",
    "RowChange",
    "Runtime",
    "SqlHost",
    "SqlWorld",
    "build_image",
    "quoted",
    "runtime",
]
