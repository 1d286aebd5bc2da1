"""Images by recipe: derived ones, the cache with its digests, and recipes that cannot be used."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from pathlib import Path

import pytest
from docker.errors import ImageNotFound

from pipeline.records import ConfigError, SandboxError
from pipeline.sandbox import Engine, Sandbox, build_image, find_image, images
from pipeline.sandbox.images import load_recipe, recipe_folder, recipe_key


def make_recipe(
    folder: Path, text: str = "name: toolbox\nfrom: python\n", docker: str = "RUN touch /etc/made"
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "recipe.yaml").write_text(text)
    (folder / "Dockerfile").write_text(f"ARG BASE\nFROM ${{BASE}}\nUSER 0\n{docker}\nUSER 1000:1000\n")
    return folder


def test_recipes_are_read(tmp_path: Path) -> None:
    assert load_recipe(recipe_folder("python")).packages
    folder = make_recipe(tmp_path / "toolbox")
    assert load_recipe(folder).from_ == "python"
    before = recipe_key(folder)
    assert before == recipe_key(folder)
    (folder / "Dockerfile").write_text("FROM scratch\n")
    assert recipe_key(folder) != before


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("name: x\n", "give either"),
        ("name: x\nfrom: python\nbase: y\n", "give either"),
        ("name: x\nfrom: python\nflavor: y\n", "flavor"),
        ("name: [", "cannot be used"),
        ("name: Not A Name\nfrom: python\n", "name"),
    ],
)
def test_recipes_that_cannot_be_used(tmp_path: Path, text: str, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        load_recipe(make_recipe(tmp_path / "bad", text))


def test_an_unknown_recipe_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="Known: python"):
        recipe_folder("nothing")


@pytest.mark.slow
@pytest.mark.docker
async def test_a_derived_image_is_built_cached_and_loaded(engine: Engine, tmp_path: Path) -> None:
    folder = make_recipe(tmp_path / "toolbox", docker="RUN echo one > /etc/made")
    tag = f"tracemill/toolbox:{recipe_key(folder)}"
    with pytest.raises(SandboxError, match="tracemill sandbox build"):
        await find_image(engine, str(folder))
    try:
        made = await build_image(engine, str(folder), cache=str(tmp_path / "cache"))
        assert made.how == "derived"
        async with Sandbox(engine, made.digest) as box:
            assert (await box.run("cat /etc/made")).stdout.text == "one\n"
        assert (await build_image(engine, str(folder), cache=str(tmp_path / "cache"))).how == "present"
        await asyncio.to_thread(engine.docker.images.remove, tag, force=True)
        again = await build_image(engine, str(folder), cache=str(tmp_path / "cache"))
        assert (again.how, again.digest) == ("loaded", made.digest)
        await asyncio.to_thread(engine.docker.images.remove, tag, force=True)
        (note,) = (tmp_path / "cache").glob("toolbox-*.json")
        note.write_text(json.dumps({"tag": tag, "digest": "sha256:other"}))
        with pytest.raises(SandboxError, match="noted when it was made"):
            await build_image(engine, str(folder), cache=str(tmp_path / "cache"))
        with pytest.raises(SandboxError, match="is not there"):
            await find_image(engine, str(folder))
    finally:
        with contextlib.suppress(ImageNotFound):
            await asyncio.to_thread(engine.docker.images.remove, tag, force=True)


@pytest.mark.slow
@pytest.mark.docker
async def test_what_stands_in_the_way_is_said_before_building(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_recipe(tmp_path / "other", "name: other\nfrom: python\nplatforms: [linux/s390x]\n")
    with pytest.raises(SandboxError, match="not made for linux/"):
        await build_image(engine, str(other), cache=str(tmp_path / "cache"))
    big = make_recipe(tmp_path / "big", "name: big\nfrom: python\ndisk_mb: 900000000\n")
    with pytest.raises(SandboxError, match="MB of free space"):
        await build_image(engine, str(big), cache=str(tmp_path / "cache"))
    broken = make_recipe(tmp_path / "broken", "name: broken\nfrom: python\n", "RUN exit 3")
    with pytest.raises(SandboxError, match="broken"):
        await build_image(engine, str(broken), cache=str(tmp_path / "cache"))
    nowhere = make_recipe(tmp_path / "nowhere", "name: nowhere\nbase: no-such-image-anywhere:none\n")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SandboxError, match="neither pulled"):
        await build_image(engine, str(nowhere), cache=str(tmp_path / "cache"))
    assert not list((tmp_path / "cache").glob("*.tar"))
    assert images.cache_folder("/somewhere") == Path("/somewhere")


@pytest.mark.slow
@pytest.mark.docker
async def test_more_builders_than_threads_do_not_block_each_other(engine: Engine, tmp_path: Path) -> None:
    folder = make_recipe(tmp_path / "crowd", "name: crowd\nfrom: python\n", "RUN touch /etc/crowd")
    tag = f"tracemill/crowd:{recipe_key(folder)}"
    cache = str(tmp_path / "cache")
    try:
        made = await asyncio.gather(*(build_image(engine, str(folder), cache=cache) for _ in range(40)))
        assert len({image.digest for image in made}) == 1
        assert sorted(image.how for image in made) == ["derived", *["present"] * 39]
    finally:
        with contextlib.suppress(ImageNotFound):
            await asyncio.to_thread(engine.docker.images.remove, tag, force=True)
