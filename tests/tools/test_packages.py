"""Packages as servers: command lines read, environments made and kept, lists made."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from pipeline.assets import asset
from pipeline.config.tools import IngestConfig
from pipeline.records import ConfigError
from pipeline.tools.ingest import ingest, list_server
from pipeline.tools.package_lists import latest_version, list_packages
from pipeline.worlds.environments import InstallFailure, prepare
from pipeline.worlds.packages import Package, asked_package
from pipeline.worlds.servers import ServerEntry, parse_servers, read_servers

ODD = (Path(__file__).parent / "odd_server.py").read_text(encoding="utf-8")


def asked(command: str, *args: str) -> Package | None:
    return asked_package(ServerEntry("x", command, args))


@pytest.mark.parametrize(
    ("line", "requirement", "executable", "args"),
    [
        ("uvx mcp-server-time", "mcp-server-time", "", ()),
        ("uvx mcp-server-time@2025.1", "mcp-server-time==2025.1", "", ()),
        (
            "uvx mcp-server-time@latest --local-timezone UTC",
            "mcp-server-time",
            "",
            ("--local-timezone", "UTC"),
        ),
        ("uvx mcp-server-time==2025.1", "mcp-server-time==2025.1", "", ()),
        ("uvx --from pkg[extra]==1.0 run-it --flag", "pkg[extra]==1.0", "run-it", ("--flag",)),
        ("uvx --quiet --from=pkg tool", "pkg", "tool", ()),
        ("/usr/bin/uv tool run pkg", "pkg", "", ()),
        ("pipx run --spec pkg==2 tool", "pkg==2", "tool", ()),
        ("npx -y @scope/name@1.2.3 /data", "@scope/name@1.2.3", "", ("/data",)),
        ("npx --yes name", "name", "", ()),
        ("npx -y -p @scope/name@1 tool arg", "@scope/name@1", "tool", ("arg",)),
    ],
)
def test_command_lines_are_read(line: str, requirement: str, executable: str, args: tuple[str, ...]) -> None:
    package = asked(*line.split())
    assert package is not None
    assert (package.requirement, package.executable, package.args) == (requirement, executable, args)
    assert package.name in ("mcp-server-time", "pkg", "@scope/name", "name")


def test_extra_requirements_and_an_interpreter() -> None:
    package = asked("uvx", "--python", "3.12", "--with", "mcp<2,httpx", "--with", "rich", "pkg")
    assert package is not None
    assert (package.python, package.extras) == ("3.12", ("mcp<2", "httpx", "rich"))


@pytest.mark.parametrize("line", ["python server.py", "node x.js", "docker run x", "uvx", "npx -c code"])
def test_other_commands_are_started_as_they_stand(line: str) -> None:
    assert asked(*line.split()) is None


def wheel(folder: Path, name: str = "odd-mcp", scripts: str = "odd-mcp = odd_mcp:main") -> Path:
    """A wheel of a server, made by hand, so that no registry is needed."""
    module, version = name.replace("-", "_"), "1.5"
    path = folder / f"{module}-{version}-py3-none-any.whl"
    info = f"{module}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{module}.py", ODD + "\n\ndef main() -> None:\n    fine()\n")
        meta = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nLicense-Expression: MIT\n"
        archive.writestr(f"{info}/METADATA", meta)
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/entry_points.txt", f"[console_scripts]\n{scripts}\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


async def test_a_package_is_installed_once_and_started_with_its_provenance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    config = IngestConfig(cache=tmp_path / "cache")
    entries = {str(n): ServerEntry(str(n), "uvx", ("odd-mcp@1.5",)) for n in range(3)}
    harvest = await ingest(entries, config)
    assert harvest.failures == ()
    origin = harvest.tools[0].provenance
    assert (origin.registry, origin.package, origin.version, origin.license) == (
        "pypi",
        "odd-mcp",
        "1.5",
        "MIT",
    )
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    assert len((await list_server(entries["0"], config)).tools) == 2
    assert len([path for path in (tmp_path / "cache/pypi").iterdir() if path.is_dir()]) == 1


async def test_a_package_that_cannot_be_installed_is_one_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    entry = ServerEntry("none", "uvx", ("no-such-package-here",))
    [failure] = (await list_server(entry, IngestConfig(cache=tmp_path))).failures
    assert (failure.step, failure.kind) == ("install", "install")
    assert "no-such-package-here" in failure.message


async def test_an_executable_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path)
    for name in ("PIP", "UV"):
        monkeypatch.setenv(f"{name}_FIND_LINKS", str(tmp_path))
        monkeypatch.setenv(f"{name}_NO_INDEX", "1")
    package = Package("pypi", "odd-mcp", "odd-mcp", executable="other")
    with pytest.raises(InstallFailure, match="no executable 'other'"):
        await prepare(package, tmp_path / "cache")


async def test_a_python_that_is_not_there_is_named(tmp_path: Path) -> None:
    package = Package("pypi", "x", "x", python="9.9")
    with pytest.raises(InstallFailure, match=r"Python 9\.9 is not installed"):
        await prepare(package, tmp_path)


async def test_a_list_becomes_pinned_entries(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text(
        "# servers\nmcp-server-time==1.0 --local-timezone UTC\n\nmcp-server-git@2.0  # git\nmcp-server-time==9\n"
    )
    made = await list_packages(path, "pypi")
    assert made.failures == ()
    assert made.document() == {
        "mcpServers": {
            "time": {"command": "uvx", "args": ["mcp-server-time@1.0", "--local-timezone", "UTC"]},
            "git": {"command": "uvx", "args": ["mcp-server-git@2.0"]},
        }
    }
    assert asked_package(parse_servers(made.document())["git"]) == Package(
        "pypi", "mcp-server-git", "mcp-server-git==2.0"
    )


async def test_scoped_names_and_names_that_would_collide(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("@a/server-time@1.0.0\n@b/time-mcp@2.0.0\n@b/time@3.0.0\n")
    made = await list_packages(path, "npm")
    assert [entry["args"][1] for entry in made.mcp_servers.values()] == [
        "@a/server-time@1.0.0",
        "@b/time-mcp@2.0.0",
        "@b/time@3.0.0",
    ]
    assert len(set(made.mcp_servers)) == 3


@pytest.mark.parametrize("line", ["-e .", "../x", "name==", "@a/b", "name; rm -rf /", "git+ssh://x"])
async def test_a_line_that_is_no_package_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "names.txt"
    path.write_text(f"fine==1\n{line}\n")
    with pytest.raises(ConfigError, match=r"names.txt:2"):
        await list_packages(path, "pypi")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "registry"), [("mcp-server-time", "pypi"), ("@modelcontextprotocol/server-memory", "npm")]
)
async def test_the_newest_version_is_looked_up(name: str, registry: str) -> None:
    version = await latest_version(name, registry)  # type: ignore[arg-type]
    assert version[0].isdigit()


@pytest.mark.slow
async def test_a_name_that_no_registry_knows_is_one_failure(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("tracemill-surely-no-such-package-zz\n")
    made = await list_packages(path, "pypi")
    assert made.mcp_servers == {}
    assert made.failures[0].server == "tracemill-surely-no-such-package-zz"


@pytest.mark.slow
async def test_the_shipped_servers_start_without_keys() -> None:
    entries = read_servers(asset("tools_repo/mcp_servers.json"))
    harvest = await ingest(entries, IngestConfig(parallel=2))
    assert [failure.to_json() for failure in harvest.failures] == []
    assert [report.server for report in harvest.servers] == list(entries)
    assert len(entries) >= 12
    assert all(tool.provenance.package and tool.provenance.version for tool in harvest.tools)
