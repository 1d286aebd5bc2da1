import re
from dataclasses import dataclass, field


@dataclass
class Entry:
    time: str
    level: str
    source: str
    message: str
    values: dict = field(default_factory=dict)


HEAD = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) ([A-Z]+) ([\w.-]+): (.*)")
PAIR = r'\w+=(?:"(?:[^"\\]|\\.)*"|[^\s",()]*)'
VALUES = re.compile(rf"(.*?) ?\(({PAIR}(?:, {PAIR})*)\)")


def parse(text):
    """The entries of a log, and the numbers and texts of lines that cannot be read: (entries, errors)."""
    entries, errors = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if line[0].isspace() and entries:
            entries[-1].message += "\n" + line
        elif head := HEAD.fullmatch(line):
            time, level, source, message = head.groups()
            message, values = _values(message)
            entries.append(Entry(time, level, source, message, values))
        else:
            errors.append((number, line))
    return entries, errors


def _values(message):
    found = VALUES.fullmatch(message)
    if not found:
        return message, {}
    values = {}
    for pair in re.findall(PAIR, found[2]):
        name, _, value = pair.partition("=")
        if value.startswith('"'):
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        values[name] = value
    return found[1], values
