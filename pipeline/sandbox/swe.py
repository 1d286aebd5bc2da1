"""Rows like SWE-bench: a repository archive, a patch, a test patch and the ids that decide. Archives are hostile input."""

from __future__ import annotations

import base64
import json
import shutil
import stat
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.sandbox.box import File
from pipeline.sandbox.shapes import BadRow, Fields, name_of, text_of

MAX_BYTES = 48 << 20
MAX_FILES = 20_000
Tree = dict[str, File]


def fields(row: Fields, folder: Path) -> Fields:
    """`archive` (tar or zip, path relative to `folder`), `base_commit`, `patch`, `test_patch`, `problem_statement`,
    `FAIL_TO_PASS`, `PASS_TO_PASS` (lists, or lists as JSON text). Raises BadRow.

    A `.git` folder in the archive is left out: the agent gets a history of one commit, nothing of the future.
    """
    archive = folder / _safe(text_of(row, "archive", "repo_archive", "tarball"), what="the archive")
    if not archive.is_file():
        raise BadRow(f"the archive {archive.name} is not there")
    base = read_archive(archive)
    tested = apply_patch(base, text_of(row, "test_patch"))
    fixed = apply_patch(base, text_of(row, "patch"))
    tests = {path: file for path, file in tested.items() if base.get(path) != file}
    gold = {path: file for path, file in fixed.items() if base.get(path) != file}
    if binaries(tests) or binaries(gold):
        raise BadRow("a patch holds files that are no text")
    executable = {path for tree in (base, tests, gold) for path, file in tree.items() if file.executable}
    return {
        **name_of(row),
        "source": "swe",
        "statement": text_of(row, "problem_statement", "statement"),
        "files": texts(base),
        "binary": {path: base64.b64encode(data).decode() for path, data in binaries(base).items()},
        "tests": texts(tests),
        "gold": {**texts(gold), **dict.fromkeys(path for path in base if path not in fixed)},
        "executable": sorted(executable),
        "fail_to_pass": ids(row, "FAIL_TO_PASS"),
        "pass_to_pass": ids(row, "PASS_TO_PASS"),
    }


def ids(row: Fields, key: str) -> list[str]:
    value: Any = row.get(key) or []
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise BadRow(f"{key} is neither a list nor a list as JSON") from error
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadRow(f"{key} is no list of test ids")
    return value


def read_archive(path: Path) -> Tree:
    """The files of a tar or zip, without a folder that holds everything and without `.git`.

    Raises BadRow for what leads outside, for other things than files, folders and links inside, and for sizes.
    """
    try:
        entries = list(_zip_entries(path) if zipfile.is_zipfile(path) else _tar_entries(path))
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError) as error:
        said = str(error).partition("\n")[0].rstrip(":")
        raise BadRow(f"the archive {path.name} cannot be read: {said}") from error
    tops = {PurePosixPath(name).parts[0] for name, _ in entries}
    deep = all(len(PurePosixPath(name).parts) > 1 for name, _ in entries)
    skip = 1 if len(tops) == 1 and deep else 0
    tree = {str(PurePosixPath(*PurePosixPath(name).parts[skip:])): file for name, file in entries}
    return {name: file for name, file in tree.items() if ".git" not in PurePosixPath(name).parts}


def _tar_entries(path: Path) -> Iterator[tuple[str, File]]:
    total = count = 0
    with tarfile.open(path) as tar:
        for entry in tar:
            name = _safe(entry.name)
            count += 1
            total += entry.size
            if count > MAX_FILES or total > MAX_BYTES:
                raise BadRow(f"the archive is larger than {MAX_FILES} files or {MAX_BYTES >> 20} MB")
            if entry.isdir():
                continue
            if entry.issym() or entry.islnk():
                base = PurePosixPath(name).parent if entry.issym() else PurePosixPath()
                _safe(_normal(base / entry.linkname), what=f"the link {name}")
            elif not entry.isfile():
                raise BadRow(f"the archive holds {name}, which is neither a file nor a folder")
            try:
                content = tar.extractfile(entry)
            except KeyError:
                continue  # a link inside to something that is not in the archive
            if content is not None:
                yield name, File(content.read(), bool(entry.mode & 0o100))


def _zip_entries(path: Path) -> Iterator[tuple[str, File]]:
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        if len(entries) > MAX_FILES or sum(entry.file_size for entry in entries) > MAX_BYTES:
            raise BadRow(f"the archive is larger than {MAX_FILES} files or {MAX_BYTES >> 20} MB")
        for entry in entries:
            name, mode = _safe(entry.filename), entry.external_attr >> 16
            if stat.S_ISLNK(mode):
                raise BadRow(f"the zip archive holds a link, {name}")
            yield name, File(archive.read(entry), bool(mode & 0o100))


def _safe(name: str, what: str = "") -> str:
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or "\0" in name or not pure.parts:
        if str(pure) == ".":
            return "."
        raise BadRow(f"{what or 'a path'} leads outside: {name}")
    return str(pure)


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts) or "."


def apply_patch(tree: Mapping[str, File], patch: str) -> Tree:
    """The tree with a unified diff applied by git, strictly. Raises BadRow when it does not fit."""
    if not patch.strip():
        raise BadRow("a patch is empty")
    if not shutil.which("git"):
        raise BadRow("git is needed to apply patches, and is not installed")
    with tempfile.TemporaryDirectory(prefix="tracemill-") as folder:
        root = Path(folder)
        for name, file in tree.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(file.data)
            (root / name).chmod(0o755 if file.executable else 0o644)
        for command in (["init", "-q"], ["apply", "--whitespace=nowarn", "-"]):
            argv = ["git", "-c", "core.autocrlf=false", *command]
            text = patch if patch.endswith("\n") else patch + "\n"
            done = subprocess.run(argv, cwd=root, input=text.encode(), capture_output=True, check=False)
            if done.returncode:
                raise BadRow(f"a patch does not fit: {done.stderr.decode('utf-8', 'replace').strip()[:300]}")
        shutil.rmtree(root / ".git")
        return read_tree(root)


def read_tree(folder: Path) -> Tree:
    """The files below a folder; links and byte code are left out."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {
        str(path.relative_to(folder)): File(path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in paths
        if "__pycache__" not in path.parts
    }


def texts(tree: Mapping[str, File]) -> dict[str, str]:
    return {path: file.data.decode() for path, file in tree.items() if _is_text(file.data)}


def binaries(tree: Mapping[str, File]) -> dict[str, bytes]:
    return {path: file.data for path, file in tree.items() if not _is_text(file.data)}


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data
