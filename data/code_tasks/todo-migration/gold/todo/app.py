from todo.store import load, new_item, save


def add(path, text):
    """Adds an item and returns how many there are."""
    items = load(path)
    number = max((item["id"] for item in items), default=0) + 1
    items.append(new_item(number, text))
    save(path, items)
    return len(items)


def open_items(path):
    """The texts of what is still to be done."""
    return [item["text"] for item in load(path) if not item["done"]]
