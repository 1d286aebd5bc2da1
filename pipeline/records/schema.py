"""The records as JSON Schema: `python -m pipeline.records.schema > docs/records.schema.json`."""

from __future__ import annotations

import json
import sys
from typing import Any

from pydantic.json_schema import models_json_schema

import pipeline.records as records
from pipeline.records.base import Record


def schema() -> dict[str, Any]:
    """One document with a definition for every record that is exported."""
    models = [
        model
        for name in sorted(records.__all__)
        if isinstance(model := getattr(records, name), type)
        and issubclass(model, Record)
        and model is not Record
    ]
    _, document = models_json_schema([(model, "validation") for model in models], title="tracemill records")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}


def text() -> str:
    """The schema as it lies in `docs/`."""
    return json.dumps(schema(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
