from types import SimpleNamespace

import pytest

from mini.template import TemplateError, render


def test_replacing():
    assert render("Hi {{ name }}, {{n}}!", {"name": "Ann", "n": 3}) == "Hi Ann, 3!"


def test_no_tags():
    assert render("just { text } %", {}) == "just { text } %"


def test_escaping():
    assert render("{{ x }}", {"x": "<a href=\"'\">&"}) == "&lt;a href=&quot;&#x27;&quot;&gt;&amp;"


def test_raw():
    assert render("{{ x|raw }}{{ x | raw }}", {"x": "<b>"}) == "<b><b>"


def test_values_are_not_templates():
    assert render("{{ x|raw }}", {"x": "{{ y }}", "y": 1}) == "{{ y }}"


def test_paths():
    values = {"user": {"name": "Bo"}, "shop": SimpleNamespace(city=SimpleNamespace(zip="0150"))}
    assert render("{{ user.name }} {{ shop.city.zip }}", values) == "Bo 0150"


@pytest.mark.parametrize("path", ["x.__class__", "_x", "x._secret"])
def test_private_names_are_out_of_reach(path):
    with pytest.raises(TemplateError):
        render("{{ %s }}" % path, {"x": SimpleNamespace(_secret=1), "_x": 2})


def test_loop():
    assert render("{% for x in xs %}<{{ x }}>{% end %}", {"xs": [1, 2]}) == "<1><2>"


def test_nested_loops_and_outer_values():
    template = "{% for row in rows %}{% for x in row.cells %}{{ sep }}{{ x }}{% end %};{% end %}"
    values = {"rows": [{"cells": [1, 2]}, {"cells": []}, {"cells": [3]}], "sep": "."}
    assert render(template, values) == ".1.2;;.3;"


def test_the_loop_name_ends_with_the_loop():
    with pytest.raises(TemplateError):
        render("{% for x in xs %}{% end %}{{ x }}", {"xs": [1]})


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("a\nb\n{{ nope }}", 3),
        ("{% for x in nope %}{% end %}", 1),
        ("\n{% if x %}", 2),
        ("\n\n{% end %}", 3),
        ("\n{% for x in xs %}\n\n", 2),
        ("{{ a b }}", 1),
    ],
)
def test_mistakes_name_their_line(template, line):
    with pytest.raises(TemplateError, match=rf"^line {line}: "):
        render(template, {"xs": [1]})
