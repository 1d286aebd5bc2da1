"""From a unit of a run to rows of a dataset: the part that runs in parallel."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.config.publish import PublishSection
from pipeline.records import canonical_json
from pipeline.store.export.against import Benchmarks, Hit
from pipeline.store.export.candidates import Candidate, Unit
from pipeline.store.export.conversation import EVENT_COLUMNS, Conversation, Unfit, conversation
from pipeline.store.export.formats import ABOUT, FORMATS, TEXT_COLUMNS, json_line, preference_row
from pipeline.store.export.rendering import verify
from pipeline.store.export.scrub import contacts, scrub, scrub_text
from pipeline.store.export.splits import order_key
from pipeline.store.export.writing import ORDER
from pipeline.store.shards import read_rows, read_table
from pipeline.store.tables import Row

LINES = pa.schema([("line", pa.binary())])


@dataclass(frozen=True)
class Plan:
    """What is equal for all jobs of an export."""

    name: str
    format: str
    settings: PublishSection
    seed: int
    runs: tuple[Path, ...]
    benchmarks: Benchmarks | None


@dataclass(frozen=True)
class Job:
    """One unit and its candidates; `partners` are the units where rejected attempts of pairs lie."""

    unit: Unit
    candidates: tuple[Candidate, ...]
    partners: dict[str, Unit] = field(default_factory=dict)


@dataclass
class Converted:
    """Rows per split as an Arrow table with ORDER, the hash and id of each, and what was not taken."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    digests: dict[str, list[tuple[str, bytes]]] = field(default_factory=dict)
    dropped: list[Row] = field(default_factory=list)
    scrubbed: Counter[str] = field(default_factory=Counter)


def decision(plan: Plan, subject: str, *, split: str = "", reason: str = "", detail: str = "") -> Row:
    """A row of the table `exports`."""
    return {
        "export": plan.name,
        "format": plan.format,
        "subject": subject,
        "kept": not reason,
        "split": split or None,
        "reason": reason or None,
        "detail": detail or None,
    }


def convert(plan: Plan, job: Job) -> Converted:
    """The rows of one unit. What does not fit is in `dropped` with its reason; nothing is lost silently."""
    rows: dict[str, list[tuple[int, str, bytes, Row]]] = defaultdict(list)
    done = Converted()
    source = _Documents(plan, job) if plan.format == "text" else _Attempts(plan, job)
    for candidate in job.candidates:
        try:
            row, digest = source.row(candidate, done.scrubbed)
        except Unfit as unfit:
            done.dropped.append(
                decision(plan, candidate.id, split=candidate.split, reason=unfit.reason, detail=unfit.detail)
            )
            continue
        order = order_key(plan.seed, f"{candidate.id}{candidate.partner}")
        rows[candidate.split].append((order, candidate.id, digest, row))
    for split, found in rows.items():
        done.tables[split] = _table(plan.format, found)
        done.digests[split] = [(name, digest) for _, name, digest, _ in found]
    return done


def _table(format: str, found: Sequence[tuple[int, str, bytes, Row]]) -> pa.Table:
    order = pa.array([order for order, _, _, _ in found], pa.int64())
    schema = FORMATS[format].schema
    if schema is None:
        lines = pa.array([json_line(row) for _, _, _, row in found], pa.binary())
        return pa.table({"line": lines, ORDER: order})
    return pa.Table.from_pylist([row for _, _, _, row in found], schema=schema).append_column(ORDER, order)


class _Attempts:
    """Conversations of the attempts of one unit."""

    def __init__(self, plan: Plan, job: Job) -> None:
        self._plan = plan
        self._partners = job.partners
        wanted: dict[Unit, set[str]] = defaultdict(set)
        for candidate in job.candidates:
            wanted[job.unit].add(candidate.id)
            if candidate.partner:
                wanted[job.partners[candidate.partner]].add(candidate.partner)
        self._units = {unit: _Unit(_folder(plan, unit), ids) for unit, ids in wanted.items()}
        self._own = job.unit

    def row(self, candidate: Candidate, scrubbed: Counter[str]) -> tuple[Row, bytes]:
        chosen = self._conversation(self._own, candidate.id, self._about(candidate), scrubbed)
        if self._plan.format == "preference":
            partner = self._conversation(self._partners[candidate.partner], candidate.partner, {}, scrubbed)
            return preference_row(chosen, partner, candidate.reason), _digest(chosen, partner)
        return FORMATS[self._plan.format].row(chosen), _digest(chosen)

    def _about(self, candidate: Candidate) -> dict[str, Any]:
        """Provenance: what the trajectory's row says, the judging that counts, and where it comes from."""
        row = self._units[self._own].rows[candidate.id]
        known = {name: row[name] for name in ABOUT.names if name in row}
        run = self._plan.runs[self._own[0]].name
        return {**known, "reward": candidate.reward, "run": run, "skeleton": candidate.group}

    def _conversation(
        self, unit: Unit, name: str, about: dict[str, Any], scrubbed: Counter[str]
    ) -> Conversation:
        """Built, cleaned, compared with the benchmarks, and proven in the chat templates."""
        plan, held = self._plan, self._units[unit]
        row = held.rows[name]
        tools, sources = held.toolsets[row["toolset"]]
        if not plan.settings.unlicensed_tools and any(
            not source["license"] for source in json.loads(sources)
        ):
            raise Unfit("a real tool states no license")
        found = conversation(row, held.events[name], tools, {**about, "sources": sources})
        if plan.settings.scrub:
            found, counts = scrub(found, _own_contacts(plan, unit, row, found))
            scrubbed.update(counts)
        if plan.benchmarks:
            texts = [turn.content for turn in found.turns]
            _refuse_hit(plan.benchmarks.text_hit(texts, plan.settings.against_share))
            _refuse_hit(plan.benchmarks.tool_hit(json.loads(tools), plan.settings.against_tools))
        verify(found, plan.settings.verify)
        return found


class _Unit:
    """Rows of one unit folder, as far as they are wanted."""

    def __init__(self, folder: Path, ids: set[str]) -> None:
        self.rows = {row["id"]: row for row in read_rows(folder / "trajectories.parquet") if row["id"] in ids}
        self.toolsets = {
            row["id"]: (row["tools"], row["sources"]) for row in read_rows(folder / "toolsets.parquet")
        }
        self.events: dict[str, list[Row]] = defaultdict(list)
        for event in read_rows(folder / "events.parquet", EVENT_COLUMNS):
            if event["trajectory"] in ids:
                self.events[event["trajectory"]].append(event)


class _Documents:
    """Rewritten documents of one unit."""

    def __init__(self, plan: Plan, job: Job) -> None:
        self._plan = plan
        ids = {candidate.id for candidate in job.candidates}
        self._rows = {
            text_id(row): row
            for row in read_rows(_folder(plan, job.unit) / "texts.parquet")
            if text_id(row) in ids
        }

    def row(self, candidate: Candidate, scrubbed: Counter[str]) -> tuple[Row, bytes]:
        row, plan = self._rows[candidate.id], self._plan
        text = row["text"]
        if plan.settings.scrub:
            text = scrub_text(text, lambda contact: False, scrubbed)
        if plan.benchmarks:
            _refuse_hit(plan.benchmarks.text_hit([text], plan.settings.against_share))
        made = {
            **{name: row[name] for name in TEXT_COLUMNS},
            "run": plan.runs[candidate.unit[0]].name,
            "id": candidate.id,
            "text": text,
        }
        return made, hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def text_id(row: Row) -> str:
    return f"{row['document']}-{row['style']}-{row['seed']}"


def _refuse_hit(hit: Hit | None) -> None:
    if hit:
        detail = {"kind": hit.kind, "file": hit.file, "evidence": hit.evidence, "share": hit.share}
        raise Unfit("overlaps with a benchmark", canonical_json(detail))


def _own_contacts(plan: Plan, unit: Unit, row: Row, found: Conversation) -> Callable[[str], bool]:
    """Whether a contact was invented with the world: its tools answered it, its prompt or its task says it."""
    if row["host"] not in ("sql", "simulated"):
        return lambda contact: False
    known: list[set[str]] = []

    def own(contact: str) -> bool:
        if not known:
            known.append(
                {
                    each
                    for turn in found.turns
                    if turn.role in ("tool", "system")
                    for each in contacts(turn.content)
                }
            )
        if contact in known[0]:
            return True
        if len(known) == 1:
            known.append(_task_contacts(plan.runs[unit[0]], row["task"]))
        return contact in known[1]

    return own


def _task_contacts(run: Path, task: str) -> set[str]:
    found: set[str] = set()
    for path in sorted(run.glob("shards/*/tasks.parquet")):
        table = read_table(path, ["record"], [("id", "=", task)])
        for record in table.column("record").to_pylist():
            found |= contacts(record)
    return found


def _digest(*rows: Conversation) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for row in rows:
        digest.update(row.tools.encode("utf-8", "replace"))
        for turn in row.turns:
            parts = [turn.role, turn.content, *(f"{call.name}{call.arguments}" for call in turn.calls)]
            digest.update("\0".join(parts).encode("utf-8", "replace"))
    return digest.digest()


def _folder(plan: Plan, unit: Unit) -> Path:
    run, stage, number = unit
    return plan.runs[run] / "shards" / f"{stage}-{number:05d}"


def documents(plan: Plan) -> Iterable[Candidate]:
    """The rewritten documents of the runs, as candidates whose group is their source."""
    seen: set[str] = set()
    for index, run in enumerate(plan.runs):
        for path in sorted(run.glob("shards/*/texts.parquet")):
            stage, _, number = path.parent.name.rpartition("-")
            for row in read_rows(path, ["document", "style", "seed", "chunks", "chunks_kept"]):
                name = text_id(row)
                share = row["chunks_kept"] / row["chunks"] if row["chunks"] else 1.0
                dropped = (
                    "too much of it is still the source's text" if share < plan.settings.min_quality else ""
                )
                yield Candidate(
                    id=name,
                    unit=(index, stage, int(number)),
                    task=row["document"],
                    group=row["document"],
                    passed=True,
                    owner=None,
                    reward=0.0,
                    calls=0,
                    attempt=0,
                    dropped="the same rewriting is in another run" if name in seen else dropped,
                )
                seen.add(name)
