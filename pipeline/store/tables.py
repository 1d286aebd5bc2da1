"""Every table of a run folder: its columns, their types, and what identifies a row.

This is the one place that says so; shards, views, the typed empty shards and the documentation follow it. Five
types are enough: `text`, `json` (canonical JSON as text, since Arrow would unify the shapes of different rows),
`int`, `real` and `bool`. No row names its run: views take that from the path. Tables marked `clock` hold what a
clock or a meter measures; all others are equal for equal seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

SCHEMA_VERSION = 3
"""Raised when a column is added, removed or retyped; a run folder of another version is refused."""

STAGES = (
    "worlds domains evolve mcp tasks played live_tasks environment trajectories resumed code_tasks code resumed_code selection "
    "documents rephrase"
).split()
"""The stages of a run in the order in which it walks through them; those of looking again come after."""
REPEATED = ("selection", "judging", "calibration", "agreement")
"""Stages each unit of which looks at the whole run anew: the latest counts, the others only cost what they cost."""


def step(stage: str) -> int:
    """The place of a stage in a run, from 1."""
    return STAGES.index(stage) + 1 if stage in STAGES else len(STAGES) + 1


Row = dict[str, Any]
"""Column name to value; a missing column is null."""

_TYPES = {
    "text": pa.string(),
    "json": pa.string(),
    "int": pa.int64(),
    "real": pa.float64(),
    "bool": pa.bool_(),
}


@dataclass(frozen=True)
class Table:
    """A table: `key` columns identify a row within a unit of work, and a repeated key is written once."""

    name: str
    about: str
    schema: pa.Schema
    json_columns: frozenset[str]
    key: tuple[str, ...] = ()
    clock: bool = False
    shared: bool = False
    """Content-addressed rows that several units may hold; the view shows each once."""


def _table(
    name: str, about: str, columns: str, key: str = "", *, clock: bool = False, shared: bool = False
) -> Table:
    pairs = [column.split(":") for column in columns.split()]
    schema = pa.schema([pa.field(column, _TYPES[kind]) for column, kind in pairs])
    json_columns = frozenset(column for column, kind in pairs if kind == "json")
    return Table(name, about, schema, json_columns, tuple(key.split()), clock, shared)


_ALL = (
    _table(
        "domains",
        "Places in the tree of domains.",
        "id:text path:text description:text parent:text record:json",
        "id",
        shared=True,
    ),
    _table(
        "tools",
        "What is in the tool repository. `record` is a ToolSpec.",
        "id:text name:text title:text description:text source:text server:text package:text version:text"
        " license:text domain:text world:text world_id:text author:text admitted:bool read_only:bool"
        " destructive:bool arguments:int flags:json reason:text record:json",
        "id world_id",
    ),
    _table(
        "worlds",
        "Worlds. `skeleton` is equal for worlds of one archetype and shape. `record` is a World.",
        "id:text name:text domain:text archetype:text skeleton:text tools:int admitted:bool reason:text"
        " author:text record:json",
        "id",
    ),
    _table(
        "agents",
        "Agents with their toolsets. `record` is an AgentProfile.",
        "id:text name:text system_prompt:text expertise:text tone:text confirms:text toolset:text tools:int"
        " relevant:int record:json",
        "id",
        shared=True,
    ),
    _table(
        "personas",
        "Manners of users. `record` is a Persona.",
        "id:text name:text style:text language:text patience:int upfront:real slips:real record:json",
        "id",
        shared=True,
    ),
    _table(
        "tasks",
        "Task variants; `evidence` is what the gate saw. `record` is a Task.",
        "id:text world:text world_id:text domain:text difficulty:text agent:text persona:text style:text kinds:text"
        " intent:text goals:int calls:int faults:int checks:int axes:json host:text proof:text author:text"
        " admitted:bool reason:text evidence:json record:json",
        "id",
    ),
    _table(
        "toolsets",
        "The `tools` lists that agents saw, in OpenAI form, with the packages and licenses of real tools.",
        "id:text tools:json sources:json",
        "id",
        shared=True,
    ),
    _table(
        "trajectories",
        "Attempts. `passed` and `reward` are null where nothing could be scored. `record` is a Trajectory without"
        " its events.",
        "id:text task:text world:text world_id:text difficulty:text style:text kinds:text attempt:int seed:int"
        " passed:bool value:text owner:text reason:text reward:real end_reason:text turns:int calls:int"
        " failed_calls:int faults:int tokens:int tokens_in:int tokens_out:int cost:real planted:json host:text"
        " proof:text policy:text author:text toolset:text content:text record:json",
        "id",
    ),
    _table(
        "events",
        "Committed steps in order, every field of an Event.",
        "trajectory:text index:int turn:int role:text content:text reasoning:text calls:json call_id:text"
        " name:text ok:bool error_code:text fault:json before:text after:text loss:bool tokens_in:int"
        " tokens_out:int cost:real logprobs:json lookups:json note:text",
        "trajectory index",
    ),
    _table(
        "snapshots",
        "States of environments, content-addressed: the rows that differ from the world's seed; `parts` are the states of"
        " further worlds of the episode.",
        "ref:text state:text world_id:text clock:text counter:int rows:json parts:json",
        "ref",
        shared=True,
    ),
    _table(
        "cassettes",
        "What hosts that cannot be asked again answered, in full and in order: from it an episode replays without them.",
        "trajectory:text position:int tool:text arguments:json ok:bool value:text error_code:text error_message:text"
        " before:text after:text",
        "trajectory position",
    ),
    _table(
        "calls",
        "Tool calls. `index` is the event of the answer (of the request, where none came), `position` counts the"
        " calls of the trajectory.",
        "trajectory:text index:int position:int turn:int asked_in:int id:text name:text arguments:json raw:text"
        " answered:bool ok:bool error_code:text fault:text changed:bool result:text",
        "trajectory position",
    ),
    _table(
        "verdicts",
        "What each check says. `round` 0 is the run's own judging, later ones are judgings again.",
        "trajectory:text round:int check:text kind:text value:text owner:text evidence:json reason:text judge:text"
        " prompt:text mandatory:bool weight:real",
        "trajectory round check judge",
    ),
    _table(
        "judgements",
        "Judgings again: the verdicts of one round on one trajectory taken together.",
        "trajectory:text round:int value:text passed:bool owner:text reward:real reason:text",
        "trajectory round",
    ),
    _table(
        "faults",
        "Faults that were injected.",
        "trajectory:text index:int tool:text nth:int kind:text committed:bool explicit:bool permanent:bool"
        " retried:bool recovered:bool",
        "trajectory index",
    ),
    _table(
        "pairs",
        "Preference pairs of attempts at one task; `shared` counts the events after the system prompt that both have in"
        " common. `round` counts selections of the run, the latest counts.",
        "round:int task:text chosen:text rejected:text shared:int reason:text",
        "round task chosen rejected",
    ),
    _table(
        "selections",
        "Which passed attempts the selection keeps, and why. `round` counts selections of the run, the latest counts.",
        "trajectory:text task:text round:int kept:bool rule:text reason:text pass_rate:real",
        "trajectory round rule",
    ),
    _table(
        "measures",
        "Figures of a run, each on its own: judge error, replay rate, coverage, fidelity of simulation …",
        "stage:text name:text part:text value:real n:int detail:json",
        "stage name part",
    ),
    _table(
        "environment",
        "Calls through a simulator and through the truth. `source`: sql (a world hidden behind its specification), server"
        " (recorded calls of live servers, given to a simulator), or simulated and live (recorded calls of such trajectories, made again on the real server). `changed` rows, and"
        " `bucket` of them, are those of the truth; what cannot be compared is null.",
        "source:text world:text tool:text arguments:json trajectory:text index:int changed:int bucket:text"
        " simulator:text same_outcome:bool fits_schema:bool same_values:bool same_state:bool agreed:bool expected:text"
        " got:text detail:text",
    ),
    _table(
        "code_tasks",
        "Code tasks, admitted and refused. `record` is a CodeTask.",
        "id:text name:text source:text difficulty:text statement:text admitted:bool reason:text image:text"
        " license:text fail_to_pass:int pass_to_pass:int evidence:json record:json",
        "id",
    ),
    _table(
        "code_reports",
        "What the tests said of a solution, graded in a fresh container. `record` is a TestReport.",
        "task:text attempt:int solution:text trajectory:text status:text passed:int failed:int missing:int"
        " exit_code:int agreed:bool reason:text image_digest:text record:json",
        "task attempt solution",
    ),
    _table(
        "documents",
        "Source texts, exactly as read.",
        "id:text source:text title:text kind:text language:text license:text characters:int tokens:int chunks:int"
        " text:text",
        "id",
    ),
    _table(
        "chunks",
        "Pieces of documents: text = document[start:end].",
        "document:text index:int start:int end:int tokens:int heading:text text:text",
        "document index",
    ),
    _table(
        "rewrites",
        "Rewritings of chunks, each with the source's words beside it; `refused_text` is the last attempt that was not"
        " good enough. `source_start` … are offsets in the document,"
        " `place_start` … in the stitched text.",
        "id:text document:text chunk:int style:text verdict:text reason:text attempts:int author:text prompt:text"
        " seed:int source_start:int source_end:int place_start:int place_end:int heading:text tokens_source:int"
        " tokens:int fidelity:text score:real coverage:real checker:text findings:int overlap:real text:text"
        " source_text:text refused_text:text",
        "id",
    ),
    _table(
        "rewrite_attempts",
        "Attempts at a chunk that were not good enough, and why.",
        "document:text chunk:int style:text attempt:int reason:text text:text",
    ),
    _table(
        "texts",
        "Whole rewritten documents. `chunks_kept` of `chunks` are rewritten, the others stand in the source's words.",
        "document:text source:text style:text language:text kind:text license:text author:text prompts:json seed:int"
        " chunks:int chunks_kept:int coverage:real tokens_source:int tokens:int text:text",
        "document style seed",
    ),
    _table(
        "findings",
        "Differences between a source and its rewriting.",
        "rewrite:text document:text chunk:int style:text index:int kind:text direction:text severity:text"
        " message:text source_start:int source_end:int source_text:text rewrite_start:int rewrite_end:int"
        " rewrite_text:text",
    ),
    _table(
        "model_calls",
        "Requests to models. `tokens_cached` are those of `tokens_in` that the endpoint had in its own cache; `seconds` is"
        " the last try, `waited` all before it.",
        "stage:text role:text purpose:text model:text prompt:text tokens_in:int tokens_out:int tokens_cached:int"
        " cost:real cached:bool outcome:text attempts:int seconds:real waited:real error:text",
        clock=True,
    ),
    _table(
        "timings",
        "How long things took: `id` is what was timed, `part` which part of it.",
        "stage:text id:text part:text seconds:real started:text",
        clock=True,
    ),
    _table(
        "failures",
        "What went wrong or was refused, in one row each; `detail` keeps the raw cause.",
        "stage:text kind:text subject:text owner:text message:text detail:json",
    ),
    _table(
        "funnel",
        "Per unit of work: entered = kept + rejected + failed + pending.",
        "stage:text entered:int kept:int rejected:int failed:int pending:int tokens:int cost:real",
    ),
    _table(
        "exports",
        "What an export did with each row of a run.",
        "export:text format:text subject:text kept:bool split:text reason:text detail:json",
    ),
)

TABLES: dict[str, Table] = {table.name: table for table in _ALL}
