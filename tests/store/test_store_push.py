"""Uploading, against a real HTTP server on loopback that speaks the hub's protocol."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pipeline.records import InputError
from pipeline.store.export.push import push


@dataclass
class Hub:
    """What the stand-in holds: stored objects, committed files, every upload; `broken` objects answer 500."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    stumbles: int = 0
    down_after: int | None = None
    tokens: set[str] = field(default_factory=set)
    commits: int = 0


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def _answer(self, value: object, status: int = 200) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            repo = {"id": "team/set", "sha": "0" * 40, "private": True, "siblings": [], "tags": []}
            self._answer(repo)

        def do_POST(self) -> None:
            body = self._body()
            hub.tokens.add(self.headers.get("Authorization", ""))
            if self.path.endswith("/api/repos/create"):
                self._answer({"url": f"{hub.url}/datasets/team/set", "id": "team/set", "name": "team/set"})
            elif self.path.endswith("/api/validate-yaml"):
                self._answer({"errors": [], "warnings": []})
            elif "/preupload/" in self.path:
                files = [
                    {
                        "path": file["path"],
                        "uploadMode": "regular" if file["path"].endswith(".md") else "lfs",
                        "shouldIgnore": False,
                    }
                    for file in json.loads(body)["files"]
                ]
                self._answer({"files": files})
            elif self.path.endswith("/objects/batch"):
                objects = []
                for each in json.loads(body)["objects"]:
                    known = each["oid"] in hub.objects
                    upload = {"upload": {"href": f"{hub.url}/put/{each['oid']}"}}
                    objects.append({**each, **({} if known else {"actions": upload})})
                self._answer({"transfer": "basic", "objects": objects})
            elif "/commit/" in self.path:
                self._commit(body)
            else:
                self._answer({"error": self.path}, 404)

        def do_PUT(self) -> None:
            body = self._body()
            name = self.path.rpartition("/")[2]
            if hub.stumbles:
                hub.stumbles -= 1
                return self._answer({"error": "try again"}, 500)
            if hub.down_after is not None and len(hub.sent) >= hub.down_after:
                return self._answer({"error": "down"}, 500)
            assert hashlib.sha256(body).hexdigest() == name
            hub.objects[name] = body
            hub.sent.append(name)
            return self._answer({})

        def _commit(self, body: bytes) -> None:
            for line in body.splitlines():
                item = json.loads(line)
                value = item["value"]
                if item["key"] == "file":
                    hub.files[value["path"]] = base64.b64decode(value["content"])
                elif item["key"] == "lfsFile":
                    hub.files[value["path"]] = hub.objects[value["oid"]]
            hub.commits += 1
            url = f"{hub.url}/datasets/team/set/commit/{'1' * 40}"
            self._answer({"commitUrl": url, "commitOid": "1" * 40, "hookOutput": ""})

    return Handler


@pytest.fixture
def hub() -> Iterator[Hub]:
    state = Hub()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(state)) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text("---\nlicense: other\n---\n\n# A set\n")
    for number in range(4):
        (folder / "data" / f"train-0000{number}-of-00004.parquet").write_bytes(bytes([number]) * 50_000)
    return folder


_PUSH = """
import pathlib, sys
from pipeline.records import TracemillError
from pipeline.store.export.push import push
try:
    print(push(pathlib.Path(sys.argv[1]), "team/set"))
except TracemillError as error:
    sys.exit(str(error))
"""


def _push(folder: Path, hub: Hub, cache: Path) -> subprocess.CompletedProcess[str]:
    settings = {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": "hf_" + "test" * 8,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HOME": str(cache),
    }
    return subprocess.run(
        [sys.executable, "-c", _PUSH, str(folder)],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
    )


def _holds(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_folder_arrives_in_one_commit_although_the_hub_stumbles(
    dataset: Path, hub: Hub, tmp_path: Path
) -> None:
    hub.stumbles = 1
    done = _push(dataset, hub, tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(f"{hub.url}/datasets/team/set/commit/")
    assert hub.files == _holds(dataset)
    assert hub.commits == 1
    assert "test" * 8 not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_hub_that_breaks_down_in_the_middle_shows_nothing_and_gets_only_the_rest(
    dataset: Path, hub: Hub, tmp_path: Path
) -> None:
    hub.down_after = 2
    done = _push(dataset, hub, tmp_path / "home")
    assert done.returncode == 1
    assert "broke off" in done.stderr
    assert "Run the same command again" in done.stderr
    assert "test" * 8 not in done.stdout + done.stderr
    assert hub.files == {}
    assert (
        2 <= len(hub.sent) < 4
    )  # uploads run side by side: one more may be under way when the hub goes down
    hub.down_after = None
    again = _push(dataset, hub, tmp_path / "home")
    assert again.returncode == 0, again.stderr
    assert hub.files == _holds(dataset)
    assert len(hub.sent) == len(set(hub.sent)) == 4


def test_only_a_finished_export_is_uploaded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no exported dataset"):
        push(tmp_path, "team/set")
