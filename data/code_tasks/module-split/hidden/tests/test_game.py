import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_script():
    done = subprocess.run([sys.executable, "run.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "x wins\n"


def test_parts_are_where_they_belong():
    import game

    assert game.Board.__module__ == "game.board"
    assert game.Player.__module__ == "game.player"
    assert game.play.__module__ == "game.match"


def test_the_old_module_is_gone():
    assert not (ROOT / "game" / "all.py").exists()


def test_second_player_wins():
    from game import Player, play

    assert play(Player("x", [0, 1, 5]), Player("o", [2, 4, 6])) == "o wins"


def test_draw():
    from game import Player, play

    assert play(Player("x", [0, 1, 5, 6, 8]), Player("o", [2, 3, 4, 7])) == "draw"


def test_a_win_with_the_last_stone():
    from game import Player, play

    assert play(Player("x", [0, 2, 3, 7, 4]), Player("o", [1, 5, 6, 8])) != "draw"


def test_no_circular_imports():
    needs = {}
    for name in ("board", "player", "match"):
        tree = ast.parse((ROOT / "game" / f"{name}.py").read_text())
        text = " ".join(ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
        needs[name] = {other for other in ("board", "player", "match") if f"game.{other}" in text or f".{other}" in text}
    for name, others in needs.items():
        assert all(name not in needs[other] for other in others)
