"""Flaws that the teacher plants on request, each with a label: what filters and judges have to find."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from pipeline.records import Json, ReferenceCall, Task, World
from pipeline.tasks.mutations import changed_value

KINDS = (
    "false_claim",
    "skipped_confirmation",
    "wrong_argument",
    "invented_id",
    "repeated_write",
    "wrong_number",
    "ignored_error",
    "over_refusal",
)


@dataclass
class Flaw:
    """One flaw of one attempt; it happens at most once."""

    kind: str
    goal: int
    rng: random.Random
    done: bool = field(default=False)

    @property
    def note(self) -> str:
        """The label that lands in the event; asking for it marks the flaw as done."""
        self.done = True
        return f"flaw:{self.kind}"

    def takes(self, goal: int) -> bool:
        """Whether it is due in this goal."""
        return not self.done and goal == self.goal

    def takes_write(self, call: ReferenceCall, world: World) -> bool:
        """Whether it is due after this call: a change that must not be made twice."""
        about = world.tool_by_name[call.tool].annotations
        return self.takes(call.goal) and not about.read_only and not about.idempotent

    def spoil(
        self, call: ReferenceCall, arguments: dict[str, Json], world: World
    ) -> tuple[dict[str, Json], str]:
        """Arguments with the flaw in them and its label, or unchanged and an empty label."""
        if not self.takes(call.goal) or self.kind not in ("wrong_argument", "invented_id"):
            return arguments, ""
        about = world.words.tools[call.tool].arguments
        if self.kind == "invented_id":
            names = [n for n, s in call.sources.items() if s.kind == "read" and isinstance(arguments[n], str)]
        else:
            names = [n for n, s in call.sources.items() if s.kind == "told" and not about[n].source]
        if world.tool_by_name[call.tool].annotations.read_only or not names:
            return arguments, ""
        name = self.rng.choice(names)
        changed = changed_value(
            arguments[name], world.tool_by_name[call.tool].input_schema["properties"][name], self.rng
        )
        if changed == arguments[name]:
            return arguments, ""
        return {**arguments, name: changed}, self.note

    def misread(self, text: str) -> str:
        """A text with one of its numbers changed."""
        found = list(re.finditer(r"\d+(?:\.\d+)?", text))
        if not found:
            return text
        match = self.rng.choice(found)
        number = float(match[0])
        digits = len(match[0].split(".")[1]) if "." in match[0] else 0
        return (
            text[: match.start()]
            + f"{number + self.rng.choice((1, 2, 5, 10)):.{digits}f}"
            + text[match.end() :]
        )


def plant(task: Task, rng: random.Random) -> Flaw:
    """A flaw for one attempt at a task, of a kind that can show there."""
    acts = [index for index, goal in enumerate(task.goals) if goal.kind == "act"]
    asks = [index for index, goal in enumerate(task.goals) if goal.kind in ("act", "ask")]
    # Under a fault a wrong argument may be refused and put right by the second try: no flaw in the end.
    kinds = [kind for kind in KINDS if kind != ("wrong_argument" if task.faults else "ignored_error")]
    if not acts:
        kinds = ["wrong_number", "over_refusal", "false_claim"]
    kind = rng.choice(kinds)
    pool = acts if acts and kind not in ("wrong_number", "over_refusal") else asks or [0]
    return Flaw(kind, rng.choice(pool), rng)
