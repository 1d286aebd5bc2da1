"""The loopback endpoint of the rollout benchmark: an agent that makes planned calls, after a fixed time.

    python endpoint.py LATENCY LOG PLANS

PLANS is JSON: the calls (name, arguments) of an episode by the seed of its requests.
Prints its base URL, serves until its standard input ends, and appends a line for each request to LOG: seed, digest of
the body (which the answer bears as its id), when it was answered; at the end all bodies go to LOG.bodies as JSON lines.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from aiohttp import web

LATENCY = float(sys.argv[1])
LOG = sys.argv[2]
PLANS = Path(sys.argv[3])


def answer(body: dict[str, Any], name: str, plan: list[Any]) -> dict[str, Any]:
    """The next call of the plan after each message of the user, or regret: what came last and what has been called
    decide alone."""
    messages = body["messages"]
    last, made = messages[-1], sum(one["role"] == "tool" for one in messages)
    said: dict[str, Any] = {"role": "assistant", "content": ""}
    if last["role"] == "user" and made < len(plan):
        tool, arguments = plan[made]
        function = {"name": tool, "arguments": json.dumps(arguments)}
        said["tool_calls"] = [{"id": f"c{made}", "type": "function", "function": function}]
    else:
        said["content"] = "I'm sorry, I can't do that from here. Is there anything else I can help with?"
    usage = {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920}
    choice = {"index": 0, "message": said, "finish_reason": "tool_calls" if "tool_calls" in said else "stop"}
    return {
        "id": f"answer-{name}",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


async def main() -> None:
    bodies: list[bytes] = []
    plans: dict[str, list[Any]] = {}
    log = open(LOG, "a", buffering=1)  # noqa: SIM115

    async def handle(request: web.Request) -> web.Response:
        raw = await request.read()
        bodies.append(raw)
        body, name = json.loads(raw), hashlib.md5(raw).hexdigest()
        if not plans:
            plans.update(json.loads(PLANS.read_text()))
        await asyncio.sleep(LATENCY)
        log.write(f"{body.get('seed')} {name} {time.monotonic():.4f}\n")
        return web.Response(
            body=json.dumps(answer(body, name, plans.get(str(body.get("seed")), []))).encode(),
            content_type="application/json",
        )

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
