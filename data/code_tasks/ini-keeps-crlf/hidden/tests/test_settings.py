import pytest

from settings import set_value

FILE = b"; my settings\r\n[Window]\r\nWidth=800\r\nheight = 600  \r\n\r\n# sound\r\n[sound]\r\nvolume =  7"


@pytest.fixture
def change(tmp_path):
    def change(data, *arguments):
        path = tmp_path / "app.ini"
        path.write_bytes(data)
        set_value(path, *arguments)
        return path.read_bytes()

    return change


def test_only_the_value_changes(change):
    assert change(FILE, "Window", "width", "1024") == FILE.replace(b"800", b"1024")


def test_spaces_around_the_value_stay(change):
    assert change(FILE, "Window", "height", "768") == FILE.replace(b"600", b"768")


def test_no_newline_at_the_end(change):
    assert change(FILE, "sound", "volume", "11") == FILE[:-1] + b"11"


def test_new_key(change):
    expected = FILE.replace(b"600  \r\n", b"600  \r\ntitle = Hi\r\n")
    assert change(FILE, "Window", "title", "Hi") == expected


def test_new_key_in_the_last_section(change):
    assert change(FILE, "sound", "mute", "no") == FILE + b"\r\nmute = no"


def test_new_section(change):
    assert change(b"[a]\nx=1\n", "b", "y", "2") == b"[a]\nx=1\n[b]\ny = 2\n"


def test_sections_are_compared_with_case(change):
    assert change(b"[A]\nx=1\n[a]\nx=1\n", "a", "X", "2") == b"[A]\nx=1\n[a]\nx=2\n"


def test_comments_are_not_keys(change):
    assert change(b"[a]\n;x=1\n#x=1\nx=1\n", "a", "x", "2") == b"[a]\n;x=1\n#x=1\nx=2\n"


def test_byte_order_mark(change):
    assert change(b"\xef\xbb\xbf[a]\r\nx=1\r\n", "a", "x", "2") == b"\xef\xbb\xbf[a]\r\nx=2\r\n"


def test_other_encodings_stay(change):
    assert change(b"[a]\nname=\xe9\xff\nx=1\n", "a", "x", "2") == b"[a]\nname=\xe9\xff\nx=2\n"


def test_empty_file(change):
    assert change(b"", "a", "x", "2") == b"[a]\nx = 2\n"


def test_equals_signs_in_the_value(change):
    assert change(b"[a]\nx=b=c\n", "a", "x", "d=e") == b"[a]\nx=d=e\n"
