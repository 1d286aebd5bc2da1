"""The catalogue of flaws. Each function changes the script of a good trajectory so that one known thing is wrong.

A function answers None where its flaw cannot happen in a story. What it plants is really wrong: kinds that change the
state are checked against the state of the honest telling (`differs`), values it invents are looked for in what the
agent had seen, and calls that are meant to succeed do.
"""

from __future__ import annotations

from pipeline.judging.planting import arguments, calls, conduct, words
from pipeline.judging.planting.flaw import Flaw

FLAWS: dict[str, Flaw] = {
    flaw.kind: flaw
    for flaw in (
        Flaw("dropped_call", "state", calls.dropped_call),
        Flaw("skipped_lookup", "calls", calls.skipped_lookup),
        Flaw("repeated_write", "calls", calls.repeated_write),
        Flaw("repeated_after_timeout", "calls", calls.repeated_after_timeout),
        Flaw("wrong_argument", "state", arguments.wrong_argument),
        Flaw("wrong_entity", "state", arguments.wrong_entity),
        Flaw("invented_fact", "calls", arguments.invented_fact),
        Flaw("skipped_confirmation", "conduct", conduct.skipped_confirmation),
        Flaw("policy_breach", "conduct", conduct.policy_breach),
        Flaw("hidden_terms", "conduct", conduct.hidden_terms),
        Flaw("ignored_error", "state", calls.ignored_error),
        Flaw("forged_result", "calls", conduct.forged_result),
        Flaw("false_claim", "facts", words.false_claim),
        Flaw("leak", "facts", words.leak),
        Flaw("destructive", "state", conduct.destructive),
        Flaw("premature_end", "state", calls.premature_end),
        Flaw("apology", "state", words.apology),
        Flaw("wrong_number", "facts", words.wrong_number),
        Flaw("stale_read", "facts", words.stale_read),
        Flaw("swapped_order", "calls", calls.swapped_order),
        Flaw("language_switch", "conduct", words.language_switch),
    )
}
