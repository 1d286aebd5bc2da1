import json


class StoreError(Exception):
    pass


def load(path):
    """The items of a file."""
    with open(path) as file:
        return json.load(file)


def save(path, items):
    with open(path, "w") as file:
        json.dump(items, file)
