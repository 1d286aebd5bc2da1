"""`pipeline.models` with everything on: cache, ledger, limits, retries. The fourth argument: fixed, adaptive or cache:DIR."""

import asyncio
import tempfile
import time
from pathlib import Path

from measure import arguments, prompts, report

import pipeline.models.client  # noqa: F401 - openai, imported before the clock starts, as in the other scripts
from pipeline.config.models import Endpoint, Limits, Model, ModelsConfig
from pipeline.models import Models
from pipeline.records import ChatRequest, Message, Outcome

URL, COUNT, CONCURRENCY, HOW = arguments()


MORE: dict[str, float] = {}


async def watch(models: Models, began: float) -> None:
    """Note when the limit first is what the client may have at most."""
    while models.limits.get("m", 0) < CONCURRENCY:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    MORE["ramp"] = time.perf_counter() - began


async def main(folder: Path) -> int:
    limits = Limits(most=CONCURRENCY) if HOW == "adaptive" else Limits(concurrency=CONCURRENCY)
    config = ModelsConfig(endpoints={"default": Endpoint(base_url=URL)}, models={"m": Model()}, limits=limits)
    async with Models(config, cache_dir=folder) as models, asyncio.TaskGroup() as group:
        watching = group.create_task(watch(models, time.perf_counter()))
        answers = await asyncio.gather(
            *(
                models.chat(ChatRequest(model="m", messages=(Message(role="user", content=prompt),)))
                for prompt in prompts(COUNT)
            )
        )
        assert len(models.ledger.rows) == COUNT
        watching.cancel()
    return sum(answer.outcome is Outcome.OK for answer in answers)


with tempfile.TemporaryDirectory() as scratch:
    cache = Path(HOW.removeprefix("cache:")) if HOW.startswith("cache:") else Path(scratch)
    report(lambda: asyncio.run(main(cache)), MORE)
