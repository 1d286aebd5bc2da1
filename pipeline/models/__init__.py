"""The one door to language models: client, limits, retries, cache, ledger, prompts, structured answers."""

from pipeline.models.cache import AnswerCache, CacheStats, Journal
from pipeline.models.door import Models
from pipeline.models.ledger import Budget, Ledger, ModelCall, Totals
from pipeline.models.prompts import Prompt, Prompts, shipped

__all__ = [
    "AnswerCache",
    "Budget",
    "CacheStats",
    "Journal",
    "Ledger",
    "ModelCall",
    "Models",
    "Prompt",
    "Prompts",
    "Totals",
    "shipped",
]
