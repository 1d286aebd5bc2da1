"""How people talk about played tools: plain phrases made from nouns and column names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.records import ArgumentWords, EntityWords, Question, ToolSpec, ToolWords, Words
from pipeline.teacher.crud import Reading, shown_columns
from pipeline.teacher.seeds import played_words
from pipeline.worlds.simulated.entities import Entity
from pipeline.worlds.simulated.meaning import identifier, plural, properties, snake


def words_for(
    tools: Sequence[ToolSpec], readings: Sequence[Reading], entities: Mapping[str, Entity]
) -> Words:
    """The language of a played world; tools that could not be read are talked about by their names."""
    lists = played_words()
    nouns = [_said(plural(entity.noun)) for entity in entities.values()]
    kept = ", ".join(nouns[:-1]) + (f" and {nouns[-1]}" if len(nouns) > 1 else nouns[-1])
    return Words(
        tools={
            **{tool.name: _unread(tool, entities) for tool in tools},
            **{one.tool.name: _tool(one, entities) for one in readings},
        },
        entities={entity.table: _entity(entity) for entity in entities.values()},
        agent=(f"an assistant for {kept}", f"the assistant who looks after {kept}"),
        asides=tuple(lists["asides"]),
        out_of_scope=tuple(
            Question(ask=tuple(q["ask"]), answer=tuple(q["answer"])) for q in lists["unserved"]
        ),
    )


def _said(name: str) -> str:
    return name.replace("_", " ")


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _entity(entity: Entity) -> EntityWords:
    noun = _said(entity.noun)
    named = entity.named.name if entity.named else entity.key
    return EntityWords(
        noun=noun,
        plural=_said(plural(entity.noun)),
        describe=(f"the {noun} called {{{named}}}", f"the {noun} {{{named}}}"),
        vague=(f"one of the {_said(plural(entity.noun))}", f"a certain {noun}"),
    )


def _unread(tool: ToolSpec, entities: Mapping[str, Entity]) -> ToolWords:
    """Words for a tool of which only name and arguments are known."""
    said = _said(snake(tool.name))
    found: dict[str, ArgumentWords] = {}
    for name in properties(tool):
        about = next((one for one in entities.values() if identifier(tool, one.noun) == name), None)
        label = _said(snake(name))
        found[name] = (
            ArgumentWords(source=f"{about.table}.{about.key}", known=False)
            if about is not None and snake(name) != "id"
            else ArgumentWords(
                called=f"the {label}", said=(f"the {label} is {{value}}", f"{label}: {{value}}")
            )
        )
    first = next((one.named.name for one in entities.values() if one.named), "")
    return ToolWords(
        ask=(said,), confirm=(said,), each=f"{{{first}}}", none=("Nothing was found.",), arguments=found
    )


def _tool(reading: Reading, entities: Mapping[str, Entity]) -> ToolWords:
    entity = reading.entity
    noun, many = _said(entity.noun), _said(plural(entity.noun))
    name = entity.named.name if entity.named else entity.key
    which = f"{{{reading.pointer}}}"
    told = f"{{{name}}}"
    others = [
        column.name
        for column in entity.columns
        if column.name in shown_columns(entity) and column.name != name and not column.refers
    ]
    more = f", {_said(others[0])} {{{others[0]}}}" if others else ""
    arguments = {argument: _argument(reading, argument, entities) for argument in properties(reading.tool)}
    if reading.deed == "list":
        return ToolWords(
            ask=(
                f"see the {many}",
                f"know which {many} there are",
                f"get an overview of the {many}",
                f"hear about the {many}",
            ),
            each=f"{told}{more}",
            none=(f"There is no such {noun}.", f"I found no {many} for that."),
            done=(f"I found the {many}.",),
            arguments=arguments,
        )
    if reading.deed == "get":
        return ToolWords(
            ask=(
                f"see the details of {which}",
                f"know more about {which}",
                f"look at {which}",
                f"hear how {which} stands",
            ),
            done=(f"The {noun} is called {told}{more}.", f"Here it is: {told}{more}."),
            arguments=arguments,
        )
    verbs = {
        "create": ("create", f"{_a('new ' + noun)}", "created"),
        "update": ("change", which, "updated"),
        "delete": ("delete", which, "deleted"),
    }
    verb, what, done = verbs[reading.deed]
    asks = {
        "create": (
            f"create {what}",
            f"add {what}",
            f"set up {what}",
            f"have {what} made",
            f"start {what}",
            f"put in {what}",
        ),
        "update": (
            f"change {what}",
            f"update {what}",
            f"edit {what}",
            f"have {what} changed",
            f"adjust {what}",
            f"make a change to {what}",
        ),
        "delete": (
            f"delete {what}",
            f"remove {what}",
            f"get rid of {what}",
            f"have {what} deleted",
            f"take {what} out",
            f"drop {what}",
        ),
    }[reading.deed]
    sentences = (
        (f"The {noun} has been deleted.", f"Done, the {noun} is gone.", f"I deleted the {noun}.")
        if reading.deed == "delete"
        else (f"The {noun} {told} has been {done}.", f"Done: the {noun} {told} is {done}.", f"I {done} the {noun} {told}.")
    )  # fmt: skip
    return ToolWords(
        ask=asks,
        because=("the plans have changed", "we talked about it this morning", "it came up in the meeting", "I promised to take care of it"),
        confirm=(f"{verb} {what}", f"go ahead and {verb} {what}", f"{verb} {what} now"),
        done=sentences,
        arguments=arguments,
    )  # fmt: skip


def _argument(reading: Reading, name: str, entities: Mapping[str, Entity]) -> ArgumentWords:
    entity = reading.entity
    column_name = reading.columns.get(name)
    if name == reading.pointer:
        return ArgumentWords(source=f"{entity.table}.{entity.key}", known=False)
    column = entity.column(column_name) if column_name else None
    if column is not None and column.refers in entities:
        parent = entities[column.refers]
        return ArgumentWords(source=f"{parent.table}.{parent.key}", known=False)
    if column is None:
        label = _said(snake(name))
        return (
            ArgumentWords(
                called=f"the name of the {_said(entity.noun)}",
                said=("it is called {value}", "the name is {value}", "look for {value}"),
            )
            if column_name is None and reading.deed == "list"
            else ArgumentWords(called=f"the {label}")
        )
    label = _said(column.name)
    noun = _said(entity.noun)
    if reading.deed == "update":
        return ArgumentWords(
            called=f"the new {label} of the {noun}",
            said=(
                f"the new {label} is {{value}}",
                f"the {label} should become {{value}}",
                f"set the {label} to {{value}}",
            ),
        )
    return ArgumentWords(
        called=f"the {label} of the {noun}",
        said=(f"the {label} is {{value}}", f"the {label} should be {{value}}", f"make the {label} {{value}}"),
    )
