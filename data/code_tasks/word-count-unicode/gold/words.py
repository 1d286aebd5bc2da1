"""Word frequencies."""

import collections
import re
import unicodedata

LETTERS = r"[^\W\d_]+"
WORD = re.compile(rf"(?<!\w){LETTERS}(?:['’-]{LETTERS})*(?!\w)")


def top_words(text, count):
    """The `count` most frequent words with how often they occur."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    counts = collections.Counter(WORD.findall(folded))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:count]
