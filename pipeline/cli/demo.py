"""What `tracemill demo` prints at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.store import Catalog

if TYPE_CHECKING:
    from pipeline.store import RunFolder
    from pipeline.store.export.outcome import ExportReport

QUERY = "select world, difficulty, avg(passed::int), count(*) from trajectories group by all"


def summary(folder: RunFolder, out: Path, report: ExportReport) -> str:
    """Funnel, pass rate by difficulty, where the dataset lies, and the SQL to look at it."""
    catalog = Catalog(folder.data_dir)
    catalog.rebuild()
    name = folder.name.replace("'", "''")
    funnel = catalog.query(
        "select stage, sum(entered) as entered, sum(kept) as kept, sum(rejected) as rejected, sum(failed) as failed, "
        f"sum(pending) as pending from funnel where run = '{name}' group by stage order by min(step)"
    )
    rates = catalog.query(
        "select difficulty, count(*) as attempts, sum(passed::int) as kept, round(avg(passed::int), 3) as pass_rate "
        f"from trajectories where run = '{name}' group by 1 order by min(case difficulty when 'simple' then 1 "
        "when 'moderate' then 2 when 'hard' then 3 else 4 end)"
    )
    tools = catalog.query(
        f"select count(distinct c.name) as n from calls c join trajectories t on t.run = c.run and t.id = c.trajectory "
        f"where c.run = '{name}' and t.passed"
    ).rows()[0][0]
    rows = sum(report.rows.values())
    return (
        f"\nThe funnel\n{funnel.text('table')}\nPass rate by difficulty (some attempts carry a planted flaw)\n"
        f"{rates.text('table')}\n{tools} distinct tools used in kept trajectories.\n\n"
        f"The dataset  {out}  {rows} rows\n"
        f"Load it      datasets.load_dataset('{out}')\n"
        f'Look at it   tracemill sql "{QUERY}"\n'
        f'One of them  tracemill show $(tracemill sql --format csv "select id from trajectories where passed limit 1" | tail -1)'
    )
