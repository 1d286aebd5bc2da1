import json

import pytest

from todo import app, store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "todo.json"


def test_missing_file(path):
    assert store.load(path) == []


def test_version_one(path):
    path.write_text(json.dumps(["buy milk #shop", "x call Åsa #family #phone"]))
    assert store.load(path) == [
        {"id": 1, "text": "buy milk", "done": False, "tags": ["shop"]},
        {"id": 2, "text": "call Åsa", "done": True, "tags": ["family", "phone"]},
    ]


def test_round_trip(path):
    items = [{"id": 4, "text": "a", "done": True, "tags": ["b"]}]
    store.save(path, items)
    assert json.loads(path.read_text()) == {"version": 2, "items": items}
    assert store.load(path) == items


@pytest.mark.parametrize("data", ['{"version": 3, "items": []}', '{"items": []}', "not json", '"text"'])
def test_files_that_cannot_be_read(path, data):
    path.write_text(data)
    with pytest.raises(store.StoreError):
        store.load(path)


def test_a_newer_version_is_named(path):
    path.write_text('{"version": 17, "items": []}')
    with pytest.raises(store.StoreError, match="17"):
        store.load(path)


def test_a_failed_save_leaves_the_old_file(path):
    store.save(path, [])
    before = path.read_text()
    with pytest.raises(TypeError):
        store.save(path, [{"id": 1, "text": {1, 2}}])
    assert path.read_text() == before
    assert [each.name for each in path.parent.iterdir()] == ["todo.json"]


def test_app_on_an_old_file(path):
    path.write_text(json.dumps(["one", "x two"]))
    assert app.add(path, "three #new") == 3
    assert app.open_items(path) == ["one", "three"]
    assert json.loads(path.read_text())["items"][2] == {"id": 3, "text": "three", "done": False, "tags": ["new"]}


def test_ids_are_not_used_twice(path):
    store.save(path, [{"id": 7, "text": "a", "done": False, "tags": []}])
    app.add(path, "b")
    assert [item["id"] for item in store.load(path)] == [7, 8]
