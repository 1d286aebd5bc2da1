"""A small real model as author, in stages and in one answer, side by side: admitted tools per 1,000 tokens.

    python -m benchmarks.author_real GGUF [--places 0-5] [--ways staged,one-shot] [--threads N] [--into FILE]
    python -m benchmarks.author_real --into FILE

Small models are slow: each place and way is a line of FILE as soon as it is done, so that pieces add up. Both ways get the same places, the same number of repairs, the same proofs, and the same rule for when tools count: they
hold, hang together, and their world has at least one that reads and one that writes. Tokens are all that the endpoint
counted, in and out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
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
    """What one way of authoring gave in one place."""

    model: str
    place: int
    way: str
    tools: int = 0
    tokens: int = 0
    seconds: float = 0.0
    lost: list[str] = field(default_factory=list)


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
            score.lost.append(f"{step.stage}: {step.kind}")
    score.tools = len(maker.held)


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
        score.lost.append(step.kind)
    score.tools = len(best)


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


async def measure(
    url: str, model: str, places: Sequence[int], ways: Sequence[str], into: Path | None
) -> list[Score]:
    config = ModelsConfig(
        endpoints={"default": EndpointConfig(base_url=url, first_byte_timeout=1800, answer_timeout=3600)},
        models={"m": Model(name="local", structured="json_schema", max_tokens=WHOLE_TOKENS)},
        limits=Limits(concurrency=1),
        repairs=0,
        cache=CacheConfig(enabled=False),
    )
    scores: list[Score] = []
    async with Models(config) as models:
        for number in places:
            path, about = PLACES[number % len(PLACES)]
            for way in ways:
                score, started = Score(model, number, way), time.monotonic()
                before = models.ledger.totals
                tokens = before.tokens_in + before.tokens_out
                await WAYS[way](models, Domain(path=path, description=about), number, score)
                now = models.ledger.totals
                score.tokens = now.tokens_in + now.tokens_out - tokens
                score.seconds = time.monotonic() - started
                scores.append(score)
                line = json.dumps(asdict(score))
                print(line, flush=True)
                if into is not None:
                    with into.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")
    return scores


def rate(scores: Iterable[Score]) -> float:
    """Tools per 1,000 tokens."""
    listed = list(scores)
    return 1000 * sum(one.tools for one in listed) / max(1, sum(one.tokens for one in listed))


def report(scores: Sequence[Score]) -> None:
    """Each way of each model, with 95 % bootstrap intervals over places."""
    for model in dict.fromkeys(one.model for one in scores):
        rates: dict[str, list[float]] = {}
        for way in WAYS:
            mine = [one for one in scores if (one.model, one.way) == (model, way)]
            if not mine:
                continue
            rng = random.Random(f"{model}/{way}")
            drawn = sorted(rate(rng.choices(mine, k=len(mine))) for _ in range(DRAWS))
            rates[way] = [rate(mine), drawn[DRAWS // 40], drawn[-DRAWS // 40]]
            lost = Counter(kind for one in mine for kind in one.lost).most_common(5)
            print(
                f"{model} {way}: {len(mine)} places, {sum(one.tools for one in mine)} admitted tools (in {sum(one.tools > 0 for one in mine)} places),"
                f" {sum(one.tokens for one in mine)} tokens, {rates[way][0]:.3f} [{rates[way][1]:.3f}, {rates[way][2]:.3f}] tools per 1,000 tokens;"
                f" lost: {', '.join(f'{kind} {count}' for kind, count in lost) or 'nothing'}"
            )
        if set(rates) == set(WAYS):
            left, right = rates["staged"][0], rates["one-shot"][0]
            times = f"{left / right:.1f} times" if right else "more than any multiple of"
            print(f"{model}: staged gives {times} the admitted tools per 1,000 tokens of one-shot (2 wanted)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("gguf", nargs="?", type=Path)
    parser.add_argument("--places", default="0-1", help="first and last place, or one")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    if options.gguf is None and options.into is None:
        print("benchmarks.author_real: skipped; it wants the path of a GGUF model")
        return
    scores: list[Score] = []
    if options.gguf is not None:
        first, _, last = options.places.partition("-")
        places = range(int(first), int(last or first) + 1)
        with running(options.gguf, port=0, context=6144, parallel=1, threads=options.threads) as url:
            scores = asyncio.run(
                measure(url, options.gguf.stem, places, options.ways.split(","), options.into)
            )
    if options.into is not None and options.into.exists():
        scores = [Score(**json.loads(line)) for line in options.into.read_text(encoding="utf-8").splitlines()]
    report(scores)


WAYS = {"staged": staged, "one-shot": whole}
DRAWS = 2_000


if __name__ == "__main__":
    main()
