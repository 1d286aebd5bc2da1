"""Images from the recipes in `sandboxes/`: pulled or bootstrapped, built once per machine, named by digest."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from docker.errors import DockerException, ImageNotFound
from pydantic import Field, ValidationError, model_validator

from pipeline.assets import asset
from pipeline.records import Record
from pipeline.records.errors import ConfigError, SandboxError
from pipeline.sandbox.engine import FAILURES, LABEL, Engine, each, engine_errors, reason

How = Literal["present", "loaded", "pulled", "bootstrapped", "derived"]


class Recipe(Record):
    """What an image is made from: `base` (pulled) with `suite` (bootstrapped) as the other way, or `from_`."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")
    base: str = ""
    suite: str = ""
    from_: str = Field(default="", alias="from")
    packages: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ("linux/amd64", "linux/arm64")
    disk_mb: int = Field(default=2500, gt=0)

    @model_validator(mode="after")
    def _has_a_base(self) -> Recipe:
        if bool(self.from_) == bool(self.base or self.suite):
            raise ValueError("give either `from`, or `base` and `suite`")
        return self


@dataclass(frozen=True, slots=True)
class Image:
    """A finished image. `digest` is its id, `sha256:…`; `how` says where it came from this time."""

    name: str
    digest: str
    how: How


def recipe_folder(name: str) -> Path:
    """The folder of a shipped recipe, or `name` itself when it is a path. Raises ConfigError."""
    folder = Path(name) if "/" in name else asset("sandboxes") / name
    if not (folder / "recipe.yaml").is_file() or not (folder / "Dockerfile").is_file():
        known = sorted(path.parent.name for path in asset("sandboxes").glob("*/recipe.yaml"))
        raise ConfigError(f"There is no image recipe {name}.", way_out=f"Known: {', '.join(known)}.")
    return folder


def load_recipe(folder: Path) -> Recipe:
    """Raises ConfigError naming the file and the field."""
    try:
        return Recipe.model_validate(yaml.safe_load((folder / "recipe.yaml").read_text(encoding="utf-8")))
    except (ValidationError, yaml.YAMLError, OSError) as error:
        raise ConfigError(f"The recipe {folder / 'recipe.yaml'} cannot be used: {error}") from error


def recipe_key(folder: Path) -> str:
    """A hash of everything an image is made from, its parent's recipe included."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    if parent := load_recipe(folder).from_:
        digest.update(recipe_key(recipe_folder(parent)).encode())
    return digest.hexdigest()[:16]


def cache_folder(configured: str = "") -> Path:
    """Where finished tars lie, outside any repository."""
    if configured:
        return Path(configured).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracemill" / "images"


async def find_image(engine: Engine, name: str) -> str:
    """The digest of an image that is already there. Raises SandboxError naming the command that makes it."""
    folder = recipe_folder(name)
    digest = await _present(engine, f"tracemill/{load_recipe(folder).name}:{recipe_key(folder)}")
    if digest is None:
        raise SandboxError(
            f"The image {name} is not there.", way_out=f"Make it: tracemill sandbox build {name}"
        )
    return digest


async def build_image(engine: Engine, name: str = "python", *, cache: str = "") -> Image:
    """Makes sure that the image of a recipe is there: present, loaded from the cache, or built and cached.

    Only one process of a machine builds at a time. Raises ConfigError for a recipe, SandboxError for the rest.
    """
    folder = recipe_folder(name)
    recipe, key = load_recipe(folder), recipe_key(folder)
    tag = f"tracemill/{recipe.name}:{key}"
    if found := await _present(engine, tag):
        return Image(recipe.name, found, "present")
    parent = await build_image(engine, recipe.from_, cache=cache) if recipe.from_ else None
    store = cache_folder(cache)
    store.mkdir(parents=True, exist_ok=True)
    async with _only_builder(store):
        if found := await _present(engine, tag):
            return Image(recipe.name, found, "present")
        tar = store / f"{recipe.name}-{key}-{engine.architecture}.tar"
        if tar.exists():
            return Image(recipe.name, await _load(engine, tar, tag), "loaded")
        _check_platform(engine, recipe)
        _check_disk(store, recipe)
        base, how, packages = await _base(engine, recipe, parent, store)
        digest = await _build(engine, folder, tag, {"BASE": base, "PACKAGES": packages}, key)
        await _save(engine, tag, digest, tar)
    return Image(recipe.name, digest, how)


async def _present(engine: Engine, tag: str) -> str | None:
    with engine_errors(f"looking for {tag}"):
        try:
            return str((await engine.ask(engine.docker.images.get, tag)).id)
        except ImageNotFound:
            return None


@contextlib.asynccontextmanager
async def _only_builder(store: Path) -> AsyncIterator[None]:
    with (store / "building.lock").open("w") as lock:
        # Waiting takes no thread: whoever builds needs them.
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(0.1)
        yield


def _check_platform(engine: Engine, recipe: Recipe) -> None:
    if f"linux/{engine.architecture}" not in recipe.platforms:
        raise SandboxError(
            f"The recipe {recipe.name} is not made for linux/{engine.architecture}.",
            way_out=f"It is made for {', '.join(recipe.platforms)}; name an engine of that kind in DOCKER_HOST.",
        )


def _check_disk(store: Path, recipe: Recipe) -> None:
    free = shutil.disk_usage(store).free >> 20
    if free < recipe.disk_mb:
        raise SandboxError(
            f"Building {recipe.name} needs {recipe.disk_mb} MB of free space in {store}; there are {free} MB.",
            way_out="Make room, or set sandbox.cache to a folder on another disk.",
        )


async def _base(engine: Engine, recipe: Recipe, parent: Image | None, store: Path) -> tuple[str, How, str]:
    """The image to start from, how it was had, and the packages that still have to be installed in it."""
    packages = " ".join(recipe.packages)
    if parent:
        return parent.digest, "derived", packages
    refused = "the recipe names none"
    if recipe.base:
        try:
            await _follow(await engine.ask(engine.docker.api.pull, recipe.base, stream=True, decode=True))
            pulled = await engine.ask(engine.docker.images.get, recipe.base)
            return str(pulled.id), "pulled", packages
        except FAILURES as error:
            refused = reason(error)
    if not recipe.suite or not shutil.which("debootstrap") or os.geteuid() != 0:
        raise SandboxError(
            f"The base image {recipe.base or recipe.suite} can be neither pulled ({refused}) nor bootstrapped here.",
            way_out="Bootstrapping needs root and debootstrap: run `sh sandboxes/prepare.sh` as root.",
        )
    with tempfile.TemporaryDirectory(dir=store, prefix="bootstrap-") as folder:
        root = Path(folder) / "root"
        await asyncio.to_thread(_bootstrap, recipe, root)
        tar = Path(folder) / "rootfs.tar"
        await asyncio.to_thread(
            _check_call, ["tar", "-C", str(root), "-c", "-f", str(tar), "."], "packing the base"
        )
        tag = f"tracemill/bootstrapped-{recipe.suite}:latest"
        digest = await _build(
            engine, Path(folder), tag, {}, "", dockerfile="FROM scratch\nADD rootfs.tar /\n", only=tar
        )
    return digest, "bootstrapped", ""


def _bootstrap(recipe: Recipe, root: Path) -> None:
    include = ",".join(recipe.packages)
    argv = ["debootstrap", "--variant=minbase", f"--include={include}", recipe.suite, str(root)]
    _check_call(argv, f"bootstrapping {recipe.suite}")
    for waste in (
        "var/cache/apt/archives",
        "var/lib/apt/lists",
        "usr/share/doc",
        "usr/share/man",
        "usr/share/locale",
    ):
        shutil.rmtree(root / waste, ignore_errors=True)
        (root / waste).mkdir(parents=True, exist_ok=True)


def _check_call(argv: list[str], doing: str) -> None:
    done = subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        tail = done.stdout.decode("utf-8", "replace").strip().splitlines()[-5:]
        raise SandboxError(f"{argv[0]} failed ({done.returncode}) while {doing}: {' / '.join(tail)}")


async def _build(
    engine: Engine,
    folder: Path,
    tag: str,
    arguments: dict[str, str],
    key: str,
    *,
    dockerfile: str = "",
    only: Path | None = None,
) -> str:
    """Builds `folder` (or `dockerfile` with the one file `only`) and returns the digest."""
    with tempfile.TemporaryFile() as context:
        with tarfile.open(fileobj=context, mode="w") as tar:
            if only:
                tar.add(only, arcname=only.name)
                entry = tarfile.TarInfo("Dockerfile")
                entry.size = len(dockerfile)
                tar.addfile(entry, io.BytesIO(dockerfile.encode()))
            else:
                tar.add(folder, arcname=".")
        context.seek(0)
        with engine_errors(f"building {tag}"):
            lines = await engine.ask(
                engine.docker.api.build,
                fileobj=context,
                custom_context=True,
                tag=tag,
                buildargs=arguments,
                labels={LABEL: "image", f"{LABEL}.recipe": key},
                rm=True,
                forcerm=True,
                decode=True,
            )
            tail = await _follow(lines)
    found = await _present(engine, tag)
    if found is None:
        raise SandboxError(f"Building {tag} gave no image: {tail}")
    return found


async def _follow(lines: Iterable[dict[str, Any]]) -> str:
    """Reads the engine's report on some work to its end; what it said last. Raises what it reports as an error."""
    last: deque[str] = deque(maxlen=8)
    async for line in each(lines):
        if "error" in line:
            raise DockerException(line["error"])
        last.append(str(line.get("stream", "")))
    return "".join(last).strip()


async def _save(engine: Engine, tag: str, digest: str, tar: Path) -> None:
    """Writes the image and its digest beside it; under the final name only when complete."""
    part = tar.with_suffix(".part")
    try:
        with engine_errors(f"saving {tag}"), part.open("wb") as file:
            async for chunk in each(await engine.ask(engine.docker.api.get_image, tag)):
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        tar.with_suffix(".json").write_text(json.dumps({"tag": tag, "digest": digest}))
        part.replace(tar)
    finally:
        part.unlink(missing_ok=True)


async def _load(engine: Engine, tar: Path, tag: str) -> str:
    """Loads a finished image; one that is not what was noted when it was made does not stay."""
    try:
        noted = str(json.loads(tar.with_suffix(".json").read_text())["digest"])
    except (OSError, ValueError, KeyError) as error:
        raise SandboxError(
            f"The digest of {tar} is not noted beside it.", way_out=f"Remove {tar}."
        ) from error
    with engine_errors(f"loading {tar}"), tar.open("rb") as file:
        await _follow(await engine.ask(engine.docker.api.load_image, file))
    digest = await _present(engine, tag)
    if digest != noted:
        if digest:
            with engine_errors(f"removing {tag}"):
                await engine.ask(engine.docker.images.remove, tag, force=True)
        raise SandboxError(
            f"{tar} holds {digest}, but {noted} was noted when it was made.", way_out=f"Remove {tar}."
        )
    return noted
