"""A real MCP server over stdio that remembers: `python shelf_server.py`. Standard library only.

`put` keeps a value, `get` reads it, `count` counts calls of `put`, `die` ends the process in mid-call, `hang` never answers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

SHELF: dict[str, Any] = {}


def tool(name: str, read_only: bool, **properties: Any) -> dict[str, Any]:
    return {
        "name": f"shelf.{name}",
        "description": f"Does {name}.",
        "inputSchema": {"type": "object", "properties": properties, "required": list(properties)},
        "annotations": {"readOnlyHint": read_only},
    }


TEXT = {"type": "string"}
TOOLS = [
    tool("put", False, key=TEXT, value=TEXT),
    tool("get", True, key=TEXT),
    tool("home", True),
    tool("die", False),
    tool("hang", False),
]


def answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "shelf.put":
        SHELF[arguments["key"]] = arguments["value"]
        return said({"kept": arguments["value"], "items": len(SHELF)})
    if name == "shelf.get":
        if arguments["key"] not in SHELF:
            return said({"code": "NOT_THERE", "message": "Nothing lies there."}, error=True)
        return said({"value": SHELF[arguments["key"]]})
    if name == "shelf.home":
        return said({"home": os.environ["HOME"], "key": os.environ.get("SHELF_KEY", "")})
    if name == "shelf.hang":
        time.sleep(600)
    os._exit(9)


def said(value: Any, error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value)}], "isError": error}


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if number is None:
        continue
    result: dict[str, Any] = {}
    if method == "initialize":
        info = {"name": "shelf", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        result = answer(message["params"]["name"], message["params"].get("arguments", {}))
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
