import json
import os
import tempfile


class StoreError(Exception):
    pass


def load(path):
    """The items of a file of version 1 or 2, as items of version 2."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise StoreError(f"{path} is no to-do file: {error}") from error
    if isinstance(data, list):
        return [new_item(number, text) for number, text in enumerate(data, 1)]
    if not isinstance(data, dict) or "version" not in data:
        raise StoreError(f"{path} is no to-do file")
    if data["version"] != 2:
        raise StoreError(f"{path} is of version {data['version']}, which is not known here")
    return data["items"]


def new_item(number, text):
    """An item from a line of text: `x ` before it means done, `#word` is a tag."""
    done = text.startswith("x ")
    words = (text[2:] if done else text).split()
    return {
        "id": number,
        "text": " ".join(word for word in words if not word.startswith("#")),
        "done": done,
        "tags": [word[1:] for word in words if word.startswith("#")],
    }


def save(path, items):
    """Writes the file completely or not at all."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"version": 2, "items": items}, file)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
