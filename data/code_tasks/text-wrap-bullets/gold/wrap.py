def wrap(text, width):
    """`text` with lines of at most `width` characters."""
    lines, words, indent = [], [], ""

    def flush():
        lines.extend(_fill(words, width, indent))
        words.clear()

    for line in text.splitlines():
        if not line.strip() or line.startswith(">"):
            flush()
            indent = ""
            lines.append(line.rstrip())
            continue
        if line.lstrip().startswith(("- ", "* ")):
            flush()
            indent = "  "
        words += line.split()
    flush()
    return "\n".join(lines)


def _fill(words, width, indent):
    lines = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        elif lines and lines[-1] in ("-", "*") and len(lines) == 1:
            lines[-1] += " " + word
        else:
            lines.append((indent if lines else "") + word)
    return lines
