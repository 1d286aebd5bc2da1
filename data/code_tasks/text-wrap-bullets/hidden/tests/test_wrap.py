from wrap import wrap


def test_short_text_stays():
    assert wrap("Kind regards", 40) == "Kind regards"


def test_filling():
    assert wrap("one two\nthree four five six", 13) == "one two three\nfour five six"


def test_paragraphs():
    assert wrap("one two three\n\nfour", 7) == "one two\nthree\n\nfour"


def test_white_space():
    assert wrap("  one \t  two  ", 40) == "one two"


def test_long_words():
    assert wrap("a incomprehensibilities b", 10) == "a\nincomprehensibilities\nb"


def test_bullets():
    text = "- one two three four\n* five\n- six"
    assert wrap(text, 11) == "- one two\n  three\n  four\n* five\n- six"


def test_bullet_lines_go_on():
    assert wrap("- one\ntwo three\n\nfour five", 9) == "- one two\n  three\n\nfour five"


def test_bullet_with_a_long_word():
    assert wrap("- incomprehensibilities x", 10) == "- incomprehensibilities\n  x"


def test_quotes():
    text = "hello there\n> a quoted line that is far too long\n>  kept\nyou"
    assert wrap(text, 8) == "hello\nthere\n> a quoted line that is far too long\n>  kept\nyou"
