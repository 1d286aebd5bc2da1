"""Numbers in words: English, German, French, Spanish and Chinese, up to the billions."""

from __future__ import annotations

from functools import cache

_EN_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_EN_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_DE_SMALL = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn"
).split()
_DE_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
_FR_SMALL = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
    "dix-huit dix-neuf"
).split()
_FR_TENS = "vingt trente quarante cinquante soixante".split()
_ES_SMALL = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
    "veintiocho veintinueve"
).split()
_ES_TENS = "treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()

SCALES: dict[str, dict[str, int]] = {
    "en": {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12},
    "de": {
        "hundert": 100,
        "tausend": 1000,
        "million": 10**6,
        "millionen": 10**6,
        "mio": 10**6,
        "milliarde": 10**9,
    }
    | {"milliarden": 10**9, "mrd": 10**9},
    "fr": {"cent": 100, "cents": 100, "mille": 1000, "million": 10**6, "millions": 10**6, "milliard": 10**9}
    | {"milliards": 10**9},
    "es": {"cien": 100, "ciento": 100, "mil": 1000, "millón": 10**6, "millones": 10**6},
    "zh": {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8},
}
"""Words that multiply what stands before them."""

ONES = frozenset(
    {"one", "ein", "eine", "einen", "einem", "einer", "eines", "un", "une", "uno", "una", "a", "an"}
)
"""Words for 1 that are mostly no numbers."""


ABOUT: dict[str, int] = {
    "dizaine": 10,
    "quinzaine": 15,
    "vingtaine": 20,
    "trentaine": 30,
    "quarantaine": 40,
    "cinquantaine": 50,
    "soixantaine": 60,
    "centaine": 100,
    "centaines": 100,
    "millier": 1000,
    "milliers": 1000,
    "decena": 10,
    "veintena": 20,
    "centenar": 100,
    "millar": 1000,
    "dutzende": 12,
}
"""Words for a round number that are nouns."""


@cache
def words(language: str) -> dict[str, int]:
    """Single words with their value, 0 … 99 and some larger; the indefinite article is not among them."""
    make = {"en": _english, "de": _german, "fr": _french, "es": _spanish}.get(language)
    found = make() if make else {}
    return {
        word: value
        for word, value in (ABOUT | found if language in ("fr", "es") else found).items()
        if word not in ONES
    }


def _english() -> dict[str, int]:
    found = {word: value for value, word in enumerate(_EN_SMALL)}
    for tens, word in enumerate(_EN_TENS, 2):
        found[word] = tens * 10
        found |= {f"{word}-{unit}": tens * 10 + value for value, unit in enumerate(_EN_SMALL[1:10], 1)}
    return found | {"dozen": 12}


def _german() -> dict[str, int]:
    found = {word: value for value, word in enumerate(_DE_SMALL)} | {
        "dutzend": 12,
        "hundert": 100,
        "tausend": 1000,
    }
    for tens, word in enumerate(_DE_TENS, 2):
        found[word] = tens * 10
        for value, unit in enumerate(_DE_SMALL[1:10], 1):
            found[f"{'ein' if value == 1 else unit}und{word}"] = tens * 10 + value
    below = dict(found)
    for value, unit in enumerate(["", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"], 1):
        found[f"{unit}hundert" if unit else "einhundert"] = value * 100
        found |= {f"{unit}hundert{word}": value * 100 + rest for word, rest in below.items() if rest and unit}
        found[f"{unit}tausend" if unit else "eintausend"] = value * 1000
    return found


def _french() -> dict[str, int]:
    found = {word: value for value, word in enumerate(_FR_SMALL)} | {
        "douzaine": 12,
        "cent": 100,
        "mille": 1000,
    }
    for tens, word in enumerate(_FR_TENS, 2):
        found[word] = tens * 10
        for value, unit in enumerate(_FR_SMALL[1:10], 1):
            found[f"{word}-{unit}"] = found[f"{word}-et-{unit}"] = tens * 10 + value
    for value, unit in enumerate(_FR_SMALL[10:20], 10):
        found[f"soixante-{unit}"] = found[f"soixante-et-{unit}"] = 60 + value
        found[f"quatre-vingt-{unit}"] = 80 + value
    found["quatre-vingts"] = found["quatre-vingt"] = 80
    return found | {f"quatre-vingt-{unit}": 80 + value for value, unit in enumerate(_FR_SMALL[1:10], 1)}


def _spanish() -> dict[str, int]:
    found = {word: value for value, word in enumerate(_ES_SMALL)} | {"docena": 12, "cien": 100, "mil": 1000}
    found |= {word: tens * 10 for tens, word in enumerate(_ES_TENS, 3)}
    return found | {"doscientos": 200, "trescientos": 300, "cuatrocientos": 400, "quinientos": 500}


ORDINALS: dict[str, dict[str, int]] = {
    "en": {
        word: value
        for value, word in enumerate(
            (
                "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
                "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first"
            ).split(),
            2,
        )
    },
    "de": {
        stem + ending: value
        for value, stem in enumerate(
            "zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft".split(), 2
        )
        for ending in ("e", "en", "er", "es", "em")
    }
    | {
        f"{stem}te{ending}": value
        for value, stem in enumerate(_DE_SMALL[13:], 13)
        for ending in ("", "n", "r", "s", "m")
    }
    | {f"{_DE_TENS[0]}ste{ending}": 20 for ending in ("", "n", "r", "s", "m")},
    "fr": {
        word: value
        for value, word in enumerate(
            "deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième onzième douzième treizième quatorzième quinzième seizième "
            "dix-septième dix-huitième dix-neuvième vingtième".split(),
            2,
        )
    }
    | {"second": 2, "seconde": 2},
    "es": {
        stem + ending: value
        for value, stem in enumerate("segund tercer cuart quint sext séptim octav noven décim".split(), 2)
        for ending in ("o", "a")
    },
    "zh": {},
}

FRACTIONS: dict[str, dict[str, tuple[int, int]]] = {
    "en": {"half": (1, 2), "halves": (1, 2), "quarter": (1, 4), "quarters": (1, 4)}
    | {
        f"{word}{plural}": (1, value)
        for word, value in {"third": 3, "fifth": 5, "tenth": 10, "eighth": 8, "sixth": 6}.items()
        for plural in ("", "s")
    },
    "de": {
        "hälfte": (1, 2),
        "halb": (1, 2),
        "drittel": (1, 3),
        "viertel": (1, 4),
        "fünftel": (1, 5),
        "zehntel": (1, 10),
    },
    "fr": {
        "moitié": (1, 2),
        "demi": (1, 2),
        "tiers": (1, 3),
        "quart": (1, 4),
        "quarts": (1, 4),
        "dixième": (1, 10),
    }
    | {"cinquième": (1, 5), "demie": (1, 2)},
    "es": {
        "mitad": (1, 2),
        "medio": (1, 2),
        "media": (1, 2),
        "tercio": (1, 3),
        "tercios": (1, 3),
        "cuarto": (1, 4),
        "décimo": (1, 10),
    },
    "zh": {},
}

_HAN = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}


def chinese(text: str) -> int | None:
    """The value of a Chinese numeral (`三十五`, `一千二百`, `一九八四`), None when it is none."""
    if all(character in _HAN for character in text):
        return int("".join(str(_HAN[character]) for character in text))
    total, section, digit = 0, 0, 0
    for character in text:
        if character in _HAN:
            digit = _HAN[character]
        elif (scale := SCALES["zh"].get(character)) is None:
            return None
        elif scale < 10**4:
            section += (digit or 1) * scale
            digit = 0
        else:
            total += (section + digit) * scale
            section = digit = 0
    return total + section + digit
