"""Small worlds for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.records import World
from pipeline.worlds.load import load_world, parse_world
from pipeline.yaml_files import parse_yaml


def bikes() -> World:
    """A complete world: five tools, language, a witness that needs a call before it."""
    return load_world(Path(__file__).parent / "bikes.yaml")


TRANSFERS = """
name: family-bank
domain: finance/banking/family accounts
clock: "2026-05-04T09:00:00"
schema: |
  create table people(person_id text primary key, name text not null, phone text not null unique);
  create table accounts(account_id text primary key, person_id text not null references people, label text not null,
    balance real not null check(balance >= 0));
  create table orders(order_ref text primary key, account_id text not null references accounts, to_settle real not null);
seed:
  people: [{person_id: P1, name: Ada, phone: "070 111 2201"}, {person_id: P2, name: Bo, phone: "070 111 2202"}]
  accounts:
    - {account_id: A1, person_id: P1, label: savings, balance: 120.35}
    - {account_id: A2, person_id: P1, label: household, balance: 40}
    - {account_id: A3, person_id: P2, label: savings, balance: 75.5}
    - {account_id: A4, person_id: P2, label: household, balance: 12.25}
  orders: [{order_ref: OR-101, account_id: A1, to_settle: 10}, {order_ref: OR-202, account_id: A3, to_settle: 7.5}]
tools:
  - name: list_accounts
    description: Accounts by phone.
    read_only: true
    arguments:
      phone: {type: string, called: your phone number, said: ["my number is {value}", "it's {value}"]}
    program:
      - returns_many: select account_id, label, balance, balance / 4 as weight_kg from accounts join people using(person_id) where phone=:phone
    try: select phone from people
    ask: [see my accounts, hear what I have, check my accounts, look at my accounts]
    each: "{label} with {balance}"
    none: [There is none., I see none.]
  - name: move_money
    description: Moves money.
    arguments:
      from_account: {type: string, from: accounts.account_id}
      to_account: {type: string, from: accounts.account_id}
      amount: {type: number, called: the amount, said: ["it's about {value}", "make it {value}"]}
    program:
      - require: select balance >= :amount from accounts where account_id=:from_account
        error: {code: NOT_ENOUGH, message: There is not enough on the account.}
        try: select 'A2' as from_account, 'A1' as to_account, 900.0 as amount
      - do: update accounts set balance = balance - :amount where account_id=:from_account
      - do: update accounts set balance = balance + :amount where account_id=:to_account
      - returns_one: select balance as left_over from accounts where account_id=:from_account
    try: select a.account_id as from_account, b.account_id as to_account, 5.5 as amount from accounts a join accounts b using(person_id) where a.account_id <> b.account_id
    ask: ["move {amount} from {from_account} to {to_account}", "shift {amount} over to {to_account}", "put {amount} on {to_account}", "top {to_account} up by {amount}"]
    because: [I need it there, it is time, I promised, the month is over]
    confirm: ["move {amount} to {to_account}", "shift {amount} to {to_account}"]
    done: ["Moved, {left_over} is left.", "That leaves {left_over}."]
  - name: settle
    description: Settles an order.
    arguments:
      order_ref: {type: string, from: orders.order_ref, known: true, called: the order number, said: ["it is {value}", "order {value}"]}
    program:
      - require: select to_settle > 0 from orders where order_ref=:order_ref
        error: {code: SETTLED, message: This order is settled.}
        try: {after: [{tool: settle, arguments: {order_ref: OR-101}}], arguments: {order_ref: OR-101}}
      - do: update orders set to_settle = 0 where order_ref=:order_ref
      - returns_one: select to_settle from orders where order_ref=:order_ref
    try: select order_ref from orders
    ask: ["settle {order_ref}", "pay off {order_ref}", "close {order_ref}", "get {order_ref} done"]
    because: [it is due, I forgot, it annoys me, I can now]
    confirm: ["settle {order_ref}", "close {order_ref}"]
    done: ["{order_ref} is settled, {to_settle} is open.", "Done, {to_settle} is open."]
words:
  entities:
    accounts: {noun: account, describe: ["the {label} account"], vague: [an account]}
    orders: {noun: order, describe: ["{order_ref}"], vague: [an order]}
"""


def transfers() -> World:
    """Two people with two accounts each; arguments named otherwise than the column they come from."""
    data: dict[str, Any] = parse_yaml(TRANSFERS)
    return parse_world(data, where="transfers")
