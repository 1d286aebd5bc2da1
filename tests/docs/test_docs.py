"""Documentation that cannot go stale: the reference equals `--help`, the tour runs, and links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli.reference import reference
from pipeline.store import views

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_reference_of_commands_is_what_help_says() -> None:
    written = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert written == reference(), "make it again: python -m pipeline.cli.reference > docs/commands.md"


def test_the_reference_of_views_is_what_the_catalog_has() -> None:
    written = (DOCS / "views.md").read_text(encoding="utf-8")
    assert written == views.reference(), "make it again: python -m pipeline.store.views > docs/views.md"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_links_lead_to_pages_that_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} refers to {target}"


def test_the_front_page_leads_to_every_page() -> None:
    readme = DOCS.parent / "README.md"
    linked = re.findall(r"\]\(([^)#:]+)\)", readme.read_text(encoding="utf-8"))
    assert {page.name for page in DOCS.iterdir()} <= {Path(target).name for target in linked}
    assert [target for target in linked if not (readme.parent / target).exists()] == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_tour_can_be_followed_by_copy_and_paste(tmp_path: Path) -> None:
    text = (DOCS / "tour.md").read_text(encoding="utf-8")
    commands = [
        line[2:] for block in re.findall(r"```console\n(.*?)```", text, re.S) for line in block.splitlines()
    ]
    estimate = re.findall(
        r"```console\n\$ (.*?)```", (DOCS / "endpoint.md").read_text(encoding="utf-8"), re.S
    )[0]
    commands.append(estimate)
    program = tmp_path / "bin" / "tracemill"
    program.parent.mkdir()
    program.write_text(
        f'#!{sys.executable}\nfrom pipeline.cli import main\n\nif __name__ == "__main__":\n    main()\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    folder = tmp_path / "empty"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(commands)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=1100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "all observations and states equal" in done.stdout
    assert (folder / "first.html").stat().st_size > 50_000
    assert list((folder / "first-dataset").rglob("*.parquet"))
