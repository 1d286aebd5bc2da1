"""The business of a place in the scripted author's tree: its sound answers at every stage."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

PEOPLE = ("member", "guest", "pupil", "tenant", "player", "gardener", "sailor", "baker", "singer", "walker")
THINGS = (
    *("kayak", "drill", "loom", "tripod", "tent", "lantern", "cello", "ladder", "kiln", "sledge", "telescope", "grill"),
    *("mower", "projector", "costume", "banjo", "beamer", "trailer", "sander", "wetsuit", "harness", "easel", "press"),
    *("camera", "canoe", "router", "helmet", "heater", "cooker", "freezer", "saddle", "anvil", "hoist", "scooter"),
    *("juicer", "chisel", "jigsaw", "welder", "sander_belt", "tarp", "pump", "winch", "rake", "stove", "organ", "drone"),
)  # fmt: skip
DEEDS = ("hire", "loan", "booking", "stay", "checkout", "lease", "borrowing", "turn", "slot", "outing")
MARKS = ("grade", "size", "shelf", "color", "maker", "finish", "bay", "strap", "tier", "series")
NAMES = (
    "Amara Dahl",
    "Bogdan Costa",
    "Chiara Botha",
    "Deepa Eriksen",
    "Emeka Fischer",
    "Hana Gallo",
    "Ingrid Gupta",
    "Femi Alvarez",
)


@dataclass(frozen=True)
class Shop:
    """The business of one place."""

    number: int

    @property
    def person(self) -> str:
        return PEOPLE[self.number % len(PEOPLE)]

    @property
    def thing(self) -> str:
        return THINGS[self.number % len(THINGS)]

    @property
    def deed(self) -> str:
        return DEEDS[(self.number // 7) % len(DEEDS)]

    @property
    def mark(self) -> str:
        return MARKS[(self.number // 3) % len(MARKS)]

    @property
    def start(self) -> str:
        return f"start_{self.deed}"

    def plan(self) -> dict[str, Any]:
        p, t, d, m = self.person, self.thing, self.deed, self.mark
        return {
            "name": f"{t.title()} shed {self.number}",
            "summary": f"A neighborhood shed lends its {t}s to any {p} of the district for a day or two.",
            "entities": [
                {"table": f"{p}s", "columns": [f"{p}_id", f"{p}_name", "phone", "credit"]},
                {"table": f"{t}s", "columns": [f"{t}_id", m, "rate", f"{t}_status"]},
                {"table": f"{d}s", "columns": [f"{d}_id", f"{p}_id", f"{t}_id", "starts", f"{d}_status"]},
            ],
            "rules": [
                f"A {t} that is out cannot be given out again.",
                f"A {d} that has ended cannot be ended again.",
            ],
        }

    def schema(self) -> dict[str, Any]:
        p, t, d, m = self.person, self.thing, self.deed, self.mark
        return {
            "statements": [
                f"create table {p}s({p}_id text primary key, {p}_name text not null, phone text not null, credit real not null check(credit >= 0))",
                f"create table {t}s({t}_id text primary key, {m} text not null, rate real not null check(rate > 0), "
                f"{t}_status text not null check({t}_status in ('free', 'out')))",
                f"create table {d}s({d}_id text primary key, {p}_id text not null references {p}s({p}_id), "
                f"{t}_id text not null references {t}s({t}_id), starts text not null, {d}_status text not null check({d}_status in ('open', 'ended')))",
            ]
        }

    @property
    def sql(self) -> str:
        return "".join(f"{one};\n" for one in self.schema()["statements"]).strip()

    def rows(self, table: str) -> dict[str, Any]:
        p, t, d, m = self.person, self.thing, self.deed, self.mark
        made: list[dict[str, Any]] = []
        for n in range(8):
            if table == f"{p}s":
                made.append(
                    {
                        f"{p}_id": f"P{n:02d}",
                        f"{p}_name": NAMES[n],
                        "phone": f"070 55 {10 + n}",
                        "credit": 20.0 * n,
                    }
                )
            elif table == f"{t}s":
                made.append(
                    {
                        f"{t}_id": f"T{n:02d}",
                        m: f"{m} {n}",
                        "rate": 2.5 + n,
                        f"{t}_status": "free" if n < 5 else "out",
                    }
                )
            else:
                made.append({f"{d}_id": f"D{n:02d}", f"{p}_id": f"P{n % 5:02d}", f"{t}_id": f"T{5 + n % 3:02d}", "starts": f"2026-0{1 + n % 6}-1{n}T09:00:00", f"{d}_status": "open" if n < 3 else "ended"})  # fmt: skip
        return {"rows": made}

    def tools(self) -> dict[str, Any]:
        p, t, d = self.person, self.thing, self.deed
        return {
            "tools": [
                {"name": f"find_{p}", "does": f"Finds a {p} by phone number.", "kind": "read"},
                {"name": f"list_{t}s", "does": f"Lists each {t} that is free.", "kind": "read"},
                {"name": f"list_{d}s", "does": f"Lists the open {d}s of a {p}.", "kind": "read"},
                {"name": f"start_{d}", "does": f"Gives a free {t} to a {p}.", "kind": "write"},
                {"name": f"end_{d}", "does": f"Ends an open {d}.", "kind": "write"},
                {"name": "add_credit", "does": f"Adds to the credit of a {p}.", "kind": "write"},
            ]
        }

    def tool(self, name: str) -> dict[str, Any]:
        p, t, d, m = self.person, self.thing, self.deed, self.mark
        key = {"name": f"{p}_id", "type": "string", "description": f"The key of the {p}."}
        known = {
            "sql": f"select 1 from {p}s where {p}_id = :{p}_id",
            "code": "NOT_KNOWN",
            "message": f"There is no such {p}.",
        }
        if name == f"find_{p}":
            return {
                "description": f"Find a {p} by the phone number on file.",
                "arguments": [{"name": "phone", "type": "string", "description": "The phone number."}],
                "rules": [{"sql": f"select 1 from {p}s where phone = :phone", "code": "NOT_FOUND", "message": "This number is not on file.", "example": {"phone": "000"}}],
                "changes": [],
                "result": f"select {p}_id, {p}_name, credit from {p}s where phone = :phone",
                "many": False,
                "example": {"phone": "070 55 11"},
            }  # fmt: skip
        if name == f"list_{t}s":
            return {
                "description": f"List every {t} that can be given out now, at most a certain rate.",
                "arguments": [
                    {"name": "max_rate", "type": "number", "description": "The highest rate for a day."}
                ],
                "rules": [],
                "changes": [],
                "result": f"select {t}_id, {m}, rate from {t}s where {t}_status = 'free' and rate <= :max_rate order by {t}_id",
                "many": True,
                "example": {"max_rate": 4.5},
            }
        if name == f"list_{d}s":
            return {
                "description": f"List the open {d}s of a {p}.",
                "arguments": [key],
                "rules": [{**known, "example": {f"{p}_id": "P99"}}],
                "changes": [],
                "result": f"select {d}_id, {t}_id, {m}, starts from {d}s join {t}s using({t}_id) where {p}_id = :{p}_id and {d}_status = 'open'",
                "many": True,
                "example": {f"{p}_id": "P01"},
            }
        if name == f"start_{d}":
            return {
                "description": f"Give a free {t} to a {p} from now on.",
                "arguments": [key, {"name": f"{t}_id", "type": "string", "description": f"The key of the {t}."}],
                "rules": [
                    {**known, "example": {f"{p}_id": "P99", f"{t}_id": "T01"}},
                    {"sql": f"select 1 from {t}s where {t}_id = :{t}_id and {t}_status = 'free'", "code": "NOT_FREE", "message": f"This {t} is not free.", "example": {f"{p}_id": "P01", f"{t}_id": "T06"}},
                ],
                "changes": [
                    f"update {t}s set {t}_status = 'out' where {t}_id = :{t}_id",
                    f"insert into {d}s({d}_id, {p}_id, {t}_id, starts, {d}_status) values ('D' || :new_id, :{p}_id, :{t}_id, :now, 'open')",
                ],
                "result": f"select {d}_id, {m}, rate, starts from {d}s join {t}s using({t}_id) where {d}_id = 'D' || :new_id",
                "many": False,
                "example": {f"{p}_id": "P01", f"{t}_id": "T01"},
            }  # fmt: skip
        if name == f"end_{d}":
            return {
                "description": f"End an open {d}; the {t} is free again.",
                "arguments": [{"name": f"{d}_id", "type": "string", "description": f"The key of the {d}."}],
                "rules": [{"sql": f"select 1 from {d}s where {d}_id = :{d}_id and {d}_status = 'open'", "code": "NOT_OPEN", "message": f"This {d} is not open.", "example": {f"{d}_id": "D06"}}],
                "changes": [
                    f"update {t}s set {t}_status = 'free' where {t}_id = (select {t}_id from {d}s where {d}_id = :{d}_id)",
                    f"update {d}s set {d}_status = 'ended' where {d}_id = :{d}_id",
                ],
                "result": f"select {d}_id, {m}, {d}_status from {d}s join {t}s using({t}_id) where {d}_id = :{d}_id",
                "many": False,
                "example": {f"{d}_id": "D01"},
            }  # fmt: skip
        return {
            "description": f"Add an amount to the credit of a {p}.",
            "arguments": [key, {"name": "amount", "type": "number", "description": "How much to add."}],
            "rules": [
                {**known, "example": {f"{p}_id": "P99", "amount": 5}},
                {"sql": "select :amount > 0 and :amount <= 500", "code": "BAD_AMOUNT", "message": "The amount must be above 0 and at most 500.", "example": {f"{p}_id": "P01", "amount": 900}},
            ],
            "changes": [f"update {p}s set credit = credit + :amount where {p}_id = :{p}_id"],
            "result": f"select {p}_id, {p}_name, credit from {p}s where {p}_id = :{p}_id",
            "many": False,
            "example": {f"{p}_id": "P01", "amount": 25},
        }  # fmt: skip

    def policy(self) -> dict[str, Any]:
        t, d = self.thing, self.deed
        return {
            "rules": [
                {
                    "rule": f"A {t} that is out cannot be given out again.",
                    "enforced_by": f"start_{d}.NOT_FREE",
                },
                {"rule": f"A {d} that has ended cannot be ended again.", "enforced_by": f"end_{d}.NOT_OPEN"},
                {
                    "rule": "The assistant says what a day costs before it gives anything out.",
                    "enforced_by": "reply",
                },
            ]
        }

    def invariants(self) -> dict[str, Any]:
        t, d = self.thing, self.deed
        return {
            "invariants": [
                {
                    "name": f"no {t} of an open {d} is free",
                    "sql": f"select count(*) = 0 from {d}s join {t}s using({t}_id) where {d}_status = 'open' and {t}_status = 'free'",
                }
            ]
        }

    def words(self, tool: str, arguments: list[str], columns: list[str]) -> dict[str, Any]:
        given = " with ".join(["", *(f"{{{name}}}" for name in arguments)])
        return {
            "ask": [
                f"{verb}{given}" for verb in ("see to it", "get it sorted", "have it done", "deal with it")
            ],
            "confirm": [f"see to it{given}", f"go on{given}"],
            "done": [f"It is seen to: {{{columns[-1]}}}.", f"Done, and it says {{{columns[-1]}}}."],
            "called": {name: f"your {name.replace('_', ' ')}" for name in arguments},
        }

    # ---- tasks ------------------------------------------------------------------------------------------

    def cast(self) -> dict[str, Any]:
        style = {"patience": 12, "upfront": 0.5}
        return {
            "agents": [f"the desk of the {self.thing} shed"],
            "personas": [
                {"name": "calm", "style": "calm and brief", **style},
                {"name": "hasty", "style": "hasty", **style},
            ],
        }

    def wish(self, kind: str, number: int) -> dict[str, Any]:
        """The n-th wish of a kind; there are some dozens of each."""
        p, t, d, m = self.person, self.thing, self.deed, self.mark
        who, amount = number % 8, 20 + 5 * (number // 8 % 12)
        find = {"tool": f"find_{p}", "arguments": {"phone": f"070 55 {10 + who}"}}
        add = {"tool": "add_credit", "arguments": {f"{p}_id": f"P{who:02d}", "amount": amount}}
        reasons = ["the weekend is coming", "a friend is visiting"]
        if kind == "ask":
            return {
                "intent": "hear how much credit is left on my account",
                "phrasings": ["know my credit", "hear what is left on my account"],
                "reasons": reasons,
                "calls": [find],
            }
        if kind == "refuse":
            add = {"tool": "add_credit", "arguments": {f"{p}_id": f"P{who:02d}", "amount": 600 + amount}}
            return {
                "intent": f"put {600 + amount} on my account",
                "phrasings": ["top up my account", "put money on my account"],
                "reasons": reasons,
                "calls": [find, add],
            }
        if number % 3 == 0:
            return {
                "intent": f"put {amount} on my account",
                "phrasings": ["top up my account", "put money on my account"],
                "reasons": reasons,
                "calls": [find, add],
            }
        if number % 3 == 1:
            one = who % 3
            return {
                "intent": f"bring back the {t} that I have out",
                "phrasings": [f"bring my {t} back", f"end my {d}"],
                "reasons": reasons,
                "calls": [
                    {"tool": f"find_{p}", "arguments": {"phone": f"070 55 {10 + one}"}},
                    {"tool": f"list_{d}s", "arguments": {f"{p}_id": f"P{one:02d}"}},
                    {"tool": f"end_{d}", "arguments": {f"{d}_id": f"D{one:02d}"}},
                ],
            }
        which = number // 3 % 3
        return {
            "intent": f"take the {t} with {m} {which} from now on, for at most 6.5 a day",
            "phrasings": [f"take a {t} out", f"have a {t} for some days"],
            "reasons": reasons,
            "calls": [
                find,
                {"tool": f"list_{t}s", "arguments": {"max_rate": 6.5}},
                {"tool": f"start_{d}", "arguments": {f"{p}_id": f"P{who:02d}", f"{t}_id": f"T{which:02d}"}},
            ],
        }

    def two_wishes(self, number: int) -> list[dict[str, Any]]:
        """Two things that one person wants done, the second with what the first one has read."""
        one, amount, p, d = number % 3, 20 + 5 * number, self.person, self.deed
        back = {
            **self.wish("act", 1),
            "calls": [
                {"tool": f"list_{d}s", "arguments": {f"{p}_id": f"P{one:02d}"}},
                {"tool": f"end_{d}", "arguments": {f"{d}_id": f"D{one:02d}"}},
            ],
        }
        top_up = {
            **self.wish("act", 0),
            "intent": f"put {amount} on my account",
            "calls": [
                {"tool": f"find_{p}", "arguments": {"phone": f"070 55 {10 + one}"}},
                {"tool": "add_credit", "arguments": {f"{p}_id": f"P{one:02d}", "amount": amount}},
            ],
        }
        return [top_up, back]

    def facts(self, listed: list[tuple[str, str, str]], hidden: int) -> dict[str, Any]:
        return {
            "facts": [
                {
                    "name": name,
                    "label": label,
                    "spoken": value,
                    "said": ["it is {value}", "that would be {value}"],
                    "hidden": number < hidden,
                }
                for number, (name, label, value) in enumerate(listed)
            ]
        }

    def checks(self, changed: str) -> dict[str, Any]:
        p, t, d, m = self.person, self.thing, self.deed, self.mark
        if f'"{p}s"' in changed:
            row = json.loads(next(line for line in changed.splitlines() if f'"{p}s"' in line))
            return {
                "checks": [
                    {
                        "name": "the credit has gone up",
                        "sql": f"select credit = {row['after'][3]} from {p}s where {p}_id = '{row['key']}'",
                    }
                ]
            }
        if '"before": null' in changed:
            row = json.loads(next(line for line in changed.splitlines() if f'"{t}s"' in line))
            return {
                "checks": [
                    {
                        "name": f"the {t} is out",
                        "sql": f"select {t}_status = 'out' from {t}s where {m} = '{row['after'][1]}'",
                    }
                ]
            }
        row = json.loads(next(line for line in changed.splitlines() if f'"{d}s"' in line))
        return {
            "checks": [
                {
                    "name": f"the {d} has ended",
                    "sql": f"select {d}_status = 'ended' from {d}s where {d}_id = '{row['key']}'",
                }
            ]
        }
