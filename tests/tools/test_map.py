"""The map of tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.records import ConfigError
from pipeline.tools.map import draw, lay_out
from pipeline.tools.repository import Repository
from tests.tools.test_repository import tool

SUBJECTS = {
    "mcp": ("weather", "forecast rain wind storm humidity temperature"),
    "evolved": ("hotel", "room guest booking lobby night checkout"),
}


def repository() -> Repository:
    """Two subjects, one of each source."""
    tools = []
    for source, (subject, text) in SUBJECTS.items():
        words = text.split()
        for number in range(12):
            some = " ".join(
                [words[number % 6], subject, words[(number + 1) % 6], subject, f"{subject[0]}{number}"]
            )
            origin = {
                "source": source,
                "server": subject,
                "domain": "travel/x" if source == "evolved" else "",
            }
            tools.append(
                tool(
                    f"{subject}_{subject[0]}{number}",
                    some,
                    provenance=origin,
                    arguments=(f"{subject}_{subject[0]}{number}",),
                )
            )
    return Repository(tools)


@pytest.mark.slow
def test_alike_tools_lie_together_and_the_same_seed_gives_the_same_map(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs the extra plots")
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    points = lay_out(repository())
    assert points == lay_out(repository())
    near = 0
    for point in points:
        others = sorted(points, key=lambda other: (other.x - point.x) ** 2 + (other.y - point.y) ** 2)[1]
        near += others.tool.provenance.source == point.tool.provenance.source
    assert near >= 0.9 * len(points)
    draw(points, tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert len(lay_out(repository(), sample=10)) == 10


@pytest.mark.slow
def test_a_map_of_too_little_is_refused() -> None:
    pytest.importorskip("sklearn", reason="needs the extra plots")
    with pytest.raises(ConfigError, match="says nothing"):
        lay_out(Repository([tool()]))
