"""A scripted author at a real HTTP endpoint: it makes sound worlds, and errs in known ways where it is told to.

Each place in the tree of domains is a lending business of its own, made from the number in the place's path. `errors`
says for a place which error comes at which stage; an error that is not stubborn is put right when it is objected to.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.endpoint.server import Received, Reply, completion
from tests.endpoint.shop import Shop


@dataclass(frozen=True)
class Error:
    """One way to err: at a stage, with what answer, and whether the author insists on it."""

    stage: str
    name: str
    spoil: Callable[[dict[str, Any], Shop], Any]
    """From the right answer to a wrong one: a JSON value, or a Reply."""
    stubborn: bool = False
    tool: str = ""
    """For the stage `tool`: which tool (a name with {deed} and the like filled in); empty: the first writing one."""


STAGE_OF = {
    "branches": "branches", "entities": "world", "statements": "schema", "rows": "rows", "tools": "tools", "changes": "tool",
    "rules": "policy", "invariants": "invariants", "ask": "words", "agents": "cast", "calls": "wish", "wishes": "wish", "facts": "facts", "checks": "checks",
}  # fmt: skip


def stage_of(received: Received) -> str:
    """Which form is to be filled in, told by the schema of the answer."""
    schema = received.body["response_format"]["json_schema"]["schema"]
    found = [stage for key, stage in STAGE_OF.items() if key in schema["properties"]]
    return next(stage for stage in found if stage != "policy") if len(found) > 1 else found[0]


@dataclass
class ScriptedAuthor:
    """A script for `Endpoint`. `asked` counts requests by stage, `erred` the errors made by name."""

    errors: Mapping[int, Error] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    erred: Counter[str] = field(default_factory=Counter)
    aliases: Mapping[int, int] = field(default_factory=dict)
    """Places where the author makes the world of another place again."""
    placed: int = 0
    wishes: Counter[tuple[int, str]] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, received: Received) -> Reply | dict[str, Any]:
        if "response_format" not in received.body:
            return completion("ok")
        stage, texts = stage_of(received), [str(one["content"]) for one in received.body["messages"]]
        place = number_in("\n".join(texts))
        shop = Shop(self.aliases.get(place, place))
        again = len(texts) > 2
        with self.lock:
            self.asked[stage] += 1
            right = self.right(stage, shop, texts[1])
            error = self.errors.get(place)
            wrong = None
            here = error is not None and error.stage == stage and (error.stubborn or not again)
            if error is not None and here and _at_tool(error, stage, shop, texts[1]):
                wrong = error.spoil(json.loads(json.dumps(right)), shop)
                self.erred[error.name] += 1
        said = right if wrong is None else wrong
        if isinstance(said, Reply):
            return said
        content = said if isinstance(said, str) else json.dumps(said)
        return completion(content, tokens=(sum(map(len, texts)) // 4, len(content) // 4))

    def branches(self, asked: str) -> dict[str, Any]:
        """Children of a node. A leaf is `place N`, numbered through the whole tree."""
        count = int(re.search(r"^Name (\d+) ", asked, re.M)[1])  # type: ignore[index]
        made = []
        for number in range(count):
            if "key categories" in asked.partition("Name ")[2]:
                name = CATEGORIES[number % len(CATEGORIES)]
                about = f"Everything that people do around {name}."
            elif "application domains" in asked.partition("Name ")[2]:
                name = DOMAINS[(self.placed + number) % len(DOMAINS)] + f" of kind {self.placed + number}"
                about = f"Where {name} are run by volunteers."
            else:
                shop = Shop(self.placed + number)
                name, about = (
                    f"place {shop.number} {shop.thing}",
                    f"{shop.thing}s by {shop.mark} for {shop.person}s: {shop.deed}.",
                )
            made.append(
                {"name": name, "description": about, "tags": ["lending", ("sports", "culture")[number % 2]]}
            )
        self.placed += count
        return {"branches": made}

    def right(self, stage: str, shop: Shop, asked: str) -> dict[str, Any]:
        """A sound answer."""
        if stage == "branches":
            return self.branches(asked)
        if stage == "policy":  # rules of tools that were left out have nothing to enforce them
            rules = shop.policy()["rules"]
            return {"rules": [one for one in rules if f"- {one['enforced_by']}\n" in asked]}
        if stage == "rows":
            return shop.rows(table_in(asked))
        if stage == "tool":
            return shop.tool(tool_in(asked))
        if stage == "words":
            found = re.search(r"Arguments: (.*?)\. Columns of its result: (.*?)\.", asked)
            assert found is not None
            return shop.words("", [] if found[1] == "none" else found[1].split(", "), found[2].split(", "))
        if stage == "wish":
            kind = (
                "ask"
                if "learns something" in asked
                else "refuse"
                if "what the policy forbids" in asked
                else "act"
            )
            if "wishes, in this order" in asked:
                self.wishes[shop.number, "several"] += 1
                return {"wishes": shop.two_wishes(self.wishes[shop.number, "several"] - 1)}
            self.wishes[shop.number, kind] += 1
            return shop.wish(kind, self.wishes[shop.number, kind] - 1)
        if stage == "facts":
            part = asked.partition("has to learn from the person:")[2]
            listed = [tuple(found) for found in re.findall(r"^([\w ]+): (.*), (.*)$", part, re.M)]
            hidden = int(re.search(r"About (\d+) of them", asked)[1])  # type: ignore[index]
            return shop.facts([(name, label, value.strip("'")) for name, label, value in listed], hidden)
        if stage == "checks":
            return shop.checks(asked.partition("changed in the data:")[2])
        plain = {
            "cast": shop.cast,
            "world": shop.plan,
            "schema": shop.schema,
            "tools": shop.tools,
            "policy": shop.policy,
            "invariants": shop.invariants,
        }
        return plain[stage]()


CATEGORIES = ("sports", "crafts", "music", "farming", "culture", "housing", "science", "travel")
DOMAINS = ("clubs", "workshops", "schools", "harbors", "gardens", "theaters", "camps", "museums")


def _at_tool(error: Error, stage: str, shop: Shop, asked: str) -> bool:
    """Whether an error is meant for this request: this tool, or this table."""
    wanted = error.tool.format(**_words(shop))
    if stage == "tool":
        return tool_in(asked) == (wanted or shop.start)
    return stage != "rows" or not wanted or table_in(asked) == wanted


def _words(shop: Shop) -> dict[str, str]:
    return {"person": shop.person, "thing": shop.thing, "deed": shop.deed, "mark": shop.mark}


def number_in(text: str) -> int:
    found = re.search(r"place (\d+)", text)
    return int(found[1]) if found else 0


def table_in(text: str) -> str:
    found = re.search(r"The table, and its columns:\n-----.*\n(\w+)", text)
    return found[1] if found else ""


def tool_in(text: str) -> str:
    found = re.search(r"^Write this \w+ tool:\n-----.*\n(\w+): ", text, re.M)
    return found[1] if found else ""
