"""The HTML report of a run: one file that needs no network and no server.

All data stands in the page as packed blocks; scripts write it into text nodes, never into markup, and a content
security policy lets only the page's own script run. What is not looked at is never unpacked.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import Path

from pipeline import __version__
from pipeline.records import RunError
from pipeline.report.blocks import block
from pipeline.report.episodes import episodes
from pipeline.report.figures import figures
from pipeline.report.rewritings import rewritings
from pipeline.store import RunFolder
from pipeline.store.files import write_atomically

_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = (
    "dom",
    "data",
    "charts",
    "overview",
    "listing",
    "transcript",
    "trajectories",
    "rewrites",
    "audit",
    "main",
)


def write_report(
    data: Path, run: str, out: Path, *, limit: int = 10_000, share: float = 0.05, seed: int = 0
) -> int:
    """Writes the report of `run` to `out`, whole or not at all; returns its bytes.

    `limit` bounds the trajectories and rewritings that can be browsed (the figures are always of all), `share` and
    `seed` draw the rewritings of the audit page. Raises RunError for a run that is not there or a folder as `out`.
    """
    if out.is_dir():
        raise RunError(f"{out} is a folder.", way_out="Give the name of an HTML file with --out.")
    folder = RunFolder.open(data, run)
    told = episodes(data, run, limit)
    texts = rewritings(folder, limit, share, seed)
    facts = figures(data, run) | {"shown": told.shown, "made_by": __version__}
    page = _page(run, block("figures", facts), [told.index, texts.index, *told.blocks, *texts.blocks])
    out.parent.mkdir(parents=True, exist_ok=True)
    content = page.encode("utf-8")
    write_atomically(out, content)
    return len(content)


def _page(run: str, first: str, others: list[str]) -> str:
    """The figures and the script come before the long data, so that the first page is drawn while it is read."""
    style = (_ASSETS / "report.css").read_text(encoding="utf-8")
    parts = [(_ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    body = (_ASSETS / "report.html").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{allowed}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(run)} · tracemill</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{body}{first}<script>{script}</script>\n{''.join(others)}</body>\n</html>\n"
    )
