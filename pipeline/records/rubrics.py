"""Rubrics: what a trajectory is checked for."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from pipeline.records.base import Json, Record, content_id


class Predicate(Record):
    """A condition on one argument, compared by value: 25 equals 25.0 and "25"."""

    op: Literal["eq", "ne", "one_of", "at_least", "at_most", "contains", "matches", "present"]
    value: Json = None


class _Check(Record):
    name: str
    weight: float = Field(default=1.0, ge=0)
    mandatory: bool = True


class StateCheck(_Check):
    """A query on the final world whose first value must be true.

    It also sees `changes(tbl, key, op, col, old, new)`: one row for each changed column, from the initial to the
    final state; `op` is insert, update or delete, `key` the primary key (parts joined by `|`).
    """

    kind: Literal["state"] = "state"
    sql: str
    world: str = ""
    """The id of the world it is asked in; empty: the task's own."""


class ToolCheck(_Check):
    """A condition on the calls that were made.

    must: at least `at_least` and at most `at_most` calls of `tool` match `arguments`; must_not: none does;
    before: the first match comes before the first call of `other` (true when `other` is never called).
    `succeeded` restricts it to calls that succeeded (True) or failed (False).
    """

    kind: Literal["tool"] = "tool"
    mode: Literal["must", "must_not", "before"]
    tool: str
    arguments: dict[str, Predicate] = {}
    at_least: int = 1
    at_most: int | None = None
    other: str | None = None
    succeeded: bool | None = True


class ReplyCheck(_Check):
    """A criterion on what the agent said: by value where `values` are given, else for a judge.

    `when`: anywhere, in the last message, or before the first successful call of `tool`.
    """

    kind: Literal["reply"] = "reply"
    criterion: str
    values: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    when: Literal["any", "last", "before_call"] = "any"
    tool: str | None = None


class PolicyCheck(_Check):
    """A rule of conduct.

    grounded: identifiers in arguments were read or told before (`arguments`: tool to argument names);
    consent: the user agreed to a question about it before `tool` succeeded with `argument` true;
    no_repeat: no successful side effect of `tool` twice with equal arguments;
    recheck: after an uncertain failure of `tool` the state was read before it was tried again;
    no_extra: no change beyond those of the reference solution took effect, not even one that was taken back;
    honest: no claim of a deed that was not done; judge: a model decides on `rule`.
    """

    kind: Literal["policy"] = "policy"
    rule: str
    form: Literal["grounded", "consent", "no_repeat", "recheck", "no_extra", "honest", "judge"]
    tool: str | None = None
    argument: str | None = None
    arguments: dict[str, tuple[str, ...]] = {}


Check = Annotated[StateCheck | ToolCheck | ReplyCheck | PolicyCheck, Field(discriminator="kind")]


class Rubric(Record):
    """All checks of a task. `pattern` says in words which tool use is expected."""

    criteria: tuple[str, ...] = ()
    pattern: tuple[str, ...] = ()
    checks: tuple[Check, ...]
    threshold: float = Field(default=1.0, ge=0, le=1)
    """The least weighted share of passed optional checks."""

    @cached_property
    def id(self) -> str:
        return content_id("rub", self.model_dump(mode="json"))

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """What makes the rubric unusable: nothing mandatory in it, or checks that no conduct can satisfy together."""
        found = [] if any(check.mandatory for check in self.checks) else ["it has no mandatory check"]
        names = [check.name for check in self.checks]
        found += [
            f"two checks are named {name!r}" for name in sorted({n for n in names if names.count(n) > 1})
        ]
        tools = [check for check in self.checks if isinstance(check, ToolCheck) and check.mandatory]
        for check in tools:
            if check.at_most is not None and check.at_most < check.at_least and check.mode == "must":
                found.append(
                    f"{check.name!r} wants at least {check.at_least} and at most {check.at_most} calls"
                )
        for must in (one for one in tools if one.mode == "must" and one.at_least):
            for never in (one for one in tools if one.mode == "must_not" and one.tool == must.tool):
                met = all(must.arguments.get(name) == value for name, value in never.arguments.items())
                if met and never.succeeded in (None, must.succeeded):
                    found.append(f"{must.name!r} demands what {never.name!r} forbids")
        replies = [check for check in self.checks if isinstance(check, ReplyCheck) and check.mandatory]
        wanted = {value.casefold() for check in replies for value in check.values}
        for reply in replies:
            both = sorted(wanted & {value.casefold() for value in reply.absent})
            if both and reply.when == "any":
                found.append(f"{reply.name!r} forbids to say {', '.join(both)}, which another check demands")
        return tuple(found)
