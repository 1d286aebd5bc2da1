"""The teacher as author of tasks: walks the tool graph in a copy of the world and keeps what really worked."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pipeline.config.tasks import TasksConfig
from pipeline.records import Task, World
from pipeline.tasks.agents import agent_for, personas
from pipeline.tasks.lives import Lives
from pipeline.tasks.rubric import build_rubric
from pipeline.tasks.toolsets import Surroundings, toolset
from pipeline.teacher.axes import axes_of, difficulty
from pipeline.teacher.drafts import Draft
from pipeline.teacher.faulting import drawn_as, plan_faults, unanswered
from pipeline.teacher.minds import change_minds, disclose
from pipeline.teacher.sketch import Sketch, join, rehearse
from pipeline.teacher.steering import Steering
from pipeline.worlds.mixed import ahead, compose
from pipeline.worlds.sql import SqlWorld
from pipeline.worlds.tongues import in_language, speaks, tongue_of

TRIES = 25
"""Attempts at one task before the author gives it up."""
KEPT = 10
"""Attempts with one kind of toolset before another is drawn: goals in two worlds rarely go together."""
DRAFTS = 6
"""Drafts in a second world until one is about nobody's own rows, where the first is: the worlds know different people."""


class TeacherAuthor:
    """Makes tasks for one world after the other, with tools and goals from `surroundings` in its configured share of
    them. Equal seeds and surroundings give equal tasks."""

    def __init__(self, config: TasksConfig, surroundings: Surroundings | None = None) -> None:
        self.config = config
        self.surroundings = surroundings or Surroundings()

    async def worlds(self, count: int, seed: int) -> list[World]:
        """The teacher's worlds come from archetypes (`pipeline.tools.evolve`), not from here."""
        return []

    async def tasks(self, world: World, count: int, seed: int) -> list[Task]:
        """Up to `count` distinct tasks; fewer where the world does not give more."""
        found: dict[str, Task] = {}
        steering = Steering()
        for number in range(count * 3):
            if len(found) == count:
                break
            rng = random.Random(f"{world.id}/{seed}/{number}")
            task = self._task(world, rng, steering)
            if task is not None and task.id not in found:
                found[task.id] = task
                _count(steering, task)
        return list(found.values())

    def _task(self, world: World, rng: random.Random, steering: Steering) -> Task | None:
        for number in range(TRIES):
            if number % KEPT == 0:
                kind = self._toolset_kind(rng)
            partners = self.surroundings.partners(world) if kind == "two" else []
            worlds = [world, rng.choice(partners)] if partners else [world]
            worlds.sort(
                key=lambda one: one.clock, reverse=True
            )  # the time of the conversation is the later one
            language = self._language(world, rng, steering) if len(worlds) == 1 else "en"
            with _opened(worlds, language) as lives:
                sketch = self._sketch(lives, rng, steering)
                task = self._finish(sketch, worlds, kind, rng, steering) if sketch else None
            if task is not None and rng.random() < self.config.keeps(task.axes):
                return task
        return None

    def _toolset_kind(self, rng: random.Random) -> str:
        kinds = list(self.config.toolsets)
        return rng.choices(kinds, [self.config.toolsets[kind] for kind in kinds])[0]

    def _language(self, world: World, rng: random.Random, steering: Steering) -> str:
        """The user's language: one that the world can be had in."""
        names = [name for name in self.config.languages if speaks(world, name)]
        return steering.draw("languages", self.config.languages, rng, names) if names else "en"

    # ---- goals ------------------------------------------------------------------------------------------

    def _sketch(self, lives: Lives, rng: random.Random, steering: Steering) -> Sketch | None:
        """Goals in each of the worlds, joined; None where there are none or they do not go together."""
        number = steering.draw("goals", self.config.goal_counts, rng)
        parts = len(lives.copies)
        drafts: list[Draft] = []
        for part in range(parts):
            share = max(1, (number + parts - 1 - part) // parts)
            for _ in range(DRAFTS if drafts else 1):
                draft = self._draft(lives, part, share, rng)
                if not (draft.personal and any(one.personal for one in drafts)):
                    break
            if not draft.goals:
                return None
            drafts.append(draft)
        return join(lives, drafts)

    def _draft(self, lives: Lives, part: int, goals: int, rng: random.Random) -> Draft:
        live, alone = lives.copies[part], len(lives.copies) == 1
        live.reset()
        live.advance(ahead(live.world, lives.world.clock))
        draft = Draft(lives.world if alone else live.world, live, rng, lives.world.clock)
        self._fill(draft, goals, rng, alone=alone)
        return draft

    def _fill(self, draft: Draft, number: int, rng: random.Random, *, alone: bool) -> None:
        kinds = list(self.config.goal_kinds)
        weights = [self.config.goal_kinds[kind] for kind in kinds]
        native = tongue_of(draft.world) == "en"
        for _ in range(number):
            kind = rng.choices(kinds, weights)[0]
            if kind in ("refuse", "unserved") and not native:
                kind = "act"
            if kind in ("unserved", "talk", "refuse") and (not alone or draft.goals) and rng.random() < 0.5:
                kind = "act"
            if not draft.add(kind):
                break

    # ---- the whole task ---------------------------------------------------------------------------------

    def _finish(
        self, sketch: Sketch, worlds: Sequence[World], kind: str, rng: random.Random, steering: Steering
    ) -> Task | None:
        relevant = [call.tool for call in sketch.calls]
        lent = []
        if kind != "own" and relevant:
            sizes = list(self.config.distractors)
            size = rng.choices(sizes, [self.config.distractors[one] for one in sizes])[0]
            lent = self.surroundings.distractors(worlds, relevant, size, rng)
        world, offered = toolset(worlds, relevant, lent, rng)
        language = tongue_of(sketch.lives.world)
        persona = rng.choice([one for one in personas() if one.language == language])
        agent = agent_for(worlds, offered, world.clock, rng, language)
        change_minds(self.config, sketch, agent, rng)
        disclose(self.config, sketch, persona, rng)
        faults = plan_faults(self.config, sketch, rng, steering)
        if not rehearse(sketch.lives, sketch.calls, faults):
            return None
        lost = unanswered(sketch, faults)
        told = {goal: values for goal, values in sketch.told.items() if goal not in lost}
        facts = tuple(sketch.facts[name] for name in _used(sketch))
        axes = axes_of(world, sketch.goals, sketch.calls, facts, faults, offered, len(worlds), len(lent))
        return Task(
            world=worlds[0].id,
            world_name=worlds[0].name,
            agent=agent,
            persona=persona,
            goals=tuple(sketch.goals),
            facts=facts,
            axes=axes,
            difficulty=difficulty(axes),
            faults=faults,
            rubric=build_rubric(sketch.lives, offered, sketch.goals, sketch.calls, told, agent, faults),
            reference=tuple(sketch.calls),
            author="teacher",
        )


def _count(steering: Steering, task: Task) -> None:
    """What a taken task adds to the shares that the next draws lean by."""
    steering.took("languages", task.persona.language)
    steering.took("goals", len(task.goals))
    steering.took("faulty", bool(task.faults))
    if task.faults:
        steering.took("fault counts", len(task.faults))
        steering.took("faults", *map(drawn_as, task.faults))


@contextmanager
def _opened(worlds: Sequence[World], language: str) -> Iterator[Lives]:
    """Copies of the worlds for the time of one task, spoken of in a language."""
    copies = [SqlWorld(world) for world in worlds]
    try:
        yield Lives(in_language(compose(worlds), language), copies)
    finally:
        for live in copies:
            live.close()


def _used(sketch: Sketch) -> list[str]:
    """Names of the facts that goals or calls still need."""
    names = {name for goal in sketch.goals for name in goal.facts}
    for call in sketch.calls:
        names |= {source.fact for source in call.sources.values() if source.fact}
        names |= {call.fact} if call.fact else set()
    return [name for name in sketch.facts if name in names]
