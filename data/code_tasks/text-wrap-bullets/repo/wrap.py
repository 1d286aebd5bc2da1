def wrap(text, width):
    """`text` with lines of at most `width` characters."""
    return text
