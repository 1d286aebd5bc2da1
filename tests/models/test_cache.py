"""The key holds everything that can change an answer, and the cache keeps only good ones."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.models import Endpoint, Model, ModelsConfig
from pipeline.models import AnswerCache, cache, wire
from pipeline.models.cache import KEYED, KEYED_OF_MODEL, NOT_KEYED, NOT_KEYED_OF_MODEL, request_key
from pipeline.records import ChatRequest, ConfigError, Message

TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
OTHER: dict[str, Any] = {
    "model": "other",
    "messages": (Message(role="user", content="else"),),
    "tools": (TOOL,),
    "tool_choice": "required",
    "output_schema": {"type": "object"},
    "temperature": 0.0,
    "top_p": 0.5,
    "max_tokens": 7,
    "stop": ("x",),
    "seed": 0,
    "logprobs": True,
    "sample": 1,
    "prompt": "p@1",
    "role": "judge",
    "stage": "s",
    "purpose": "t",
}
OTHER_OF_MODEL: dict[str, Any] = {
    "endpoint": "second",
    "structured": "text",
    "tools": "structured",
    "temperature": 0.3,
    "top_p": 0.3,
    "max_tokens": 3,
    "max_tokens_field": "max_completion_tokens",
    "logprobs": True,
    "context": 100,
    "extra": {"top_k": 4},
    "price": {"input": 1.0},
    "limits": {"start": 2},
}
BASE = ChatRequest(model="m", messages=(Message(role="user", content="hello"),))
FULL = BASE.replace(tools=(TOOL,), output_schema={"type": "object"})


def key(request: ChatRequest, **model: Any) -> str:
    endpoints = {"default": Endpoint(base_url="http://a/v1"), "second": Endpoint(base_url="http://b/v1")}
    models: dict[str, Model | str] = {
        "m": Model.model_validate({"name": "tiny", **model}),
        "other": Model(name="large"),
    }
    return request_key(request, ModelsConfig(endpoints=endpoints, models=models).resolve(request.model))


def test_every_field_is_named_in_one_list() -> None:
    assert set(ChatRequest.model_fields) == KEYED | NOT_KEYED
    assert not KEYED & NOT_KEYED
    assert set(Model.model_fields) == KEYED_OF_MODEL | NOT_KEYED_OF_MODEL
    assert not KEYED_OF_MODEL & NOT_KEYED_OF_MODEL


@pytest.mark.parametrize("field", sorted(ChatRequest.model_fields))
def test_a_field_changes_the_key_exactly_when_it_is_keyed(field: str) -> None:
    changed = BASE.replace(**{field: OTHER[field]})
    assert changed != BASE
    assert (key(changed) != key(BASE)) == (field in KEYED)


@pytest.mark.parametrize("field", sorted(set(Model.model_fields) - {"name", "endpoint"}))
def test_a_setting_of_the_model_changes_the_key_exactly_when_it_is_keyed(field: str) -> None:
    assert (key(FULL, **{field: OTHER_OF_MODEL[field]}) != key(FULL)) == (field in KEYED_OF_MODEL)


def test_address_and_name_at_the_endpoint_change_the_key_and_a_nickname_does_not() -> None:
    assert key(BASE, endpoint="second") != key(BASE)
    assert key(BASE, name="small") != key(BASE)
    assert key(BASE.replace(model="other"), name="x") == key(BASE, name="large")


def test_a_default_of_the_model_is_the_same_as_the_request_saying_it() -> None:
    assert key(BASE, temperature=0.5) == key(BASE.replace(temperature=0.5), temperature=0.9)


@given(st.permutations(["type", "properties", "required", "title"]))
def test_the_order_of_keys_matters_in_schemas_and_not_in_tools(order: list[str]) -> None:
    values: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "title": "t"}
    schema = {name: values[name] for name in order}
    tool = {"type": "function", "function": {"description": "d", "name": "f", "parameters": schema}}
    plain = {"type": "function", "function": {"name": "f", "description": "d", "parameters": values}}
    assert key(BASE.replace(tools=(tool,))) == key(BASE.replace(tools=(plain,)))
    assert wire.wire_tools([tool]) == wire.wire_tools([plain])
    same = list(schema) == list(values)
    assert (key(BASE.replace(output_schema=schema)) == key(BASE.replace(output_schema=values))) == same


@given(st.text(), st.text())
def test_different_texts_have_different_keys(one: str, two: str) -> None:
    first, second = (BASE.replace(messages=(Message(role="user", content=text),)) for text in (one, two))
    assert (key(first) == key(second)) == (one == two)
    assert key(ChatRequest.model_validate_json(first.model_dump_json())) == key(first)


def _write(folder: Path, start: int) -> None:
    store = AnswerCache(folder)
    for n in range(start, start + 300):
        store.put(f"k{n}", "m", f"answer {n}")
    store.close()


@pytest.mark.slow
def test_several_processes_may_write(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(tmp_path, start)) for start in (0, 150, 300)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    store = AnswerCache(tmp_path)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert store.stats().entries == 600
    assert all(store.get(f"k{n}") == f"answer {n}" for n in range(600))
    store.close()


def test_pruning_keeps_what_was_used_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(cache.time, "time", lambda: now[0])
    store = AnswerCache(tmp_path)
    for n in range(10):
        now[0] += 1
        store.put(f"k{n}", "small" if n % 2 else "large", f"answer number {n}")
    now[0] += 1
    assert store.get("k0") is not None
    each = store.stats().bytes // 10
    assert store.prune(max_bytes=3 * each + 2) == 7
    assert [n for n in range(10) if store.get(f"k{n}")] == [0, 8, 9]
    assert store.prune(model="small") == 1
    now[0] += 100
    assert store.prune(older_than=50) == 2
    assert store.stats().entries == 0
    store.close()


def test_a_damaged_entry_counts_as_absent_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    store = AnswerCache(tmp_path)
    store.put("k", "m", "answer")
    sqlite3.connect(store.path, isolation_level=None).execute(
        "UPDATE answers SET body = x'00'"
    ).connection.close()
    assert store.get("k") is None
    assert store.stats().entries == 0
    store.close()
    for leftover in tmp_path.glob("answers.db*"):
        leftover.unlink()
    store.path.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    with pytest.raises(ConfigError, match="cache"):
        AnswerCache(tmp_path)
