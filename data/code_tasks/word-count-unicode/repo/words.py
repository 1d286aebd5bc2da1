"""Word frequencies."""

import collections
import re


def top_words(text, count):
    """The `count` most frequent words with how often they occur."""
    return collections.Counter(re.findall("[a-z]+", text.lower())).most_common(count)
