"""What a scripted endpoint needs to play tools: the call in a simulator's prompt, and answers in its form."""

from __future__ import annotations

import json
import re
from typing import Any

from pipeline.records import Json, SimulatedCall
from tests.endpoint.server import Received

_LINE = re.compile(r"^(tool|arguments|tables): (.*)$", re.MULTILINE)


def asked(received: Received) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Listing, arguments and tables of the call that is asked for."""
    text = next(m["content"] for m in received.body["messages"] if m["role"] == "user")
    parts = {name: json.loads(line) for name, line in _LINE.findall(text)}
    return parts["tool"], parts["arguments"], parts["tables"]


def said(call: SimulatedCall) -> str:
    """An answer as a model would write it."""
    error = None if call.error is None else {"code": call.error[0], "message": call.error[1]}
    return proposal(call.result, list(call.patch), error)


def proposal(result: Json = None, patch: Json = (), error: Json = None) -> str:
    outcome = "result" if error is None else "error"
    return json.dumps({"outcome": outcome, "result": result, "error": error, "patch": list(patch or ())})
