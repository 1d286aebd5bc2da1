"""A small generative grammar: rules in YAML, expanded with a seeded generator."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pipeline.assets import asset
from pipeline.worlds.tongues import pack
from pipeline.yaml_files import parse_yaml

_SYMBOL = re.compile(r"<(\w+)>")
_OPTIONAL = re.compile(r"\[([^\[\]]+)\]")


class Grammar:
    """Rules by name. `<name>` is replaced by a value that is given or by an expansion of the rule, `[text]` is kept
    in half of the cases. A value for `vp` also serves `<Vp>`, capitalized. `language` decides on spaces before stops."""

    def __init__(self, rules: Mapping[str, Any], language: str = "en") -> None:
        self._rules = rules
        self._language = language

    def say(self, rule: str, rng: random.Random, **values: str) -> str:
        """One expansion of a rule, tidied: spaces and stops in order, sentences capitalized."""
        return tidy(self._expand(self._choice(self._rules[rule], rng), rng, values), self._language)

    def of(self, rule: str, kind: str, rng: random.Random, **values: str) -> str:
        """One expansion of the variant `kind` of a rule, of its first variant where there is none."""
        variants: Mapping[str, Sequence[str]] = self._rules[rule]
        chosen = variants.get(kind) or next(iter(variants.values()))
        return tidy(self._expand(self._choice(chosen, rng), rng, values), self._language)

    @staticmethod
    def _choice(options: Sequence[str], rng: random.Random) -> str:
        return options[int(rng.random() * len(options))]

    def _expand(self, text: str, rng: random.Random, values: Mapping[str, str]) -> str:
        text = _OPTIONAL.sub(lambda match: match[1] if rng.random() < 0.5 else "", text)

        def replace(match: re.Match[str]) -> str:
            name = match[1]
            if name in values:
                return values[name]
            low = name[0].lower() + name[1:]
            if low in values:
                return capital(values[low])
            return self._expand(self._choice(self._rules[name], rng), rng, values)

        return _SYMBOL.sub(replace, text)


def capital(text: str) -> str:
    """With a capital at the beginning, unless that is an address, which stays as it is."""
    return text if "@" in text.partition(" ")[0] else text[:1].upper() + text[1:]


_AFTER_GREETING = re.compile(
    r"^((?:Hi|Hello|Hey|Heya|Hiya|Yo|Sup|Morning|Good day|Dear|Alright|Greetings|Ok)\b[\w' ]{0,20}, )([A-Z])(?=[a-z])"
)
_SENTENCE = re.compile(r"(^|[.!?…] +)([¿¡]?[a-zà-ÿ])(?!\S*@)")


def tidy(text: str, language: str = "en") -> str:
    """White space and punctuation in order; a sentence begins with a capital. French keeps a space before `?!;:`."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r" +([,.])" if language == "fr" else r" +([,.!?;:])", r"\1", text)
    text = re.sub(r"([,;:])\.", ".", text)
    text = re.sub(r"\.\.+(?!\.)", ".", text)
    text = re.sub(r"([!?])\.", r"\1", text)
    text = re.sub(r"^[,;:.] *", "", text)
    text = _AFTER_GREETING.sub(lambda match: match[1] + match[2].lower(), text, count=1)
    return _SENTENCE.sub(lambda match: match[1] + match[2].upper(), text)


_ONE = re.compile(
    r"(?:\b(are|were) )?(?<![\w.,:/-])1 ([a-z]+s|people)\b(?:((?: of [\w' -]{1,40}?)? )(are|were|have)\b)?"
)
_SINGULAR = {"are": "is", "were": "was", "have": "has"}
_NO_PLURAL = frozenset(
    {"is", "was", "has", "as", "this", "its", "plus", "minus", "us", "across", "always", "less", "times"}
)


def one_thing(text: str) -> str:
    """English text with singulars after a one: `1 cases are` becomes `1 case is`."""
    return _ONE.sub(_singular, text) if "1 " in text else text


def _singular(match: re.Match[str]) -> str:
    before, word, between, after = match.groups()
    if word in _NO_PLURAL or word.endswith("ss"):
        return match[0]
    if word == "people":
        word = "person"
    elif word.endswith("ies"):
        word = f"{word[:-3]}y"
    else:
        word = word[: -2 if re.search(r"(?:x|ch|sh|ss)es$", word) else -1]
    lead = f"{_SINGULAR[before]} " if before else ""
    return f"{lead}1 {word}" + (f"{between}{_SINGULAR[after]}" if after else "")


@lru_cache(maxsize=16)
def speech(name: str, language: str = "en") -> Grammar:
    """The grammar `tools_repo/speech/NAME.yaml`, or that part of a language's pack."""
    if language != "en":
        return Grammar(pack(language)[name], language)
    return Grammar(parse_yaml(asset(f"tools_repo/speech/{name}.yaml").read_text(encoding="utf-8")))
