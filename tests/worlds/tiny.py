"""A tiny world whose tool `attack` a test writes."""

from __future__ import annotations

from typing import Any

from pipeline.records import World
from pipeline.worlds.load import parse_world

SCHEMA = """
create table items(name text primary key, amount integer not null check(amount >= 0), price real);
create table notes(note_id integer primary key, body text not null);
create table stamps(id integer primary key, at text not null default current_timestamp);
create table orders(order_id text primary key, name text not null references items, status text not null default 'open');
"""


def tiny_world(
    attack: list[dict[str, Any]] | None = None,
    *,
    arguments: dict[str, Any] | None = None,
    schema: str = SCHEMA,
    **changes: Any,
) -> World:
    """Items, notes of 50,000 characters, and tools `add`, `take`, `drop`, `order`, `stamp`, `look`."""
    tools: list[dict[str, Any]] = []
    if schema is SCHEMA:
        tools = [
            _tool("add", {"name": "string", "amount": "integer"},
                  [{"do": "insert into items(name, amount) values (:name, :amount) on conflict(name) do update set amount = amount + :amount"},
                   {"returns_one": "select name, amount from items where name = :name"}]),
            _tool("take", {"name": "string", "amount": "integer"},
                  [{"require": "select amount >= :amount from items where name = :name", "error": {"code": "TOO_FEW", "message": "Too few."}},
                   {"do": "update items set amount = amount - :amount where name = :name"},
                   {"returns_one": "select amount from items where name = :name"}]),
            _tool("drop", {"name": "string"},
                  [{"do": "delete from items where name = :name"}, {"returns_one": "select count(*) as left from items"}]),
            _tool("rename", {"name": "string", "to": "string"},
                  [{"do": "update or replace items set name = :to where name = :name"}, {"returns_one": "select count(*) as left from items"}]),
            _tool("order", {"name": "string"},
                  [{"do": "insert into orders(order_id, name) values ('O' || :new_id, :name)"},
                   {"returns_one": "select order_id, status from orders where order_id = 'O' || :new_id"}]),
            _tool("stamp", {"id": "integer"},
                  [{"do": "insert or replace into stamps(id) values (:id)"}, {"returns_one": "select at from stamps where id = :id"}]),
            _tool("look", {}, [{"returns_many": "select * from items"}]),
            _tool("look_up", {}, [{"returns_many": "select order_id, name from orders"}]),
        ]  # fmt: skip
    if attack is not None:
        tools.append({"name": "attack", "arguments": arguments or {}, "program": attack})
    data: dict[str, Any] = {
        "name": "tiny",
        "domain": "tests/tiny/tiny",
        "clock": "2026-03-02T08:00:00",
        "schema": schema,
        "tools": tools,
        "seed": {
            "items": [{"name": "bolt", "amount": 10, "price": 0.1}, {"name": "zero", "amount": 0, "price": 2.5},
                      *({"name": f"part {i}", "amount": i, "price": i / 7} for i in range(12))],
            "notes": [{"note_id": i, "body": "x" * 50_000} for i in range(1, 9)],
        },
        **changes,
    }  # fmt: skip
    if schema is not SCHEMA and "seed" not in changes:
        data["seed"] = {}
    return parse_world(data, where="tiny")


def _tool(name: str, arguments: dict[str, str], program: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "arguments": {key: {"type": kind} for key, kind in arguments.items()},
        "program": program,
    }
