"""The bare `openai` client playing a recorded schedule: `python bare.py URL BODIES`. Each episode's requests follow each
other, all episodes run at once. Prints {"wall": …, "cpu": …, "requests": …}."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient


async def main() -> None:
    episodes: dict[int, list[dict[str, Any]]] = {}
    with open(sys.argv[2], "rb") as file:
        for line in file:
            body = json.loads(line)
            episodes.setdefault(body["seed"], []).append(body)
    timeout = httpx2.Timeout(600, connect=60)
    most = httpx2.Limits(max_connections=len(episodes), max_keepalive_connections=len(episodes))
    async with DefaultAioHttpClient(limits=most, timeout=timeout) as http:
        client = AsyncOpenAI(
            base_url=sys.argv[1], api_key="none", http_client=http, max_retries=0, timeout=timeout
        )

        async def play(bodies: list[dict[str, Any]]) -> None:
            for body in bodies:
                answer = await client.chat.completions.create(**body)
                assert answer.choices

        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(play(bodies) for bodies in episodes.values()))
        wall, used = time.perf_counter() - began, time.process_time() - cpu
    count = sum(map(len, episodes.values()))
    print(json.dumps({"wall": wall, "cpu": used, "requests": count, "episodes": len(episodes)}))


asyncio.run(main())
