"""The roles, played by a language model. Each has its prompt in `prompts/` and speaks through `Models`."""

from pipeline.models.players.checker import ModelChecker
from pipeline.models.players.judge import ModelJudge
from pipeline.models.players.policy import ModelPolicy
from pipeline.models.players.rewriter import ModelRewriter
from pipeline.models.players.schemas import read_record, schema_of
from pipeline.models.players.seat import Seat
from pipeline.models.players.simulator import ModelSimulator
from pipeline.models.players.user import ModelUser

__all__ = [
    "ModelChecker",
    "ModelJudge",
    "ModelPolicy",
    "ModelRewriter",
    "ModelSimulator",
    "ModelUser",
    "Seat",
    "read_record",
    "schema_of",
]
