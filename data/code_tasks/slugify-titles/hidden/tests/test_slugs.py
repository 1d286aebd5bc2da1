from slugs import slugify, unique_slug


def test_simple_title():
    assert slugify("Hello World") == "hello-world"


def test_accents():
    assert slugify("Crème brûlée") == "creme-brulee"
    assert slugify("Straße") == "strasse"


def test_apostrophes():
    assert slugify("Don't panic, it’s fine") == "dont-panic-its-fine"


def test_separators():
    assert slugify("  one -- two/three...four!  ") == "one-two-three-four"


def test_nothing_left():
    assert slugify("???") == "untitled"
    assert slugify("") == "untitled"


def test_long_titles_are_cut_between_words():
    assert slugify("a very long title about the history of lighthouses") == "a-very-long-title-about-the-history-of"


def test_one_long_word():
    assert slugify("x" * 60) == "x" * 40


def test_exactly_forty():
    title = "abcd " * 8
    assert slugify(title) == "-".join(["abcd"] * 8)
    assert len(slugify("abcd " * 7 + "abcde")) == 40


def test_unique():
    assert unique_slug("News", set()) == "news"
    assert unique_slug("News", {"news"}) == "news-2"
    assert unique_slug("News", {"news", "news-2", "news-3"}) == "news-4"


def test_unique_stays_short():
    slug = unique_slug("x" * 60, {"x" * 40})
    assert slug == "x" * 38 + "-2"
