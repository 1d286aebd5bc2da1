"""Who plays what: the one place where the configuration's roles become players."""

from __future__ import annotations

import random
from dataclasses import dataclass

from pipeline.config import Config
from pipeline.config.models import Role
from pipeline.models import Models
from pipeline.models.players.author import Asker
from pipeline.models.players.judge import ModelJudge
from pipeline.models.players.policy import ModelPolicy
from pipeline.models.players.seat import Seat
from pipeline.models.players.simulator import ModelSimulator
from pipeline.models.players.user import ModelUser
from pipeline.records import Author, Judge, Policy, Simulator, Task, User, Versions, World
from pipeline.stages.hosts import needed_world
from pipeline.stages.versions import code_revision, prompts_of
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.flaws import plant
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from pipeline.worlds.simulated import ProgramSimulator

TEACHER = "teacher"


@dataclass
class Players:
    """Makes the players of all roles for one unit of work."""

    config: Config
    models: Models
    stage: str

    def plays(self, role: Role) -> str:
        """`teacher` or the model's name."""
        return self.config.roles.get(role, TEACHER)

    def seat(self, role: Role, purpose: str, sample: int = 0) -> Seat:
        """A model's seat in a role; its seed follows from the run's seed, the purpose and the sample."""
        seed = random.Random(f"{self.config.seed}/{purpose}/{sample}").randrange(2**31)
        return Seat(self.models, self.plays(role), role, self.stage, purpose, sample, seed)

    def author(self) -> Author:
        """The teacher as author. A model writes with a pen, stage by stage: see `pen`."""
        return TeacherAuthor(self.config.tasks)

    def pen(self, purpose: str) -> Asker:
        """The pen of the model that plays the author, for one piece of work."""
        author = self.config.author
        return Asker(
            self.seat("author", purpose), temperature=author.temperature, max_tokens=author.max_tokens,
            terse=author.sketch,
        )  # fmt: skip

    def solver(self) -> Seat | None:
        """The model that plays the agent, for the probes of authored tasks; None when it is the teacher."""
        wanted = self.config.author.probes and self.plays("policy") != TEACHER
        return self.seat("policy", "probe") if wanted else None

    def user(self, task: Task, world: World | None, trajectory: str, attempt: int) -> User:
        if self.plays("user") == TEACHER:
            return TeacherUser(task, needed_world(task, world, "user"), trajectory)
        return ModelUser(
            self.seat("user", trajectory, attempt),
            opening=self.seat("user", task.id),
            temperature=self.config.trajectories.temperature_of(attempt),
        )

    def policy(self, task: Task, world: World | None, trajectory: str, attempt: int) -> Policy:
        """The agent; the teacher plants a flaw in its configured share of attempts."""
        if self.plays("policy") != TEACHER:
            seat = self.seat("policy", trajectory, attempt)
            return ModelPolicy(seat, temperature=self.config.trajectories.temperature_of(attempt))
        rng = random.Random(f"flaw/{trajectory}")
        flaw = plant(task, rng) if rng.random() < self.config.trajectories.flaw_rate else None
        return TeacherPolicy(task, needed_world(task, world, "policy"), trajectory, flaw)

    def simulator(self, world: World, sample: int = 0) -> Simulator:
        """Who answers the calls of played tools: a model, or the teacher's reading of what they do."""
        if self.plays("simulator") == TEACHER:
            return ProgramSimulator(world, TEACHER)
        return ModelSimulator(self.seat("simulator", world.id, sample))

    def judges(self) -> list[Judge]:
        """The model judges; none when the teacher judges, since it has only certain checks."""
        names = self.config.judging.judges or (
            (self.plays("judge"),) if self.plays("judge") != TEACHER else ()
        )
        found: list[Judge] = []
        for number, name in enumerate(names):
            seat = Seat(self.models, name, "judge", self.stage, "", number, self.config.seed)
            found.append(ModelJudge(seat))
        return found

    def escalation(self) -> Judge | None:
        """The judge for what the others are divided about."""
        name = self.config.judging.escalation
        if name is None:
            return None
        return ModelJudge(Seat(self.models, name, "judge", self.stage, "escalation", 0, self.config.seed))

    def all_judges(self) -> list[Judge]:
        """Each model that judges or decides between judges, once."""
        last = self.escalation()
        judges = [*self.judges(), *([last] if last else [])]
        return list({one.name: one for one in judges}.values())

    def versions(self, task: Task) -> Versions:
        """What shapes a trajectory of a task, for its record."""
        return Versions(
            code=code_revision(),
            tools=task.agent.toolset.id,
            world=task.world,
            prompts=prompts_of(self.config.roles),
            policy=self.plays("policy"),
            user=self.plays("user"),
            simulator=self.plays("simulator") if task.host == "simulated" else "",
            judge="+".join(self.config.judging.judges) or self.plays("judge"),
            seed=self.config.seed,
        )
