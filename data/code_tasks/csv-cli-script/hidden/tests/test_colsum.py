import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "tools" / "colsum"


def run(*arguments, given=None):
    done = subprocess.run([SCRIPT, *arguments], cwd=ROOT, capture_output=True, text=True, input=given, encoding="utf-8")
    return done.returncode, done.stdout, done.stderr


def test_executable():
    assert os.access(SCRIPT, os.X_OK)


def test_sum():
    assert run("data/sales.csv", "amount") == (0, "15.3\n", "")


def test_whole_sum():
    assert run("-", "n", given="n\n1.5\n2.5\n")[1] == "4\n"
    assert run("-", "n", given="n\n100\n")[1] == "100\n"


def test_exact():
    assert run("-", "n", given="n\n" + "0.1\n" * 3)[1] == "0.3\n"


def test_no_rows():
    assert run("-", "n", given="n\n")[1] == "0\n"


def test_by():
    assert run("data/sales.csv", "amount", "--by", "city")[1] == "Graz\t10.1\nLinz\t0.2\nSankt Pölten\t5\n"


def test_unknown_column():
    code, out, err = run("data/sales.csv", "price")
    assert (code, out) == (1, "")
    assert "price" in err
    assert err.count("\n") == 1


def test_unknown_by_column():
    code, out, err = run("data/sales.csv", "amount", "--by", "region")
    assert (code, out) == (1, "")
    assert "region" in err


def test_cell_that_is_no_number():
    code, out, err = run("-", "n", given="n\n1\nx7\n2\n")
    assert (code, out) == (1, "")
    assert "3" in err and "x7" in err
    assert err.count("\n") == 1
