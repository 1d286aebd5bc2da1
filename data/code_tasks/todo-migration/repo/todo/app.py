from todo.store import load, save


def add(path, text):
    """Adds an item and returns how many there are."""
    items = load(path)
    items.append(text)
    save(path, items)
    return len(items)


def open_items(path):
    """The texts of what is still to be done."""
    return [text for text in load(path) if not text.startswith("x ")]
