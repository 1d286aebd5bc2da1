"""Tables of contents for Markdown texts."""

import re


def toc(text):
    """The lines of the table of contents."""
    lines = []
    for line in text.splitlines():
        found = re.match(r"(#{1,6}) +(.*)", line)
        if found:
            level, title = len(found[1]), found[2]
            lines.append("  " * (level - 1) + f"- [{title}](#{title.lower().replace(' ', '-')})")
    return lines
