"""What a run leaves on disk: run folder, journal, shards, the catalog over them, and exports."""

from pipeline.store.catalog import Catalog
from pipeline.store.folder import STATUSES, RunFolder, names, readable
from pipeline.store.journal import Journal
from pipeline.store.result import Result
from pipeline.store.rows import (
    Tables,
    event_of,
    event_row,
    gather,
    judgement_rows,
    snapshot_of,
    snapshot_row,
    trajectory_of,
    trajectory_rows,
    verdict_rows,
)
from pipeline.store.spec_rows import (
    agent_row,
    code_report_row,
    code_task_row,
    domain_row,
    failure_row,
    funnel_row,
    model_call_row,
    persona_row,
    skeleton,
    task_row,
    tool_row,
    world_row,
)
from pipeline.store.tables import SCHEMA_VERSION, TABLES, Row, Table

__all__ = [
    "SCHEMA_VERSION",
    "STATUSES",
    "TABLES",
    "Catalog",
    "Journal",
    "Result",
    "Row",
    "RunFolder",
    "Table",
    "Tables",
    "agent_row",
    "code_report_row",
    "code_task_row",
    "domain_row",
    "event_of",
    "event_row",
    "failure_row",
    "funnel_row",
    "gather",
    "judgement_rows",
    "model_call_row",
    "names",
    "persona_row",
    "readable",
    "skeleton",
    "snapshot_of",
    "snapshot_row",
    "task_row",
    "tool_row",
    "trajectory_of",
    "trajectory_rows",
    "verdict_rows",
    "world_row",
]
