"""How values are said and recognized: dates, times, money, and equality by value."""

from __future__ import annotations

import random
import re
from datetime import datetime
from functools import lru_cache

from pipeline.records import Json
from pipeline.tasks.languages import foreign_date, month_names

_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_MOMENT = re.compile(r"^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2})(:\d{2})?$")
_CLOCK = re.compile(r"^(\d{2}):(\d{2})(:\d{2})?$")
_NUMBER = re.compile(r"(?<![\w.,])[-+]?\d+(?:[.,]\d{3})*(?:[.,]\d+)?(?![\w])")


def spoken(
    value: Json, rng: random.Random, *, money: bool = False, year: int = 0, language: str = "en"
) -> str:
    """A value as a person says it; the wording of dates and times is drawn from `rng`. Money has two decimals; a date
    of another `year` is said with its year."""
    if language != "en":
        return written(value, money=money, year=year, language=language)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number_text(value, money=money)
    if isinstance(value, list):
        return ", ".join(spoken(item, rng, money=money, year=year) for item in value)
    text = str(value)
    moment = _moment(text)
    if moment:
        when, timed = moment
        day = _say_date(when, rng, year)
        return f"{day} at {_say_time(when.hour, when.minute, rng)}" if timed else day
    clock = _CLOCK.match(text)
    if clock:
        return _say_time(int(clock[1]), int(clock[2]), rng)
    return text


def _number_text(value: float, *, money: bool) -> str:
    return f"{value:.2f}" if money else f"{value:.10g}"


def written(value: Json, *, money: bool = False, year: int = 0, language: str = "en") -> str:
    """A value as an assistant writes it: one form, the same every time; dates as `spoken` has them."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number_text(value, money=money)
    if isinstance(value, list):
        return ", ".join(written(item, money=money, year=year, language=language) for item in value)
    text = str(value)
    moment = _moment(text)
    if moment:
        when, timed = moment
        if language != "en":
            day = foreign_date(when, language, year=bool(_year(when, year)))
            return f"{day}, {when:%H:%M}" if timed else day
        day = f"{when:%B} {when.day}{_year(when, year)}"
        return f"{day} at {when:%H:%M}" if timed else day
    return text


def _year(when: datetime, year: int) -> str:
    return f", {when.year}" if year and when.year != year else ""


def _say_date(when: datetime, rng: random.Random, year: int) -> str:
    day, month = when.day, f"{when:%B}"
    ordinal = f"{day}{'th' if 10 <= day % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
    said = rng.choice((f"{month} {day}", f"{day} {month}", f"{month} {ordinal}", f"the {ordinal} of {month}"))
    return said + (_year(when, year).lstrip(",") if not said[-1].isdigit() else _year(when, year))


def _say_time(hour: int, minute: int, rng: random.Random) -> str:
    twelve = f"{(hour - 1) % 12 + 1}{f':{minute:02d}' if minute else ''} {'am' if hour < 12 else 'pm'}"
    return rng.choice((f"{hour:02d}:{minute:02d}", f"{hour}:{minute:02d}", twelve))


def _moment(text: str) -> tuple[datetime, bool] | None:
    """A date, or a date with a time (True), if the text is one that exists."""
    if not (_DATE.match(text) or _MOMENT.match(text)):
        return None
    try:
        return datetime.fromisoformat(text), len(text) > 10
    except ValueError:
        return None


@lru_cache(maxsize=50_000)
def folded(text: str) -> str:
    """Text for comparison: case, white space and typographic variants do not matter."""
    text = text.replace("’", "'").replace("–", "-").replace("‑", "-").replace("\u00a0", " ")
    return " ".join(text.casefold().split())


def mentions(text: str, phrase: str) -> bool:
    """Whether `phrase` stands in `text`, at word boundaries."""
    found, wanted = folded(text), folded(phrase)
    if not wanted:
        return False
    start = found.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        before_ok = start == 0 or not (found[start - 1].isalnum() and wanted[0].isalnum())
        after_ok = end == len(found) or not (found[end].isalnum() and wanted[-1].isalnum())
        if before_ok and after_ok:
            return True
        start = found.find(wanted, start + 1)
    return False


def numbers_in(text: str) -> list[float]:
    """The numbers of a text, thousands separators understood."""
    return [number for match in _NUMBER.finditer(text) if (number := _number(match[0])) is not None]


def _number(text: str) -> float | None:
    plain = (
        text.replace(",", "")
        if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", text)
        else text.replace(",", ".")
    )
    try:
        return float(plain)
    except ValueError:
        return None


def says_value(text: str, value: str) -> bool:
    """Whether a text contains a value: numbers and money by value, dates in any usual form, the rest as words."""
    number = _number(value) if re.fullmatch(r"[-+]?[\d.,]+", value) else None
    if number is not None:
        return any(abs(found - number) < 0.005 for found in numbers_in(text))
    if mentions(text, value):
        return True
    moment = _moment(value)
    return _says_moment(text, moment[0], clock=moment[1]) if moment else False


def _says_moment(text: str, when: datetime, *, clock: bool) -> bool:
    low = folded(text)
    month, short, day = f"{when:%B}".lower(), f"{when:%b}".lower(), when.day
    days = rf"0?{day}(?:st|nd|rd|th)?"
    named = re.search(rf"\b(?:{month}|{short})\.? {days}\b|\b{days} (?:of )?(?:{month}|{short})\b", low)
    if not named:
        named = re.search(rf"\b{day}\.? (?:de )?(?:{'|'.join(month_names(when.month))})\b", low)
    if not (named or f"{when:%Y-%m-%d}" in low):
        return False
    if not clock:
        return True
    twelve = (when.hour - 1) % 12 + 1
    half = "am" if when.hour < 12 else "pm"
    minutes = f":{when.minute:02d}"
    forms = [f"{when:%H:%M}", f"{when.hour}{minutes}", f"{twelve}{minutes} {half}"]
    if when.minute == 0:
        forms.append(f"{twelve} {half}")
    return any(form in low for form in forms)


def _is_number(text: str) -> bool:
    """Whether a text is an amount and not a code: no leading zero or plus, few enough digits to be exact."""
    return (
        re.fullmatch(r"-?(?:0|[1-9]\d{0,14})(?:[.,]\d+)?|-?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", text)
        is not None
    )


def equal_values(left: Json, right: Json) -> bool:
    """Equality by value: 25, 25.0 and "25" are equal, so are texts that differ in case or white space only."""
    if isinstance(left, bool) or isinstance(right, bool):
        return (
            bool(left) == bool(right)
            if not isinstance(left, str) and not isinstance(right, str)
            else str(left).lower() == str(right).lower()
        )
    if isinstance(left, int | float) and isinstance(right, int | float):
        return abs(left - right) < 1e-9
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return bool(left == right)
    if left is None or right is None:
        return left is right
    first, second = str(left), str(right)
    if _is_number(first) and _is_number(second):
        number, other = _number(first), _number(second)
        if number is not None and other is not None:
            return abs(number - other) < 1e-9
    return folded(first) == folded(second)
