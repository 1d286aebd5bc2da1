"""What a schedule starts: one run of a product, after finishing what an earlier one left behind.

Retries have one owner, this flow: its run folder is named after the flow run, so that a second attempt goes on in the
same folder, and what a killed machine left behind is finished by the next run of the same product.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import flows.settings  # noqa: F401  # isort: skip  (before Prefect)
from prefect import flow, get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterEndTime,
)
from prefect.client.schemas.objects import FlowRun, State
from prefect.runtime import flow_run as present

from flows.execute import execute
from pipeline import __version__
from pipeline.config import load_config
from pipeline.stages.inputs import check_inputs
from pipeline.store import RunFolder, names, readable

NAME = "tracemill-scheduled"
_NOTICE_SECONDS = 60


def notify(command: str, event: dict[str, Any]) -> None:
    """Runs the user's command with one JSON object on its standard input. Raises CalledProcessError when it fails."""
    text = json.dumps(event, ensure_ascii=False)
    subprocess.run(command, shell=True, input=text, text=True, check=True, timeout=_NOTICE_SECONDS)


def tell(flow: Any, flow_run: FlowRun, state: State[Any]) -> None:
    """The hook of failed and crashed flow runs."""
    parameters = flow_run.parameters or {}
    if command := parameters.get("on_failure"):
        product = parameters["product"]
        about = {"run": run_name(product, flow_run.id), "state": state.name, "message": state.message}
        notify(command, {"flow": product, **about})


def run_name(product: str, flow_run: object) -> str:
    """The name of the run folder of a flow run; every attempt of it has the same, and no other one.

    The beginning of Prefect's ids is the time at which a run was planned, and many are planned at once: hence the hash.
    """
    return f"{product}-{_drawn(flow_run):010x}"


def _drawn(flow_run: object) -> int:
    """A number of 40 bits that belongs to one flow run, whatever becomes of the folders of others."""
    return int.from_bytes(hashlib.blake2b(str(flow_run).encode(), digest_size=5).digest())


@flow(
    name=NAME,
    flow_run_name="{product}",
    retries=2,
    retry_delay_seconds=30,
    persist_result=False,
    on_failure=[tell],
    on_crashed=[tell],
)
def scheduled(
    product: str = "trajectories",
    config: str | None = None,
    count: int | None = None,
    seed: int | None = None,
    data: str | None = None,
    on_failure: str | None = None,
    keep_days: int = 30,
) -> list[str]:
    """The names of the runs that were worked on: those picked up, then the new one.

    Without `seed` each run gets the configuration's plus a number drawn from the flow run's id, since equal seeds would
    give equal data. Records of Prefect older than `keep_days` are removed; 0 keeps all.
    """
    loaded = load_config(Path(config) if config else None, {"tasks.count": count, "data": data})
    check_inputs(product, loaded)
    earlier = left_behind(loaded.data, product)
    for folder in earlier:
        _pick_up(folder, on_failure)
    name = run_name(product, present.id)
    if name in names(loaded.data):
        folder = RunFolder.open(loaded.data, name)
    else:
        fresh = loaded.seed + _drawn(present.id) if seed is None else seed
        settings = loaded.model_copy(update={"seed": fresh})
        folder = RunFolder.create(loaded.data, name, product, fresh, settings.to_yaml(), version=__version__)
    if folder.status != "finished":
        _work(folder, on_failure)
    if keep_days > 0:
        prune(keep_days)
    return [*(one.name for one in earlier if one.name != name), name]


def left_behind(data: Path, product: str) -> list[RunFolder]:
    """Runs of a product whose process was killed or interrupted. Those of a person at work hold their lock."""
    return [
        folder
        for folder in readable(data)
        if folder.flow == product and folder.status in ("running", "interrupted") and not folder.holder()
    ]


def _pick_up(folder: RunFolder, on_failure: str | None) -> None:
    """Finishes what was left behind. Where that cannot be done, it is told, and the run is not picked up again."""
    try:
        _work(folder, on_failure)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is no reason to make nothing new
        if on_failure:
            about = {"run": folder.name, "state": "Failed", "message": str(error)}
            notify(on_failure, {"flow": folder.flow, **about})
        get_run_logger().error("The run %s could not be finished: %s", folder.name, error)


def _work(folder: RunFolder, on_failure: str | None) -> None:
    """Executes what is left. A pause (budget spent, endpoint down) is told, and is no failure: nothing is lost."""
    reason = execute(folder, lambda _: nullcontext())
    if reason and on_failure:
        notify(on_failure, {"flow": folder.flow, "run": folder.name, "state": "Paused", "message": reason})


def prune(keep_days: int) -> int:
    """Removes Prefect's records of our flow runs that ended longer ago, with their task runs; returns how many.

    Run folders are not touched: they are the truth, the records only say when something was started.
    """
    before = datetime.now(UTC) - timedelta(days=keep_days)
    ours = FlowFilter(name=FlowFilterName(any_=[NAME, "tracemill"]))
    old = FlowRunFilter(end_time=FlowRunFilterEndTime(before_=before))
    gone = 0
    with get_client(sync_client=True) as client:
        while found := client.read_flow_runs(flow_filter=ours, flow_run_filter=old, limit=200):
            for run in found:
                client.delete_flow_run(run.id)
            gone += len(found)
    return gone
