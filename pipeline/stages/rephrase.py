"""The stages `documents` and `rephrase`: a corpus is read once into shards, then each shard is rewritten and checked."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from pipeline.config.rephrase import RephraseSection
from pipeline.models.players.checker import ModelChecker
from pipeline.models.players.rewriter import ModelRewriter
from pipeline.records import Checker, Document, Rewriter
from pipeline.rephrase.chunking import chunk
from pipeline.rephrase.fidelity.checker import LayeredChecker, RuleChecker
from pipeline.rephrase.inputs import Skipped, read_documents
from pipeline.rephrase.rewriting import Rows, document_row, rephrase_document
from pipeline.rephrase.styles import choose, fitting
from pipeline.rephrase.tokens import counter
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.players import Players
from pipeline.store import gather
from pipeline.store.shards import read_rows
from pipeline.teacher.rewriter import TeacherRewriter

STAGE = "rephrase"
SOURCES = "sources"
DOCUMENTS = 64
"""Documents of one unit, at most."""
CHARACTERS = 2_000_000
"""Characters of one unit, at most, unless one document has more."""


async def documents_unit(context: Context, number: int) -> None:
    """Unit 0: streams the corpus into shards `sources-NNNNN`. What is skipped becomes a failure row, never a hole."""
    config = context.config.rephrase
    tally = Tally("documents")

    def skipped(one: Skipped) -> None:
        tally.reject(one.reason, f"{one.source}: {one.reason} {one.detail}".strip(), subject=one.source)

    count = counter(config.tokenizer)
    stream = read_documents(config.inputs, config, skipped)
    for unit, batch in enumerate(_batches(stream)):
        for _ in batch:
            tally.keep()
        if not context.folder.shard_done(SOURCES, unit):
            rows = [document_row(one, chunk(one, config), count) for one in batch]
            context.folder.write_shard(SOURCES, unit, {"documents": rows})
    context.folder.write_shard("documents", number, tally.tables())


def _batches(stream: Iterator[Document]) -> Iterator[list[Document]]:
    """Documents of one unit: so many, or so many characters, that a unit fits into memory many times over."""
    batch: list[Document] = []
    size = 0
    for document in stream:
        if batch and (len(batch) == DOCUMENTS or size + len(document.text) > CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(document)
        size += len(document.text)
    if batch:
        yield batch


def rephrase_units(context: Context) -> int:
    """One unit per shard of sources."""
    return len(context.folder.units(SOURCES))


async def rephrase_unit(context: Context, number: int) -> None:
    """Rewrites and checks the documents of one shard; each document is committed when it is done."""
    config, tally = context.config.rephrase, Tally(STAGE)
    parts: list[Rows] = []
    with context.folder.journal(STAGE, number) as journal:
        done = journal.finished()
        async with context.models(journal) as models:
            players = Players(context.config, models, STAGE)
            rewriter, checker = _rewriter(players), _checker(players)
            used: Counter[str] = Counter()
            for document in _documents(context, number):
                styles = _styles(document, rewriter, config, context.config.seed, used, tally)
                if document.id in done:
                    rows: Rows = json.loads(done[document.id])
                else:
                    made = await rephrase_document(
                        document, styles, rewriter, checker, config, context.config.seed
                    )
                    rows = {name: table for name, table in made.rows.items() if name != "documents"}
                    journal.finish(document.id, json.dumps(rows, ensure_ascii=False))
                _count(tally, document, rows)
                parts.append(rows)
            calls = call_rows(models.ledger.drain())
    tally.tokens = sum(row["tokens_in"] + row["tokens_out"] for row in calls)
    tally.cost = sum(row["cost"] for row in calls)
    context.folder.write_shard(STAGE, number, gather([*parts, {"model_calls": calls}, tally.tables()]))


def _styles(
    document: Document,
    rewriter: Rewriter,
    config: RephraseSection,
    seed: int,
    used: Counter[str],
    tally: Tally,
) -> list[str]:
    """The styles of a document, spread evenly over those that its rewriter can write; a shortage is told."""
    fit = fitting(document, config.styles, config.target_language)
    offered = rewriter.offers(document)
    possible = [name for name in fit if offered is None or name in offered]
    if len(possible) < min(config.rewritings, max(1, len(fit))):
        left = ", ".join(name for name in fit if name not in possible)
        what = f"{document.source} ({document.kind}, {document.language})"
        tally.reject(
            "no style" if not fit else "style needs a model",
            f"{what}: of {config.rewritings} rewritings, {rewriter.name} can write {len(possible)}; "
            + (f"left to a model: {left}" if left else "no style of rephrase.styles fits"),
            subject=document.id,
        )
    return choose(possible, document, config.rewritings, seed, used)


_FIELDS = ("source", "text", "kind", "language", "title", "license")


def _documents(context: Context, number: int) -> Iterator[Document]:
    for row in read_rows(context.folder.unit(SOURCES, number) / "documents.parquet", _FIELDS):
        yield Document(**{name: value for name, value in row.items() if value is not None})


def _count(tally: Tally, document: Document, rows: Rows) -> None:
    """Each chunk in each style is counted: rewritten, or its source text kept, with the reason."""
    for row in rows["rewrites"]:
        if row["verdict"] == "kept":
            tally.keep()
        else:
            reason = re.sub(r"\s+", " ", row.get("reason") or "no attempt was good enough")
            tally.reject(
                "source kept",
                f"{document.source}, chunk {row['chunk']}, {row['style']}: {reason}",
                subject=document.id,
            )


def _rewriter(players: Players) -> Rewriter:
    if players.plays("rewriter") == "teacher":
        return TeacherRewriter()
    return ModelRewriter(players.seat("rewriter", ""), context_tokens=players.config.rephrase.context_tokens)


def _checker(players: Players) -> Checker:
    """Rules first; a model that plays the checker is asked where these disagree, or always when the policy says so."""
    config = players.config.rephrase
    rules = RuleChecker(config.layers)
    if players.plays("checker") == "teacher":
        return rules
    model = ModelChecker(players.seat("checker", ""))
    return LayeredChecker(rules, model, ask="always" if config.ask_model else "disagreement")
