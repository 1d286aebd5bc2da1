"""`tracemill run rephrase` with models as rewriter and checker: who is asked about what, and whose word counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.store.folder import RunFolder
from tests.endpoint.server import Endpoint, Received, Reply, text

KILN = """The kiln at Orby was built in 1911 and fired with peat. It reaches 1,240 °C and holds 600 pots. Nobody may open it
before it has cooled to 80 °C."""
SAID = {
    "kiln": """Built in 1911, the Orby kiln was fired with peat. 600 pots fit into it, and its temperature reaches 1,240 °C. Before it
has cooled to 80 °C, nobody may open it.""",
}
SAID["proud"] = SAID["kiln"] + " The potters were proud of their glaze."
SAID["number"] = SAID["kiln"].replace("600", "900")
STYLES = {"encyclopedia": "kiln", "a letter": "proud", "spoken lecture": "number"}
INVENTED = {
    "direction": "added",
    "kind": "claim",
    "source_quote": "",
    "rewrite_quote": "The potters were proud of their glaze.",
    "message": "the source says nothing of pride",
}


def _answers(received: Received) -> Reply:
    if received.body["model"] == "writer":
        manner = next((word for word in STYLES if word in received.system), "")
        return text(SAID[STYLES[manner]])
    return text(json.dumps({"differences": [INVENTED] if "proud" in received.last else []}))


@pytest.mark.slow
def test_a_model_verifies_what_rules_may_get_wrong(tmp_path: Path) -> None:
    (tmp_path / "kiln.txt").write_text(KILN, encoding="utf-8")
    (tmp_path / "c.yaml").write_text(
        "rephrase: {ask_model: true, attempts: 1, rewritings: 3, styles: [encyclopedic, letter, lecture]}",
        encoding="utf-8",
    )
    with Endpoint(_answers) as endpoint:
        words = [
            "run",
            "rephrase",
            "--config",
            "c.yaml",
            "--input",
            "kiln.txt",
            "--run",
            "r",
            "--data",
            str(tmp_path),
        ]
        for role, name in (("rewriter", "writer"), ("checker", "judge")):
            words += ["--model", f"{role}={name}@{endpoint.base_url}"]
        command = [sys.executable, "-c", "from pipeline.cli import main; main()", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stderr
        judged = [call.last for call in endpoint.calls if call.body["model"] == "judge"]
    folder = RunFolder.open(tmp_path, "r")
    rows = {row["style"]: row for row in folder.rows("rewrites")}
    assert (rows["encyclopedic"]["verdict"], rows["encyclopedic"]["fidelity"]) == ("kept", "faithful")
    assert "model:judge" in rows["encyclopedic"]["checker"]
    assert rows["letter"]["verdict"] == "source_kept"
    assert "pride" in " ".join(row["message"] for row in folder.rows("findings") if row["style"] == "letter")
    assert rows["lecture"]["verdict"] == "source_kept"
    assert "model" not in rows["lecture"]["checker"], "a changed number needs no second opinion"
    assert len(judged) == 2
    assert {row["role"] for row in folder.rows("model_calls")} == {"rewriter", "checker"}
