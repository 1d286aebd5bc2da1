"""How well and how fast the fidelity checker works, CPU layers only.

Side by side: the held-out pairs of `data/fidelity_independent`, which whoever tunes never opens; the development pairs
(`data/fidelity`, `data/fidelity_second`, and `data/fidelity_styles` with its free rewritings), which flatter the rules that
were tuned on them; corruptions planted into the teacher's rewritings of the samples; and, where TRACEMILL_SHARED is set, its
labelled pairs. Then chunking and checking speed on one core. With `--tuning` the held-out pairs stay closed;
`--independent` scores nothing else.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from pipeline.config.rephrase import RephraseSection
from pipeline.records import Document, RewriteRequest
from pipeline.rephrase.audit import wilson
from pipeline.rephrase.chunking import chunk
from pipeline.rephrase.fidelity import embeddings, parsing
from pipeline.rephrase.fidelity.bench import bench
from pipeline.rephrase.fidelity.checker import check
from pipeline.rephrase.inputs import read_documents
from pipeline.teacher.corruptions import KINDS, plant
from pipeline.teacher.rewriter import TeacherRewriter

LAYERS = {"rules": ("rules",), "rules+parsing+embeddings": ("rules", "parsing", "embeddings")}
DATA = Path(__file__).parent / "data"
CONFIG = RephraseSection(chunk_tokens=150)

DEVELOPMENT = ("fidelity", "fidelity_second", "fidelity_styles")
"""Folders of pairs that the rules were tuned on."""

Pair = tuple[str, str, str, str]
"""Group, kind (empty: faithful), source, rewriting."""


def written(folder: str) -> Iterator[Pair]:
    """The hand-written pairs of a folder.

    An unfaithful text is given whole (`kind: text`), or as `[kind, base, old, new]`: `new` for `old` in the source (base
    0) or in the faithful text of that number.
    """
    for path in sorted((DATA / folder).glob("*.yaml")):
        for row in yaml.safe_load(path.read_text(encoding="utf-8")):
            texts = [row["source"], *row["faithful"]]
            yield from ((path.stem, "", row["source"], text) for text in row["faithful"])
            if isinstance(row["unfaithful"], dict):
                for kind, text in row["unfaithful"].items():
                    yield path.stem, kind.rstrip("_23"), row["source"], text
                continue
            for kind, base, old, new in row["unfaithful"]:
                if texts[base].count(old) != 1:
                    raise ValueError(f"{path.name}: {old!r} does not stand once in text {base}")
                yield path.stem, kind, row["source"], texts[base].replace(old, new)


def planted() -> Iterator[Pair]:
    teacher = TeacherRewriter()
    for document in read_documents([], CONFIG):
        if document.language != "en":
            continue
        for piece in chunk(document, CONFIG):
            for style in (
                ("learning_note",) if document.kind == "math" else ("encyclopedic", "dialogue", "notes")
            ):
                request = RewriteRequest(document, piece, style, "", 0, 1)
                text = asyncio.run(teacher.rewrite(request)).text
                yield "teacher", "", piece.text, text
                for kind in KINDS:
                    if (corrupted := plant(text, kind, 1)) is not None:
                        yield "teacher", kind, piece.text, corrupted.text


def report(name: str, pairs: list[Pair], layers: tuple[str, ...]) -> None:
    """Prints false alarms by group and by kind of finding, and recall by kind."""
    alarms: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    clean: Counter[str] = Counter()
    found: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    for group, kind, source, text in pairs:
        checked = check(source, text, layers=layers)
        failed = checked.verdict != "faithful"
        if kind:
            bad[kind] += 1
            found[kind] += failed
        else:
            clean[group] += 1
            alarms[group] += failed
            causes.update({finding.kind for finding in checked.findings if finding.severity == "fail"})
    hits, whole = sum(alarms.values()), sum(clean.values())
    low, high = wilson(hits, whole)
    print(f"{name}: false alarms {hits}/{whole} = {hits / whole:.1%} (95 % {low:.1%} … {high:.1%})")
    print("  " + ", ".join(f"{group} {alarms[group]}/{clean[group]}" for group in sorted(clean)))
    print("  caused by " + ", ".join(f"{kind} {count}" for kind, count in causes.most_common()))
    hits, whole = sum(found.values()), sum(bad.values())
    print(f"  recall {hits}/{whole} = {hits / whole:.1%}")
    print("  " + ", ".join(f"{kind} {found[kind]}/{bad[kind]}" for kind in sorted(bad)))


def rate(work: Callable[[], int], seconds: float = 3.0) -> float:
    """Units of work per second of processor time, after one round of warming up."""
    work()
    done, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        done += work()
    return done / (time.process_time() - start)


def speed() -> None:
    documents = list(read_documents([], CONFIG))
    text = "\n\n".join(document.text for document in documents if document.language == "en") * 20
    whole = Document(source="speed", text=text)
    print(f"chunking: {rate(lambda: len(chunk(whole, CONFIG)) and len(text.encode())) / 1e6:.1f} MB/s")
    teacher = TeacherRewriter()
    for kind, wanted in (("knowledge", 200), ("math", 10)):
        pairs = []
        for document in documents:
            if document.language == "en" and document.kind == kind:
                style = "learning_note" if kind == "math" else "encyclopedic"
                for piece in chunk(document, CONFIG):
                    request = RewriteRequest(document, piece, style, "", 0, 1)
                    pairs.append((piece.text, asyncio.run(teacher.rewrite(request)).text))

        size = sum(len(source) for source, _ in pairs) // len(pairs)
        for layer, layers in (("rules", ("rules",)), ("rules+parsing", ("rules", "parsing"))):
            least = wanted if layer == "rules" or kind == "math" else 30

            def checked(pairs: list[tuple[str, str]] = pairs, layers: tuple[str, ...] = layers) -> int:
                return len([check(source, text, language="en", layers=layers) for source, text in pairs])

            speed = rate(checked)
            print(
                f"checking, {layer}, {kind} chunks of {size} characters: {speed:.0f} pairs/s (wanted: {least})"
            )


def chosen() -> list[tuple[str, list[Pair]]]:
    """The sets that the arguments ask for."""
    if "--independent" in sys.argv:
        return [("held-out", list(written("fidelity_independent")))]
    tuned = [(f"development, {folder}", list(written(folder))) for folder in DEVELOPMENT]
    tuned.append(("planted", list(planted())))
    if "--tuning" in sys.argv:
        return tuned
    return [("held-out", list(written("fidelity_independent"))), *tuned]


def main() -> None:
    sets = chosen()
    for layer, layers in LAYERS.items():
        if layer != "rules" and not (embeddings.available() and parsing.available("en")):
            print(f"{layer}: not installed (pip install 'tracemill[rephrase]')")
            continue
        for name, pairs in sets:
            report(f"{name}, {layer}", pairs, layers)
    if "--independent" in sys.argv:
        return
    shared = os.environ.get("TRACEMILL_SHARED")
    if shared:
        result: dict[str, Any] = bench(Path(shared) / "data" / "fidelity_dev.jsonl.gz")
        print(f"labelled pairs: {result}")
    speed()


if __name__ == "__main__":
    main()
