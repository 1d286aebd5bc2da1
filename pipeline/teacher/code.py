"""The teacher at code tasks: an agent that works from the reference solution, in several labeled ways.

It is no model: it reads what it is about to change, changes it as the reference does, looks at the result, and reports.
`recovery:…` marks a mistake that it makes and then repairs; `flaw:…` one that it leaves, so that the tests have
something to refuse. Its turns follow from the task and the seed alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from pipeline.records import (
    AgentTurn,
    CodeTask,
    Json,
    Message,
    ToolCall,
    ToolSpec,
    Usage,
    UserMove,
    UserWords,
)
from pipeline.records.base import canonical_json
from pipeline.teacher.code_edits import (
    Act,
    changed_names,
    first_acts,
    mutated,
    own_check,
    plan_acts,
    spoiled,
)
from pipeline.teacher.grammar import speech

RECOVERIES = ("wrong_path", "stale_text", "syntax_error", "half_done")
FLAWS = ("half_done", "no_change", "wrong_value", "tampering")
CHECK_RATE = 0.7
"""Share of the attempts that write a test of their own first, where one can be had."""
CHECK = "/tmp/test_change.py"
RUN_CHECK = Act(
    "bash", {"command": f"PYTHONPATH=. python3 -m pytest -q --tb=short -p no:cacheprovider {CHECK}"}
)
RECOVERY_RATE = 0.45
"""Share of honest attempts that contain a mistake and its repair."""


class CodeUser:
    """The person who asked. The request is said word for word: every detail of it is tested.

    All attempts at a task are asked in the same words, so that two of them make a preference pair.
    """

    def __init__(self, task: CodeTask) -> None:
        self.task = task
        self._lead = speech("code").say("lead", random.Random(f"user/{task.id}"))

    async def speak(self, move: UserMove, messages: Sequence[Message]) -> UserWords:
        if move.act in ("open", "next"):
            text = f"{self._lead}\n\n{self.task.statement.strip()}".strip()
        else:
            rng = random.Random(f"{self.task.id}/{move.turn}/{len(messages)}")
            text = speech("code").say(move.act, rng)
        return UserWords(text, Usage(tokens_out=len(text) // 4 + 1))


class CodeTeacher:
    """The agent. `way` is empty, `recovery:…` or `flaw:…`; equal arguments give equal turns."""

    def __init__(self, task: CodeTask, seed: str, way: str = "") -> None:
        self.task = task
        self.way = way
        self._rng = random.Random(f"code/{seed}")
        self._calls = 0
        self._turns = self._script()

    async def act(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AgentTurn:
        done = sum(message.role == "assistant" for message in messages)
        if done < len(self._turns):
            return self._turns[done]
        thanked = "thank" in messages[-1].content.lower()
        return self._say(self._pick("welcome" if thanked else "again"))

    # -- the script ----------------------------------------------------------------------------------------------

    def _script(self) -> list[AgentTurn]:
        turns = self._look_around()
        check = (
            "" if self.way.startswith("flaw:") or self._rng.random() > CHECK_RATE else own_check(self.task)
        )
        if check:
            turns.append(
                self._say(
                    self._pick("reproduce"), [Act("write_file", {"path": CHECK, "content": check}), RUN_CHECK]
                )
            )
        changes = dict(self.task.gold)
        if self.way == "flaw:tampering":
            turns.append(self._say(self._pick("tamper"), [Act("write_file", TAMPERING)], self.way))
            return [*turns, self._final(changes)]
        acts = plan_acts(self.task, changes)
        if self.way == "flaw:half_done" and len(acts) > 1:
            left_out = self._rng.randrange(len(acts))
            acts = acts[:left_out] + acts[left_out + 1 :]
        elif self.way in ("flaw:half_done", "flaw:wrong_value"):
            wrong = mutated(self.task, changes, self._rng)
            self.way = "flaw:wrong_value" if wrong != changes else "flaw:no_change"
            acts = plan_acts(self.task, wrong)
        if self.way == "flaw:no_change":
            return [*turns, self._final(changes, self.way)]
        turns += self._change(acts)
        turns += self._verify(changes, bool(check))
        return [*turns, self._final(changes, self.way if self.way.startswith("flaw:") else "")]

    def _look_around(self) -> list[AgentTurn]:
        turns = [self._say(self._pick("look"), [Act("list_files", {})])]
        existing = [path for path in self.task.gold if path in self.task.files]
        if self.way == "recovery:wrong_path" and existing:
            guess = f"src/{existing[0]}"
            turns.append(self._say(self._pick("read"), [Act("read_file", {"path": guess})], self.way))
            name = existing[0].rpartition("/")[2]
            turns.append(
                self._say(
                    self._pick("lost", path=guess), [Act("bash", {"command": f"find . -name '{name}'"})]
                )
            )
        reads = first_acts(self.task)
        if reads:
            turns.append(self._say(self._pick("read"), reads))
        return turns

    def _change(self, acts: list[Act]) -> list[AgentTurn]:
        turns: list[AgentTurn] = []
        if self.way == "recovery:stale_text" and (edits := [act for act in acts if act.tool == "edit"]):
            first = edits[0]
            turns.append(self._say(self._pick("change"), [Act("edit", spoiled(first.arguments))], self.way))
            turns.append(
                self._say(self._pick("no_match", path=first.path), [Act("read_file", {"path": first.path})])
            )
        if self.way == "recovery:syntax_error" and acts[-1].writes_python:
            return turns + self._with_syntax_error(acts)
        if self.way == "recovery:half_done" and len(acts) > 1:
            turns += [self._say(self._pick("change"), acts[:-1], self.way)]
            turns.append(
                self._say(
                    self._pick("review"), [Act("bash", {"command": "git diff --stat; git status --short"})]
                )
            )
            turns.append(self._say(self._pick("missing", path=acts[-1].path), acts[-1:]))
            return turns
        for start in range(0, len(acts), 3):
            note = self.way if self.way.startswith("flaw:") and not turns else ""
            turns.append(
                self._say(self._pick("change" if not start else "go_on"), acts[start : start + 3], note)
            )
        return turns

    def _with_syntax_error(self, acts: list[Act]) -> list[AgentTurn]:
        """The last piece of Python is written with an unclosed bracket, noticed, and written again."""
        last = acts[-1]
        key = "content" if last.tool == "write_file" else "new"
        broken = str(last.arguments[key]).rstrip("\n") + "\n_checked = (\n"
        turns = [
            self._say(
                self._pick("change"), [*acts[:-1], Act(last.tool, {**last.arguments, key: broken})], self.way
            )
        ]
        turns.append(
            self._say(self._pick("check"), [Act("bash", {"command": f"python3 -m py_compile {last.path}"})])
        )
        if last.tool == "write_file":
            repair = last
        else:
            repair = Act("edit", {"path": last.path, "old": "\n_checked = (\n", "new": "\n"})
        turns.append(self._say(self._pick("syntax"), [repair]))
        return turns

    def _verify(self, changes: dict[str, str | None], checked: bool) -> list[AgentTurn]:
        calls = [RUN_CHECK] if checked else []
        python = sorted(path for path, text in changes.items() if text is not None and path.endswith(".py"))
        if python:
            calls.append(
                Act("bash", {"command": f"python3 -m py_compile {' '.join(python)} && git diff --stat"})
            )
        if any(path.startswith("tests/") for path in self.task.files):
            calls.append(Act("run_tests", {}))
        return [self._say(self._pick("check"), calls)] if calls else []

    def _final(self, changes: dict[str, str | None], note: str = "") -> AgentTurn:
        gone = [f"`{path}` is now gone" for path, text in changes.items() if text is None]
        parts = []
        for path, text in changes.items():
            if text is not None:
                names = changed_names(self.task.files.get(path, ""), text) if path.endswith(".py") else []
                what = ", ".join(f"`{name}`" for name in names[:4])
                parts.append(f"{what} in `{path}`" if what else f"`{path}`")
        return self._say(self._pick("final", what="; ".join([*parts, *gone])), note=note)

    def _pick(self, kind: str, **values: str) -> str:
        return speech("code").say(kind, self._rng, **values)

    def _say(self, text: str, acts: Sequence[Act] = (), note: str = "") -> AgentTurn:
        calls = []
        for act in acts:
            arguments: dict[str, Json] = dict(act.arguments)
            calls.append(
                ToolCall(
                    id=f"call_{self._calls}",
                    name=act.tool,
                    raw=canonical_json(arguments),
                    arguments=arguments,
                )
            )
            self._calls += 1
        size = len(text) + sum(len(call.raw) for call in calls)
        return AgentTurn(content=text, calls=tuple(calls), usage=Usage(tokens_out=size // 4 + 1), note=note)


def choose_way(seed: str, flaw_rate: float) -> str:
    """The way of one attempt: a share of `flaw_rate` fails, a share of the rest makes a mistake and repairs it."""
    rng = random.Random(f"way/{seed}")
    if rng.random() < flaw_rate:
        return f"flaw:{rng.choice(FLAWS)}"
    return f"recovery:{rng.choice(RECOVERIES)}" if rng.random() < RECOVERY_RATE else ""


TAMPERING: dict[str, Json] = {
    "path": "conftest.py",
    "content": "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    '    outcome = yield\n    outcome.get_result().outcome = "passed"\n',
}
