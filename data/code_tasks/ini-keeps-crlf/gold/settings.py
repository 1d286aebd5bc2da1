import re

HEADER = re.compile(rb"\s*\[(?P<name>[^\]]*)\]")
PAIR = re.compile(rb"(?P<before>\s*(?P<key>[^=;#\s][^=]*?)\s*=[ \t]*)(?P<value>[^\r\n]*?)(?P<after>[ \t]*\r?\n?)\Z")
MARK = b"\xef\xbb\xbf"


def set_value(path, section, key, value):
    """Changes one value in an INI file and leaves every other byte as it is."""
    with open(path, "rb") as file:
        data = file.read()
    mark, data = (MARK, data[len(MARK) :]) if data.startswith(MARK) else (b"", data)
    lines = data.splitlines(keepends=True)
    end = b"\r\n" if b"\r\n" in data else b"\n"
    with open(path, "wb") as file:
        file.write(mark + b"".join(_changed(lines, section.encode(), key.encode(), value.encode(), end)))


def _changed(lines, section, key, value, end):
    inside, last = False, None
    for place, line in enumerate(lines):
        header = HEADER.match(line)
        if header:
            inside = header["name"] == section
            last = place if inside else last
        elif inside and (pair := PAIR.match(line)):
            last = place
            if pair["key"].lower() == key.lower():
                return [*lines[:place], pair["before"] + value + pair["after"], *lines[place + 1 :]]
    added = [key + b" = " + value + end]
    if last is None:
        added.insert(0, b"[" + section + b"]" + end)
        last = len(lines) - 1
    if lines and not lines[last].endswith(b"\n"):
        added[-1] = added[-1].removesuffix(end)
        added.insert(0, end)
    return [*lines[: last + 1], *added, *lines[last + 1 :]]
