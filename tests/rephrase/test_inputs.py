"""Documents come in from every format; what cannot or need not be used is named."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.rephrase import RephraseSection
from pipeline.records import ConfigError, Document
from pipeline.rephrase.chunking import chunk
from pipeline.rephrase.inputs import Skipped, read_documents

CONFIG = RephraseSection()
PROSE = "The ferry leaves the harbor at seven every morning. It carries the mail, two doctors and the bread for the island. "


def _read(path: Path | str, config: RephraseSection = CONFIG) -> tuple[list[Document], list[Skipped]]:
    skipped: list[Skipped] = []
    return list(read_documents([path], config, skipped.append)), skipped


def test_the_samples_hold_five_languages_and_all_kinds() -> None:
    found = list(read_documents([], CONFIG))
    assert len(found) >= 30
    assert {document.language for document in found} == {"en", "de", "fr", "es", "zh"}
    assert {"knowledge", "math", "table"} <= {document.kind for document in found}
    for language in ("en", "de", "fr", "es", "zh"):
        assert sum(document.kind == "math" and document.language == language for document in found) >= 3


def test_formats_give_the_same_text(tmp_path: Path) -> None:
    text = PROSE * 3
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.jsonl").write_text(json.dumps({"id": "x", "text": text, "title": "Ferry"}) + "\n")
    pq.write_table(pa.table({"text": [text], "id": [7]}), tmp_path / "c.parquet")
    for name, source in (("a.txt", "a.txt"), ("b.jsonl", "b.jsonl#x"), ("c.parquet", "c.parquet#7")):
        (document,), skipped = _read(tmp_path / name)
        assert (document.text, document.source, skipped) == (text, source, [])


def test_a_dataset_folder_is_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [
        {"text": f"{PROSE} It is trip number {n} of the year {1900 + n}, and the sea was calm on all of it."}
        for n in range(3)
    ]
    datasets.Dataset.from_list(
        [rows[0], {"text": "Bread is baked from flour, water and yeast, and it takes one hour."}]
    ).save_to_disk(str(tmp_path / "set"))
    found, _ = _read(tmp_path / "set")
    assert [document.text for document in found] == [
        rows[0]["text"],
        "Bread is baked from flour, water and yeast, and it takes one hour.",
    ]


def test_html_is_read_without_its_menus(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    body = f"<html><body><nav><a href='/'>Home</a> <a href='/x'>Shop</a></nav><article><h1>Ferry</h1><p>{PROSE * 4}</p></article></body></html>"
    (tmp_path / "page.html").write_text(body)
    (document,), _ = _read(tmp_path / "page.html")
    assert "leaves the harbor" in document.text
    assert "Shop" not in document.text


def test_ids_are_stable_and_hold_no_machine_path(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    for folder in (first, second):
        folder.mkdir()
        (folder / "a.txt").write_text(PROSE)
    assert _read(first)[0][0].id == _read(second)[0][0].id
    assert _read(first)[0][0].source == "a.txt"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "iso8859_15"])
def test_encodings_are_detected(tmp_path: Path, encoding: str) -> None:
    text = (
        "Die Brücke über die Oder wurde für Fußgänger geöffnet. Schüler und Gäste hörten die Rede des Bürgermeisters.\n"
        * 5
    )
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    assert _read(tmp_path / "a.txt")[0][0].text == text


def test_a_line_in_another_encoding_is_read_too(tmp_path: Path) -> None:
    good = "Die Brücke über die Oder ist gesperrt, und die Züge fahren heute nicht.\n"
    (tmp_path / "a.txt").write_bytes(good.encode() * 6 + "Das Café schließt früh.\n".encode("cp1252"))
    assert _read(tmp_path / "a.txt")[0][0].text == good * 6 + "Das Café schließt früh.\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (bytes(range(256)) * 40, "binary"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 500, "binary"),
        (b"Home\nShop\nLog in\n\nAccept all cookies to continue.\n(c) All rights reserved.\n", "no prose"),
    ],
)
def test_useless_files_are_named(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    found, skipped = _read(tmp_path / "a.txt")
    assert not found
    assert [item.reason for item in skipped] == [reason]


def test_copies_and_near_copies_are_skipped(tmp_path: Path) -> None:
    base = " ".join(f"word{n} stands beside word{n * 7 % 101} in this long sentence." for n in range(60))
    for name, text in (("a", base), ("b", base), ("c", base.replace("word3 ", "other ")), ("d", PROSE)):
        (tmp_path / f"{name}.txt").write_text(text)
    found, skipped = _read(tmp_path)
    assert [document.source for document in found] == ["a.txt", "d.txt"]
    assert [(item.source, item.reason, item.detail) for item in skipped] == [
        ("b.txt", "copy", "a.txt"),
        ("c.txt", "near copy", "a.txt"),
    ]


def test_already_rewritten_rows_are_skipped(tmp_path: Path) -> None:
    row = {"text": PROSE, "style": "lecture", "source_document": "doc_1"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    assert [item.reason for item in _read(tmp_path / "a.jsonl")[1]] == ["already rewritten"]


def test_a_broken_row_ends_its_file_only_and_says_where(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": PROSE}) + "\n{broken\n")
    (tmp_path / "b.jsonl").write_text(json.dumps({"body": "x"}) + "\n")
    found, skipped = _read(tmp_path)
    assert len(found) == 1
    assert "line 2" in skipped[0].detail
    assert "text_field" in skipped[1].detail


def test_a_path_that_names_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="names no file"):
        _read(tmp_path / "missing.txt")


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_huge_single_line_is_read_in_pieces_and_cut(tmp_path: Path, name: str) -> None:
    text = "".join(f"{PROSE}It is trip {n}. " for n in range(15_000))
    (tmp_path / name).write_text(json.dumps({"text": text}) if name == "a.jsonl" else text)
    config = RephraseSection(max_document_bytes=500_000, skip_near_duplicates=1.0)
    found, _ = _read(tmp_path / name, config)
    assert len(found) >= 4
    assert max(len(document.text) for document in found) <= config.max_document_bytes
    assert "".join(document.text for document in found) == text
    assert max(piece.tokens for piece in chunk(found[0], CONFIG)) <= CONFIG.chunk_tokens


@pytest.mark.slow
def test_memory_stays_flat_over_a_large_corpus(tmp_path: Path) -> None:
    with (tmp_path / "a.jsonl").open("w") as file:
        for n in range(30_000):
            file.write(
                json.dumps(
                    {
                        "text": f"Report {n}. "
                        + " ".join(f"item{(n * 31 + k) % 9973}" for k in range(250))
                        + " is here."
                    }
                )
                + "\n"
            )
    process = psutil.Process()
    config = RephraseSection(skip_near_duplicates=1.0)
    seen = []
    for index, document in enumerate(read_documents([tmp_path / "a.jsonl"], config)):
        chunk(document, config)
        if index in (5_000, 29_999):
            seen.append(process.memory_info().rss)
    assert seen[1] - seen[0] < 30_000_000


def test_a_broken_line_hides_no_other(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    other = "The mill on the hill was built of oak in 1820. Its miller kept a tenth of the flour as his pay. "
    file.write_text(
        json.dumps({"text": PROSE * 3})
        + "\n{broken\n"
        + json.dumps({"text": None})
        + "\n"
        + json.dumps({"text": other * 3})
        + "\n"
    )
    found, skipped = _read(file)
    assert [document.source for document in found] == ["rows.jsonl#0", "rows.jsonl#3"]
    assert [(item.source, item.reason) for item in skipped] == [
        ("rows.jsonl#1", "unreadable"),
        ("rows.jsonl#2", "empty"),
    ]
