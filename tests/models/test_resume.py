"""A run that is killed loses no answer and pays for none twice; no secret is left anywhere."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from pipeline.config.models import Endpoint, Limits, Model, ModelsConfig
from pipeline.models import Models, structured
from pipeline.records import ChatRequest, ConfigError, EndpointDown, Message, Outcome
from tests.endpoint.server import Received, Reply, error, text
from tests.models.conftest import Serve, config_for

SECRET = "planted-secret-0123456789"


class FileJournal:
    """A journal as a run keeps one."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, text TEXT)")

    def answered(self, key: str) -> str | None:
        row = self.db.execute("SELECT text FROM kept WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def record(self, key: str, text: str) -> None:
        self.db.execute("INSERT OR IGNORE INTO kept VALUES (?, ?)", (key, text))

    def close(self) -> None:
        self.db.close()


def ask(content: object, **more: object) -> ChatRequest:
    return ChatRequest.model_validate(
        {"model": "m", "messages": (Message(role="user", content=str(content)),), **more}
    )


async def run(url: str, folder: Path, count: int) -> Models:
    """Ask `count` questions, the answers journaled, without a cache."""
    config = ModelsConfig(
        endpoints={"default": Endpoint(base_url=url)},
        models={"m": Model.model_validate({"name": "tiny", "price": {"input": 1.0, "output": 1.0}})},
        limits=Limits(concurrency=20),
    )
    config = config.model_copy(update={"cache": config.cache.model_copy(update={"enabled": False})})
    journal = FileJournal(folder / "journal.db")
    async with Models(config, journal=journal) as models:
        await asyncio.gather(*(models.chat(ask(n)) for n in range(count)))
    journal.close()
    return models


async def test_the_journal_keeps_what_the_cache_does_not(
    serve: Serve, cache_dir: Path, tmp_path: Path
) -> None:
    replies = {
        "cut": text("ab", finish="length"),
        "no": text("", refusal="no"),
        "bad": text("{"),
        "good": text("1"),
    }
    endpoint = serve(lambda received: replies[received.body["messages"][0]["content"]])
    totals = []
    for _ in range(2):
        journal = FileJournal(tmp_path / "journal.db")
        async with Models(config_for(endpoint, repairs=1), journal=journal, cache_dir=cache_dir) as models:
            outcomes = [
                (await models.chat(ask(name, output_schema={"type": "integer"}))).outcome for name in replies
            ]
            again = await models.chat(ask("good", output_schema={"type": "integer"}))
        journal.close()
        totals.append((models.ledger.totals.cost, models.ledger.totals.calls, models.ledger.totals.cached))
        assert outcomes == [Outcome.TRUNCATED, Outcome.REFUSED, Outcome.INVALID, Outcome.OK]
        assert again.cached
    assert totals[0] == totals[1]
    assert totals[0][1:] == (5, 1)
    assert len(endpoint.calls) == 5


@pytest.mark.slow
def test_a_killed_run_repeats_only_what_was_in_flight(serve: Serve, tmp_path: Path) -> None:
    count = 300
    endpoint = serve(lambda received: text("hi", latency=0.05))
    code = (
        "import asyncio, pathlib, sys; from tests.models.test_resume import run; "
        f"asyncio.run(run(sys.argv[1], pathlib.Path(sys.argv[2]), {count}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", code, endpoint.base_url, str(tmp_path)]
    process = subprocess.Popen(command, env=environment)
    while len(endpoint.calls) < count // 2 and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    models = asyncio.run(run(endpoint.base_url, tmp_path, count))
    assert len(endpoint.calls) <= count + 20
    assert len(models.ledger.rows) == count
    assert models.ledger.totals.calls == count
    assert models.ledger.totals.tokens_out == 5 * count


async def test_a_changed_parser_reads_kept_answers_again(
    serve: Serve, cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = serve(lambda received: "the answer is seven")
    schema = {"type": "integer"}
    journal = FileJournal(tmp_path / "journal.db")
    async with Models(config_for(endpoint, repairs=0), journal=journal, cache_dir=cache_dir) as models:
        assert (await models.chat(ask("n?", output_schema=schema))).outcome is Outcome.INVALID
    monkeypatch.setattr(structured, "read_json", lambda text: 7 if "seven" in text else None)
    async with Models(config_for(endpoint, repairs=0), journal=journal, cache_dir=cache_dir) as models:
        assert (await models.chat(ask("n?", output_schema=schema))).parsed == 7
    async with Models(config_for(endpoint, repairs=0), cache_dir=cache_dir) as models:
        assert (await models.chat(ask("n?", output_schema=schema))).cached
    journal.close()
    assert len(endpoint.calls) == 1


async def test_no_secret_is_left_anywhere(
    serve: Serve,
    cache_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_KEY", SECRET)
    monkeypatch.setenv("MY_HEADER", SECRET[::-1])
    seen: list[Received] = []

    def script(received: Received) -> Reply:
        seen.append(received)
        if received.last == "echo":
            return text(f"your key is {SECRET}")
        return error({"bad": 400, "down": 500, "denied": 401}[received.last], f"{SECRET} or {SECRET[::-1]}?")

    endpoint = serve(script)
    config = config_for(endpoint)
    default = config.endpoints["default"].model_copy(
        update={"api_key_env": "MY_KEY", "headers_env": {"X-Team": "MY_HEADER"}}
    )
    config = config.model_copy(update={"endpoints": {"default": default}})
    journal = FileJournal(tmp_path / "journal.db")
    told: list[str] = []
    async with Models(config, journal=journal, cache_dir=cache_dir) as models:
        for name in ("echo", "bad", "down"):
            told.append((await models.chat(ask(name))).model_dump_json())
        with pytest.raises(EndpointDown) as raised:
            await models.chat(ask("denied"))
    journal.close()
    assert seen[0].headers["authorization"] == f"Bearer {SECRET}"
    assert seen[0].headers["x-team"] == SECRET[::-1]
    told += [str(raised.value), repr(raised.value), caplog.text, config.model_dump_json()]
    told += [row.model_dump_json() for row in models.ledger.rows]
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 2
    for secret in (SECRET, SECRET[::-1]):
        assert not any(secret in text for text in told)
        assert not any(secret.encode() in content for content in files)
    assert "[secret]" in told[0]


@pytest.mark.parametrize(
    "name",
    [
        "m@ftp://user:planted-secret@127.0.0.1/v1",
        "m@http://user:planted-secret@127.0.0.1/v1",
        "m@http://127.0.0.1/v1?key=planted-secret",
    ],
)
def test_an_address_with_credentials_is_refused_without_repeating_them(name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        ModelsConfig().resolve(name)
    assert "planted-secret" not in str(raised.value)
    with pytest.raises(ValueError) as invalid:
        Endpoint(base_url=name.removeprefix("m@"))
    assert "planted-secret" not in str(invalid.value)


@pytest.mark.parametrize("key", ["models", "roles"])
def test_an_address_with_credentials_never_gets_into_a_configuration(key: str) -> None:
    with pytest.raises(ValidationError) as raised:
        ModelsConfig.model_validate({key: {"policy": "m@http://user:planted-secret@127.0.0.1/v1"}})
    assert "planted-secret" not in str(raised.value)
    assert "credentials" in str(raised.value)


def test_names_are_resolved_or_explained() -> None:
    config = ModelsConfig.model_validate(
        {
            "models": {"b": "qwen@http://127.0.0.1:1/v1"},
            "prices": {"qwen": {"input": 3}},
            "roles": {"user": "teacher", "judge": "b"},
        }
    )
    found = config.resolve("b")
    assert (found.wire_name, found.endpoint.base_url, found.price.input) == (
        "qwen",
        "http://127.0.0.1:1/v1",
        3,
    )
    assert config.resolve("x@y@http://127.0.0.1:1/v1/").wire_name == "x@y"
    with pytest.raises(ConfigError, match="NAME@BASE_URL"):
        config.resolve("gpt")
    with pytest.raises(ValidationError, match="nowhere"):
        ModelsConfig.model_validate({"models": {"a": {"endpoint": "nowhere"}}})
    with pytest.raises(ValidationError, match="No model is called gpt"):
        ModelsConfig.model_validate({"roles": {"user": "gpt"}})


async def test_a_missing_header_variable_is_named(serve: Serve, cache_dir: Path) -> None:
    config = config_for(serve(lambda received: "hi"))
    default = config.endpoints["default"].model_copy(update={"headers_env": {"X-Team": "NOT_SET_ANYWHERE"}})
    async with Models(
        config.model_copy(update={"endpoints": {"default": default}}), cache_dir=cache_dir
    ) as models:
        with pytest.raises(ConfigError, match="NOT_SET_ANYWHERE"):
            await models.chat(ask("x"))
