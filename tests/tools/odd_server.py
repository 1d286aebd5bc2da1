"""An MCP server over stdio that behaves as real ones did: `python odd_server.py BEHAVIOR`. Standard library only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"Does {name}.",
        "inputSchema": {"type": "object", "properties": {}},
        **more,
    }


def initialized(protocol: str = "2025-06-18") -> dict[str, Any]:
    info = {"name": "odd", "version": "1.2.3"}
    return {"protocolVersion": protocol, "capabilities": {"tools": {}}, "serverInfo": info}


def serve(tools: Any = None, *, protocol: str = "2025-06-18", list_tools: Any = None) -> None:
    """The well-behaved loop; `list_tools(params)` makes a result of its own."""
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        if method == "initialize":
            send({"id": number, "result": initialized(protocol)})
        elif method == "tools/list":
            result = list_tools(message.get("params") or {}) if list_tools else {"tools": tools}
            send({"id": number, "result": result})
        elif method == "tools/call":
            arguments = message["params"].get("arguments", {})
            send({"id": number, "result": {"content": [{"type": "text", "text": json.dumps(arguments)}]}})
        else:
            send({"id": number, "error": {"code": -32601, "message": "unknown method"}})


def banner() -> None:
    print("*** Welcome to Odd Server ***\n")
    sys.stdout.write("loading  10%\rloading  80%\rloading 100%\r")
    serve([tool("a"), tool("b")])


def only_noise() -> None:
    print("Server listening on port 3000", flush=True)
    time.sleep(600)


def bytes_noise() -> None:
    sys.stdout.buffer.write(b"\xff\xfe\x00 not text\n")
    sys.stdout.buffer.flush()
    serve([tool("a")])


def crash() -> None:
    raise RuntimeError("the configuration file is missing")


def wants_key() -> None:
    sys.exit("Error: the WEATHER_API_KEY environment variable is required")


def silent() -> None:
    subprocess.Popen(["sleep", "600"])
    time.sleep(600)


def dies_on_list() -> None:
    serve(list_tools=lambda _: os._exit(7))


def repeating_cursor() -> None:
    serve(list_tools=lambda _: {"tools": [tool("a"), tool("b")], "nextCursor": "again"})


def endless_cursor() -> None:
    def page(params: dict[str, Any]) -> dict[str, Any]:
        number = int(params.get("cursor", 0))
        return {"tools": [tool(f"t{number}")], "nextCursor": str(number + 1)}

    serve(list_tools=page)


def forty_pages() -> None:
    def page(params: dict[str, Any]) -> dict[str, Any]:
        number = int(params.get("cursor", 0))
        tools = [tool(f"t{number * 100 + index}") for index in range(100)]
        return {"tools": tools, **({"nextCursor": str(number + 1)} if number < 39 else {})}

    serve(list_tools=page)


def same_names() -> None:
    other = {"type": "object", "properties": {"x": {"type": "string"}}}
    serve([tool("get"), tool("get", inputSchema=other), tool("Get"), tool("get")])


def broken_tools() -> None:
    """One tool without a schema makes the SDK reject the whole list."""
    no_schema = {"name": "no_schema", "description": "Has no inputSchema."}
    serve([tool("good", secretKey="kept"), no_schema, {"description": "nameless"}, "text", None, 5])


def leaves_child() -> None:
    """A helper of its own session, and one that is orphaned at once."""
    subprocess.Popen(["sleep", "601"], start_new_session=True)
    subprocess.Popen(["sh", "-c", "setsid sleep 602 & exit"])
    serve([tool("a")])


def ignores_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve([tool("a")])
    while True:
        time.sleep(1)


def floods_stderr() -> None:
    block = "x" * 1_000_000 + "\n"
    for _ in range(int(sys.argv[2])):
        sys.stderr.write(block)
    sys.stderr.write("the last words\n")
    sys.stderr.flush()
    os._exit(3)


def long_line() -> None:
    serve([tool("a", description="x" * int(sys.argv[2]))])


def old_protocol() -> None:
    serve([tool("a")], protocol="2024-11-05")


def unknown_protocol() -> None:
    serve([tool("a")], protocol="1999-01-01")


def asks_client() -> None:
    """Wants sampling, elicitation and roots before it lists, and lists what it was told."""

    def ask(_params: dict[str, Any]) -> dict[str, Any]:
        answers = []
        message = {"role": "user", "content": {"type": "text", "text": "hi"}}
        for number, (method, params) in enumerate(
            [
                ("sampling/createMessage", {"messages": [message], "maxTokens": 5}),
                (
                    "elicitation/create",
                    {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}},
                ),
                ("roots/list", {}),
            ]
        ):
            send({"id": f"s{number}", "method": method, "params": params})
            while (reply := json.loads(sys.stdin.readline())).get("id") != f"s{number}":
                pass
            answers.append("declined" if "error" in reply else "granted")
        return {"tools": [tool(f"{index}_{answer}") for index, answer in enumerate(answers)]}

    serve(list_tools=ask)


def prints_secrets() -> None:
    print(
        "given:",
        os.environ.get("GIVEN_TOKEN"),
        "ours:",
        os.environ.get("OUR_API_KEY"),
        file=sys.stderr,
        flush=True,
    )
    sys.stderr.write(f"home holds {os.listdir(os.environ['HOME'])}\n")
    os._exit(1)


def eats_memory() -> None:
    kept = []
    while True:
        kept.append(bytearray(10_000_000))
        time.sleep(0.005)


def home_in_default() -> None:
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string", "default": os.environ["HOME"] + "/x"}},
    }
    serve([tool("a", inputSchema=schema)])


def looks_around() -> None:
    """Tells in a description what it can see of the machine."""
    seen = {
        "network": sorted(os.listdir("/sys/class/net")),
        "home": os.listdir(os.environ["HOME"]),
        "writable_usr": os.access("/usr", os.W_OK),
        "host_files": os.path.exists(os.path.join(os.path.dirname(__file__), "test_servers.py")),
    }
    serve([tool("a", description=json.dumps(seen))])


def fine() -> None:
    serve([tool("a"), tool("b")])


if __name__ == "__main__":
    globals()[sys.argv[1]]()
