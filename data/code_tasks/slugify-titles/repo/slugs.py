"""Web addresses from article titles."""

LONGEST = 40


def slugify(title):
    """Lower-case words joined by hyphens, at most LONGEST characters."""
    return title.lower().replace(" ", "-")


def unique_slug(title, taken):
    """A slug that is not in the set `taken`."""
    raise NotImplementedError
