"""A small real model as author, in stages and in one answer, side by side: admitted tools per 1,000 tokens.

    python -m benchmarks.author_real GGUF [SECONDS [FIRST_PLACE [THREADS]]]

Both ways get the same places, the same number of repairs, the same proofs, and the same rule for when tools count: they
hold, hang together, and their world has at least one that reads and one that writes. Tokens are all that the endpoint
counted, in and out.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.config.author import AuthorSection
from pipeline.config.models import CacheConfig, Limits, Model, ModelsConfig
from pipeline.config.models import Endpoint as EndpointConfig
from pipeline.models import Models
from pipeline.models.local import running
from pipeline.models.players.author import Asker, Checked, Problem, Step, fence, settle
from pipeline.models.players.author.answers import WholeWorld
from pipeline.models.players.seat import Seat
from pipeline.records import Domain, WorldError
from pipeline.tools.evolve.authored import making
from pipeline.tools.evolve.authored.bodies import Proven, form_problems, prove, written
from pipeline.tools.evolve.authored.connected import lonely
from pipeline.tools.evolve.authored.ground import Rejected, base_of
from pipeline.tools.evolve.authored.tables import schema_problems, tables_of
from pipeline.worlds.load import parse_world

PLACES = (
    ("sports/clubs/kayak club", "Members borrow kayaks and paddles for an afternoon and bring them back."),
    ("culture/libraries/tool library", "Neighbors borrow drills and ladders, with due dates and fees."),
    ("health/animals/small vet practice", "Owners book visits for their animals and cancel them."),
    ("housing/rooms/meeting rooms", "Teams book rooms by the hour and release them."),
    ("food/kitchens/cooking school", "Pupils enroll in evening courses and drop out of them."),
    ("repair/devices/phone repair desk", "Customers hand in devices, jobs are priced, done and paid."),
    ("travel/hostels/mountain hut", "Hikers reserve beds for a night and cancel them."),
    ("farming/shares/vegetable box", "Households order weekly boxes, pause and resume them."),
)
CONFIG = AuthorSection(tools=(4, 5), rows=4, repairs=2, words=False, max_tokens=900, sketch=True)
WHOLE_TOKENS = 3000


@dataclass
class Score:
    """What one way of authoring gave."""

    worlds: int = 0
    with_tools: int = 0
    tools: int = 0
    tokens: int = 0
    seconds: float = 0.0
    lost: Counter[str] = field(default_factory=Counter)

    def line(self, name: str) -> str:
        rate = 1000 * self.tools / self.tokens if self.tokens else 0.0
        reasons = ", ".join(f"{kind} {count}" for kind, count in self.lost.most_common(6))
        return (
            f"{name:<11}{self.worlds:>4} worlds asked, {self.with_tools} with tools, {self.tools} admitted tools, {self.tokens} tokens, "
            f"{rate:.3f} tools per 1,000 tokens, {self.seconds:.0f} s; lost: {reasons or 'nothing'}"
        )


def counting(tools: list[Proven]) -> list[Proven]:
    """The tools that count: connected, in a world that reads and writes."""
    kept = list(tools)
    while out := dict(lonely(kept)):
        kept = [one for one in kept if one.name not in out]
    both = any(one.reads for one in kept) and any(not one.reads for one in kept)
    return kept if both else []


async def staged(models: Models, place: Domain, sample: int, score: Score) -> None:
    pen = Asker(_seat(models, sample), temperature=0.4, max_tokens=CONFIG.max_tokens, terse=True)
    maker = _Counting(pen, CONFIG)
    made = await maker.make(place)
    for step in made.steps:
        if not step.kept:
            score.lost[f"{step.stage}: {step.kind}"] += 1
    score.tools += len(maker.held)
    score.with_tools += bool(maker.held)


class _Counting(making.WorldMaker):
    """Stages up to the tools, as far as one answer goes; the tools that count are remembered, also where the world has too
    few for admission."""

    held: tuple[Proven, ...] = ()

    def _connected(self, base: dict[str, Any], tools: list[Proven], made: making.Made) -> list[Proven]:
        self.held = tuple(counting(tools))
        raise Rejected("counted", "")


async def whole(models: Models, place: Domain, sample: int, score: Score) -> None:
    pen = Asker(_seat(models, sample), temperature=0.4, max_tokens=WHOLE_TOKENS)
    least, most = CONFIG.tools
    inputs = {
        "domain": place.path,
        "description": place.description,
        "rows": CONFIG.rows,
        "least": least,
        "most": most,
    }
    talk = pen.begin(
        "whole", language="en", fence=fence(*inputs.values()), now="2026-03-02T08:00:00", **inputs
    )
    step = Step("whole", place.path)
    best: list[Proven] = []

    def check(answer: WholeWorld) -> Checked[list[Proven]]:
        tools, problems = _executed(place, answer)
        kept = counting(tools)
        if len(kept) > len(best):
            best[:] = kept
        return Checked(kept or None, problems, whole=not problems)

    await settle(talk, WholeWorld, check, step, repairs=CONFIG.repairs)
    if not best:
        score.lost[step.kind] += 1
    score.tools += len(best)
    score.with_tools += bool(best)


def _executed(place: Domain, answer: WholeWorld) -> tuple[list[Proven], list[Problem]]:
    """The tools of a world made in one answer that hold, each proven by itself, and everything that is wrong."""
    base = {**base_of(place, answer.name, answer.summary), "schema": answer.sql, "seed": answer.rows}
    try:
        world = parse_world(base, where=base["name"])
        problems: list[Problem] = [("broken DDL", text) for text in schema_problems(world, [])]
        tables = tables_of(world)
    except WorldError as error:
        return [], [("broken DDL or rows", error.what)]
    tools: list[Proven] = []
    for one in answer.tools:
        wrong = form_problems(one.kind, one)
        if not wrong:
            proven, wrong = prove(base, written(one.name, one.kind, one, tables), tables)
            if proven is not None and proven.name not in {tool.name for tool in tools}:
                tools.append(proven)
        problems += [(kind, f"{one.name}: {text}") for kind, text in wrong]
    return tools, problems


def _seat(models: Models, sample: int) -> Seat:
    return Seat(models, "m", "author", "evolve", "benchmark", sample, 7 + sample)


async def compare(url: str, seconds: float, first: int) -> dict[str, Score]:
    scores = {"staged": Score(), "one-shot": Score()}
    ways = {"staged": staged, "one-shot": whole}
    config = ModelsConfig(
        endpoints={"default": EndpointConfig(base_url=url)},
        models={"m": Model(name="local", structured="json_schema", max_tokens=WHOLE_TOKENS)},
        limits=Limits(concurrency=1),
        repairs=0,
        cache=CacheConfig(enabled=False),
    )
    until = time.monotonic() + seconds
    async with Models(config) as models:
        for number in range(first, first + 1000):
            path, about = PLACES[number % len(PLACES)]
            for name, way in ways.items():
                score, before, started = scores[name], models.ledger.totals, time.monotonic()
                tokens = before.tokens_in + before.tokens_out
                await way(models, Domain(path=path, description=about), number, score)
                now = models.ledger.totals
                score.worlds += 1
                score.tokens += now.tokens_in + now.tokens_out - tokens
                score.seconds += time.monotonic() - started
                print(f"  {number} {score.line(name)}", flush=True)
            if time.monotonic() > until:
                break
    return scores


def main() -> None:
    if len(sys.argv) < 2:
        print("benchmarks.author_real: skipped; it wants the path of a GGUF model")
        return
    gguf = Path(sys.argv[1])
    seconds, first, threads = (
        float(sys.argv[place]) if len(sys.argv) > place else usual
        for place, usual in ((2, 200), (3, 0), (4, 1))
    )
    with running(gguf, port=0, context=6144, parallel=1, threads=int(threads)) as url:
        scores = asyncio.run(compare(url, seconds, int(first)))
    print(f"{gguf.stem}, {seconds:.0f} s:")
    for name, score in scores.items():
        print(score.line(name))
    left, right = (1000 * scores[name].tools / max(1, scores[name].tokens) for name in ("staged", "one-shot"))
    times = f"{left / right:.1f} times" if right else "more than any multiple of"
    print(f"staged gives {times} the admitted tools per 1,000 tokens of one-shot (2 wanted)")


if __name__ == "__main__":
    main()
