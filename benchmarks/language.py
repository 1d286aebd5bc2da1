"""How varied the teacher's users speak: shared openings and near-duplicates, names, numbers and ids masked.

Figures to reach: no opening five words shared by more than 2 % of the user turns, at most 5 % near-duplicates.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from datasketch import MinHash, MinHashLSH

from pipeline.store import Catalog, RunFolder

_NUMBER = re.compile(r"\S*\d\S*")
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
_WORD = re.compile(r"[\w']+|#")


def masked(text: str) -> list[str]:
    """Words in lower case; numbers, codes, addresses and names in mid-sentence become `#`."""
    text = re.sub(r"\S+@\S+", "#", text)
    text = _NAME.sub("#", text)
    return _WORD.findall(_NUMBER.sub("#", text).lower())


def measure(texts: list[str]) -> dict[str, float | str]:
    """Share of the commonest five-word opening, and share of texts that nearly repeat an earlier one (Jaccard of
    word trigrams ≥ 0.8)."""
    words = [masked(text) for text in texts]
    openings = Counter(" ".join(one[:5]) for one in words)
    commonest, count = openings.most_common(1)[0]
    index, copies = MinHashLSH(threshold=0.8, num_perm=64), 0
    for number, one in enumerate(words):
        sketch = MinHash(num_perm=64)
        grams = {" ".join(one[i : i + 3]) for i in range(max(1, len(one) - 2))}
        sketch.update_batch([gram.encode() for gram in grams])
        if index.query(sketch):
            copies += 1
        else:
            index.insert(str(number), sketch)
    return {
        "user turns": len(texts),
        "commonest opening": commonest,
        "its share": round(count / len(texts), 4),
        "near-duplicates": round(copies / len(texts), 4),
    }


def user_turns(data: Path, run: str) -> list[str]:
    """The user turns of a run's trajectories. Attempts at a task begin alike on purpose (a better and a worse one share
    their prompt), so their opening counts once."""
    rows = Catalog(data).query(
        "select content from (select e.*, row_number() over (partition by t.task, e.note = 'act:open', case when e.note = "
        "'act:open' then '' else e.trajectory end, e.index order by e.trajectory) as again from events e join "
        f"trajectories t on t.id = e.trajectory and t.run = e.run where e.run = '{run}' and e.role = 'user') where again = 1 "
        "order by trajectory, index"
    )
    return [row[0] for row in rows.rows()]


def main() -> None:
    """Measures the run named by DATA RUN, else a fresh one."""
    if len(sys.argv) == 3:
        print(measure(user_turns(Path(sys.argv[1]), sys.argv[2])))
        return
    from benchmarks.pipeline import play

    with tempfile.TemporaryDirectory() as place:
        folder: RunFolder = play(Path(place), 240)
        for name, value in measure(user_turns(Path(place), folder.name)).items():
            print(f"{name:<20} {value}")


if __name__ == "__main__":
    main()
