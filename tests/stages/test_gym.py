"""The gym surface is the same engine: equal actions give the same trajectory as an episode that a policy plays."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import load_config
from pipeline.judging.judge import judge
from pipeline.records import Message, Task, TaskError, UserMove, UserWords
from pipeline.rollout.gym import Gym
from pipeline.stages.context import Context
from pipeline.stages.gym import world_gym
from pipeline.stages.units import STAGES, work
from pipeline.store import RunFolder
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from pipeline.worlds.sql import SqlHost
from tests.rollout.scripts import Episode, LimitsConfig, call, tasks, world


def _policy(task: Task) -> TeacherPolicy:
    return TeacherPolicy(task, world(), "gym")


def _through(gym: Gym, task: Task, seed: int) -> tuple[float, dict[str, Any], list[Message]]:
    """A whole episode by the teacher's hand; what was observed together with what was done."""
    seen = list(gym.reset(task, seed).messages)
    policy, done, reward, info = _policy(task), False, 0.0, {}
    while not done:
        turn = asyncio.run(policy.act(seen, task.agent.toolset.tools))
        observation, reward, done, info = gym.step(turn)
        seen.append(gym.messages[len(seen)])
        seen.extend(observation.messages)
        assert done or reward == 0.0
    return reward, info, seen


@pytest.mark.parametrize("number", range(4))
def test_it_is_the_same_engine(number: int) -> None:
    task = tasks("act", 2, 1.0)[number]
    gym = world_gym([world()])
    reward, info, seen = _through(gym, task, 5)
    assert reward == 1.0
    assert info["end_reason"] == "user_done"
    assert gym.trajectory is not None
    host = SqlHost(world())
    user = TeacherUser(task, world(), gym.trajectory.id)
    episode = Episode(task, 0, 5, _policy(task), user, host, LimitsConfig())
    played = asyncio.run(episode.run())
    assert played == gym.trajectory
    assert asyncio.run(judge(task, played, host.snapshot(), world())).reward == reward
    asyncio.run(host.close())
    assert seen == list(episode.messages), "observations and actions together are the whole conversation"
    again = _through(gym, task, 5)
    assert again == (reward, info, seen)


def test_actions_in_every_form_and_bad_ones() -> None:
    task = tasks()[0]
    gym = world_gym([world()])
    first = gym.reset(task)
    assert [message.role for message in first.messages] == ["system", "user"]
    assert first.text.startswith(task.agent.system_prompt)
    assert first.tools == task.agent.toolset.tools
    broken = {"name": "find_member", "arguments": "{"}
    fine = {"name": "find_member", "arguments": json.dumps({"phone": "1"})}
    asked = {"content": None, "tool_calls": [{"function": broken}, {"id": "b", "function": fine}]}
    observed, reward, done, info = gym.step(asked)
    codes = [json.loads(message.content)["error"] for message in observed.messages]
    assert (codes, reward, done, info["calls"]) == (["INVALID_JSON", "NOT_FOUND"], 0.0, False, 2)
    observed, *_ = gym.step("Could you tell me more?")
    assert [message.role for message in observed.messages] == ["user"]
    observed, _, done, _ = gym.step("")
    assert (observed.messages, done) == ((), False), "one empty turn is asked for again"
    _, reward, done, info = gym.step("")
    assert (reward, done, info["end_reason"], info["owner"]) == (0.0, True, "agent_empty", "agent")
    with pytest.raises(RuntimeError, match="reset"):
        gym.step("hello?")
    with pytest.raises(TaskError, match="does not have"):
        gym.reset(task.replace(world="world_of_somebody_else"))


def test_a_thousand_instances_side_by_side_are_apart() -> None:
    task = tasks()[0]
    gyms = [world_gym([world()]) for _ in range(1000)]
    for seed, gym in enumerate(gyms):
        gym.reset(task, seed)
    bikes = [call("start_hire", {"member_id": "M020", "bike_id": f"B01{3 + n}"}) for n in range(3)]
    states = []
    for number, gym in enumerate(gyms):
        turn = {
            "tool_calls": [{"function": {"name": bikes[number % 3].name, "arguments": bikes[number % 3].raw}}]
        }
        states.append(gym.step(turn)[3]["state"])
    assert len(set(states)) == 3
    for gym in gyms:
        gym.close()
        gym.close()


def test_the_page_about_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = {"data": str(tmp_path / "data"), "tasks.count": 2, "worlds.only": ["harbour-hotel"]}
    config = load_config(None, flags, {})
    folder = RunFolder.create(tmp_path / "data", "my-run", "tasks", config.seed, config.to_yaml())
    for stage in ("worlds", "tasks"):
        for number in range(STAGES[stage].units(Context.open(folder.path))):
            asyncio.run(work(folder.path, stage, number))
    page = Path(__file__).parent.parent.parent / "docs" / "gym.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(code, found)
    assert found["info"]["end_reason"]


class SlowUser:
    """A user that has to be waited for."""

    async def speak(self, move: UserMove, messages: Any) -> UserWords:
        await asyncio.sleep(0.001)
        return UserWords(" ".join([move.goal.intent if move.goal else "", *(f.spoken for f in move.facts)]))


def test_what_waits_needs_a_loop() -> None:
    task = tasks()[0]
    gym = world_gym([world()], user=lambda task, trajectory: SlowUser())
    with pytest.raises(RuntimeError):
        gym.reset(task)
    loop = asyncio.new_event_loop()
    gym = world_gym([world()], user=lambda task, trajectory: SlowUser(), loop=loop)
    assert gym.reset(task).messages
    assert gym.step("What else?")[0].messages
    gym.close()
    loop.close()


async def test_it_can_be_awaited_within_a_loop() -> None:
    task = tasks()[0]
    gym = world_gym([world()], user=lambda task, trajectory: SlowUser())
    first, other = gym, world_gym([world()])
    await asyncio.gather(first.areset(task), other.areset(task))
    observed, *_ = await first.astep("What else?")
    assert observed.messages
    await first.aclose()
    await other.aclose()
