"""Saying an English sentence again by rule, with the same facts: clause order, voice, fronting, splitting, wording.

Each form takes a sentence (without trailing space) and returns it changed, or unchanged where it does not apply.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import simplemma

from pipeline.rephrase.fidelity.lexicon import STOP as _STOP

Form = Callable[[str], str]

_LEAD = r"(?:When|If|Because|Although|Since|While|As|After|Before|Unless|Once|Until)"
_FRONT_CLAUSE = re.compile(rf"^(?P<sub>{_LEAD}) (?P<clause>[^,;:]+), (?P<main>[^,;:]+)\.$")
_BACK_CLAUSE = re.compile(
    r"^(?P<main>[^,;:]+?),? (?P<sub>when|if|because|although|unless|until|once) (?P<clause>[^,;:]+)\.$"
)
_END_TIME = re.compile(r"^(?P<main>[^,;:]+?) (?P<time>(?:in|around) (?:\d{4}|the \d{4}s)(?: BC)?)\.$")
_FRONT_TIME = re.compile(r"^(?P<time>(?:In|Around|By) \d{4}) (?P<main>[^,;:]+)\.$")
_FRONT_PLACE = re.compile(
    r"^(?P<place>In the [A-Z]?\w+(?: (?:of|in) [A-Z]\w+| [a-z]+)?(?: in [A-Z]\w+)?),? (?P<main>(?:it|there|the|a) [^,;:]+)\.$"
)
_PASSIVE = re.compile(
    r"^(?P<what>[A-Z][^,;:]*?) (?:was|were) (?P<verb>\w+ed|made|built|written|found|bought|sold|shown|taken|drawn|given)"
    r"(?P<middle> in [A-Z]\w+)? by (?P<who>(?:[A-Z][\w-]+ ?){1,3}|the [a-z]+)(?P<rest>(?: (?:around|in|at|on|from|until|for) [^,;:]+)?)\.$"
)
_RELATIVE = re.compile(
    r"^(?P<head>[A-Z][\w ]{2,40}), which (?P<inner>(?:is|are|was|were|has|have) [^,;:]+), (?P<rest>[^;:]+)\.$"
)
_PAST = {"taken": "took", "written": "wrote", "shown": "showed", "drawn": "drew", "given": "gave"}
_BUT = re.compile(r"^(?P<first>[^;:]{20,}), but (?P<second>(?:it|they|he|she|the|a|an|this|these) [^;:]+)\.$")
_AND = re.compile(
    r"^(?P<first>[^;:,]{15,}), and (?P<second>(?:it|they|he|she|its|the|a|an|this|these) [^;:]+)\.$"
)
_SEMICOLON = re.compile(r"^(?P<first>[^;:]{10,}); (?P<second>[^;:]{10,})\.$")

_PHRASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("because(?! of)", ("since", "as")),
    ("because of", ("owing to",)),
    (r"about(?= \d| (?:half|one|two|three|four|five|six|ten|twelve|a third)\b)", ("roughly", "around")),
    ("more than", ("over",)),
    ("is called", ("is known as",)),
    ("are called", ("are known as",)),
    ("starts with", ("begins with",)),
    ("begins", ("starts",)),
    ("consists of", ("is made up of",)),
    ("was finished", ("was completed",)),
    ("became cheaper", ("fell in price",)),
    ("for centuries", ("for hundreds of years",)),
    ("in most places", ("in the majority of places",)),
    ("most", ("the majority of",)),
    ("in the same way", ("likewise",)),
    ("depends on", ("is determined by",)),
    ("is kept", ("is held",)),
    ("brought together", ("combined",)),
    ("such as", ("for example", "for instance")),
    ("in order to", ("to",)),
    ("allows", ("lets",)),
    ("needs", ("requires",)),
    ("need", ("require",)),
    ("uses", ("makes use of",)),
    ("at once", ("at the same time",)),
    ("in a day", ("in one day",)),
    ("several (?!hundred|thousand|million|of)", ("a number of ",)),
    ("usually", ("as a rule",)),
    ("often", ("frequently",)),
    ("nearly", ("almost",)),
    ("almost", ("nearly",)),
    ("large", ("big",)),
    ("begin", ("start",)),
    ("gives", ("yields",)),
    ("is planned for", ("is scheduled for",)),
    (", so", (", and so",)),
    ("is made by", ("is produced by",)),
    ("was invented", ("was devised",)),
    ("come from", ("originate from",)),
    ("comes from", ("originates from",)),
    ("is needed", ("is required",)),
    ("are needed", ("are required",)),
    ("however", ("nevertheless",)),
    ("show", ("display",)),
    ("by hand", ("manually",)),
    ("fast", ("quickly",)),
    ("quickly", ("rapidly",)),
    ("slowly", ("at a slow pace",)),
    ("part of", ("portion of",)),
    ("although", ("even though",)),
    ("near", ("close to",)),
    ("at first", ("in the beginning",)),
    ("more often", ("more frequently",)),
    ("should be", ("ought to be",)),
    ("have to be", ("need to be",)),
    ("has to be", ("needs to be",)),
    ("stays", ("remains",)),
    ("contains", ("holds",)),
    ("takes up", ("absorbs",)),
    ("carries", ("transports",)),
    ("made of", ("made out of",)),
    ("type of", ("kind of",)),
    ("very", ("extremely",)),
    ("is not", ("isn't",)),
    ("are not", ("aren't",)),
    ("was not", ("wasn't",)),
    ("were not", ("weren't",)),
    ("did not", ("didn't",)),
    ("does not", ("doesn't",)),
    ("do not", ("don't",)),
    ("is built", ("is constructed",)),
    ("was built", ("was constructed",)),
    ("were built", ("were constructed",)),
    ("was opened", ("was inaugurated",)),
    ("said that", ("reported that",)),
    ("is the same as", ("equals",)),
    ("one turn", ("one revolution",)),
)


def clause_order(sentence: str) -> str:
    """`When A, B.` and `B when A.`"""
    if (found := _FRONT_CLAUSE.match(sentence)) and not re.match(
        r"(?:it|they|he|she|its|their)\b", found["main"]
    ):
        joint = ", although " if found["sub"] == "Although" else f" {found['sub'].lower()} "
        return f"{upper(found['main'])}{joint}{found['clause']}."
    if (found := _BACK_CLAUSE.match(sentence)) and not re.search(
        rf"\b(?:it|they|he|she|its|their|this|{_LEAD[3:-1].lower()})\b", found["clause"]
    ):
        return f"{upper(found['sub'])} {found['clause']}, {lower(found['main'])}."
    return sentence


def fronting(sentence: str) -> str:
    """The time or place at the other end of the sentence."""
    if (found := _END_TIME.match(sentence)) and not re.search(
        r"\b(?:that|who|which|when|and|but)\b", found["main"]
    ):
        return f"{upper(found['time'])}, {lower(found['main'])}."
    if found := _FRONT_TIME.match(sentence):
        return f"{upper(found['main'])} {lower(found['time'])}."
    if found := _FRONT_PLACE.match(sentence):
        return f"{upper(found['main'])} {lower(found['place'])}."
    return sentence


def voice(sentence: str) -> str:
    """`X was made by Y` as `Y made X`."""
    found = _PASSIVE.match(sentence)
    if found is None or found["what"].startswith(("He ", "She ", "They ", "Both ", "No ", "None ")):
        return sentence
    verb = _PAST.get(found["verb"], found["verb"])
    return (
        f"{upper(found['who'].strip())} {verb} {lower(found['what'])}{found['middle'] or ''}{found['rest']}."
    )


def relative(sentence: str) -> str:
    """`X, which is A, does B.` as `X is A. It does B.`"""
    found = _RELATIVE.match(sentence)
    if found is None or found["head"].startswith(("The stone", "Those")):
        return sentence
    plural = found["inner"].startswith(("are", "were", "have"))
    return f"{found['head']} {found['inner']}. {'They' if plural else 'It'} {found['rest']}."


def splitting(sentence: str) -> str:
    """Two sentences out of one with `but`, `and` or a semicolon."""
    if found := _BUT.match(sentence):
        return f"{found['first']}. However, {found['second']}."
    if found := _SEMICOLON.match(sentence):
        return f"{found['first']}. {upper(found['second'])}."
    if (found := _AND.match(sentence)) and not re.match(
        r"(?:Between|When|If|Both|Either|Because|Since|Although|After|Before)\b", sentence
    ):
        return f"{found['first']}. {upper(found['second'])}."
    return sentence


def wording(sentence: str, rng: random.Random, most: int = 5) -> str:
    """Up to `most` words or phrases replaced by others of the same meaning."""
    applicable = [(old, new) for old, new in _PHRASES if re.search(_whole(old), sentence)]
    rng.shuffle(applicable)
    for old, new in applicable[:most]:
        if old == "most" and not re.search(r"\bmost (?:[a-z]+s)\b", sentence):
            continue
        sentence = re.sub(_whole(old), rng.choice(new), sentence, count=1)
    return sentence


def _whole(words: str) -> str:
    """A pattern for the words, not in the middle of one; `so that` is no `so`."""
    return rf"(?<!\w){words}(?!\w)(?! that\b)" if words == ", so" else rf"(?<!\w){words}(?:(?<= )|(?!\w))"


def reword(sentence: str, rng: random.Random) -> str:
    """The sentence said again: one change of structure where one applies, then other words."""
    forms: list[Form] = [clause_order, fronting, voice, relative, splitting]
    rng.shuffle(forms)
    changed = (form(sentence) for form in forms)
    sentence = next((said for said in changed if said != sentence), sentence)
    return " ".join(wording(part, rng) for part in re.split(r"(?<=[a-z]\.) (?=[A-Z])", sentence))


_SMALL = frozenset("many most some few several each every all both no not these those other another".split())
_PROPER = re.compile(r"^(?:[A-Z][\w-]+ [A-Z]|[A-Z]{2}|I\b|[A-Z][a-z]+'s\b)")
_MAY_BE_NAMES = frozenset(
    "chinese english indian european african american asian french german spanish japanese british russian italian dutch "
    "greek roman arab swiss irish swedish korean turkish polish egyptian prussian mercury mars venus earth moon sun china turkey may march august bill mark rose will hall".split()
)


def lower(text: str) -> str:
    """The text with a small first letter, unless it begins with a name."""
    first = text.split(" ", 1)[0].strip(",.")
    plain = first.lower()
    ordinary = plain not in _MAY_BE_NAMES and simplemma.is_known(plain, lang="en")
    small = (
        plain in _SMALL or (plain in _STOP["en"] and first != "I") or (ordinary and not _PROPER.match(text))
    )
    return text[0].lower() + text[1:] if small else text


def upper(text: str) -> str:
    return text[0].upper() + text[1:] if text else text
