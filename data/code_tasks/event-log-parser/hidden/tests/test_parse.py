from logs.parse import Entry, parse

HEAD = "2026-03-02T08:15:00Z WARN billing: "


def one(message):
    entries, errors = parse(HEAD + message)
    assert errors == []
    (entry,) = entries
    return entry


def test_the_example():
    entry = one("card declined (user=17, tries=3)")
    assert entry == Entry("2026-03-02T08:15:00Z", "WARN", "billing", "card declined", {"user": "17", "tries": "3"})


def test_no_values():
    assert one("all quiet") == Entry("2026-03-02T08:15:00Z", "WARN", "billing", "all quiet", {})


def test_colons_in_the_message():
    assert one("reply: 404: not here (path=/a:b)").message == "reply: 404: not here"


def test_parentheses_in_the_message():
    entry = one("retry (second one) failed (user=3)")
    assert (entry.message, entry.values) == ("retry (second one) failed", {"user": "3"})
    assert one("see the manual (page 3)").values == {}


def test_quoted_values():
    assert one('kept (note="try again, later", user=1)').values == {"note": "try again, later", "user": "1"}


def test_escapes_in_quotes():
    assert one(r'kept (note="a \"b\" c\\d (x=1)")').values == {"note": r'a "b" c\d (x=1)'}


def test_empty_value():
    assert one("kept (note=, user=1)").values == {"note": "", "user": "1"}


def test_stack_traces_belong_to_the_entry_before():
    text = HEAD + "boom (user=1)\n  File a.py\n\tline 3\n" + HEAD + "next\n"
    entries, errors = parse(text)
    assert [entry.message for entry in entries] == ["boom\n  File a.py\n\tline 3", "next"]
    assert errors == []


def test_lines_that_cannot_be_read():
    entries, errors = parse("  lost\n\n" + HEAD + "fine\nnonsense here\n2026-03-02 WARN x: y\n")
    assert len(entries) == 1
    assert errors == [(1, "  lost"), (4, "nonsense here"), (5, "2026-03-02 WARN x: y")]
