"""The loopback endpoint of the rollout benchmark: an agent of few words, after a fixed time.

    python endpoint.py LATENCY LOG

Prints its base URL, serves until its standard input ends, and appends a line for each request to LOG: seed, digest of
the body, when it was answered; at the end all bodies go to LOG.bodies as JSON lines.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from typing import Any

from aiohttp import web

LATENCY = float(sys.argv[1])
LOG = sys.argv[2]


def answer(body: dict[str, Any]) -> dict[str, Any]:
    """Looks something up, asks what is missing, claims to be done: three shapes of turns, by what came last."""
    messages = body["messages"]
    last, made = messages[-1], sum(one["role"] == "tool" for one in messages)
    said: dict[str, Any] = {"role": "assistant", "content": ""}
    if last["role"] == "user" and made < 3:
        function = body["tools"][made % len(body["tools"])]["function"]
        said["tool_calls"] = [
            {"id": f"c{made}", "type": "function", "function": {"name": function["name"], "arguments": "{}"}}
        ]
    else:
        said["content"] = "I'm sorry, I can't do that from here. Is there anything else I can help with?"
    usage = {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920}
    choice = {"index": 0, "message": said, "finish_reason": "tool_calls" if "tool_calls" in said else "stop"}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


async def main() -> None:
    bodies: list[bytes] = []
    log = open(LOG, "a", buffering=1)  # noqa: SIM115

    async def handle(request: web.Request) -> web.Response:
        raw = await request.read()
        bodies.append(raw)
        body = json.loads(raw)
        await asyncio.sleep(LATENCY)
        log.write(f"{body.get('seed')} {hashlib.md5(raw).hexdigest()} {time.monotonic():.4f}\n")
        return web.Response(body=json.dumps(answer(body)).encode(), content_type="application/json")

    app = web.Application(client_max_size=64_000_000)
    app.router.add_post("/v1/chat/completions", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    with open(f"{LOG}.bodies", "wb") as file:
        file.write(b"\n".join(bodies))
    await runner.cleanup()


asyncio.run(main())
