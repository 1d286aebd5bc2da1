"""Web addresses from article titles."""

import re
import unicodedata

LONGEST = 40


def slugify(title):
    """Lower-case words joined by hyphens, at most LONGEST characters."""
    return _cut(_words(title), LONGEST)


def unique_slug(title, taken):
    """A slug that is not in the set `taken`."""
    words = _words(title)
    slug, number = _cut(words, LONGEST), 1
    while slug in taken:
        number += 1
        ending = f"-{number}"
        slug = _cut(words, LONGEST - len(ending)) + ending
    return slug


def _words(title):
    text = title.lower().replace("ß", "ss")
    text = re.sub("['’]", "", text)
    text = unicodedata.normalize("NFKD", text)
    text = "".join(sign for sign in text if not unicodedata.combining(sign))
    return re.findall(r"[a-z0-9]+", text) or ["untitled"]


def _cut(words, longest):
    slug = "-".join(words)
    while len(words) > 1 and len(slug) > longest:
        words = words[:-1]
        slug = "-".join(words)
    return slug[:longest]
