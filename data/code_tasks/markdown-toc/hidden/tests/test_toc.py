from toc import toc


def test_levels():
    assert toc("# A\n## B\n### C\n# D\n") == ["- [A](#a)", "  - [B](#b)", "    - [C](#c)", "- [D](#d)"]


def test_no_headings():
    assert toc("just text\n#hashtag\n") == []


def test_indent_from_the_highest_level():
    assert toc("## A\n### B\n") == ["- [A](#a)", "  - [B](#b)"]


def test_code_blocks():
    text = "# A\n```sh\n# not this\n```\n~~~\n# nor this\n```\n# nor that\n~~~\n# B\n"
    assert toc(text) == ["- [A](#a)", "- [B](#b)"]


def test_longer_fences():
    text = "````\n```\n# no\n```\n# no\n````\n# Yes\n"
    assert toc(text) == ["- [Yes](#yes)"]


def test_a_fence_with_words_does_not_close():
    assert toc("```\n``` python\n# no\n```\n# Yes\n") == ["- [Yes](#yes)"]


def test_trailing_hashes():
    assert toc("## Setup ##\n## C#\n") == ["- [Setup](#setup)", "- [C#](#c)"]


def test_equal_titles():
    assert toc("# Setup\n# Setup\n# Setup\n") == ["- [Setup](#setup)", "- [Setup](#setup-1)", "- [Setup](#setup-2)"]


def test_anchor_signs():
    assert toc("# What's new in 2.0?\n") == ["- [What's new in 2.0?](#whats-new-in-20)"]
