"""What `sandboxes/prepare.sh` needs: `python -m pipeline.sandbox check`, and `… build [NAME…]`."""

from __future__ import annotations

import asyncio
import sys

from pipeline.records.errors import TracemillError
from pipeline.sandbox.engine import Engine, engine_problem
from pipeline.sandbox.images import build_image


async def build(names: list[str]) -> None:
    async with Engine.connect() as engine:
        for name in names:
            image = await build_image(engine, name)
            print(f"{image.name} {image.digest} ({image.how})")


if __name__ == "__main__":
    command, *names = sys.argv[1:] or ["check"]
    if command == "check":
        sys.exit(engine_problem())
    try:
        asyncio.run(build(names or ["python"]))
    except TracemillError as error:
        sys.exit(str(error))
