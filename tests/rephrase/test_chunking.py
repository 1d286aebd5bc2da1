"""Chunks joined are the document, and no cut falls where none may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.assets import asset
from pipeline.config.rephrase import RephraseSection
from pipeline.records import Document
from pipeline.rephrase.chunking import chunk, protected

SCRIPTS = st.text(
    st.sampled_from(
        "abc XYZ .,;:!?\n\n\t 漢字仮名です。、 שלום עולם مرحبا بالعالم، ไทย e\u0301 👩‍👩‍👧 $x^2$ `` | * # > 123 “” «» () []"
    )
)
BITS = st.lists(
    st.sampled_from(
        [
            "# Heading\n\n",
            "A sentence with $a. B$ inside it. And another one.\n",
            "\n\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "```\ncode. More code. Even more.\n```\n",
            "- an item. With two sentences.\n  and a second line\n",
            "$$\nx = 1. y = 2.\n$$\n",
            "她说:“今天很好。明天也好。”然后走了。",
            "قال الرجل. ثم ذهب. ",
            "He said “One. Two. Three.” and left (see Fig. 3. and p. 4). ",
            "word " * 80,
            "x" * 300,
        ]
    ),
    max_size=30,
)


def _chunks(text: str, budget: int) -> list[str]:
    document = Document(source="t", text=text)
    chunks = chunk(document, RephraseSection(chunk_tokens=budget))
    assert all(text[piece.start : piece.end] == piece.text for piece in chunks)
    assert [piece.index for piece in chunks] == list(range(len(chunks)))
    return [piece.text for piece in chunks]


@given(SCRIPTS, st.integers(1, 60))
def test_chunks_of_any_script_join_to_the_source(text: str, budget: int) -> None:
    joined = "".join(_chunks(text, budget))
    assert joined.encode("utf-8", "surrogatepass") == text.encode("utf-8", "surrogatepass")


@given(BITS, st.integers(5, 80))
def test_chunks_of_structured_text_join_and_cut_nothing_whole(bits: list[str], budget: int) -> None:
    text = "".join(bits)
    chunks = _chunks(text, budget)
    assert "".join(chunks) == text
    at, ends = 0, set()
    for piece in chunks[:-1]:
        at += len(piece)
        ends.add(at)
    for start, end in protected(text):
        inside = [cut for cut in ends if start < cut < end]
        assert not inside or "\n" in text[start:end] or "|" in text[start:end], text[start:end]


@pytest.mark.parametrize(
    "whole",
    ["| 1 | 2 |", "code. More", "x = 1. y", "an item. With", "“One. Two. Three.”", "(see Fig. 3. and"],
)
def test_formulas_code_tables_items_quotations_and_citations_stay_whole(whole: str) -> None:
    text = (
        "Before it. " * 20
        + "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode. More code.\n```\n\n$$\nx = 1. y = 2.\n$$\n\n"
        + "- an item. With two sentences.\n- another one.\n\nHe said “One. Two. Three.” and left (see Fig. 3. and p. 4). End."
    )
    for budget in (3, 5, 10, 20, 40):
        assert any(whole in piece for piece in _chunks(text, budget)), budget


def test_a_chunk_knows_its_heading_and_a_heading_stays_with_its_text() -> None:
    text = "# One\n\n" + "First words here. " * 30 + "\n\n## Two\n\n" + "Second words here. " * 30
    document = Document(source="t", text=text)
    chunks = chunk(document, RephraseSection(chunk_tokens=60))
    assert chunks[0].heading == "One"
    assert chunks[-1].heading == "Two"
    assert not any(piece.text.rstrip().endswith("## Two") for piece in chunks)


@pytest.mark.parametrize("unit", ["abc ", "x", "汉", "e\u0301"])
def test_an_endless_line_is_cut_into_bounded_chunks(unit: str) -> None:
    text = unit * 50_000
    chunks = _chunks(text, 100)
    assert "".join(chunks) == text
    assert max(map(len, chunks)) <= 1300
    assert not any(piece.startswith("\u0301") for piece in chunks)


def test_the_samples_are_cut_at_sentences() -> None:
    for path in sorted(asset("data/documents").glob("en-*.md")):
        text = path.read_text(encoding="utf-8")
        for piece in _chunks(text, 80)[:-1]:
            assert piece.endswith("\n") or piece.rstrip()[-1] in '.!?:”"', piece[-40:]
