"""Tables of contents for Markdown texts."""

import re


def toc(text):
    """The lines of the table of contents."""
    headings = list(_headings(text))
    top = min((level for level, _ in headings), default=1)
    seen = {}
    lines = []
    for level, title in headings:
        anchor = re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        if count:
            anchor = f"{anchor}-{count}"
        lines.append("  " * (level - top) + f"- [{title}](#{anchor})")
    return lines


def _headings(text):
    """Level and title of each heading that is not in a code block."""
    fence = None
    for line in text.splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if fence:
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not mark[2].strip():
                fence = None
        elif mark:
            fence = mark[1]
        elif found := re.match(r"(#{1,6})[ \t]+(.*)", line):
            yield len(found[1]), re.sub(r"(^|\s+)#+\s*$", "", found[2]).strip()
