"""The import direction of docs/architecture.md, held by reading the sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

BASE = {"records", "config", "assets", "yaml_files"}
MAY_IMPORT: dict[str, set[str]] = {
    "records": set(),
    "config": {"records", "yaml_files"},
    "yaml_files": set(),
    "assets": {"records"},
    "models": BASE,
    "sandbox": BASE,
    "store": BASE,
    "worlds": BASE | {"models", "sandbox", "store"},
    "tools": BASE | {"models", "sandbox", "store", "worlds"},
    "tasks": BASE | {"models", "sandbox", "store", "worlds"},
    "rollout": BASE | {"models", "sandbox", "store", "worlds", "tools", "tasks"},
    "judging": BASE | {"models", "sandbox", "store", "worlds", "tools", "tasks", "rollout"},
    "rephrase": BASE | {"models", "store"},
}
LOWER = set(MAY_IMPORT)
MAY_IMPORT["teacher"] = set(LOWER)
MAY_IMPORT["stages"] = LOWER | {"teacher", "__version__"}
MAY_IMPORT["report"] = LOWER | {"teacher", "stages"}
OWNERS = {
    "openai": "models",
    "docker": "sandbox",
    "aiodocker": "sandbox",
    "mcp": "worlds/_mcp.py",
    "prefect": "flows",
}


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.update({node.module} | {f"{node.module}.{alias.name}" for alias in node.names})
    return names


def _sources() -> list[Path]:
    return sorted((ROOT / "pipeline").rglob("*.py")) + sorted((ROOT / "flows").rglob("*.py"))


def _part(path: Path) -> str:
    relative = path.relative_to(ROOT / "pipeline")
    return relative.parts[0].removesuffix(".py")


@pytest.mark.parametrize("part", sorted(MAY_IMPORT))
def test_a_part_imports_only_what_lies_below_it(part: str) -> None:
    allowed = MAY_IMPORT[part] | {part}
    for path in (ROOT / "pipeline").rglob("*.py"):
        if _part(path) != part:
            continue
        for name in _imports(path):
            if name.startswith("pipeline."):
                assert name.split(".")[1] in allowed | {"__version__"}, (
                    f"{path.relative_to(ROOT)} imports {name}"
                )
            assert not name.startswith("flows"), f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("package", sorted(OWNERS))
def test_a_foreign_package_has_one_door(package: str) -> None:
    for path in _sources():
        if any(name.split(".")[0] == package for name in _imports(path)):
            assert str(path.relative_to(ROOT)).removeprefix("pipeline/").startswith(OWNERS[package]), path
