"""The list of tools, and whether they hang together: what one returns another takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.models.players.author import Checked, Problem
from pipeline.models.players.author.answers import ToolIdea
from pipeline.tools.evolve.authored.bodies import Proven


def sound_ideas(listed: Sequence[ToolIdea], least: int, most: int) -> Checked[list[ToolIdea]]:
    """The first of each name; too many or too few is a problem, and the first ones will do."""
    ideas = list({one.name: one for one in listed}.values())
    problems: list[Problem] = []
    if len(ideas) > most:
        problems.append(("too many", f"there are {len(ideas)} tools; list {least} to {most}"))
    if len(ideas) < least:
        problems.append(("too few", f"there are {len(ideas)} different tools; list {least} to {most}"))
    kinds = {one.kind for one in ideas}
    if kinds != {"read", "write"}:
        problems.append(("misfit", "there must be tools of both kinds, read and write"))
        return Checked(problems=problems)
    return Checked(ideas[:most] if len(ideas) >= 2 else None, problems)


def _keys(tool: Proven) -> list[set[str]]:
    """For each argument that names a row the columns under which another tool may return it."""
    return [{name, source.partition(".")[2]} for name, source in tool.sources.items()]


def unread(tools: Sequence[Proven]) -> Iterator[ToolIdea]:
    """For each key that some tool takes and no other reading tool returns, a reading tool to be."""
    wanted: dict[str, set[str]] = {}
    for tool in tools:
        for name, source in tool.sources.items():
            columns = {name, source.partition(".")[2]}
            if not any(one.reads and columns & set(one.columns) for one in tools if one is not tool):
                wanted.setdefault(source, set()).add(tool.name)
    taken = {tool.name for tool in tools}
    for source in wanted:
        table, _, key = source.partition(".")
        name = next(
            one
            for one in (f"list_{table}", f"find_{table}", f"look_up_{table}", f"all_{table}")
            if one not in taken
        )
        taken.add(name)
        does = f"Lists rows of {table} with {key} and whatever tells them apart; takes no {key}."
        yield ToolIdea(name=name[:41], does=does, kind="read")


def lonely(tools: Sequence[Proven]) -> Iterator[tuple[str, str]]:
    """(tool, why) for tools whose keys cannot be looked up, and for tools that neither give to nor take from another."""
    for tool in tools:
        others = [one for one in tools if one is not tool]
        lost = [
            name
            for name, source in tool.sources.items()
            if not any(one.reads and {name, source.partition(".")[2]} & set(one.columns) for one in others)
        ]
        takes = any(columns & set(one.columns) for columns in _keys(tool) for one in others)
        gives = any(columns & set(tool.columns) for one in others for columns in _keys(one))
        if lost:
            yield tool.name, f"no reading tool returns {lost[0]}"
        elif not (takes or gives):
            yield (
                tool.name,
                "it takes nothing that another tool returns, and returns nothing that another takes",
            )
