"""The dataset card, made from the runs' own figures."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from pipeline.store.export.convert import Plan
from pipeline.store.export.formats import FORMATS
from pipeline.store.export.outcome import ExportReport
from pipeline.store.folder import RunFolder
from pipeline.store.tables import step

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_TITLES = {"text": "Rewritten texts", "preference": "Preferences between agentic trajectories"}
_TASKS = {"text": "text-generation", "preference": "reinforcement-learning"}


def card(runs: Sequence[RunFolder], report: ExportReport, plan: Plan, against: Sequence[Path]) -> str:
    """README.md: front matter that makes the folder loadable with explicit features, then what a reader must know."""
    total = sum(report.rows.values())
    title = plan.settings.title or _TITLES.get(plan.format, "Agentic trajectories")
    front = {
        "license": plan.settings.license,
        "language": list(plan.settings.languages),
        "pretty_name": title,
        "task_categories": [_TASKS.get(plan.format, "text-generation")],
        "tags": [
            "synthetic",
            "tracemill",
            *(["agent", "tool-use"] if plan.format != "text" else ["rephrased"]),
        ],
        "size_categories": [next((name for limit, name in _SIZES if total < limit), "1M<n<10M")],
        **_loading(report, plan),
    }
    sections = [
        f"# {title}",
        f"{total:,} rows made by tracemill. {FORMATS[plan.format].about}",
        _rows(report, plan),
        _columns(plan),
        _funnel(runs),
        _origin(runs, plan),
        _filters(report, plan, against),
        _measures(runs),
        _document_licenses(runs) if plan.format == "text" else _licenses(runs),
        _limits(plan),
    ]
    header = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    return f"---\n{header}---\n\n" + "\n\n".join(section for section in sections if section) + "\n"


def _loading(report: ExportReport, plan: Plan) -> dict[str, Any]:
    ending = "jsonl" if FORMATS[plan.format].schema is None else "parquet"
    files = [{"split": split, "path": f"data/{split}-*.{ending}"} for split in report.rows]
    config: dict[str, Any] = {"configs": [{"config_name": "default", "data_files": files}]}
    schema = FORMATS[plan.format].schema
    if schema is not None:
        config["dataset_info"] = {"features": [_feature(field) for field in schema]}
    return config


_DTYPES = {pa.string(): "string", pa.int64(): "int64", pa.float64(): "float64", pa.bool_(): "bool"}


def _feature(field: pa.Field) -> dict[str, Any]:
    return {"name": field.name, **_feature_type(field.type)}


def _feature_type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(kind):
        inner = _feature_type(kind.value_type)
        return {"list": inner["dtype"] if set(inner) == {"dtype"} else inner.get("struct", inner)}
    if pa.types.is_struct(kind):
        return {"struct": [_feature(field) for field in kind]}
    return {"dtype": _DTYPES[kind]}


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = (
        f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
    )
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _rows(report: ExportReport, plan: Plan) -> str:
    what = "source documents" if plan.format == "text" else "world skeletons"
    rows = [(split, count, report.groups.get(split, 0)) for split, count in report.rows.items()]
    held = (
        f"Whole {what} are held out, and no near-copy of a training row is on another side."
        if len(rows) > 1
        else f"All rows are in one split: there are too few {what} to hold any out."
    )
    return f"## Splits\n\n{_table(('split', 'rows', what), rows)}\n\n{held} Shuffled with seed {plan.seed}."


_COLUMNS = {
    "messages": "the conversation; `weight` 1 marks turns to learn from, failed and self-corrected ones have 0",
    "tools": "JSON list of the tools offered, in OpenAI form",
    "skeleton": "equal for worlds of one archetype and shape",
    "sources": "JSON list of the real tools offered: package, version, license",
    "content": "hash of the whole trajectory in its run",
    "kinds": "act, ask, refuse, unserved, talk: what the user's goals are",
    "reward": "weighted share of passed checks",
    "chunks_kept": "how many of `chunks` are rewritten; the others stand in the source's words",
    "coverage": "share of the source's checkable facts that the rewriting keeps",
    "prompts": "JSON list of the hashes of the prompts",
}


def _columns(plan: Plan) -> str:
    schema = FORMATS[plan.format].schema
    if schema is None:
        return ""
    notes = [f"- `{name}`: {_COLUMNS[name]}" for name in schema.names if name in _COLUMNS]
    return "## Columns worth a word\n\n" + "\n".join(notes)


def _funnel(runs: Sequence[RunFolder]) -> str:
    names = ("entered", "kept", "rejected", "failed", "pending", "tokens")
    totals: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    costs: Counter[tuple[str, str]] = Counter()
    for run in runs:
        for row in run.funnel():
            key = run.name, row["stage"]
            totals[key].update({name: row[name] or 0 for name in names})
            costs[key] += row["cost"] or 0
    rows = [
        (*key, *(values[name] for name in names), costs[key])
        for key, values in sorted(totals.items(), key=_place)
    ]
    parts = [f"The run {run.name} was {run.status}, not finished, when this was made." for run in _open(runs)]
    if rows:
        parts.append(_table(("run", "stage", *names, "cost"), rows))
    return "## Where it comes from\n\n" + "\n\n".join(parts) if parts else ""


def _place(total: tuple[tuple[str, str], Counter[str]]) -> tuple[str, int]:
    (run, stage), _ = total
    return run, step(stage)


def _open(runs: Sequence[RunFolder]) -> list[RunFolder]:
    return [run for run in runs if run.status != "finished"]


def _origin(runs: Sequence[RunFolder], plan: Plan) -> str:
    """Models, prompts and revisions, as the trajectories name them."""
    models: Counter[tuple[str, str]] = Counter()
    prompts: set[tuple[str, str]] = set()
    seeds = {run.seed for run in runs}
    seen: dict[str, dict[str, Any]] = {}
    for run in runs:
        for row in run.rows("trajectories", columns=["record"]):
            text = row["record"]
            start = text.find('"versions":')
            versions = seen.setdefault(text[start:], {}) or json.loads(text)["versions"]
            seen[text[start:]] = versions
            for role in ("policy", "user", "simulator", "judge"):
                if versions[role]:
                    models[role, versions[role]] += 1
            prompts.update(versions["prompts"].items())
    parts = [
        f"Seeds: {', '.join(map(str, sorted(seeds)))}. tracemill {', '.join(sorted({r.version for r in runs}))}."
    ]
    if models:
        rows = [(role, name, count) for (role, name), count in sorted(models.items())]
        parts.append(_table(("role", "played by", "trajectories"), rows))
    if prompts:
        parts.append(_table(("prompt", "hash"), sorted(prompts)))
    return "## Who made it\n\n" + "\n\n".join(parts)


def _filters(report: ExportReport, plan: Plan, against: Sequence[Path]) -> str:
    if plan.format == "text":
        parts = [
            "Kept are texts most of whose chunks have a rewriting whose facts agree with the source both ways."
        ]
    else:
        parts = ["Kept is what passed every mandatory check of its task's rubric and the run's selection."]
        templates = ", ".join(plan.settings.verify) or "no"
        parts.append(f"Every row was rendered in chat templates ({templates}), read back and found equal.")
    if against:
        files = ", ".join(sorted(path.name for path in against))
        parts.append(
            f"Compared with {files}: n-grams of {plan.settings.against_ngram} words, and tool signatures."
        )
    if report.dropped:
        parts.append(_table(("left out because", "rows"), report.dropped.items()))
    if report.scrubbed:
        parts.append(_table(("replaced", "times"), sorted(report.scrubbed.items())))
    return "## Filters\n\n" + "\n\n".join(parts)


def _measures(runs: Sequence[RunFolder]) -> str:
    rows = [
        (run.name, row["name"], row["part"], row["value"], row["n"])
        for run in runs
        for row in run.rows("measures", columns=["name", "part", "value", "n"], latest=True)
        if row["name"] != "task_pass_rate"
    ]
    rows += [row for run in runs for row in _planted(run)]
    if not rows:
        return "## Measured quality\n\nNothing was measured: neither judges nor checkers were tried on planted flaws."
    return f"## Measured quality\n\n{_table(('run', 'measure', 'of', 'value', 'n'), rows)}"


def _planted(run: RunFolder) -> list[tuple[str, str, str, float, int]]:
    """The judging's error on the run's own attempts, where a teacher planted flaws in some: those that passed all the
    same, and honest ones of the teacher that failed."""
    flawed: Counter[bool] = Counter()
    honest: Counter[bool] = Counter()
    for row in run.rows("trajectories", columns=["planted", "passed"]):
        if row["passed"] is not None:
            (flawed if json.loads(row["planted"] or "[]") else honest)[row["passed"]] += 1
    if not flawed.total():
        return []
    missed = (run.name, "planted_flaws_missed", "attempts with a planted flaw", flawed[True] / flawed.total())
    rows = [(*missed, flawed.total())]
    if honest.total():
        failed = (run.name, "failed_without_flaw", "attempts without one", honest[False] / honest.total())
        rows.append((*failed, honest.total()))
    return rows


def _licenses(runs: Sequence[RunFolder]) -> str:
    packages: dict[tuple[str, str], str] = {}
    for run in runs:
        for row in run.rows("toolsets", columns=["sources"]):
            for source in json.loads(row["sources"]):
                name = source["package"] or source["server"]
                packages[name, source["version"]] = source["license"] or "not stated"
    if not packages:
        return (
            "## Licenses of real tools\n\nNo real tools are described in these rows; all worlds are invented."
        )
    rows = [(name, version, license) for (name, version), license in sorted(packages.items())]
    return (
        "## Licenses of real tools\n\nNames, descriptions and schemas of these packages' tools appear in the rows."
        f"\n\n{_table(('package', 'version', 'license'), rows)}"
    )


def _document_licenses(runs: Sequence[RunFolder]) -> str:
    licenses = Counter(
        row["license"] or "not stated" for run in runs for row in run.rows("documents", columns=["license"])
    )
    return f"## Licenses of the sources\n\n{_table(('license', 'documents'), sorted(licenses.items()))}"


def _limits(plan: Plan) -> str:
    if plan.format == "text":
        lines = [
            "Texts are rewritten by machine; the checks compare facts both ways and still miss some.",
            "Chunks whose rewriting did not pass stand in the source's words (`chunks_kept` says how many did pass).",
        ]
    else:
        lines = [
            "Worlds, people and businesses are invented; contacts in them belong to no one.",
            "Where `author` or `policy` is `teacher`, rules and templates wrote the words: varied, but not a person.",
            "A rubric proves what it checks; conduct that no check or judge saw is not proven.",
            'Arguments that were no JSON object appear as `{"_invalid": …}` in turns of weight 0.',
        ]
    return "## Known limits\n\n" + "\n".join(f"- {line}" for line in lines)
