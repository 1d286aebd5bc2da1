"""The roles, played by a language model. Each has its prompt in `prompts/` and speaks through `Models`."""

from pipeline.models.players.policy import ModelPolicy
from pipeline.models.players.user import ModelUser

__all__ = ["ModelPolicy", "ModelUser"]
