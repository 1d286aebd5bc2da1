"""References inside one JSON Schema document: where they lead, and which lead back to themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from pipeline.records import Json

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass
class References:
    """The references of a raw schema. Pointers are JSON pointers into `root`, as `#/…`."""

    root: dict[str, Any]
    names: dict[str, str] = field(default_factory=dict)
    """Names under `$defs` by pointer, for those that stay references."""
    _recursive: dict[str, bool] = field(default_factory=dict)

    def name(self, pointer: str) -> str:
        """A name of its own under `$defs`, remembered."""
        if pointer not in self.names:
            base = re.sub(r"[^A-Za-z0-9_.-]+", "_", pointer.rpartition("/")[2].lstrip("#")) or "root"
            name, number = base, 1
            while name in self.names.values():
                number += 1
                name = f"{base}_{number}"
            self.names[pointer] = name
        return self.names[pointer]

    def pointer(self, reference: Json) -> str | None:
        """The reference as a JSON pointer into the root that leads to a schema; None for anything else."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        if reference not in ("#", "#/") and not reference.startswith("#/"):
            found = next(
                (path for path, item in _everything(self.root) if item.get("$anchor") == reference[1:]), None
            )
            reference = "#" if found == "" else f"#{found}" if found else reference
        target = self.target(reference)
        if not isinstance(target, dict | bool) and reference.startswith(("#/$defs/", "#/definitions/")):
            name = reference.split("/", 2)[2]
            places = [
                f"#{path}/{key}/{name}"
                for path, item in _everything(self.root)
                for key in ("$defs", "definitions")
                if isinstance(item.get(key), dict) and isinstance(item[key].get(name), dict)
            ]
            if places:
                reference, target = places[0], self.target(places[0])
        if not isinstance(target, dict | bool) or self._only_circles(reference):
            return None
        return str(reference).rstrip("/")

    def _only_circles(self, reference: str) -> bool:
        """A chain of references that comes back to itself without ever saying anything."""
        seen = set()
        while reference not in seen:
            seen.add(reference)
            target = self.target(reference)
            if not isinstance(target, dict) or not isinstance(target.get("$ref"), str):
                return False
            reference = target["$ref"]
        return True

    def target(self, pointer: str) -> Json:
        """What a pointer leads to; None when it leads nowhere."""
        item: Json = self.root
        for part in pointer[1:].split("/")[1:] if pointer not in ("#", "#/") else []:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(item, dict) and key in item:
                item = item[key]
            elif isinstance(item, list) and key.isdigit() and int(key) < len(item):
                item = item[int(key)]
            else:
                return None
        return item

    def is_recursive(self, pointer: str) -> bool:
        """Whether the schema at a pointer contains, at any depth, a reference to itself."""
        if pointer not in self._recursive:
            seen: set[str] = set()
            queue = [pointer]
            while queue:
                for _, item in _everything(self.target(queue.pop()), defs=False):
                    for key in REFERENCES:
                        below = self.pointer(item[key]) if key in item else None
                        if below is not None and below not in seen:
                            seen.add(below)
                            queue.append(below)
            self._recursive[pointer] = pointer in seen
        return self._recursive[pointer]


def _everything(raw: Json, path: str = "", defs: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
    """All objects below a raw schema with their pointers; `defs=False` leaves definitions out."""
    stack: list[tuple[str, Json]] = [(path, raw)]
    while stack:
        place, item = stack.pop()
        if isinstance(item, dict):
            yield place, item
            for key, child in item.items():
                if defs or key not in ("$defs", "definitions"):
                    stack.append((f"{place}/{key.replace('~', '~0').replace('/', '~1')}", child))
        elif isinstance(item, list):
            stack += [(f"{place}/{index}", child) for index, child in enumerate(item)]
