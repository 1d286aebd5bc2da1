"""A corpus larger than memory: speed of reading and chunking on one core, and memory along the way.

    python -m benchmarks.corpus [MEGABYTES [REWRITTEN]]

Reads and chunks MEGABYTES (default 200) of unlike documents of 1 to 200 kB, then runs `tracemill run rephrase` on
REWRITTEN megabytes (default 1) of them with the teacher. Memory is the resident set: of this process, then of the run
with all its children.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from pipeline.config.rephrase import RephraseSection
from pipeline.rephrase.chunking import chunk
from pipeline.rephrase.inputs import read_documents

CONFIG = RephraseSection()
FILE = 50_000_000
SAMPLES = 20


class Writer:
    """Makes up documents from the words of the samples: headings, lists, paragraphs short and endless, formulas."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        samples = (one.text for one in read_documents([], CONFIG) if one.language == "en")
        self._words = re.findall(r"[A-Za-z]+", " ".join(samples))

    def write(self, folder: Path, size: int) -> None:
        """Fills `folder` with JSON Lines of `size` bytes in all."""
        number = 0
        while size > 0:
            with (folder / f"{number:04}.jsonl").open("w", encoding="utf-8") as file:
                while size > 0 and file.tell() < FILE:
                    size -= file.write(json.dumps({"text": self._document()}) + "\n")
            number += 1

    def _document(self) -> str:
        parts, size = [f"# {self._phrase(3)}"], 0
        wanted = min(200_000, max(800, self._rng.lognormvariate(8.2, 0.9)))
        while size < wanted:
            parts.append(self._block())
            size += len(parts[-1])
        return "\n\n".join(parts)

    def _block(self) -> str:
        drawn = self._rng.random()
        if drawn < 0.08:
            return f"## {self._phrase(3)}"
        if drawn < 0.14:
            return "\n".join(f"- {self._sentence()}" for _ in range(self._rng.randint(2, 6)))
        return " ".join(self._sentence() for _ in range(self._rng.randint(3, 12 if drawn < 0.9 else 80)))

    def _sentence(self) -> str:
        words = self._rng.choices(self._words, k=self._rng.randint(7, 24))
        drawn, place = self._rng.random(), self._rng.randrange(1, 7)
        if drawn < 0.25:
            words[place] = str(self._rng.randint(2, 2000))
        elif drawn < 0.30:
            words[place] = f"$x^{self._rng.randint(2, 9)} + {self._rng.randint(1, 99)}x$"
        elif drawn < 0.35:
            words[place] = f'"{self._phrase(4)}"'
        return " ".join(words).capitalize() + "."

    def _phrase(self, count: int) -> str:
        return " ".join(self._rng.choices(self._words, k=count))


def _megabytes(process: psutil.Process) -> int:
    found = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            found += one.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return found // 1_000_000


def _timed(folder: Path) -> Iterator[tuple[int, float, float]]:
    """Characters of each document, and the processor seconds for reading and for chunking it."""
    stream = read_documents([folder], CONFIG)
    while True:
        start = time.process_time()
        document = next(stream, None)
        read = time.process_time()
        if document is None:
            return
        chunk(document, CONFIG)
        yield len(document.text), read - start, time.process_time() - read


def read_and_chunk(folder: Path, size: int) -> None:
    done, reading, chunking, shown = 0, 0.0, 0.0, 0
    for characters, read, cut in _timed(folder):
        done, reading, chunking = done + characters, reading + read, chunking + cut
        if done * SAMPLES // size > shown:
            shown = done * SAMPLES // size
            print(
                f"{done / 1e6:7.0f} MB: read {done / reading / 1e6:.1f} MB/s, chunked {done / chunking / 1e6:.1f} MB/s,"
                f" memory {_megabytes(psutil.Process())} MB",
                flush=True,
            )


def rewrite(folder: Path, scratch: Path) -> None:
    command = [str(Path(sys.executable).with_name("tracemill")), "run", "rephrase"]
    command += ["--input", str(folder), "--run", "bench", "--data", str(scratch / "data")]
    begun = time.monotonic()
    with (scratch / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        watched, used = psutil.Process(process.pid), [0]
        while process.poll() is None:
            used.append(_megabytes(watched))
            time.sleep(1)
    print(f"whole run: exit {process.returncode} after {time.monotonic() - begun:.0f} s", flush=True)
    tenths = [max(used[len(used) * part // 10 :][: len(used) // 10 + 1]) for part in range(10)]
    print("  memory of all its processes, most in each tenth of the time, MB:", *tenths)


def main() -> None:
    given = [int(size) * 1_000_000 for size in sys.argv[1:]]
    size, rewritten = (*given, *(200_000_000, 1_000_000)[len(given) :])
    writer = Writer(1)
    with tempfile.TemporaryDirectory() as scratch:
        corpus, part = Path(scratch) / "corpus", Path(scratch) / "part"
        corpus.mkdir()
        part.mkdir()
        writer.write(corpus, size)
        read_and_chunk(corpus, size)
        writer.write(part, rewritten)
        rewrite(part, Path(scratch))


if __name__ == "__main__":
    main()
