"""Scrubbing and decontamination: what must go goes, what is the world's own stays."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_samples import tool
from test_store_export import HELD, _turned, fill, rows_of

from pipeline.records import InputError, Trajectory
from pipeline.store import RunFolder
from pipeline.store.export import export
from pipeline.store.export.against import read_benchmarks, tool_signature
from pipeline.store.export.scrub import contacts, scrub_text

# Put together at run time, so that no scanner mistakes this file for a leak.
SECRETS = {
    "AWS Access Key": "AKIA" + "Q3EXAMPLE7TRAINZ"[:16],
    "GitHub Token": "ghp" + "_" + "a1B2" * 9,
    "Hugging Face Token": "hf" + "_" + "aB3d" * 9,
    "Google API Key": "AI" + "za" + "Sy4" * 11 + "Qz",
    "Model Provider Key": "sk" + "-" + "proj-" + "aB3d" * 10,
    "JSON Web Token": "eyJ"
    + "hbGciOiJIUzI1NiJ9"
    + ".eyJ"
    + "zdWIiOiIxMjM0NTY3ODkwIn0"
    + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "Slack Token": "xox" + "b-" + "123456789012-123456789012-" + "aB3d" * 6,
    "Stripe Access Key": "sk" + "_live_" + "aB3d" * 6,
    "Private Key": "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END " + "RSA PRIVATE KEY-----",
}


def _scrubbed(text: str, own: Callable[[str], bool] = lambda contact: False) -> tuple[str, Counter[str]]:
    counts: Counter[str] = Counter()
    return scrub_text(text, own, counts), counts


@pytest.mark.parametrize("kind", sorted(SECRETS))
def test_keys_and_tokens_go(kind: str) -> None:
    long = "The desk said nothing of it. " * 40
    text, counts = _scrubbed(f'{long}the key is "{SECRETS[kind]}", keep it. {long}')
    assert SECRETS[kind] not in text
    assert "keep it." in text
    assert sum(counts.values()) >= 1


def test_a_password_in_an_address_goes() -> None:
    text, counts = _scrubbed("see postgres://admin:hunter22@db.internal/x")
    assert "hunter22" not in text
    assert counts == {"Basic Auth Credentials": 1}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to jane.doe@gmail.com today", "e-mail address"),
        ("call +44 20 7946 0958 now", "phone number"),
        ("call (212) 555-2368.", "phone number"),
    ],
)
def test_foreign_contacts_go(text: str, kind: str) -> None:
    clean, counts = _scrubbed(text)
    assert f"[{kind} removed]" in clean
    assert counts == {kind: 1}


def test_json_text_is_searched_as_it_reads_and_stays_json() -> None:
    key, mail = SECRETS[min(SECRETS)], "eva@private-mail.se"
    written = {"code": f'import x\n@property\n{key}\n"{mail}" \\d', mail: [1.50, None, "\n+44 20 7946 0958"]}
    clean, counts = _scrubbed(json.dumps(written))
    text = json.loads(clean)["code"]
    assert text.startswith("import x\n@property\n[")
    assert text.endswith('"[e-mail address removed]" \\d')
    assert json.loads(clean)["[e-mail address removed]"] == [1.5, None, "\n[phone number removed]"]
    assert counts["e-mail address"] == 2
    assert counts["phone number"] == 1
    harmless = '{"a":"postgres://x\\n@decorated","b":1.50}'
    assert _scrubbed(harmless) == (harmless, Counter())
    assert contacts(json.dumps([f"first\n{mail}"])) == {mail}


@pytest.mark.parametrize(
    "text",
    [
        "ana@example.com and desk@clinic.example",
        "order 2025550123, ref 123456789012, 2026-03-02 09:30",
        "traj_0011223344556677 and task_8899aabbccddeeff",
        "https://docs.python.org/3/library/re.html#module-re",
        "a-very-long-but-harmless-file-name/with-parts_and_more.txt",
        "12 + 30 (of 42) - 5",
    ],
)
def test_what_is_no_secret_and_no_one_s_stays(text: str) -> None:
    assert _scrubbed(text) == (text, Counter())


def test_contacts_that_the_world_made_up_stay(tmp_path: Path) -> None:
    phone, mail = "+46 70 712 34 56", "nils@alderlane-vets.com"
    foreign = "eva@private-mail.se"

    def says(done: Trajectory) -> Trajectory:
        done = _turned(5, content=json.dumps({"phone": phone, "mail": mail}))(done)
        return _turned(7, content=f"Booked for {phone} ({mail}), not {foreign}; {done.id}.")(done)

    run = RunFolder.create(tmp_path / "data", "r", "all", 7, "")
    fill(run, 1, says)
    report = export([run], "chat", tmp_path / "out", settings=HELD)
    rows = rows_of(tmp_path / "out")["train"]
    assert all(
        f"Booked for {phone} ({mail}), not [e-mail address removed]" in row["messages"][-1]["content"]
        for row in rows
    )
    assert report.scrubbed == {"e-mail address": sum(report.rows.values())}
    assert "e-mail address" in (tmp_path / "out" / "README.md").read_text()


def test_contacts_are_compared_without_their_form() -> None:
    assert contacts("+46 70 712 34 56") == contacts("at +46-70-7123456.")


QUESTION = "A train leaves the northern station at nine and meets another one halfway after exactly seventy five minutes"


def _benchmark(folder: Path, kind: str, text: str) -> Path:
    path = folder / f"bench.{kind}"
    if kind == "jsonl":
        path.write_text(
            json.dumps({"id": 1, "messages": [{"content": text}]}) + "\n\n" + json.dumps(["x"]) + "\n"
        )
    elif kind == "parquet":
        pq.write_table(pa.table({"question": ["other", text], "n": [1, 2]}), path)
    elif kind == "json":
        path.write_text(json.dumps([{"inner": json.dumps({"q": text})}]))
    else:
        path.write_text(f"Intro.\n\n{text.upper()}!\n")
    return path


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "json", "txt"])
def test_a_row_that_holds_a_benchmark_s_words_is_removed(tmp_path: Path, kind: str) -> None:
    first: list[str] = []

    def leaks(done: Trajectory) -> Trajectory:
        first.append(done.id)
        return _turned(1, content=f"So: {QUESTION.lower()}?")(done) if done.id == first[0] else done

    run = RunFolder.create(tmp_path / "data", "r", "all", 7, "")
    fill(run, 1, leaks)
    bench = _benchmark(tmp_path, kind, QUESTION)
    report = export([run], "chat", tmp_path / "out", settings=HELD, against=[bench])
    assert report.dropped["overlaps with a benchmark"] == 1
    hits = [row for row in pq.read_table(tmp_path / "out" / "decisions.parquet").to_pylist() if row["detail"]]
    assert [hit["subject"] for hit in hits] == [first[0]]
    detail = json.loads(hits[0]["detail"])
    assert detail["file"] == bench.name
    assert detail["evidence"] == " ".join(QUESTION.lower().split()[:13])
    assert bench.name in (tmp_path / "out" / "README.md").read_text()


def test_a_row_with_a_benchmark_s_tools_is_removed(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "data", "r", "all", 7, "")
    fill(run, 1)
    tools = [
        {"name": each, "inputSchema": {"properties": {"visit_id": {}}}}
        for each in ("findVisit", "cancel-visit")
    ]
    (tmp_path / "b.jsonl").write_text(json.dumps({"tools": json.dumps(tools)}))
    with pytest.raises(InputError, match="overlaps with a benchmark"):
        export([run], "chat", tmp_path / "out", settings=HELD, against=[tmp_path / "b.jsonl"])
    (tmp_path / "b.jsonl").write_text(json.dumps({"tools": json.dumps(tools[:1])}))
    report = export([run], "chat", tmp_path / "out", settings=HELD, against=[tmp_path / "b.jsonl"])
    assert "overlaps with a benchmark" not in report.dropped


@pytest.mark.parametrize(
    ("value", "signature"),
    [
        (tool().for_model(), "cancelvisit(visit_id)"),
        ({"name": "A-b", "input_schema": {"properties": {"y": {}, "x": {}}}}, "ab(x, y)"),
        ({"name": "a", "parameters": {"properties": {}}}, None),
        ({"name": "a"}, None),
        ({"name": 3, "parameters": {"properties": {"x": {}}}}, None),
        ("text", None),
    ],
)
def test_tool_signatures(value: Any, signature: str | None) -> None:
    assert tool_signature(value) == signature


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone.jsonl", None, "is not there"),
        ("bad.jsonl", b'{"a": 1}\n{"a": ', "cannot be read"),
        ("bad.parquet", b"PAR1", "cannot be read"),
        ("image.png", b"x", "no kind"),
        ("bad.txt", b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_a_benchmark_file_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words) as error:
        read_benchmarks([tmp_path / name], 13)
    assert name in str(error.value)
