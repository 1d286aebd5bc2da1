"""The checker: what it finds, what it lets pass, and that it looks both ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.rephrase import RephraseSection
from pipeline.records import FidelityReport, Finding, InputError
from pipeline.rephrase.fidelity import parsing, symbolic
from pipeline.rephrase.fidelity.analysis import analyze
from pipeline.rephrase.fidelity.bench import auc, balanced, bench, best_threshold, median
from pipeline.rephrase.fidelity.checker import LayeredChecker, RuleChecker, check
from pipeline.rephrase.fidelity.latex import tidy, value
from pipeline.rephrase.fidelity.numerals import chinese
from pipeline.rephrase.fidelity.quantities import quantities
from pipeline.rephrase.inputs import read_documents
from pipeline.rephrase.styles import STYLES
from pipeline.teacher.corruptions import KINDS, plant

PAIRS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "pairs.yaml").read_text(encoding="utf-8")
)


def _kinds(source: str, rewrite: str) -> set[str]:
    return {finding.kind for finding in check(source, rewrite).findings if finding.severity == "fail"}


def test_paraphrases_pass_and_changes_are_found() -> None:
    alarms = [
        text for row in PAIRS for text in row["faithful"] if check(row["source"], text).verdict != "faithful"
    ]
    missed = [
        kind
        for row in PAIRS
        for kind, text in row.get("unfaithful", {}).items()
        if check(row["source"], text).verdict == "faithful"
    ]
    assert len(alarms) <= 0.05 * sum(len(row["faithful"]) for row in PAIRS), alarms
    assert len(missed) <= 2, missed


def test_a_text_is_faithful_to_itself() -> None:
    for document in read_documents([], RephraseSection()):
        report = check(document.text, document.text, language=document.language)
        assert report.verdict == "faithful", (document.source, report.findings)
        assert report.coverage == 1.0


@pytest.mark.parametrize(
    ("source", "rewrite", "kinds"),
    [
        ("It weighs 5 kg in all.", "It weighs 5 pounds in all.", {"unit"}),
        ("It weighs 5 kg in all.", "It weighs 5,000 grams in all.", set()),
        ("The tower has 1,203 steps.", "The tower has about 1,200 steps.", set()),
        ("The tower has 1,203 steps.", "The tower has 1,200 steps.", {"number"}),
        ("About 1,200 people came.", "About 1,203 people came.", {"number"}),
        ("Es kostet 1.250 Euro.", "Es kostet 1,25 Euro.", {"number"}),
        ("The town has twelve schools.", "The town has 12 schools.", set()),
        ("He was born on 12 May 1931.", "He was born on May 12, 1931.", set()),
        ("He was born on 12 May 1931.", "He was born on May 21, 1931.", {"date"}),
        ("She came on Monday.", "She came on Tuesday.", {"date"}),
        ("Trains leave at 7:30.", "Trains leave at 8:30.", {"time"}),
        ("The speed is 36 km/h here.", "The speed is 10 m/s here.", set()),
        ("He met Anna Berg in Oslo.", "He met Anna Holm in Oslo.", {"name"}),
        ("The World Health Organization warns of weak tea.", "The WHO warns of weak tea.", set()),
        ("About 40 percent agreed.", "About 45 percent agreed.", {"percent"}),
        ("The answer is $x = 3$ here.", "The answer is $x = 4$ here.", {"formula", "answer"}),
        ("We get $3 + 4 = 7$ apples.", "We get $3 + 4 = 8$ apples.", {"arithmetic", "formula"}),
        ("Let $f(x) = x^2 - 1$ be given.", "Let $f(x) = x^2 + 1$ be given.", {"formula_sign"}),
        ("Let $A = \\pi R^2$ be given.", "Let $A = \\pi r^2$ be given.", {"formula"}),
        ("共有35只鸡,脚94只。", "共有35只鸡,脚96只。", {"number"}),
        ("It cost $12 million in all.", "In all it cost 12m dollars.", set()),
        ("He won in 1903 and again in 1911.", "He won in 1903 and, eight years later, in 1911.", set()),
        ("One in four adults smokes there.", "25 percent of adults smoke there.", set()),
        ("One in four adults smokes there.", "35 percent of adults smoke there.", {"percent", "number"}),
        ("It runs every 20 minutes all day.", "It runs three times an hour all day.", set()),
        (
            "Costs rose from 2 to 3.8 billion euros.",
            "Costs rose from two billion to 3.8 billion euros.",
            set(),
        ),
        ("The war lasted from 1914 to 1918.", "The war lasted 1914–18.", set()),
        ("The bus leaves at 6:15 sharp.", "The bus leaves at a quarter past six sharp.", set()),
        ("Er kam im 17. Jahrhundert an.", "Er kam im siebzehnten Jahrhundert an.", set()),
        ("At least 140 people died there.", "No fewer than 140 people died there.", set()),
        ("At least 140 people died there.", "No more than 140 people died there.", {"comparison"}),
        ("Bags over 30 cm are not allowed.", "No bags larger than 30 cm are allowed.", set()),
        ("Zinc keeps the iron from rusting.", "Copper keeps the iron from rusting.", {"name"}),
        ("Die Ernte beginnt im Sommer früh.", "Die Ernte beginnt im Winter früh.", {"date"}),
        ("Lena Brandt designed the theater.", "Greta Brandt designed the theater.", {"name"}),
        ("The United States signed the treaty.", "The USA signed the treaty.", set()),
        ("Parking there is not permitted today.", "Parking there is permitted today.", {"negation"}),
        ("The castle was not damaged in the war.", "The castle was undamaged in the war.", set()),
        (
            "No other bird dives as deep as the penguin.",
            "The penguin dives deeper than any other bird.",
            set(),
        ),
        ("Most passengers praise the service.", "All passengers praise the service.", {"quantifier"}),
        ("Solve $x^2 - 5x + 6 = 0$ for us.", "Solve $x^2 + 6 = 5x$ for us.", set()),
    ],
)
def test_single_facts(source: str, rewrite: str, kinds: set[str]) -> None:
    found = _kinds(source, rewrite)
    assert found == kinds or (len(kinds) > 1 and found and found <= kinds), found


def test_every_finding_names_its_spans() -> None:
    source, rewrite = "In 1912 Anna Berg sold 30 boats.", "In 1913 Anna Holm sold 40 boats to nobody."
    for finding in check(source, rewrite).findings:
        assert finding.source or finding.rewrite
        for text, span in ((source, finding.source), (rewrite, finding.rewrite)):
            assert span is None or text[span.start : span.end] == span.text


def test_both_directions_are_checked() -> None:
    long = "The mill was built in 1820. It ground rye. The owner was Tom Reed."
    short = "The mill was built in 1820. It ground rye."
    assert {finding.direction for finding in check(long, short).findings} == {"lost"}
    assert {finding.direction for finding in check(short, long).findings} == {"added"}


def test_planted_corruptions_are_found_in_copies() -> None:
    planted = missed = 0
    for document in read_documents([], RephraseSection()):
        if document.language != "en":
            continue
        for kind in KINDS:
            corrupted = plant(document.text, kind, 1)
            if corrupted is not None and kind not in ("swap", "sentence_lost", "list_item"):
                planted += 1
                missed += check(document.text, corrupted.text).verdict == "faithful"
    assert planted > 150
    assert missed <= 0.15 * planted


def test_there_are_at_least_fourteen_kinds_of_corruptions_and_equal_seeds_agree() -> None:
    assert len(KINDS) >= 14
    text = next(
        document.text
        for document in read_documents([], RephraseSection())
        if document.source == "en-printing.md"
    )
    for kind in KINDS:
        assert plant(text, kind, 3) == plant(text, kind, 3)


@given(st.integers(0, 10**9))
def test_numbers_in_figures_are_read_in_every_grouping(number: int) -> None:
    for text, language in (
        (f"{number:,} men", "en"),
        (f"{number:,} Leute".replace(",", "."), "de"),
        (f"{number:,} hommes".replace(",", "\u202f"), "fr"),
    ):
        found = quantities(analyze(text, language))
        assert [item.value for item in found] == [number], text


@pytest.mark.parametrize(
    ("text", "number"), [("三十五", 35), ("一千二百", 1200), ("两万", 20000), ("一九八四", 1984), ("十", 10)]
)
def test_chinese_numerals(text: str, number: int) -> None:
    assert chinese(text) == number


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(x-3)(x+3)", "x^2 - 9"),
        ("\\frac{1}{2}x", "x/2"),
        ("\\sin^2 x + \\cos^2 x", "1"),
        ("2\\,\\pi r", "2 \\cdot r \\pi"),
        ("\\sqrt{12}", "2\\sqrt{3}"),
    ],
)
def test_equal_expressions_have_equal_values(one: str, other: str) -> None:
    a, b = value(tidy(one)), value(tidy(other))
    assert all(abs(x - y) < 1e-9 for x, y in zip(a, b, strict=True))


def test_styles_and_prompts_belong_together() -> None:
    from pipeline.models.prompts import shipped

    prompts = {name.removeprefix("style/") for name in shipped().names() if name.startswith("style/")}
    assert set(STYLES) == prompts
    assert len(STYLES) >= 10


class _Says:
    """A model checker with a fixed opinion."""

    name = "model:fixed"

    def __init__(self, verdict: Any) -> None:
        self.verdict = verdict
        self.asked = 0

    async def check(self, source: str, rewrite: str, *, style: str, kind: str) -> FidelityReport:
        self.asked += 1
        found = (
            (Finding(kind="claim", direction="added", message="m"),) if self.verdict == "unfaithful" else ()
        )
        return FidelityReport(verdict=self.verdict, score=0.5, findings=found, checker=self.name)


async def test_a_model_is_asked_only_where_the_rules_disagree_and_never_overrules_a_number() -> None:
    model = _Says("faithful")
    layered = LayeredChecker(RuleChecker(("rules",)), model)
    source = "The mill was built in 1820. Heavy carts crossed the wooden bridge every morning."
    assert (await layered.check(source, source, style="", kind="knowledge")).verdict == "faithful"
    assert model.asked == 0
    assert (
        await layered.check(source, source.replace("1820", "1830"), style="", kind="knowledge")
    ).verdict == "unfaithful"
    assert model.asked == 0
    short = await layered.check(source, "The mill was built in 1820.", style="", kind="knowledge")
    assert (short.verdict, model.asked) == ("faithful", 1)
    assert all(finding.severity == "warn" for finding in short.findings)


@pytest.mark.parametrize(
    ("source", "rewrite", "kinds"),
    [
        (
            "Marta Lind taught Jonas Berg the cello.",
            "Jonas Berg was taught the cello by Marta Lind.",
            set(),
        ),
        (
            "Marta Lind taught Jonas Berg the cello.",
            "Marta Lind was taught the cello by Jonas Berg.",
            {"swap"},
        ),
        (
            "An index without order does not help whenever a single row is wanted.",
            "An index without order does not help whenever a single row is not wanted.",
            {"negation"},
        ),
    ],
)
def test_the_parsing_layer_knows_roles_and_denials(source: str, rewrite: str, kinds: set[str]) -> None:
    if not parsing.available("en"):
        pytest.skip("the extra rephrase is not installed")
    report = check(source, rewrite, language="en", layers=("rules", "parsing"))
    assert {item.kind for item in report.findings if item.severity == "fail"} == kinds
    assert report.checker == "rules+parsing"


def test_formulas_beyond_the_probe_are_compared_with_their_case_and_in_time() -> None:
    if not symbolic.available():
        pytest.skip("the extra rephrase is not installed")
    assert symbolic.equal(r"\int_0^1x^2dx", r"\int_0^1t^2dt") is True
    assert symbolic.equal(r"A=\pi R^2", r"a=\pi r^2") is False
    assert symbolic.equal(r"\frac{", "x") is None, "what cannot be read is not told"
    source, kept = r"It is $\int_0^1 x^2 \, dx$.", r"The value is $\int_0^1 t^2 dt$."
    assert "formula" not in _kinds(source, kept)
    assert "formula" in _kinds(source, kept.replace("t^2", "t^3"))


def test_bench_prints_the_promised_shape(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"{n}",
            "document": f"The {word} bridge was built by Anna Berg in 19{n:02d} and is long.",
            "claim": claim,
            "faithful": good,
        }
        for n, word in enumerate(["old", "new", "red", "tall", "blue", "wide"])
        for claim, good in (
            (f"The {word} bridge was built by Anna Berg.", True),
            ("Tom Holm sold 77 boats in Paris.", False),
        )
    ]
    file = tmp_path / "set.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = bench(file)
    assert {"fixed", "calibrated", "auc", "floors", "n", "seconds"} <= set(result)
    assert set(result["floors"]) == {"lexical", "numbers", "both"}
    assert result["calibrated"]["balanced_accuracy"] == 1.0
    low, high = result["calibrated"]["ci95"]
    assert low <= result["calibrated"]["balanced_accuracy"] <= high
    assert bench(file, threshold_from=file)["fixed"]["balanced_accuracy"] == 1.0


def test_bench_names_a_broken_row(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text('{"id": "1", "document": "x", "claim": "x", "faithful": true}\n{"id": "2"}\n')
    with pytest.raises(InputError, match="line 2"):
        bench(file)


def test_measures_of_a_ranking() -> None:
    scores, truth = [0.9, 0.8, 0.3, 0.2], [True, True, False, False]
    assert auc(scores, truth) == 1.0
    assert auc([0.5, 0.5], [True, False]) == 0.5
    assert balanced(scores, truth, median(scores)) == 1.0
    assert best_threshold(scores, truth) == 0.8


@pytest.mark.slow
def test_bench_on_shared_pairs_beats_its_floors(shared: Path) -> None:
    result = bench(shared / "data" / "fidelity_dev.jsonl.gz")
    assert result["calibrated"]["balanced_accuracy"] > max(result["floors"].values())
