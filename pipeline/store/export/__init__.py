"""Datasets from runs: chosen, cleaned, split, verified, and written with a card, whole or not at all."""

from pipeline.store.export.export import export
from pipeline.store.export.formats import FORMATS, Format
from pipeline.store.export.outcome import ExportReport

__all__ = ["FORMATS", "ExportReport", "Format", "export"]
