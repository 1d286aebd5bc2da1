"""A few full records of a flow, made in a temporary place and stored nowhere."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pipeline.config import Config
from pipeline.records import ConfigError
from pipeline.report.show import show_record
from pipeline.stages.context import Context
from pipeline.stages.inputs import check_inputs
from pipeline.stages.units import STAGES, stages_of, work
from pipeline.store import RunFolder

_SHOWN = {"tools": "tools", "tasks": "tasks", "trajectories": "trajectories"}


async def preview_records(config: Config, flow: str, count: int) -> list[str]:
    """Up to `count` records as readable text. Raises ConfigError for a flow that has none."""
    if flow not in _SHOWN:
        raise ConfigError(f"There is no preview of {flow!r}.", way_out=f"Choose one of {', '.join(_SHOWN)}.")
    check_inputs(flow, config)
    with tempfile.TemporaryDirectory(prefix="tracemill-preview-") as place:
        values = config.model_dump(mode="json")
        values["data"] = place
        values["cache"]["enabled"] = False
        values["tasks"]["count"] = max(count, 1)
        values["trajectories"]["attempts"] = 1
        small = Config.model_validate(values)
        folder = RunFolder.create(Path(place), "preview", flow, config.seed, small.to_yaml())
        context = Context(folder, small)
        for stage in stages_of(flow, small):
            for number in range(STAGES[stage].units(context)):
                await work(folder.path, stage, number)
        ids = [row["id"] for row in folder.rows(_SHOWN[flow], columns=("id",))][:count]
        return [show_record(Path(place), one) for one in ids]
