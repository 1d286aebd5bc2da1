"""The export itself: from runs to a dataset folder.

Metadata decides first which attempts are candidates and on which side of the split they fall; then units are converted
one after the other or in parallel, each row proven in the chat templates; then files are written in shuffled order. The
folder appears when everything in it is complete.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.config.publish import PublishSection
from pipeline.records import InputError
from pipeline.store.export.against import read_benchmarks
from pipeline.store.export.candidates import Candidate, Unit, attempts, only_passed, pair_up
from pipeline.store.export.card import card
from pipeline.store.export.convert import LINES, Converted, Job, Plan, convert, decision, documents, text_id
from pipeline.store.export.formats import FORMATS, Format
from pipeline.store.export.outcome import ExportReport
from pipeline.store.export.splits import TRAIN, Signature, assign, near_copies, signature
from pipeline.store.export.writing import SplitFiles, SplitLines, new_folder
from pipeline.store.folder import RunFolder
from pipeline.store.shards import read_table, to_arrow
from pipeline.store.tables import TABLES, Row

_SPLITS = (TRAIN, "validation", "test")
DECISIONS = "decisions.parquet"
"""Beside the data: what became of every candidate, with the columns of the table `exports`."""


def export(
    runs: Sequence[RunFolder],
    format: Format,
    out: Path,
    *,
    settings: PublishSection | None = None,
    seed: int = 0,
    against: Sequence[Path] = (),
) -> ExportReport:
    """Writes the dataset folder `out`: `data/SPLIT-*.parquet` (JSON lines for adp), README.md, decisions.parquet.

    Raises InputError when the runs have nothing for this format or nothing is left, RunError when `out` exists, a
    shard is damaged or the disk is full; then nothing is left behind.
    """
    settings = settings or PublishSection()
    if format not in FORMATS:
        raise InputError(f"{format!r} is no export format.", way_out=f"Choose one of {', '.join(FORMATS)}.")
    benchmarks = read_benchmarks(against, settings.against_ngram) if against else None
    for run in runs:
        run.check()
    paths = tuple(run.path for run in runs)
    plan = Plan(Path(out).name, format, settings, seed, paths, benchmarks)
    with new_folder(Path(out)) as folder:
        candidates = _candidates(runs, plan)
        _split(candidates, plan)
        report = _write(folder, candidates, runs, plan)
        text = card(runs, report, plan, against)
        (folder / "README.md").write_text(text, encoding="utf-8")
    return report


def _candidates(runs: Sequence[RunFolder], plan: Plan) -> list[Candidate]:
    found = list(documents(plan)) if plan.format == "text" else attempts(runs)
    if not found:
        wanted = "rewritten documents" if plan.format == "text" else "trajectories"
        raise InputError(
            f"There are no {wanted} in {', '.join(run.name for run in runs) or 'no run'}.",
            way_out="Finish the run first, or choose another --format.",
        )
    if plan.format == "preference":
        pair_up(found, runs)
    else:
        only_passed(found)
    return found


def _split(candidates: Sequence[Candidate], plan: Plan) -> None:
    """Gives each candidate that is left a split; held-out near-copies of training rows are dropped."""
    left = [candidate for candidate in candidates if not candidate.dropped]
    shares = dict(zip(_SPLITS[1:], (plan.settings.validation, plan.settings.test), strict=True))
    splits = assign([candidate.group for candidate in left], shares, plan.seed)
    for candidate in left:
        candidate.split = splits[candidate.group]
    held = [candidate for candidate in left if candidate.split != TRAIN]
    if not held:
        return
    signatures = _signatures(left, plan)
    train = [signatures[one.id] for one in left if one.split == TRAIN and one.id in signatures]
    known = [one for one in held if one.id in signatures]
    copies = near_copies(
        _stack([signatures[one.id] for one in known]), _stack(train), plan.settings.near_duplicate
    )
    for index in copies:
        known[index].dropped = "nearly the same as a training row"


def _stack(signatures: list[Signature]) -> Signature:
    return np.stack(signatures) if signatures else np.empty((0, 64), np.uint32)


def _signatures(candidates: Sequence[Candidate], plan: Plan) -> dict[str, Signature]:
    """Signatures of what the user says (or the document), per candidate."""
    found: dict[str, Signature] = {}
    for unit, members in _by_unit(candidates).items():
        run, stage, number = unit
        ids = {member.id for member in members}
        folder = plan.runs[run] / "shards" / f"{stage}-{number:05d}"
        for name, text in _said(folder, plan.format):
            if name in ids:
                found[name] = signature(text)
    return found


def _said(folder: Path, format: str) -> Iterator[tuple[str, str]]:
    if format == "text":
        columns = ["document", "style", "seed", "text"]
        for row in read_table(folder / "texts.parquet", columns).to_pylist():
            yield text_id(row), row["text"]
        return
    table = read_table(folder / "events.parquet", ["trajectory", "role", "content"])
    table = table.filter(pc.equal(table["role"], "user"))
    texts: dict[str, list[str]] = defaultdict(list)
    for name, text in zip(table["trajectory"].to_pylist(), table["content"].to_pylist(), strict=True):
        texts[name].append(text)
    for name, parts in texts.items():
        yield name, "\n".join(parts)


def _by_unit(candidates: Iterable[Candidate]) -> dict[Unit, list[Candidate]]:
    units: dict[Unit, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        units[candidate.unit].append(candidate)
    return units


def _write(
    folder: Path, candidates: Sequence[Candidate], runs: Sequence[RunFolder], plan: Plan
) -> ExportReport:
    data = folder / "data"
    data.mkdir()
    left = [candidate for candidate in candidates if not candidate.dropped]
    places = {candidate.id: candidate.unit for candidate in candidates}
    jobs = [
        Job(unit, tuple(members), {one.partner: places[one.partner] for one in members if one.partner})
        for unit, members in _by_unit(left).items()
    ]
    expected = Counter(candidate.split for candidate in left)
    schema = FORMATS[plan.format].schema
    kind = SplitFiles if schema is not None else SplitLines
    shard_bytes = plan.settings.shard_mb * 2**20
    files = {
        split: kind(data, split, schema if schema is not None else LINES, count, shard_bytes)
        for split, count in sorted(expected.items(), key=lambda item: _SPLITS.index(item[0]))
    }
    decisions = [
        decision(plan, one.id, split=one.split, reason=one.dropped, detail=one.detail)
        for one in candidates
        if one.dropped
    ]
    scrubbed: Counter[str] = Counter()
    seen: set[bytes] = set()
    for done in _converted(plan, jobs):
        decisions.extend(done.dropped)
        scrubbed.update(done.scrubbed)
        for split, table in done.tables.items():
            fresh = []
            for name, digest in done.digests[split]:
                fresh.append(digest not in seen)
                seen.add(digest)
                reason = "" if fresh[-1] else "word for word the same as another row"
                decisions.append(decision(plan, name, split=split, reason=reason))
            files[split].add(table if all(fresh) else table.filter(pa.array(fresh)))
    if not any(each.rows for each in files.values()):
        raise InputError(f"Nothing is left to export: {_in_words(decisions)}.")
    for each in files.values():
        each.finish()
    pq.write_table(to_arrow(TABLES["exports"], decisions), folder / DECISIONS, compression="zstd")
    return _report(Path(folder), plan, files, decisions, scrubbed, left)


def _report(
    out: Path,
    plan: Plan,
    files: dict[str, SplitFiles],
    decisions: Sequence[Row],
    scrubbed: Counter[str],
    left: Sequence[Candidate],
) -> ExportReport:
    kept = {row["subject"] for row in decisions if row["kept"]}
    groups: dict[str, set[str]] = defaultdict(set)
    for candidate in left:
        if candidate.id in kept:
            groups[candidate.split].add(candidate.group)
    return ExportReport(
        out=out.with_name(plan.name),
        format=plan.format,
        rows={split: each.rows for split, each in files.items() if each.rows},
        dropped=dict(Counter(row["reason"] for row in decisions if row["reason"]).most_common()),
        scrubbed=dict(scrubbed),
        groups={split: len(members) for split, members in groups.items()},
    )


def _converted(plan: Plan, jobs: Sequence[Job]) -> Iterator[Converted]:
    """The jobs' results in the order of the jobs, so that equal inputs give equal files."""
    if plan.settings.workers == 1 or len(jobs) < 2:
        yield from map(partial(convert, plan), jobs)
        return
    # A fresh interpreter per worker: forking a process with Arrow's threads can hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(plan.settings.workers, mp_context=context) as pool:
        yield from pool.map(partial(convert, plan), jobs)


def _in_words(decisions: Sequence[Row]) -> str:
    reasons = Counter(row["reason"] for row in decisions if row["reason"])
    return "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
