"""A real small model, which misunderstands in earnest."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.config.models import Endpoint, Limits, Model, ModelsConfig
from pipeline.models import Models
from pipeline.models.local import running
from pipeline.models.players import ModelJudge, ModelPolicy, ModelUser, Seat
from pipeline.records import (
    ChatRequest,
    ConfigError,
    Fact,
    Goal,
    Message,
    ModelError,
    Outcome,
    Persona,
    UserMove,
    Value,
)
from tests.endpoint.local import local_model
from tests.models.test_players import CRITERIA, LOOK, make_task, make_trajectory

__all__ = ["local_model"]

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "warm": {"type": "boolean"}},
    "required": ["city", "warm"],
    "additionalProperties": False,
}


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_every_role_survives_a_real_small_model(local_model: str, cache_dir: Path) -> None:
    config = ModelsConfig(
        endpoints={"default": Endpoint(base_url=local_model)},
        models={"m": Model(name="smollm2", max_tokens=32, temperature=0.0, tools="structured")},
        limits=Limits(concurrency=2),
        repairs=1,
    )
    question = ChatRequest(
        model="m", messages=(Message(role="user", content="Name a city and say whether it is warm there."),)
    )
    move = UserMove(
        act="open",
        persona=Persona(name="p", style="terse"),
        goal=Goal(intent="cancel the visit"),
        facts=(Fact(name="day", label="the day", value="Monday", spoken="Monday"),),
    )
    async with Models(config, cache_dir=cache_dir) as models:
        structured, cut = await asyncio.gather(
            models.chat(question.replace(output_schema=SCHEMA)), models.chat(question.replace(max_tokens=3))
        )
        look = [Message(role="user", content="look at 7")]
        with suppress(ModelError):  # a model that small rambles to the token limit: an outcome as good as any
            assert (await ModelUser(Seat(models, "m", "user")).speak(move, [])).text
        with suppress(ModelError):
            turn = await ModelPolicy(Seat(models, "m", "policy")).act(look, [LOOK])
            assert turn.content or turn.calls
        trajectory = make_trajectory()
        short = trajectory.replace(
            events=tuple(event.replace(content=event.content[:80]) for event in trajectory.events)
        )
        verdicts = await ModelJudge(Seat(models, "m", "judge")).judge(make_task(), short, CRITERIA)
        again = await models.chat(question.replace(output_schema=SCHEMA))
    assert structured.outcome in (Outcome.OK, Outcome.TRUNCATED)
    if structured.outcome is Outcome.OK:
        assert set(structured.parsed) == {"city", "warm"}
        assert again.cached
    assert (cut.outcome, cut.finish_reason) == (Outcome.TRUNCATED, "length")
    assert cut.usage.tokens_out == 3
    assert {verdict.value for verdict in verdicts} <= set(Value)
    assert len(verdicts) == 2
    rows = models.ledger.rows
    assert all(row.tokens_in > 0 and row.outcome is not Outcome.FAILED for row in rows)
    assert models.ledger.totals.in_flight == 0


def test_what_is_no_model_is_named(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    (tmp_path / "page.gguf").write_text("<html>")
    (tmp_path / "half.gguf").write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(ConfigError, match="cannot be read"), running(tmp_path / "none.gguf"):
        pass
    with pytest.raises(ConfigError, match="no GGUF"), running(tmp_path / "page.gguf"):
        pass
    with pytest.raises(ModelError, match="cannot be served"), running(tmp_path / "half.gguf"):
        pass


def test_without_the_extra_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ConfigError, match=r"tracemill\[local\]"), running(tmp_path / "x.gguf"):
        pass
